/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signed.c - one request to the controller, signed with munge, or wrongly on purpose.
 *
 * usage: signed URL SOCKET METHOD PATH [BODY-FILE] [HOW]
 *   HOW: good (default); replay (sent twice, the second answer counts); body (another body than
 *   signed); path (another path than signed); none; garbage; gzip (compressed body).
 * Prints the HTTP status, a line feed and the body. Exit status 0 when there was an answer
 * whose own signature, if it has one, is right; 2 when that signature is wrong.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "common/auth/auth.h"
#include "common/cleanup.h"
#include "common/err.h"

struct text {
	char *data;
	size_t size;
};

static struct text answer;
static char answer_credential[AUTH_HEADER_MAX];

static size_t on_data(char *data, size_t one, size_t n, void *ctx)
{
	struct text *t = ctx;
	char *p = realloc(t->data, t->size + one * n + 1);

	if (!p)
		return 0;
	memcpy(p + t->size, data, one * n);
	t->data = p;
	t->size += one * n;
	p[t->size] = '\0';
	return one * n;
}

static size_t on_header(char *data, size_t one, size_t n, void *ctx)
{
	static const char name[] = AUTH_ANSWER_HEADER ": ";
	size_t size = one * n, skip = sizeof(name) - 1;

	(void)ctx;
	if (size > skip && !strncasecmp(data, name, skip)) {
		snprintf(answer_credential, sizeof(answer_credential), "%.*s",
			 (int)(size - skip), data + skip);
		answer_credential[strcspn(answer_credential, "\r\n")] = '\0';
	}
	return size;
}

static struct text read_file(const char *path)
{
	_cleanup_fclose_ FILE *f = path && *path ? fopen(path, "r") : NULL;
	struct text t = { calloc(1, 1), 0 };
	char buf[65536];
	size_t n;

	if (path && *path && !f) {
		perror(path);
		exit(1);
	}
	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		on_data(buf, 1, n, &t);
	return t;
}

static struct text compress_text(struct text in)
{
	struct text out = { malloc(in.size + 1024), 0 };
	z_stream z = { .next_in = (unsigned char *)in.data, .avail_in = (unsigned)in.size };

	if (!out.data ||
	    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		exit(1);
	z.next_out = (unsigned char *)out.data;
	z.avail_out = (unsigned)in.size + 1024;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		exit(1);
	out.size = z.total_out;
	deflateEnd(&z);
	return out;
}

struct request {
	const char *url, *socket, *method, *path, *how;
	struct text body;
	char credential[AUTH_HEADER_MAX];
};

static void sign_request(struct request *q)
{
	_cleanup_free_ char *first = NULL;
	struct err err = { "" };
	bool wrong_path = !strcmp(q->how, "path"), wrong_body = !strcmp(q->how, "body");

	if (asprintf(&first, "%s %s", q->method, wrong_path ? "/v1/other" : q->path) < 0)
		exit(1);
	if (!strcmp(q->how, "garbage"))
		strcpy(q->credential, "Munge MUNGE:AwQFAAAAAAAAAAAAAAAAAAAAAAAA:");
	else if (strcmp(q->how, "none") != 0 &&
		 auth_sign(q->socket,
			   (struct auth_text){ first, wrong_body ? "{}" : q->body.data,
					       wrong_body ? 2 : q->body.size, NULL },
			   q->credential, &err) < 0) {
		fprintf(stderr, "signed: %s\n", err.text);
		exit(1);
	}
}

static long send_once(const struct request *q, struct text body)
{
	_cleanup_free_ char *url = NULL, *header = NULL;
	struct curl_slist *headers = NULL;
	CURL *c = curl_easy_init();
	long status = 0;

	if (!c || asprintf(&url, "%s%s", q->url, q->path) < 0 ||
	    asprintf(&header, AUTH_REQUEST_HEADER ": %s", q->credential) < 0)
		exit(1);
	if (*q->credential)
		headers = curl_slist_append(headers, header);
	if (!strcmp(q->how, "gzip"))
		headers = curl_slist_append(headers, "Content-Encoding: gzip");
	headers = curl_slist_append(headers, "Expect:");
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, 90L);
	if (!strcmp(q->method, "POST")) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.data);
	}
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
	return status;
}

int main(int argc, char **argv)
{
	struct request q = { .how = "good" };
	struct auth_text what;
	struct auth_who who;
	struct err err = { "" };
	struct text body;
	long status;

	if (argc < 5)
		return 1;
	q.url = argv[1];
	q.socket = argv[2];
	q.method = argv[3];
	q.path = argv[4];
	if (argc > 6)
		q.how = argv[6];
	q.body = read_file(argc > 5 ? argv[5] : NULL);
	sign_request(&q);
	body = !strcmp(q.how, "gzip") ? compress_text(q.body) : q.body;
	status = send_once(&q, body);
	if (!strcmp(q.how, "replay")) {
		answer.size = 0;
		*answer_credential = '\0';
		status = send_once(&q, body);
	}
	printf("%ld\n", status);
	fwrite(answer.data ? answer.data : "", 1, answer.size,
	       stdout); /* bytes may follow a document */
	putchar('\n');
	if (status == 0)
		return 1;
	what = (struct auth_text){ q.credential, answer.data ? answer.data : "", answer.size,
				   NULL };
	if (*answer_credential &&
	    auth_verify(q.socket, answer_credential, what, &who, &err) < 0) {
		fprintf(stderr, "signed: answer: %s\n", err.text);
		return 2;
	}
	if (*answer_credential)
		fprintf(stderr, "signed-by %u\n", who.uid);
	return 0;
}
