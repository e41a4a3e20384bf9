/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_sacctmgr - any bytes as a dump of sacctmgr's: a refusal has a line and words; what is
 * taken makes accounts, and a dump written of them is read again as the same.
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/features
 *
 * links: controller/accounts/accounts controller/accounts/keys
 *
 * links: controller/accounts/values controller/accounts/check
 *
 * links: controller/accounts/template
 *
 * links: controller/accounts/build controller/accounts/read
 *
 * links: controller/accounts/rows controller/accounts/diff
 *
 * links: controller/accounts/foreign/draft controller/accounts/foreign/sacctmgr
 *
 * links: controller/accounts/foreign/draft_qos controller/accounts/foreign/draft_finish
 *
 * links: controller/accounts/foreign/sacctmgr_write
 *
 * links: controller/accounts/foreign/sacctmgr_options
 *
 * links: controller/policy/charge/charge controller/policy/fairshare/shares common/conf/conf common/conf/value common/nearest common/err
 *
 * links: common/utf8 common/model/amount common/model/resources common/model/request
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/foreign/sacctmgr.h"

static int read_dump(const char *text, size_t size, struct accounts **ret, struct err *err)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	int r;

	accounts_draft_init(&d, "fuzz");
	r = accounts_sacctmgr_parse(&d, text, size, err);

	return r < 0 ? r : accounts_draft_finish(&d, NULL, ret, err);
}

/* A dump of them is a fixed point: what sacctmgr's quotes cost is lost the first time. */
static void check_accounts(const struct accounts *a)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	_cleanup_(accounts_freep) struct accounts *once = NULL, *twice = NULL;
	_cleanup_free_ char *first = NULL, *second = NULL;

	if (accounts_sacctmgr_write(a, "main", &first, NULL) < 0 ||
	    read_dump(first, strlen(first), &once, NULL) < 0 ||
	    accounts_sacctmgr_write(once, "main", &second, NULL) < 0 ||
	    read_dump(second, strlen(second), &twice, NULL) < 0 ||
	    accounts_diff(once, twice, &d, NULL) < 0 || d->n ||
	    once->n_accounts != a->n_accounts)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(accounts_freep) struct accounts *a = NULL;
	char *exact = malloc(size ? size : 1);
	struct err err = { "" };
	int r;

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	r = read_dump(exact, size, &a, &err);
	if (r > 0 || (r < 0) != !a || (r < 0 && strncmp(err.text, "fuzz:", 5) != 0))
		abort();
	if (a)
		check_accounts(a);
	free(exact);
	return 0;
}
