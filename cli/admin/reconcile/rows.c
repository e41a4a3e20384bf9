/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - reads documents of common/wire/slurm_batch.h from a child's pipe and from the controller; see rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/admin/reconcile/rows.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

static int add_jobs(struct compare_list *l, const struct slurm_batch *b, struct err *err)
{
	struct slurm_batch_job *p = realloc(l->of, (l->n + b->n_jobs + 1) * sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	if (b->n_jobs)
		memcpy(p + l->n, b->jobs, b->n_jobs * sizeof(*p));
	l->of = p;
	l->n += b->n_jobs;
	return 0;
}

/* ---- slurmdbd's ---- */

/* One document a line. The first one sets p->cluster where the command names none; documents of another
 * cluster are an error. */
static int read_line(const char *line, size_t size, struct rows_period *p,
		     struct compare_list *l, struct err *err)
{
	_cleanup_(slurm_batch_freep) struct slurm_batch *b = NULL;
	_cleanup_json_ json_t *doc = NULL;
	int r = wire_parse(line, size, &doc, err);

	if (r >= 0)
		r = slurm_batch_decode(doc, &b, err);
	if (r < 0)
		return err_prefix(err, -EPROTO, "what reeve-slurm printed");
	if (*p->cluster && strcmp(p->cluster, b->cluster) != 0)
		return err_set(err, -EINVAL, "reeve-slurm.conf follows cluster '%s', not '%s'",
			       b->cluster, p->cluster);
	snprintf(p->cluster, sizeof(p->cluster), "%s", b->cluster);
	return add_jobs(l, b, err);
}

/* Up to the end of the child's output. */
static int read_lines(FILE *from, struct rows_period *p, struct compare_list *l,
		      struct err *err)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int r = 0;

	while (r >= 0 && (n = getline(&line, &room, from)) > 0)
		r = read_line(line, (size_t)n, p, l, err);
	return r;
}

/* The child's end of the pipe is its standard output. */
static void exec_program(const char *program, const char *config, const struct rows_period *p,
			 const int pipe_fds[2])
{
	char from[32], to[32];

	snprintf(from, sizeof(from), "%" PRId64, p->from_s);
	snprintf(to, sizeof(to), "%" PRId64, p->to_s);
	dup2(pipe_fds[1], STDOUT_FILENO);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	if (config)
		execlp(program, program, "--list", "--from", from, "--to", to, "--config",
		       config, NULL);
	else
		execlp(program, program, "--list", "--from", from, "--to", to, NULL);
	fprintf(stderr, "cannot run %s: %s\n", program, strerror(errno));
	_exit(127);
}

int rows_of_slurmdbd(const char *program, const char *config, struct rows_period *p,
		     struct compare_list *l, struct err *err)
{
	_cleanup_fclose_ FILE *from = NULL;
	int fds[2], status, r;
	pid_t pid;

	if (pipe(fds) < 0)
		return err_set(err, -errno, "make a pipe: %m");
	pid = fork();
	if (pid == 0)
		exec_program(program, config, p, fds);
	close(fds[1]);
	from = pid < 0 ? NULL : fdopen(fds[0], "r");
	if (!from) {
		close(fds[0]);
		return err_set(err, -errno, "run %s: %m", program);
	}
	r = read_lines(from, p, l, err);
	/* After an error here the child ends by SIGPIPE. */
	fclose(TAKE_PTR(from));
	if (waitpid(pid, &status, 0) < 0)
		return err_set(err, -errno, "wait for %s: %m", program);
	if (r >= 0 && status != 0)
		return err_set(err, -EREMOTEIO, "%s --list failed", program);
	return r;
}

/* ---- the ledger's ---- */

/* A part of the period, as long as a few pages take. The controller reads all of it for each of its pages. */
struct window {
	const char *cluster;
	int64_t from_s, to_s;
	size_t n_before; /* rows of the windows before it */
};
#define WINDOW_SHORTEST_S 60
#define WINDOW_LONGEST_S (30 * DAY_S)
#define WINDOW_ROWS (2 * SLURM_BATCH_MAX) /* as many at most are aimed at */

/* 1: there may be more behind it. */
static int fetch_page(struct cli *c, const struct window *p, struct compare_list *l,
		      struct err *err)
{
	const struct slurm_batch_job *last = l->n > p->n_before ? &l->of[l->n - 1] : NULL;
	_cleanup_(slurm_batch_freep) struct slurm_batch *b = NULL;
	_cleanup_json_ json_t *answer = NULL;
	char path[256];
	int r;

	snprintf(path, sizeof(path),
		 "/v1/slurm/attempts?cluster=%s&from=%" PRId64 "&to=%" PRId64 "&after=%" PRId64
		 "&submit=%" PRId64,
		 p->cluster, p->from_s, p->to_s, last ? last->job : 0,
		 last ? last->submit_s : 0);
	r = cli_get(c, path, &answer, err);
	if (r < 0)
		return r;
	if (slurm_batch_decode(answer, &b, err) < 0)
		return err_prefix(err, -EPROTO, "the controller's answer");
	r = add_jobs(l, b, err);
	return r < 0 ? r : b->n_jobs == SLURM_BATCH_MAX;
}

/* Of the next window, after one that had `rows`. */
static int64_t choose_length(int64_t length_s, size_t rows)
{
	if (rows > WINDOW_ROWS && length_s > WINDOW_SHORTEST_S)
		return length_s / 2;
	if (rows < WINDOW_ROWS / 4 && length_s < WINDOW_LONGEST_S)
		return length_s * 2;
	return length_s;
}

int rows_of_ledger(struct cli *c, const struct rows_period *p, struct compare_list *l,
		   struct err *err)
{
	int64_t length_s = HOUR_S;
	int r = 0;

	for (int64_t from_s = p->from_s; from_s < p->to_s && r >= 0;) {
		const struct window w = { p->cluster, from_s,
					  from_s + length_s < p->to_s ? from_s + length_s
								      : p->to_s,
					  l->n };

		do
			r = fetch_page(c, &w, l, err);
		while (r > 0);
		from_s = w.to_s;
		length_s = choose_length(length_s, l->n - w.n_before);
	}
	return r;
}
