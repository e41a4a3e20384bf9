/* schedule_impl - the world of a schedule, for its own files. See schedule.h. */
#pragma once
#include "controller/scheduler/schedule.h"

#define MODELS (SCHEDULE_MODELS_MAX + 1)
#define BUCKETS 512 /* of nodes by free cores; the last: so many or more */
#define WORD_BITS 64

struct node {
	int64_t cores, mem_bytes, jobfs_bytes;
	int64_t free_cores, free_mem, free_jobfs; /* below 0: more is held than there is */
	int64_t closed_from_s;
	uint64_t features;
	int32_t n_parts; /* chunks here */
	int32_t n_whole; /* jobs that hold all of it */
	int32_t gpus;	 /* index; -1: none */
	int32_t bucket;	 /* -1: takes no jobs */
	uint32_t stamp;
	bool is_open;
};

/* Held by model; model 0: any whole ones. */
struct gpu_state {
	int32_t has[MODELS], held[MODELS];
};

struct job {
	struct schedule_job pub; /* its chunks are owned, or `one` */
	struct schedule_chunk one;
	enum schedule_state state;
	bool is_used; /* this slot */
	bool is_held_back;
	uint32_t limited_in; /* the pass in which may_start() said no; 0: none */
	bool is_new;	     /* PREEMPT: started in this very pass */
	int32_t n_parts;     /* sum of the chunks' n */
	int32_t *nodes;	     /* of each part; or &one_node */
	int32_t one_node;
	int32_t next_free;
	int64_t cores;	    /* all */
	int64_t most_cores; /* of one chunk */
	int64_t since_s;    /* in its state */
	int64_t end_s;	    /* while it runs: at the latest, by its limit */
};

#define BLOCK 1024

/* A queued job as a pass looks at it: jobs themselves are far apart in memory. */
#define ENTRY_GONE (-1)
struct entry {
	int32_t job, most_cores; /* of one chunk; ENTRY_GONE: removed in an edit */
	int32_t user, group, queue;
	int64_t cores;
};

/* What could not be placed: nor can what asks for as much or more for as long or longer. */
struct shape {
	struct schedule_chunk chunk;
	uint64_t features;
	int64_t limit_s;
	bool is_exclusive, is_scattered;
};
#define SHAPES 8

/* What is left on a node beside the part of the job whose place is kept. */
struct extra {
	int64_t cores, mem_bytes, jobfs_bytes;
	struct gpu_state gpus;
	int32_t node;
	int32_t n_last; /* parts of the last chunk, while it is measured */
	bool is_whole;	/* nothing is */
};

struct kept {
	int32_t job; /* -1: none */
	int64_t at_s;
	/* What is below is this job's still, though it may not be in force (-1: nobody's). */
	int32_t known;
	int64_t known_s;
	int64_t least_cores;	  /* of one of its chunks */
	int64_t lack, lack_cores; /* so many parts of so many cores had no room before */
	struct extra *extras;
	size_t n_extras, max_extras;
	int32_t *of_node; /* index of extras; -1: none */
	size_t n_nodes;
	uint64_t *full; /* bits of the nodes that have no core beside it */
	int32_t n_full[BUCKETS];
	struct put {
		int32_t node, chunk, n;
	} * puts; /* parts held while a place is sought */
	size_t n_puts, max_puts;
};

struct schedule {
	struct schedule_config config;
	struct node *nodes;
	size_t n_nodes, max_nodes;
	struct gpu_state *gpus;
	size_t n_gpus, max_gpus;
	uint64_t *bits; /* BUCKETS x words */
	size_t words;
	int32_t in_bucket[BUCKETS];
	int32_t end_bucket; /* from there to the last there is nothing */
	bool has_closings;
	uint32_t stamp;

	struct job **blocks;
	size_t n_blocks;
	int32_t free_slot; /* -1: none */
	size_t n_jobs;

	struct entry *queued; /* in order */
	size_t n_queued, max_queued;
	bool is_unsorted;
	/* During an edit: behind n_sorted are the new ones, and running has no order. */
	bool is_edited, is_running_unsorted;
	size_t n_sorted, n_gone;
	int32_t *running; /* by end_s, then number */
	size_t n_running, max_running;
	int32_t *suspended; /* in no order */
	size_t n_suspended, max_suspended;

	struct kept kept;
	struct shape shapes[SHAPES];
	size_t n_shapes, next_shape;
	int32_t lacking; /* the chunk that was not placed, of the last job that was not */

	struct schedule_action *actions;
	size_t n_actions, max_actions;
	int32_t *withdrawn;
	size_t n_withdrawn, max_withdrawn;
	uint32_t n_passes; /* so far; never 0 in a pass */
	int32_t *parts;	   /* a placement in the making */
	size_t max_parts;
	struct preempt *preempt;
};

static inline struct job *job_at(const struct schedule *s, int32_t i)
{
	return &s->blocks[i / BLOCK][i % BLOCK];
}

/* Has it no core beside the place that is kept? */
static inline bool keep_is_full(const struct schedule *s, size_t node)
{
	return node < s->kept.n_nodes && s->kept.full[node / WORD_BITS] >> node % WORD_BITS & 1;
}

/* The place that was found is to be sought anew: anything may have changed. */
static inline void keep_forget(struct schedule *s)
{
	s->kept.known = -1;
}

/* Has may_start() said no to it in the last pass? */
static inline bool job_is_limited(const struct schedule *s, const struct job *j)
{
	return j->limited_in && j->limited_in == s->n_passes;
}

/* *p has room for n elements of a size; -ENOMEM. */
int schedule_room(void *p, size_t *max, size_t n, size_t size);

/* --- the list of those that wait (schedule.c, edit.c) --- */
/* Where a job stands, or would, in the sorted part of the list. */
size_t schedule_find_queued(const struct schedule *s, int32_t job);
int schedule_compare_queued(const struct schedule *s, int32_t x, int32_t y);
void schedule_sort(struct schedule *s);
void schedule_give_slot(struct schedule *s, int32_t job);

/* --- nodes (nodes.c) --- */
static inline int32_t bucket_of(int64_t cores)
{
	if (cores < 0)
		return 0;
	return cores < BUCKETS ? (int32_t)cores : BUCKETS - 1;
}

/* The node after node i (-1: the first) of a bucket, of those that are not in `without` (bits;
 * or NULL); -1: no more. */
static inline int32_t bucket_next(const struct schedule *s, int32_t bucket, int32_t i,
				  const uint64_t *without)
{
	const uint64_t *bits = &s->bits[(size_t)bucket * s->words];
	size_t at = (size_t)(i + 1), w = at / WORD_BITS;
	uint64_t left;

	if (!s->in_bucket[bucket] || w >= s->words)
		return -1;
	left = bits[w] & ~(without ? without[w] : 0) & ~UINT64_C(0) << at % WORD_BITS;
	while (!left && ++w < s->words)
		left = bits[w] & ~(without ? without[w] : 0);
	return left ? (int32_t)(w * WORD_BITS) + __builtin_ctzll(left) : -1;
}

/* Puts it into the bucket where it belongs by what is free. */
void node_index(struct schedule *s, struct node *n);
enum hold { HOLD_CORES = 1, HOLD_REST = 2, HOLD_ALL = 3 };
/* One part of a job: taken (sign 1) or given back (-1). */
void node_count(struct gpu_state *gpus, struct node *n, const struct schedule_chunk *c,
		enum hold what, int sign);
/* The same, with the index. */
void node_hold(struct schedule *s, struct node *n, const struct schedule_chunk *c,
	       enum hold what, int sign);
/* All parts of a job that has its nodes; exclusive ones also take the whole of each. */
void job_hold(struct schedule *s, const struct job *j, enum hold what, int sign);
/* GPUs of a model that can still be given; model 0: any whole ones. */
int32_t gpus_left(const struct schedule *s, const struct gpu_state *g, int32_t model);

/* --- placing (place.c) --- */
struct placing {
	const struct job *job;
	int64_t until_s; /* by its limit */
	/* The parts must leave alone what is kept: NULL when nothing is, or when the job is
	 * over by then. */
	struct kept *kept;
};
/* Finds a node for each part and holds them; nodes in s->parts. False: it does not fit, and
 * nothing is held. */
bool place_job(struct schedule *s, const struct placing *p);
/* Does one chunk fit on this node now? */
bool place_fits(const struct schedule *s, const struct node *n, const struct schedule_chunk *c,
		const struct job *j);
/* Would it on the empty cluster? */
bool place_is_possible(const struct schedule *s, const struct job *j);
/* How many of a chunk fit on a node. */
int64_t place_count(const struct schedule *s, const struct node *n, const struct job *j,
		    const struct schedule_chunk *c);

/* --- what is known not to fit (shapes.c) --- */
bool shape_is_hopeless(const struct schedule *s, const struct job *j, int64_t limit_s);
/* The last one that place_job() did not place. */
void shape_failed(struct schedule *s, const struct job *j, int64_t limit_s);

/* Is it neither held back nor limited? */
bool job_may_start(struct schedule *s, struct job *j);

/* --- moves (moves.c): state, lists and actions --- */
/* The parts that place_job() found and holds become the job's. */
int move_start(struct schedule *s, int32_t job, int64_t now_s);
int move_suspend(struct schedule *s, int32_t job, int32_t by, int64_t now_s);
int move_resume(struct schedule *s, int32_t job, int64_t now_s);
/* Takes a start of this very pass back: it is queued as if nothing had been. */
int move_withdraw(struct schedule *s, int32_t job, int64_t now_s);
int move_list_running(struct schedule *s, int32_t job);
void move_unlist_running(struct schedule *s, int32_t job);
int move_list_suspended(struct schedule *s, int32_t job);
void move_unlist_suspended(struct schedule *s, int32_t job);

/* --- keeping a place (keep.c; what is left beside it: kept.c) --- */
/* When does it fit if all that runs runs to its limit, and where. SCHEDULE_FOREVER: never. */
int keep_place(struct schedule *s, int32_t job, int64_t now_s);
void keep_nothing(struct schedule *s);
/* A place that was found is good as long as seeking it anew would find the same. Told of what
 * changes: */
void keep_started(struct schedule *s, int32_t job);
void keep_ends(struct schedule *s, int32_t job);
void keep_clear(struct schedule *s); /* nothing is kept, and no place known */
/* Would a part on that node disturb what is kept? */
bool keep_allows(const struct schedule *s, const struct kept *k, int32_t node,
		 const struct schedule_chunk *c, const struct job *j);
void keep_take(struct schedule *s, int32_t node, const struct schedule_chunk *c, int sign);
/* Notes whether a node has a core beside what is kept. */
void keep_note_full(struct schedule *s, int32_t node, bool is_full);

/* --- the rules --- */
int backfill_pass(struct schedule *s, int64_t now_s);
int preempt_pass(struct schedule *s, int64_t now_s);
struct preempt *preempt_free(struct preempt *p);
