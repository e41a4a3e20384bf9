/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_scan.c - any bytes: what parses holds exactly the objects, arrays and levels that were
 * counted before, and no more values and keys than that.
 *
 * links: common/err common/wire/wire_scan
 *
 * libs: -ljansson
 */
#include <stdint.h>
#include <stdlib.h>
#include "common/err.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_tree(const json_t *j, size_t depth, struct wire_bounds *n)
{
	const char *key;
	json_t *v;
	size_t i;

	n->elements++;
	if (!json_is_object(j) && !json_is_array(j))
		return;
	n->containers++;
	if (depth > n->depth)
		n->depth = depth;
	json_array_foreach(j, i, v) count_tree(v, depth + 1, n);
	json_object_foreach((json_t *)(uintptr_t)j, key, v)
	{
		n->elements++;
		count_tree(v, depth + 1, n);
	}
}

static void must_refuse(const uint8_t *data, size_t size, struct wire_bounds max)
{
	struct err err;

	if (wire_scan((const char *)data, size, &max, &err) == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *j =
		json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct wire_bounds n = { 0 }, max;
	struct err err;

	max = (struct wire_bounds){ SIZE_MAX, SIZE_MAX, SIZE_MAX };
	if (wire_scan((const char *)data, size, &max, &err) != 0)
		abort();
	if (!j)
		return 0;
	count_tree(j, 1, &n);
	max = n;
	max.elements += n.containers; /* an empty one is counted as if it had one */
	if (wire_scan((const char *)data, size, &max, &err) != 0)
		abort();
	must_refuse(data, size, (struct wire_bounds){ n.elements - 1, SIZE_MAX, SIZE_MAX });
	must_refuse(data, size, (struct wire_bounds){ SIZE_MAX, n.containers - 1, SIZE_MAX });
	must_refuse(data, size, (struct wire_bounds){ SIZE_MAX, SIZE_MAX, n.depth - 1 });
	return 0;
}
