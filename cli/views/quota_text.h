/* quota_text - one element of GET /v1/quota for people: as a project's member knows the view of
 * each site (docs/quotas.md). */
#pragma once
#include <jansson.h>
#include <stdio.h>

void quota_text_print(const json_t *quota, FILE *to);
