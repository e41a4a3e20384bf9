/* shape.c - see shape.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/api/submit/shape.h"
#include "controller/policy/placement/fit_chunks.h"

bool shape_is_exclusive(const struct call *c, const struct request *q)
{
	const struct config_queue *queue = config_queue(c->api->c.config, q->queue);

	return q->is_exclusive || (queue && queue->exclusive);
}

struct known {
	struct fit_node *nodes;
	size_t n;
};

static int cut(const struct known *k, struct request *q, struct shape *ret, struct err *err)
{
	struct select cut = { .n = 0 };
	int r = fit_split(k->nodes, k->n, &q->res, &cut, ret->why);

	if (r != 0 || cut.n == 0)
		return r;
	cut.is_scattered = q->select.is_scattered;
	q->select = cut;
	return select_total(&q->select, &q->res, err);
}

static int count(const struct call *c, const struct known *k, const struct request *q,
		 struct shape *ret)
{
	const struct fit_ask ask = { &q->res, &q->select, shape_is_exclusive(c, q) };

	return q->select.n ? fit_pack(k->nodes, k->n, &ask, &ret->nodes, ret->why) : 0;
}

int shape_find(struct call *c, struct request *q, struct shape *ret, struct err *err)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	struct known k;
	int r;

	*ret = (struct shape){ 0 };
	r = store_holds(c->api->c.store, q->cluster, &nodes, &k.n, err);
	if (r < 0)
		return r;
	k.nodes = nodes;
	if (!q->select.n)
		r = cut(&k, q, ret, err);
	if (r != 0)
		return r;
	r = count(c, &k, q, ret);
	return r < 0 ? err_set(err, r, "out of memory") : r;
}

int shape_check(struct call *c, struct request *q, struct shape *ret, struct err *err)
{
	bool is_select = q->select.n > 0;
	int r = shape_find(c, q, ret, err);

	if (r <= 0)
		return r;
	err_set(err, 0, "%s", ret->why);
	return call_refuse(c, 400, "too-large",
			   is_select ? "ask for fewer or smaller chunks"
				     : "ask for at most what one node has, or for what can be "
				       "divided evenly by several");
}
