/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pq - libpq, loaded (dlopen) when a ledger in PostgreSQL is opened and not before: a controller with
 * a ledger in SQLite runs without the library. Calls are written pq.PQexec(...). */
#pragma once
#include <libpq-fe.h>

struct err;

#define PQ_FUNCTIONS(X)                                                                        \
	X(PQclear)                                                                             \
	X(PQcmdTuples)                                                                         \
	X(PQconnectdb)                                                                         \
	X(PQdb)                                                                                \
	X(PQerrorMessage)                                                                      \
	X(PQescapeLiteral)                                                                     \
	X(PQexec)                                                                              \
	X(PQenterPipelineMode)                                                                 \
	X(PQexecParams)                                                                        \
	X(PQexecPrepared)                                                                      \
	X(PQexitPipelineMode)                                                                  \
	X(PQfinish)                                                                            \
	X(PQflush)                                                                             \
	X(PQfreemem)                                                                           \
	X(PQgetCopyData)                                                                       \
	X(PQgetResult)                                                                         \
	X(PQgetisnull)                                                                         \
	X(PQgetvalue)                                                                          \
	X(PQhost)                                                                              \
	X(PQnfields)                                                                           \
	X(PQntuples)                                                                           \
	X(PQpipelineSync)                                                                      \
	X(PQprepare)                                                                           \
	X(PQputCopyData)                                                                       \
	X(PQputCopyEnd)                                                                        \
	X(PQreset)                                                                             \
	X(PQsendFlushRequest)                                                                  \
	X(PQsendQueryPrepared)                                                                 \
	X(PQresultErrorField)                                                                  \
	X(PQresultStatus)                                                                      \
	X(PQstatus)                                                                            \
	X(PQtransactionStatus)                                                                 \
	X(PQunescapeBytea)

struct pq {
#define PQ_MEMBER(name) __typeof__(name) *name;
	PQ_FUNCTIONS(PQ_MEMBER)
#undef PQ_MEMBER
};
extern struct pq pq; /* its functions are set by pq_load() */

/* -ENOENT: there is no libpq.so.5 here, or it lacks a function: the message names it. */
int pq_load(struct err *err);
