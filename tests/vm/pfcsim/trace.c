// SPDX-License-Identifier: GPL-2.0
/* What happened to a port and when: "NANOSECONDS WHAT PRIO ...", one line each. */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include "pfcsim.h"

static void record(struct port *port, const struct trace_entry *entry)
{
	struct trace_entry *e;
	unsigned long flags;

	spin_lock_irqsave(&port->trace_lock, flags);
	e = &port->trace[port->traced++ % TRACE_LEN];
	*e = *entry;
	e->at = ktime_get_ns();
	e->pid = in_task() ? task_tgid_nr(current) : 0;
	strscpy(e->comm, in_task() ? current->comm : "-", sizeof(e->comm));
	spin_unlock_irqrestore(&port->trace_lock, flags);
}

void trace(struct port *port, const char *what, int prio)
{
	trace_value(port, what, prio, 0);
}

void trace_value(struct port *port, const char *what, int prio, int value)
{
	struct trace_entry e = { .what = what, .prio = prio, .value = value };

	record(port, &e);
}

void trace_masks(struct port *port, const char *what, u8 before, u8 after, int error)
{
	struct trace_entry e = {
		.what = what, .prio = -1, .has_masks = true,
		.before = before, .after = after, .value = error,
	};

	record(port, &e);
}

void trace_reset(struct port *port)
{
	unsigned long flags;

	spin_lock_irqsave(&port->trace_lock, flags);
	port->traced = 0;
	spin_unlock_irqrestore(&port->trace_lock, flags);
}

static int trace_show(struct seq_file *m, void *unused)
{
	struct port *port = m->private;
	struct trace_entry e;
	unsigned long flags;
	u32 i, end;

	spin_lock_irqsave(&port->trace_lock, flags);
	end = port->traced;
	spin_unlock_irqrestore(&port->trace_lock, flags);
	for (i = end > TRACE_LEN ? end - TRACE_LEN : 0; i < end; i++) {
		spin_lock_irqsave(&port->trace_lock, flags);
		e = port->trace[i % TRACE_LEN];
		spin_unlock_irqrestore(&port->trace_lock, flags);
		seq_printf(m, "%llu %s %d", e.at, e.what, e.prio);
		if (e.has_masks)
			seq_printf(m, " before=%02x after=%02x error=%d", e.before, e.after, e.value);
		else
			seq_printf(m, " value=%d", e.value);
		seq_printf(m, " pid=%d comm=%s\n", e.pid, e.comm);
	}
	return 0;
}

static int trace_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, trace_show, inode->i_private, TRACE_LEN * 96);
}

const struct file_operations trace_fops = {
	.owner = THIS_MODULE, .open = trace_open, .read = seq_read, .llseek = seq_lseek, .release = single_release,
};
