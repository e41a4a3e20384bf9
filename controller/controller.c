/* SPDX-License-Identifier: GPL-2.0-or-later */
/* controller.c - reeve-controller: reads its configuration, stands by while another controller
 * leads, and then wires ledger, queue, api and server into one event loop. */
#include <errno.h>
#include <libgen.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include "common/clock.h"
#include "common/conf/reload_log.h"
#include "common/err.h"
#include "common/log.h"
#include "common/private.h"
#include "common/stops/stops.h"
#include "common/verb/verb.h"
#include "common/version.h"
#include "controller/api/api.h"
#include "controller/http/certificate.h"
#include "controller/http/long_poll.h"
#include "controller/http/passed.h"
#include "controller/http/server.h"
#include "controller/ledger/lead.h"
#include "controller/loop.h"
#include "controller/maintenance/maintenance.h"
#include "controller/postgres/pg.h"
#include "controller/dispatch/cycle.h"
#include "controller/reload.h"
#include "controller/standby.h"
#include "controller/web/web.h"
#include "controller/sharetree/sharetree.h"

/* Of the ledger's file in memory: the rows of 100,000 jobs that run take so much, and each report changes three of them. */
#define LEDGER_CACHE_BYTES (256LL << 20)

#define DEFAULT_CONFIG "/etc/reeve/controller.conf"
#define STEPPED_DOWN 1

struct controller {
	const char *path; /* of the configuration */
	struct config *config;
	struct certificate *certificate; /* NULL: plain HTTP */
	sd_event *event;
	struct store_lead *lead;
	struct store *store;
	struct sharetree *sharetree;
	struct cycle *cycle;
	struct long_poll *poll;
	struct api *api;
	struct maintenance *maintenance;
	struct server *server;
	struct web *web;	       /* NULL: Web = no */
	struct passed_sockets sockets; /* web_fd: -1 unless it was passed */
	char address[PASSED_TEXT_MAX]; /* of listen_fd */
	bool is_deposed;	       /* another controller leads */
	bool is_unsure;		       /* the last check of the lead failed; logged once */
};

/* In this order: what workers have is done, waiters answer their exchanges, the server sends the answers; nothing is
 * written to the ledger any more when the lead is released. */
static void close_rooms(struct controller *c)
{
	STOPS_IN("close");

	api_drain(c->api);
	c->poll = long_poll_close(c->poll);
	c->server = server_close(c->server);
	c->web = web_close(c->web);
	c->maintenance = maintenance_close(c->maintenance);
	c->api = api_close(c->api);
	c->cycle = cycle_free(c->cycle);
	c->sharetree = sharetree_free(c->sharetree);
	c->store = store_close(c->store);
	c->lead = store_lead_close(c->lead);
	c->event = sd_event_unref(c->event);
}

static void controller_done(struct controller *c)
{
	close_rooms(c);
	if (c->sockets.listen_fd >= 0)
		close(c->sockets.listen_fd);
	if (c->sockets.web_fd >= 0)
		close(c->sockets.web_fd);
	c->certificate = certificate_close(c->certificate);
	c->config = config_free(c->config);
}

/* The ledger refused a write, or the lease ended: another controller leads. */
static void on_lost(void *ctx)
{
	struct controller *c = ctx;

	c->is_deposed = true;
	sd_event_exit(c->event, 0);
}

/* Four times in each lease. A failure is not the loss of the lead: the ledger refuses writes
 * anyway once another controller leads. */
static int on_lead_check(sd_event_source *source, uint64_t us, void *ctx)
{
	struct controller *c = ctx;
	struct err err = { "" };
	STOPS_IN("lead");
	int r = store_lead_keep(c->lead, &err);

	(void)us;
	if (r < 0 && !c->is_unsure)
		log_line(LOG_ERR, "keeping the lead: %s", err.text);
	c->is_unsure = r < 0;
	if (r == 0) {
		on_lost(c);
		return 0;
	}
	sd_event_source_set_time_relative(source,
					  (uint64_t)c->config->lead_lease_s * 1000000 / 4);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Kept until the end of the program. */
static int open_socket(struct controller *c, struct err *err)
{
	return c->sockets.listen_fd >= 0
		       ? 0
		       : server_listen(c->config->listen, &c->sockets.listen_fd, err);
}

/* A socket of systemd's for pages that are served nowhere would keep clients waiting for ever. */
static int check_web_socket(const struct controller *c, struct err *err)
{
	char text[PASSED_TEXT_MAX];

	if (c->sockets.web_fd < 0)
		return 0;
	passed_format(c->sockets.web_fd, text);
	if (!c->config->web_socket)
		return err_set(
			err, -EINVAL,
			"systemd passed the socket %s, and WebSocket= is not set: set it "
			"and WebSocketUser=, or take the path out of the socket unit",
			text);
	log_line(LOG_INFO, "the proxy's socket %s is systemd's", text);
	if (strcmp(text, c->config->web_socket))
		log_line(LOG_NOTICE, "it is used in place of WebSocket = %s",
			 c->config->web_socket);
	return 0;
}

/* Those of systemd are used in place of Listen= and WebSocket=. */
static int take_sockets(struct controller *c, struct err *err)
{
	int r = passed_take(&c->sockets, err);

	if (r < 0)
		return r;
	snprintf(c->address, sizeof(c->address), "%s", c->config->listen);
	if (c->sockets.listen_fd >= 0) {
		passed_format(c->sockets.listen_fd, c->address);
		log_line(LOG_INFO,
			 "the socket %s is systemd's: connections wait in it while the "
			 "controller restarts",
			 c->address);
		if (!passed_is_at(c->sockets.listen_fd, c->config->listen))
			log_line(LOG_NOTICE, "it is used in place of Listen = %s",
				 c->config->listen);
	}
	return check_web_socket(c, err);
}

/* ---- TLS ---- */

static void log_certificate(const struct controller *c, const char *what)
{
	int64_t left_s = certificate_left_s(c->certificate);
	char words[CERTIFICATE_WORDS_MAX];

	certificate_format(c->certificate, words);
	log_line(LOG_INFO, "%s: %s", what, words);
	if (left_s < CERTIFICATE_WARN_S)
		log_line(
			LOG_WARNING,
			"the certificate in %s expires in %lld hours: put a new one there, and "
			"run 'systemctl reload reeve-controller'",
			c->config->certificate, (long long)(left_s / 3600));
}

static int open_certificate(struct controller *c, struct err *err)
{
	const struct certificate_files files = { c->config->certificate,
						 c->config->certificate_key,
						 c->config->client_certificates,
						 c->config->require_client_certificate };

	return files.certificate ? certificate_open(&files, &c->certificate, err) : 0;
}

static void reload_certificate(struct controller *c)
{
	struct err err = { "" };

	if (!c->certificate)
		return;
	if (certificate_reload(c->certificate, &err) < 0)
		log_line(LOG_ERR, "the certificate in use stays: %s", err.text);
	else
		log_certificate(c, "new connections get the certificate that was read now");
}

/* Configuration and certificate, each for itself: where one has a mistake the other is still read. */
static int on_hup(sd_event_source *source, const struct signalfd_siginfo *si, void *ctx)
{
	struct controller *c = ctx;
	const struct reload r = { c->path, c->config, c->api, c->maintenance };
	struct reload_log log;
	STOPS_IN("reload");

	(void)source;
	(void)si;
	reload_log_begin(&log);
	reload_config(&r, &log);
	reload_certificate(c);
	reload_log_end(&log);
	log_set_max(LOG_ERR + c->config->log_level);
	return 0;
}

static int open_event(struct controller *c, struct err *err)
{
	int r;

	c->event = sd_event_unref(c->event);
	r = sd_event_default(&c->event);
	if (r >= 0)
		r = sd_event_add_signal(c->event, NULL, SIGHUP, on_hup, c);
	if (r >= 0)
		r = sd_event_set_watchdog(c->event, true);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	return loop_watch(c->event, err);
}

static int open_lead_timer(struct controller *c, struct err *err)
{
	int r = sd_event_add_time_relative(c->event, NULL, CLOCK_MONOTONIC, 0, 0, on_lead_check,
					   c);

	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

/* The share tree is in memory alone, made from the ledger at each start. */
static int open_sharetree(struct controller *c, struct err *err)
{
	const struct sharetree_config s = { .config = c->config };
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	int r = sharetree_new(&s, &c->sharetree, err);

	if (r >= 0)
		r = sharetree_load(c->sharetree, c->store, clock_ns(CLOCK_REALTIME), err);
	if (r >= 0)
		log_line(LOG_INFO, "usage of the ledger read into the share tree in %.3f s",
			 (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e9);
	return r;
}

/* Makes the ledger private: it has every user's scripts and environments. In a directory in
 * which everyone may create files it is not safe: another user could create the journal file of
 * the ledger (NAME-journal), which SQLite would read. */
static int close_ledger_to_others(const char *path, struct err *err)
{
	_cleanup_free_ char *copy = strdup(path);
	struct err words;
	struct stat st;
	int r;

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	if (stat(dirname(copy), &st) == 0 && st.st_mode & S_IWOTH)
		return err_set(err, -EACCES,
			       "everyone may make files in %s, beside the ledger: chmod o-w "
			       "it, or keep the ledger elsewhere (Database=)",
			       copy);
	r = private_mend_database(path, &words);
	if (r)
		log_line(r < 0 ? LOG_ERR : LOG_NOTICE, "%s", words.text);
	return 0;
}

/* store_progress_fn */
static void log_progress(const char *line)
{
	log_line(LOG_INFO, "opening the ledger: %s", line);
}

static int open_ledger(struct controller *c, struct err *err)
{
	const char *place = store_lead_place(c->lead);
	int r = pg_is_place(place) ? 0 : close_ledger_to_others(place, err);

	if (r < 0)
		return r;
	log_line(
		LOG_INFO,
		"opening the ledger; one of an older version is upgraded, which can take a few seconds for each million jobs");
	store_on_progress(log_progress);
	r = store_open_zone(place, c->config->policy.time_zone, &c->store, err);
	return r < 0 ? r : store_cache(c->store, LEDGER_CACHE_BYTES, err);
}

/* The ledger keeps sums of whole allocation periods. */
static int set_period(struct controller *c, struct err *err)
{
	const struct config_policy *p = &c->config->policy;

	return store_set_period(c->store,
				p->allocation_period == CONFIG_PERIOD_QUARTER ? 3 : 12,
				p->year_start_month - 1, err);
}

static int open_rooms(struct controller *c, struct err *err)
{
	int r = open_ledger(c, err);

	if (r >= 0) {
		store_lead_guard(c->lead, c->store, on_lost, c);
		r = set_period(c, err);
	}
	if (r >= 0)
		r = open_sharetree(c, err);
	if (r >= 0)
		r = cycle_new(c->store, c->sharetree, &c->cycle, err);
	if (r >= 0)
		r = long_poll_open(c->event, &c->poll, err);
	if (r >= 0) {
		struct api_config a = { c->event, c->config, c->store,
					c->cycle, c->poll,   c->sharetree };

		r = api_open(&a, &c->api, err);
	}
	if (r >= 0)
		r = maintenance_open(c->api, &c->maintenance, err);
	return r;
}

static int open_server(struct controller *c, struct err *err)
{
	struct server_config s = { .event = c->event,
				   .max_connections = (unsigned)c->config->max_connections,
				   .request_timeout_s = c->config->request_timeout_s,
				   .on_headers = api_admit,
				   .on_request = api_handle,
				   .ctx = c->api };
	int r = open_socket(c, err);

	if (r >= 0 && c->config->web)
		r = web_open(c->api, &c->web, err);
	if (r >= 0 && c->web)
		r = web_listen_proxied(c->web, c->event, c->sockets.web_fd, err);
	if (r < 0)
		return r;
	if (c->web) {
		s.on_headers = web_admit;
		s.on_request = web_handle;
		s.ctx = c->web;
	}
	s.listen_fd = c->sockets.listen_fd;
	s.certificate = c->certificate;
	r = server_open(&s, &c->server, err);
	return r < 0 ? r : api_set_server(c->api, c->server, err);
}

/* Waits until this controller leads (1) or must end (0). Another controller on this machine may
 * have the same address until it ends (-EADDRINUSE); this one then waits without answering. */
static int stand_by(struct controller *c, struct err *err)
{
	const struct store_lead_config l = { c->config->database, c->address,
					     c->config->lead_lease_s };
	struct standby_config s = { .config = c->config };
	int r = open_event(c, err);

	if (r >= 0)
		r = open_socket(c, err);
	if (r >= 0 || r == -EADDRINUSE)
		r = store_lead_open(&l, &c->lead, err);
	if (r < 0)
		return r;
	s.event = c->event;
	s.lead = c->lead;
	s.listen_fd = c->sockets.listen_fd;
	s.certificate = c->certificate;
	return standby_wait(&s, err);
}

/* Serves until it must end (0) or another controller leads (STEPPED_DOWN). */
static int lead_cluster(struct controller *c, struct err *err)
{
	STOPS_IN("start");
	int r = open_event(c, err);

	c->is_deposed = false;
	if (r >= 0)
		r = open_rooms(c, err);
	if (r >= 0)
		r = open_server(c, err);
	if (r >= 0)
		r = open_lead_timer(c, err);
	if (r < 0)
		return c->is_deposed ? STEPPED_DOWN : r;
	log_line(LOG_INFO, "version %s, ledger %s, listening on %s", REEVE_VERSION,
		 store_place(c->store), c->address);
	sd_notifyf(0, "READY=1\nSTATUS=Listening on %s", c->address);
	r = loop_run(c->event, err);
	if (r < 0)
		return r;
	return c->is_deposed ? STEPPED_DOWN : 0;
}

/* malloc() raises its mmap threshold when a large block is freed, and then keeps such blocks. A
 * fixed threshold returns every large block to the kernel. Messages of interactive steps (at most 512 KiB, hundreds in a second)
 * lie below it, and the top of the heap stays for them: else each costs two system calls and a page fault for each 4 KiB.
 */
#define LARGE_BYTES (1 << 20)
#define HEAP_TOP_BYTES (4 << 20)

static int serve_requests(struct controller *c, struct err *err)
{
	int r = loop_open(err);

	if (r >= 0)
		r = take_sockets(c, err);
	if (r < 0)
		return r;
	umask(0077);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, HEAP_TOP_BYTES);
	do {
		r = stand_by(c, err);
		if (r > 0)
			r = lead_cluster(c, err);
		if (r == STEPPED_DOWN)
			log_line(LOG_WARNING, "another controller leads now; standing by");
		if (r != STEPPED_DOWN)
			sd_notify(0, "STOPPING=1");
		close_rooms(c);
	} while (r == STEPPED_DOWN);
	return r;
}

static const struct verb_option options[] = {
	{ "config", 'c', "FILE", "configuration; default: " DEFAULT_CONFIG, NULL },
	{ "check", 0, NULL, "check the configuration, print its errors and exit", NULL },
	{ "help", 'h', NULL, "show this help", NULL },
	{ "version", 'V', NULL, "print the version", NULL },
	{ 0 },
};
static const struct verb verb = {
	.name = "reeve-controller",
	.args = "",
	.help = "Queue the jobs that users submit, dispatch them to nodes and account for them",
	.examples = "reeve-controller --config /etc/reeve/controller.conf --check",
	.options = options,
};
static const struct verb *const verbs[] = { &verb, NULL };
static const struct verb_option no_options[] = { { 0 } };
static const struct verb_tool tool = {
	.name = "reeve-controller",
	.help = "queue and accounts of Reeve",
	.footer =
		"Exit status: 0 done, 1 cannot start or failed, 2 wrong usage, 78 a mistake in the configuration.",
	.verbs = verbs,
	.common = no_options,
};

/* > 0: the exit status, with its reason in err. */
static int run_controller(const struct verb_call *call, struct err *err)
{
	_cleanup_(controller_done) struct controller c = { .sockets = { -1, -1 } };
	const char *path = verb_value(call, "config");
	int r;

	if (!path)
		path = DEFAULT_CONFIG;
	c.path = path;
	r = config_load(path, &c.config, err);
	if (r < 0)
		return conf_is_mistake(r) ? CONF_EXIT_MISTAKE : r;
	log_set_max(LOG_ERR + c.config->log_level);
	r = open_certificate(&c, err);
	if (r < 0)
		return r;
	if (verb_count(call, "check")) {
		printf("%s: ok: %zu cluster%s, %zu account%s, %zu node%s\n", path,
		       c.config->n_clusters, c.config->n_clusters == 1 ? "" : "s",
		       c.config->n_accounts, c.config->n_accounts == 1 ? "" : "s",
		       c.config->n_nodes, c.config->n_nodes == 1 ? "" : "s");
		return 0;
	}
	if (c.certificate)
		log_certificate(&c, "certificate");
	return serve_requests(&c, err);
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
		r = run_controller(&call, &err);
	verb_done(&call);
	if (r)
		log_line(LOG_ERR, "%s", err.text);
	return r < 0 ? 1 : r;
}
