/* server.h - the socket at which slurmd's and slurmstepd's plugin asks (common/wire/slurm.h). */
#pragma once
#include "agent/node.h"

struct slurm_server;

/* Listens at RunDirectory/slurm.sock. */
int slurm_server_open(struct node *n, struct slurm_server **ret, struct err *err);
struct slurm_server *slurm_server_close(struct slurm_server *s);
