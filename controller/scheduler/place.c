/* place.c - nodes for the parts of a job. See schedule.h.
 *
 * Among the nodes on which a part fits the one with the fewest free cores is taken (then the
 * first), which keeps large holes for large jobs.
 */
#include <errno.h>
#include "controller/scheduler/schedule_impl.h"

bool place_fits(const struct schedule *s, const struct node *n, const struct schedule_chunk *c,
		const struct job *j)
{
	if (c->cores > n->free_cores || c->mem_bytes > n->free_mem ||
	    c->jobfs_bytes > n->free_jobfs || (j->pub.features & ~n->features))
		return false;
	if (c->gpus && (n->gpus < 0 || gpus_left(s, &s->gpus[n->gpus], c->model) < c->gpus))
		return false;
	return true;
}

struct search {
	struct schedule *s;
	const struct placing *p;
	const struct schedule_chunk *c;
	int32_t bucket, node;	 /* none before is good for this chunk; -1: any of the bucket */
	const uint64_t *without; /* bits of nodes that are none; or NULL */
};

static bool is_good(const struct search *f, int32_t i)
{
	const struct node *n = &f->s->nodes[i];
	const struct job *j = f->p->job;

	if (!place_fits(f->s, n, f->c, j))
		return false;
	if (j->pub.is_exclusive && n->n_parts > 0)
		return false;
	if (j->pub.is_scattered && n->stamp == f->s->stamp)
		return false;
	if (n->closed_from_s && f->p->until_s > n->closed_from_s)
		return false;
	return !f->p->kept || keep_allows(f->s, f->p->kept, i, f->c, j);
}

/* The last bucket has nodes with different numbers of free cores. */
static int32_t search_last(const struct search *f)
{
	const struct schedule *s = f->s;
	int32_t best = -1;

	for (int32_t i = bucket_next(s, BUCKETS - 1, -1, f->without); i >= 0;
	     i = bucket_next(s, BUCKETS - 1, i, f->without)) {
		if (best >= 0 && s->nodes[i].free_cores >= s->nodes[best].free_cores)
			continue;
		if (is_good(f, i))
			best = i;
	}
	return best;
}

static void search_from(struct search *f, const struct schedule_chunk *c)
{
	f->c = c;
	f->bucket = bucket_of(c->cores);
	f->node = -1;
	f->without = f->p->kept && c->cores > 0 ? f->p->kept->full : NULL;
}

/* A node on which one part was put has the fewest free cores of all that are still to be looked
 * at; and as parts only take, who was no good is none for the next. */
static int32_t search_node(struct search *f)
{
	if (f->node >= 0 && is_good(f, f->node))
		return f->node;
	for (; f->bucket < f->s->end_bucket; f->bucket++, f->node = -1)
		while ((f->node = bucket_next(f->s, f->bucket, f->node, f->without)) >= 0)
			if (is_good(f, f->node))
				return f->node;
	f->node = search_last(f);
	return f->node;
}

/* Another part on the node of the one before, where all of it is the job's. */
static bool fits_beside(const struct search *f, int32_t last)
{
	const struct job *j = f->p->job;

	return j->pub.is_exclusive && !j->pub.is_scattered && last >= 0 &&
	       place_fits(f->s, &f->s->nodes[last], f->c, j);
}

static void take(const struct search *f, int32_t i, int sign)
{
	struct node *n = &f->s->nodes[i];

	node_hold(f->s, n, f->c, HOLD_ALL, sign);
	n->stamp = f->s->stamp;
	if (f->p->kept)
		keep_take(f->s, i, f->c, sign);
}

/* Gives back the first `n` parts, and the whole of their nodes. */
static void undo(const struct search *f, int32_t n)
{
	struct search back = *f;
	const struct job *j = f->p->job;
	int32_t part = 0;

	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		back.c = &j->pub.chunks[c];
		for (int32_t i = 0; i < j->pub.chunks[c].n && part < n; i++, part++) {
			struct node *node = &f->s->nodes[f->s->parts[part]];

			take(&back, f->s->parts[part], -1);
			if (j->pub.is_exclusive && node->n_parts == 0)
				node->n_whole = 0;
			node_index(f->s, node);
		}
	}
}

/* Cheaper than to try: are there so many cores on nodes that take any? */
static bool may_fit(const struct search *f)
{
	const struct schedule *s = f->s;
	const struct job *j = f->p->job;
	int64_t room = 0, cores = f->c->cores;

	if (cores <= 0 || j->pub.is_exclusive || s->in_bucket[BUCKETS - 1])
		return true;
	for (int32_t b = bucket_of(cores); b < s->end_bucket && room < f->c->n; b++) {
		int64_t n = s->in_bucket[b] - (f->without ? s->kept.n_full[b] : 0);

		room += n * (j->pub.is_scattered ? 1 : b / cores);
	}
	return room >= f->c->n;
}

static bool place_part(struct search *f, int32_t part)
{
	int32_t *parts = f->s->parts;
	int32_t i =
		part > 0 && fits_beside(f, parts[part - 1]) ? parts[part - 1] : search_node(f);
	struct node *n;

	if (i < 0)
		return false;
	n = &f->s->nodes[i];
	if (f->p->job->pub.is_exclusive && n->n_parts == 0)
		n->n_whole = 1;
	take(f, i, 1);
	node_index(f->s, n);
	parts[part] = i;
	return true;
}

bool place_job(struct schedule *s, const struct placing *p)
{
	struct search f = { .s = s, .p = p };
	const struct job *j = p->job;
	int32_t part = 0;

	s->stamp++;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		search_from(&f, &j->pub.chunks[c]);
		for (int32_t i = 0; i < f.c->n; i++, part++) {
			if ((i == 0 && !may_fit(&f)) || !place_part(&f, part)) {
				s->lacking = c;
				undo(&f, part);
				return false;
			}
		}
	}
	return true;
}

static int64_t times(int64_t has, int64_t want)
{
	if (want <= 0)
		return INT32_MAX;
	if (has < want)
		return 0;
	return has - want < want ? 1 : has / want; /* a division takes its time */
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t place_count(const struct schedule *s, const struct node *n, const struct job *j,
		    const struct schedule_chunk *c)
{
	int64_t k;

	if (!place_fits(s, n, c, j) || n->n_whole > 0 ||
	    (j->pub.is_exclusive && n->n_parts > 0))
		return 0;
	if (j->pub.is_scattered)
		return 1;
	k = least(times(n->free_cores, c->cores), times(n->free_mem, c->mem_bytes));
	k = least(k, times(n->free_jobfs, c->jobfs_bytes));
	if (c->gpus)
		k = least(k, times(gpus_left(s, &s->gpus[n->gpus], c->model), c->gpus));
	return k;
}

/* Necessary, and for jobs of equal chunks sufficient. */
bool place_is_possible(const struct schedule *s, const struct job *j)
{
	struct node empty;
	struct gpu_state none;

	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		int64_t n = 0;

		for (size_t i = 0; i < s->n_nodes && n < j->pub.chunks[c].n; i++) {
			struct schedule one = { .config = s->config, .gpus = &none };

			empty = s->nodes[i];
			empty.free_cores = empty.cores;
			empty.free_mem = empty.mem_bytes;
			empty.free_jobfs = empty.jobfs_bytes;
			empty.n_parts = empty.n_whole = 0;
			if (empty.gpus >= 0) {
				none = s->gpus[empty.gpus];
				for (int m = 0; m < MODELS; m++)
					none.held[m] = 0;
				empty.gpus = 0;
			}
			n += place_count(&one, &empty, j, &j->pub.chunks[c]);
		}
		if (n < j->pub.chunks[c].n)
			return false;
	}
	return true;
}
