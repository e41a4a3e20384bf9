/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota_text - prints one element of GET /v1/quota for people, in the layout of the site whose rule
 * it is (docs/quotas.md). */
#pragma once
#include <jansson.h>
#include <stdio.h>

void quota_text_print(const json_t *quota, FILE *to);
