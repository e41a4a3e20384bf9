/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documents of a sync: what one side encodes the other decodes, every key of both, byte by
 * byte as docs/protocol.md has them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/sync_answer.h"
#include "common/wire/wire.h"

#define REQUEST                                                                                \
	"{\"schema\":\"reeve/1\",\"node\":\"n1\",\"boot\":\"b\",\"version\":\"0.1\","          \
	"\"capacity\":{\"ncpus\":8,\"mem_bytes\":1073741824,\"jobfs_bytes\":1048576,"          \
	"\"ngpus\":1,\"topology\":\"1 socket\"},\"free\":{\"ncpus\":4,\"mem_bytes\":"          \
	"536870912,\"jobfs_bytes\":524288,\"ngpus\":1,\"gpu_models\":{\"a100-40\":1,"          \
	"\"a100_1g.5gb\":2}},\"state\":\"drain\",\"tier\":2,"                                  \
	"\"notes\":[\"no project quota\",\"no BPF\"],\"jobs\":[{\"job\":7,\"attempt\":2,"      \
	"\"state\":\"running\"}],\"reports\":[{\"job\":7,\"attempt\":2,\"seq\":5,"             \
	"\"at_ns\":1,\"state\":\"running\",\"started_ns\":0,\"ended_ns\":0,"                   \
	"\"running_ns\":0,\"suspended_ns\":0,\"usage\":{},\"cpus\":\"\",\"note\":\"\"}],"      \
	"\"output\":[{\"job\":7,\"attempt\":2,"                                                \
	"\"stream\":\"err\",\"offset\":100,\"data\":\"aGVsbG8=\",\"end\":true},"               \
	"{\"job\":7,\"attempt\":2,\"stream\":\"out\",\"offset\":0,\"data\":\"\",\"step\":3}]," \
	"\"gpus\":[{\"uuid\":\"GPU-1\",\"model\":\"a100-40\",\"product\":\"NVIDIA A100\","     \
	"\"vendor\":\"nvidia\",\"mem_bytes\":40,\"numa_node\":1,\"drained\":true},"            \
	"{\"uuid\":\"MIG-1\",\"model\":\"a100_1g.5gb\",\"simulated\":true,"                    \
	"\"partitioned\":true}],\"node_type\":\"gpu\",\"features\":\"ib,nvme\","               \
	"\"found\":[{\"job\":9,\"attempt\":3}],\"steps\":[{\"job\":7,\"attempt\":2,"           \
	"\"step\":1,\"state\":\"running\"},{\"job\":7,\"attempt\":2,\"step\":2,"               \
	"\"state\":\"ended\",\"exit_status\":-1,\"signal\":9,\"text\":\"no such file\"}],"     \
	"\"number\":77,\"engine\":\"slurm\",\"slurm_jobs\":[{\"job\":7,\"attempt\":2,"         \
	"\"uid\":1001,\"user\":\"alice\",\"account\":\"physics\",\"queue\":\"batch\","         \
	"\"name\":\"run\",\"ncpus\":4,\"mem_bytes\":3,\"vmem_bytes\":2,\"jobfs_bytes\":1,"     \
	"\"ngpus\":2,\"gpu_model\":\"a100-40\",\"nodes\":3,\"job_ncpus\":12,\"job_ngpus\":5,"  \
	"\"started_ns\":9}]}"

static struct sync *make_request(void)
{
	static const char *const notes[] = { "no project quota", "no BPF", NULL };
	static struct sync_gpu gpus[] = {
		{ "GPU-1", "a100-40", "NVIDIA A100", "nvidia", 40, 1, .is_drained = true },
		{ "MIG-1", "a100_1g.5gb", "", "", -1, -1, true, true, false },
	};
	static struct sync_job jobs[] = { { 7, 2, JOB_RUNNING } };
	static struct sync_job found[] = { { .job = 9, .attempt = 3 } };
	static struct report reports[] = {
		{ .job = 7, .attempt = 2, .seq = 5, .at_ns = 1, .state = JOB_RUNNING }
	};
	static struct sync_output outputs[] = {
		{ 7, 0, 2, SYNC_ERR, 100, 5, "hello", true },
		{ 7, 3, 2, SYNC_OUT, 0, 0, "", false },
	};
	static struct sync_step steps[] = {
		{ .id = { 7, 1, 2 } },
		{ { 7, 2, 2 }, true, -1, 9, "no such file" },
	};
	static struct sync_slurm_job slurm_jobs[] = {
		{ 7, 2, 1001, "alice", "physics", "batch", "run", 4, 3, 2, 1, 2, "a100-40", 3,
		  12, 5, 9 },
	};
	static struct sync s = {
		.node = "n1",
		.boot = "b",
		.version = "0.1",
		.topology = "1 socket",
		.node_type = "gpu",
		.features = "ib,nvme",
		.number = 77,
		.capacity = { 8, 1 << 30, 1 << 20, 1 },
		.free = { 4, 1 << 29, 1 << 19, 1 },
		.free_gpu_models = { 2, { { "a100-40", 1 }, { "a100_1g.5gb", 2 } } },
		.draining = true,
		.tier = 2,
		.notes = notes,
		.gpus = gpus,
		.jobs = jobs,
		.found = found,
		.reports = reports,
		.outputs = outputs,
		.steps = steps,
		.n_gpus = ARRAY_LEN(gpus),
		.n_jobs = ARRAY_LEN(jobs),
		.n_found = ARRAY_LEN(found),
		.n_reports = ARRAY_LEN(reports),
		.n_outputs = ARRAY_LEN(outputs),
		.n_steps = ARRAY_LEN(steps),
		.engine = ENGINE_SLURM,
		.slurm_jobs = slurm_jobs,
		.n_slurm_jobs = ARRAY_LEN(slurm_jobs),
	};

	return &s;
}

static char *encode_request(const struct sync *s)
{
	_cleanup_json_ json_t *doc = NULL;

	assert_int_equal(sync_encode(s, &doc, NULL), 0);
	return wire_format(doc);
}

static void a_request_is_the_bytes_of_the_protocol(void **unused)
{
	_cleanup_free_ char *text = encode_request(make_request());

	(void)unused;
	assert_string_equal(text, REQUEST);
}

static struct sync *decode_request(const char *text)
{
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };
	struct sync *s;

	assert_int_equal(wire_parse(text, strlen(text), &doc, NULL), 0);
	if (sync_decode(doc, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void a_decoded_request_encodes_to_the_same_bytes(void **unused)
{
	_cleanup_(sync_freep) struct sync *s = decode_request(REQUEST);
	_cleanup_free_ char *text = encode_request(s);

	(void)unused;
	assert_string_equal(text, REQUEST);
	assert_int_equal(s->outputs[0].size, 5);
	assert_memory_equal(s->outputs[0].data, "hello", 5);
	assert_int_equal(gpus_count(&s->drained_gpu_models, "a100-40"), 1);
	assert_int_equal(gpus_count(&s->gpu_models, "a100_1g.5gb"), 0);
}

/* Only what an older agent sends. */
static void absent_keys_have_their_defaults(void **unused)
{
	_cleanup_(sync_freep) struct sync *s = decode_request(
		"{\"schema\":\"reeve/1\",\"node\":\"n1\",\"boot\":\"b\",\"state\":\"up\","
		"\"capacity\":{\"ncpus\":8,\"mem_bytes\":1,\"jobfs_bytes\":2},"
		"\"free\":{\"ncpus\":4,\"mem_bytes\":1,\"jobfs_bytes\":2},"
		"\"steps\":[{\"job\":1,\"attempt\":1,\"step\":2,\"state\":\"running\","
		"\"exit_status\":9},{\"job\":1,\"attempt\":1,\"step\":1,\"state\":\"ended\"}]}");

	(void)unused;
	assert_string_equal(s->version, "");
	assert_int_equal(s->number, 0);
	assert_int_equal(s->capacity.ngpus, 0);
	assert_false(s->draining);
	assert_null(s->notes);
	assert_int_equal(s->n_jobs + s->n_found + s->n_reports + s->n_outputs + s->n_gpus, 0);
	assert_int_equal(s->steps[0].id.step, 1); /* sorted */
	assert_int_equal(s->steps[0].exit_status, -1);
	assert_int_equal(s->steps[1].exit_status, 0); /* one that runs has none */
}

static void a_wrong_key_is_named_by_its_path(void **unused)
{
	static const struct {
		const char *was, *is, *words;
	} wrong[] = {
		{ "\"state\":\"drain\"", "\"state\":\"gone\"",
		  "state: 'gone' is none of up, drain" },
		{ "\"tier\":2", "\"tier\":10", "tier = 10 is outside 0 to 9" },
		{ "\"state\":\"running\"}]", "\"state\":\"walks\"}]",
		  "jobs[0]: state: 'walks' is none of " },
		{ "\"notes\":[\"no project quota\"", "\"notes\":[7", "notes[0]: not a text" },
		{ "\"jobs\":[", "\"jobs\":null,\"was\":[", "jobs: not an array" },
		{ "\"seq\":5", "\"seq\":-5", "reports[0]" },
		{ "aGVsbG8=", "aGVsbG8", "output[0]: data: not base64" },
		{ "\"stream\":\"out\"", "\"stream\":\"log\"",
		  "output[1]: stream: 'log' is none of out, err" },
		{ "\"step\":3", "\"step\":100001", "output[1]: step = 100001 is outside" },
		{ "\"step\":2,", "\"step\":1,", "steps: job 7, step 1 is there twice" },
		{ "\"job\":9,", "\"job\":0,", "found[0]: job = 0 is outside" },
		{ "\"ncpus\":4", "\"ncpus\":\"4\"", "free: ncpus is not an integer" },
		{ "\"capacity\":{", "\"capacity\":7,\"was\":{",
		  "capacity: an object is missing" },
		{ "\"node\":\"n1\"", "\"node\":\"-\"", "node: '-' is not a name" },
		{ "\"boot\":\"b\"", "\"boot\":\"\"", "boot: empty" },
		{ "\"features\":\"ib,nvme\"", "\"features\":\"/\"", "features: " },
		{ "\"node_type\":\"gpu\"", "\"node_type\":\"/\"", "node_type: " },
		{ "\"signal\":9", "\"signal\":129", "steps[1]: signal = 129 is outside" },
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		const char *at = strstr(REQUEST, wrong[i].was);
		_cleanup_free_ char *text = NULL;
		_cleanup_json_ json_t *doc = NULL;
		struct err err = { "" };
		struct sync *s = NULL;

		assert_non_null(at);
		assert_true(asprintf(&text, "%.*s%s%s", (int)(at - REQUEST), REQUEST,
				     wrong[i].is, at + strlen(wrong[i].was)) > 0);
		doc = json_loads(text, 0, NULL);
		assert_non_null(doc);
		assert_int_equal(sync_decode(doc, &s, &err), -EINVAL);
		if (!strstr(err.text, wrong[i].words))
			fail_msg("'%s' lacks '%s'", err.text, wrong[i].words);
		assert_null(s);
	}
}

#define ANSWER                                                                                 \
	"{\"schema\":\"reeve/1\",\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":99}],"             \
	"\"output_acks\":[{\"job\":2,\"attempt\":1,\"stream\":\"err\",\"offset\":77},"         \
	"{\"job\":2,\"attempt\":1,\"stream\":\"out\",\"offset\":0,\"step\":4}],"               \
	"\"refused\":[{\"job\":3,\"attempt\":1,\"why\":\"not ours\"}],"                        \
	"\"step_acks\":[{\"job\":2,\"attempt\":1,\"step\":3}],"                                \
	"\"jobs\":[{\"job\":4,\"attempt\":1,\"want\":\"run\",\"request\":{\"name\":7},"        \
	"\"credential\":\"MUNGE:x\"},{\"job\":5,\"attempt\":1,\"want\":\"cancel\","            \
	"\"reason\":\"by ann\"},{\"job\":6,\"attempt\":0,\"want\":\"suspend\"}],"              \
	"\"steps\":[{\"job\":2,\"attempt\":1,\"step\":5,\"want\":\"run\",\"argv\":[\"ls\"],"   \
	"\"workdir\":\"/w\"},{\"job\":2,\"attempt\":1,\"step\":6,\"want\":\"cancel\"}]}"

static char *encode_answer(const struct sync_answer *a)
{
	_cleanup_json_ json_t *doc = NULL;

	assert_int_equal(sync_answer_encode(a, &doc, NULL), 0);
	return wire_format(doc);
}

static void an_answer_is_the_bytes_of_the_protocol(void **unused)
{
	_cleanup_json_ json_t *request = json_loads("{\"name\":7}", 0, NULL);
	_cleanup_json_ json_t *command =
		json_loads("{\"argv\":[\"ls\"],\"workdir\":\"/w\"}", 0, NULL);
	char reason[] = "by ann", credential[] = "MUNGE:x";
	const struct sync_answer a = {
		.acks = (struct sync_ack[]){ { 1, 99, 1 } },
		.n_acks = 1,
		.output_acks = (struct sync_output_ack[]){ { 2, 0, 77, 1, SYNC_ERR },
							   { 2, 4, 0, 1, SYNC_OUT } },
		.n_output_acks = 2,
		.refusals = (struct sync_refusal[]){ { 3, 1, "not ours" } },
		.n_refusals = 1,
		.step_acks = (struct sync_step_id[]){ { 2, 3, 1 } },
		.n_step_acks = 1,
		.jobs =
			(struct sync_desired_job[]){
				{ 4, 1, DESIRED_RUN, NULL, request, credential },
				{ 5, 1, DESIRED_CANCEL, reason, NULL, NULL },
				{ .job = 6, .want = DESIRED_SUSPEND } },
		.n_jobs = 3,
		.steps =
			(struct sync_desired_step[]){ { { 2, 5, 1 }, SYNC_STEP_RUN, command },
						      { { 2, 6, 1 }, SYNC_STEP_CANCEL, NULL } },
		.n_steps = 2,
	};
	_cleanup_free_ char *text = encode_answer(&a);

	(void)unused;
	assert_string_equal(text, ANSWER);
}

static void a_decoded_answer_encodes_to_the_same_bytes(void **unused)
{
	_cleanup_json_ json_t *doc = json_loads(ANSWER, 0, NULL);
	_cleanup_free_ char *text = NULL;
	struct sync_answer a;

	(void)unused;
	assert_int_equal(sync_answer_decode(doc, &a, NULL), 0);
	text = encode_answer(&a);
	sync_answer_done(&a);
	assert_string_equal(text, ANSWER);
}

static void an_empty_answer_has_every_list(void **unused)
{
	_cleanup_free_ char *text = encode_answer(&(struct sync_answer){ 0 });

	(void)unused;
	assert_string_equal(text, "{\"schema\":\"reeve/1\",\"acks\":[],\"output_acks\":[],"
				  "\"refused\":[],\"step_acks\":[],\"jobs\":[],\"steps\":[]}");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_the_bytes_of_the_protocol),
		cmocka_unit_test(a_decoded_request_encodes_to_the_same_bytes),
		cmocka_unit_test(absent_keys_have_their_defaults),
		cmocka_unit_test(a_wrong_key_is_named_by_its_path),
		cmocka_unit_test(an_answer_is_the_bytes_of_the_protocol),
		cmocka_unit_test(a_decoded_answer_encodes_to_the_same_bytes),
		cmocka_unit_test(an_empty_answer_has_every_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
