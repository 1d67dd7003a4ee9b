// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic without sockets: packets of one priority, sent by a timer. They pile up
 * behind a pause like any others; while the queue is stopped none are made.
 */
#include <linux/etherdevice.h>
#include "pfcsim.h"

#define LOAD_LEN 256
#define TICK_NS (2 * NSEC_PER_MSEC)

static void send_one(struct port *port, int prio)
{
	struct sk_buff *skb = netdev_alloc_skb(port->nd, LOAD_LEN);
	struct net_device *peer;
	u8 to[ETH_ALEN];

	if (!skb)
		return;
	eth_broadcast_addr(to);
	rcu_read_lock_bh();
	peer = rcu_dereference_bh(port->peer);
	if (peer)
		ether_addr_copy(to, peer->dev_addr);
	rcu_read_unlock_bh();
	skb_put_zero(skb, LOAD_LEN - ETH_HLEN);
	skb->protocol = htons(ETH_P_LOOPBACK);
	skb->priority = prio;
	skb_reset_network_header(skb);
	dev_hard_header(skb, port->nd, ETH_P_LOOPBACK, to, port->nd->dev_addr, LOAD_LEN - ETH_HLEN);
	dev_queue_xmit(skb);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct queue *q = container_of(timer, struct queue, load);
	struct port *port = q->port;
	u32 i;

	for (i = 0; i < q->load_count; i++) {
		if (!netif_running(port->nd) || !netif_carrier_ok(port->nd) ||
		    __netif_subqueue_stopped(port->nd, q->prio))
			break;
		send_one(port, q->prio);
	}
	hrtimer_forward_now(timer, ns_to_ktime(q->load_every_ns));
	return HRTIMER_RESTART;
}

/* Packets a second; none at 0. */
void load_set(struct port *port, int prio, u32 pps)
{
	struct queue *q = &port->q[prio];

	hrtimer_cancel(&q->load);
	trace_value(port, "load", prio, pps);
	if (!pps)
		return;
	q->load_every_ns = max_t(u64, TICK_NS, div_u64(NSEC_PER_SEC, pps));
	q->load_count = max_t(u64, 1, div_u64(pps * q->load_every_ns, NSEC_PER_SEC));
	hrtimer_start(&q->load, ns_to_ktime(q->load_every_ns), HRTIMER_MODE_REL_SOFT);
}

void load_init(struct port *port)
{
	int i;

	for (i = 0; i < PRIOS; i++) {
		hrtimer_init(&port->q[i].load, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
		port->q[i].load.function = tick;
	}
}

void load_stop(struct port *port)
{
	int i;

	for (i = 0; i < PRIOS; i++)
		hrtimer_cancel(&port->q[i].load);
}
