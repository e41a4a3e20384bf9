/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adopt.h - moves ssh sessions of users into their jobs, for pam_reeve (agent/launch/adopt.h). */
#pragma once
#include "agent/node.h"

struct adopt_server;

/* Listens at RUN/adopt.sock, to which only root may send. */
int adopt_server_open(struct node *n, struct adopt_server **ret, struct err *err);
struct adopt_server *adopt_server_close(struct adopt_server *a);
