/* adopt.h - takes sessions (ssh) of users into their jobs; see agent/launch/adopt.h. */
#pragma once
#include "agent/node.h"

struct adopter;

/* Listens at RUN/adopt.sock. */
int adopter_open(struct node *n, struct adopter **ret, struct err *err);
struct adopter *adopter_close(struct adopter *a);
