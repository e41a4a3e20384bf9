/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.c - the table of pages; fetches their documents and writes them as HTML, JSON or CSV; see page.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/api.h"
#include "controller/api/call.h"
#include "controller/http/exchange.h"
#include "controller/web/page.h"
#include "controller/web/render.h"
#include "controller/web/rows_csv.h"
#include "controller/web/xml.h"

#define DOCS_MAX 8
#define QUERY_MAX 6

/* Rows of a table: a page of 200 KB has room for so many. */
#define ACCOUNTS_LIMIT "20"
#define USAGE_LIMIT "200"
#define SHARE_LIMIT "200"
#define QUEUE_LIMIT "150"
#define NODE_LIMIT "100"
#define STORAGE_LIMIT "50"

/* `path` of the API may end with "#": what follows the page's own path stands there. */
struct document {
	const char *name, *path;
	struct call_query query[QUERY_MAX + 1];
	enum need {
		REQUIRED,
		WHOLE, /* REQUIRED; CSV and JSON have all rows, without the limit of the query */
		OPTIONAL, /* a refusal is not the page's */
		OF_ACCOUNT, /* OPTIONAL, and fetched only where the page's query names an account */
	} need;
};

struct page {
	const char *path; /* below /web; "/job/#" */
	const char *stylesheet;
	struct document docs[DOCS_MAX + 1]; /* ends with a name NULL */
};

static const struct page pages[] = {
	{ "/",
	  "home.xsl",
	  { { "running", "/v1/jobs", { { "state", "started" }, { "limit", "20" } }, REQUIRED },
	    { "queued", "/v1/jobs", { { "state", "queued" }, { "limit", "20" } }, REQUIRED },
	    { "ended", "/v1/jobs", { { "state", "ended" }, { "limit", "10" } }, REQUIRED },
	    { "usage",
	      "/v1/usage",
	      { { "by", "account" }, { "scope", "group" }, { "limit", ACCOUNTS_LIMIT } },
	      OPTIONAL } } },
	{ "/usage",
	  "usage.xsl",
	  { { "usage", "/v1/usage", { { "scope", "group" }, { "limit", USAGE_LIMIT } }, WHOLE },
	    { "months",
	      "/v1/usage",
	      { { "by", "month" }, { "scope", "group" }, { "limit", USAGE_LIMIT } },
	      OPTIONAL },
	    { "project",
	      "/v1/usage",
	      { { "by", "account" },
		{ "scope", "group" },
		{ "cluster", NULL },
		{ "user", NULL },
		{ "limit", USAGE_LIMIT } },
	      OF_ACCOUNT },
	    { "quota", "/v1/quota", { { "cluster", NULL } }, OF_ACCOUNT },
	    { "storage", "/v1/storage", { { "limit", STORAGE_LIMIT } }, OPTIONAL } } },
	{ "/jobs", "jobs.xsl", { { "jobs", "/v1/jobs", { { "limit", "50" } }, REQUIRED } } },
	{ "/job/#",
	  "job.xsl",
	  { { .name = "job", .path = "/v1/jobs/#" },
	    { .name = "why", .path = "/v1/jobs/#/why", .need = OPTIONAL },
	    { .name = "price", .path = "/v1/jobs/#/price", .need = OPTIONAL },
	    { .name = "eff", .path = "/v1/jobs/#/eff", .need = OPTIONAL },
	    { .name = "steps", .path = "/v1/jobs/#/steps", .need = OPTIONAL },
	    { .name = "series", .path = "/v1/jobs/#/series", .need = OPTIONAL } } },
	{ "/series/#", "series.xsl", { { .name = "series", .path = "/v1/jobs/#/series" } } },
	{ "/share",
	  "share.xsl",
	  { { "share",
	      "/v1/share",
	      { { "users", "all" }, { "limit", SHARE_LIMIT } },
	      WHOLE } } },
	{ "/quota",
	  "quota.xsl",
	  { { .name = "quota", .path = "/v1/quota" },
	    { "storage", "/v1/storage", { { "limit", STORAGE_LIMIT } }, OPTIONAL } } },
	{ "/queue",
	  "queue.xsl",
	  { { "prio", "/v1/prio", { { "why", "1" }, { "limit", QUEUE_LIMIT } }, REQUIRED } } },
	{ "/cluster",
	  "cluster.xsl",
	  { { .name = "utilisation", .path = "/v1/utilisation" },
	    { .name = "clusters", .path = "/v1/cluster", .need = OPTIONAL } } },
	{ "/nodes",
	  "nodes.xsl",
	  { { "nodes", "/v1/nodes", { { "limit", NODE_LIMIT }, { "totals", "1" } }, REQUIRED },
	    { "map", "/v1/nodes/jobs", { { "limit", "300" } }, OPTIONAL },
	    { .name = "watch", .path = "/v1/nodes/watch", .need = OPTIONAL } } },
};

/* ---- which page ---- */

struct wanted {
	const struct page *page;
	enum page_form form;
	char rest[64]; /* what stands for "#": an id, checked by the API */
};

static bool cut_suffix(char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	if (n < m || strcmp(text + n - m, suffix) != 0)
		return false;
	text[n - m] = '\0';
	return true;
}

static bool matches_page(const struct page *p, const char *path, struct wanted *ret)
{
	size_t n = strcspn(p->path, "#");

	if (!p->path[n])
		return !strcmp(p->path, path);
	if (strncmp(p->path, path, n) != 0 || !path[n] || strchr(path + n, '/') ||
	    strlen(path + n) >= sizeof(ret->rest))
		return false;
	strcpy(ret->rest, path + n);
	return true;
}

static int find_page(const char *path, struct wanted *ret, struct err *err)
{
	char name[128];

	*ret = (struct wanted){ .form = PAGE_HTML };
	if (strncmp(path, "/web", 4) != 0 || strlen(path) >= sizeof(name))
		return err_set(err, -ENOENT, "no such page");
	strcpy(name, path + 4);
	if (cut_suffix(name, ".json"))
		ret->form = PAGE_JSON;
	else if (cut_suffix(name, ".csv"))
		ret->form = PAGE_CSV;
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		if (matches_page(&pages[i], name, ret)) {
			ret->page = &pages[i];
			return 0;
		}
	return err_set(err, -ENOENT, "no such page: %.100s", path);
}

/* ---- its documents ---- */

static unsigned status_of(int r)
{
	return r == -ENOENT		     ? 404
	       : r == -EACCES || r == -EPERM ? 403
	       : r == -EINVAL		     ? 400
					     : 500;
}

static int fetch_document(const struct page_reader *reader, const struct wanted *q,
			  const struct document *d, json_t **ret, struct err *err)
{
	/* A page never waits. */
	struct call_query query[QUERY_MAX + 2] = { { "wait", NULL } };
	struct api_fetch f = { .who = { .uid = reader->uid, .gid = reader->gid },
			       .user = reader->user,
			       .is_operator = reader->is_operator,
			       .query = query };
	const char *hash = strchr(d->path, '#');
	char path[160];
	size_t n = 1;

	for (const struct call_query *one = d->query; one->name; one++)
		if (q->form == PAGE_HTML || d->need != WHOLE || strcmp(one->name, "limit") != 0)
			query[n++] = *one;
	snprintf(path, sizeof(path), "%.*s%s%s",
		 hash ? (int)(hash - d->path) : (int)strlen(d->path), d->path,
		 hash ? q->rest : "", hash ? hash + 1 : "");
	f.path = path;
	return api_fetch(reader->api, reader->x, &f, ret, err);
}

static bool is_needed(const struct page_reader *reader, const struct document *d)
{
	const char *text = exchange_query(reader->x, "account");

	return d->need != OF_ACCOUNT || (text && *text);
}

/* {"usage": {...}, "error": {...}} of all documents; *ret_status is that of the first that failed, or 200. */
static int fetch_all(const struct page_reader *reader, const struct wanted *q, json_t *to,
		     unsigned *ret_status, struct err *err)
{
	*ret_status = 200;
	for (const struct document *d = q->page->docs; d->name; d++) {
		json_t *doc = NULL;
		int r = is_needed(reader, d) ? fetch_document(reader, q, d, &doc, err)
					     : -ENOENT;

		if (r == -EAGAIN)
			return r;
		if (r < 0 && d->need != REQUIRED && d->need != WHOLE)
			continue;
		if (r < 0) {
			*ret_status = status_of(r);
			doc = json_pack("{s:o}", "message", wire_string(err->text));
		}
		if (json_object_set_new(to, r < 0 ? "error" : d->name, doc) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		if (r < 0)
			break;
	}
	return 0;
}

/* ---- HTML ---- */

/* The query as it came, behind '?' or '&' for links that add to it: what people typed, so it is data. */
static const char *query_of(const struct exchange *x)
{
	const char *mark = strchr(exchange_target(x), '?');

	return mark ? mark + 1 : "";
}

static int set_reader(xmlNode *root, const struct page_reader *reader, struct err *err)
{
	char now[32];
	int r = 0;

	snprintf(now, sizeof(now), "%" PRId64, clock_ns(CLOCK_REALTIME));
	r = xml_set(root, "now_ns", now, err);
	if (r >= 0)
		r = xml_set(root, "time_zone", store_zone(reader->api->c.store), err);
	if (r >= 0 && reader->user)
		r = xml_set(root, "user", reader->user, err);
	if (r >= 0 && reader->is_operator)
		r = xml_set(root, "operator", "true", err);
	if (r >= 0 && reader->is_proxied)
		r = xml_set(root, "proxied", "true", err);
	if (r >= 0)
		r = xml_set(root, "query", query_of(reader->x), err);
	return r;
}

static const char *const asked_names[] = { "by",     "account", "user",	 "cluster",
					   "start",  "end",	"state", "node",
					   "before", "sort",	"order", "queue",
					   "name",   "from",	"pool",	 NULL };

/* The words of the query that stylesheets may show, by name. */
static int set_asked(xmlNode *root, const struct page_reader *reader, struct err *err)
{
	xmlNode *asked = xmlNewChild(root, NULL, BAD_CAST "asked", NULL);
	int r = asked ? 0 : -ENOMEM;

	for (const char *const *name = asked_names; r >= 0 && *name; name++) {
		const char *text = exchange_query(reader->x, *name);

		if (text && *text) {
			_cleanup_json_ json_t *valid = wire_string(text);

			r = valid ? xml_set(asked, *name, json_string_value(valid), err)
				  : -ENOMEM;
		}
	}
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int render_doc(const struct page_reader *reader, const char *sheet, const json_t *docs,
		      struct page_text *ret, struct err *err)
{
	struct render_text html = { NULL, 0 };
	xmlDoc *doc = xmlNewDoc(BAD_CAST "1.0");
	xmlNode *root = doc ? xmlNewNode(NULL, BAD_CAST "page") : NULL;
	const char *name;
	json_t *one;
	int r = root ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (root)
		xmlDocSetRootElement(doc, root);
	if (r == 0)
		r = xml_set(root, "path", exchange_path(reader->x), err);
	if (r == 0)
		r = set_reader(root, reader, err);
	if (r == 0)
		r = set_asked(root, reader, err);
	json_object_foreach((json_t *)docs, name, one) if (r == 0) r =
		xml_add_json(root, name, one, err);
	if (r == 0)
		r = render_page(reader->render, sheet, doc, &html, err);
	ret->text = html.text;
	ret->size = html.size;
	ret->type = "text/html; charset=utf-8";
	xmlFreeDoc(doc);
	return r;
}

/* ---- all forms ---- */

static int write_json(const json_t *docs, struct page_text *ret, struct err *err)
{
	ret->text = wire_format(docs);
	ret->type = "application/json";
	ret->size = ret->text ? strlen(ret->text) : 0;
	return ret->text ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int write_csv(const struct wanted *q, const json_t *docs, struct page_text *ret,
		     struct err *err)
{
	const json_t *first = json_object_get(docs, q->page->docs[0].name);

	ret->type = "text/csv; charset=utf-8; header=present";
	if (!first)
		return write_json(docs, ret, err);
	return rows_csv_format(first, &ret->text, &ret->size, err);
}

int page_make(const struct page_reader *reader, struct page_text *ret, struct err *err)
{
	_cleanup_json_ json_t *docs = json_object();
	struct wanted q;
	int r = find_page(exchange_path(reader->x), &q, err);

	*ret = (struct page_text){ .status = 200 };
	if (r < 0)
		return r;
	if (!docs)
		return err_set(err, -ENOMEM, "out of memory");
	r = fetch_all(reader, &q, docs, &ret->status, err);
	if (r < 0)
		return r;
	if (q.form == PAGE_JSON)
		return write_json(docs, ret, err);
	if (q.form == PAGE_CSV)
		return write_csv(&q, docs, ret, err);
	return render_doc(reader, q.page->stylesheet, docs, ret, err);
}

int page_make_entry(const struct page_reader *reader, const char *why, struct page_text *ret,
		    struct err *err)
{
	_cleanup_json_ json_t *docs = json_object();

	*ret = (struct page_text){ .status = 401 };
	if (!docs ||
	    (why && json_object_set_new(docs, "error",
					json_pack("{s:o}", "message", wire_string(why))) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	return render_doc(reader, "enter.xsl", docs, ret, err);
}

int page_make_question(const struct page_reader *reader, const char *user, const char *ticket,
		       struct page_text *ret, struct err *err)
{
	_cleanup_json_ json_t *docs = json_pack("{s:{s:o,s:s}}", "question", "user",
						wire_string(user), "ticket", ticket);

	*ret = (struct page_text){ .status = 200 };
	if (!docs)
		return err_set(err, -ENOMEM, "out of memory");
	return render_doc(reader, "enter.xsl", docs, ret, err);
}
