/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reeve_storage.c - `reeve-storage`: what groups or projects occupy on file systems, as the CSV that `reeve admin storage
 * import` takes: from the output of a quota tool (standard input), or from the quotas of a local file system. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "common/cleanup.h"
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/verb/verb.h"
#include "common/version.h"
#include "storage/listing.h"
#include "storage/local.h"
#include "storage/names.h"

#define PROJID_FILE "/etc/projid"
#define LINE_MAX_BYTES (64 << 10)

static const struct verb_option options[] = {
	{ "kind", 0, "group|project|fileset",
	  "whose quotas; needed if standard input has several kinds", "group project fileset" },
	{ "filesystem", 0, "NAME", "the name of the file system; default: as it is printed",
	  NULL },
	{ "help", 'h', NULL, "show this help", NULL },
	{ "version", 0, NULL, "print the version", NULL },
	{ 0 },
};

static const struct verb verb = {
	.name = "reeve-storage",
	.args = "[PATH...]",
	.help = "Print what groups or projects occupy on file systems, as CSV",
	.details =
		"Reads what lfs quota, mmrepquota -Y or repquota print from standard input, and\n"
		"recognises which it is; outputs may follow each other. Run these tools without\n"
		"options that round (lfs -h, repquota -s), with LC_ALL=C. With a PATH: the quotas\n"
		"of that XFS or ext4 of this machine, of projects if it counts them, else of\n"
		"groups; needs root. Users, and the id 0, are left out. Numbers are named by\n"
		"the groups of the system and " PROJID_FILE ".",
	.examples =
		"LC_ALL=C repquota -g /home | reeve-storage | reeve admin storage import -\n"
		"mmrepquota -Y -j gpfs1 | reeve-storage --filesystem /project\n"
		"for p in 1001 1002; do lfs quota -p $p /lustre; done | reeve-storage\n"
		"reeve-storage --kind group /export/home",
	.options = options,
	.max_args = -1,
};
static const struct verb *const verbs[] = { &verb, NULL };
static const struct verb_tool tool = { .name = "reeve-storage",
				       .help = "print what projects occupy on file systems",
				       .footer =
					       "Exit status: 0 done; 1 failed; 2 wrong usage.",
				       .verbs = verbs };

struct gathered {
	struct listing_row *rows;
	size_t n;
	enum listing_kind kind; /* _LISTING_KIND_MAX: any */
};

static void free_rows(struct gathered *g)
{
	free(g->rows);
}

static int gather_row(void *ctx, const struct listing_row *row, struct err *err)
{
	struct gathered *g = ctx;
	struct listing_row *more;

	if (row->kind == LISTING_USER || row->id == 0 ||
	    (row->id < 0 && !strcmp(row->name, "root")) ||
	    (g->kind != _LISTING_KIND_MAX && row->kind != g->kind))
		return 0;
	if ((g->n & (g->n - 1)) == 0) { /* n is a power of two, or 0: the room is used up */
		more = realloc(g->rows, (g->n ? g->n * 2 : 1) * sizeof(*more));
		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		g->rows = more;
	}
	g->rows[g->n++] = *row;
	return 0;
}

static int read_line(struct listing *in, char *line, ssize_t size, struct gathered *g,
		     struct err *err)
{
	struct listing_row row;
	int r;

	if (size > LINE_MAX_BYTES || memchr(line, '\0', (size_t)size))
		return err_set(err, -EINVAL, "no line of text");
	line[strcspn(line, "\r\n")] = '\0';
	r = listing_line(in, line, &row, err);
	return r > 0 ? gather_row(g, &row, err) : r;
}

static int read_input(FILE *from, struct gathered *g, struct err *err)
{
	_cleanup_free_ char *line = NULL;
	struct listing in = { 0 };
	struct err why = { "" };
	size_t room = 0, n = 0;
	ssize_t size;

	while ((size = getline(&line, &room, from)) >= 0) {
		n++;
		if (read_line(&in, line, size, g, &why) < 0)
			return err_set(err, -EINVAL, "standard input:%zu: %s", n, why.text);
	}
	if (ferror(from))
		return err_set(err, -EIO, "standard input cannot be read");
	return listing_end(&in, err);
}

/* One kind and, under one name, one file system: else a project would have several rows of one name. */
static int check_rows(const struct gathered *g, const char *filesystem, struct err *err)
{
	for (size_t i = 1; i < g->n; i++) {
		const struct listing_row *a = &g->rows[0], *b = &g->rows[i];

		if (a->kind != b->kind)
			return err_set(err, -EINVAL,
				       "quotas of %ss and of %ss; choose one with --kind",
				       listing_kind_name(a->kind), listing_kind_name(b->kind));
		if (filesystem && strcmp(a->filesystem, b->filesystem) != 0)
			return err_set(err, -EINVAL,
				       "--filesystem names one, and there are %.80s and %.80s",
				       a->filesystem, b->filesystem);
	}
	if (!g->n)
		return err_set(err, -ENOENT, "no quota of a group, project or fileset");
	return 0;
}

static void print_amount(int64_t n)
{
	if (n > 0)
		printf(",%" PRId64, n);
	else
		putchar(',');
}

/* Incomplete figures are left out: shown, they would look like a use that fell. */
static int print_rows(struct gathered *g, const char *filesystem, struct err *err)
{
	struct names *names = NULL;
	int r = names_open(PROJID_FILE, &names, err);

	if (r < 0)
		return r;
	puts("project,filesystem,bytes,files,limit,file_limit,time");
	for (size_t i = 0; i < g->n; i++) {
		struct listing_row *row = &g->rows[i];

		names_set(names, row);
		if (row->is_partial) {
			fprintf(stderr,
				"reeve-storage: left out: %s on %s: a server did not answer\n",
				row->name, row->filesystem);
			continue;
		}
		csv_write_field(row->name, stdout);
		putchar(',');
		csv_write_field(filesystem ? filesystem : row->filesystem, stdout);
		printf(",%" PRId64 ",%" PRId64, row->bytes, row->files);
		print_amount(row->limit_bytes);
		print_amount(row->limit_files);
		printf(",%lld\n", (long long)time(NULL));
	}
	names_close(names);
	return fflush(stdout) ? err_set(err, -errno, "write: %m") : 0;
}

/* -EINVAL: no such kind. */
static int read_kind(const char *word, bool is_local, enum listing_kind *ret, struct err *err)
{
	*ret = _LISTING_KIND_MAX;
	if (!word)
		return 0;
	for (int k = LISTING_GROUP; k < (is_local ? LISTING_FILESET : _LISTING_KIND_MAX); k++)
		if (!strcmp(word, listing_kind_name((enum listing_kind)k)))
			*ret = (enum listing_kind)k;
	if (*ret == _LISTING_KIND_MAX)
		return err_set(err, -EINVAL, "--kind %.32s: write group or project%s", word,
			       is_local ? "" : " or fileset");
	return 0;
}

static int run_storage(const struct verb_call *call, struct err *err)
{
	const char *filesystem = verb_value(call, "filesystem");
	_cleanup_(free_rows) struct gathered g = { 0 };
	int r = read_kind(verb_value(call, "kind"), call->n_args > 0, &g.kind, err);

	if (r < 0)
		return r;
	for (int i = 0; i < call->n_args && r >= 0; i++)
		r = local_read(call->args[i], g.kind, gather_row, &g, err);
	if (!call->n_args)
		r = read_input(stdin, &g, err);
	if (r < 0)
		return r;
	r = check_rows(&g, filesystem, err);
	return r < 0 ? r : print_rows(&g, filesystem, err);
}

int main(int argc, char **argv)
{
	struct verb_call call = { 0 };
	struct err err = { "" };
	int r = verb_parse(&verb, NULL, (struct verb_argv){ argv, argc }, &call, &err);

	if (r < 0) {
		fprintf(stderr, "reeve-storage: %s\n", err.text);
		return 2;
	}
	if (verb_count(&call, "help"))
		verb_help(&tool, &verb, stdout);
	else if (verb_count(&call, "version"))
		printf("reeve-storage %s\n", REEVE_VERSION);
	else
		r = run_storage(&call, &err);
	if (r < 0)
		fprintf(stderr, "reeve-storage: %s\n", err.text);
	verb_done(&call);
	return r < 0 ? 1 : 0;
}
