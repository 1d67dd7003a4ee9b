// SPDX-License-Identifier: GPL-2.0
/*
 * Pause: who asks, whether it is honoured, what it counts, what waits behind it.
 *
 * Frames are counted for as long as a side asks. Time is counted, live, while the
 * pause is in force: PFC is on for the priority and the link is up. The same for
 * 802.3x, the ninth queue, which holds all priorities up.
 */
#include "pfcsim.h"

static bool honoured(struct port *port, const struct pause *p)
{
	struct queue *q = &port->q[p->queue];
	bool rx = p == &q->rx;

	if (p->queue == GLOBAL)
		return rx ? port->pauseparam.rx_pause : port->pauseparam.tx_pause;
	return port->mask & BIT(p->queue);
}

static void settle(struct pause *p, u64 now)
{
	if (p->in_force) {
		p->paused_ns += now - p->in_force_at;
		p->in_force_at = now;
	}
	if (p->asked)
		p->xoff_ns += now - p->asked_at;
	p->asked_at = now;
	if (p->xon)
		p->xon_ns += now - p->xon_at;
	p->xon_at = now;
}

u64 pause_xoff_frames(const struct pause *p, u64 now)
{
	return div_u64(p->xoff_ns + (p->asked ? now - p->asked_at : 0), FRAME_NS);
}

u64 pause_xon_frames(const struct pause *p, u64 now)
{
	return div_u64(p->xon_ns + (p->xon ? now - p->xon_at : 0), FRAME_NS);
}

/* Most devices count both as one. */
u64 pause_frames(const struct pause *p, u64 now)
{
	return pause_xoff_frames(p, now) + pause_xon_frames(p, now);
}

u64 pause_us(const struct pause *p, u64 now)
{
	return div_u64(p->paused_ns + (p->in_force ? now - p->in_force_at : 0), NSEC_PER_USEC);
}

bool queue_paused(struct port *port, int prio)
{
	return port->q[prio].rx.in_force || port->q[GLOBAL].rx.in_force;
}

static u64 stall_limit_ns(const struct port *port)
{
	u32 ms = port->prevention_ms == PFC_STORM_PREVENTION_AUTO ? 100 : port->prevention_ms;

	return (u64)ms * NSEC_PER_MSEC;
}

/* The stall limit counts from the pause's begin, or from now if that is past. */
static void stall_arm(struct port *port, struct queue *q, u64 now)
{
	u64 limit = stall_limit_ns(port), due = q->tx.in_force_at + limit;

	if (!limit || !q->tx.in_force || q->prio == GLOBAL)
		return;
	hrtimer_start(&q->stall, ns_to_ktime(due > now ? due : now + limit), HRTIMER_MODE_ABS_SOFT);
}

static void refresh_one(struct port *port, struct pause *p, u64 now)
{
	bool now_in_force = p->asked && !p->prevented && honoured(port, p) && link_up(port);
	struct queue *q = &port->q[p->queue];
	bool rx = p == &q->rx;

	settle(p, now);
	if (now_in_force == p->in_force)
		return;
	p->in_force = now_in_force;
	if (now_in_force) {
		p->in_force_at = now;
		p->transitions++;
		trace(port, rx ? "pause" : "tx_pause", p->queue);
	}
	if (!rx && now_in_force)
		stall_arm(port, q, now);
	if (!now_in_force && !rx)
		trace(port, "tx_pause_end", p->queue);
}

/* Brings all pause in line with what is asked, the settings and the link. With the lock held, list to be delivered. */
static void refresh_locked(struct port *port, struct sk_buff_head *list)
{
	u64 now = ktime_get_ns();
	bool was[PRIOS];
	int i;

	for (i = 0; i < PRIOS; i++)
		was[i] = queue_paused(port, i);
	for (i = 0; i < QUEUES; i++) {
		refresh_one(port, &port->q[i].rx, now);
		refresh_one(port, &port->q[i].tx, now);
	}
	for (i = 0; i < PRIOS; i++) {
		if (was[i] && !queue_paused(port, i)) {
			trace_value(port, "drain", i, skb_queue_len(&port->q[i].held));
			skb_queue_splice_tail_init(&port->q[i].held, list);
		}
	}
}

void pause_refresh(struct port *port)
{
	struct sk_buff_head list;

	__skb_queue_head_init(&list);
	spin_lock_bh(&port->lock);
	refresh_locked(port, &list);
	spin_unlock_bh(&port->lock);
	deliver_all(port, &list);
}

static void ask(struct port *port, struct pause *p, bool on)
{
	settle(p, ktime_get_ns());
	p->asked = on;
	if (!on)
		p->prevented = false;
}

/* The next step of a pause's program. */
static enum hrtimer_restart step(struct hrtimer *timer)
{
	struct pause *p = container_of(timer, struct pause, timer);
	struct port *port = p->port;
	bool again = p->off_ns;
	struct sk_buff_head list;

	__skb_queue_head_init(&list);
	spin_lock_bh(&port->lock);
	ask(port, p, !p->asked);
	if (!again)
		trace(port, "storm_end", p->queue);
	else
		hrtimer_forward_now(timer, ns_to_ktime(p->asked ? p->on_ns : p->off_ns));
	refresh_locked(port, &list);
	spin_unlock_bh(&port->lock);
	deliver_all(port, &list);
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static const char *storm_name(bool rx, bool on, bool choppy)
{
	if (!rx)
		return on ? "txstorm_begin" : "txstorm_end";
	if (choppy)
		return "choppy_begin";
	return on ? "storm_begin" : "storm_end";
}

/*
 * A storm in one direction. With on_ms it ends by itself; with off_ms too it comes
 * and goes until it is switched off.
 */
void storm_set(struct port *port, int queue, bool rx, bool on, u32 on_ms, u32 off_ms, int survives)
{
	struct pause *p = rx ? &port->q[queue].rx : &port->q[queue].tx;

	hrtimer_cancel(&p->timer);
	spin_lock_bh(&port->lock);
	if (on != p->asked || off_ms || p->off_ns)
		trace(port, storm_name(rx, on, off_ms), queue);
	ask(port, p, on);
	p->survives = survives;
	p->on_ns = (u64)on_ms * NSEC_PER_MSEC;
	p->off_ns = (u64)off_ms * NSEC_PER_MSEC;
	if (!rx)
		port->q[queue].warned = false;
	spin_unlock_bh(&port->lock);
	pause_refresh(port);
	if (on && on_ms)
		hrtimer_start(&p->timer, ns_to_ktime(p->on_ns), HRTIMER_MODE_REL_SOFT);
}

void xon_storm_set(struct port *port, int queue, bool on)
{
	struct pause *p = &port->q[queue].rx;

	spin_lock_bh(&port->lock);
	settle(p, ktime_get_ns());
	p->xon = on;
	trace(port, on ? "xonstorm_begin" : "xonstorm_end", queue);
	spin_unlock_bh(&port->lock);
}

void pause_survive(struct port *port, int queue, int survives)
{
	spin_lock_bh(&port->lock);
	port->q[queue].rx.survives = survives;
	spin_unlock_bh(&port->lock);
}

/* What a reset of the queues does: storms end that were not told to outlast it. */
void pause_reset(struct port *port, const char *why)
{
	struct pause *p;
	int i;

	trace(port, why, -1);
	for (i = 0; i < QUEUES; i++) {
		p = &port->q[i].rx;
		spin_lock_bh(&port->lock);
		if (!p->asked || p->survives == SURVIVES_ALL || p->survives > 0) {
			if (p->asked && p->survives > 0)
				p->survives--;
			spin_unlock_bh(&port->lock);
			continue;
		}
		spin_unlock_bh(&port->lock);
		storm_set(port, i, true, false, 0, 0, SURVIVES_ALL);
	}
}

/* mlx5 warns at 85 % of its limit and stops sending pause at the limit. */
static enum hrtimer_restart stall(struct hrtimer *timer)
{
	struct queue *q = container_of(timer, struct queue, stall);
	struct port *port = q->port;

	spin_lock_bh(&port->lock);
	if (q->tx.in_force && stall_limit_ns(port)) {
		port->counters[C_STORM_WARNINGS].base++;
		port->counters[C_STORM_ERRORS].base++;
		q->tx.prevented = true;
		trace(port, "tx_prevented", q->prio);
	}
	spin_unlock_bh(&port->lock);
	pause_refresh(port);
	return HRTIMER_NORESTART;
}

void stall_limit_changed(struct port *port)
{
	u64 now = ktime_get_ns();
	int i;

	for (i = 0; i < PRIOS; i++) {
		spin_lock_bh(&port->lock);
		if (!stall_limit_ns(port))
			port->q[i].tx.prevented = false;
		stall_arm(port, &port->q[i], now);
		spin_unlock_bh(&port->lock);
	}
	pause_refresh(port);
}

static void pause_one_init(struct port *port, struct pause *p, int queue)
{
	p->port = port;
	p->queue = queue;
	p->survives = SURVIVES_ALL;
	hrtimer_init(&p->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	p->timer.function = step;
}

void pause_init(struct port *port)
{
	int i;

	for (i = 0; i < QUEUES; i++) {
		struct queue *q = &port->q[i];

		q->port = port;
		q->prio = i;
		__skb_queue_head_init(&q->held);
		pause_one_init(port, &q->rx, i);
		pause_one_init(port, &q->tx, i);
		hrtimer_init(&q->stall, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
		q->stall.function = stall;
	}
}

void pause_fini(struct port *port)
{
	int i;

	for (i = 0; i < QUEUES; i++) {
		hrtimer_cancel(&port->q[i].rx.timer);
		hrtimer_cancel(&port->q[i].tx.timer);
		hrtimer_cancel(&port->q[i].stall);
		__skb_queue_purge(&port->q[i].held);
	}
}
