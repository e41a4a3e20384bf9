/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dbus.c - the D-Bus object of the agent: list and change jobs; see agent/dbus.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/dbus.h"
#include "agent/job/job.h"
#include "agent/job/desired.h"
#include "agent/step/steps.h"
#include "agent/stray/stray.h"
#include "common/log.h"
#include "common/utf8.h"
#include "common/version.h"
#include "common/model/amount.h"
#include "common/wire/doc.h"

#define NAME "org.reeve.Agent1"
#define OBJECT "/org/reeve/Agent1"
#define ROW "(xissst)"

/* ---- the caller ---- */

/* The effective uid as the bus recorded it when the caller connected; (uid_t)-1, which owns no job,
 * where it does not say. */
static uid_t caller_of(sd_bus_message *call)
{
	sd_bus_creds *creds = NULL;
	uid_t uid = (uid_t)-1;
	int r = call ? sd_bus_query_sender_creds(call, SD_BUS_CREDS_EUID, &creds) : -EINVAL;

	if (r >= 0 && sd_bus_creds_get_euid(creds, &uid) < 0)
		uid = (uid_t)-1;
	sd_bus_creds_unref(creds);
	return uid;
}

/* Its owner and root see a job; for others it does not exist, as in the controller's answers. */
static bool is_visible(const struct job *j, uid_t caller)
{
	return caller == 0 || (caller != (uid_t)-1 && caller == j->s.request.uid);
}

/* ---- reading: properties and methods for every user ---- */

static int get_tier(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	(void)bus, (void)path, (void)interface, (void)property, (void)error;
	return sd_bus_message_append(reply, "i", node_tier(userdata));
}

static int get_notes(sd_bus *bus, const char *path, const char *interface, const char *property,
		     sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct node *n = userdata;

	(void)bus, (void)path, (void)interface, (void)property, (void)error;
	return sd_bus_message_append_strv(reply, (char **)n->note_list);
}

static int get_jobs(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	uid_t caller = caller_of(sd_bus_get_current_message(bus));
	struct node *n = userdata;
	int r;

	(void)path, (void)interface, (void)property, (void)error;
	r = sd_bus_message_open_container(reply, 'a', "x");
	for (struct job *j = n->jobs; r >= 0 && j; j = j->next)
		if (is_visible(j, caller))
			r = sd_bus_message_append(reply, "x", j->s.job);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_row(sd_bus_message *reply, const struct job *j)
{
	char cpus[CPULIST_TEXT_MAX];
	struct usage usage;

	state_usage_get(&j->s, &usage);
	cpulist_format(&j->s.cpus, cpus, sizeof(cpus));
	return sd_bus_message_append(reply, ROW, j->s.job, (int)j->s.attempt,
				     job_state_name(job_state(j)), j->s.request.user, cpus,
				     (uint64_t)usage.vmem_bytes);
}

static int list_jobs(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *reply = NULL;
	uid_t caller = caller_of(call);
	struct node *n = userdata;
	int r = sd_bus_message_new_method_return(call, &reply);

	(void)error;
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', ROW);
	for (struct job *j = n->jobs; r >= 0 && j; j = j->next)
		if (is_visible(j, caller))
			r = append_row(reply, j);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

/* Before the job runs, and after a restart until its clock is read again, the saved times count. */
static void set_times(struct doc *d, const struct job *j)
{
	bool has_clock = j->clock.start_ns;
	int64_t now_ns = node_now_ns();

	doc_int(d, "running_ns",
		has_clock ? clock_running_ns(&j->clock, now_ns) : j->s.clock.running_ns);
	doc_int(d, "suspended_ns",
		has_clock ? clock_suspended_ns(&j->clock, now_ns) : j->s.clock.suspended_ns);
}

/* NULL: no memory. The caller owns the document. */
static json_t *describe_job(struct job *j)
{
	char cpus[CPULIST_TEXT_MAX], line[REASON_TEXT_MAX];
	_cleanup_doc_ struct doc d = doc_message();
	struct usage usage;
	struct job_end end;

	state_usage_get(&j->s, &usage);
	state_end_get(&j->s, &end);
	cpulist_format(&j->s.cpus, cpus, sizeof(cpus));
	reason_format_line(&end, line, sizeof(line));
	doc_int(&d, "job", j->s.job);
	doc_int(&d, "attempt", j->s.attempt);
	doc_text(&d, "state", job_state_name(job_state(j)));
	doc_text(&d, "step", job_phase_name(j->phase));
	doc_text(&d, "user", j->s.request.user);
	doc_text(&d, "cpus", cpus);
	doc_text(&d, "cgroup", j->s.cgroup);
	doc_text(&d, "note", j->s.note);
	doc_int(&d, "pid", j->s.pid);
	set_times(&d, j);
	if (j->s.request.part.n)
		doc_int(&d, "part", j->s.request.part.index);
	doc_set(&d, "resources", wire_encode_resources(&j->s.request.res));
	doc_set(&d, "usage", wire_encode_usage(&usage));
	doc_int(&d, "mem_max_bytes", j->s.mem_max_bytes);
	if (j->s.end.kind != END_NONE) {
		doc_set(&d, "end", wire_encode_end(&end));
		doc_text(&d, "line", line);
	}
	return doc_take(&d);
}

static int add_steps(json_t *doc, struct job *j)
{
	struct sync_step *all, *first;
	size_t n = steps_describe(j->node, &all), count = 0;

	/* Sorted by job and attempt. */
	while (n && (all->id.job != j->s.job || all->id.attempt != j->s.attempt))
		all++, n--;
	first = all;
	while (n && all->id.job == j->s.job && all->id.attempt == j->s.attempt)
		all++, n--, count++;
	return sync_add_steps(doc, first, count, NULL);
}

static int get_job(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_free_ char *text = NULL;
	struct node *n = userdata;
	struct job *j, *found = NULL;
	uid_t caller = caller_of(call);
	int64_t id;
	int r = sd_bus_message_read(call, "x", &id);

	if (r < 0)
		return r;
	for (j = n->jobs; j; j = j->next)
		if (j->s.job == id && is_visible(j, caller))
			found = j;
	if (!found)
		return sd_bus_error_setf(error, NAME ".NoSuchJob",
					 "no job %" PRId64 " on this node", id);
	doc = describe_job(found);
	text = doc && add_steps(doc, found) == 0 ? wire_format(doc) : NULL;
	return text ? sd_bus_reply_method_return(call, "s", text) : -ENOMEM;
}

static void print_links(struct node *n, FILE *f)
{
	struct spool_status s;
	struct uplink_status u;
	struct err err;

	if (spool_get_status(n->spool, &s, &err) < 0) {
		fprintf(f, "spool: %s\n", err.text);
		return;
	}
	fprintf(f,
		"spool: %" PRId64 " reports (%" PRId64 " final), %" PRId64 " of %" PRId64
		" bytes\n",
		s.reports, s.final, s.bytes, s.max_bytes);
	if (s.unsaved)
		fprintf(f, "spool: %" PRId64 " more in memory, as the store refuses them\n",
			s.unsaved);
	if (!n->uplink) {
		fputs("controller: none configured\n", f);
		return;
	}
	uplink_get_status(n->uplink, &u);
	fprintf(f, "controller: %s %s%s%s\n", n->conf->controller, u.up ? "up" : "down",
		*u.why && !u.up ? ": " : "", u.up ? "" : u.why);
}

static void print_status(struct node *n, uid_t caller, FILE *f)
{
	char mem[AMOUNT_TEXT_MAX], disk[AMOUNT_TEXT_MAX], cpus[CPULIST_TEXT_MAX];
	char stray[STRAY_TEXT_MAX];
	struct vmem_room room;
	size_t held = 0;

	vmem_room(n->vmem, &room);
	fprintf(f, "node: %s\nmanager: %s, %s\ntier: %d\n", n->conf->node, n->ops->name,
		n->ops->parent(n->manager), node_tier(n));
	fprintf(f, "topology: %s; jobs may use cpus %s\n", n->topology_text,
		cpulist_format(&n->cpus, cpus, sizeof(cpus)));
	fprintf(f, "capacity: %" PRId64 " cores, %s memory, %s jobfs\n", n->capacity.ncpus,
		amount_format_bytes(n->capacity.mem_bytes, mem),
		amount_format_bytes(n->capacity.jobfs_bytes, disk));
	fprintf(f, "jobfs: %s\n", n->jobfs ? jobfs_describe(n->jobfs) : n->jobfs_why.text);
	if (n->jobfs && jobfs_reclaim(n->jobfs, &held, NULL) == 0 && held)
		fprintf(f, "jobfs: files of %zu removed directories are still held open\n",
			held);
	fprintf(f, "processes: %" PRId64 " for all jobs together", n->capacity.pids);
	if (room.max_spaces)
		fprintf(f, "; address spaces: %" PRIu64 " of %" PRIu64 " in use",
			room.held_spaces, room.max_spaces);
	fprintf(f, "\nvmem hooks: %s\n", vmem_hooks(n->vmem));
	fprintf(f, "switch profile: %s\n", n->prof ? "on" : "off");
	print_links(n, f);
	for (int i = 0; i < n->n_notes; i++)
		fprintf(f, "note: %s\n", n->notes[i]);
	for (size_t i = 0; caller == 0 && stray_describe(n->stray, i, stray); i++)
		fprintf(f, "note: %s\n", stray);
	for (struct job *j = n->jobs; j; j = j->next)
		if (is_visible(j, caller))
			fprintf(f, "job: %" PRId64 " attempt %" PRId32 " %s %s cpus %s\n",
				j->s.job, j->s.attempt, job_state_name(job_state(j)),
				j->s.request.user,
				cpulist_format(&j->s.cpus, cpus, sizeof(cpus)));
}

static int reply_status(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int r;

	(void)error;
	if (!f)
		return -ENOMEM;
	print_status(userdata, caller_of(call), f);
	r = fclose(f) ? -ENOMEM : sd_bus_reply_method_return(call, "s", utf8_mend(text));
	free(text);
	return r;
}

static void describe_links(struct node *n, struct doc *d)
{
	struct spool_status s;
	struct uplink_status u = { .why = "" };
	struct err err;

	if (n->uplink) {
		uplink_get_status(n->uplink, &u);
		doc_text(d, "controller", n->conf->controller);
		doc_bool(d, "controller_up", u.up);
		doc_text_if(d, "controller_why", u.up ? "" : u.why);
	}
	if (spool_get_status(n->spool, &s, &err) < 0)
		return;
	doc_int(d, "spool_bytes", s.bytes);
	doc_int(d, "spool_max_bytes", s.max_bytes);
}

/* Describe(): the node's description, as JSON for programs; nothing of jobs, and of users to root alone. No key "controller": none is configured. */
static int describe_node(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_doc_ struct doc d = doc_message(), notes = doc_array();
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_free_ char *text = NULL;
	struct node *n = userdata;
	char stray[STRAY_TEXT_MAX];

	(void)error;
	doc_text(&d, "node", n->conf->node);
	doc_text(&d, "version", REEVE_VERSION);
	doc_int(&d, "tier", node_tier(n));
	for (int i = 0; i < n->n_notes; i++)
		doc_add(&notes, wire_string(n->notes[i]));
	for (size_t i = 0; caller_of(call) == 0 && stray_describe(n->stray, i, stray); i++)
		doc_add(&notes, wire_string(stray));
	doc_set(&d, "notes", doc_take(&notes));
	describe_links(n, &d);
	doc = doc_take(&d);
	text = doc ? wire_format(doc) : NULL;
	return text ? sd_bus_reply_method_return(call, "s", text) : -ENOMEM;
}

/* The D-Bus policy lets only root call this. Checked here too, since a policy is a file that may be
 * missing or changed. */
static int check_root(sd_bus_message *call, sd_bus_error *error)
{
	if (caller_of(call) != 0)
		return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED,
					"only root may give orders");
	return 0;
}

/* Order(document): the same document as the controller's answer to a sync, see docs/protocol.md. Its
 * jobs need no user's signature: root could start anything. */
static int apply_order(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_json_ json_t *doc = NULL;
	struct node *n = userdata;
	const char *text;
	struct err err;
	int r = check_root(call, error);

	if (r < 0)
		return r;
	r = sd_bus_message_read(call, "s", &text);
	if (r < 0)
		return r;
	r = wire_parse(text, strlen(text), &doc, &err);
	n->is_roots_order = true;
	if (r >= 0)
		r = sync_apply(doc, n->spool, &job_desired_handlers, n, &err);
	n->is_roots_order = false;
	if (r < 0)
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "%s", err.text);
	return sd_bus_reply_method_return(call, "i", r);
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("Tier", "i", get_tier, 0, 0),
	SD_BUS_PROPERTY("Notes", "as", get_notes, 0, 0),
	SD_BUS_PROPERTY("Jobs", "ax", get_jobs, 0, 0),
	SD_BUS_METHOD_WITH_NAMES("ListJobs", "", , "a" ROW, SD_BUS_PARAM(jobs), list_jobs,
				 SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_NAMES("GetJob", "x", SD_BUS_PARAM(job), "s", SD_BUS_PARAM(json),
				 get_job, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_NAMES("Status", "", , "s", SD_BUS_PARAM(text), reply_status,
				 SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_NAMES("Describe", "", , "s", SD_BUS_PARAM(json), describe_node,
				 SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_NAMES("Order", "s", SD_BUS_PARAM(document), "i", SD_BUS_PARAM(count),
				 apply_order, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

int dbus_open(struct node *n, struct err *err)
{
	int r;

	if (!n->bus)
		return 0;
	r = sd_bus_add_object_vtable(n->bus, NULL, OBJECT, NAME, vtable, n);
	if (r < 0)
		return err_set(err, r, "offer %s: %s", NAME, strerror(-r));
	r = sd_bus_request_name(n->bus, NAME, 0);
	if (r == -EEXIST)
		return err_set(err, r, "another agent runs on this host");
	/* The policy may not be installed yet: the node still runs jobs. */
	if (r < 0)
		node_note(n,
			  "cannot take the name %s on the system bus (%s): status only "
			  "through the controller",
			  NAME, strerror(-r));
	return 0;
}

int dbus_print_status(struct err *err)
{
	__attribute__((cleanup(sd_bus_flush_close_unrefp))) sd_bus *bus = NULL;
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *reply = NULL;
	sd_bus_error e = SD_BUS_ERROR_NULL;
	const char *text;
	int r = sd_bus_open_system(&bus);

	if (r < 0)
		return err_set(err, r, "connect to the system bus: %s", strerror(-r));
	r = sd_bus_call_method(bus, NAME, OBJECT, NAME, "Status", &e, &reply, NULL);
	if (r >= 0)
		r = sd_bus_message_read(reply, "s", &text);
	if (r >= 0)
		fputs(text, stdout);
	else
		err_set(err, r,
			"the agent does not answer: %s; is reeve-agent.service running?",
			e.message ? e.message : strerror(-r));
	sd_bus_error_free(&e);
	return r < 0 ? r : 0;
}
