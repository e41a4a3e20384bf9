/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - see job.h. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/job.h"
#include "cli/admin/doctor/gather/run.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/utf8.h"

#define WORD "reeve-doctor-was-here"
#define LIMIT_MS 180000
#define ARGS_MAX 24

static void add_option(const char **argv, size_t *n, const char *option, const char *value)
{
	if (!value)
		return;
	argv[(*n)++] = option;
	argv[(*n)++] = value;
}

/* The job's own lines differ from those of `reeve run`. */
static void read_output(const struct gather_output *out, struct judge_job *ret)
{
	const char *at = strstr(out->text, WORD ":"), *last = strrchr(out->text, '\n');

	ret->status = out->status;
	ret->has_word = at;
	ret->is_in_job =
		at && strstr(at + sizeof(WORD), "reeve"); /* behind the word, not in it */
	/* The last line that is not empty. */
	while (last && last > out->text && !last[1])
		last = memrchr(out->text, '\n', (size_t)(last - out->text));
	utf8_format(ret->words, sizeof(ret->words), "%.400s", last ? last + 1 : out->text);
	utf8_clean(ret->words);
}

void gather_job(const struct gather_job *how, struct judge_job *ret)
{
	const char *argv[ARGS_MAX] = { "/proc/self/exe", "run" };
	struct gather_run run = { .argv = argv, .limit_ms = LIMIT_MS, .has_errors = true };
	_cleanup_free_ struct gather_output *out = malloc(sizeof(*out));
	int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
	struct passwd *p = ret->user ? getpwnam(ret->user) : NULL;
	struct err err = { "out of memory" };
	size_t n = 2;

	if (!ret->user)
		return;
	if (!p || (geteuid() != 0 && geteuid() != p->pw_uid)) {
		snprintf(ret->why, sizeof(ret->why),
			 p ? "only root submits as user %s" : "there is no user %s", ret->user);
		return;
	}
	add_option(argv, &n, "--config", how->config);
	add_option(argv, &n, "--controller",
		   how->controller ? how->controller : getenv("REEVE_CONTROLLER"));
	add_option(argv, &n, "--account", how->account);
	add_option(argv, &n, "--name", "reeve-doctor");
	add_option(argv, &n, "--workdir", "/");
	add_option(argv, &n, "--resources", "ncpus=1,vmem=100MB,jobfs=1MB,walltime=60");
	argv[n++] = "--immediate=60";
	add_option(argv, &n, "--", "/bin/sh");
	add_option(argv, &n, "-c", "echo " WORD ":$(cat /proc/self/cgroup)");
	run.as = p;
	if (!out || gather_run(&run, out, &err) < 0)
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
	else
		read_output(out, ret);
	ret->took_ms = (clock_ns(CLOCK_MONOTONIC) - before_ns) / (S_NS / 1000);
}
