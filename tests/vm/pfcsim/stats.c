// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool -S. Live, but for bnxt, whose firmware copies its block of counters once
 * in a while. A read can be made to hang, as behind a firmware that answers late:
 * the caller holds rtnl, so everybody else hangs too.
 */
#include <linux/slab.h>
#include "pfcsim.h"

static int list(struct port *port, struct stat_line **lines)
{
	int n;

	*lines = kcalloc(STATS_MAX, sizeof(**lines), GFP_KERNEL);
	if (!*lines)
		return 0;
	spin_lock_bh(&port->lock);
	n = stats_list(port, *lines, ktime_get_ns());
	spin_unlock_bh(&port->lock);
	return n;
}

static void copy_work(struct work_struct *work)
{
	struct port *port = container_of(to_delayed_work(work), struct port, copier);
	struct stat_line *lines;
	int i, n = list(port, &lines);

	spin_lock_bh(&port->lock);
	for (i = 0; i < n; i++)
		port->copy[i] = lines[i].value;
	spin_unlock_bh(&port->lock);
	kfree(lines);
	if (port->refresh_ms)
		schedule_delayed_work(&port->copier, msecs_to_jiffies(port->refresh_ms));
}

int stats_count(struct net_device *nd, int set)
{
	struct port *port = netdev_priv(nd);
	int n;

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	spin_lock_bh(&port->lock);
	n = stats_list(port, NULL, 0);
	spin_unlock_bh(&port->lock);
	return n;
}

void stats_names(struct net_device *nd, u32 set, u8 *data)
{
	struct stat_line *lines;
	int i, n;

	if (set != ETH_SS_STATS)
		return;
	n = list(netdev_priv(nd), &lines);
	for (i = 0; i < n; i++)
		memcpy(data + i * ETH_GSTRING_LEN, lines[i].name, ETH_GSTRING_LEN);
	kfree(lines);
}

void stats_values(struct net_device *nd, struct ethtool_stats *stats, u64 *values)
{
	struct port *port = netdev_priv(nd);
	u64 until = READ_ONCE(port->hang_until), now = ktime_get_ns();
	struct stat_line *lines;
	int i, n;

	if (until > now) {
		trace(port, "hang_begin", -1);
		wait_event_timeout(port->hang, !READ_ONCE(port->hang_until),
				   nsecs_to_jiffies(until - now));
		trace(port, "hang_end", -1);
	}
	n = list(port, &lines);
	spin_lock_bh(&port->lock);
	for (i = 0; i < n && i < stats->n_stats; i++)
		values[i] = port->copy && port->refresh_ms ? port->copy[i] : lines[i].value;
	spin_unlock_bh(&port->lock);
	kfree(lines);
}

void stats_hang(struct port *port, u32 ms)
{
	WRITE_ONCE(port->hang_until, ms ? ktime_get_ns() + (u64)ms * NSEC_PER_MSEC : 0);
	wake_up_all(&port->hang);
}

int stats_init(struct port *port)
{
	init_waitqueue_head(&port->hang);
	INIT_DELAYED_WORK(&port->copier, copy_work);
	if (port->flavour != FLAVOUR_BNXT)
		return 0;
	port->copy = kcalloc(STATS_MAX, sizeof(*port->copy), GFP_KERNEL);
	if (!port->copy)
		return -ENOMEM;
	port->refresh_ms = 1000;
	schedule_delayed_work(&port->copier, msecs_to_jiffies(port->refresh_ms));
	return 0;
}

void stats_fini(struct port *port)
{
	port->refresh_ms = 0;
	cancel_delayed_work_sync(&port->copier);
	kfree(port->copy);
	port->copy = NULL;
}
