// SPDX-License-Identifier: GPL-2.0
/*
 * devlink: the device, its physical port, and the reporter of transmit timeouts.
 * mlx5 has its reporter on the port, the others on the device; ice has none.
 */
#include "pfcsim.h"

const char * const driver_names[FLAVOURS] = {
	[FLAVOUR_PFCSIM] = "pfcsim",
	[FLAVOUR_MLX5] = "mlx5_core",
	[FLAVOUR_BNXT] = "bnxt_en",
	[FLAVOUR_ICE] = "ice",
};

static struct port *reported(struct devlink_health_reporter *reporter)
{
	return *(struct port **)devlink_health_reporter_priv(reporter);
}

/* Called only while the reporter is in error: otherwise devlink itself says 0 and does nothing. */
static int recover(struct devlink_health_reporter *reporter, void *context, struct netlink_ext_ack *extack)
{
	struct port *port = reported(reporter);
	int said;

	if (set_spoiled(port, &said)) {
		trace_value(port, "recover", -1, said);
		return said;
	}
	pause_reset(port, "recover");
	return 0;
}

static int diagnose(struct devlink_health_reporter *reporter, struct devlink_fmsg *fmsg,
		    struct netlink_ext_ack *extack)
{
	struct port *port = reported(reporter);
	int i, held = 0;

	for (i = 0; i < PRIOS; i++)
		held += skb_queue_len(&port->q[i].held);
	devlink_fmsg_u32_pair_put(fmsg, "held", held);
	return 0;
}

static const struct devlink_health_reporter_ops reporter_ops = {
	.name = "tx", .recover = recover, .diagnose = diagnose,
};

static int info_get(struct devlink *devlink, struct devlink_info_req *req, struct netlink_ext_ack *extack)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	struct port *port = *(struct port **)devlink_priv(devlink);
	int err = devlink_info_driver_name_put(req, driver_names[port->flavour]);

	if (err)
		return err;
#endif
	return devlink_info_version_running_put(req, "fw.version", "1.0");
}

static const struct devlink_ops ops = { .info_get = info_get };

/* Before the network device is registered. */
int health_init(struct port *port)
{
	struct devlink_port_attrs attrs = { .flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL };
	int err;

	port->devlink = devlink_alloc(&ops, sizeof(struct port *), port->parent);
	if (!port->devlink)
		return -ENOMEM;
	*(struct port **)devlink_priv(port->devlink) = port;
	attrs.phys.port_number = port->index;
	devlink_port_attrs_set(&port->devlink_port, &attrs);
	err = devlink_port_register(port->devlink, &port->devlink_port, 0);
	if (err) {
		devlink_free(port->devlink);
		return err;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	SET_NETDEV_DEVLINK_PORT(port->nd, &port->devlink_port);
#endif
	if (port->flavour == FLAVOUR_ICE)
		return 0;
	if (port->flavour == FLAVOUR_MLX5)
		port->reporter = devlink_port_health_reporter_create(&port->devlink_port, &reporter_ops,
								     0, devlink_priv(port->devlink));
	else
		port->reporter = devlink_health_reporter_create(port->devlink, &reporter_ops,
								0, devlink_priv(port->devlink));
	if (IS_ERR(port->reporter))
		port->reporter = NULL;
	return 0;
}

/* After the network device is registered. */
void health_publish(struct port *port)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	devlink_port_type_eth_set(&port->devlink_port, port->nd);
#endif
	devlink_register(port->devlink);
}

/* Before the network device goes. */
void health_fini(struct port *port)
{
	devlink_unregister(port->devlink);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	devlink_port_type_clear(&port->devlink_port);
#endif
}

void health_free(struct port *port)
{
	if (port->reporter)
		devlink_health_reporter_destroy(port->reporter);
	port->reporter = NULL;
	devlink_port_unregister(&port->devlink_port);
	devlink_free(port->devlink);
}
