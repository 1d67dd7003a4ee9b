// SPDX-License-Identifier: GPL-2.0
/*
 * An RDMA device beside the port: what sysfs and the RDMA netlink show of one, with
 * counters, and no verbs.
 */
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>
#include "pfcsim.h"

#define RDMA_COUNTERS (COUNTERS - C_FIRST_RDMA)

struct rdma {
	struct ib_device ib;
	struct port *port;
	struct rdma_stat_desc descs[RDMA_COUNTERS];
	enum counter of[RDMA_COUNTERS];
	int len;
};

static struct port *port_of_ib(struct ib_device *ib)
{
	return container_of(ib, struct rdma, ib)->port;
}

static struct rdma_hw_stats *alloc_stats(struct ib_device *ib, u32 port_num)
{
	struct rdma *rdma = container_of(ib, struct rdma, ib);

	return rdma_alloc_hw_stats_struct(rdma->descs, rdma->len, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int get_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port_num, int index)
{
	struct rdma *rdma = container_of(ib, struct rdma, ib);
	u64 now = ktime_get_ns();
	int i;

	spin_lock_bh(&rdma->port->lock);
	for (i = 0; i < rdma->len; i++)
		stats->value[i] = counter_value(rdma->port, rdma->of[i], now);
	spin_unlock_bh(&rdma->port->lock);
	return rdma->len;
}

static int query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_qp = 16;
	attr->max_cq = 16;
	attr->max_pkeys = 1;
	return 0;
}

static int query_port(struct ib_device *ib, u32 port_num, struct ib_port_attr *attr)
{
	bool up = link_up(port_of_ib(ib));

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 16;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 1 << 30;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	return 0;
}

static int port_immutable(struct ib_device *ib, u32 port_num, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 16;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP | RDMA_CORE_CAP_ETH_AH;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port_num, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static enum rdma_link_layer link_layer(struct ib_device *ib, u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

static void firmware(struct ib_device *ib, char *text)
{
	strscpy(text, "1.0", IB_FW_VERSION_NAME_MAX);
}

/* With this ib_core makes ports/1/counters/. */
static int process_mad(struct ib_device *ib, int flags, u32 port_num, const struct ib_wc *wc,
		       const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey)
{
	struct port *port = port_of_ib(ib);
	u64 rx_bytes = 0, rx_packets = 0, tx_bytes = 0, tx_packets = 0;
	int i;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_FAILURE;
	memset(out->data, 0, sizeof(out->data));
	spin_lock_bh(&port->lock);
	for (i = 0; i < PRIOS; i++) {
		rx_bytes += port->q[i].rx_bytes;
		rx_packets += port->q[i].rx_packets;
		tx_bytes += port->q[i].tx_bytes;
		tx_packets += port->q[i].tx_packets;
	}
	spin_unlock_bh(&port->lock);
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
		struct ib_class_port_info info = { .capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH };

		memcpy(out->data + 40, &info, sizeof(info));
	} else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT) {
		struct ib_pma_portcounters_ext *ext = (void *)(out->data + 40);

		ext->port_xmit_data = cpu_to_be64(tx_bytes >> 2);
		ext->port_rcv_data = cpu_to_be64(rx_bytes >> 2);
		ext->port_xmit_packets = cpu_to_be64(tx_packets);
		ext->port_rcv_packets = cpu_to_be64(rx_packets);
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

static const struct ib_device_ops ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.query_device = query_device,
	.query_port = query_port,
	.get_port_immutable = port_immutable,
	.query_pkey = query_pkey,
	.add_gid = add_gid,
	.del_gid = del_gid,
	.get_link_layer = link_layer,
	.get_dev_fw_str = firmware,
	.alloc_hw_port_stats = alloc_stats,
	.get_hw_stats = get_stats,
	.process_mad = process_mad,
};

static void name_counters(struct rdma *rdma)
{
	const char *name;
	int i;

	for (i = C_FIRST_RDMA; i < COUNTERS; i++) {
		name = rdma_counter_name(rdma->port->flavour, i);
		if (!name)
			continue;
		rdma->descs[rdma->len].name = name;
		rdma->of[rdma->len++] = i;
	}
}

void rdma_add(struct port *port)
{
	struct rdma *rdma = ib_alloc_device(rdma, ib);
	int err;

	if (!rdma)
		return;
	rdma->port = port;
	name_counters(rdma);
	rdma->ib.node_type = RDMA_NODE_IB_CA;
	rdma->ib.phys_port_cnt = 1;
	rdma->ib.num_comp_vectors = 1;
	rdma->ib.dev.parent = port->parent;
	addrconf_addr_eui48((u8 *)&rdma->ib.node_guid, port->nd->dev_addr);
	ib_set_device_ops(&rdma->ib, &ops);
	err = ib_device_set_netdev(&rdma->ib, port->nd, 1);
	if (!err)
		err = ib_register_device(&rdma->ib, "pfcsim_%d", NULL);
	if (err) {
		netdev_err(port->nd, "no RDMA device: %d\n", err);
		ib_dealloc_device(&rdma->ib);
		return;
	}
	port->rdma = rdma;
}

void rdma_remove(struct port *port)
{
	if (!port->rdma)
		return;
	ib_unregister_device(&port->rdma->ib);
	ib_dealloc_device(&port->rdma->ib);
	port->rdma = NULL;
}
