/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - stores what streamed jobs and steps print, up to a limit for each stream, for all steps of
 * an attempt and for each user, and reads it. Output is kept in chunks with their offsets. See
 * store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

#define READ_MAX (256 << 10)

static const char cut_line[] =
	"\n[reeve: the output is cut here; write large output to a file]\n";

struct stream {
	int64_t number; /* in the tables */
	int64_t seen;	/* bytes that the node sent, kept or dropped */
	int64_t kept;	/* bytes that are stored */
	bool is_cut;	/* beyond the limit: what is stored ends with cut_line */
};

/* In the tables a job's own streams are 0 and 1, those of its step N are 2 N and 2 N + 1. */
static int64_t stream_number(int64_t step, enum sync_stream stream)
{
	return 2 * step + stream;
}
#define ALL_STEPS (-1) /* the sum of what is kept of them */
_Static_assert(SYNC_OUT == 0 && SYNC_ERR == 1, "streams are on disk as numbers");

enum stream_column { STREAM_SEEN, STREAM_KEPT, STREAM_IS_CUT };

/* A stream without a row stays as *ret is, with zeros. */
static int load_stream(struct store *s, const struct sync_output *o, struct stream *ret,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT seen, kept, is_cut FROM streams"
			       " WHERE job = ?1 AND attempt = ?2 AND stream = ?3",
			       "iii", o->job, (int64_t)o->attempt, ret->number);

	if (r <= 0)
		return r;
	ret->seen = db_int(st, STREAM_SEEN);
	ret->kept = db_int(st, STREAM_KEPT);
	ret->is_cut = db_int(st, STREAM_IS_CUT) != 0;
	db_done(st);
	return 0;
}

static int save_stream(struct store *s, const struct sync_output *o, const struct stream *t,
		       struct err *err)
{
	return db_run(s->db, err,
		      "INSERT INTO streams VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
		      " ON CONFLICT(job, attempt, stream) DO UPDATE SET"
		      " seen = excluded.seen, kept = excluded.kept, is_cut = excluded.is_cut",
		      "iiiiii", o->job, (int64_t)o->attempt, t->number, t->seen, t->kept,
		      (int64_t)t->is_cut);
}

/* 1: the attempt, or the step, was allocated to the node. */
static int is_given(struct store *s, const char *node, const struct sync_output *o,
		    struct err *err)
{
	if (o->step)
		return db_has_row(
			s->db, err,
			"SELECT 1 FROM steps"
			" WHERE job = ?1 AND attempt = ?2 AND node = ?3 AND step = ?4",
			"iiti", o->job, (int64_t)o->attempt, node, o->step);
	return db_has_row(s->db, err,
			  "SELECT 1 FROM attempts"
			  " WHERE job = ?1 AND attempt = ?2 AND node = ?3",
			  "iit", o->job, (int64_t)o->attempt, node);
}

struct piece {
	const char *data;
	size_t size;
	int64_t offset;
	int64_t room; /* bytes of it that the limits allow */
};

static int keep_piece(struct store *s, const struct sync_output *o, struct piece p,
		      struct err *err)
{
	int r;

	if (p.size == 0)
		return 0;
	r = db_run(s->db, err,
		   "INSERT INTO chunks(job, attempt, stream, offset, size, data)"
		   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		   "iiiiib", o->job, (int64_t)o->attempt, stream_number(o->step, o->stream),
		   p.offset, (int64_t)p.size, p.data, p.size);
	return r < 0 ? r : store_stored_add(s, o->job, (int64_t)p.size, err);
}

/* Stores as much as there is room for; where the room ends, adds cut_line once. */
static int keep_bounded(struct store *s, const struct sync_output *o, struct stream *t,
			struct piece p, struct err *err)
{
	int r;

	if (t->is_cut)
		return 0;
	if ((int64_t)p.size <= p.room) {
		t->kept += (int64_t)p.size;
		return keep_piece(s, o, p, err);
	}
	p.size = p.room > 0 ? (size_t)p.room : 0;
	r = keep_piece(s, o, p, err);
	if (r < 0)
		return r;
	p = (struct piece){ cut_line, sizeof(cut_line) - 1, p.offset + (int64_t)p.size, 0 };
	t->kept = p.offset + (int64_t)p.size;
	t->is_cut = true;
	return keep_piece(s, o, p, err);
}

/* The output of a step also counts against the limit of all steps. */
static int keep_counted(struct store *s, const struct sync_output *o, struct stream *t,
			struct piece p, struct err *err)
{
	struct stream all = { .number = ALL_STEPS };
	int64_t before = t->kept;
	int r = store_stored_room(s, o->job, &p.room, err);

	if (r < 0)
		return r;
	if (STORE_OUTPUT_MAX - t->kept < p.room)
		p.room = STORE_OUTPUT_MAX - t->kept;
	if (!o->step)
		return keep_bounded(s, o, t, p, err);
	r = load_stream(s, o, &all, err);
	if (STORE_STEPS_OUTPUT_MAX - all.kept < p.room)
		p.room = STORE_STEPS_OUTPUT_MAX - all.kept;
	if (r >= 0)
		r = keep_bounded(s, o, t, p, err);
	all.kept += t->kept - before;
	return r < 0 ? r : save_stream(s, o, &all, err);
}

int store_output_add(struct store *s, const char *node, const struct sync_output *o,
		     int64_t *ret_have, struct err *err)
{
	struct stream t = { .number = stream_number(o->step, o->stream) };
	int64_t known;
	int r = is_given(s, node, o, err);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = load_stream(s, o, &t, err);
	if (r < 0)
		return r;
	*ret_have = t.seen;
	known = t.seen - o->offset;
	/* Below 0: a gap, and the node sends again from `seen` on. All of it known: nothing to do. */
	if (known < 0 || known >= (int64_t)o->size)
		return 0;
	r = keep_counted(s, o, &t,
			 (struct piece){ (const char *)o->data + known, o->size - (size_t)known,
					 t.kept, 0 },
			 err);
	if (r < 0)
		return r;
	t.seen = o->offset + (int64_t)o->size;
	r = save_stream(s, o, &t, err);
	if (r < 0)
		return r;
	*ret_have = t.seen;
	return 0;
}

struct text {
	char *data;
	size_t size;
};

static int append_text(struct text *t, const char *data, size_t size, struct err *err)
{
	char *p = realloc(t->data, t->size + size);

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(p + t->size, data, size);
	t->data = p;
	t->size += size;
	return 0;
}

/* The stream that is read: of the job's present attempt, or of the step's. */
struct source {
	int64_t job, attempt, stream;
	bool has_ended;
};

enum source_column { SOURCE_ATTEMPT, SOURCE_HAS_ENDED };

/* 0: there is no such job, or step. */
static int load_source(struct store *s, struct store_read what, struct source *ret,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT j.attempt, j.state = " SQL_JOB_ENDED " FROM jobs j"
			       " WHERE j.job = ?1 AND ?2 = 0"
			       " UNION ALL SELECT t.attempt, t.state = " SQL_STORE_STEP_ENDED
			       " FROM steps t"
			       " WHERE t.job = ?1 AND t.step = ?2",
			       "ii", what.job, what.step);

	if (r <= 0)
		return r;
	*ret = (struct source){ what.job, db_int(st, SOURCE_ATTEMPT),
				stream_number(what.step, what.stream),
				db_int(st, SOURCE_HAS_ENDED) != 0 };
	db_done(st);
	return 1;
}

enum chunk_column { CHUNK_OFFSET, CHUNK_DATA };

/* Begins with the chunk that contains `offset`; stops behind the chunk with which READ_MAX bytes are
 * read. */
static int read_chunks(struct store *s, const struct source *from, int64_t offset,
		       struct text *t, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT c.offset, c.data FROM chunks c"
			 " WHERE c.job = ?1 AND c.attempt = ?2 AND c.stream = ?3"
			 " AND c.offset >= COALESCE(("
			 "  SELECT MAX(offset) FROM chunks d WHERE d.job = ?1 AND"
			 "  d.attempt = ?2 AND d.stream = ?3 AND d.offset <= ?4), 0)"
			 " ORDER BY c.offset",
			 "iiii", from->job, from->attempt, from->stream, offset);

	if (r < 0)
		return r;
	while (t->size < READ_MAX && (r = db_step(s->db, st, err)) > 0) {
		int64_t skip = offset + (int64_t)t->size - db_int(st, CHUNK_OFFSET);
		size_t stored;
		const char *data = db_blob(st, CHUNK_DATA, &stored);
		int64_t size = (int64_t)stored;

		if (skip < 0 || skip >= size)
			continue;
		r = append_text(t, data + skip, (size_t)(size - skip), err);
		if (r < 0)
			break;
	}
	db_done(st);
	return r < 0 ? r : 0;
}

/* How many bytes of the stream are stored; 0: it has none. */
static int load_kept(struct store *s, const struct source *from, int64_t *ret, struct err *err)
{
	*ret = 0;
	return db_query_int(s->db, err, ret,
			    "SELECT kept FROM streams"
			    " WHERE job = ?1 AND attempt = ?2 AND stream = ?3",
			    "iii", from->job, from->attempt, from->stream);
}

int store_output(struct store *s, struct store_read what, struct store_text *ret,
		 struct err *err)
{
	struct source from;
	struct text t = { 0 };
	int64_t kept = 0;
	int r = load_source(s, what, &from, err);

	if (r == 0)
		return err_set(err, -ENOENT, "no output of job %lld", (long long)what.job);
	if (r > 0)
		r = read_chunks(s, &from, what.offset, &t, err);
	if (r >= 0)
		r = load_kept(s, &from, &kept, err);
	if (r < 0) {
		free(t.data);
		return r;
	}
	*ret = (struct store_text){ t.data, t.size,
				    from.has_ended && what.offset + (int64_t)t.size >= kept };
	return 0;
}
