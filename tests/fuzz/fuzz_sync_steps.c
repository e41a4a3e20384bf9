/* fuzz_sync_steps.c - any bytes as the steps of a controller's answer: refused with words, or
 * every step and acknowledgement given to its handler, within its bounds.
 *
 * links: common/err common/utf8 common/wire/wire common/wire/doc common/wire/sync common/wire/wire_usage agent/report/sync_steps common/model/usage
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/report/sync_steps.h"
#include "common/err.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_seen;

static void on_step(void *ctx, const struct sync_step_order *o)
{
	(void)ctx;
	n_seen++;
	if (o->id.job < 1 || o->id.step < 1 || o->id.attempt < 0 || (o->bad && !*o->bad))
		abort();
	if (o->bad)
		return;
	if ((o->argv && (!o->argv[0] || !*o->argv[0])) || (o->workdir && *o->workdir != '/'))
		abort();
	for (char **e = o->env; e && *e; e++)
		if (!strchr(*e, '='))
			abort();
}

static void on_ack(void *ctx, struct sync_step_id id)
{
	(void)ctx;
	n_seen++;
	if (id.job < 1 || id.step < 1 || id.attempt < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sync_step_handlers handlers = { on_step, on_ack };
	_cleanup_json_ json_t *j = json_loadb((const char *)data, size, 0, NULL);
	struct err err = { "" };

	n_seen = 0;
	if (!j)
		return 0;
	if (sync_steps_check(j, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	sync_steps_act(j, &handlers, NULL);
	if (n_seen != json_array_size(json_object_get(j, "steps")) +
			      json_array_size(json_object_get(j, "step_acks")))
		abort();
	return 0;
}
