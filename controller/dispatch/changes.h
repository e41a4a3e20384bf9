/* changes - which jobs of the ledger were written since the queue was last read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than so many at once: reading all is then as fast. */
#define CHANGES_MAX 16384

struct changes {
	int64_t *jobs; /* in no order; some more than once */
	size_t n, max;
	bool is_all; /* too many, or not known: all may have changed */
};

void changes_add(struct changes *c, int64_t job);
/* All that is known so far, each job once, by number; *c begins anew. The caller's to free by
 * changes_done(). */
struct changes changes_take(struct changes *c);
void changes_done(struct changes *c);
