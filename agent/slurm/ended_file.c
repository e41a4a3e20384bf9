/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended_file.c - a head, and an entry for each job, newest first, as structs of this machine; see ended_file.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/slurm/ended_file.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/replace_file.h"

/* Of the GPUs of the next attempt nothing is known. */
#define BEGIN_SIZE offsetof(struct slurm_question, gpus)

struct head {
	char mark[8];
	uint32_t version, begin_size;
};

struct entry {
	int64_t ended_ns, ngpus;
	char begin[BEGIN_SIZE];
};

static const struct head this_head = { "R-ENDED", SLURM_HANDSHAKE_VERSION, BEGIN_SIZE };

static void write_list(FILE *f, const struct ended_job *list)
{
	fwrite(&this_head, sizeof(this_head), 1, f);
	for (const struct ended_job *e = list; e; e = e->next) {
		struct entry to = { .ended_ns = e->ended_ns, .ngpus = e->ngpus };

		memcpy(to.begin, &e->begin, BEGIN_SIZE);
		fwrite(&to, sizeof(to), 1, f);
	}
}

int ended_file_write(const char *path, const struct ended_job *list, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	struct replace_file file = { .path = path, .is_private = true };
	FILE *f = open_memstream(&text, &file.size);

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	write_list(f, list);
	if (fclose(f))
		return err_set(err, -ENOMEM, "out of memory");
	file.text = text;
	return replace_file(&file, err);
}

/* False: out of memory. */
static bool add_entry(struct ended_job **list, const struct entry *from)
{
	struct slurm_question begin = { 0 };

	memcpy(&begin, from->begin, BEGIN_SIZE);
	begin.account[sizeof(begin.account) - 1] = '\0';
	begin.partition[sizeof(begin.partition) - 1] = '\0';
	begin.user[sizeof(begin.user) - 1] = '\0';
	ended_remember(list, &begin, from->ngpus, from->ended_ns);
	return *list && (*list)->begin.job == begin.job;
}

/* The oldest comes first, as when they ended. */
static int add_entries(struct ended_job **list, const struct entry *of, size_t n,
		       int64_t now_ns, struct err *err)
{
	int64_t before_ns = 0;

	for (size_t i = n; i-- > 0;) {
		if (of[i].ended_ns < before_ns || of[i].ended_ns > now_ns)
			return err_set(err, -EBADMSG, "entry %zu: its time is wrong", i);
		before_ns = of[i].ended_ns;
		if (!add_entry(list, &of[i]))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int ended_file_read(const char *path, struct ended_job **list, int64_t now_ns, struct err *err)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ struct entry *of = calloc(ENDED_MAX, sizeof(*of));
	struct head head;
	size_t n;
	int r;

	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!of)
		return err_set(err, -ENOMEM, "out of memory");
	if (fread(&head, sizeof(head), 1, f) != 1 ||
	    memcmp(&head, &this_head, sizeof(head)) != 0)
		return err_set(err, -EBADMSG, "%s: not written by this version of the agent",
			       path);
	n = fread(of, sizeof(*of), ENDED_MAX, f);
	if (ferror(f) || fgetc(f) != EOF || (size_t)ftell(f) != sizeof(head) + n * sizeof(*of))
		return err_set(err, -EBADMSG, "%s: not whole", path);
	r = add_entries(list, of, n, now_ns, err);
	if (r < 0)
		ended_free(list);
	return r;
}
