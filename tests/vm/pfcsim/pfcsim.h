/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pfcsim: an Ethernet device without hardware that has what a lossless fabric
 * needs: PFC by DCB, counters of pause, a devlink reporter, an RDMA device, and
 * knobs that make all of it go wrong. For tests only.
 *
 * Ports are joined in pairs (0 and 1, 2 and 3, ...). A port has eight transmit
 * queues, one for each priority; the priority of an IP packet is its DSCP / 8.
 */
#ifndef PFCSIM_H
#define PFCSIM_H

#include <linux/debugfs.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/dcbnl.h>
#include <net/devlink.h>

#define PFCSIM_PORTS	16
#define PRIOS		8
#define GLOBAL		PRIOS		/* 802.3x pause is a ninth queue */
#define QUEUES		(PRIOS + 1)
#define BACKLOG		64		/* packets a paused queue takes until it is stopped */
#define FRAME_NS	300000		/* a peer that pauses says so this often */
#define TRACE_LEN	4096
#define SURVIVES_ALL	(-1)

/* Whose device this one behaves like. */
enum flavour { FLAVOUR_PFCSIM, FLAVOUR_MLX5, FLAVOUR_BNXT, FLAVOUR_ICE, FLAVOURS };

/* Counters that only knobs move, named as mlx5 names them. */
enum counter {
	C_NO_BUFFER, C_RX_DISCARDS, C_TX_DISCARDS, C_SYMBOL_ERRORS, C_LINK_DOWNS,
	C_STORM_WARNINGS, C_STORM_ERRORS, C_PRIO_DISCARDS,
	C_CNP_SENT = C_PRIO_DISCARDS + PRIOS, C_CNP_HANDLED, C_CNP_IGNORED, C_ECN,
	C_OUT_OF_SEQUENCE, C_PACKET_SEQ_ERR, C_ACK_TIMEOUT, C_RNR_NAK, C_ADAPTIVE,
	C_SLOW_RESTART, COUNTERS
};
#define C_FIRST_RDMA C_CNP_SENT

/* Pause of one queue in one direction. */
struct pause {
	bool asked;		/* one side asks the other to stop */
	bool xon;		/* frames that stop nothing */
	bool in_force;		/* asked, honoured, and the link is up */
	bool prevented;		/* tx: the stall limit ended it */
	u64 asked_at, xon_at, in_force_at;
	u64 xoff_ns, xon_ns, paused_ns, transitions;
	int survives;		/* resets that it outlasts */
	u64 on_ns, off_ns;	/* its program: one shot without off_ns */
	struct hrtimer timer;
	struct port *port;
	u8 queue;
};

struct queue {
	struct pause rx, tx;
	struct hrtimer stall;	/* limit of our own pause */
	bool warned;
	struct sk_buff_head held;
	u64 tx_bytes, tx_packets, rx_bytes, rx_packets;
	struct hrtimer load;
	u64 load_every_ns;
	u32 load_count;
	struct port *port;
	u8 prio;
};

struct knobbed { u64 base, since, rate; };

struct trace_entry {
	u64 at;
	const char *what;
	int prio;
	bool has_masks;
	u8 before, after;
	int value;
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

struct port {
	struct net_device *nd;
	struct net_device __rcu *peer;
	struct device *parent;
	int index;
	enum flavour flavour;

	spinlock_t lock;	/* all that follows, up to the knobs */
	u8 mask, dcbx;
	u16 delay, prevention_ms;
	bool mbc;
	struct ieee_ets ets;
	struct dcbnl_buffer buffer;
	struct ethtool_pauseparam pauseparam;
	struct queue q[QUEUES];
	struct knobbed counters[COUNTERS];
	bool carrier_wanted, flapping;
	u64 *copy;		/* bnxt: the statistics as last copied */

	/* knobs */
	int failset, ignoreset, slowset_ms, flap_ms, refresh_ms;
	bool shifted;
	u64 hang_until;
	wait_queue_head_t hang;
	u8 owner_mask;
	int owner_every_ms;

	spinlock_t trace_lock;
	struct trace_entry *trace;
	u32 traced;

	struct delayed_work flap_end, owner, copier;
	struct work_struct timeout;
	struct dentry *dir;
	struct devlink *devlink;
	struct devlink_port devlink_port;
	struct devlink_health_reporter *reporter;
	struct rdma *rdma;
};

/* main.c */
struct port *port_of(int index);

/* netdev.c */
void netdev_setup(struct net_device *nd);
void deliver_all(struct port *port, struct sk_buff_head *list);
void timeout_work(struct work_struct *work);

/* load.c */
void load_init(struct port *port);
void load_set(struct port *port, int prio, u32 pps);
void load_stop(struct port *port);

/* pause.c: how pause begins, ends and is counted */
void pause_init(struct port *port);
void pause_fini(struct port *port);
bool queue_paused(struct port *port, int prio);
void pause_refresh(struct port *port);
void storm_set(struct port *port, int queue, bool rx, bool on, u32 on_ms, u32 off_ms, int survives);
void xon_storm_set(struct port *port, int queue, bool on);
void pause_survive(struct port *port, int queue, int survives);
void pause_reset(struct port *port, const char *why);
void stall_limit_changed(struct port *port);
u64 pause_xoff_frames(const struct pause *p, u64 now);
u64 pause_xon_frames(const struct pause *p, u64 now);
u64 pause_frames(const struct pause *p, u64 now);
u64 pause_us(const struct pause *p, u64 now);

/* link.c */
void link_init(struct port *port);
void link_fini(struct port *port);
void link_update(struct port *port);
void link_flap(struct port *port);
bool link_up(const struct port *port);

/* dcb.c */
extern const struct dcbnl_rtnl_ops pfcsim_dcb_ops;
void dcb_init(struct port *port);
void dcb_apply(struct port *port, u8 mask);

/* owner.c */
void owner_init(struct port *port);
void owner_fini(struct port *port);
void owner_write(struct port *port, u8 mask);
void owner_every(struct port *port, int ms, u8 mask);

/* names.c: one line of a table of statistics */
struct stat_line {
	char name[ETH_GSTRING_LEN];
	u64 value;
};
int stats_list(struct port *port, struct stat_line *out, u64 now);	/* with the lock held */
const char *counter_name(enum counter counter);
const char *rdma_counter_name(enum flavour flavour, enum counter counter);
u64 counter_value(struct port *port, enum counter counter, u64 now);
int counter_find(const char *name);
#define STATS_MAX 256

/* stats.c */
int stats_init(struct port *port);
void stats_fini(struct port *port);
int stats_count(struct net_device *nd, int set);
void stats_names(struct net_device *nd, u32 set, u8 *data);
void stats_values(struct net_device *nd, struct ethtool_stats *stats, u64 *values);
void stats_hang(struct port *port, u32 ms);

/* settings.c */
extern const struct ethtool_ops pfcsim_ethtool_ops;

/* health.c */
extern const char * const driver_names[FLAVOURS];
int health_init(struct port *port);
void health_publish(struct port *port);
void health_fini(struct port *port);
void health_free(struct port *port);

/* rdma.c */
void rdma_add(struct port *port);
void rdma_remove(struct port *port);

/* trace.c */
void trace(struct port *port, const char *what, int prio);
void trace_value(struct port *port, const char *what, int prio, int value);
void trace_masks(struct port *port, const char *what, u8 before, u8 after, int error);
void trace_reset(struct port *port);
extern const struct file_operations trace_fops;

/* control.c */
bool set_spoiled(struct port *port, int *said);
void control_add(struct port *port, struct dentry *root);

#endif
