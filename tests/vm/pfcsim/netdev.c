// SPDX-License-Identifier: GPL-2.0
/* Packets: which queue they take, where they wait, how they reach the peer. */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/dsfield.h>
#include "pfcsim.h"

static void count_received(struct net_device *peer, int prio, unsigned int len)
{
	struct port *port = netdev_priv(peer);

	spin_lock_bh(&port->lock);
	port->q[prio].rx_packets++;
	port->q[prio].rx_bytes += len;
	spin_unlock_bh(&port->lock);
	dev_sw_netstats_rx_add(peer, len);
}

static void deliver(struct port *port, int prio, struct sk_buff *skb)
{
	unsigned int len = skb->len;
	struct net_device *peer;

	if (!netif_carrier_ok(port->nd)) {
		dev_kfree_skb_any(skb);
		return;
	}
	spin_lock_bh(&port->lock);
	port->q[prio].tx_packets++;
	port->q[prio].tx_bytes += len;
	spin_unlock_bh(&port->lock);
	dev_sw_netstats_tx_add(port->nd, 1, len);

	rcu_read_lock_bh();
	peer = rcu_dereference_bh(port->peer);
	if (!peer || !netif_running(peer) || !netif_carrier_ok(peer))
		dev_kfree_skb_any(skb);
	else if (dev_forward_skb(peer, skb) == NET_RX_SUCCESS)
		count_received(peer, prio, len);
	rcu_read_unlock_bh();
}

/* What waited for a pause to end. */
void deliver_all(struct port *port, struct sk_buff_head *list)
{
	struct sk_buff *skb;
	int i;

	local_bh_disable();
	while ((skb = __skb_dequeue(list)))
		deliver(port, skb_get_queue_mapping(skb), skb);
	for (i = 0; i < PRIOS; i++)
		if (netif_running(port->nd) && !queue_paused(port, i))
			netif_wake_subqueue(port->nd, i);
	local_bh_enable();
}

static int priority_of(struct sk_buff *skb)
{
	u16 tci;

	if (!__vlan_hwaccel_get_tag(skb, &tci) || !__vlan_get_tag(skb, &tci))
		return tci >> VLAN_PRIO_SHIFT;
	if (skb->protocol == htons(ETH_P_IP) && pskb_may_pull(skb, ETH_HLEN + sizeof(struct iphdr)))
		return ((struct iphdr *)(skb->data + ETH_HLEN))->tos >> 5;
	if (skb->protocol == htons(ETH_P_IPV6) && pskb_may_pull(skb, ETH_HLEN + sizeof(struct ipv6hdr)))
		return ipv6_get_dsfield((struct ipv6hdr *)(skb->data + ETH_HLEN)) >> 5;
	return skb->priority & 7;
}

static u16 select_queue(struct net_device *nd, struct sk_buff *skb, struct net_device *sb_dev)
{
	int prio = priority_of(skb);

	return prio < nd->real_num_tx_queues ? prio : 0;
}

static netdev_tx_t xmit(struct sk_buff *skb, struct net_device *nd)
{
	struct port *port = netdev_priv(nd);
	int prio = skb_get_queue_mapping(skb);

	spin_lock_bh(&port->lock);
	if (queue_paused(port, prio)) {
		struct sk_buff_head *held = &port->q[prio].held;

		__skb_queue_tail(held, skb);
		if (skb_queue_len(held) >= BACKLOG)
			netif_stop_subqueue(nd, prio);
		spin_unlock_bh(&port->lock);
		return NETDEV_TX_OK;
	}
	spin_unlock_bh(&port->lock);
	deliver(port, prio, skb);
	return NETDEV_TX_OK;
}

static int open(struct net_device *nd)
{
	struct port *port = netdev_priv(nd);

	trace(port, "ifup", -1);
	netif_tx_start_all_queues(nd);
	link_update(port);
	return 0;
}

static int stop(struct net_device *nd)
{
	struct port *port = netdev_priv(nd);
	int i;

	netif_tx_stop_all_queues(nd);
	if (netif_carrier_ok(nd)) {
		netif_carrier_off(nd);
		trace(port, "link_down", -1);
	}
	/* What the queues held is lost, as in a device that is reset. */
	spin_lock_bh(&port->lock);
	for (i = 0; i < PRIOS; i++)
		__skb_queue_purge(&port->q[i].held);
	spin_unlock_bh(&port->lock);
	pause_reset(port, "ifdown");
	pause_refresh(port);
	return 0;
}

void timeout_work(struct work_struct *work)
{
	struct port *port = container_of(work, struct port, timeout);

	if (port->reporter)
		devlink_health_report(port->reporter, "transmit timeout", port);
}

static void tx_timeout(struct net_device *nd, unsigned int queue)
{
	struct port *port = netdev_priv(nd);

	trace(port, "tx_timeout", queue);
	schedule_work(&port->timeout);
}

static void stats64(struct net_device *nd, struct rtnl_link_stats64 *stats)
{
	dev_fetch_sw_netstats(stats, nd->tstats);
}

static const struct net_device_ops ops = {
	.ndo_open = open,
	.ndo_stop = stop,
	.ndo_start_xmit = xmit,
	.ndo_select_queue = select_queue,
	.ndo_tx_timeout = tx_timeout,
	.ndo_get_stats64 = stats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

void netdev_setup(struct net_device *nd)
{
	nd->netdev_ops = &ops;
	nd->mtu = 4200;
	nd->max_mtu = 9216;
	nd->watchdog_timeo = 5 * HZ;
	netif_carrier_off(nd);
}
