// SPDX-License-Identifier: GPL-2.0
/*
 * The statistics of each flavour, by the names of its driver in Linux 6.12:
 * mlx5/core/en_stats.c, bnxt/bnxt_ethtool.c, ice/ice_ethtool.c.
 */
#include <linux/math64.h>
#include "pfcsim.h"

static const char * const names[COUNTERS] = {
	[C_NO_BUFFER] = "rx_out_of_buffer",
	[C_RX_DISCARDS] = "rx_discards_phy",
	[C_TX_DISCARDS] = "tx_discards_phy",
	[C_SYMBOL_ERRORS] = "rx_symbol_err_phy",
	[C_LINK_DOWNS] = "link_down_events_phy",
	[C_STORM_WARNINGS] = "tx_pause_storm_warning_events",
	[C_STORM_ERRORS] = "tx_pause_storm_error_events",
	[C_PRIO_DISCARDS] = "rx_prio0_discards", "rx_prio1_discards", "rx_prio2_discards",
	"rx_prio3_discards", "rx_prio4_discards", "rx_prio5_discards", "rx_prio6_discards",
	"rx_prio7_discards",
	[C_CNP_SENT] = "np_cnp_sent",
	[C_CNP_HANDLED] = "rp_cnp_handled",
	[C_CNP_IGNORED] = "rp_cnp_ignored",
	[C_ECN] = "np_ecn_marked_roce_packets",
	[C_OUT_OF_SEQUENCE] = "out_of_sequence",
	[C_PACKET_SEQ_ERR] = "packet_seq_err",
	[C_ACK_TIMEOUT] = "local_ack_timeout_err",
	[C_RNR_NAK] = "rnr_nak_retry_err",
	[C_ADAPTIVE] = "roce_adp_retrans",
	[C_SLOW_RESTART] = "roce_slow_restart",
};

/* What bnxt_re and irdma call theirs; they have no others of these. */
static const char * const bnxt_rdma[COUNTERS] = {
	[C_CNP_SENT] = "tx_cnp_pkts",
	[C_CNP_HANDLED] = "rx_cnp_pkts",
	[C_ECN] = "rx_ecn_marked_pkts",
	[C_OUT_OF_SEQUENCE] = "oos_drop_count",
	[C_PACKET_SEQ_ERR] = "seq_err_naks_rcvd",
	[C_ACK_TIMEOUT] = "to_retransmits",
	[C_RNR_NAK] = "rnr_naks_rcvd",
};
static const char * const ice_rdma[COUNTERS] = {
	[C_CNP_SENT] = "cnpSent",
	[C_CNP_HANDLED] = "cnpHandled",
	[C_CNP_IGNORED] = "cnpIgnored",
};

/* The queue that carries a priority: 3 and 5 have their own, the others share one. */
static const u8 bnxt_queue[PRIOS] = { 0, 0, 0, 1, 0, 2, 0, 0 };

struct list {
	struct stat_line *out;
	int len;
};

static __printf(3, 4) void put(struct list *l, u64 value, const char *format, ...)
{
	va_list args;

	if (l->out && l->len < STATS_MAX) {
		va_start(args, format);
		vsnprintf(l->out[l->len].name, ETH_GSTRING_LEN, format, args);
		va_end(args);
		l->out[l->len].value = value;
	}
	l->len++;
}

const char *counter_name(enum counter counter)
{
	return names[counter];
}

const char *rdma_counter_name(enum flavour flavour, enum counter counter)
{
	switch (flavour) {
	case FLAVOUR_BNXT:
		return bnxt_rdma[counter];
	case FLAVOUR_ICE:
		return ice_rdma[counter];
	default:
		return names[counter];
	}
}

int counter_find(const char *name)
{
	int i;

	for (i = 0; i < COUNTERS; i++)
		if (!strcmp(names[i], name))
			return i;
	return -ENOENT;
}

u64 counter_value(struct port *port, enum counter counter, u64 now)
{
	struct knobbed *c = &port->counters[counter];

	return c->base + (c->rate ? mul_u64_u64_div_u64(now - c->since, c->rate, NSEC_PER_SEC) : 0);
}

static void sums(struct port *port, struct queue *sum)
{
	int i;

	sum->rx_bytes = sum->rx_packets = sum->tx_bytes = sum->tx_packets = 0;
	for (i = 0; i < PRIOS; i++) {
		sum->rx_bytes += port->q[i].rx_bytes;
		sum->rx_packets += port->q[i].rx_packets;
		sum->tx_bytes += port->q[i].tx_bytes;
		sum->tx_packets += port->q[i].tx_packets;
	}
}

static void mlx5_pause(struct list *l, struct queue *q, const char *infix, u64 now)
{
	put(l, pause_frames(&q->rx, now), "rx_%s_pause", infix);
	put(l, pause_us(&q->rx, now), "rx_%s_pause_duration", infix);
	put(l, q->rx.transitions, "rx_%s_pause_transition", infix);
	put(l, pause_frames(&q->tx, now), "tx_%s_pause", infix);
	put(l, pause_us(&q->tx, now), "tx_%s_pause_duration", infix);
}

static void mlx5_priority(struct port *port, struct list *l, int prio, u64 now)
{
	struct queue *q = &port->q[prio];
	char infix[8];

	put(l, q->rx_bytes, "rx_prio%d_bytes", prio);
	put(l, q->rx_packets, "rx_prio%d_packets", prio);
	put(l, q->tx_bytes, "tx_prio%d_bytes", prio);
	put(l, q->tx_packets, "tx_prio%d_packets", prio);
	/* mlx5 has these names only while PFC is on for the priority. */
	if (port->flavour == FLAVOUR_MLX5 && !(port->mask & BIT(prio)))
		return;
	snprintf(infix, sizeof(infix), "prio%d", prio);
	mlx5_pause(l, q, infix, now);
}

static void mlx5_list(struct port *port, struct list *l, u64 now)
{
	bool global = port->pauseparam.rx_pause || port->pauseparam.tx_pause;
	struct queue *sum = kmalloc(sizeof(*sum), GFP_ATOMIC);
	int i, prio;

	if (!sum)
		return;
	sums(port, sum);
	put(l, sum->rx_packets, "rx_packets_phy");
	put(l, sum->tx_packets, "tx_packets_phy");
	put(l, sum->rx_bytes, "rx_bytes_phy");
	put(l, sum->tx_bytes, "tx_bytes_phy");
	kfree(sum);
	for (i = 0; i < C_FIRST_RDMA; i++)
		put(l, counter_value(port, i, now), "%s", names[i]);
	for (i = 0; i < PRIOS; i++) {
		prio = i;
		if (port->shifted && (i == 3 || i == 4))
			prio = 7 - i;
		mlx5_priority(port, l, prio, now);
	}
	if (global || port->flavour != FLAVOUR_MLX5)
		mlx5_pause(l, &port->q[GLOBAL], "global", now);
}

static void bnxt_traffic(struct port *port, struct list *l)
{
	u64 v[PRIOS][4] = {};
	int i, k;

	for (i = 0; i < PRIOS; i++) {
		struct queue *q = &port->q[i];
		u64 *sum = v[bnxt_queue[i]];

		sum[0] += q->rx_bytes;
		sum[1] += q->rx_packets;
		sum[2] += q->tx_bytes;
		sum[3] += q->tx_packets;
	}
	for (k = 0; k < 4; k++) {
		static const char * const what[] = { "rx_bytes", "rx_packets", "tx_bytes", "tx_packets" };

		for (i = 0; i < PRIOS; i++)
			put(l, v[i][k], "%s_cos%d", what[k], i);
		for (i = 0; i < PRIOS; i++)
			put(l, v[bnxt_queue[i]][k], "%s_pri%d", what[k], i);
	}
}

static void bnxt_list(struct port *port, struct list *l, u64 now)
{
	struct queue *global = &port->q[GLOBAL], *q;
	u64 rx = 0, tx = 0;
	int i;

	for (i = 0; i < PRIOS; i++) {
		q = &port->q[i];
		put(l, pause_frames(&q->rx, now), "rx_pfc_ena_frames_pri%d", i);
		put(l, pause_frames(&q->tx, now), "tx_pfc_ena_frames_pri%d", i);
		put(l, pause_us(&q->rx, now), "pfc_pri%d_rx_duration_us", i);
		put(l, q->rx.transitions, "pfc_pri%d_rx_transitions", i);
		put(l, pause_us(&q->tx, now), "pfc_pri%d_tx_duration_us", i);
		put(l, q->tx.transitions, "pfc_pri%d_tx_transitions", i);
		rx += pause_frames(&q->rx, now);
		tx += pause_frames(&q->tx, now);
	}
	put(l, rx, "rx_pfc_frames");
	put(l, tx, "tx_pfc_frames");
	put(l, pause_frames(&global->rx, now), "rx_pause_frames");
	put(l, pause_frames(&global->tx, now), "tx_pause_frames");
	put(l, counter_value(port, C_RX_DISCARDS, now), "rx_stat_discard");
	put(l, counter_value(port, C_TX_DISCARDS, now), "tx_stat_discard");
	put(l, counter_value(port, C_LINK_DOWNS, now), "link_down_events");
	bnxt_traffic(port, l);
}

static void ice_pause(struct list *l, const struct pause *p, u64 now, const char *direction, int prio)
{
	put(l, pause_xon_frames(p, now) + p->transitions, "%s_priority_%d_xon.nic", direction, prio);
	put(l, pause_xoff_frames(p, now), "%s_priority_%d_xoff.nic", direction, prio);
}

static void ice_list(struct port *port, struct list *l, u64 now)
{
	struct queue *global = &port->q[GLOBAL];
	u64 rx = 0, tx = 0;
	int i;

	for (i = 0; i < PRIOS; i++) {
		rx += port->q[i].rx_bytes;
		tx += port->q[i].tx_bytes;
	}
	put(l, rx, "rx_bytes.nic");
	put(l, tx, "tx_bytes.nic");
	put(l, counter_value(port, C_RX_DISCARDS, now), "rx_dropped.nic");
	put(l, pause_xon_frames(&global->rx, now), "link_xon_rx.nic");
	put(l, pause_xon_frames(&global->tx, now), "link_xon_tx.nic");
	put(l, pause_xoff_frames(&global->rx, now), "link_xoff_rx.nic");
	put(l, pause_xoff_frames(&global->tx, now), "link_xoff_tx.nic");
	for (i = 0; i < PRIOS; i++)
		ice_pause(l, &port->q[i].tx, now, "tx", i);
	for (i = 0; i < PRIOS; i++)
		ice_pause(l, &port->q[i].rx, now, "rx", i);
}

/* Fills out, if there is one; returns how many there are. */
int stats_list(struct port *port, struct stat_line *out, u64 now)
{
	struct list l = { .out = out };

	switch (port->flavour) {
	case FLAVOUR_BNXT:
		bnxt_list(port, &l, now);
		break;
	case FLAVOUR_ICE:
		ice_list(port, &l, now);
		break;
	default:
		mlx5_list(port, &l, now);
	}
	return min(l.len, STATS_MAX);
}
