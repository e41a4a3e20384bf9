/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curl.c - loads libcurl when it is first needed; see curl.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/http/curl.h"

struct curl curl;

/* The same library, built with one or the other for TLS: whichever is there. */
static const char *const libraries[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define CURL_ENTRY(name) { "curl_" #name, offsetof(struct curl, name) },
	CURL_FUNCTIONS(CURL_ENTRY)
#undef CURL_ENTRY
};

static int find_functions(void *library, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f)
			return err_set(err, -ENOENT, "libcurl has no %s: a newer one is needed",
				       functions[i].name);
		*(void **)(void *)((char *)&curl + functions[i].offset) = f;
	}
	return 0;
}

int curl_load(struct err *err)
{
	static void *library;
	void *found = NULL;
	int r;

	if (library)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(libraries) && !found; i++)
		found = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	if (!found)
		return err_set(err, -ENOENT,
			       "talking to the controller needs libcurl (package "
			       "libcurl3-gnutls): %s",
			       dlerror());
	r = find_functions(found, err);
	if (r < 0)
		dlclose(found);
	else
		library = found;
	return r;
}
