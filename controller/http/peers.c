/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peers.c - a hash table of addresses and users, and token buckets; see peers.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "controller/http/peers.h"

#define BUCKETS 4096 /* a power of two */

enum kind { KIND_NONE, KIND_V4, KIND_V6, KIND_UID, KIND_REST };

struct peers {
	struct peer *at[BUCKETS];
	struct peer rest; /* all peers together for which the table has no room */
	int64_t n;
	uint64_t seed;
};

/* An IPv4 address on a v6 socket (::ffff:a.b.c.d) is the IPv4 peer. */
static void set_v6(const struct in6_addr *a, struct peer_key *ret)
{
	if (IN6_IS_ADDR_V4MAPPED(a)) {
		ret->bytes[0] = KIND_V4;
		memcpy(ret->bytes + 1, a->s6_addr + 12, 4);
		return;
	}
	ret->bytes[0] = KIND_V6;
	memcpy(ret->bytes + 1, a->s6_addr, 8);
}

void peer_key_address(const struct sockaddr *a, struct peer_key *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (a->sa_family == AF_INET) {
		ret->bytes[0] = KIND_V4;
		memcpy(ret->bytes + 1, &((const struct sockaddr_in *)(const void *)a)->sin_addr,
		       4);
	}
	if (a->sa_family == AF_INET6)
		set_v6(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, ret);
}

int peer_key_parse(const char *text, struct peer_key *ret)
{
	struct in6_addr a;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, ret->bytes + 1) == 1) {
		ret->bytes[0] = KIND_V4;
		return 0;
	}
	if (inet_pton(AF_INET6, text, &a) != 1)
		return -EINVAL;
	set_v6(&a, ret);
	return 0;
}

void peer_key_uid(uint32_t uid, struct peer_key *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->bytes[0] = KIND_UID;
	memcpy(ret->bytes + 1, &uid, sizeof(uid));
}

const char *peer_key_format(const struct peer_key *key, char buf[static PEER_TEXT_MAX])
{
	uint8_t v6[16] = { 0 };
	uint32_t uid;

	strcpy(buf, "other addresses");
	if (key->bytes[0] == KIND_V4)
		inet_ntop(AF_INET, key->bytes + 1, buf, PEER_TEXT_MAX);
	if (key->bytes[0] == KIND_UID) {
		memcpy(&uid, key->bytes + 1, sizeof(uid));
		snprintf(buf, PEER_TEXT_MAX, "uid %u", uid);
	}
	if (key->bytes[0] == KIND_V6) {
		memcpy(v6, key->bytes + 1, 8);
		inet_ntop(AF_INET6, v6, buf, PEER_TEXT_MAX - 4);
		strcat(buf, "/64");
	}
	return buf;
}

struct peers *peers_new(uint64_t seed)
{
	struct peers *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->seed = seed;
	p->rest.key.bytes[0] = KIND_REST;
	return p;
}

struct peers *peers_free(struct peers *p)
{
	for (size_t i = 0; p && i < BUCKETS; i++)
		while (p->at[i]) {
			struct peer *gone = p->at[i];

			p->at[i] = gone->next;
			free(gone);
		}
	free(p);
	return NULL;
}

static struct peer **bucket_of(struct peers *p, const struct peer_key *key)
{
	uint64_t h = hash_bytes(p->seed, key->bytes, sizeof(key->bytes));

	return &p->at[hash_fold(h) & (BUCKETS - 1)];
}

struct peer *peers_get(struct peers *p, const struct peer_key *key)
{
	struct peer **bucket = bucket_of(p, key), *one;

	for (one = *bucket; one; one = one->next)
		if (!memcmp(&one->key, key, sizeof(*key)))
			return one;
	if (p->n >= PEERS_MAX)
		return &p->rest;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->key = *key;
	one->next = *bucket;
	*bucket = one;
	p->n++;
	return one;
}

static bool is_idle(const struct peer *one, int64_t now_ns)
{
	return !one->n_open && !one->n_refs && !one->body_bytes && !one->is_node &&
	       one->credit_ns <= now_ns && one->ask_ns <= now_ns && one->tls_ns <= now_ns;
}

void peers_prune(struct peers *p, int64_t now_ns)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct peer **at = &p->at[i], *one; (one = *at);) {
			if (!is_idle(one, now_ns)) {
				at = &one->next;
				continue;
			}
			*at = one->next;
			free(one);
			p->n--;
		}
}

void peer_mark_node(struct peer *one)
{
	one->is_node |= one->key.bytes[0] == KIND_V4 || one->key.bytes[0] == KIND_V6;
}

int64_t peers_count(const struct peers *p)
{
	return p->n;
}

/* A token bucket in one number: credit_ns is the time at which it will be full again (GCRA,
 * ITU-T I.371). Each token taken moves it by every_ns; a bucket of `burst` is empty when it
 * lies more than burst - 1 of them ahead. */
bool peer_has_credit(int64_t credit_ns, struct peer_rate rate, int64_t now_ns)
{
	return credit_ns - now_ns <= rate.every_ns * (rate.burst - 1);
}

void peer_charge(int64_t *credit_ns, struct peer_rate rate, int64_t now_ns)
{
	if (!peer_has_credit(*credit_ns, rate, now_ns))
		return;
	if (*credit_ns < now_ns)
		*credit_ns = now_ns;
	*credit_ns += rate.every_ns;
}

bool peer_has_time(int64_t credit_ns, struct peer_budget budget, int64_t now_ns)
{
	return credit_ns - now_ns < budget.burst_ns * budget.part;
}

void peer_spend(int64_t *credit_ns, struct peer_budget budget, int64_t spent_ns, int64_t now_ns)
{
	if (spent_ns > 0 && *credit_ns < now_ns)
		*credit_ns = now_ns;
	*credit_ns += spent_ns * budget.part;
}
