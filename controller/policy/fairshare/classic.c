/* SPDX-License-Identifier: GPL-2.0-or-later */
/* classic.c - fairshare by the classic formula of Slurm's priority/multifactor plugin; see
 * fairshare.h. Computed from the root down, so that a row finds the values of its share parent.
 */
#include <errno.h>
#include <math.h>
#include "common/err.h"
#include "controller/policy/fairshare/fairshare_tree.h"

/* Fills one row; the values of its share parent are there already. long double, as in Slurm:
 * the sixth decimal must agree with sshare. */
static void compute_row(const struct fairshare_tree *t, int32_t row, long double *effective,
			struct fairshare_result *results)
{
	bool parent = fairshare_is_parent(&t->rows[row]);
	struct fairshare_result *r = &results[row];
	int32_t up = t->share_parent[row];
	long double norm = fairshare_ratio(t->usage[row], t->usage[t->root]);

	r->norm_usage = (double)norm;
	if (row == t->root) {
		r->norm_shares = 1;
		effective[row] = 1;
		return;
	}
	r->norm_shares = results[up].norm_shares * (parent ? 1 : fairshare_part(t, row));
	if (up == t->root)
		effective[row] = norm;
	else if (parent)
		effective[row] = effective[up];
	else
		effective[row] = norm + (effective[up] - norm) * fairshare_part(t, row);
}

int fairshare_classic(const struct fairshare_tree *t, double dampening,
		      struct fairshare_result *results, struct err *err)
{
	_cleanup_free_ long double *effective = NULL;
	struct fairshare_result *r;
	int32_t row;

	if (!(dampening > 0 && dampening < INFINITY))
		return err_set(err, -EINVAL, "the dampening factor must be above 0");
	effective = calloc(t->n, sizeof(*effective));
	if (!effective)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n; i++) {
		row = t->down[i];
		r = &results[row];
		*r = (struct fairshare_result){ .raw_usage = t->usage[row], .level_fs = NAN };
		compute_row(t, row, effective, results);
		r->effective_usage = (double)effective[row];
		r->fairshare =
			r->norm_shares > 0
				? exp2(-(r->effective_usage / r->norm_shares) / dampening)
				: 0;
	}
	return 0;
}
