/* SPDX-License-Identifier: GPL-2.0-or-later */
/* smtp.c - speaks SMTP with the relay by libcurl; see deliver.h. */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/utf8.h"
#include "mail/deliver_impl.h"

struct upload {
	const struct mail_delivery *d;
	size_t done;
};

/* libcurl asks for the next bytes of the mail. */
static size_t read_upload(char *buf, size_t size, size_t n, void *ctx)
{
	struct upload *u = ctx;
	size_t rest = u->d->size - u->done;

	if (rest > size * n)
		rest = size * n;
	memcpy(buf, u->d->text + u->done, rest);
	u->done += rest;
	return rest;
}

/* The first line of the file. */
static int read_password(const char *path, char ret[static 256], struct err *err)
{
	FILE *f = fopen(path, "re");

	if (!f)
		return err_set(err, -errno, "RelayPassword: %.200s: %m", path);
	if (!fgets(ret, 256, f))
		ret[0] = '\0';
	fclose(f);
	ret[strcspn(ret, "\r\n")] = '\0';
	return 0;
}

static int set_login(CURL *easy, const struct mail_config *c, struct err *err)
{
	static const long tls[] = { [MAIL_TLS_NO] = CURLUSESSL_NONE,
				    [MAIL_TLS_TRY] = CURLUSESSL_TRY,
				    [MAIL_TLS_REQUIRE] = CURLUSESSL_ALL };
	char password[256] = "";
	int r = c->relay_password ? read_password(c->relay_password, password, err) : 0;

	if (r < 0)
		return r;
	curl_easy_setopt(easy, CURLOPT_USE_SSL, tls[c->tls]);
	if (c->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca_file);
	if (c->relay_user) {
		curl_easy_setopt(easy, CURLOPT_USERNAME, c->relay_user);
		curl_easy_setopt(easy, CURLOPT_PASSWORD, password);
	}
	return 0;
}

/* A 5xx answer stays one whenever it is asked again; all else may pass. */
static int judge_answer(CURL *easy, CURLcode code, const char *said, struct err *err)
{
	char text[CURL_ERROR_SIZE];
	long answer = 0;

	if (code == CURLE_OK)
		return 0;
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer);
	utf8_format(text, sizeof(text), "%s", *said ? said : curl_easy_strerror(code));
	if (answer >= 500 && answer < 600)
		return err_set(err, -EINVAL, "the relay refuses it: %.200s (answer %ld)", text,
			       answer);
	return err_set(err, -EAGAIN, "the relay: %.200s (answer %ld)", text, answer);
}

int deliver_by_smtp(const struct mail_config *c, const struct mail_delivery *d, struct err *err)
{
	struct upload upload = { d, 0 };
	char said[CURL_ERROR_SIZE] = "";
	struct curl_slist *to;
	CURL *easy;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(easy = curl_easy_init()))
		return err_set(err, -EAGAIN, "libcurl could not be started");
	to = curl_slist_append(NULL, d->to);
	curl_easy_setopt(easy, CURLOPT_URL, c->relay);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)c->time_limit_s);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, said);
	curl_easy_setopt(easy, CURLOPT_MAIL_FROM, d->from);
	curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, to);
	curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_upload);
	curl_easy_setopt(easy, CURLOPT_READDATA, &upload);
	r = to ? set_login(easy, c, err) : err_set(err, -EAGAIN, "out of memory");
	if (r >= 0)
		r = judge_answer(easy, curl_easy_perform(easy), said, err);
	curl_slist_free_all(to);
	curl_easy_cleanup(easy);
	return r;
}
