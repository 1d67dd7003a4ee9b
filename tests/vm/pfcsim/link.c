// SPDX-License-Identifier: GPL-2.0
/* The link: up when the device is, a peer is there, and no flap is going on. */
#include "pfcsim.h"

bool link_up(const struct port *port)
{
	return netif_running(port->nd) && netif_carrier_ok(port->nd);
}

void link_update(struct port *port)
{
	bool up = netif_running(port->nd) && port->carrier_wanted && !port->flapping;

	if (up == netif_carrier_ok(port->nd))
		return;
	if (up) {
		netif_carrier_on(port->nd);
	} else {
		netif_carrier_off(port->nd);
		spin_lock_bh(&port->lock);
		port->counters[C_LINK_DOWNS].base++;
		spin_unlock_bh(&port->lock);
	}
	trace(port, up ? "link_up" : "link_down", -1);
	pause_refresh(port);
}

static void flap_end(struct work_struct *work)
{
	struct port *port = container_of(to_delayed_work(work), struct port, flap_end);

	port->flapping = false;
	link_update(port);
}

/* mlx5_toggle_port_link: down at once, up when training is done. */
void link_flap(struct port *port)
{
	if (!netif_running(port->nd) || !port->flap_ms)
		return;
	port->flapping = true;
	link_update(port);
	mod_delayed_work(system_highpri_wq, &port->flap_end, msecs_to_jiffies(port->flap_ms));
}

void link_init(struct port *port)
{
	port->carrier_wanted = true;
	port->flap_ms = port->flavour == FLAVOUR_MLX5 || port->flavour == FLAVOUR_ICE ? 300 : 0;
	INIT_DELAYED_WORK(&port->flap_end, flap_end);
}

void link_fini(struct port *port)
{
	cancel_delayed_work_sync(&port->flap_end);
}
