/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_accounts_csv.c - any bytes as a table of accounts: refused with a line and words, or accounts that are written and read again the same.
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/features
 *
 * links: controller/accounts/accounts controller/accounts/keys controller/accounts/values controller/accounts/check
 *
 * links: controller/accounts/template controller/accounts/build controller/accounts/read controller/accounts/rows controller/accounts/diff
 *
 * links: controller/accounts/foreign/draft controller/accounts/foreign/draft_qos controller/accounts/foreign/draft_finish
 *
 * links: controller/accounts/foreign/csv common/csv/csv
 *
 * links: controller/policy/charge/charge controller/policy/fairshare/shares common/conf/conf common/conf/value common/nearest common/err
 *
 * links: common/utf8 common/model/amount common/model/resources common/model/request
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/foreign/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *mem = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL, *was = stdin;
	_cleanup_(accounts_freep) struct accounts *a = NULL;
	struct accounts_draft d;
	struct err err = { "" };
	int r;

	if (!mem)
		return 0;
	stdin = mem;
	accounts_draft_init(&d, "-");
	r = accounts_csv_read(&d, &err);
	if (r >= 0)
		r = accounts_draft_finish(&d, NULL, &a, &err);
	if (r > 0 || (r < 0) != !a || (r < 0 && !*err.text))
		abort();
	if (a)
		check_accounts(a);
	accounts_draft_done(&d);
	stdin = was;
	fclose(mem);
	return 0;
}
