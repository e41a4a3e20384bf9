/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_accounts - any bytes as accounts.conf: a refusal has words; what is taken is written,
 * read again the same, and does not differ from itself.
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
 * links: controller/policy/charge/charge controller/policy/fairshare/shares common/conf/conf common/conf/value common/nearest common/err
 *
 * links: common/model/amount common/model/resources common/model/request
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts.h"

static void check_accounts(const struct accounts *a)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	_cleanup_(accounts_freep) struct accounts *again = NULL;
	_cleanup_free_ char *text = NULL;

	if (accounts_write(a, &text, NULL) < 0 ||
	    accounts_parse(text, strlen(text), "written", &again, NULL) < 0 ||
	    accounts_diff(a, again, &d, NULL) < 0 || d->n)
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
	r = accounts_parse(exact, size, "fuzz", &a, &err);
	if (r > 0 || (r < 0) != !a || (r < 0 && strncmp(err.text, "fuzz, line ", 11) != 0))
		abort();
	if (a)
		check_accounts(a);
	free(exact);
	return 0;
}
