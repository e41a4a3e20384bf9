/* SPDX-License-Identifier: GPL-2.0-or-later */
/* auth.c - signs, seals and verifies by munge; see auth.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <munge.h>
#include <nettle/sha2.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "common/auth/auth.h"
#include "common/cleanup.h"
#include "common/err.h"

#define SCHEME "Munge "
#define PAYLOAD_MARK "reeve1 "
#define PAYLOAD_SIZE (sizeof(PAYLOAD_MARK) - 1 + 2 * SHA256_DIGEST_SIZE)
_Static_assert(PAYLOAD_SIZE == AUTH_PAYLOAD_SIZE, "auth.h");
#define NSS_BUFFER_MAX (1 << 20)
#define GROUPS_MAX 65536 /* NGROUPS_MAX of the kernel */

static munge_ctx_t ctx_free(munge_ctx_t c)
{
	munge_ctx_destroy(c);
	return NULL;
}
DEFINE_CLEANUP(munge_ctx_t, ctx_free)

static void make_payload(struct auth_text what, char buf[static PAYLOAD_SIZE + 1])
{
	struct sha256_ctx sha;
	uint8_t digest[SHA256_DIGEST_SIZE];
	int n = sprintf(buf, PAYLOAD_MARK);

	sha256_init(&sha);
	sha256_update(&sha, strlen(what.first), (const uint8_t *)what.first);
	sha256_update(&sha, 1, (const uint8_t *)"\n");
	if (what.second_size)
		sha256_update(&sha, what.second_size, (const uint8_t *)what.second);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		n += sprintf(buf + n, "%02x", digest[i]);
}

/* libmunge retries for seconds when munged does not listen, which an event loop cannot wait for:
 * so check first that munged listens. Connecting a datagram socket finds out without disturbing
 * munged: the kernel answers EPROTOTYPE where a stream socket is bound, ECONNREFUSED where only
 * its file is left. */
static int check_listening(const char *socket_path, struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;

	if (strlen(socket_path) >= sizeof(to.sun_path))
		return err_set(err, -ENAMETOOLONG, "munge socket path too long: %s",
			       socket_path);
	strcpy(to.sun_path, socket_path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, -errno, "make a socket: %m");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EPROTOTYPE)
		return err_set(err, errno == EACCES ? -EACCES : -ENOENT,
			       "munged cannot be reached at %s: %m; start it with "
			       "'systemctl start munge', or set MungeSocket=",
			       socket_path);
	return 0;
}

/* A munge context for the daemon at `socket_path` (NULL or "": libmunge's default), after a check
 * that it listens. */
static int open_ctx(const char *socket_path, munge_ctx_t *ret, struct err *err)
{
	_cleanup_(ctx_freep) munge_ctx_t c = munge_ctx_create();
	const char *path = NULL;
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	if (socket_path && *socket_path &&
	    munge_ctx_set(c, MUNGE_OPT_SOCKET, socket_path) != EMUNGE_SUCCESS)
		return err_set(err, -ENOMEM, "out of memory");
	if (munge_ctx_get(c, MUNGE_OPT_SOCKET, &path) != EMUNGE_SUCCESS || !path)
		return err_set(err, -EINVAL, "libmunge has no socket path");
	r = check_listening(path, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

/* Limits the credential to `ttl_s` seconds and to one reader; NULL: any user may decode it. */
static int restrict_ctx(munge_ctx_t c, int ttl_s, const uint32_t *reader, struct err *err)
{
	if (munge_ctx_set(c, MUNGE_OPT_TTL, ttl_s) != EMUNGE_SUCCESS ||
	    (reader &&
	     munge_ctx_set(c, MUNGE_OPT_UID_RESTRICTION, (uid_t)*reader) != EMUNGE_SUCCESS))
		return err_set(err, -EINVAL, "libmunge: %s", munge_ctx_strerror(c));
	return 0;
}

/* *ret is malloc()ed by libmunge; -ENOENT: munged is away, -EACCES: it refuses. */
static int encode_credential(munge_ctx_t c, const void *data, size_t size, char **ret,
			     struct err *err)
{
	munge_err_t m = munge_encode(ret, c, data, (int)size);

	if (m == EMUNGE_SUCCESS)
		return 0;
	return err_set(err, m == EMUNGE_SOCKET || m == EMUNGE_TIMEOUT ? -ENOENT : -EACCES,
		       "munged did not sign: %s; is it running?",
		       munge_ctx_strerror(c) ?: munge_strerror(m));
}

int auth_sign(const char *socket_path, struct auth_text what, char buf[static AUTH_HEADER_MAX],
	      struct err *err)
{
	_cleanup_(ctx_freep) munge_ctx_t c = NULL;
	_cleanup_free_ char *credential = NULL;
	char payload[PAYLOAD_SIZE + 1];
	int r = open_ctx(socket_path, &c, err);

	if (r >= 0)
		r = restrict_ctx(c, AUTH_TTL_S, what.reader, err);
	if (r < 0)
		return r;
	make_payload(what, payload);
	r = encode_credential(c, payload, PAYLOAD_SIZE, &credential, err);
	if (r < 0)
		return r;
	if (snprintf(buf, AUTH_HEADER_MAX, SCHEME "%s", credential) >= AUTH_HEADER_MAX)
		return err_set(err, -EMSGSIZE, "munge credential longer than %d bytes",
			       AUTH_HEADER_MAX);
	return 0;
}

static int get_who(munge_ctx_t c, uid_t uid, gid_t gid, struct auth_who *ret, struct err *err)
{
	struct auth_who who = { .uid = uid, .gid = gid };
	struct in_addr address;

	if (munge_ctx_get(c, MUNGE_OPT_ADDR4, &address) != EMUNGE_SUCCESS ||
	    !inet_ntop(AF_INET, &address, who.host, sizeof(who.host)))
		return err_set(err, -EACCES, "the credential does not say where it was made");
	*ret = who;
	return 0;
}

/* A cheap check of the form before munged decodes it: any stranger may send such a header, and
 * munged has few threads. */
static bool is_credential(const char *text)
{
	static const char head[] = "MUNGE:";
	size_t n = strlen(text);

	return n > sizeof(head) && strncmp(text, head, sizeof(head) - 1) == 0 &&
	       text[n - 1] == ':' &&
	       strspn(text + sizeof(head) - 1,
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
		       n - sizeof(head);
}

int auth_check(const char *header, struct err *err)
{
	if (!header || strncmp(header, SCHEME, strlen(SCHEME)) != 0)
		return err_set(err, -EACCES, "no munge credential");
	if (strlen(header) >= AUTH_HEADER_MAX)
		return err_set(err, -EACCES, "munge credential too long");
	if (!is_credential(header + strlen(SCHEME)))
		return err_set(err, -EACCES,
			       "this is no munge credential: it is not of the "
			       "form MUNGE:...:");
	return 0;
}

int auth_decode(const char *socket_path, const char *header, struct auth_said *ret,
		struct err *err)
{
	_cleanup_(ctx_freep) munge_ctx_t c = NULL;
	_cleanup_free_ void *said = NULL;
	munge_err_t m;
	uid_t uid;
	gid_t gid;
	int size = 0, r = auth_check(header, err);

	if (r >= 0)
		r = open_ctx(socket_path, &c, err);
	if (r < 0)
		return r;
	m = munge_decode(header + strlen(SCHEME), c, &said, &size, &uid, &gid);
	if (m == EMUNGE_SOCKET || m == EMUNGE_TIMEOUT)
		return err_set(err, -ENOENT, "munged did not answer: %s", munge_strerror(m));
	if (m != EMUNGE_SUCCESS)
		return err_set(err, -EACCES, "%s", munge_ctx_strerror(c) ?: munge_strerror(m));
	if (size != PAYLOAD_SIZE)
		return err_set(err, -EACCES, "the credential was not made for Reeve");
	r = get_who(c, uid, gid, &ret->who, err);
	if (r >= 0)
		memcpy(ret->payload, said, PAYLOAD_SIZE);
	return r;
}

int auth_match(const struct auth_said *said, struct auth_text what, struct err *err)
{
	char payload[PAYLOAD_SIZE + 1];

	make_payload(what, payload);
	if (memcmp(said->payload, payload, PAYLOAD_SIZE) != 0)
		return err_set(err, -EACCES,
			       "the credential was made for another request or body");
	return 0;
}

int auth_verify(const char *socket_path, const char *header, struct auth_text what,
		struct auth_who *ret, struct err *err)
{
	struct auth_said said;
	int r = auth_decode(socket_path, header, &said, err);

	if (r >= 0)
		r = auth_match(&said, what, err);
	if (r >= 0)
		*ret = said.who;
	return r;
}

/* ---- seals ---- */

int auth_seal(const char *socket_path, const struct auth_seal *what, char **ret,
	      struct err *err)
{
	_cleanup_(ctx_freep) munge_ctx_t c = NULL;
	_cleanup_free_ char *credential = NULL;
	int r = what->size > AUTH_SEAL_MAX ? -EMSGSIZE : open_ctx(socket_path, &c, err);

	if (r >= 0)
		r = restrict_ctx(c, AUTH_SEAL_TTL_S, &what->reader, err);
	if (r >= 0)
		r = encode_credential(c, what->text, what->size, &credential, err);
	if (r == -EMSGSIZE || (r >= 0 && strlen(credential) > AUTH_SEAL_MAX))
		return err_set(err, -EMSGSIZE, "what is to be signed is larger than %d KiB",
			       AUTH_SEAL_MAX >> 10);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(credential);
	return 0;
}

void auth_sealed_done(struct auth_sealed *s)
{
	free(s->text);
	*s = (struct auth_sealed){ .text = NULL };
}

/* munged checks the signature first, then the reader, then the time, then for a replay: where it
 * complains of the last two, signature and reader are right. */
static int judge_sealed(munge_ctx_t c, munge_err_t m, struct err *err)
{
	switch (m) {
	case EMUNGE_SUCCESS:
	case EMUNGE_CRED_EXPIRED:
	case EMUNGE_CRED_REPLAYED:
		return 0;
	case EMUNGE_SOCKET:
	case EMUNGE_TIMEOUT:
		return err_set(err, -ENOENT, "munged did not answer: %s", munge_strerror(m));
	case EMUNGE_CRED_REWOUND:
		return err_set(err, -EACCES,
			       "it was made in the future by this machine's clock; set the "
			       "clocks");
	default:
		return err_set(err, -EACCES, "%s", munge_ctx_strerror(c) ?: munge_strerror(m));
	}
}

int auth_unseal(const char *socket_path, const char *credential, struct auth_sealed *ret,
		struct err *err)
{
	_cleanup_(ctx_freep) munge_ctx_t c = NULL;
	_cleanup_free_ void *text = NULL;
	struct auth_sealed s = { .text = NULL };
	time_t made = 0;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	munge_err_t m;
	int size = 0, r;

	if (strnlen(credential, AUTH_SEAL_MAX + 1) > AUTH_SEAL_MAX)
		return err_set(err, -EACCES, "munge credential too long");
	r = open_ctx(socket_path, &c, err);
	if (r < 0)
		return r;
	m = munge_decode(credential, c, &text, &size, &uid, &gid);
	r = judge_sealed(c, m, err);
	if (r < 0)
		return r;
	if (!text || size < 0 ||
	    munge_ctx_get(c, MUNGE_OPT_ENCODE_TIME, &made) != EMUNGE_SUCCESS)
		return err_set(err, -EACCES, "the credential holds nothing");
	r = get_who(c, uid, gid, &s.who, err);
	if (r < 0)
		return r;
	s.made_s = made;
	s.size = (size_t)size;
	s.text = TAKE_PTR(text); /* munge_decode() adds a NUL */
	*ret = s;
	return 0;
}

/* ---- users and groups ---- */

/* Doubles the buffer of an NSS call that returned ERANGE: entries have no upper size. -ERANGE:
 * NSS_BUFFER_MAX was not enough. */
static int grow_buffer(char **buf, size_t *size, struct err *err)
{
	size_t larger = *size ? *size * 2 : 4096;
	char *p;

	if (larger > NSS_BUFFER_MAX)
		return err_set(err, -ERANGE, "a user entry larger than %d bytes",
			       NSS_BUFFER_MAX);
	p = realloc(*buf, larger);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	*buf = p;
	*size = larger;
	return 0;
}

int auth_user_name(uint32_t uid, char *buf, size_t size, struct err *err)
{
	_cleanup_free_ char *space = NULL;
	size_t space_size = 0;
	struct passwd entry, *found = NULL;
	int e;

	do {
		int r = grow_buffer(&space, &space_size, err);

		if (r < 0)
			return r;
		e = getpwuid_r(uid, &entry, space, space_size, &found);
	} while (e == ERANGE);
	if (!found)
		return err_set(err, -ENOENT, "uid %u has no user name on this machine%s%s", uid,
			       e ? ": " : "", e ? strerror(e) : "");
	if (strlen(found->pw_name) >= size)
		return err_set(err, -ERANGE, "the name of uid %u is too long", uid);
	strcpy(buf, found->pw_name);
	return 0;
}

int auth_user_lookup(const char *name, uint32_t *ret_uid, uint32_t *ret_gid, struct err *err)
{
	_cleanup_free_ char *space = NULL;
	size_t space_size = 0;
	struct passwd entry, *found = NULL;
	int e;

	do {
		int r = grow_buffer(&space, &space_size, err);

		if (r < 0)
			return r;
		e = getpwnam_r(name, &entry, space, space_size, &found);
	} while (e == ERANGE);
	if (!found)
		return err_set(err, -ENOENT, "no user '%.64s' on this machine%s%s", name,
			       e ? ": " : "", e ? strerror(e) : "");
	*ret_uid = found->pw_uid;
	*ret_gid = found->pw_gid;
	return 0;
}

int auth_group_lookup(const char *name, uint32_t *ret_gid, struct err *err)
{
	_cleanup_free_ char *space = NULL;
	size_t space_size = 0;
	struct group entry, *found = NULL;
	int e;

	do {
		int r = grow_buffer(&space, &space_size, err);

		if (r < 0)
			return r;
		e = getgrnam_r(name, &entry, space, space_size, &found);
	} while (e == ERANGE);
	if (!found)
		return err_set(err, -ENOENT, "no group '%.64s' on this machine%s%s", name,
			       e ? ": " : "", e ? strerror(e) : "");
	*ret_gid = found->gr_gid;
	return 0;
}

/* getgrouplist() returns -1 where `n` is too small, and sets it to the number that it needs. A uid
 * without a name has the one group `gid`. */
int auth_user_groups(uint32_t uid, uint32_t gid, uint32_t **ret, size_t *ret_n, struct err *err)
{
	_cleanup_free_ gid_t *groups = NULL;
	int n = 64, room = 0, r;
	char name[256];

	r = auth_user_name(uid, name, sizeof(name), err);
	if (r < 0 && r != -ENOENT)
		return r;
	do {
		gid_t *more = realloc(groups, (size_t)n * sizeof(*groups));

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		groups = more;
		room = n;
		groups[0] = gid;
		if (r == -ENOENT)
			n = 1;
	} while (r == 0 && getgrouplist(name, gid, groups, &n) < 0 && n > room &&
		 n <= GROUPS_MAX);
	if (n > room)
		return err_set(err, -ERANGE, "user %.64s is in more than %d groups", name,
			       GROUPS_MAX);
	_Static_assert(sizeof(gid_t) == sizeof(uint32_t),
		       "the array of gid_t is returned as uint32_t");
	*ret = TAKE_PTR(groups);
	*ret_n = (size_t)n;
	return 0;
}
