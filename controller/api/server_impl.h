/* server_impl - what server.c and server_exchange.c share; nobody else includes it. */
#pragma once
#include <microhttpd.h>
#include "controller/api/server.h"

#define SERVER_ALL_BODIES_MAX (128LL << 20)

enum connection_phase {
	PHASE_IDLE,   /* nothing of a request seen */
	PHASE_READ,   /* the request line is there */
	PHASE_HANDLE, /* with the handler, or held: takes what it takes */
	PHASE_WRITE,  /* the answer is on its way */
};

struct connection {
	struct connection *next, *previous;
	struct MHD_Connection *mhd;
	enum connection_phase phase;
	int64_t since_ns;
};

struct server {
	struct server_config config;
	struct MHD_Daemon *daemon;
	struct sd_event_source *io, *timer, *sweep;
	struct connection *connections;
	struct exchange *held; /* all exchanges between suspend and resume */
	bool has_resumed;      /* libmicrohttpd is to be run again */
	bool is_closing;       /* whatever comes now is answered with 503 */
	bool has_freed;	       /* memory that may go back to the kernel */
	int64_t body_bytes;
	struct server_counts counts;
};

int64_t server_now_ns(void);
/* Without a thread of its own libmicrohttpd does not notice a resume by itself. */
void server_note_resume(struct server *s);
void connection_set_phase(struct MHD_Connection *mhd, enum connection_phase phase);

/* libmicrohttpd's callbacks, in server_exchange.c. */
void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result exchange_access(void *cls, struct MHD_Connection *mhd, const char *url,
				const char *method, const char *version, const char *data,
				size_t *size, void **ctx);
void exchange_end(void *cls, struct MHD_Connection *mhd, void **ctx,
		  enum MHD_RequestTerminationCode why);
/* Resume every held exchange with 503, for closing. */
void exchange_drop_held(struct server *s);
