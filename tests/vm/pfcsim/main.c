// SPDX-License-Identifier: GPL-2.0
/*
 * The driver: ports that come and go. Each has a platform device pfcsim.N; bind and
 * unbind in /sys/bus/platform/drivers/pfcsim take one away and bring it back.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include "pfcsim.h"

static unsigned int nports = 2;
module_param(nports, uint, 0444);

static char *flavour[PFCSIM_PORTS] = { "pfcsim" };
static int flavours = 1;
module_param_array(flavour, charp, &flavours, 0444);
MODULE_PARM_DESC(flavour, "pfcsim, mlx5, bnxt or ice for each port; the last one counts for the rest");

static bool rdma = true;
module_param(rdma, bool, 0444);

static const char * const flavour_names[FLAVOURS] = {
	[FLAVOUR_PFCSIM] = "pfcsim", [FLAVOUR_MLX5] = "mlx5", [FLAVOUR_BNXT] = "bnxt", [FLAVOUR_ICE] = "ice",
};
static struct platform_device *devices[PFCSIM_PORTS];
static struct port *ports[PFCSIM_PORTS];
static DEFINE_MUTEX(ports_lock);
static struct dentry *root;

static int flavour_of(int index)
{
	return match_string(flavour_names, FLAVOURS, flavour[min(index, flavours - 1)]);
}

/* Both sides know each other, or neither does. */
static void join(struct port *port)
{
	struct port *other;

	mutex_lock(&ports_lock);
	ports[port->index] = port;
	other = ports[port->index ^ 1];
	if (other) {
		rcu_assign_pointer(port->peer, other->nd);
		rcu_assign_pointer(other->peer, port->nd);
	}
	mutex_unlock(&ports_lock);
}

static void part(struct port *port)
{
	struct port *other;

	mutex_lock(&ports_lock);
	ports[port->index] = NULL;
	other = ports[port->index ^ 1];
	if (other)
		RCU_INIT_POINTER(other->peer, NULL);
	RCU_INIT_POINTER(port->peer, NULL);
	mutex_unlock(&ports_lock);
	synchronize_net();
}

static void quiesce(struct port *port)
{
	owner_fini(port);
	load_stop(port);
	link_fini(port);
	pause_fini(port);
	stats_fini(port);
	cancel_work_sync(&port->timeout);
}

static int port_setup(struct port *port, struct platform_device *device)
{
	struct net_device *nd = port->nd;
	int kind = flavour_of(device->id);

	if (kind < 0)
		return kind;
	port->parent = &device->dev;
	port->index = device->id;
	port->flavour = kind;
	spin_lock_init(&port->lock);
	spin_lock_init(&port->trace_lock);
	INIT_WORK(&port->timeout, timeout_work);
	port->trace = kvcalloc(TRACE_LEN, sizeof(*port->trace), GFP_KERNEL);
	nd->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!port->trace || !nd->tstats)
		return -ENOMEM;
	dcb_init(port);
	pause_init(port);
	load_init(port);
	link_init(port);
	owner_init(port);
	eth_hw_addr_random(nd);
	SET_NETDEV_DEV(nd, port->parent);
	snprintf(nd->name, IFNAMSIZ, "pfc%d", port->index);
	nd->ethtool_ops = &pfcsim_ethtool_ops;
	nd->dcbnl_ops = &pfcsim_dcb_ops;
	netdev_setup(nd);
	return stats_init(port);
}

static void port_free(struct port *port)
{
	free_percpu(port->nd->tstats);
	kvfree(port->trace);
	free_netdev(port->nd);
}

static int probe(struct platform_device *device)
{
	struct net_device *nd = alloc_etherdev_mqs(sizeof(struct port), PRIOS, 1);
	struct port *port;
	int err;

	if (!nd)
		return -ENOMEM;
	port = netdev_priv(nd);
	port->nd = nd;
	err = port_setup(port, device);
	if (err)
		goto free;
	err = health_init(port);
	if (err)
		goto quiesce;
	err = register_netdev(nd);
	if (err)
		goto health;
	health_publish(port);
	platform_set_drvdata(device, port);
	join(port);
	if (rdma)
		rdma_add(port);
	control_add(port, root);
	return 0;
health:
	health_free(port);
quiesce:
	quiesce(port);
free:
	port_free(port);
	return err;
}

static void take_away(struct platform_device *device)
{
	struct port *port = platform_get_drvdata(device);

	debugfs_remove_recursive(port->dir);
	stats_hang(port, 0);
	rdma_remove(port);
	part(port);
	owner_fini(port);
	load_stop(port);
	health_fini(port);
	unregister_netdev(port->nd);
	quiesce(port);
	health_free(port);
	port_free(port);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static void remove(struct platform_device *device)
{
	take_away(device);
}
#else
static int remove(struct platform_device *device)
{
	take_away(device);
	return 0;
}
#endif

static struct platform_driver driver = {
	.probe = probe, .remove = remove, .driver = { .name = "pfcsim" },
};

static void __exit pfcsim_exit(void)
{
	int i;

	for (i = 0; i < PFCSIM_PORTS; i++)
		if (!IS_ERR_OR_NULL(devices[i]))
			platform_device_unregister(devices[i]);
	platform_driver_unregister(&driver);
	debugfs_remove_recursive(root);
}

static int __init pfcsim_init(void)
{
	int i, err;

	if (nports > PFCSIM_PORTS)
		return -EINVAL;
	for (i = 0; i < nports; i++)
		if (flavour_of(i) < 0)
			return -EINVAL;
	root = debugfs_create_dir("pfcsim", NULL);
	err = platform_driver_register(&driver);
	if (err) {
		debugfs_remove_recursive(root);
		return err;
	}
	for (i = 0; i < nports; i++)
		devices[i] = platform_device_register_simple("pfcsim", i, NULL, 0);
	return 0;
}

module_init(pfcsim_init);
module_exit(pfcsim_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("An Ethernet device without hardware for tests of PFC watchdogs");
