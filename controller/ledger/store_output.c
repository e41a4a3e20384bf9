/* store_output.c - what streamed jobs print, kept in bounds. See store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"

#define READ_MAX (256 << 10)

static const char cut_line[] =
	"\n[reeve: the output is cut here; write large output to a file]\n";

struct stream {
	int64_t seen, kept;
};

static int load_stream(struct store *s, const struct sync_output *o, struct stream *ret,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT seen, kept FROM streams"
			 " WHERE job = ?1 AND attempt = ?2 AND stream = ?3",
			 "iii", o->job, (int64_t)o->attempt, (int64_t)o->stream);

	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r <= 0)
		return r;
	ret->seen = db_int(st, 0);
	ret->kept = db_int(st, 1);
	db_done(st);
	return 0;
}

static int is_given(struct store *s, const char *node, const struct sync_output *o,
		    struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT 1 FROM attempts WHERE job = ?1 AND attempt = ?2 AND node = ?3",
			 "iit", o->job, (int64_t)o->attempt, node);

	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r > 0)
		db_done(st);
	return r;
}

struct piece {
	const char *data;
	size_t size;
	int64_t offset;
};

static int keep(struct store *s, const struct sync_output *o, struct piece p, struct err *err)
{
	if (p.size == 0)
		return 0;
	return db_run(s->db, err,
		      "INSERT INTO chunks(job, attempt, stream, offset, size, data)"
		      " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		      "iiiiib", o->job, (int64_t)o->attempt, (int64_t)o->stream, p.offset,
		      (int64_t)p.size, p.data, p.size);
}

/* Keeps what fits; where the bound is crossed, says so once. */
static int keep_bounded(struct store *s, const struct sync_output *o, struct stream *t,
			struct piece p, struct err *err)
{
	int64_t room = STORE_OUTPUT_MAX - t->kept;
	int r;

	if (room <= 0)
		return 0;
	if ((int64_t)p.size <= room) {
		t->kept += (int64_t)p.size;
		return keep(s, o, p, err);
	}
	p.size = (size_t)room;
	r = keep(s, o, p, err);
	if (r < 0)
		return r;
	p = (struct piece){ cut_line, sizeof(cut_line) - 1, p.offset + room };
	t->kept += room + (int64_t)p.size;
	return keep(s, o, p, err);
}

int store_output_add(struct store *s, const char *node, const struct sync_output *o,
		     int64_t *ret_have, struct err *err)
{
	struct stream t = { 0 };
	int64_t known;
	int r = is_given(s, node, o, err);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = load_stream(s, o, &t, err);
	if (r < 0)
		return r;
	*ret_have = t.seen;
	known = t.seen - o->offset;
	/* A gap: the node sends again from where we are. Old news: nothing to do. */
	if (known < 0 || known >= (int64_t)o->size)
		return 0;
	r = keep_bounded(s, o, &t,
			 (struct piece){ (const char *)o->data + known, o->size - (size_t)known,
					 t.kept },
			 err);
	if (r < 0)
		return r;
	t.seen = o->offset + (int64_t)o->size;
	r = db_run(s->db, err,
		   "INSERT INTO streams VALUES(?1, ?2, ?3, ?4, ?5)"
		   " ON CONFLICT(job, attempt, stream) DO UPDATE SET"
		   " seen = excluded.seen, kept = excluded.kept",
		   "iiiii", o->job, (int64_t)o->attempt, (int64_t)o->stream, t.seen, t.kept);
	if (r < 0)
		return r;
	*ret_have = t.seen;
	return 0;
}

struct text {
	char *data;
	size_t size;
};

static int append(struct text *t, const char *data, size_t size, struct err *err)
{
	char *p = realloc(t->data, t->size + size);

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(p + t->size, data, size);
	t->data = p;
	t->size += size;
	return 0;
}

static int read_chunks(struct store *s, struct store_read what, struct text *t, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT c.offset, c.data FROM jobs j JOIN chunks c"
			 " ON c.job = j.job AND c.attempt = j.attempt"
			 " WHERE j.job = ?1 AND c.stream = ?2 AND c.offset >= COALESCE(("
			 "  SELECT MAX(offset) FROM chunks d WHERE d.job = j.job AND"
			 "  d.attempt = j.attempt AND d.stream = ?2 AND d.offset <= ?3), 0)"
			 " ORDER BY c.offset",
			 "iii", what.job, (int64_t)what.stream, what.offset);

	if (r < 0)
		return r;
	while (t->size < READ_MAX && (r = db_step(s->db, st, err)) > 0) {
		int64_t skip = what.offset + (int64_t)t->size - db_int(st, 0);
		size_t stored;
		const char *data = db_blob(st, 1, &stored);
		int64_t size = (int64_t)stored;

		if (skip < 0 || skip >= size)
			continue;
		r = append(t, data + skip, (size_t)(size - skip), err);
		if (r < 0)
			break;
	}
	db_done(st);
	return r < 0 ? r : 0;
}

/* Has the job ended, and is `offset` behind all that was kept? */
static int is_at_end(struct store *s, struct store_read what, int64_t offset, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT j.state = 5 AND ?3 >= COALESCE((SELECT kept FROM streams t"
			 " WHERE t.job = j.job AND t.attempt = j.attempt AND t.stream = ?2), 0)"
			 " FROM jobs j WHERE j.job = ?1",
			 "iii", what.job, (int64_t)what.stream, offset);

	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r <= 0)
		return r;
	r = (int)db_int(st, 0);
	db_done(st);
	return r;
}

int store_output(struct store *s, struct store_read what, struct store_text *ret,
		 struct err *err)
{
	struct text t = { 0 };
	int r = read_chunks(s, what, &t, err);

	if (r >= 0)
		r = is_at_end(s, what, what.offset + (int64_t)t.size, err);
	if (r < 0) {
		free(t.data);
		return r;
	}
	*ret = (struct store_text){ t.data, t.size, r > 0 };
	return 0;
}
