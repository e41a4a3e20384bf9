/* SPDX-License-Identifier: GPL-2.0-or-later */
/* csv_write.c - one field of a table that is written. */
#include <stdio.h>
#include <string.h>
#include "common/csv/csv.h"

void csv_write_field(const char *text, FILE *to)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	fputc('"', to);
}
