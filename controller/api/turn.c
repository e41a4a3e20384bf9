/* turn.c - see turn.h. */
#include "common/err.h"
#include "common/log.h"
#include "controller/api/turn.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"

static void on_settled(void *ctx, const struct store_settled *what)
{
	if (what->text)
		log_job(LOG_INFO, what->job, "ended", "%s", what->text);
	else
		log_job(LOG_INFO, what->job, "depend", "all that it waited for has ended");
	call_wake_job(ctx, what->job);
}

bool turn_take(struct api *a)
{
	const struct store_settle how = { call_now_ns(), on_settled, a };
	struct err err;
	int r = store_settle(a->c.store, &how, &err);

	if (r < 0)
		log_line(LOG_ERR, "jobs that wait for others: %s", err.text);
	r = store_arrays_unfold(a->c.store, &err);
	if (r < 0)
		log_line(LOG_ERR, "elements of arrays: %s", err.text);
	return r > 0;
}
