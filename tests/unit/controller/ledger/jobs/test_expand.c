/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_expand - how many tasks of arrays get their rows in one transaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

/* NULL: a job that is no array. */
static void submit_tasks(struct rig *r, const char *array)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = NOON };
	struct err err = { "" };
	int64_t job;

	rig_request_init(&q);
	q.res = (struct resources){ .ncpus = 1, .vmem_bytes = 1000, .walltime_s = 60 };
	q.workdir = strdup("/");
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		new.terms.bundle.side[s] = (struct fraction){ s != CHARGE_GPUS, 1 };
	if (array)
		assert_int_equal(array_parse(array, &q.array, NULL), 0);
	if (rig_submit_one(r->store, &new, &job, &err) < 0)
		fail_msg("%s", err.text);
}

/* Thousands of tasks that run let thousands get their rows: not in one transaction. */
static void one_call_expands_a_bounded_number_of_tasks(void **state)
{
	const struct store_resolve how = { NOON, 0, NULL, NULL };
	struct rig *r = *state;
	int64_t rows, total = 0;
	int more, n_calls = 0;

	submit_tasks(r, "1-20000");
	submit_tasks(r, "1-20000");
	do {
		submit_tasks(r, NULL); /* an event: arrays are looked at again */
		assert_int_equal(store_resolve(r->store, &how, NULL), 0);
		assert_true(store_arrays_expand(r->store, NULL) >= 0);
		assert_int_equal(db_run(r->store->db, NULL,
					"UPDATE jobs SET state = 1 WHERE array_job > 0", ""),
				 0);
		rows = rig_number(r, "SELECT COUNT(*) FROM jobs WHERE array_job > 0");
	} while (rows < 4000);
	submit_tasks(r, NULL);
	do {
		int64_t before = rig_number(r, "SELECT COUNT(*) FROM jobs WHERE array_job > 0");

		assert_int_equal(store_resolve(r->store, &how, NULL), 0);
		more = store_arrays_expand(r->store, NULL);
		rows = rig_number(r, "SELECT COUNT(*) FROM jobs WHERE array_job > 0") - before;
		assert_in_range(rows, 0, STORE_EXPAND_MOST);
		total += rows;
		assert_true(++n_calls < 100);
	} while (more == STORE_EXPAND_MORE);
	assert_int_equal(more, 1);
	assert_true(total > 2 * STORE_EXPAND_MOST);
	assert_true(n_calls > 2);
	/* Both arrays have their tasks. */
	assert_true(rig_number(r, "SELECT MIN(n_waiting) FROM arrays") < 19000);
	assert_true(rig_number(r, "SELECT MAX(n_waiting) FROM arrays") < 19000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_call_expands_a_bounded_number_of_tasks,
						rig_open, rig_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
