/* sync.c - streams by name, and which attempt an element is about. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/sync.h"
#include "common/wire/wire.h"

static const char *const stream_names[_SYNC_STREAM_MAX] = {
	[SYNC_OUT] = "out", [SYNC_ERR] = "err"
};

const char *sync_stream_name(enum sync_stream s)
{
	return s < _SYNC_STREAM_MAX ? stream_names[s] : "?";
}

int sync_stream_parse(const char *name, enum sync_stream *ret, struct err *err)
{
	for (enum sync_stream s = 0; s < _SYNC_STREAM_MAX; s++)
		if (!strcmp(name, stream_names[s])) {
			*ret = s;
			return 0;
		}
	return err_set(err, -EINVAL, "stream: '%.32s' is neither out nor err", name);
}

int sync_get_attempt(const json_t *j, int64_t *ret_job, int32_t *ret_attempt, struct err *err)
{
	int64_t attempt;
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "is not an object");
	r = wire_get_int(j, "job", (struct wire_int){ 1, INT64_MAX, NULL }, ret_job, err);
	if (r >= 0)
		r = wire_get_int(j, "attempt", (struct wire_int){ 0, INT32_MAX, NULL },
				 &attempt, err);
	if (r >= 0)
		*ret_attempt = (int32_t)attempt;
	return r;
}
