/* intent - a start that was decided and waits for cores: those who give way have been asked to,
 * and are not suspended yet. Kept in memory alone: a controller that starts anew decides anew,
 * and those who gave way go on by its next cycles. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/request.h"

/* So long the cores may take to come; then it is decided anew. */
#define INTENT_KEEP_NS INT64_C(60000000000)

struct intent {
	int64_t job, since_ns;
	char (*nodes)[REQUEST_NAME_MAX]; /* of each chunk, one by one */
	size_t n;
};
struct intents {
	struct intent *of;
	size_t n, max;
};

const struct intent *intents_find(const struct intents *all, int64_t job);
/* i->nodes, malloc()ed, is taken over, also where it fails. -ENOMEM. */
int intents_add(struct intents *all, const struct intent *i);
void intents_drop(struct intents *all, int64_t job);
void intents_done(struct intents *all);
