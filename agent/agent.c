/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent.c - reeve-agent: open everything, recover the jobs, run the event loop. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include "agent/dbus.h"
#include "agent/foreign/jobs.h"
#include "agent/node_open.h"
#include "agent/pbs/protocol.h"
#include "agent/job/job.h"
#include "agent/job/phase/end.h"
#include "agent/job/phases.h"
#include "agent/step/adopt.h"
#include "agent/job/handshake/handshake.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/desired.h"
#include "agent/job/output.h"
#include "agent/job/phase/recover.h"
#include "agent/job/phase/start.h"
#include "agent/memory.h"
#include "agent/metrics/server.h"
#include "agent/reload.h"
#include "agent/report/former.h"
#include "agent/slurm/protocol.h"
#include "agent/step/steps.h"
#include "agent/stray/stray.h"
#include "agent/state_dir.h"
#include "common/auth/auth.h"
#include "common/log.h"
#include "common/utf8.h"
#include "common/verb/verb.h"
#include "common/version.h"

#define DEFAULT_CONFIG "/etc/reeve/agent.conf"
#define GIVE_BACK_TICKS 10
#define GIVE_BACK_BYTES (1 << 20)
#define OUTPUT_PIECES_MAX 2000 /* in one sync */

struct daemon {
	struct node node;
	const struct agent_reload *config;
	struct handshake_server *gate;
	struct adopt_server *adopter;
	struct foreign_server *foreign; /* NULL: Engine=reeve */
	struct metrics_server *metrics; /* NULL: none */
	struct sync_slurm_job *slurm_jobs;
	sd_event_source *tick, *final, *vmem, *events, *guard;
	unsigned n_ticks;
	int64_t files;		       /* memory_files() after pages were given back */
	int n_pieces;		       /* of jobs' own output, in the document that is made */
	struct sync_job *jobs, *found; /* owned; what the last document lists */
	struct sync_gpu gpus[SYNC_GPUS_MAX];
};

/* Rows that were deleted remain in the write-ahead log of SQLite until it is truncated: scripts and
 * environments of jobs that are gone must leave the disk too. */
static void scrub_store(struct node *n)
{
	struct err err;

	if (!n->has_forgotten)
		return;
	if (store_scrub(n->db, &err) < 0)
		log_line(LOG_WARNING, "the write-ahead log keeps what was forgotten: %s",
			 err.text);
	else
		n->has_forgotten = false;
}

/* What a start or an exchange touched once is given back when it is a megabyte, and the rest now and then. */
static void give_back(struct daemon *d)
{
	if (d->n_ticks++ % GIVE_BACK_TICKS && memory_files() < d->files + GIVE_BACK_BYTES)
		return;
	scrub_store(&d->node);
	memory_give_back();
	d->files = memory_files();
}

static int on_tick(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t step = (uint64_t)d->node.conf->sample_interval_s * 1000000;
	int r;

	(void)usec;
	job_phases_tick(&d->node);
	job_gpus_tick(&d->node);
	steps_tick(&d->node);
	state_dir_settle(&d->node);
	give_back(d);
	r = sd_event_source_set_time_relative(s, step);
	return r < 0 ? r : sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_vmem(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct err err;

	(void)s, (void)fd, (void)revents;
	if (vmem_dispatch(((struct node *)userdata)->vmem, &err) < 0)
		log_line(LOG_ERR, "vmem: %s", err.text);
	return 0;
}

static int on_events(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct err err;

	(void)s, (void)fd, (void)revents;
	if (events_dispatch(((struct node *)userdata)->events, &err) < 0)
		log_line(LOG_ERR, "events: %s", err.text);
	return 0;
}

static int on_guard(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct err err;

	(void)s, (void)fd, (void)revents;
	if (guard_dispatch(((struct node *)userdata)->guard, &err) < 0)
		log_line(LOG_ERR, "guard: %s", err.text);
	return 0;
}

/* The next exchange with the controller, which describes the node as it is now, begins at once. */
static int on_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	struct daemon *d = userdata;
	struct node *n = &d->node;

	(void)s, (void)si;
	agent_reload(n, d->config);
	stray_reload(n->stray);
	if (n->uplink)
		uplink_retry(n->uplink);
	return sd_event_source_set_time_relative(d->tick, (uint64_t)n->conf->sample_interval_s *
								  1000000);
}

/* Events of limits are handled before everything else that is due. */
static int watch_fd(struct daemon *d, int fd, sd_event_io_handler_t handler,
		    sd_event_source **ret)
{
	int r = 0;

	if (fd >= 0)
		r = sd_event_add_io(d->node.event, ret, fd, EPOLLIN, handler, &d->node);
	if (r >= 0 && *ret)
		r = sd_event_source_set_priority(*ret, SD_EVENT_PRIORITY_IMPORTANT);
	return r;
}

static int watch_all(struct daemon *d, struct err *err)
{
	sd_event *e = d->node.event;
	int r = watch_fd(d, vmem_fd(d->node.vmem), on_vmem, &d->vmem);

	if (r >= 0)
		r = watch_fd(d, events_fd(d->node.events), on_events, &d->events);
	if (r >= 0)
		r = watch_fd(d, guard_fd(d->node.guard), on_guard, &d->guard);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &d->tick, CLOCK_BOOTTIME, 0, 10000, on_tick,
					       d);
	if (r >= 0)
		r = sd_event_add_signal(e, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(e, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(e, NULL, SIGHUP, on_hup, d);
	if (r >= 0)
		r = sd_event_set_watchdog(e, 1);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

static struct sync_amounts amounts_of(const struct admit_capacity *c)
{
	return (struct sync_amounts){ c->ncpus, c->mem_bytes, c->jobfs_bytes, c->ngpus };
}

/* What running jobs leave; on lack of memory, all of the node. */
static void describe_free(struct node *n, struct sync *ret)
{
	struct admit_capacity left = n->capacity;
	_cleanup_free_ struct admit_allocation *holds = NULL;
	struct admit_node node = { .capacity = n->capacity };

	if (job_list_allocations(n, NULL, &holds, &node.n_allocations) >= 0) {
		node.allocations = holds;
		admit_free(&node, &left);
	}
	ret->free = amounts_of(&left);
	ret->free_gpu_models = left.gpus;
}

static void name_node(const struct node *n, struct sync *ret)
{
	snprintf(ret->node, sizeof(ret->node), "%s", n->conf->node);
	snprintf(ret->boot, sizeof(ret->boot), "%s", n->boot);
	snprintf(ret->version, sizeof(ret->version), "%s", REEVE_VERSION);
	utf8_format(ret->topology, sizeof(ret->topology), "%s", n->topology_text);
	snprintf(ret->node_type, sizeof(ret->node_type), "%s", n->conf->node_type);
	snprintf(ret->features, sizeof(ret->features), "%s", n->conf->features);
}

static int describe_foreign(struct daemon *d, struct sync *ret)
{
	struct former_lists lists = { .jobs = d->jobs, .n_jobs = ret->n_jobs };
	int r = foreign_describe(&d->node, &d->slurm_jobs, &lists.n_told);

	lists.told = d->slurm_jobs;
	if (r >= 0)
		r = spool_describe(d->node.spool, &lists);
	ret->jobs = d->jobs = lists.jobs;
	ret->n_jobs = lists.n_jobs;
	ret->slurm_jobs = d->slurm_jobs = lists.told;
	ret->n_slurm_jobs = lists.n_told;
	return r;
}

/* uplink_config.describe: what the next sync says of the node. -ENOMEM: nothing is sent, because a list
 * that lacks jobs would make the controller take them for lost. */
static int describe_node(void *ctx, struct sync *ret)
{
	struct daemon *d = ctx;
	struct node *n = &d->node;
	size_t n_jobs, n_found;

	if (job_list(n, &d->jobs, &n_jobs) < 0 ||
	    job_recover_list_found(n, &d->found, &n_found) < 0)
		return -ENOMEM;
	*ret = (struct sync){ .capacity = amounts_of(&n->capacity),
			      .pids = n->capacity.pids,
			      .draining = n->is_store_failing,
			      .tier = node_tier(n),
			      .notes = n->note_list,
			      .jobs = d->jobs,
			      .n_jobs = n_jobs,
			      .found = d->found,
			      .n_found = n_found,
			      .gpus = d->gpus,
			      .n_gpus = job_gpus_describe(n, d->gpus) };
	name_node(n, ret);
	ret->engine = (enum engine)n->conf->engine;
	if (engine_is_foreign(ret->engine) && describe_foreign(d, ret) < 0)
		return -ENOMEM;
	ret->n_steps = steps_describe(n, &ret->steps);
	describe_free(n, ret);
	return ret->steps ? 0 : -ENOMEM;
}

/* uplink_config.next_output: first all pieces of jobs' own output, then those of steps. */
static int next_output(void *ctx, int index, struct sync_output *ret)
{
	struct daemon *d = ctx;

	if (index == 0)
		d->n_pieces = 0;
	if (index == d->n_pieces && job_output_next(&d->node, index, ret)) {
		d->n_pieces++;
		return 1;
	}
	return index < OUTPUT_PIECES_MAX &&
	       steps_output_next(&d->node, index - d->n_pieces, ret);
}

/* uplink_config.is_busy */
static bool has_moving_job(void *ctx)
{
	const struct daemon *d = ctx;

	for (const struct job *j = d->node.jobs; j; j = j->next)
		if (j->phase != PHASE_RUNNING)
			return true;
	return false;
}

static void on_link(void *ctx, bool up, const char *why)
{
	struct daemon *d = ctx;

	log_line(up ? LOG_INFO : LOG_WARNING, "controller %s %s%s%s", d->node.conf->controller,
		 up ? "reached" : "lost", up ? "" : ": ", up ? "" : why);
	sd_notifyf(0, "STATUS=tier %d, controller %s", node_tier(&d->node),
		   up ? "reached" : "not reached");
}

/* The handlers' ctx is the daemon here and the node on the bus: the same address. */
_Static_assert(offsetof(struct daemon, node) == 0, "node leads");

static int open_uplink(struct daemon *d, struct err *err)
{
	const struct agent_config *conf = d->node.conf;
	struct uplink_config c = { .event = d->node.event,
				   .spool = d->node.spool,
				   .handlers = &job_desired_handlers,
				   .describe = describe_node,
				   .next_output = next_output,
				   .is_busy = has_moving_job,
				   .on_link = on_link,
				   .ctx = d };
	uint32_t uid;
	int r;

	if (!conf->controller) {
		node_note(&d->node, "no controller configured: orders come from root alone");
		return 0;
	}
	r = node_http_config(conf, &c.http, &uid, err);
	return r < 0 ? r : uplink_open(&c, &d->node.uplink, err);
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

static void log_start(const struct node *n)
{
	struct vmem_room room;

	vmem_room(n->vmem, &room);
	log_line(LOG_INFO,
		 "node %s: tier %d, %s; jobs may have %" PRId64
		 " processes together, the table has room for %" PRIu64 " address spaces",
		 n->conf->node, node_tier(n), n->topology_text, n->capacity.pids,
		 room.max_spaces);
}

static int open_all(struct daemon *d, const struct agent_config *conf, struct err *err)
{
	int r = block_signals();

	if (r >= 0)
		r = sd_event_default(&d->node.event);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	r = node_open(&d->node, conf, err);
	if (!r)
		r = job_phases_watch(&d->node, &d->final, err);
	if (!r)
		r = open_uplink(d, err);
	if (!r)
		r = job_phases_open(&d->node, err);
	if (!r)
		r = steps_open(&d->node, err);
	if (!r)
		r = handshake_server_open(&d->node, &d->gate, err);
	if (!r)
		r = adopt_server_open(&d->node, &d->adopter, err);
	if (r >= 0 && engine_is_foreign((enum engine)conf->engine))
		r = foreign_server_open(
			&d->node, conf->engine == ENGINE_PBS ? &pbs_protocol : &slurm_protocol,
			&d->foreign, err);
	if (!r)
		r = metrics_server_open(&d->node, &d->metrics, err);
	if (!r)
		r = stray_open(&d->node, &d->node.stray, err);
	if (!r)
		r = watch_all(d, err);
	if (!r)
		r = dbus_open(&d->node, err);
	if (r < 0)
		return r;
	job_sweep_jobfs(&d->node);
	log_start(&d->node);
	sd_notifyf(0, "READY=1\nSTATUS=tier %d", node_tier(&d->node));
	r = sd_event_loop(d->node.event);
	sd_notify(0, "STOPPING=1");
	if (r > 0) /* open_bus() in node_open.c */
		return err_set(
			err, -ECONNRESET,
			"the system bus has closed the connection: its unit starts the agent again, else "
			"start it");
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

/* The rooms say in words what could not be loaded; libbpf's own lines are for debugging. */
static int on_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[1024];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_line(LOG_DEBUG, "%s", text);
	return 0;
}

static int run_daemon(const struct agent_reload *config, struct err *err)
{
	struct daemon *d = calloc(1, sizeof(*d));
	sd_event_source **sources[] = { &d->tick, &d->final, &d->vmem, &d->events, &d->guard };
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	umask(0077); /* what others may reach is given its mode where it is made */
	libbpf_set_print(on_libbpf);
	d->config = config;
	r = open_all(d, config->conf, err);
	d->gate = handshake_server_close(d->gate);
	d->adopter = adopt_server_close(d->adopter);
	d->foreign = foreign_server_close(d->foreign);
	d->metrics = metrics_server_close(d->metrics);
	d->node.stray = stray_close(d->node.stray);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		sd_event_source_disable_unref(*sources[i]);
	node_close(&d->node);
	sd_event_unref(d->node.event);
	free(d->jobs);
	free(d->found);
	free(d->slurm_jobs);
	free(d);
	return r;
}

static const struct verb_option options[] = {
	{ "config", 'c', "FILE", "configuration; default: " DEFAULT_CONFIG, NULL },
	{ "check", 0, NULL, "check the configuration, print its errors and exit", NULL },
	{ "status", 0, NULL, "print the jobs on this node and what the running agent enforces",
	  NULL },
	{ "debug", 0, NULL, "log more details", NULL },
	{ "version", 0, NULL, "print the version", NULL },
	{ "help", 'h', NULL, "show this help", NULL },
	{ 0 },
};
static const struct verb verb = {
	.name = "reeve-agent",
	.args = "",
	.help = "Start jobs on this node, hold them to their requests and measure them",
	.examples = "reeve-agent --config " DEFAULT_CONFIG " --check\nreeve-agent --status",
	.options = options,
};
static const struct verb *const verbs[] = { &verb, NULL };
static const struct verb_tool tool = {
	.name = "reeve-agent",
	.help = "the node daemon of Reeve",
	.verbs = verbs,
	.common = options,
	.footer =
		"Exit status: 0 done, 1 failed, 2 wrong usage, 78 a mistake in the configuration.",
};

/* > 0: the exit status, with its reason in err. */
static int run_agent(const struct verb_call *call, struct err *err)
{
	const char *path = verb_value(call, "config");
	struct agent_config conf;
	const struct agent_reload config = { path ? path : DEFAULT_CONFIG, &conf,
					     verb_count(call, "debug") > 0 };
	int r;

	if (verb_count(call, "status"))
		return dbus_print_status(err);
	r = agent_config_load(config.path, &conf, err);
	if (r < 0)
		return conf_is_mistake(r) ? CONF_EXIT_MISTAKE : r;
	log_set_max(agent_reload_level(&config));
	if (verb_count(call, "check"))
		printf("%s: fine\n", config.path);
	else
		r = run_daemon(&config, err);
	agent_config_done(&conf);
	return r;
}

int main(int argc, char **argv)
{
	struct verb_call call;
	struct err err = { "" };
	int r = verb_parse(&verb, NULL, (struct verb_argv){ argv, argc }, &call, &err);

	if (r < 0) {
		fprintf(stderr, "reeve-agent: %s\n", err.text);
		return 2;
	}
	log_open("reeve-agent", verb_count(&call, "debug") ? LOG_DEBUG : LOG_INFO);
	if (verb_count(&call, "help"))
		verb_help(&tool, &verb, stdout);
	else if (verb_count(&call, "version"))
		puts("reeve-agent " REEVE_VERSION);
	else
		r = run_agent(&call, &err);
	verb_done(&call);
	if (r)
		log_line(LOG_ERR, "%s", err.text);
	return r < 0 ? 1 : r;
}
