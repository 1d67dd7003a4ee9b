// SPDX-License-Identifier: GPL-2.0
/* A second owner of the PFC mask: firmware, which writes it and tells nobody. */
#include "pfcsim.h"

void owner_write(struct port *port, u8 mask)
{
	trace_masks(port, "owner", port->mask, mask, 0);
	dcb_apply(port, mask);
}

static void owner_work(struct work_struct *work)
{
	struct port *port = container_of(to_delayed_work(work), struct port, owner);

	if (port->mask != port->owner_mask)
		owner_write(port, port->owner_mask);
	if (port->owner_every_ms)
		schedule_delayed_work(&port->owner, msecs_to_jiffies(port->owner_every_ms));
}

void owner_every(struct port *port, int ms, u8 mask)
{
	cancel_delayed_work_sync(&port->owner);
	port->owner_mask = mask;
	port->owner_every_ms = ms;
	if (ms)
		schedule_delayed_work(&port->owner, msecs_to_jiffies(ms));
}

void owner_init(struct port *port)
{
	INIT_DELAYED_WORK(&port->owner, owner_work);
}

void owner_fini(struct port *port)
{
	port->owner_every_ms = 0;
	cancel_delayed_work_sync(&port->owner);
}
