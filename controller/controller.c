/* controller.c - reeve-controller: reads its configuration and wires ledger, queue, api and
 * server into one event loop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/verb.h"
#include "common/version.h"
#include "controller/api/api.h"
#include "controller/api/poll.h"
#include "controller/api/server.h"
#include "controller/queue/cycle.h"
#include "controller/standing/standing.h"

#define DEFAULT_CONFIG "/etc/reeve/controller.conf"
#define NODE_CHECK_US 5000000

struct controller {
	struct config *config;
	sd_event *event;
	struct store *store;
	struct standing *standing;
	struct cycle *cycle;
	struct poll *poll;
	struct api *api;
	struct server *server;
	int listen_fd;
};

/* In this order: pollers answer their exchanges, the server sends them off. */
static void controller_done(struct controller *c)
{
	c->poll = poll_close(c->poll);
	c->server = server_close(c->server);
	c->api = api_close(c->api);
	c->cycle = cycle_free(c->cycle);
	c->standing = standing_free(c->standing);
	c->store = store_close(c->store);
	if (c->listen_fd >= 0)
		close(c->listen_fd);
	sd_event_unref(c->event);
	c->config = config_free(c->config);
}

static int on_node_check(sd_event_source *source, uint64_t us, void *ctx)
{
	struct controller *c = ctx;
	struct err err;

	(void)us;
	if (api_check_nodes(c->api, &err) < 0)
		log_line(LOG_ERR, "looking for silent nodes: %s", err.text);
	sd_event_source_set_time_relative(source, NODE_CHECK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* One socket from systemd, or our own. */
static int open_socket(struct controller *c, struct err *err)
{
	int n = sd_listen_fds(1);

	if (n < 0)
		return err_set(err, n, "sockets from systemd: %s", strerror(-n));
	if (n > 1)
		return err_set(err, -EINVAL, "%d sockets from systemd; one is expected", n);
	if (n == 1) {
		c->listen_fd = SD_LISTEN_FDS_START;
		return 0;
	}
	return server_listen(c->config->listen, &c->listen_fd, err);
}

static int block_signals(struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, -errno, "signals: %m");
	return 0;
}

static int open_event(struct controller *c, struct err *err)
{
	int r = block_signals(err);

	if (r < 0)
		return r;
	r = sd_event_default(&c->event);
	if (r >= 0)
		r = sd_event_add_signal(c->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(c->event, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_time_relative(c->event, NULL, CLOCK_MONOTONIC, NODE_CHECK_US,
					       0, on_node_check, c);
	if (r >= 0)
		r = sd_event_set_watchdog(c->event, true);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Who stands where is in memory alone, made from the ledger at each start. */
static int open_standing(struct controller *c, struct err *err)
{
	const struct standing_config s = { .config = c->config };
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	int r = standing_new(&s, &c->standing, err);

	if (r >= 0)
		r = standing_load(c->standing, c->store, clock_ns(CLOCK_REALTIME), err);
	if (r >= 0)
		log_line(LOG_INFO, "usage of the ledger weighed in %.3f s",
			 (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e9);
	return r;
}

static int open_rooms(struct controller *c, struct err *err)
{
	int r = store_open_zone(c->config->database, c->config->policy.time_zone, &c->store,
				err);

	if (r >= 0)
		r = open_standing(c, err);
	if (r >= 0)
		r = cycle_new(c->store, c->standing, &c->cycle, err);
	if (r >= 0)
		r = poll_open(c->event, &c->poll, err);
	if (r >= 0) {
		struct api_config a = { c->event, c->config, c->store,
					c->cycle, c->poll,   c->standing };

		r = api_open(&a, &c->api, err);
	}
	return r;
}

static int open_server(struct controller *c, struct err *err)
{
	struct server_config s = { .event = c->event,
				   .max_connections = (unsigned)c->config->max_connections,
				   .request_timeout_s = c->config->request_timeout_s,
				   .on_request = api_handle,
				   .ctx = c->api };
	int r = open_socket(c, err);

	if (r < 0)
		return r;
	s.listen_fd = c->listen_fd;
	r = server_open(&s, &c->server, err);
	if (r >= 0)
		api_set_server(c->api, c->server);
	return r;
}

static int serve(struct controller *c, struct err *err)
{
	int r;

	umask(0077);
	r = open_event(c, err);
	if (r >= 0)
		r = open_rooms(c, err);
	if (r >= 0)
		r = open_server(c, err);
	if (r < 0)
		return r;
	log_line(LOG_INFO, "version %s, ledger %s, listening on %s", REEVE_VERSION,
		 store_place(c->store), c->config->listen);
	sd_notifyf(0, "READY=1\nSTATUS=Listening on %s", c->config->listen);
	r = sd_event_loop(c->event);
	sd_notify(0, "STOPPING=1");
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

static const struct verb_option options[] = {
	{ "config", 'c', "FILE", "configuration; default: " DEFAULT_CONFIG, NULL },
	{ "check", 0, NULL, "read the configuration, say what is wrong with it, and leave",
	  NULL },
	{ "help", 'h', NULL, "show this", NULL },
	{ "version", 'V', NULL, "show the version", NULL },
	{ 0 },
};
static const struct verb verb = {
	.name = "reeve-controller",
	.args = "",
	.help = "queue and accounts of Reeve",
	.details =
		"Takes jobs from users, gives them to nodes that ask for work, and keeps the\n"
		"ledger of what each requested, used and is charged.",
	.examples = "reeve-controller --config /etc/reeve/controller.conf --check",
	.options = options,
};
static const struct verb *const verbs[] = { &verb, NULL };
static const struct verb_option no_options[] = { { 0 } };
static const struct verb_tool tool = {
	.name = "reeve-controller",
	.help = "queue and accounts of Reeve",
	.footer = "Exit status: 0 ok, 1 it cannot start or failed, 2 wrong usage.",
	.verbs = verbs,
	.common = no_options,
};

static int run(const struct verb_call *call, struct err *err)
{
	_cleanup_(controller_done) struct controller c = { .listen_fd = -1 };
	const char *path = verb_value(call, "config");
	int r;

	if (!path)
		path = DEFAULT_CONFIG;
	r = config_load(path, &c.config, err);
	if (r < 0)
		return r;
	if (verb_count(call, "check")) {
		printf("%s: ok: %zu cluster%s, %zu account%s, %zu node%s\n", path,
		       c.config->n_clusters, c.config->n_clusters == 1 ? "" : "s",
		       c.config->n_accounts, c.config->n_accounts == 1 ? "" : "s",
		       c.config->n_nodes, c.config->n_nodes == 1 ? "" : "s");
		return 0;
	}
	return serve(&c, err);
}

int main(int argc, char **argv)
{
	struct verb_argv typed = { argv, argc };
	struct verb_call call;
	struct err err = { "" };
	int r = verb_parse(&verb, no_options, typed, &call, &err);

	log_open("reeve-controller", LOG_INFO);
	if (r < 0) {
		fprintf(stderr, "reeve-controller: %s\n", err.text);
		return 2;
	}
	if (verb_count(&call, "help"))
		verb_help(&tool, &verb, stdout);
	else if (verb_count(&call, "version"))
		printf("reeve-controller %s\n", REEVE_VERSION);
	else
		r = run(&call, &err);
	verb_done(&call);
	if (r < 0)
		log_line(LOG_ERR, "%s", err.text);
	return r < 0 ? 1 : 0;
}
