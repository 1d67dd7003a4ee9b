// SPDX-License-Identifier: GPL-2.0
/* What ethtool shows and sets besides statistics: driver, link, 802.3x pause, the stall limit, resets. */
#include <linux/ethtool.h>
#include "pfcsim.h"

static void get_drvinfo(struct net_device *nd, struct ethtool_drvinfo *info)
{
	struct port *port = netdev_priv(nd);

	strscpy(info->driver, driver_names[port->flavour], sizeof(info->driver));
	strscpy(info->fw_version, "1.0 (pfcsim)", sizeof(info->fw_version));
	strscpy(info->bus_info, dev_name(port->parent), sizeof(info->bus_info));
}

static void get_pause(struct net_device *nd, struct ethtool_pauseparam *pause)
{
	*pause = ((struct port *)netdev_priv(nd))->pauseparam;
}

/* 802.3x and PFC exclude each other. */
static int set_pause(struct net_device *nd, struct ethtool_pauseparam *pause)
{
	struct port *port = netdev_priv(nd);
	int bits = pause->rx_pause | pause->tx_pause << 1, said;

	trace_value(port, "pause_set", GLOBAL, bits);
	if (pause->autoneg || (bits && port->mask))
		return -EINVAL;
	if (set_spoiled(port, &said))
		return said;
	spin_lock_bh(&port->lock);
	port->pauseparam = *pause;
	spin_unlock_bh(&port->lock);
	pause_refresh(port);
	return 0;
}

static void get_pause_stats(struct net_device *nd, struct ethtool_pause_stats *stats)
{
	struct port *port = netdev_priv(nd);
	u64 now = ktime_get_ns();

	/* ice and others have no such operation; a statistic that is not set is not shown. */
	if (port->flavour == FLAVOUR_ICE)
		return;
	spin_lock_bh(&port->lock);
	stats->rx_pause_frames = pause_frames(&port->q[GLOBAL].rx, now);
	stats->tx_pause_frames = pause_frames(&port->q[GLOBAL].tx, now);
	spin_unlock_bh(&port->lock);
}

static bool has_stall_limit(const struct port *port, u32 tunable)
{
	return tunable == ETHTOOL_PFC_PREVENTION_TOUT && port->flavour != FLAVOUR_ICE;
}

static int get_tunable(struct net_device *nd, const struct ethtool_tunable *tunable, void *data)
{
	struct port *port = netdev_priv(nd);

	if (!has_stall_limit(port, tunable->id))
		return -EOPNOTSUPP;
	*(u16 *)data = port->prevention_ms;
	return 0;
}

/* The bounds are mlx5's. */
static int set_tunable(struct net_device *nd, const struct ethtool_tunable *tunable, const void *data)
{
	struct port *port = netdev_priv(nd);
	u16 ms = *(u16 *)data;
	int said;

	if (!has_stall_limit(port, tunable->id))
		return -EOPNOTSUPP;
	trace_value(port, "prevention_set", -1, ms);
	if (ms && ms != PFC_STORM_PREVENTION_AUTO && (ms < 80 || ms > 8000))
		return -EINVAL;
	if (set_spoiled(port, &said))
		return said;
	spin_lock_bh(&port->lock);
	port->prevention_ms = ms;
	spin_unlock_bh(&port->lock);
	stall_limit_changed(port);
	return 0;
}

static int get_link_ksettings(struct net_device *nd, struct ethtool_link_ksettings *settings)
{
	ethtool_link_ksettings_zero_link_mode(settings, supported);
	settings->base.speed = netif_carrier_ok(nd) ? SPEED_100000 : SPEED_UNKNOWN;
	settings->base.duplex = DUPLEX_FULL;
	settings->base.port = PORT_DA;
	settings->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

/* Of the flavours only bnxt tells how often its statistics are copied. */
static int get_coalesce(struct net_device *nd, struct ethtool_coalesce *coalesce,
			struct kernel_ethtool_coalesce *kernel_coalesce, struct netlink_ext_ack *extack)
{
	struct port *port = netdev_priv(nd);

	if (port->flavour != FLAVOUR_BNXT)
		return -EOPNOTSUPP;
	coalesce->stats_block_coalesce_usecs = port->refresh_ms * USEC_PER_MSEC;
	return 0;
}

static int reset(struct net_device *nd, u32 *flags)
{
	struct port *port = netdev_priv(nd);

	if (port->flavour != FLAVOUR_PFCSIM && port->flavour != FLAVOUR_BNXT)
		return -EOPNOTSUPP;
	pause_reset(port, "ethtool_reset");
	*flags = 0;
	return 0;
}

const struct ethtool_ops pfcsim_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_STATS_BLOCK_USECS,
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = get_link_ksettings,
	.get_sset_count = stats_count,
	.get_strings = stats_names,
	.get_ethtool_stats = stats_values,
	.get_pauseparam = get_pause,
	.set_pauseparam = set_pause,
	.get_pause_stats = get_pause_stats,
	.get_tunable = get_tunable,
	.set_tunable = set_tunable,
	.get_coalesce = get_coalesce,
	.reset = reset,
};
