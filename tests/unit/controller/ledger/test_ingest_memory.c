/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ingest_memory - one exchange of a node whose job has ended, with every allocation failing, one alone or all from there on, in the
 * reader of the document, in the ledger and in SQLite: it is refused or ends the controller, and has changed nothing, or it counts whole; sent
 * again it counts once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/sync.h"
#include "common/wire/wire.h"
#include "tests/unit/rig/faults/fail_alloc.h"
#include "tests/unit/rig/ledger_rig.h"

enum { ENDED, RUNS, _JOBS };

struct world {
	struct rig *rig;
	int64_t job[_JOBS];
	char *text;	/* the exchange, as the node sends it */
	char *old_text; /* what it has said before */
};

/* What an exchange can change, as one number. */
static const char figures[] =
	"SELECT (SELECT SUM(charge_requested_ms + 3 * running_ns + 1000003 * seq) FROM attempts)"
	" + 11 * (SELECT COUNT(*) FROM jobs WHERE state = 5) + 101 * (SELECT COUNT(*) FROM events)"
	" + 7 * (SELECT COALESCE(SUM(charge_requested_ms), 0) FROM rollups)";

static char *make_text(struct report *reports, size_t n_reports, struct sync_job *jobs,
		       size_t n_jobs)
{
	struct sync s = {
		.capacity = { .ncpus = 8, .mem_bytes = 64LL << 30, .jobfs_bytes = 64LL << 30 },
		.jobs = jobs,
		.n_jobs = n_jobs,
		.reports = reports,
		.n_reports = n_reports
	};
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };
	char *text;

	strcpy(s.node, "n1");
	strcpy(s.boot, "b1");
	strcpy(s.version, "t");
	if (sync_encode(&s, &doc, &err) < 0)
		fail_msg("%s", err.text);
	text = wire_format(doc);
	assert_non_null(text);
	return text;
}

static void make_texts(struct world *w)
{
	struct report old = rig_report(w->job[RUNS], 2, JOB_RUNNING, 60),
		      reports[] = { rig_report(w->job[ENDED], 3, JOB_ENDED, 600),
				    rig_report(w->job[RUNS], 3, JOB_RUNNING, 700) };
	struct sync_job listed[] = { { w->job[RUNS], 1, JOB_RUNNING },
				     { w->job[ENDED], 1, JOB_RUNNING } };

	w->text = make_text(reports, 2, listed, 1);
	w->old_text = make_text(&old, 1, listed, 2);
}

/* Two jobs that run on n1, and the exchange that is about to come. */
static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	void *rig;

	assert_int_equal(rig_open(&rig), 0);
	w->rig = rig;
	for (int i = 0; i < _JOBS; i++) {
		w->job[i] = rig_job(w->rig, NOON);
		rig_send_report(w->rig, rig_report(w->job[i], 2, JOB_RUNNING, 60),
				NOON + 60 * S_NS);
	}
	make_texts(w);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	void *rig = w->rig;

	rig_close(&rig);
	free(w->text);
	free(w->old_text);
	free(w);
	return 0;
}

static int ingest_text(struct world *w, const char *text, struct sync_result *ret,
		       struct err *err)
{
	const struct sync_from from = { .cluster = "main",
					.address = "10.0.0.1",
					.now_ns = NOON + 800 * S_NS,
					.lost_ns = 120 * S_NS };
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_(sync_freep) struct sync *s = NULL;
	int r = wire_parse(text, strlen(text), &doc, err);

	if (r >= 0)
		r = sync_decode(doc, &s, err);
	return r < 0 ? r : store_ingest(w->rig->store, s, &from, ret, err);
}

static bool has_both_acks(const struct world *w, const struct sync_result *result)
{
	return result->n_acks == 2 && result->acks[0].job == w->job[ENDED] &&
	       result->acks[1].job == w->job[RUNS] && result->n_refusals == 0;
}

typedef void (*fail_fn)(long n);
struct how {
	fail_fn fail_at;
	bool is_warm;
	long step;
	volatile long *counts; /* exchanges that were not refused, and that were */
};
/* How a controller ended that had the exchange: 1 is that of one that got no memory to read a document (common/wire/json/load.h). */
enum {
	IS_ENDED = EXIT_FAILURE,
	IS_COUNTED = 20,
	IS_COUNTED_ALL_THE_SAME,
	IS_REFUSED,
	IS_WRONG
};

/* The ledger is fit for use after it refused something. */
static int send_old_text(struct world *w, struct err *err)
{
	struct sync_result result = { 0 };
	int r = ingest_text(w, w->old_text, &result, err);

	if (r >= 0)
		sync_result_done(&result);
	return r;
}

static int send_text(struct world *w, fail_fn fail_at, long n)
{
	struct sync_result result = { 0 };
	struct err err = { "" };
	bool has_failed;
	int r;

	fail_at(n);
	r = ingest_text(w, w->text, &result, &err);
	has_failed = fail_alloc_end();
	if (r >= 0 && has_both_acks(w, &result))
		return has_failed ? IS_COUNTED_ALL_THE_SAME : IS_COUNTED;
	if (r < 0 && has_failed && *err.text && send_old_text(w, &err) >= 0)
		return IS_REFUSED;
	fprintf(stderr, "allocation %ld: %d, %zu acknowledgements, %zu refusals, \"%s\"\n", n,
		r, result.n_acks, result.n_refusals, err.text);
	return IS_WRONG;
}

/* In a process of its own, as the controller is: *n, which both see, is where it ends. Its statements are prepared each time again, where
 * those of `is_warm` are kept. */
static int be_controller(struct world *w, const struct how *how, volatile long *n)
{
	int64_t before = rig_number(w->rig, figures);
	int r = IS_REFUSED;

	rig_reopen(w->rig);
	for (; r == IS_REFUSED; *n += how->step) {
		if (!how->is_warm)
			rig_reopen(w->rig);
		r = send_text(w, how->fail_at, *n);
		if (r == IS_REFUSED && rig_number(w->rig, figures) != before)
			r = IS_WRONG;
		how->counts[r == IS_REFUSED]++;
	}
	return r;
}

static int run_controller(struct world *w, const struct how *how, volatile long *n)
{
	int status;
	pid_t pid;

	w->rig->store = store_close(w->rig->store);
	pid = fork();
	if (pid == 0)
		_exit(be_controller(w, how, n));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("allocation %ld: signal %d", *n, WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void check_counted_once(struct world *w)
{
	struct rig_job ended = rig_load_job(w->rig, w->job[ENDED]),
		       runs = rig_load_job(w->rig, w->job[RUNS]);

	assert_int_equal(ended.state, JOB_ENDED);
	assert_int_equal(ended.end, END_EXITED);
	assert_int_equal(ended.running_ns, 600 * S_NS);
	assert_int_equal(ended.charge_requested_ms, 600 * 2500); /* 2.5 of 1 core / 4 GB */
	assert_int_equal(runs.state, JOB_RUNNING);
	assert_int_equal(runs.running_ns, 700 * S_NS);
	assert_int_equal(runs.charge_requested_ms, 700 * 2500);
}

/* The exchange counts where the failure was harmless: then it is sent again, and the next failure has a ledger of its own. */
static int fail_until_counted(const struct how *how, volatile long *n)
{
	const struct how none = { fail_alloc_after, true, 1, how->counts };
	volatile long never = 1 << 30;
	struct world *w;
	void *state;
	int64_t before;
	int r;

	open_world(&state);
	w = state;
	before = rig_number(w->rig, figures);
	while ((r = run_controller(w, how, n)) == IS_ENDED) {
		assert_true(rig_number(w->rig, figures) == before);
		*n += how->step;
	}
	assert_true(r == IS_COUNTED || r == IS_COUNTED_ALL_THE_SAME);
	assert_false(rig_number(w->rig, figures) == before);
	assert_int_equal(run_controller(w, &none, &never), IS_COUNTED); /* sent again */
	rig_reopen(w->rig);
	check_counted_once(w);
	close_world(&state);
	return r;
}

/* Every allocation with REEVE_EACH=1, which takes a minute or two. */
static void fail_each(fail_fn fail_at, bool is_warm)
{
	volatile long *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct how how = { fail_at, is_warm, getenv("REEVE_EACH") ? 1 : 13, shared + 1 };

	assert_true(shared != MAP_FAILED);
	while (fail_until_counted(&how, shared) != IS_COUNTED)
		;
	assert_true(how.counts[1] > 20);
	munmap((void *)(uintptr_t)shared, 4096);
}

static void one_allocation_that_fails_loses_and_doubles_nothing(void **state)
{
	(void)state;
	if (!rig_is_sqlite())
		skip();
	fail_each(fail_alloc_after, false);
}

static void nor_do_all_that_fail_from_there_on(void **state)
{
	(void)state;
	if (!rig_is_sqlite())
		skip();
	fail_each(fail_alloc_from, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_allocation_that_fails_loses_and_doubles_nothing),
		cmocka_unit_test(nor_do_all_that_fail_from_there_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
