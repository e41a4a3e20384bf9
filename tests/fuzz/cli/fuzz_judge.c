/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_judge.c - any bytes as /etc/pam.d/sshd and as sshd_config: `reeve admin doctor` has a finding, with a text that ends.
 *
 * links: cli/admin/doctor/judge/access cli/admin/doctor/judge/report
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cli/admin/doctor/judge/access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct judge_report report;
	struct judge_sshd s = { .has_sshd = true, .has_module = true };
	char *text = strndup((const char *)data, size);

	memset(&report, 0, sizeof(report));
	judge_read_pam(text, &s);
	judge_read_sshd_config(text, &s);
	judge_sshd(&report, &s);
	if (report.n < 1 || !memchr(s.exempt, '\0', sizeof(s.exempt)))
		abort();
	for (size_t i = 0; i < report.n; i++)
		if (!memchr(report.of[i].text, '\0', sizeof(report.of[i].text)))
			abort();
	free(text);
	return 0;
}
