/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows_csv.c - flattens objects and writes them as CSV; see rows_csv.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/web/rows_csv.h"

/* {"requested.ncpus": 2, ...}: all scalars of the object, one level of objects in it included. */
static int flatten_object(const json_t *row, const char *above, json_t *to)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)row, name, value)
	{
		char path[160];

		snprintf(path, sizeof(path), "%s%s%s", above, *above ? "." : "", name);
		if (json_is_object(value) && !*above) {
			if (flatten_object(value, name, to) < 0)
				return -ENOMEM;
		} else if (!json_is_object(value) && !json_is_array(value) &&
			   json_object_set(to, path, value) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static const json_t *find_rows(const json_t *doc)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)doc, name, value) if (json_is_array(value)) return value;
	return NULL;
}

static void write_scalar(FILE *to, const json_t *value)
{
	char buf[48];

	if (json_is_string(value)) {
		csv_write_field(json_string_value(value), to);
	} else if (json_is_integer(value)) {
		snprintf(buf, sizeof(buf), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		fputs(buf, to);
	} else if (json_is_real(value)) {
		snprintf(buf, sizeof(buf), "%.17g", json_real_value(value));
		fputs(buf, to);
	} else if (json_is_boolean(value)) {
		fputs(json_is_true(value) ? "true" : "false", to);
	}
}

static void write_table(FILE *to, const json_t *rows, const json_t *columns)
{
	const char *name, *between = "";
	json_t *row, *value;
	size_t i;

	json_object_foreach((json_t *)columns, name, value)
	{
		fputs(between, to);
		csv_write_field(name, to);
		between = ",";
	}
	fputc('\n', to);
	json_array_foreach((json_t *)rows, i, row)
	{
		between = "";
		json_object_foreach((json_t *)columns, name, value)
		{
			fputs(between, to);
			write_scalar(to, json_object_get(row, name));
			between = ",";
		}
		fputc('\n', to);
	}
}

static int flatten_rows(const json_t *from, const json_t *doc, json_t *rows, json_t *columns)
{
	size_t n = from ? json_array_size(from) : 1;

	for (size_t i = 0; i < n; i++) {
		const json_t *row = from ? json_array_get(from, i) : doc;
		json_t *flat = json_object();

		if (!flat || json_array_append_new(rows, flat) < 0 ||
		    flatten_object(row, "", flat) < 0 ||
		    json_object_update_missing(columns, flat) < 0)
			return -ENOMEM;
	}
	return 0;
}

int rows_csv_format(const json_t *doc, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_json_ json_t *rows = json_array();
	_cleanup_json_ json_t *columns = json_object();
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to;

	if (!rows || !columns || flatten_rows(find_rows(doc), doc, rows, columns) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	to = open_memstream(&text, &size);
	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	write_table(to, rows, columns);
	if (fclose(to) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}
