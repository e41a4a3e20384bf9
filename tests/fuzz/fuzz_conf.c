/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_conf - any bytes as a configuration file: no crash, no leak, and every refusal has
 * words.
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/features
 *
 * links: common/conf/conf common/conf/value common/nearest common/err
 *
 * links: common/model/amount common/model/resources common/model/request
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/conf/conf.h"
#include "common/err.h"
#include "common/model/request.h"

struct site {
	char *text;
	char name[REQUEST_NAME_MAX];
	bool flag;
	int64_t count, bytes, seconds;
	struct resources res;
	int mode;
};

static const char *const modes[] = { "slow", "fast", NULL };
#define S(f) offsetof(struct site, f)
static const struct conf_key keys[] = {
	{ "M", "T", CONF_TEXT, S(text), 0, 0, NULL, "", "x", CONF_RESTART },
	{ "M", "N", CONF_NAME, S(name), 0, 0, NULL, "", "x", CONF_RESTART },
	{ "M", "F", CONF_BOOL, S(flag), 0, 0, NULL, "", "yes", CONF_RESTART },
	{ "M", "C", CONF_COUNT, S(count), 1, 10, NULL, "", "1", CONF_RESTART },
	{ "M", "B", CONF_BYTES, S(bytes), 0, 0, NULL, "", "1", CONF_RESTART },
	{ "M", "S", CONF_SECONDS, S(seconds), 0, 99, NULL, "", "1", CONF_RESTART },
	{ "M", "R", CONF_RESOURCES, S(res), 0, 0, NULL, "", "ncpus=1", CONF_RESTART },
	{ "M", "E", CONF_ENUM, S(mode), 0, 0, modes, "", "fast", CONF_RESTART },
	{ "X", "T", CONF_TEXT, S(text), 0, 0, NULL, "", "x", CONF_RESTART },
	{ NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, CONF_RESTART },
};

static struct site named;

static int add_section(void *target, const char *x, void **ret, struct err *err)
{
	(void)target;
	if (!request_is_name(x))
		return err_set(err, -EINVAL, "a bad name");
	*ret = &named;
	return 0;
}

static const struct conf_section sections[] = { { "X", add_section }, { NULL, NULL } };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *exact = malloc(size ? size : 1);
	struct err err = { "" };
	struct site s = { 0 };
	int r;

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	r = conf_parse(exact, size, "fuzz", keys, sections, &s, &err);
	if (r > 0 || (r < 0 && strncmp(err.text, "fuzz, line ", 11)) || s.count < 0 ||
	    s.count > 10 || s.bytes < 0 || s.seconds < 0 || s.seconds > 99 || s.mode > 1)
		abort();
	conf_done(keys, "M", &s);
	conf_done(keys, "X", &named);
	free(exact);
	return 0;
}
