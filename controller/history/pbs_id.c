/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs_id.c - ids of PBS as numbers and clusters; see pbs.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "common/cleanup.h"
#include "controller/history/pbs.h"
#include "controller/history/pbs_resources.h"

int pbs_number(int64_t sequence, int64_t index, int64_t *ret)
{
	static const struct {
		int sequence_bits, index_bits, base_bit;
	} rows[] = { { 25, 14, 39 }, { 27, 11, 38 }, { 29, 8, 37 }, { 16, 20, 36 } };

	if (sequence < 0)
		return -ERANGE;
	if (index < 0) {
		*ret = sequence;
		return sequence < 1LL << 36 ? 0 : -ERANGE;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (sequence < 1LL << rows[i].sequence_bits &&
		    index < 1LL << rows[i].index_bits) {
			*ret = (1LL << rows[i].base_bit) + (index << rows[i].sequence_bits) +
			       sequence;
			return 0;
		}
	return -ERANGE;
}

/* Digits at *at; false where there are none. */
static bool read_digits(const char **at, const char *end, int64_t *ret)
{
	const char *from = *at;

	while (*at < end && **at >= '0' && **at <= '9')
		++*at;
	return history_parse_int(from, (size_t)(*at - from), ret) == 0;
}

/* "12.server", "12[3].server", "12-3.server" (older Torque). A whole array is "12[].server". */
int pbs_parse_id(struct history_text id, struct history_job *ret)
{
	const char *at = id.at, *end = id.at + id.size, *dot;
	int64_t sequence, index = -1;

	if (!read_digits(&at, end, &sequence))
		return HISTORY_GARBAGE;
	if (at < end && (*at == '[' || *at == '-')) {
		bool is_bracket = *at++ == '[';

		if (is_bracket && at < end && *at == ']')
			return PBS_NO_JOB;
		if (!read_digits(&at, end, &index) ||
		    (is_bracket && (at == end || *at++ != ']')))
			return HISTORY_GARBAGE;
	}
	if (at < end && *at != '.')
		return HISTORY_GARBAGE;
	at += at < end;
	dot = memchr(at, '.', (size_t)(end - at));
	if (!history_copy_name(at, (size_t)((dot ? dot : end) - at), ret->cluster))
		return HISTORY_NO_NAME;
	return pbs_number(sequence, index, &ret->number) < 0 ? HISTORY_OUT_OF_RANGE
							     : HISTORY_OK;
}
