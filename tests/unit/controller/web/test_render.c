/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_render.c - documents as XML, and figures and hostile texts as HTML by the stylesheets of the program. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <libxml/parser.h>
#include "common/err.h"
#include "controller/web/render.h"
#include "controller/web/rows_csv.h"
#include "controller/web/xml.h"

static struct render *render;

static xmlDoc *page_of(const char *name, json_t *doc)
{
	xmlDoc *d = xmlNewDoc(BAD_CAST "1.0");
	xmlNode *root = xmlNewNode(NULL, BAD_CAST "page");

	xmlDocSetRootElement(d, root);
	assert_int_equal(xml_set(root, "user", "alice", NULL), 0);
	assert_int_equal(xml_set(root, "path", "/web/jobs", NULL), 0);
	assert_int_equal(xml_add_json(root, name, doc, NULL), 0);
	json_decref(doc);
	return d;
}

static char *render_doc(const char *sheet, const char *name, json_t *doc)
{
	xmlDoc *d = page_of(name, doc);
	struct render_text html = { NULL, 0 };
	struct err err = { "" };

	if (render_page(render, sheet, d, &html, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(strlen(html.text), html.size);
	xmlFreeDoc(d);
	return html.text;
}

/* What is read again as XML is what was written, but for characters that XML does not have. */
static void characters_that_xml_cannot_have_are_replaced(void **unused)
{
	static const char *const texts[][2] = {
		{ "a\x01z", "a\xef\xbf\xbdz" },
		{ "a\tb\nc", "a\tb\nc" },
		{ "\xef\xbf\xbe", "\xef\xbf\xbd" },
		{ "x\xef\xbf\xbf\r", "x\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xef\xbf\xbd\xc3\xa9", "\xef\xbf\xbd\xc3\xa9" }
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		xmlDoc *d = xmlNewDoc(BAD_CAST "1.0"), *again;
		xmlNode *root = xmlNewNode(NULL, BAD_CAST "page");
		xmlChar *written, *read;
		struct err err;
		int n;

		xmlDocSetRootElement(d, root);
		assert_int_equal(xml_set(root, "t", texts[i][0], &err), 0);
		xmlDocDumpMemoryEnc(d, &written, &n, "UTF-8");
		again = xmlReadMemory((const char *)written, n, NULL, NULL, XML_PARSE_NOERROR);
		assert_non_null(again);
		read = xmlGetProp(xmlDocGetRootElement(again), BAD_CAST "t");
		assert_string_equal((const char *)read, texts[i][1]);
		xmlFree(read);
		xmlFree(written);
		xmlFreeDoc(again);
		xmlFreeDoc(d);
	}
}

static void markup_in_names_is_text(void **unused)
{
	json_t *doc = json_pack("{s:[{s:i,s:s,s:s,s:s}]}", "jobs", "job", 7, "name",
				"<script>alert('x')</script>&\"\x01", "account", "\"><b>",
				"state", "x\" ' onmouseover=\"y");
	char *html = render_doc("jobs.xsl", "jobs", doc);

	(void)unused;
	assert_null(strstr(html, "<script"));
	assert_null(strstr(html, "<b>"));
	assert_non_null(strstr(html, "class=\"state x&quot; ' onmouseover=&quot;y\""));
	assert_non_null(strstr(html, "&lt;script&gt;alert('x')&lt;/script&gt;&amp;\""));
	assert_non_null(strstr(html, "\xef\xbf\xbd")); /* the control character */
	free(html);
}

static void what_was_not_measured_is_a_dash(void **unused)
{
	json_t *doc = json_pack("{s:[{s:i,s:n,s:n}]}", "jobs", "job", 7, "running_ns",
				"charge_requested_ms");
	char *html = render_doc("jobs.xsl", "jobs", doc);

	(void)unused;
	assert_non_null(strstr(html, "<td class=\"figure\">-</td>"));
	assert_null(strstr(html, "NaN"));
	free(html);
}

static void figures_are_written_for_people(void **unused)
{
	json_t *doc = json_pack("{s:[{s:s,s:I,s:I,s:I}]}", "rows", "account", "physics",
				"counts_ms", (json_int_t)4444444440000, "core_ms",
				(json_int_t)31536000000, "jobs_started", (json_int_t)1234567);
	char *html = render_doc("usage.xsl", "usage", doc);

	(void)unused;
	assert_non_null(strstr(html, "1,234,567.9")); /* hours */
	assert_non_null(strstr(html, ">8,760.0<"));   /* core-hours */
	assert_non_null(strstr(html, ">1,234,567<")); /* jobs */
	free(html);
}

/* A page has the readings of some projects; that there is none is said only if it is known. */
static void no_reading_is_claimed_only_where_all_are_known(void **unused)
{
	static const char none[] = "No reading of what it occupies was imported",
			  alone[] = "/web/quota?account=physics";
	static const struct {
		const char *storage; /* NULL: the page has no such document */
		bool says_none, names_page;
	} cases[] = { { "{\"storage\": []}", true, false },
		      { "{\"storage\": [], \"next\": \"art\"}", false, true },
		      { NULL, false, false } };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		xmlDoc *d = page_of("quota",
				    json_pack("{s:[{s:s,s:I}]}", "quotas", "account", "physics",
					      "storage_bytes", (json_int_t)1000000000000));
		json_t *storage =
			cases[i].storage ? json_loads(cases[i].storage, 0, NULL) : NULL;
		struct render_text html = { NULL, 0 };

		if (storage)
			assert_int_equal(
				xml_add_json(xmlDocGetRootElement(d), "storage", storage, NULL),
				0);
		assert_int_equal(render_page(render, "quota.xsl", d, &html, NULL), 0);
		assert_non_null(strstr(html.text, "Storage: 1.00 TB allotted. "));
		assert_int_equal(strstr(html.text, none) != NULL, cases[i].says_none);
		assert_int_equal(strstr(html.text, alone) != NULL, cases[i].names_page);
		json_decref(storage);
		xmlFreeDoc(d);
		free(html.text);
	}
}

static void what_was_typed_is_one_value_in_links(void **unused)
{
	json_t *doc =
		json_pack("{s:[{s:s,s:i}]}", "rows", "account", "physics", "counts_ms", 5);
	xmlDoc *d = page_of("usage", doc);
	struct render_text html = { NULL, 0 };
	json_t *asked = json_pack("{s:s,s:s}", "account", "\"><b>&x=1", "sort", "counts_ms");

	(void)unused;
	assert_int_equal(xml_add_json(xmlDocGetRootElement(d), "asked", asked, NULL), 0);
	assert_int_equal(render_page(render, "usage.xsl", d, &html, NULL), 0);
	assert_non_null(strstr(html.text, "by=user&amp;account=%22%3E%3Cb%3E%26x%3D1\""));
	assert_non_null(
		strstr(html.text, "?account=%22%3E%3Cb%3E%26x%3D1&amp;sort=jobs_started"));
	json_decref(asked);
	xmlFreeDoc(d);
	free(html.text);
}

static void rows_of_a_page_are_sorted_as_numbers(void **unused)
{
	json_t *doc = json_pack("{s:[{s:s,s:i},{s:s,s:i},{s:s,s:i}]}", "rows", "account", "aa",
				"counts_ms", 9, "account", "bb", "counts_ms", 100, "account",
				"cc", "counts_ms", 20);
	xmlDoc *d = page_of("usage", doc);
	struct render_text html = { NULL, 0 };
	json_t *asked = json_pack("{s:s}", "sort", "counts_ms");

	(void)unused;
	assert_int_equal(xml_add_json(xmlDocGetRootElement(d), "asked", asked, NULL), 0);
	assert_int_equal(render_page(render, "usage.xsl", d, &html, NULL), 0);
	assert_true(strstr(html.text, ">bb<") < strstr(html.text, ">cc<"));
	assert_true(strstr(html.text, ">cc<") < strstr(html.text, ">aa<"));
	json_decref(asked);
	xmlFreeDoc(d);
	free(html.text);
}

static void rows_become_csv_with_the_columns_of_all(void **unused)
{
	json_t *doc = json_pack("{s:s,s:[{s:i,s:s},{s:i,s:{s:i},s:n}]}", "schema", "x", "rows",
				"a", 1, "b", "x,\"y", "a", 2, "c", "d", 3, "e");
	char *text = NULL;
	size_t size;

	(void)unused;
	assert_int_equal(rows_csv_format(doc, &text, &size, NULL), 0);
	assert_string_equal(text, "a,b,c.d,e\n1,\"x,\"\"y\",,\n2,,3,\n");
	free(text);
	json_decref(doc);
}

static void an_unknown_stylesheet_is_an_error(void **unused)
{
	xmlDoc *d = page_of("x", json_object());
	struct render_text html;

	(void)unused;
	assert_int_equal(render_page(render, "none.xsl", d, &html, NULL), -ENOENT);
	xmlFreeDoc(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_that_xml_cannot_have_are_replaced),
		cmocka_unit_test(markup_in_names_is_text),
		cmocka_unit_test(what_was_not_measured_is_a_dash),
		cmocka_unit_test(figures_are_written_for_people),
		cmocka_unit_test(no_reading_is_claimed_only_where_all_are_known),
		cmocka_unit_test(what_was_typed_is_one_value_in_links),
		cmocka_unit_test(rows_of_a_page_are_sorted_as_numbers),
		cmocka_unit_test(rows_become_csv_with_the_columns_of_all),
		cmocka_unit_test(an_unknown_stylesheet_is_an_error),
	};
	struct err err;
	int failed;

	if (render_open(&render, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	render_close(render);
	return failed;
}
