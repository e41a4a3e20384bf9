/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_gpus - GPUs by model: what is free, what a typed model means; what a job used of each.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/model/gpu_use.h"
#include "common/model/gpus.h"

static struct gpus parse_gpus(const char *text)
{
	struct gpus g;

	assert_int_equal(gpus_parse(text, &g), 0);
	return g;
}

static void counts_read_and_print_back(void **state)
{
	static const char *const good[] = { "", "a100-40=4", "a100-40=4,a100_1g.5gb=7,=2" };
	static const char *const bad[] = { "a100-40",
					   "a100-40=",
					   "a100-40=x",
					   "=",
					   ",",
					   "a=1,,b=2",
					   "A100=1",
					   "a=1=2",
					   "a=-1",
					   "a=1234567890",
					   "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1" };
	char buf[GPUS_TEXT_MAX];
	struct gpus g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		g = parse_gpus(good[i]);
		assert_string_equal(gpus_format(&g, buf), good[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(gpus_parse(bad[i], &g), -EINVAL);
	g = parse_gpus("a100-40=4,a100_1g.5gb=7,=1");
	assert_string_equal(gpus_words(&g, buf), "4 a100-40, 7 a100_1g.5gb, 1 GPU");
}

static void none_is_no_model_and_models_are_bounded(void **state)
{
	struct gpus g = { 0 };

	(void)state;
	assert_int_equal(gpus_add(&g, "a", 0), 0);
	assert_int_equal(gpus_add(&g, "a", -1), 0);
	assert_int_equal(g.n, 0);
	assert_int_equal(gpus_add(&g, "a", INT64_MAX), 0);
	assert_int_equal(gpus_add(&g, "a", 1), 0);
	assert_int_equal(gpus_count(&g, "a"), INT64_MAX);
	for (int i = 1; i < GPUS_MODELS_MAX; i++) {
		char model[2] = { (char)('a' + i), 0 };

		assert_int_equal(gpus_add(&g, model, i), 0);
		assert_int_equal(gpus_count(&g, model), i);
	}
	assert_int_equal(gpus_add(&g, "z", 1), -ENOSPC);
	assert_int_equal(gpus_add(&g, "b", 4), 0);
	assert_int_equal(gpus_count(&g, "b"), 5);
}

static void a_gpu_of_any_model_is_whole_never_a_mig_instance(void **state)
{
	const struct gpus all = parse_gpus("a100-40=4,a100_1g.5gb=7,=2"), none = parse_gpus("");

	(void)state;
	assert_int_equal(gpus_count(&all, ""), 6);
	assert_int_equal(gpus_free(&all, &none, ""), 6);
	assert_int_equal(gpus_free(&all, &none, "a100-40"), 4);
	assert_int_equal(gpus_free(&all, &none, "a100_1g.5gb"), 7);
	assert_int_equal(gpus_free(&all, &none, "h100-80"), 0);
}

/* Every world of two models and a part, of up to 3 each, and every way to hold some: whatever
 * is free of a model can really be allocated, wherever those in use as any are. */
static void free_gpus_of_a_model_can_be_allocated(void **state)
{
	(void)state;
	for (int world = 0; world < 4 * 4 * 4 * 4 * 4; world++) {
		int a = world % 4, b = world / 4 % 4, ha = world / 16 % 4, hb = world / 64 % 4;
		int any = world / 256 % 4, left;
		struct gpus all = { 0 }, held = { 0 };

		if (ha > a || hb > b || any > a + b - ha - hb)
			continue;
		gpus_add(&all, "a", a);
		gpus_add(&all, "b", b);
		gpus_add(&held, "a", ha);
		gpus_add(&held, "b", hb);
		gpus_add(&held, "", any);
		left = a - ha - any;
		assert_int_equal(gpus_free(&all, &held, "a"), left > 0 ? left : 0);
		assert_int_equal(gpus_free(&all, &held, ""), a + b - ha - hb - any);
	}
}

static int match_model(const char *typed, const char *const *models, char *ret, struct err *err)
{
	struct gpus_match m;

	gpus_match_begin(&m, typed);
	for (; *models; models++)
		gpus_match_try(&m, *models);
	return gpus_match_end(&m, "this cluster's nodes have", ret, err);
}

static void a_model_without_its_size_needs_to_be_unique(void **state)
{
	static const char *const one[] = { "A100-40", "h100-80", "a100-40", "a100_1g.5gb",
					   NULL };
	static const char *const two[] = { "a100-40", "a100-80", NULL };
	static const char *const none[] = { "", NULL };
	char ret[REQUEST_NAME_MAX] = "";
	struct err err = { "" };

	(void)state;
	assert_int_equal(match_model("a100", one, ret, &err), 0);
	assert_string_equal(ret, "a100-40");
	assert_int_equal(match_model("a100_1g.5gb", one, ret, &err), 0);
	assert_string_equal(ret, "a100_1g.5gb");
	assert_int_equal(match_model("a100-80", two, ret, &err), 0);
	assert_string_equal(ret, "a100-80");
	assert_int_equal(match_model("a100", two, ret, &err), -EINVAL);
	assert_string_equal(err.text,
			    "GPU model 'a100' has several sizes: write one, e.g. "
			    "ngpus=a100-80:1; this cluster's nodes have a100-40, a100-80");
	assert_int_equal(match_model("a10", one, ret, &err), -EINVAL);
	assert_string_equal(err.text, "unknown GPU model 'a10': this cluster's nodes have "
				      "a100-40, h100-80, a100_1g.5gb");
	assert_int_equal(match_model("a100", none, ret, &err), 1);
}

static struct gpu_use make_use(const char *uuid, int64_t busy_ns, int64_t peak)
{
	struct gpu_use g = { .source = "nvml" };

	strcpy(g.uuid, uuid);
	gpu_use_set(&g, &g.busy_ns, busy_ns);
	gpu_use_set(&g, &g.mem_peak_bytes, peak);
	gpu_use_set(&g, &g.idle_ns, busy_ns ? 0 : 99);
	return g;
}

static void reports_of_gpus_merge_by_uuid_and_never_shrink(void **state)
{
	struct gpu_use first[] = { make_use("A", 5, 10), make_use("B", 0, 0) };
	struct gpu_use later[] = { make_use("C", 1, 1), make_use("A", 3, 20) };
	struct gpu_use *list = NULL;
	int32_t n = 0;

	(void)state;
	assert_int_equal(gpu_use_merge(&list, &n, first, 2), 0);
	assert_int_equal(gpu_use_merge(&list, &n, later, 2), 0);
	assert_int_equal(gpu_use_merge(&list, &n, NULL, 0), 0);
	assert_int_equal(n, 3);
	assert_int_equal(list[0].busy_ns, 5); /* a counter that restarted */
	assert_int_equal(list[0].mem_peak_bytes, 20);
	assert_string_equal(list[2].uuid, "C");
	free(list);
}

static void the_jobs_figures_are_the_sums_and_absent_where_one_is(void **state)
{
	struct gpu_use list[] = { make_use("A", 5, 10), make_use("B", 0, 0),
				  make_use("C", 7, 1) };
	struct usage u = { 0 };

	(void)state;
	gpu_use_sum(list, 3, &u);
	assert_int_equal(u.gpu_busy_ns, 12);
	assert_int_equal(u.gpu_mem_peak_bytes, 11);
	assert_int_equal(u.gpu_idle_ns, 99);
	assert_int_equal(u.gpus_used, 2);
	assert_false(usage_has(&u, &u.gpu_energy_mj));
	list[1].have = 0;
	u = (struct usage){ 0 };
	gpu_use_sum(list, 3, &u);
	assert_int_equal(u.have, 0);
	gpu_use_sum(NULL, 0, &u);
	assert_int_equal(u.have, 0);
}

static void a_later_report_replaces_states_and_keeps_what_it_lacks(void **state)
{
	struct gpu_use first = { .uuid = "A", .source = "nvml", .model = "a100-40" };
	struct gpu_use later = {
		.uuid = "A", .source = "drm fdinfo", .model = "a100", .is_simulated = true
	};
	struct gpu_use *list = NULL;
	int32_t n = 0;

	(void)state;
	gpu_use_set(&first, &first.mem_bytes, 50);
	gpu_use_set(&first, &first.mem_peak_bytes, 50);
	gpu_use_set(&first, &first.opens, 3);
	gpu_use_set(&later, &later.mem_bytes, 20);
	gpu_use_set(&later, &later.mem_peak_bytes, 49);
	gpu_use_set(&later, &later.energy_mj, 0);
	assert_int_equal(gpu_use_merge(&list, &n, &first, 1), 0);
	assert_int_equal(gpu_use_merge(&list, &n, &later, 1), 0);
	later.is_simulated = false;
	assert_int_equal(gpu_use_merge(&list, &n, &later, 1), 0);
	assert_int_equal(n, 1);
	assert_int_equal(list->mem_bytes, 20);
	assert_int_equal(list->mem_peak_bytes, 50);
	assert_int_equal(list->opens, 3);
	assert_true(gpu_use_has(list, &list->energy_mj));
	assert_false(gpu_use_has(list, &list->busy_ns));
	assert_string_equal(list->source, "drm fdinfo");
	assert_string_equal(list->model, "a100");
	assert_true(list->is_simulated); /* once it was */
	free(list);
}

static void a_node_reports_a_bounded_number_of_gpus(void **state)
{
	static struct gpu_use many[GPU_USE_MAX + 1];
	struct gpu_use *list = NULL;
	int32_t n = 0;

	(void)state;
	for (int i = 0; i <= GPU_USE_MAX; i++)
		snprintf(many[i].uuid, sizeof(many[i].uuid), "G%d", i);
	assert_int_equal(gpu_use_merge(&list, &n, many, GPU_USE_MAX + 1), 0);
	assert_int_equal(n, GPU_USE_MAX);
	assert_string_equal(list[n - 1].uuid, "G63");
	free(list);
}

static void every_figure_of_the_job_is_that_of_its_gpus(void **state)
{
	struct gpu_use list[2] = { { .uuid = "A" }, { .uuid = "B" } };
	struct usage u = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		gpu_use_set(&list[i], &list[i].busy_ns, 0);
		gpu_use_set(&list[i], &list[i].mem_bytes, 2 + i);
		gpu_use_set(&list[i], &list[i].mem_peak_bytes, 20 + i);
		gpu_use_set(&list[i], &list[i].energy_mj, INT64_MAX - 5 + i);
		gpu_use_set(&list[i], &list[i].idle_ns, 70 - i);
		gpu_use_set(&list[i], &list[i].opens, 4 + i);
	}
	gpu_use_sum(list, 2, &u);
	assert_int_equal(u.gpu_mem_bytes, 5);
	assert_int_equal(u.gpu_mem_peak_bytes, 41);
	assert_int_equal(u.gpu_energy_mj, INT64_MAX); /* no sum beyond all numbers */
	assert_int_equal(u.gpu_idle_ns, 70);
	assert_int_equal(u.gpu_opens, 9);
	assert_int_equal(u.gpus_used, 0); /* memory says nothing where busy time is known */
}

static void where_busy_time_is_unknown_memory_says_what_has_worked(void **state)
{
	struct gpu_use list[3] = { { .uuid = "A" }, { .uuid = "B" }, { .uuid = "C" } };
	struct usage u = { 0 };

	(void)state;
	gpu_use_set(&list[0], &list[0].mem_peak_bytes, 1);
	gpu_use_set(&list[1], &list[1].mem_peak_bytes, 0);
	gpu_use_set(&list[2], &list[2].busy_ns, 1);
	gpu_use_sum(list, 3, &u);
	assert_true(usage_has(&u, &u.gpus_used));
	assert_int_equal(u.gpus_used, 2);
	assert_false(usage_has(&u, &u.gpu_busy_ns));
}

static void idle_is_a_state_from_its_time_on(void **state)
{
	struct gpu_use g = { 0 };

	(void)state;
	assert_false(gpu_use_is_idle(&g, 10)); /* not known */
	gpu_use_set(&g, &g.idle_ns, 10);
	assert_true(gpu_use_is_idle(&g, 10));
	assert_false(gpu_use_is_idle(&g, 11));
	assert_false(gpu_use_is_idle(&g, 0)); /* switched off */
}

static void a_model_is_named_once_and_by_its_whole_name(void **state)
{
	static const char *const models[] = { "a100-400", "a100-40", "xa100-40",
					      "a100-40",  "A100-40", NULL };
	static const char *const exact[] = { "a100-40", "a100", NULL };
	char ret[REQUEST_NAME_MAX] = "";
	struct err err = { "" };

	(void)state;
	assert_int_equal(match_model("v100", models, ret, &err), -EINVAL);
	assert_string_equal(
		err.text,
		"unknown GPU model 'v100': this cluster's nodes have a100-400, a100-40, xa100-40");
	assert_int_equal(match_model("a100", exact, ret, &err), 0);
	assert_string_equal(ret, "a100");
}

static void gpus_without_a_model_are_counted_in_words(void **state)
{
	char buf[GPUS_TEXT_MAX];
	struct gpus g = parse_gpus("=2");

	(void)state;
	assert_string_equal(gpus_words(&g, buf), "2 GPUs");
	g = parse_gpus("a=999999999");
	assert_string_equal(gpus_words(&g, buf), "999999999 a");
}

static void a_model_and_a_number_are_read_at_their_longest(void **state)
{
	char text[2 * REQUEST_NAME_MAX], model[REQUEST_NAME_MAX + 1];
	char words[GPUS_TEXT_MAX], buf[GPUS_TEXT_MAX];
	struct gpus g = { 0 };

	(void)state;
	memset(model, 'a', REQUEST_NAME_MAX);
	model[REQUEST_NAME_MAX] = '\0';
	snprintf(text, sizeof(text), "%s=999999999", model);
	assert_int_equal(gpus_parse(text, &g), -EINVAL);
	snprintf(text, sizeof(text), "%s=999999999", model + 1);
	assert_int_equal(gpus_parse(text, &g), 0);
	assert_int_equal(gpus_count(&g, model + 1), 999999999);
	assert_string_equal(gpus_format(&g, buf), text);
	assert_int_equal(gpus_parse("a=1,", &g), 0); /* as it is printed by older ones */
	assert_int_equal(gpus_parse("a=,b=1", &g), -EINVAL);
	assert_int_equal(gpus_parse("a=1x,b=1", &g), -EINVAL);
	assert_int_equal(gpus_parse("a=0", &g), 0);
	assert_int_equal(g.n, 0);
	/* As many models as there may be, each of the longest name: no text is cut. */
	g = (struct gpus){ 0 };
	for (int i = 0; i < GPUS_MODELS_MAX; i++) {
		model[1] = (char)('a' + i);
		assert_int_equal(gpus_add(&g, model + 1, 7), 0);
	}
	assert_int_equal(strlen(gpus_format(&g, buf)), GPUS_MODELS_MAX * 66 - 1);
	assert_int_equal(strlen(gpus_words(&g, words)), GPUS_MODELS_MAX * 67 - 2);
	assert_non_null(strstr(words, "7 b"));
}

static void a_typed_model_is_cut_at_the_longest_name(void **state)
{
	char model[REQUEST_NAME_MAX + 8], ret[REQUEST_NAME_MAX] = "";
	struct gpus_match m;

	(void)state;
	memset(model, 'A', sizeof(model));
	model[REQUEST_NAME_MAX] = '\0';
	gpus_match_begin(&m, model);
	assert_int_equal(strlen(m.typed), REQUEST_NAME_MAX - 1);
	gpus_match_begin(&m, "@AZ[`az{");
	assert_string_equal(m.typed, "@az[`az{");
	gpus_match_try(&m, "x");
	gpus_match_try(&m, "@az[`az{");
	assert_int_equal(gpus_match_end(&m, "", ret, NULL), 0);
	assert_string_equal(ret, "@az[`az{");
}

static void only_a_figure_of_a_gpu_is_set(void **state)
{
	struct gpu_use g = { 0 };
	int64_t other;

	(void)state;
	memset(&other, 0, sizeof(other));
	gpu_use_set(&g, (int64_t *)(void *)g.uuid, 5);
	assert_int_equal(g.have, 0);
	assert_int_equal(g.uuid[0], 0);
	for (size_t i = 0; gpu_use_fields[i].name; i++) {
		int64_t *at = (int64_t *)(void *)((char *)&g + gpu_use_fields[i].offset);

		g = (struct gpu_use){ 0 };
		gpu_use_set(&g, at, 3);
		assert_int_equal(g.have, 1U << i);
		assert_int_equal(*at, 3);
	}
	gpu_use_set(&g, &g.idle_ns, 0);
	assert_false(gpu_use_is_idle(&g, 1));
	assert_false(gpu_use_is_idle(&g, -1));
}

/* What is behind the end of a list is not of it. */
static void only_so_many_models_count_as_there_are(void **state)
{
	struct gpus g = parse_gpus("a=2,b_1=3"), held = parse_gpus("a=1");
	char buf[GPUS_TEXT_MAX];

	(void)state;
	for (int i = 0; i < GPUS_MODELS_MAX; i++) {
		const char *model = i % 2 ? "a" : "";

		if (i >= g.n)
			snprintf(g.of[i].model, sizeof(g.of[i].model), "%s", model);
		if (i >= held.n)
			snprintf(held.of[i].model, sizeof(held.of[i].model), "%s", model);
		g.of[i].n = i < g.n ? g.of[i].n : 50;
		held.of[i].n = i < held.n ? held.of[i].n : 1;
	}
	assert_int_equal(gpus_count(&g, "a"), 2);
	assert_int_equal(gpus_count(&g, ""), 2);
	assert_int_equal(gpus_free(&g, &held, "a"), 1);
	assert_int_equal(gpus_free(&g, &held, ""), 1);
	assert_int_equal(gpus_free(&g, &held, "b_1"), 3);
	assert_string_equal(gpus_format(&g, buf), "a=2,b_1=3");
	assert_string_equal(gpus_words(&g, buf), "2 a, 3 b_1");
	assert_int_equal(gpus_add(&g, "c", 4), 0);
	assert_string_equal(gpus_format(&g, buf), "a=2,b_1=3,c=4");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_read_and_print_back),
		cmocka_unit_test(none_is_no_model_and_models_are_bounded),
		cmocka_unit_test(a_gpu_of_any_model_is_whole_never_a_mig_instance),
		cmocka_unit_test(free_gpus_of_a_model_can_be_allocated),
		cmocka_unit_test(a_model_without_its_size_needs_to_be_unique),
		cmocka_unit_test(reports_of_gpus_merge_by_uuid_and_never_shrink),
		cmocka_unit_test(a_later_report_replaces_states_and_keeps_what_it_lacks),
		cmocka_unit_test(a_node_reports_a_bounded_number_of_gpus),
		cmocka_unit_test(every_figure_of_the_job_is_that_of_its_gpus),
		cmocka_unit_test(where_busy_time_is_unknown_memory_says_what_has_worked),
		cmocka_unit_test(idle_is_a_state_from_its_time_on),
		cmocka_unit_test(a_model_is_named_once_and_by_its_whole_name),
		cmocka_unit_test(gpus_without_a_model_are_counted_in_words),
		cmocka_unit_test(the_jobs_figures_are_the_sums_and_absent_where_one_is),
		cmocka_unit_test(a_model_and_a_number_are_read_at_their_longest),
		cmocka_unit_test(a_typed_model_is_cut_at_the_longest_name),
		cmocka_unit_test(only_a_figure_of_a_gpu_is_set),
		cmocka_unit_test(only_so_many_models_count_as_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
