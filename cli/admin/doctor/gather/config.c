/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - see config.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/config.h"
#include "cli/admin/doctor/gather/run.h"
#include "common/cleanup.h"
#include "common/conf/conf.h"
#include "common/engine.h"
#include "common/err.h"
#include "common/utf8.h"

enum { JOBFS_QUOTA, JOBFS_NONE };
static const char *const jobfs_words[] = {
	[JOBFS_QUOTA] = "quota", [JOBFS_NONE] = "none", NULL
};

enum { STRAY_IGNORE, STRAY_NOTE, STRAY_KILL };
static const char *const stray_words[] = {
	[STRAY_IGNORE] = "ignore", [STRAY_NOTE] = "note", [STRAY_KILL] = "kill", NULL
};

#define AT(field) offsetof(struct gather_config, field)
#define TEXT(key, field)                                                                       \
	{                                                                                      \
		"Agent", key, CONF_TEXT, AT(field), 0, 0, NULL, "", "", CONF_RESTART           \
	}

static const struct conf_key keys[] = {
	{ "Agent", "Node", CONF_NAME, AT(node), 0, 0, NULL, "", "", CONF_RESTART },
	TEXT("Controller", controller),
	TEXT("ControllerUser", controller_user),
	TEXT("MungeSocket", munge_socket),
	TEXT("CaFile", ca_file),
	TEXT("ClientCertificate", client_certificate),
	TEXT("ClientKey", client_key),
	TEXT("RunDirectory", run_dir),
	TEXT("StateDirectory", state_dir),
	TEXT("JobfsDirectory", jobfs_dir),
	TEXT("JobfsImage", jobfs_image),
	TEXT("PinDirectory", pin_dir),
	TEXT("LaunchProgram", launcher),
	TEXT("Slice", slice),
	TEXT("MetricsToken", metrics_token),
	{ "Agent", "SpoolMax", CONF_BYTES, AT(spool_max_bytes), 0, 0, NULL, "", "",
	  CONF_RESTART },
	{ "Agent", "MinUid", CONF_COUNT, AT(min_uid), 0, 0, NULL, "", "", CONF_RESTART },
	{ "Agent", "Jobfs", CONF_ENUM, AT(jobfs), 0, 0, jobfs_words, "", "", CONF_RESTART },
	TEXT("StrayExemptGroups", stray_exempt_groups),
	{ "Agent", "StrayProcesses", CONF_ENUM, AT(stray), 0, 0, stray_words, "", "",
	  CONF_RESTART },
	{ "Agent", "Engine", CONF_ENUM, AT(engine), 0, 0, engine_words, "", "", CONF_RESTART },
	{ 0 },
};

/* As set_defaults() of agent/config.c has them; tests/cluster/monitoring/doctor.sh compares the two. */
static const struct {
	size_t offset;
	const char *value;
} defaults[] = {
	{ AT(controller_user), "reeve" },
	{ AT(run_dir), "/run/reeve" },
	{ AT(state_dir), "/var/lib/reeve" },
	{ AT(jobfs_dir), "/var/lib/reeve/jobfs" },
	{ AT(pin_dir), "/sys/fs/bpf/reeve" },
	{ AT(launcher), "/usr/libexec/reeve/reeve-launch" },
	{ AT(slice), "reeve.slice" },
};

static int set_defaults(struct gather_config *c, struct err *err)
{
	char host[256] = "";

	*c = (struct gather_config){ .spool_max_bytes = 64 << 20, .min_uid = 1000 };
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(c->node, sizeof(c->node), "%.63s", host);
	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		char **to = (char **)(void *)((char *)c + defaults[i].offset);

		*to = strdup(defaults[i].value);
		if (!*to)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static void pass_over(void *ctx, const struct conf_fault *fault)
{
	(void)ctx, (void)fault;
}

int gather_config_load(const char *path, struct gather_config *ret, struct err *err)
{
	const struct conf_reader reader = { .keys = keys, .target = ret, .fault = pass_over };
	int r = set_defaults(ret, err);

	if (r >= 0)
		r = conf_read(path, &reader, err);
	return r < 0 ? r : 0;
}

void gather_config_done(struct gather_config *c)
{
	conf_done(keys, NULL, c);
}

bool gather_config_is_unlimited(const struct gather_config *c)
{
	return c->jobfs == JOBFS_NONE;
}

bool gather_config_is_killing(const struct gather_config *c)
{
	return c->stray == STRAY_KILL;
}

bool gather_config_is_foreign(const struct gather_config *c)
{
	return engine_is_foreign((enum engine)c->engine);
}

/* Without a terminal the daemons write "<3>reeve-agent: " before a line, as the journal reads it. */
static const char *skip_level(const char *line, const char *program)
{
	size_t n = strlen(program);

	if (line[0] == '<' && line[1] && line[2] == '>')
		line += 3;
	return !strncmp(line, program, n) && !strncmp(line + n, ": ", 2) ? line + n + 2 : line;
}

void gather_config_check(const char *program, struct judge_config *ret)
{
	const char *const argv[] = { program, "--config", ret->path, "--check", NULL };
	const struct gather_run run = { .argv = argv, .has_errors = true };
	_cleanup_free_ struct gather_output *out = malloc(sizeof(*out));
	struct err err = { "out of memory" };

	if (!out || gather_run(&run, out, &err) < 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
		return;
	}
	ret->is_good = out->status == 0;
	gather_first_line(out->text);
	utf8_format(ret->words, sizeof(ret->words), "%s", skip_level(out->text, program));
}
