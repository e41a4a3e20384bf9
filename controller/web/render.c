/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render.c - loads the stylesheets that are compiled in, and applies them; see render.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libxml/parser.h>
#include <libxslt/documents.h>
#include <libxslt/imports.h>
#include <libxslt/security.h>
#include <libxslt/transform.h>
#include <libxslt/xslt.h>
#include <libxslt/xsltInternals.h>
#include <libxslt/xsltutils.h>
#include "common/err.h"
#include "controller/web/files.h"
#include "controller/web/format.h"
#include "controller/web/render.h"

static const char *const names[] = {
	"enter.xsl", "home.xsl",  "usage.xsl", "jobs.xsl",    "job.xsl",    "share.xsl",
	"quota.xsl", "queue.xsl", "nodes.xsl", "cluster.xsl", "series.xsl",
};
#define N_SHEETS (sizeof(names) / sizeof(*names))

struct render {
	xsltStylesheet *sheets[N_SHEETS];
	xsltSecurityPrefs *security;
};

/* The words of libxslt, which come in pieces; the first line is kept. */
static char words[512];

__attribute__((format(printf, 2, 3))) static void keep_words(void *ctx, const char *fmt, ...)
{
	size_t n = strlen(words);
	va_list ap;

	(void)ctx;
	va_start(ap, fmt);
	vsnprintf(words + n, sizeof(words) - n, fmt, ap);
	va_end(ap);
}

static int set_error(struct err *err, const char *sheet, const char *what)
{
	words[strcspn(words, "\n")] = '\0';
	return err_set(err, -EINVAL, "%s: %s%s%s", sheet, what, *words ? ": " : "", words);
}

/* For xsl:import: another file of the program, nothing else. */
static xmlDoc *load_file(const xmlChar *uri, xmlDict *dict, int options, void *ctx,
			 xsltLoadType type)
{
	const char *slash = strrchr((const char *)uri, '/');
	const struct web_file *f = web_file_find(slash ? slash + 1 : (const char *)uri);
	xmlParserCtxt *parser;
	xmlDoc *doc;

	(void)ctx, (void)type;
	if (!f)
		return NULL;
	parser = xmlNewParserCtxt();
	if (!parser)
		return NULL;
	if (dict) {
		xmlDictFree(parser->dict);
		parser->dict = dict;
		xmlDictReference(dict);
	}
	doc = xmlCtxtReadMemory(parser, f->text, (int)(f->end - f->text), (const char *)uri,
				NULL, options | XML_PARSE_NONET);
	xmlFreeParserCtxt(parser);
	return doc;
}

static int compile_sheet(const char *name, xsltStylesheet **ret, struct err *err)
{
	xmlDoc *doc = load_file(BAD_CAST name, NULL, XSLT_PARSE_OPTIONS, NULL, XSLT_LOAD_START);

	if (!doc)
		return set_error(err, name, "is no XML");
	*ret = xsltParseStylesheetDoc(doc);
	if (!*ret) {
		xmlFreeDoc(doc);
		return set_error(err, name, "is no stylesheet");
	}
	return (*ret)->errors ? set_error(err, name, "has errors") : 0;
}

static xsltSecurityPrefs *forbid_all(void)
{
	static const xsltSecurityOption options[] = {
		XSLT_SECPREF_READ_FILE, XSLT_SECPREF_WRITE_FILE, XSLT_SECPREF_CREATE_DIRECTORY,
		XSLT_SECPREF_READ_NETWORK, XSLT_SECPREF_WRITE_NETWORK
	};
	xsltSecurityPrefs *s = xsltNewSecurityPrefs();

	for (size_t i = 0; s && i < sizeof(options) / sizeof(*options); i++)
		xsltSetSecurityPrefs(s, options[i], xsltSecurityForbid);
	return s;
}

int render_open(struct render **ret, struct err *err)
{
	_cleanup_(render_closep) struct render *r = calloc(1, sizeof(*r));
	int result = 0;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	xmlInitParser();
	*words = '\0';
	xmlSetGenericErrorFunc(NULL, keep_words);
	xsltSetGenericErrorFunc(NULL, keep_words);
	xsltSetLoaderFunc(load_file);
	r->security = forbid_all();
	if (!r->security || format_register() < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < N_SHEETS && result == 0; i++)
		result = compile_sheet(names[i], &r->sheets[i], err);
	if (result == 0)
		*ret = TAKE_PTR(r);
	return result;
}

struct render *render_close(struct render *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < N_SHEETS; i++)
		xsltFreeStylesheet(r->sheets[i]);
	xsltFreeSecurityPrefs(r->security);
	free(r);
	return NULL;
}

static xsltStylesheet *find_sheet(const struct render *r, const char *name)
{
	for (size_t i = 0; i < N_SHEETS; i++)
		if (!strcmp(names[i], name))
			return r->sheets[i];
	return NULL;
}

static xmlDoc *apply_sheet(const struct render *r, xsltStylesheet *sheet, xmlDoc *data)
{
	xsltTransformContext *t = xsltNewTransformContext(sheet, data);
	xmlDoc *page = NULL;

	if (!t)
		return NULL;
	if (xsltSetCtxtSecurityPrefs(r->security, t) == 0)
		page = xsltApplyStylesheetUser(sheet, data, NULL, NULL, NULL, t);
	if (page && t->state != XSLT_STATE_OK) {
		xmlFreeDoc(page);
		page = NULL;
	}
	xsltFreeTransformContext(t);
	return page;
}

int render_page(struct render *r, const char *stylesheet, xmlDoc *data, struct render_text *ret,
		struct err *err)
{
	xsltStylesheet *sheet = find_sheet(r, stylesheet);
	xmlChar *text = NULL;
	xmlDoc *page;
	int size = 0, result;

	if (!sheet)
		return err_set(err, -ENOENT, "no stylesheet %s", stylesheet);
	*words = '\0';
	page = apply_sheet(r, sheet, data);
	if (!page)
		return set_error(err, stylesheet, "failed");
	result = xsltSaveResultToString(&text, &size, page, sheet);
	xmlFreeDoc(page);
	if (result < 0 || !text)
		return set_error(err, stylesheet, "its page could not be written");
	*ret = (struct render_text){ (char *)text,
				     (size_t)size }; /* libxml2 allocates with malloc() */
	return 0;
}
