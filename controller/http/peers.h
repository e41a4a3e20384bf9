/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peers - counts what each address, and each user with a good credential, has in use of the
 * server.
 *
 * An IPv6 peer is its /64: one machine usually has a whole /64. When the table is full, all
 * further peers are one peer and share its quota. Pure but for memory; times come from the
 * caller.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

struct peers;
struct sockaddr;

#define PEERS_MAX 16384

struct peer_key {
	uint8_t bytes[17]; /* the kind, then what tells it from others of its kind */
};
/* All that are not IP addresses are one peer. */
void peer_key_address(const struct sockaddr *a, struct peer_key *ret);
/* A numeric address. -EINVAL. */
int peer_key_parse(const char *text, struct peer_key *ret);
void peer_key_uid(uint32_t uid, struct peer_key *ret);

struct peer {
	struct peer *next; /* the table's */
	struct peer_key key;
	int64_t credit_ns; /* peer_charge(): of wrong credentials */
	int64_t ask_ns;	   /* the same, of requests without one */
	int64_t tls_ns; /* peer_spend(): CPU time of TLS handshakes that no credential followed */
	int64_t n_open;	    /* connections; of an address: those without a good credential */
	int64_t n_refs;	    /* pointers to it in connections: not freed while there are any */
	int64_t body_bytes; /* of requests that are under way */
	bool is_node;	    /* an address that nodes connect from: never forgotten */
	struct connection *first; /* the server's: those of n_open */
};

/* NULL: out of memory. `seed` of the hash must be secret, or peers could choose colliding
 * addresses. */
struct peers *peers_new(uint64_t seed);
struct peers *peers_free(struct peers *p);
DEFINE_CLEANUP(struct peers *, peers_free)
/* Finds or adds a peer. NULL: out of memory. It stays while it has anything open, and until
 * peers_prune() otherwise. */
struct peer *peers_get(struct peers *p, const struct peer_key *key);
/* Forgets peers that have nothing in use and whose buckets are full. */
void peers_prune(struct peers *p, int64_t now_ns);
/* Nodes connect from this address. */
void peer_mark_node(struct peer *one);
int64_t peers_count(const struct peers *p);

/* A bucket of `burst` that fills by one in `every_ns`. */
struct peer_rate {
	int64_t every_ns, burst;
};
/* Is there a token left in the bucket? */
bool peer_has_credit(int64_t credit_ns, struct peer_rate rate, int64_t now_ns);
/* Takes a token; nothing where there is none. */
void peer_charge(int64_t *credit_ns, struct peer_rate rate, int64_t now_ns);
/* CPU time: at most 1/part of a core in the long run, and burst_ns at once. */
struct peer_budget {
	int64_t part, burst_ns;
};
bool peer_has_time(int64_t credit_ns, struct peer_budget budget, int64_t now_ns);
/* Time below 0 is given back. */
void peer_spend(int64_t *credit_ns, struct peer_budget budget, int64_t spent_ns,
		int64_t now_ns);
/* "192.0.2.7", "2001:db8::/64", "uid 12" */
#define PEER_TEXT_MAX 64
const char *peer_key_format(const struct peer_key *key, char buf[static PEER_TEXT_MAX]);
