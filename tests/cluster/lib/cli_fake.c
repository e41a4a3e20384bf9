/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli_fake - answers of a controller from files, so that what `reeve` prints can be pinned.
 *
 * Usage: cli_fake DIR MUNGE_SOCKET. Listens on a loopback port of its own choice and prints it.
 * "GET /v1/jobs/7?x=y" is answered from DIR/GET_v1_jobs_7: the status on the first line, then
 * the body. Every request must carry a real credential for exactly what was sent; "METHOD
 * PATH", the caller's uid and the body go to DIR/log. Two things have behaviour:
 * .../output?stream=S&offset=N serves DIR/S from N on, 5 bytes at a time, with "end" once
 * DIR/ended exists; and .../cancel makes DIR/ended, with DIR/GET_v1_jobs_ID taken from
 * DIR/cancelled.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <nettle/base64.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "common/auth/auth.h"
#include "common/cleanup.h"
#include "common/err.h"

#define BODY_MAX (8 << 20)
#define CHUNK 5
#define WAIT_STEP_US 20000
#define WAIT_STEPS 150

static const char *dir, *munge_socket;

struct body {
	char *target; /* path and query as sent */
	bool is_begun;
	size_t size;
	char data[BODY_MAX];
};

static char *path_in_dir(const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

static char *read_file(const char *name, size_t *ret_size)
{
	_cleanup_free_ char *path = path_in_dir(name);
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char *text = f ? calloc(1, 1 << 20) : NULL;

	*ret_size = text ? fread(text, 1, (1 << 20) - 1, f) : 0;
	return text;
}

static bool file_exists(const char *name)
{
	_cleanup_free_ char *path = path_in_dir(name);

	return access(path, F_OK) == 0;
}

static void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void log_line(const char *format, ...)
{
	_cleanup_free_ char *path = path_in_dir("log");
	_cleanup_fclose_ FILE *f = fopen(path, "a");
	va_list ap;

	va_start(ap, format);
	if (f)
		vfprintf(f, format, ap);
	va_end(ap);
}

static void sign_response(struct MHD_Connection *c, struct MHD_Response *r, const char *text,
			  size_t n)
{
	const char *credential =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, AUTH_REQUEST_HEADER);
	_cleanup_free_ char *other = NULL;
	char header[AUTH_HEADER_MAX];
	struct auth_text what = { credential, text, n, NULL };
	size_t size;

	other = read_file("sign", &size);
	if (!other)
		return;
	if (size)
		what.second = "other", what.second_size = 5;
	if (auth_sign(munge_socket, what, header, NULL) < 0)
		abort();
	MHD_add_response_header(r, AUTH_ANSWER_HEADER, header);
}

static enum MHD_Result send_bytes(struct MHD_Connection *c, unsigned status, const char *text,
				  size_t n)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)text,
								 MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ok;

	sign_response(c, r, text, n);
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, unsigned status, const char *text)
{
	return send_bytes(c, status, text, strlen(text));
}

static void inflate_body(struct body *b)
{
	_cleanup_free_ char *packed = malloc(b->size);
	z_stream z = { 0 };

	memcpy(packed, b->data, b->size);
	z.next_in = (unsigned char *)packed;
	z.avail_in = (unsigned)b->size;
	z.next_out = (unsigned char *)b->data;
	z.avail_out = BODY_MAX - 1;
	if (inflateInit2(&z, 15 + 16) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	b->size = z.total_out;
	inflateEnd(&z);
}

/* Long poll: until there is something, or the job has ended, or three seconds went by. */
static enum MHD_Result serve_output(struct MHD_Connection *c)
{
	const char *name = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "stream");
	const char *from = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "offset");
	size_t offset = (size_t)atoll(from ? from : "0"), size = 0, n;
	char out[BASE64_ENCODE_RAW_LENGTH(CHUNK) + 1] = "", text[256];
	char *data = NULL;
	bool ended = false;

	for (int i = 0; i < WAIT_STEPS && size <= offset && !ended; i++) {
		usleep(i ? WAIT_STEP_US : 0);
		free(data);
		ended = file_exists("ended");
		data = read_file(name, &size);
	}
	n = size > offset ? size - offset : 0;
	n = n > CHUNK ? CHUNK : n;
	if (n)
		base64_encode_raw(out, n, (uint8_t *)data + offset);
	out[BASE64_ENCODE_RAW_LENGTH(n)] = '\0';
	free(data);
	snprintf(text, sizeof(text),
		 "{\"schema\":\"reeve/1\",\"data\":\"%s\",\"offset\":%zu,\"end\":%s}", out,
		 offset + n, ended && offset + n >= size ? "true" : "false");
	return send_answer(c, 200, text);
}

static void cancel_step(const char *url)
{
	_cleanup_free_ char *ended = path_in_dir("ended"), *from = path_in_dir("cancelled");
	_cleanup_free_ char *to = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	char job[32];

	if (sscanf(url, "/v1/jobs/%31[0-9]", job) != 1 ||
	    asprintf(&to, "%s/GET_v1_jobs_%s", dir, job) < 0)
		abort();
	rename(from, to);
	f = fopen(ended, "w");
}

static enum MHD_Result serve_file(struct MHD_Connection *c, const char *method, const char *url)
{
	_cleanup_free_ char *text = NULL;
	char name[256], *body;
	size_t size;

	snprintf(name, sizeof(name), "%s%s", method, url);
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '_';
	text = read_file(name, &size);
	body = text ? strchr(text, '\n') : NULL;
	if (!body)
		return send_answer(c, 404,
				   "{\"schema\":\"reeve/1\",\"error\":{\"code\":\"not-found\","
				   "\"message\":\"no such thing\",\"remedy\":\"\"}}");
	body++;
	return send_bytes(c, (unsigned)atoi(text), body,
			  size - (size_t)(body - text)); /* also bytes behind a NUL */
}

static enum MHD_Result serve_request(struct MHD_Connection *c, const char *url,
				     const char *method, struct body *b)
{
	const char *credential =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, AUTH_REQUEST_HEADER);
	const char *packed =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Encoding");
	_cleanup_free_ char *first = NULL;
	struct auth_who who;
	struct err err;

	if (packed && !strcmp(packed, "gzip"))
		inflate_body(b);
	if (asprintf(&first, "%s %s", method, b->target) < 0)
		abort();
	if (auth_verify(munge_socket, credential,
			(struct auth_text){ first, b->data, b->size, NULL }, &who, &err) < 0) {
		log_line("REFUSED %s: %s\n", first, err.text);
		return send_answer(
			c, 401,
			"{\"schema\":\"reeve/1\",\"error\":{\"code\":\"no\",\"message\":"
			"\"bad credential\",\"remedy\":\"look at munge\"}}");
	}
	log_line("%s uid=%u%s %.*s\n", first, who.uid, packed ? " gzip" : "", (int)b->size,
		 b->data);
	if (strstr(url, "/output"))
		return serve_output(c);
	if (strstr(url, "/cancel") && file_exists("cancelled"))
		cancel_step(url);
	return serve_file(c, method, url);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct body *b = *state;

	(void)ctx;
	(void)version;
	if (!b->is_begun) {
		b->is_begun = true;
		return MHD_YES;
	}
	if (*size) {
		if (b->size + *size >= BODY_MAX)
			return MHD_NO;
		memcpy(b->data + b->size, data, *size);
		b->size += *size;
		*size = 0;
		return MHD_YES;
	}
	return serve_request(c, url, method, b);
}

static void *begin_request(void *ctx, const char *target, struct MHD_Connection *c)
{
	struct body *b = calloc(1, sizeof(*b));

	(void)ctx;
	(void)c;
	if (!b || !(b->target = strdup(target)))
		abort();
	return b;
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode why)
{
	(void)ctx;
	(void)c;
	(void)why;
	free(((struct body *)*state)->target);
	free(*state);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct MHD_Daemon *d;

	if (argc != 3)
		return 2;
	dir = argv[1];
	munge_socket = argv[2];
	d = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0,
			     NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR, &at,
			     MHD_OPTION_URI_LOG_CALLBACK, begin_request, NULL,
			     MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (!d)
		return 1;
	printf("%d\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	fclose(stdout);
	for (;;)
		pause();
}
