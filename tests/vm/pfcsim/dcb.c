// SPDX-License-Identifier: GPL-2.0
/*
 * DCB. What a new PFC mask does besides is the flavour's: mlx5 flaps the link and
 * computes headroom anew (en_dcbnl.c, en/port_buffer.c), bnxt does neither and
 * wants the host to own DCBX (bnxt_dcb.c), ice closes and opens the device and
 * refuses while firmware owns DCBX or a bond the port (ice_dcb_nl.c); Linux 6.12.
 */
#include <linux/delay.h>
#include "pfcsim.h"

#define BUFFER_TOTAL 262144

static struct port *port_of_nd(struct net_device *nd)
{
	return netdev_priv(nd);
}

static int get_pfc(struct net_device *nd, struct ieee_pfc *pfc)
{
	struct port *port = port_of_nd(nd);
	u64 now = ktime_get_ns();
	int i;

	spin_lock_bh(&port->lock);
	pfc->pfc_cap = PRIOS;
	pfc->pfc_en = port->mask;
	pfc->mbc = port->mbc;
	pfc->delay = port->delay;
	for (i = 0; i < PRIOS; i++) {
		pfc->requests[i] = pause_frames(&port->q[i].tx, now);
		pfc->indications[i] = pause_frames(&port->q[i].rx, now);
	}
	spin_unlock_bh(&port->lock);
	return 0;
}

/* Lossless priorities get a buffer of their own. */
static void headroom(struct port *port)
{
	int i;

	memset(&port->buffer, 0, sizeof(port->buffer));
	port->buffer.total_size = BUFFER_TOTAL;
	for (i = 0; i < PRIOS; i++)
		port->buffer.prio2buffer[i] = !!(port->mask & BIT(i));
	port->buffer.buffer_size[0] = port->mask ? BUFFER_TOTAL / 4 : BUFFER_TOTAL;
	port->buffer.buffer_size[1] = port->mask ? BUFFER_TOTAL / 2 : 0;
}

/* The mask as the device has it from now on, whoever wrote it. */
void dcb_apply(struct port *port, u8 mask)
{
	u8 changed;
	int i;

	spin_lock_bh(&port->lock);
	changed = port->mask ^ mask;
	port->mask = mask;
	if (changed && port->flavour == FLAVOUR_MLX5)
		headroom(port);
	for (i = 0; i < PRIOS; i++)
		if (changed & BIT(i))
			trace(port, mask & BIT(i) ? "pfc_on" : "pfc_off", i);
	spin_unlock_bh(&port->lock);
	if (changed)
		pause_refresh(port);
}

static bool refused(struct port *port)
{
	bool host_ieee = (port->dcbx & DCB_CAP_DCBX_HOST) && (port->dcbx & DCB_CAP_DCBX_VER_IEEE);

	if (port->pauseparam.rx_pause || port->pauseparam.tx_pause)
		return true;
	switch (port->flavour) {
	case FLAVOUR_BNXT:
		return !host_ieee;
	case FLAVOUR_ICE:
		return !host_ieee || netif_is_lag_port(port->nd);
	default:
		return false;
	}
}

/* What the driver tells its caller, and what the device does. */
static int attempt(struct port *port, const struct ieee_pfc *pfc)
{
	bool changes = port->mask != pfc->pfc_en;
	int said;

	if (refused(port))
		return -EINVAL;
	if (port->slowset_ms)
		msleep(port->slowset_ms);
	if (set_spoiled(port, &said))
		return said;
	port->mbc = pfc->mbc;
	port->delay = pfc->delay;
	if (port->flavour == FLAVOUR_ICE && !changes)
		return 1;	/* ICE_DCB_NO_HW_CHG */
	dcb_apply(port, pfc->pfc_en);
	if (changes && port->flavour == FLAVOUR_MLX5)
		link_flap(port);
	if (changes && port->flavour == FLAVOUR_ICE && netif_running(port->nd)) {
		dev_close(port->nd);
		msleep(port->flap_ms);
		return dev_open(port->nd, NULL);
	}
	return 0;
}

static int set_pfc(struct net_device *nd, struct ieee_pfc *pfc)
{
	struct port *port = port_of_nd(nd);
	u8 before = port->mask;
	int err;

	trace_masks(port, "set_begin", before, pfc->pfc_en, 0);
	err = attempt(port, pfc);
	trace_masks(port, "set", before, port->mask, err);
	return err;
}

static int get_ets(struct net_device *nd, struct ieee_ets *ets)
{
	*ets = port_of_nd(nd)->ets;
	return 0;
}

static int set_ets(struct net_device *nd, struct ieee_ets *ets)
{
	trace(port_of_nd(nd), "ets_set", -1);
	port_of_nd(nd)->ets = *ets;
	return 0;
}

static u8 get_dcbx(struct net_device *nd)
{
	return port_of_nd(nd)->dcbx;
}

static u8 set_dcbx(struct net_device *nd, u8 mode)
{
	if ((mode & DCB_CAP_DCBX_LLD_MANAGED) || !(mode & DCB_CAP_DCBX_VER_IEEE))
		return 1;
	trace_value(port_of_nd(nd), "dcbx_set", -1, mode);
	port_of_nd(nd)->dcbx = mode;
	return 0;
}

static int get_buffer(struct net_device *nd, struct dcbnl_buffer *buffer)
{
	*buffer = port_of_nd(nd)->buffer;
	return 0;
}

static int set_buffer(struct net_device *nd, struct dcbnl_buffer *buffer)
{
	trace(port_of_nd(nd), "buffer_set", -1);
	port_of_nd(nd)->buffer = *buffer;
	return 0;
}

/* The table of applications is kept by the kernel itself. */
const struct dcbnl_rtnl_ops pfcsim_dcb_ops = {
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.ieee_getets = get_ets,
	.ieee_setets = set_ets,
	.getdcbx = get_dcbx,
	.setdcbx = set_dcbx,
	.dcbnl_getbuffer = get_buffer,
	.dcbnl_setbuffer = set_buffer,
};

void dcb_init(struct port *port)
{
	int i;

	port->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	port->ets.ets_cap = PRIOS;
	for (i = 0; i < PRIOS; i++) {
		port->ets.prio_tc[i] = i;
		port->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_STRICT;
	}
	headroom(port);
}
