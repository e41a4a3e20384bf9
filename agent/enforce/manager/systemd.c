/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd.c - runs jobs as transient services of systemd; see manager.h.
 *
 * systemd owns the cgroups: everything that it has a property for is set through it. The agent
 * writes one cgroup file itself, memory.oom.group: systemd has no property for that.
 * Calls are asynchronous; only opening and bounding wait for the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-login.h>
#include <unistd.h>
#include "agent/enforce/manager/manager.h"
#include "agent/enforce/manager/systemd_unit.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
/* The bus asks systemd to start the owner of a name that has none: of systemd's own name that fails. */
#define SPAWN_ERROR "org.freedesktop.DBus.Error.Spawn."
#define AGAIN_US 500000
#define PATIENCE_MS (120 * S_MS)

struct manager {
	struct manager_config c;
	char parent[MANAGER_PATH_MAX];
	char slice[128];
	char *agent; /* the agent's own unit; NULL: it has none */
	sd_bus_slot *removed, *reloading;
	bool is_reloading;
};

/* What a reply belongs to, and what is sent again where systemd was away. */
struct order {
	struct manager *m;
	struct manager_id id;
	enum manager_order what;
	sd_bus_message *msg;
	int64_t until_ms; /* of monotonic_ms(): it is sent again until then */
};

/* A restarted agent repeats its orders: a unit that exists already is success. */
static int read_outcome(const struct order *o, const sd_bus_error *e, struct err *err)
{
	if (!sd_bus_error_is_set(e))
		return 0;
	if ((o->what == MANAGER_START || o->what == MANAGER_SPAWN) &&
	    sd_bus_error_has_name(e, SYSTEMD ".UnitExists"))
		return 0;
	return err_set(err, -sd_bus_error_get_errno(e), "%s", e->message);
}

/* Writes memory.oom.group of the job, which systemd clears when it sets properties and at
 * daemon-reload; see OOMPolicy in manager/systemd_unit.c. */
static void set_oom_group(void *ctx, struct manager_id id)
{
	const struct manager *m = ctx;
	char path[MANAGER_PATH_MAX];
	struct err err;

	manager_path(m->parent, id, path);
	if (manager_kill_as_one(path, &err) < 0)
		log_job(LOG_WARNING, id.job, "oom", "%s", err.text);
}

static void free_order(void *userdata)
{
	struct order *o = userdata;

	sd_bus_message_unref(o->msg);
	free(o);
}

/* systemd is executed again (daemon-reexec), or the bus is, and the call or its answer was lost; or the node is being shut down. Orders are
 * idempotent. */
static bool is_away(const sd_bus_error *e)
{
	static const char *const names[] = {
		SD_BUS_ERROR_NO_REPLY,	 SD_BUS_ERROR_DISCONNECTED,
		SD_BUS_ERROR_TIMEOUT,	 SD_BUS_ERROR_SERVICE_UNKNOWN,
		SD_BUS_ERROR_NO_SERVER,	 SD_BUS_ERROR_NAME_HAS_NO_OWNER,
		SYSTEMD ".ShuttingDown", SYSTEMD ".TransactionIsDestructive",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (sd_bus_error_has_name(e, names[i]))
			return true;
	return e->name && !strncmp(e->name, SPAWN_ERROR, strlen(SPAWN_ERROR));
}

static int send_once(const struct order *order, struct err *err);

static int on_again(sd_event_source *s, uint64_t usec, void *userdata)
{
	const struct order *o = userdata;
	const struct manager_config *c = &o->m->c;
	struct err err = { "" };
	int r = 0;

	(void)usec;
	if (!c->is_due || c->is_due(c->ctx, o->id, o->what))
		r = send_once(o, &err);
	if (r < 0)
		c->on_done(c->ctx, o->id, o->what, r, &err);
	return sd_event_source_set_floating(s, 0); /* frees it, and with it `o` */
}

static struct order *copy_order(const struct order *o)
{
	struct order *ret = malloc(sizeof(*ret));

	if (ret) {
		*ret = *o;
		sd_bus_message_ref(ret->msg);
	}
	return ret;
}

static int send_later(const struct order *order)
{
	struct order *o = copy_order(order);
	sd_event_source *timer = NULL;
	int r = o ? sd_event_add_time_relative(o->m->c.event, &timer, CLOCK_MONOTONIC, AGAIN_US,
					       0, on_again, o)
		  : -ENOMEM;

	if (r < 0) {
		if (o)
			free_order(o);
		return r;
	}
	sd_event_source_set_destroy_callback(timer, free_order);
	sd_event_source_set_floating(timer, 1);
	sd_event_source_unref(timer);
	return 0;
}

/* memory.oom.group after each change of properties: systemd has just cleared it. */
static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
	const struct order *o = userdata;
	const sd_bus_error *e = sd_bus_message_get_error(reply);
	struct err err = { "" };
	int r = read_outcome(o, e, &err);

	(void)unused;
	if (r < 0 && is_away(e) && monotonic_ms() < o->until_ms && send_later(o) >= 0)
		return 0;
	if (o->what == MANAGER_SET_CPUS && r == 0)
		set_oom_group(o->m, o->id);
	o->m->c.on_done(o->m->c.ctx, o->id, o->what, r, &err);
	return 0;
}

/* The floating slot belongs to the bus and frees the copy of the order. On a connection that was lost it is not sent: the agent is about to
 * be started again, and repeats it. */
static int send_once(const struct order *order, struct err *err)
{
	struct order *o = copy_order(order);
	sd_bus_slot *slot = NULL;
	int r;

	if (!o)
		return err_set(err, -ENOMEM, "out of memory");
	r = sd_bus_call_async(o->m->c.bus, &slot, o->msg, on_reply, o, 60 * 1000000ULL);
	if (r < 0)
		free_order(o);
	if (r == -ENOTCONN || r == -ECONNRESET)
		return 0;
	if (r < 0)
		return err_set(err, r, "call systemd: %s", strerror(-r));
	sd_bus_slot_set_destroy_callback(slot, free_order);
	sd_bus_slot_set_floating(slot, 1);
	sd_bus_slot_unref(slot);
	return 0;
}

/* Returns once the call is sent; on_done() gets the answer, or the last failure when systemd was away for PATIENCE_MS. */
static int send_order(struct manager *m, sd_bus_message *msg, struct manager_id id,
		      enum manager_order what, struct err *err)
{
	const struct order o = { m, id, what, msg, monotonic_ms() + PATIENCE_MS };

	return send_once(&o, err);
}

static int new_call(struct manager *m, const char *method, sd_bus_message **ret,
		    struct err *err)
{
	int r = sd_bus_message_new_method_call(m->c.bus, ret, SYSTEMD, SYSTEMD_PATH,
					       SYSTEMD_MANAGER, method);

	return r < 0 ? err_set(err, r, "call systemd: %s", strerror(-r)) : 0;
}

/* Mode "fail" instead of "replace": a job of systemd that is queued for the unit, such as its stop, is not
 * cancelled. */
static int start_job(struct manager *m, const struct manager_spec *spec, struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	char name[MANAGER_NAME_MAX];
	struct manager_unit u = {
		.spec = spec, .config = &m->c, .slice = m->slice, .agent = m->agent
	};
	int r;

	r = new_call(m, "StartTransientUnit", &msg, err);
	if (r < 0)
		return r;
	if (spec->pid)
		manager_scope_name(spec->id, name);
	else
		manager_name(spec->id, name);
	r = sd_bus_message_append(msg, "ss", name, "fail");
	if (r >= 0)
		r = spec->pid ? manager_unit_append_scope(msg, &u)
			      : manager_unit_append(msg, &u);
	if (r >= 0)
		r = sd_bus_message_append(msg, "a(sa(sv))", 0);
	if (r < 0)
		return err_set(err, r, "describe unit %s: %s", name, strerror(-r));
	return send_order(m, msg, spec->id, MANAGER_START, err);
}

static int set_cpus(struct manager *m, struct manager_id id, const struct cpulist *cpus,
		    const struct cpulist *nodes, struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	char name[MANAGER_NAME_MAX];
	int r;

	r = new_call(m, "SetUnitProperties", &msg, err);
	if (r < 0)
		return r;
	r = sd_bus_message_append(msg, "sb", manager_name(id, name), 1);
	if (r >= 0)
		r = sd_bus_message_open_container(msg, 'a', "(sv)");
	if (r >= 0)
		r = manager_unit_append_set(msg, "AllowedCPUs", cpus);
	if (r >= 0)
		r = manager_unit_append_set(msg, "AllowedMemoryNodes", nodes);
	if (r >= 0)
		r = sd_bus_message_close_container(msg);
	if (r < 0)
		return err_set(err, r, "describe the cores of %s: %s", name, strerror(-r));
	return send_order(m, msg, id, MANAGER_SET_CPUS, err);
}

static int send_unit_order(struct manager *m, struct manager_id id, enum manager_order what,
			   const char *method, struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	char name[MANAGER_NAME_MAX];
	int r;

	r = new_call(m, method, &msg, err);
	if (r < 0)
		return r;
	r = sd_bus_message_append(msg, "s", manager_name(id, name));
	if (r < 0)
		return err_set(err, r, "%s %s: %s", method, name, strerror(-r));
	return send_order(m, msg, id, what, err);
}

static int freeze_job(struct manager *m, struct manager_id id, struct err *err)
{
	return send_unit_order(m, id, MANAGER_FREEZE, "FreezeUnit", err);
}

static int thaw_job(struct manager *m, struct manager_id id, struct err *err)
{
	return send_unit_order(m, id, MANAGER_THAW, "ThawUnit", err);
}

static int spawn_unit(struct manager *m, struct manager_id id, const char *name,
		      const char *const *argv, struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	char unit[256];
	int r;

	snprintf(unit, sizeof(unit), "%s.service", name);
	r = new_call(m, "StartTransientUnit", &msg, err);
	if (r < 0)
		return r;
	r = sd_bus_message_append(msg, "ss", unit, "fail");
	if (r >= 0)
		r = manager_unit_append_helper(msg, name, argv, m->agent);
	if (r >= 0)
		r = sd_bus_message_append(msg, "a(sa(sv))", 0);
	if (r < 0)
		return err_set(err, r, "describe unit %s: %s", unit, strerror(-r));
	return send_order(m, msg, id, MANAGER_SPAWN, err);
}

/* Not KillUnit, which would also signal the writer of the final record. */
static int signal_job(struct manager *m, struct manager_id id, int sig, struct err *err)
{
	(void)err;
	manager_signal(m->parent, id, sig);
	return 0;
}

/* With CollectMode=inactive-or-failed systemd drops an ended unit by itself. */
static int forget_job(struct manager *m, struct manager_id id, struct err *err)
{
	(void)m;
	(void)id;
	(void)err;
	return 0;
}

/* At daemon-reload systemd sends UnitRemoved for every unit and loads it again: those are ignored.
 * A unit whose cgroup still has processes is not gone either. */
static int on_unit_removed(sd_bus_message *msg, void *userdata, sd_bus_error *unused)
{
	char path[MANAGER_PATH_MAX];
	struct manager *m = userdata;
	struct manager_id id;
	const char *name;

	(void)unused;
	if (m->is_reloading || sd_bus_message_read(msg, "s", &name) < 0 ||
	    manager_parse_name(name, &id) < 0)
		return 0;
	if (!manager_is_populated(manager_path(m->parent, id, path)))
		m->c.on_gone(m->c.ctx, id);
	return 0;
}

/* After the reload: systemd has written the cgroups' files again. */
static int on_reloading(sd_bus_message *msg, void *userdata, sd_bus_error *unused)
{
	struct manager *m = userdata;
	int active;

	(void)unused;
	if (sd_bus_message_read(msg, "b", &active) < 0)
		return 0;
	m->is_reloading = active;
	if (!active)
		manager_list(m->parent, set_oom_group, m, NULL);
	return 0;
}

/* Waits for the answer: for the few calls at the agent's start. */
static int call_and_wait(struct manager *m, sd_bus_message *msg, struct err *err)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	int r = sd_bus_call(m->c.bus, msg, 0, &e, NULL);

	if (r < 0)
		err_set(err, r, "%s: %s", sd_bus_message_get_member(msg),
			e.message ? e.message : strerror(-r));
	sd_bus_error_free(&e);
	return r < 0 ? r : 0;
}

/* Properties of the slice, at runtime only: a changed configuration leaves nothing behind at the next boot. */
static int bound_jobs(struct manager *m, const struct cpulist *cpus, int64_t mem_bytes,
		      struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	int r;

	r = new_call(m, "SetUnitProperties", &msg, err);
	if (r < 0)
		return r;
	r = sd_bus_message_append(msg, "sb", m->slice, 1);
	if (r >= 0)
		r = sd_bus_message_open_container(msg, 'a', "(sv)");
	if (r >= 0)
		r = manager_unit_append_set(msg, "AllowedCPUs", cpus);
	if (r >= 0)
		r = sd_bus_message_append(msg, "(sv)", "MemoryMax", "t",
					  mem_bytes > 0 ? (uint64_t)mem_bytes : UINT64_MAX);
	if (r >= 0)
		r = sd_bus_message_close_container(msg);
	if (r < 0)
		return err_set(err, r, "describe %s: %s", m->slice, strerror(-r));
	return call_and_wait(m, msg, err);
}

/* systemd has answered StartUnit when the start is queued: the slice has a cgroup a moment later, on a
 * busy node some seconds. *ret "" after GROUP_TRIES readings: it has none. */
#define GROUP_TRIES 100
#define GROUP_PAUSE_US 100000
static int wait_for_group(struct manager *m, const char *object, char **ret, struct err *err)
{
	int r = 0;

	for (int i = 0; i < GROUP_TRIES && r >= 0 && (!*ret || !**ret); i++) {
		sd_bus_error e = SD_BUS_ERROR_NULL;

		if (i)
			usleep(GROUP_PAUSE_US);
		free(*ret);
		*ret = NULL;
		r = sd_bus_get_property_string(m->c.bus, SYSTEMD, object, SYSTEMD ".Slice",
					       "ControlGroup", &e, ret);
		if (r < 0)
			err_set(err, r, "read the cgroup of %s: %s", m->slice,
				e.message ? e.message : strerror(-r));
		sd_bus_error_free(&e);
	}
	return r;
}

/* Starts the slice and reads its cgroup from systemd, since it is not the same on every host
 * (containers, hybrid hierarchies). */
static int start_slice(struct manager *m, struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	_cleanup_free_ char *object = NULL, *group = NULL;
	int r;

	r = new_call(m, "StartUnit", &msg, err);
	if (r < 0)
		return r;
	r = sd_bus_message_append(msg, "ss", m->slice, "fail");
	if (r >= 0)
		r = call_and_wait(m, msg, err);
	if (r < 0)
		return r;
	r = sd_bus_path_encode(SYSTEMD_PATH "/unit", m->slice, &object);
	if (r < 0)
		return err_set(err, r, "the path of %s: %s", m->slice, strerror(-r));
	r = wait_for_group(m, object, &group, err);
	if (r < 0)
		return r;
	/* An inactive slice has no cgroup yet; it will be the one of its name. */
	snprintf(m->parent, sizeof(m->parent), "%s%s%s", manager_mount(),
		 group && *group ? group : "/", group && *group ? "" : m->slice);
	return 0;
}

static int subscribe_to_signals(struct manager *m, struct err *err)
{
	__attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *msg = NULL;
	int r;

	r = sd_bus_match_signal(m->c.bus, &m->removed, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
				"UnitRemoved", on_unit_removed, m);
	if (r >= 0)
		r = sd_bus_match_signal(m->c.bus, &m->reloading, SYSTEMD, SYSTEMD_PATH,
					SYSTEMD_MANAGER, "Reloading", on_reloading, m);
	if (r < 0)
		return err_set(err, r, "listen to systemd: %s", strerror(-r));
	r = new_call(m, "Subscribe", &msg, err);
	return r < 0 ? r : call_and_wait(m, msg, err);
}

static struct manager *manager_close(struct manager *m)
{
	if (!m)
		return NULL;
	sd_bus_slot_unref(m->removed);
	sd_bus_slot_unref(m->reloading);
	free(m->agent);
	free(m);
	return NULL;
}

/* NULL: it was started by hand, in a session. */
static char *find_own_unit(void)
{
	char *unit = NULL;
	size_t n;

	if (sd_pid_get_unit(0, &unit) < 0)
		return NULL;
	n = strlen(unit);
	if (n > 8 && !strcmp(unit + n - 8, ".service"))
		return unit;
	free(unit);
	return NULL;
}

/* Subscribed before the slice is started: no end of a unit is missed from then on. */
static int manager_open(const struct manager_config *c, struct manager **ret, struct err *err)
{
	struct manager *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->c = *c;
	snprintf(m->slice, sizeof(m->slice), "%s", c->parent);
	m->agent = find_own_unit();
	r = subscribe_to_signals(m, err);
	if (!r)
		r = start_slice(m, err);
	if (!r) /* systemd may have been reloaded while the agent was away */
		manager_list(m->parent, set_oom_group, m, NULL);
	if (r < 0) {
		manager_close(m);
		return err_prefix(err, r, "systemd");
	}
	*ret = m;
	return 0;
}

static const char *get_parent(const struct manager *m)
{
	return m->parent;
}

static const char *get_status(const struct manager *m)
{
	(void)m;
	return "";
}

const struct manager_ops manager_systemd = {
	.name = "systemd",
	.open = manager_open,
	.close = manager_close,
	.start = start_job,
	.set_cpus = set_cpus,
	.freeze = freeze_job,
	.thaw = thaw_job,
	.spawn = spawn_unit,
	.signal = signal_job,
	.forget = forget_job,
	.bound = bound_jobs,
	.parent = get_parent,
	.status = get_status,
};
