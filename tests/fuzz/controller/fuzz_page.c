/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_page.c - any document of the API as the data of a page: its XML is well-formed once written, and its CSV has as many fields in each line
 * as in the first.
 *
 * links: controller/web/xml controller/web/rows_csv common/csv/csv common/csv/csv_write common/nearest common/utf8 common/err
 *
 * libs: -ljansson -lxml2
 */
#include <libxml/parser.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/csv/csv.h"
#include "common/err.h"
#include "controller/web/rows_csv.h"
#include "controller/web/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_xml(const json_t *j)
{
	xmlDoc *doc = xmlNewDoc((const xmlChar *)"1.0"), *again;
	xmlNode *root = xmlNewNode(NULL, (const xmlChar *)"page");
	struct err err = { "" };
	xmlChar *text;
	int n;

	xmlDocSetRootElement(doc, root);
	if (xml_add_json(root, "data", j, &err) < 0)
		abort();
	xmlDocDumpMemoryEnc(doc, &text, &n, "UTF-8");
	again = xmlReadMemory((const char *)text, n, NULL, NULL,
			      XML_PARSE_NONET | XML_PARSE_HUGE | XML_PARSE_NOERROR |
				      XML_PARSE_NOWARNING);
	if (!again)
		abort();
	xmlFreeDoc(again);
	xmlFree(text);
	xmlFreeDoc(doc);
}

/* A quoted field may hold line ends and commas. */
static void check_csv(const char *text, size_t size)
{
	size_t columns = 0, n = 1;
	bool is_quoted = false;

	for (size_t i = 0; i < size; i++) {
		is_quoted ^= text[i] == '"';
		if (!is_quoted && text[i] == ',')
			n++;
		if (is_quoted || text[i] != '\n')
			continue;
		if (columns && n != columns)
			abort();
		columns = n;
		n = 1;
	}
	if (is_quoted)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *j = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
	struct err err = { "" };
	char *text;
	size_t n;

	if (!j)
		return 0;
	check_xml(j);
	if (rows_csv_format(j, &text, &n, &err) == 0) {
		check_csv(text, n);
		free(text);
	}
	json_decref(j);
	return 0;
}
