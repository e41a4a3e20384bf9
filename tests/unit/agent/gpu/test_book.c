/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thousands of processes that come and go: each is reported in every round, and
 * ended once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/gpu/book.h"

#define DEVICES 3
#define PIDS 300

static struct {
	bool is_there, is_known;
	int missed;
	int64_t busy_ns; /* of this life */
	int n_told;
} world[DEVICES][PIDS];

static void on_process(void *ctx, const struct gpu_process *p)
{
	int *n_ended = ctx;

	assert_in_range(p->device, 0, DEVICES - 1);
	assert_in_range(p->pid, 1000, 1000 + PIDS - 1);
	world[p->device][p->pid - 1000].n_told++;
	assert_int_equal(p->busy_ns, world[p->device][p->pid - 1000].busy_ns);
	assert_int_equal(p->has_ended, world[p->device][p->pid - 1000].missed == 2);
	*n_ended += p->has_ended;
}

static void one_round(struct book *b, unsigned *seed, int *n_ended)
{
	bool is_asked[DEVICES];

	book_begin(b, b->now_ns + 1);
	for (int d = 0; d < DEVICES; d++) {
		is_asked[d] = rand_r(seed) % 8 != 0;
		b->devices[d].is_asked = is_asked[d];
	}
	for (int d = 0; d < DEVICES; d++)
		for (int i = 0; i < PIDS; i++) {
			struct book_process *p;

			world[d][i].n_told = 0;
			if (rand_r(seed) % 5 == 0)
				world[d][i].is_there = !world[d][i].is_there;
			if (!is_asked[d])
				continue;
			if (!world[d][i].is_there) {
				world[d][i].missed += world[d][i].is_known;
				continue;
			}
			p = book_process(b, d, 1000 + i);
			assert_non_null(p);
			p->p.busy_ns += i + 1;
			world[d][i].busy_ns += i + 1;
			world[d][i].is_known = true;
			world[d][i].missed = 0;
		}
	book_end(b, on_process, n_ended);
	for (int d = 0; d < DEVICES; d++)
		for (int i = 0; i < PIDS; i++) {
			assert_int_equal(world[d][i].n_told,
					 is_asked[d] && world[d][i].is_known);
			if (world[d][i].missed == 2)
				memset(&world[d][i], 0, sizeof(world[d][i]));
			assert_int_equal(book_known(b, d, 1000 + i) != NULL,
					 world[d][i].is_known);
		}
}

static void each_process_is_reported_while_it_runs_and_ended_once(void **unused)
{
	struct book b = { 0 };
	unsigned seed = 5;
	int n_ended = 0;

	(void)unused;
	for (int d = 0; d < DEVICES; d++)
		assert_int_equal(
			book_add(&b, &(struct gpu_device){ .uuid = { (char)('a' + d) } }), d);
	for (int round = 0; round < 400; round++)
		one_round(&b, &seed, &n_ended);
	assert_true(n_ended > 1000);
	book_done(&b);
}

static void notes_are_kept_once_and_bounded(void **unused)
{
	struct book b = { 0 };

	(void)unused;
	for (int i = 0; i < 1000; i++)
		book_note(&b, "note %d", i % 50);
	assert_int_equal(b.n_notes, BOOK_NOTES_MAX);
	assert_string_equal(b.note_list[1], "note 1");
	assert_null(b.note_list[BOOK_NOTES_MAX]);
	for (int i = 0; i < GPU_DEVICES_MAX; i++)
		assert_int_equal(book_add(&b, &(struct gpu_device){ 0 }), i);
	assert_true(book_add(&b, &(struct gpu_device){ 0 }) < 0);
	book_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_is_reported_while_it_runs_and_ended_once),
		cmocka_unit_test(notes_are_kept_once_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
