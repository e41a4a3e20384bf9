/* SPDX-License-Identifier: GPL-2.0-or-later */
/* question.c - the fields of the exchange between PBS's hook and the agent; see question.h. */
#include "agent/pbs/question.h"

static const char *ask_name(int v)
{
	static const char *const names[] = { "launch",	"attach", "end",
					     "suspend", "resume", "alive" };

	_Static_assert(ARRAY_LEN(names) == _PBS_ASK_MAX, "a name for each question");
	return v >= 0 && v < _PBS_ASK_MAX ? names[v] : NULL;
}

static const char *verdict_name(int v)
{
	static const char *const names[] = { "go", "refused", "ended" };

	_Static_assert(ARRAY_LEN(names) == _PBS_VERDICT_MAX, "a name for each verdict");
	return v >= 0 && v < _PBS_VERDICT_MAX ? names[v] : NULL;
}

#define PBS_AMOUNT_MAX                                                                         \
	(INT64_MAX / 1024) /* as in a sync: amounts of many nodes can be added up */
#define NUMBER(field, least, most, otherwise)                                                  \
	WIRE_INT_OR(struct pbs_question, field, least, most, otherwise, WIRE_OPTIONAL)
#define WORD(field) WIRE_CHARS(struct pbs_question, field, WIRE_OPTIONAL)
const struct wire_field pbs_question_fields[] = {
	WIRE_INT(struct pbs_question, version, 0, INT32_MAX),
	WIRE_WORD(struct pbs_question, "ask", ask, ask_name),
	WORD(id),
	NUMBER(run, 0, INT32_MAX, 0),
	NUMBER(uid, 0, UINT32_MAX, UINT32_MAX),
	NUMBER(gid, 0, UINT32_MAX, UINT32_MAX),
	WORD(user),
	WORD(account),
	WORD(queue),
	NUMBER(ncpus, 0, 1 << 20, 0),
	NUMBER(mem_bytes, 0, PBS_AMOUNT_MAX, 0),
	NUMBER(vmem_bytes, 0, PBS_AMOUNT_MAX, 0),
	NUMBER(jobfs_bytes, 0, PBS_AMOUNT_MAX, 0),
	WIRE_FLAG(struct pbs_question, "vmem_refuses", vmem_refuses),
	NUMBER(nodes, 0, 1 << 20, 0),
	NUMBER(job_ncpus, 0, 1 << 20, 0),
	NUMBER(ngpus, 0, 1 << 20, 0),
	NUMBER(job_ngpus, 0, 1 << 20, 0),
	WORD(gpus),
	WIRE_FLAG(struct pbs_question, "first", first),
	NUMBER(pid, 0, INT32_MAX, 0),
	NUMBER(wait_status, -1, 65535, -1),
	WORD(end_text),
	WORD(jobs),
	WIRE_END,
};

const struct wire_field pbs_answer_fields[] = {
	WIRE_INT(struct pbs_answer, version, 0, INT32_MAX),
	WIRE_WORD(struct pbs_answer, "verdict", verdict, verdict_name),
	WIRE_CHARS(struct pbs_answer, tmpdir, WIRE_OMIT),
	WIRE_CHARS(struct pbs_answer, text, WIRE_OMIT),
	WIRE_END,
};
