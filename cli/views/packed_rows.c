/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed_rows.c - see packed_rows.h. */
#include <errno.h>
#include <string.h>
#include "cli/views/packed_rows.h"
#include "common/err.h"
#include "common/wire/wire.h"

static int find_key(const char *const *keys, size_t n, const json_t *name, size_t *ret)
{
	const char *text = json_string_value(name);

	for (size_t k = 0; text && k < n; k++)
		if (!strcmp(text, keys[k])) {
			*ret = k;
			return 1;
		}
	*ret = SIZE_MAX;
	return 0;
}

int packed_rows_open(const json_t *answer, const char *const *keys, size_t n,
		     struct packed_rows *ret, struct err *err)
{
	const json_t *columns = json_object_get(answer, "columns"), *name;
	bool has[PACKED_COLUMNS_MAX] = { false };
	size_t i, size;
	const uint8_t *bytes = wire_attached(answer, &size);

	*ret = (struct packed_rows){ .n_columns = json_array_size(columns) };
	if (!bytes || !ret->n_columns || ret->n_columns > PACKED_COLUMNS_MAX)
		return err_set(err, -EPROTO,
			       "the controller's answer has no packed rows; is it older than "
			       "this command?");
	ret->from = (struct rowpack_reader){ bytes, bytes + size };
	json_array_foreach(columns, i, name)
	{
		if (find_key(keys, n, name, &ret->cell[i]))
			has[ret->cell[i]] = true;
	}
	for (size_t k = 0; k < n; k++)
		if (!has[k])
			return err_set(
				err, -EPROTO,
				"the controller's answer has no column '%s'; is it older "
				"than this command?",
				keys[k]);
	return 0;
}

int packed_rows_next(struct packed_rows *r, struct rowpack_value *cells, struct err *err)
{
	struct rowpack_value unused;
	int got;

	for (size_t i = 0; i < r->n_columns; i++) {
		got = rowpack_next(&r->from,
				   r->cell[i] == SIZE_MAX ? &unused : &cells[r->cell[i]], err);
		if (got == 0 && i == 0)
			return 0;
		if (got == 0)
			got = err_set(err, -EPROTO, "the last row is cut");
		if (got < 0)
			return err_prefix(err, got, "the controller's answer cannot be read");
	}
	return 1;
}
