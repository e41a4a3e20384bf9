/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nettle.c - the functions of libnettle that common/seal calls, loaded by the waiters of interactive steps alone: a launcher that were linked
 * with it would start later in every job, and be larger there. */
#include <dlfcn.h>
#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/version.h>
#include "agent/launch/step/step_impl.h"
#include "common/err.h"

#define LIBRARY "libnettle.so.8"
_Static_assert(NETTLE_VERSION_MAJOR == 3, "the name of the library is that of nettle 3");

static struct {
	__typeof__(&hmac_sha256_set_key) set_key;
	__typeof__(&hmac_sha256_update) update;
	__typeof__(&hmac_sha256_digest) digest;
} found;

int step_nettle_load(struct err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library) {
		*(void **)(void *)&found.set_key = dlsym(library, "nettle_hmac_sha256_set_key");
		*(void **)(void *)&found.update = dlsym(library, "nettle_hmac_sha256_update");
		*(void **)(void *)&found.digest = dlsym(library, "nettle_hmac_sha256_digest");
	}
	if (found.set_key && found.update && found.digest)
		return 0;
	return err_set(err, -ENOENT,
		       "interactive commands need " LIBRARY " on the node (package "
		       "libnettle8): %s",
		       dlerror() ?: "it lacks a function");
}

void hmac_sha256_set_key(struct hmac_sha256_ctx *ctx, size_t size, const uint8_t *key)
{
	found.set_key(ctx, size, key);
}

void hmac_sha256_update(struct hmac_sha256_ctx *ctx, size_t size, const uint8_t *data)
{
	found.update(ctx, size, data);
}

void hmac_sha256_digest(struct hmac_sha256_ctx *ctx, size_t size, uint8_t *digest)
{
	found.digest(ctx, size, digest);
}
