/* SPDX-License-Identifier: GPL-2.0-or-later */
/* transfer.c - see transfer.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/http/transfer.h"
#include "common/version.h"

/* ---- what curl calls ---- */

/* Appends to the answer. Returning less than `size` makes curl end the transfer with
 * CURLE_WRITE_ERROR: the answer is larger than HTTP_ANSWER_MAX, or there is no memory. */
static size_t take_body(char *data, size_t one, size_t n, void *ctx)
{
	struct http *h = ctx;
	int r = http_buffer_add(&h->answer, data, one * n, HTTP_ANSWER_MAX);

	h->transfer->is_too_large = r == -EMSGSIZE;
	return r < 0 ? 0 : one * n;
}

/* Keeps the credential of the answer; a header that is not that, or too long for one, is passed
 * over (the missing signature is then reported). */
static size_t take_header(char *line, size_t one, size_t n, void *ctx)
{
	static const size_t name = sizeof(AUTH_ANSWER_HEADER) - 1;
	struct http *h = ctx;
	size_t size = one * n, at = name + 1, end = size;

	if (size <= at || line[name] != ':' || strncasecmp(line, AUTH_ANSWER_HEADER, name))
		return size;
	while (at < end && line[at] == ' ')
		at++;
	while (end > at && strchr("\r\n ", line[end - 1]))
		end--;
	if (end - at >= sizeof(h->answer_credential))
		return size;
	memcpy(h->answer_credential, line + at, end - at);
	h->answer_credential[end - at] = '\0';
	return size;
}

/* The programs that we start must not inherit the connection. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)ctx;
	(void)purpose;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* Called about once a second while a call is waited for. */
static int on_progress(void *ctx, curl_off_t to_get, curl_off_t got, curl_off_t to_put,
		       curl_off_t put)
{
	struct http *h = ctx;
	int64_t from = h->transfer->waits_from_ns;

	(void)to_get;
	(void)got;
	(void)to_put;
	(void)put;
	if (from && clock_ns(CLOCK_MONOTONIC) - from >= h->patience.after_ms * MS_NS) {
		h->transfer->waits_from_ns = 0;
		h->patience.fn(h->patience.ctx);
	}
	return 0;
}

/* ---- open and close ---- */

/* A library has its own order of versions: what is older than TLS 1.2 is refused on this side too. */
static CURLcode set_tls(struct http *h)
{
	CURL *c = h->transfer->easy;
	CURLcode r = curl.easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

	/* The certificate directory is read in full on each TLS connection; the bundle is not.
	 */
	r |= curl.easy_setopt(c, CURLOPT_CAPATH, NULL);
	if (h->ca_file)
		r |= curl.easy_setopt(c, CURLOPT_CAINFO, h->ca_file);
	if (h->client_certificate)
		r |= curl.easy_setopt(c, CURLOPT_SSLCERT, h->client_certificate);
	if (h->client_key)
		r |= curl.easy_setopt(c, CURLOPT_SSLKEY, h->client_key);
	return r;
}

/* Options that are the same for every call. */
static int set_always(struct http *h, struct err *err)
{
	CURL *c = h->transfer->easy;
	CURLcode r = set_tls(h);

	r |= curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	r |= curl.easy_setopt(c, CURLOPT_PROXY, ""); /* ignore http_proxy */
	r |= curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	r |= curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT,
			      h->n_urls > 1 ? CONNECT_TIMEOUT_OF_SEVERAL_S : CONNECT_TIMEOUT_S);
	r |= curl.easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
	r |= curl.easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
	r |= curl.easy_setopt(c, CURLOPT_USERAGENT, "reeve/" REEVE_VERSION);
	r |= curl.easy_setopt(c, CURLOPT_ERRORBUFFER, h->transfer->why);
	r |= curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	r |= curl.easy_setopt(c, CURLOPT_WRITEDATA, h);
	r |= curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
	r |= curl.easy_setopt(c, CURLOPT_HEADERDATA, h);
	r |= curl.easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	r |= curl.easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	r |= curl.easy_setopt(c, CURLOPT_XFERINFODATA, h);
	return r ? err_set(err, -ENOSYS, "this libcurl lacks an option that Reeve needs") : 0;
}

int transfer_open(struct http *h, struct err *err)
{
	int r = h->transfer ? 0 : curl_load(err);

	if (h->transfer || r < 0)
		return r;
	h->transfer = calloc(1, sizeof(*h->transfer));
	if (!h->transfer)
		return err_set(err, -ENOMEM, "out of memory");
	if (curl.global_init(CURL_GLOBAL_DEFAULT) || !(h->transfer->easy = curl.easy_init()))
		r = err_set(err, -ENOMEM, "libcurl cannot be initialised");
	if (r == 0)
		r = set_always(h, err);
	if (r < 0)
		transfer_close(h);
	return r;
}

static void drop_options(struct http_transfer *t)
{
	if (t->easy) {
		curl.easy_setopt(t->easy, CURLOPT_HTTPHEADER, NULL);
		curl.easy_setopt(t->easy, CURLOPT_POSTFIELDS, NULL);
	}
	curl.slist_free_all(t->headers);
	t->headers = NULL;
}

void transfer_close(struct http *h)
{
	if (!h->transfer)
		return;
	drop_options(h->transfer);
	if (h->transfer->easy)
		curl.easy_cleanup(h->transfer->easy);
	free(h->transfer);
	h->transfer = NULL;
}

/* ---- a call ---- */

__attribute__((format(printf, 2, 3))) static int add_header(struct http_transfer *t,
							    const char *fmt, ...)
{
	char line[AUTH_HEADER_MAX + 64];
	struct curl_slist *more;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	more = curl.slist_append(t->headers, line);
	if (!more)
		return -ENOMEM;
	t->headers = more;
	return 0;
}

static int add_headers(struct http *h)
{
	struct http_transfer *t = h->transfer;
	int r = add_header(t, AUTH_REQUEST_HEADER ": %s", h->credential);

	r |= add_header(t, "Expect:"); /* do not wait for "100 Continue" */
	if (h->has_body)
		r |= add_header(t, "Content-Type: application/json");
	if (h->is_zipped)
		r |= add_header(t, "Content-Encoding: gzip");
	return r;
}

int transfer_set(struct http *h, struct err *err)
{
	CURL *c = h->transfer->easy;

	drop_options(h->transfer);
	h->transfer->is_too_large = false;
	h->transfer->why[0] = '\0';
	if (add_headers(h) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	curl.easy_setopt(c, CURLOPT_URL, h->call_url);
	curl.easy_setopt(c, CURLOPT_HTTPHEADER, h->transfer->headers);
	curl.easy_setopt(c, CURLOPT_TIMEOUT, h->timeout_s ? h->timeout_s + h->wait_s : 0L);
	if (!strcmp(h->method, "GET")) {
		curl.easy_setopt(c, CURLOPT_HTTPGET, 1L);
		return 0;
	}
	curl.easy_setopt(c, CURLOPT_POST, 1L);
	curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)h->sent.size);
	curl.easy_setopt(c, CURLOPT_POSTFIELDS, h->sent.data ? h->sent.data : "");
	return 0;
}

/* ---- what went wrong ---- */

/* Of GnuTLS (gnutls_certificate_status_t); OpenSSL's own words say it. */
#define STATUS_SIGNER_NOT_FOUND (1 << 6)
#define STATUS_NOT_ACTIVATED (1 << 9)
#define STATUS_EXPIRED (1 << 10)

#define REMEDY_CA                                                                              \
	"name the authority that signed its certificate in CaFile= (one that signs itself is its own)"
#define REMEDY_EXPIRED                                                                         \
	"check the clock here; else the controller needs a new certificate (Certificate= in controller.conf)"
#define REMEDY_NAME "write a name that its certificate has in Controller="
#define REMEDY_CLIENT                                                                          \
	"where it asks for certificates of its clients: one that it accepts in ClientCertificate= and ClientKey="
#define REMEDY_FILES                                                                           \
	"check ClientCertificate= and ClientKey=: a certificate and its key in PEM form, which this user may read"
#define REMEDY_PLAIN                                                                           \
	"if the controller there has no Certificate= in controller.conf, write http://"
/* One without TLS answers most handshakes, and breaks off those whose random bytes are no line of HTTP. */
#define REMEDY_BROKEN                                                                          \
	REMEDY_PLAIN                                                                           \
	"; if it has one, try again; where it stays so, the controller's log has the reason (no TLS with ...)"

/* The certificate of the controller is not accepted. */
static int word_distrust(const struct http *h, const char *why, struct err *err)
{
	bool is_gnutls = strstr(curl.version(), "GnuTLS/");
	long status = 0;

	curl.easy_getinfo(h->transfer->easy, CURLINFO_SSL_VERIFYRESULT, &status);
	if (!is_gnutls)
		status = 0;
	if (status & STATUS_EXPIRED || strstr(why, "expired"))
		return http_no_trust(h, "its certificate has expired", REMEDY_EXPIRED, err);
	if (status & STATUS_NOT_ACTIVATED || strstr(why, "not yet valid"))
		return http_no_trust(h, "its certificate is not valid yet", REMEDY_EXPIRED,
				     err);
	if (strstr(why, "does not match") || strstr(why, "no alternative certificate"))
		return http_no_trust(h, why, REMEDY_NAME, err);
	if (status & STATUS_SIGNER_NOT_FOUND)
		why = "no authority that is known here has signed its certificate";
	return http_no_trust(h, why, REMEDY_CA, err);
}

/* Does an alert of the controller end it? With TLS 1.3 it comes when the client's handshake is over. */
static bool is_refusal(const struct http *h, const char *why)
{
	return !strncmp(h->url, "https:", 6) && strstr(why, "alert");
}

/* By the words of GnuTLS, and of OpenSSL. */
static bool is_broken_off(const char *why)
{
	return strstr(why, "non-properly terminated") || strstr(why, "SSL_ERROR_SYSCALL") ||
	       strstr(why, "unexpected eof") || strstr(why, "reset by peer");
}

/* The TLS errors of curl; 0: it is none. */
static int no_tls(const struct http *h, CURLcode code, const char *why, struct err *err)
{
	const char *remedy;

	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
		return word_distrust(h, why, err);
	case CURLE_SSL_CACERT_BADFILE:
		return http_no_trust(h, why, "check CaFile=: a file in PEM form", err);
	case CURLE_SSL_CERTPROBLEM:
		return http_no_trust(h, why, REMEDY_FILES, err);
	case CURLE_SSL_CONNECT_ERROR:
		remedy = is_refusal(h, why)		   ? REMEDY_CLIENT
			 : strstr(why, "certificate file") ? REMEDY_FILES
			 : is_broken_off(why)		   ? REMEDY_BROKEN
							   : REMEDY_PLAIN;
		return http_no_trust(h, why, remedy, err);
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return is_refusal(h, why) ? http_no_trust(h, why, REMEDY_CLIENT, err) : 0;
	default:
		return 0;
	}
}

/* < 0: curl's error as an errno, with what to check. */
static int no_answer(const struct http *h, CURLcode code, struct err *err)
{
	const struct http_transfer *t = h->transfer;
	const char *why = t->why[0] ? t->why : curl.easy_strerror(code);
	long os_errno = 0;
	int r = no_tls(h, code, why, err);

	if (r < 0)
		return r;
	curl.easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return http_no_host(h, why, err);
	case CURLE_COULDNT_CONNECT:
		return http_no_connection(h, os_errno ? -(int)os_errno : -ECONNREFUSED,
					  os_errno ? strerror((int)os_errno) : why, err);
	case CURLE_OPERATION_TIMEDOUT:
		return http_no_time(h, why, err);
	case CURLE_OUT_OF_MEMORY:
		return err_set(err, -ENOMEM, "out of memory");
	case CURLE_WRITE_ERROR:
		if (t->is_too_large)
			return http_too_large(h, err);
		/* fall through */
	default:
		return http_no_use(h, why, err);
	}
}

int transfer_result(struct http *h, CURLcode code, struct err *err)
{
	long sent = 0;
	int r = code ? no_answer(h, code, err) : 0;

	curl.easy_getinfo(h->transfer->easy, CURLINFO_RESPONSE_CODE, &h->status);
	curl.easy_getinfo(h->transfer->easy, CURLINFO_REQUEST_SIZE, &sent);
	h->is_sent = sent > 0;
	drop_options(h->transfer);
	return r;
}

int transfer_exchange(struct http *h, struct err *err)
{
	int r = transfer_open(h, err);

	if (r == 0)
		r = transfer_set(h, err);
	if (r < 0)
		return r;
	h->transfer->waits_from_ns = h->patience.fn ? clock_ns(CLOCK_MONOTONIC) : 0;
	curl.easy_setopt(h->transfer->easy, CURLOPT_NOPROGRESS, h->patience.fn ? 0L : 1L);
	return transfer_result(h, curl.easy_perform(h->transfer->easy), err);
}
