// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs, written to debugfs pfcsim/PORT/ctl, one command a write:
 *
 *   storm P on [ms=N] [survive=K]   the peer pauses priority P (for N ms; K resets do not end it,
 *                                   any number without survive=); survive= also on a running one
 *   storm P off
 *   txstorm P on [ms=N] | off       this port pauses its peer
 *   choppy P ON_MS OFF_MS           storms of ON_MS with gaps of OFF_MS, until storm P off
 *   xonstorm P on|off               frames that pause nothing
 *   gpause on|off [ms=N]            an 802.3x storm; in force while 802.3x is on
 *   load P PPS                      packets of priority P each second; 0: none
 *   add|rate COUNTER N              adds N to a counter, or N each second
 *   carrier 0|1                     takes the link away, gives it back
 *   flap MS                         how long the link is away at a new mask
 *   failset N | ignoreset N         the next N sets fail; say 0 and change nothing
 *   slowset MS                      a PFC set takes so long
 *   hangstats MS                    statistics read in the next MS ms hang until then; 0: no more
 *   owner MASK                      firmware writes the mask
 *   owner_every MS MASK             and again each MS ms when it differs; 0 0: no more
 *   dcbx host|firmware              who owns DCBX
 *   refresh MS                      bnxt: how often statistics are copied
 *   shift 0|1                       the names of priorities 3 and 4 change places
 *   eventsreset                     empties the trace
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include "pfcsim.h"

struct words {
	char *verb, *args;
};

static bool on_off(const char *word, bool *on)
{
	*on = !strcmp(word, "on");
	return *on || !strcmp(word, "off");
}

static int option(const char *args, const char *name, int otherwise)
{
	const char *at = strstr(args, name);
	int value;

	return at && sscanf(at + strlen(name), "%d", &value) == 1 ? value : otherwise;
}

static int storm(struct port *port, const char *args, bool rx)
{
	int survives = option(args, "survive=", SURVIVES_ALL);
	int ms = option(args, "ms=", 0);
	unsigned int prio;
	char word[8];
	bool on;

	if (sscanf(args, "%u %7s", &prio, word) != 2 || prio >= PRIOS || !on_off(word, &on))
		return -EINVAL;
	if (rx && on && port->q[prio].rx.asked && !ms)
		pause_survive(port, prio, survives);
	else
		storm_set(port, prio, rx, on, ms, 0, survives);
	return 0;
}

static int do_storm(struct port *port, const char *args)
{
	return storm(port, args, true);
}

static int do_txstorm(struct port *port, const char *args)
{
	return storm(port, args, false);
}

static int do_choppy(struct port *port, const char *args)
{
	unsigned int prio, on_ms, off_ms;

	if (sscanf(args, "%u %u %u", &prio, &on_ms, &off_ms) != 3 || prio >= PRIOS || !on_ms || !off_ms)
		return -EINVAL;
	storm_set(port, prio, true, true, on_ms, off_ms, SURVIVES_ALL);
	return 0;
}

static int do_xonstorm(struct port *port, const char *args)
{
	unsigned int prio;
	char word[8];
	bool on;

	if (sscanf(args, "%u %7s", &prio, word) != 2 || prio >= PRIOS || !on_off(word, &on))
		return -EINVAL;
	xon_storm_set(port, prio, on);
	return 0;
}

static int do_gpause(struct port *port, const char *args)
{
	char word[8];
	bool on;

	if (sscanf(args, "%7s", word) != 1 || !on_off(word, &on))
		return -EINVAL;
	storm_set(port, GLOBAL, true, on, option(args, "ms=", 0), 0, SURVIVES_ALL);
	return 0;
}

static int do_load(struct port *port, const char *args)
{
	unsigned int prio, pps;

	if (sscanf(args, "%u %u", &prio, &pps) != 2 || prio >= PRIOS)
		return -EINVAL;
	load_set(port, prio, pps);
	return 0;
}

static int count(struct port *port, const char *args, bool rate)
{
	u64 value, now = ktime_get_ns();
	char name[48];
	int i;

	if (sscanf(args, "%47s %llu", name, &value) != 2)
		return -EINVAL;
	i = counter_find(name);
	if (i < 0)
		return i;
	spin_lock_bh(&port->lock);
	port->counters[i].base = counter_value(port, i, now) + (rate ? 0 : value);
	port->counters[i].since = now;
	if (rate)
		port->counters[i].rate = value;
	spin_unlock_bh(&port->lock);
	return 0;
}

static int do_add(struct port *port, const char *args)
{
	return count(port, args, false);
}

static int do_rate(struct port *port, const char *args)
{
	return count(port, args, true);
}

static int do_carrier(struct port *port, const char *args)
{
	if (kstrtobool(args, &port->carrier_wanted))
		return -EINVAL;
	link_update(port);
	return 0;
}

static int do_owner(struct port *port, const char *args)
{
	u8 mask;

	if (kstrtou8(args, 0, &mask))
		return -EINVAL;
	owner_write(port, mask);
	return 0;
}

static int do_owner_every(struct port *port, const char *args)
{
	unsigned int ms;
	int mask;

	if (sscanf(args, "%u %i", &ms, &mask) != 2 || mask < 0 || mask > 255)
		return -EINVAL;
	owner_every(port, ms, mask);
	return 0;
}

static int do_dcbx(struct port *port, const char *args)
{
	if (!strcmp(args, "host"))
		port->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	else if (!strcmp(args, "firmware"))
		port->dcbx = DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE;
	else
		return -EINVAL;
	return 0;
}

static int do_hangstats(struct port *port, const char *args)
{
	u32 ms;

	if (kstrtou32(args, 0, &ms))
		return -EINVAL;
	stats_hang(port, ms);
	return 0;
}

/* Whether a knob spoils this set, and what its caller is told then. */
bool set_spoiled(struct port *port, int *said)
{
	int *knob = port->failset > 0 ? &port->failset : &port->ignoreset;

	if (*knob <= 0)
		return false;
	--*knob;
	*said = knob == &port->failset ? -EIO : 0;
	return true;
}

static int do_failset(struct port *port, const char *args)
{
	return kstrtoint(args, 0, &port->failset);
}

static int do_ignoreset(struct port *port, const char *args)
{
	return kstrtoint(args, 0, &port->ignoreset);
}

static int do_slowset(struct port *port, const char *args)
{
	return kstrtoint(args, 0, &port->slowset_ms);
}

static int do_flap(struct port *port, const char *args)
{
	return kstrtoint(args, 0, &port->flap_ms);
}

static int do_refresh(struct port *port, const char *args)
{
	return port->copy ? kstrtoint(args, 0, &port->refresh_ms) : -EINVAL;
}

static int do_shift(struct port *port, const char *args)
{
	return kstrtobool(args, &port->shifted);
}

static int do_eventsreset(struct port *port, const char *args)
{
	trace_reset(port);
	return 0;
}

static const struct {
	const char *verb;
	int (*run)(struct port *port, const char *args);
} commands[] = {
	{ "storm", do_storm }, { "txstorm", do_txstorm }, { "choppy", do_choppy },
	{ "xonstorm", do_xonstorm }, { "gpause", do_gpause }, { "load", do_load },
	{ "add", do_add }, { "rate", do_rate }, { "carrier", do_carrier }, { "flap", do_flap },
	{ "failset", do_failset }, { "ignoreset", do_ignoreset }, { "slowset", do_slowset },
	{ "hangstats", do_hangstats }, { "owner", do_owner }, { "owner_every", do_owner_every },
	{ "dcbx", do_dcbx }, { "refresh", do_refresh }, { "shift", do_shift },
	{ "eventsreset", do_eventsreset },
};

static ssize_t control_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	char text[128], *args, *verb;
	int i, err;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;
	args = strim(text);
	verb = strsep(&args, " ");
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(verb, commands[i].verb))
			continue;
		err = commands[i].run(file->private_data, args ? args : "");
		return err ? err : len;
	}
	return -EINVAL;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = control_write,
};

static int state_show(struct seq_file *m, void *unused)
{
	struct port *port = m->private;
	int i;

	seq_printf(m, "now %llu mask %02x link %d\n", ktime_get_ns(), port->mask, link_up(port));
	for (i = 0; i < PRIOS; i++)
		seq_printf(m, "prio %d storm %d paused %d held %u stopped %d tx %llu\n", i, port->q[i].rx.asked,
			   queue_paused(port, i), skb_queue_len(&port->q[i].held),
			   __netif_subqueue_stopped(port->nd, i), port->q[i].tx_packets);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

void control_add(struct port *port, struct dentry *root)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", port->index);
	port->dir = debugfs_create_dir(name, root);
	debugfs_create_file("ctl", 0200, port->dir, port, &control_fops);
	debugfs_create_file("events", 0444, port->dir, port, &trace_fops);
	debugfs_create_file("state", 0444, port->dir, port, &state_fops);
}
