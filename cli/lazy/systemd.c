/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd.c - event loops, of the verbs that have one; see lazy.h. */
#include <errno.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include "cli/lazy/lazy.h"

static struct lazy library = { .file = "libsystemd.so.0", .package = "libsystemd0" };

/* clang-format off */
LAZY(int, sd_event_add_child, (sd_event *a, sd_event_source **b, pid_t c, int d, sd_event_child_handler_t e, void *f), (a, b, c, d, e, f))
LAZY(int, sd_event_add_io, (sd_event *a, sd_event_source **b, int c, uint32_t d, sd_event_io_handler_t e, void *f), (a, b, c, d, e, f))
LAZY(int, sd_event_add_signal, (sd_event *a, sd_event_source **b, int c, sd_event_signal_handler_t d, void *e), (a, b, c, d, e))
LAZY(int, sd_event_add_defer, (sd_event *a, sd_event_source **b, sd_event_handler_t c, void *d), (a, b, c, d))
LAZY(int, sd_event_add_time_relative, (sd_event *a, sd_event_source **b, clockid_t c, uint64_t d, uint64_t e, sd_event_time_handler_t f, void *g), (a, b, c, d, e, f, g))
LAZY(int, sd_event_exit, (sd_event *a, int b), (a, b))
LAZY(int, sd_event_loop, (sd_event *a), (a))
LAZY(int, sd_event_new, (sd_event **a), (a))
LAZY(int, sd_event_now, (sd_event *a, clockid_t b, uint64_t *c), (a, b, c))
LAZY(sd_event*, sd_event_ref, (sd_event *a), (a))
LAZY(int, sd_event_run, (sd_event *a, uint64_t b), (a, b))
LAZY(sd_event_source*, sd_event_source_disable_unref, (sd_event_source *a), (a))
LAZY(int, sd_event_source_set_description, (sd_event_source *a, const char *b), (a, b))
LAZY(int, sd_event_source_set_enabled, (sd_event_source *a, int b), (a, b))
LAZY(int, sd_event_source_set_io_events, (sd_event_source *a, uint32_t b), (a, b))
LAZY(int, sd_event_source_set_time_relative, (sd_event_source *a, uint64_t b), (a, b))
LAZY(sd_event*, sd_event_unref, (sd_event *a), (a))
LAZY(int, sd_notify, (int a, const char *b), (a, b))

/* The command writes to stderr; the journal is the daemons'. */
int sd_journal_send_with_location(const char *file, const char *line, const char *func, const char *format, ...)
{
	(void)file;
	(void)line;
	(void)func;
	(void)format;
	return -ENOSYS;
}
