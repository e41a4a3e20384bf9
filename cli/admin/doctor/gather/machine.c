/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.c - see machine.h. */
#include <jansson.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/machine.h"
#include "cli/admin/doctor/gather/run.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/json/load.h"

#define CGROUPS "/sys/fs/cgroup"
#define BUS "org.reeve.Agent1"
#define OBJECT "/org/reeve/Agent1"

bool gather_has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

bool gather_has_bus(void)
{
	return getenv("DBUS_SYSTEM_BUS_ADDRESS") ||
	       access("/run/dbus/system_bus_socket", F_OK) == 0;
}

/* One line; "" where the file cannot be read. */
static void read_line(const char *path, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (f && !fgets(buf, (int)size, f))
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

static bool is_fs(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == magic;
}

void gather_kernel(struct judge_kernel *ret)
{
	char line[256], *open, *end;
	struct utsname u;

	*ret = (struct judge_kernel){ .has_btf = access("/sys/kernel/btf/vmlinux", F_OK) == 0,
				      .has_bpffs = is_fs("/sys/fs/bpf", BPF_FS_MAGIC) };
	if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &ret->major, &ret->minor) != 2)
		ret->major = ret->minor = 0;
	/* "none [integrity] confidentiality": what is chosen is in brackets. */
	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	open = strchr(line, '[');
	end = open ? strchr(open, ']') : NULL;
	if (end) {
		*end = '\0';
		snprintf(ret->lockdown, sizeof(ret->lockdown), "%.60s", open + 1);
	}
}

/* systemd nests slices by dashes: a-b.slice is a.slice/a-b.slice. */
static void slice_path(const char *slice, char *buf, size_t size)
{
	size_t n = strlen(slice), at = 0;

	buf[0] = '\0';
	for (size_t i = 1; i < n && at < size; i++)
		if (slice[i] == '-')
			at += (size_t)snprintf(buf + at, size - at, "/%.*s.slice", (int)i,
					       slice);
	if (at < size)
		snprintf(buf + at, size - at, "/%s", slice);
}

void gather_cgroup(const char *slice, struct judge_cgroup *ret)
{
	char below[JUDGE_PATH_MAX - 64], path[JUDGE_PATH_MAX + 64];

	*ret = (struct judge_cgroup){ .mount = CGROUPS,
				      .is_v2 = is_fs(CGROUPS, CGROUP2_SUPER_MAGIC),
				      .is_hybrid = access(CGROUPS "/memory/tasks", F_OK) == 0 ||
						   access(CGROUPS "/cpu/tasks", F_OK) == 0 };
	read_line(CGROUPS "/cgroup.controllers", ret->controllers, sizeof(ret->controllers));
	slice_path(slice, below, sizeof(below));
	snprintf(ret->slice, sizeof(ret->slice), CGROUPS "%s", below);
	snprintf(path, sizeof(path), "%s/cgroup.controllers", ret->slice);
	if (access(path, F_OK) == 0)
		read_line(path, ret->slice_controllers, sizeof(ret->slice_controllers));
	else
		ret->slice[0] = '\0';
}

/* ---- systemd ---- */

/* The value of a line KEY=VALUE. */
static void take_property(const char *text, const char *key, char buf[static JUDGE_WORD_MAX])
{
	size_t n = strlen(key);

	buf[0] = '\0';
	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, key, n) && p[n] == '=')
			snprintf(buf, JUDGE_WORD_MAX, "%.*s", (int)strcspn(p + n + 1, "\n"),
				 p + n + 1);
}

void gather_unit(const char *name, struct judge_unit *ret)
{
	const char *const argv[] = {
		"systemctl", "show",
		"--property=LoadState,UnitFileState,ActiveState,Result,NRestarts", name, NULL
	};
	const struct gather_run run = { .argv = argv, .has_errors = true };
	_cleanup_free_ struct gather_output *out = malloc(sizeof(*out));
	char restarts[JUDGE_WORD_MAX];
	struct err err = { "out of memory" };

	*ret = (struct judge_unit){ .name = name, .has_systemd = gather_has_systemd() };
	if (!ret->has_systemd)
		return;
	if (!out || gather_run(&run, out, &err) < 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
		return;
	}
	if (out->status != 0) {
		utf8_format(ret->why, sizeof(ret->why), "%.400s", out->text);
		return;
	}
	take_property(out->text, "LoadState", ret->load);
	take_property(out->text, "UnitFileState", ret->file);
	take_property(out->text, "ActiveState", ret->active);
	take_property(out->text, "Result", ret->result);
	take_property(out->text, "NRestarts", restarts);
	ret->restarts = strtoll(restarts, NULL, 10);
}

/* ---- the agent ---- */

static void copy_text(const json_t *from, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(from, key));

	utf8_format(buf, size, "%s", text ? text : "");
}

static void take_description(const json_t *d, struct judge_agent *ret)
{
	const json_t *notes = json_object_get(d, "notes"),
		     *spool = json_object_get(d, "spool_bytes");

	ret->tier = (int)json_integer_value(json_object_get(d, "tier"));
	copy_text(d, "version", ret->version, sizeof(ret->version));
	copy_text(d, "controller", ret->controller, sizeof(ret->controller));
	copy_text(d, "controller_why", ret->link_why, sizeof(ret->link_why));
	ret->is_up = json_is_true(json_object_get(d, "controller_up"));
	ret->has_spool = json_is_integer(spool);
	ret->spool_bytes = json_integer_value(spool);
	ret->spool_max_bytes = json_integer_value(json_object_get(d, "spool_max_bytes"));
	for (size_t i = 0; i < json_array_size(notes) && ret->n_notes < JUDGE_NOTES_MAX; i++) {
		const char *note = json_string_value(json_array_get(notes, i));

		if (note)
			utf8_format(ret->notes[ret->n_notes++], JUDGE_WHY_MAX, "%s", note);
	}
}

/* busctl prints {"type":"s","data":["..."]}, where the text is a document itself. */
static json_t *parse_call(const char *text)
{
	json_t *answer = wire_load(text, 0, NULL), *d = NULL;
	const char *inner =
		json_string_value(json_array_get(json_object_get(answer, "data"), 0));

	if (inner)
		d = wire_load(inner, 0, NULL);
	json_decref(answer);
	return d;
}

void gather_agent(struct judge_agent *ret)
{
	static const char *const argv[] = { "busctl", "--system", "--json=short", "call", BUS,
					    OBJECT,   BUS,	  "Describe",	  NULL };
	const struct gather_run run = { .argv = argv, .has_errors = true };
	_cleanup_free_ struct gather_output *out = malloc(sizeof(*out));
	struct err err = { "out of memory" };
	json_t *d;

	*ret = (struct judge_agent){ .tier = 0 };
	if (!gather_has_bus()) {
		snprintf(ret->why, sizeof(ret->why), "there is no system bus");
		return;
	}
	if (!out || gather_run(&run, out, &err) < 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
		return;
	}
	gather_first_line(out->text);
	d = out->status ? NULL : parse_call(out->text);
	if (json_is_object(d))
		take_description(d, ret);
	else if (strstr(out->text, "Unknown method"))
		snprintf(ret->why, sizeof(ret->why),
			 "it is of an older version than this command");
	else
		utf8_format(ret->why, sizeof(ret->why), "%.400s", out->text);
	json_decref(d);
}

void gather_version(const char *program, struct judge_version *ret)
{
	const char *const argv[] = { program, "--version", NULL };
	const struct gather_run run = { .argv = argv };
	_cleanup_free_ struct gather_output *out = malloc(sizeof(*out));
	struct err err = { "out of memory" };
	const char *blank;

	if (!out || gather_run(&run, out, &err) < 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
		return;
	}
	gather_first_line(out->text);
	blank = strrchr(out->text, ' ');
	if (out->status != 0 || !blank)
		snprintf(ret->why, sizeof(ret->why), "%s --version ended with status %d",
			 program, out->status);
	else
		utf8_format(ret->version, sizeof(ret->version), "%s", blank + 1);
}
