/* adopt.h - takes sessions (ssh) of users into their jobs; see agent/launch/adopt.h. */
#pragma once
#include "agent/node.h"

struct adopt_server;

/* Listens at RUN/adopt.sock. */
int adopt_server_open(struct node *n, struct adopt_server **ret, struct err *err);
struct adopt_server *adopt_server_close(struct adopt_server *a);
