/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_rowpack.c - any bytes: what is read as values is written as the same bytes again, texts end within the bytes, and reading ends.
 *
 * links: common/err common/utf8 common/wire/rows/rowpack
 *
 * libs: -lm
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/rows/rowpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_again(struct rowpack_writer *w, const struct rowpack_value *v)
{
	switch (v->kind) {
	case ROWPACK_INT:
		rowpack_put_int(w, v->n);
		break;
	case ROWPACK_REAL:
		rowpack_put_real(w, v->real);
		break;
	case ROWPACK_TEXT:
		rowpack_put_text(w, v->text);
		break;
	case ROWPACK_JSON:
		rowpack_put_json(w, v->text);
		break;
	case ROWPACK_FALSE:
	case ROWPACK_TRUE:
		rowpack_put_bool(w, v->kind == ROWPACK_TRUE);
		break;
	case ROWPACK_NULL:
	case _ROWPACK_KIND_MAX:
		rowpack_put_null(w);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rowpack_reader r = { data, data + size };
	struct rowpack_writer w = { 0 };
	struct rowpack_value v;
	const uint8_t *before = data;
	struct err err;
	size_t was = 0;

	for (; rowpack_next(&r, &v, &err) > 0; before = r.at, was = w.size) {
		if (r.at <= before || (v.text && strlen(v.text) != v.size))
			abort();
		put_again(&w, &v);
		if (w.has_failed)
			break;
		if (v.kind == ROWPACK_TEXT && !utf8_is_valid(v.text))
			continue; /* it is mended */
		if (w.size - was != (size_t)(r.at - before) ||
		    memcmp(w.data + was, before, w.size - was) != 0)
			abort();
	}
	rowpack_done(&w);
	return 0;
}
