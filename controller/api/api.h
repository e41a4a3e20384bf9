/* api - what nodes and people may ask of the controller (docs/protocol.md).
 *
 * One request is one visible chain: find the route, check who it is, read the body, call the
 * route, answer. A route fills in an answer or says what is wrong; it knows no HTTP.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/auth/auth.h"
#include "common/wire/wire.h"
#include "controller/config/config.h"
#include "controller/ledger/store.h"

struct err;
struct api;
struct cycle;
struct exchange;
struct poll;
struct sd_event;
struct server;
struct standing;

struct api_config {
	struct sd_event *event;
	const struct config *config;
	struct store *store;
	struct cycle *cycle;
	struct poll *poll;
	struct standing *standing; /* loaded from the store */
};

int api_open(const struct api_config *c, struct api **ret, struct err *err);
struct api *api_close(struct api *a);
DEFINE_CLEANUP(struct api *, api_close)

/* For the metrics, and for what it refused; it is made after the api that it calls. It is told
 * the addresses of all nodes there are. */
int api_set_server(struct api *a, struct server *s, struct err *err);
/* The server's functions, for the headers of a request and for the whole; ctx is the api. */
void api_admit(void *ctx, struct exchange *x);
void api_handle(void *ctx, struct exchange *x);
/* A scheduling cycle over all clusters, soon; many wishes make one cycle. */
void api_want_cycle(struct api *a);
/* Marks silent nodes lost, ends suspensions that lasted too long, and looks again at jobs that
 * are held back; to be called every few seconds. */
int api_check_nodes(struct api *a, struct err *err);
