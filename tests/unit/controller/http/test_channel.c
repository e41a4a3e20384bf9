/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_channel - what goes through a channel arrives whole, however slowly one side takes it, and the end of one side is the end of
 * the other. */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/http/certificate.h"
#include "controller/http/channel.h"

#define MUCH (3 << 20) /* bytes: more than the sockets keep */
#define TURNS 2000000  /* of the loop, before a test fails */

static char pem_path[] = "/tmp/reeve-channel-pem-XXXXXX";
static char key_path[] = "/tmp/reeve-channel-key-XXXXXX";

struct rig {
	sd_event *event;
	struct certificate *certificate;
	struct channel *channel; /* NULL: it has ended */
	int inner;		 /* -1: no handshake yet */
	const char *refusal;	 /* of on_begin */
	int64_t spent_ns;
	const char *why; /* of on_end */
	int n_no_room;
	int client_fd;
	gnutls_session_t client;
	gnutls_certificate_credentials_t trust;
};

/* ---- a certificate that signs itself ---- */

static void write_file(int fd, gnutls_datum_t *d)
{
	assert_int_equal(write(fd, d->data, d->size), (ssize_t)d->size);
	close(fd);
	gnutls_free(d->data);
}

static int make_certificate(void **state)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	gnutls_datum_t text;

	(void)state;
	gnutls_x509_privkey_init(&key);
	gnutls_x509_crt_init(&crt);
	assert_int_equal(gnutls_x509_privkey_generate(
				 key, GNUTLS_PK_ECDSA,
				 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
			 0);
	gnutls_x509_crt_set_version(crt, 3);
	gnutls_x509_crt_set_serial(crt, "\x01", 1);
	gnutls_x509_crt_set_activation_time(crt, time(NULL) - 60);
	gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600);
	gnutls_x509_crt_set_dn(crt, "CN=channel", NULL);
	gnutls_x509_crt_set_key(crt, key);
	assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &text), 0);
	write_file(mkstemp(pem_path), &text);
	assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text), 0);
	write_file(mkstemp(key_path), &text);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
	return 0;
}

static int remove_certificate(void **state)
{
	(void)state;
	unlink(pem_path);
	unlink(key_path);
	return 0;
}

/* ---- the two ends ---- */

static const char *on_begin(void *ctx)
{
	return ((struct rig *)ctx)->refusal;
}

static void on_spent(void *ctx, int64_t cpu_ns)
{
	((struct rig *)ctx)->spent_ns += cpu_ns;
}

static int on_ready(void *ctx, int inner)
{
	struct rig *g = ctx;

	g->inner = inner;
	return 0;
}

static void on_no_room(void *ctx, const char *why)
{
	((struct rig *)ctx)->n_no_room += *why != '\0';
}

static void on_end(void *ctx, const char *why)
{
	struct rig *g = ctx;

	g->channel = NULL;
	g->why = why;
}

static void rig_open(struct rig *g)
{
	const struct certificate_files files = { .certificate = pem_path, .key = key_path };
	struct channel_config c = { .on_begin = on_begin,
				    .on_spent = on_spent,
				    .on_ready = on_ready,
				    .on_no_room = on_no_room,
				    .on_end = on_end,
				    .ctx = g };
	struct err err = { "" };
	int pair[2];

	*g = (struct rig){ .inner = -1 };
	assert_int_equal(sd_event_new(&g->event), 0);
	if (certificate_open(&files, &g->certificate, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	g->client_fd = pair[1];
	c.event = g->event;
	c.fd = pair[0];
	c.certificate = g->certificate;
	assert_int_equal(channel_open(&c, &g->channel), 0);
	gnutls_certificate_allocate_credentials(&g->trust);
	gnutls_init(&g->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(g->client);
	gnutls_credentials_set(g->client, GNUTLS_CRD_CERTIFICATE, g->trust);
	gnutls_transport_set_int(g->client, g->client_fd);
}

static void rig_close(struct rig *g)
{
	if (g->inner >= 0)
		close(g->inner);
	g->channel = channel_close(g->channel);
	gnutls_deinit(g->client);
	gnutls_certificate_free_credentials(g->trust);
	if (g->client_fd >= 0)
		close(g->client_fd);
	certificate_close(g->certificate);
	sd_event_unref(g->event);
}

/* What is due now; nothing is waited for. */
static void run_due(struct rig *g)
{
	for (int i = 0; i < 20 && sd_event_run(g->event, 0) > 0; i++)
		;
}

static void shake_hands(struct rig *g)
{
	int r = GNUTLS_E_AGAIN;

	for (int i = 0; i < TURNS && r == GNUTLS_E_AGAIN; i++) {
		r = gnutls_handshake(g->client);
		run_due(g);
	}
	assert_int_equal(r, 0);
	assert_true(g->inner >= 0);
}

/* Byte i of what is sent: no two pieces are alike. */
static char byte_at(int i)
{
	return (char)((i * 2654435761U) >> 16);
}

static void fill_bytes(char *data, int from, int n)
{
	for (int i = 0; i < n; i++)
		data[i] = byte_at(from + i);
}

static void expect_bytes(const char *data, int from, int n)
{
	for (int i = 0; i < n; i++)
		if (data[i] != byte_at(from + i))
			fail_msg("byte %d is another", from + i);
}

/* Both sides send MUCH; each reads `slow` bytes at most in a turn, and one turn in `rest` alone. */
static void exchange_bytes(struct rig *g, int slow, int rest)
{
	int sent_in = 0, sent_out = 0, got_in = 0, got_out = 0;
	static char data[16384], taken[65536];
	bool is_held = false; /* GnuTLS has a record that was not sent */

	for (int turn = 0; turn < TURNS && (got_in < MUCH || got_out < MUCH); turn++) {
		int n = MUCH - sent_in < 16384 ? MUCH - sent_in : 16384;

		fill_bytes(data, sent_in, n);
		if (n || is_held)
			n = (int)gnutls_record_send(g->client, is_held ? NULL : data,
						    is_held ? 0 : (size_t)n);
		is_held = n == GNUTLS_E_AGAIN;
		sent_in += n > 0 ? n : 0;
		n = MUCH - sent_out < 16384 ? MUCH - sent_out : 16384;
		fill_bytes(data, sent_out, n);
		n = (int)send(g->inner, data, (size_t)n, MSG_NOSIGNAL);
		sent_out += n > 0 ? n : 0;
		run_due(g);
		if (turn % rest)
			continue;
		n = (int)recv(g->inner, taken, (size_t)slow, 0);
		expect_bytes(taken, got_in, n);
		got_in += n > 0 ? n : 0;
		n = (int)gnutls_record_recv(g->client, taken, (size_t)slow);
		expect_bytes(taken, got_out, n);
		got_out += n > 0 ? n : 0;
	}
	assert_int_equal(got_in, MUCH);
	assert_int_equal(got_out, MUCH);
}

/* ---- laws ---- */

static void all_that_is_sent_arrives_however_slowly_it_is_taken(void **state)
{
	static const struct {
		int slow, rest;
	} readers[] = { { 65536, 1 }, { 4096, 1 }, { 65536, 7 }, { 1000, 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		struct rig g;

		rig_open(&g);
		shake_hands(&g);
		exchange_bytes(&g, readers[i].slow, readers[i].rest);
		rig_close(&g);
	}
}

static void a_client_that_goes_away_ends_the_plain_side(void **state)
{
	struct rig g;
	char byte;

	(void)state;
	rig_open(&g);
	shake_hands(&g);
	close(g.client_fd);
	g.client_fd = -1;
	run_due(&g);
	assert_null(g.channel);
	assert_null(g.why);
	assert_int_equal(recv(g.inner, &byte, 1, 0), 0);
	rig_close(&g);
}

/* An answer to what came before still reaches a client that has said that it sends no more. */
static void a_client_that_sends_no_more_can_still_read(void **state)
{
	struct rig g;
	char data[16] = "";

	(void)state;
	rig_open(&g);
	shake_hands(&g);
	assert_int_equal(gnutls_record_send(g.client, "question", 8), 8);
	assert_int_equal(gnutls_bye(g.client, GNUTLS_SHUT_WR), 0);
	run_due(&g);
	assert_int_equal(recv(g.inner, data, sizeof(data), 0), 8);
	assert_int_equal(recv(g.inner, data, sizeof(data), 0), 0);
	assert_int_equal(send(g.inner, "answer", 6, 0), 6);
	run_due(&g);
	assert_int_equal(gnutls_record_recv(g.client, data, sizeof(data)), 6);
	assert_memory_equal(data, "answer", 6);
	rig_close(&g);
}

static void the_end_of_the_plain_side_reaches_the_client_behind_its_bytes(void **state)
{
	static char data[100000];
	struct rig g;
	int got = 0, n = GNUTLS_E_AGAIN;

	(void)state;
	rig_open(&g);
	shake_hands(&g);
	fill_bytes(data, 0, sizeof(data));
	assert_int_equal(send(g.inner, data, sizeof(data), 0), sizeof(data));
	close(g.inner);
	g.inner = -1;
	assert_true(channel_is_sending(g.channel));
	for (int turn = 0; turn < TURNS && n != 0; turn++) {
		run_due(&g);
		n = (int)gnutls_record_recv(g.client, data, sizeof(data));
		expect_bytes(data, got, n);
		got += n > 0 ? n : 0;
	}
	assert_int_equal(n, 0); /* said so, not broken off */
	assert_int_equal(got, sizeof(data));
	assert_null(g.channel);
	rig_close(&g);
}

/* As the program ends: nothing runs the loop any more. */
static void closing_sends_what_is_left(void **state)
{
	struct rig g;
	char data[16] = "";

	(void)state;
	rig_open(&g);
	shake_hands(&g);
	assert_int_equal(send(g.inner, "farewell", 8, 0), 8);
	close(g.inner);
	g.inner = -1;
	g.channel = channel_close(g.channel);
	assert_int_equal(gnutls_record_recv(g.client, data, sizeof(data)), 8);
	assert_memory_equal(data, "farewell", 8);
	assert_int_equal(gnutls_record_recv(g.client, data, sizeof(data)), 0);
	rig_close(&g);
}

static void plain_http_is_told_to_be_https(void **state)
{
	struct rig g;
	char data[1024] = "";

	(void)state;
	rig_open(&g);
	assert_int_equal(write(g.client_fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	run_due(&g);
	assert_true(read(g.client_fd, data, sizeof(data) - 1) > 0);
	assert_int_equal(strncmp(data, "HTTP/1.1 400 ", 13), 0);
	assert_non_null(strstr(data, "https://"));
	assert_int_equal(read(g.client_fd, data, sizeof(data)), 0);
	assert_non_null(g.channel); /* until the client closes */
	shutdown(g.client_fd, SHUT_WR);
	run_due(&g);
	assert_null(g.channel);
	assert_string_equal(g.why, "it speaks plain HTTP");
	rig_close(&g);
}

static void garbage_ends_with_a_reason(void **state)
{
	static const char garbage[] = "\x16 is the first byte alone of a handshake";
	struct rig g;

	(void)state;
	rig_open(&g);
	assert_int_equal(write(g.client_fd, garbage, sizeof(garbage)), sizeof(garbage));
	run_due(&g);
	shutdown(g.client_fd, SHUT_WR);
	run_due(&g);
	assert_null(g.channel);
	assert_non_null(g.why);
	assert_int_equal(g.inner, -1);
	rig_close(&g);
}

static void a_handshake_that_is_refused_makes_no_session(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	g.refusal = "too many";
	assert_int_equal(gnutls_handshake(g.client), GNUTLS_E_AGAIN);
	run_due(&g);
	assert_null(g.channel);
	assert_string_equal(g.why, "too many");
	rig_close(&g);
}

/* The controller holds nodes' loss back for it, so it must learn of it. */
static void a_lack_of_descriptors_is_reported(void **state)
{
	struct rlimit before, none;
	struct rig g;
	int r = GNUTLS_E_AGAIN, next;

	(void)state;
	rig_open(&g);
	next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < TURNS && g.channel; i++) {
		if (r == GNUTLS_E_AGAIN)
			r = gnutls_handshake(g.client);
		run_due(&g);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_null(g.channel);
	assert_int_equal(g.n_no_room, 1);
	assert_int_equal(g.inner, -1);
	rig_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_sent_arrives_however_slowly_it_is_taken),
		cmocka_unit_test(a_client_that_goes_away_ends_the_plain_side),
		cmocka_unit_test(a_client_that_sends_no_more_can_still_read),
		cmocka_unit_test(the_end_of_the_plain_side_reaches_the_client_behind_its_bytes),
		cmocka_unit_test(closing_sends_what_is_left),
		cmocka_unit_test(plain_http_is_told_to_be_https),
		cmocka_unit_test(garbage_ends_with_a_reason),
		cmocka_unit_test(a_handshake_that_is_refused_makes_no_session),
		cmocka_unit_test(a_lack_of_descriptors_is_reported),
	};

	return cmocka_run_group_tests(tests, make_certificate, remove_certificate);
}
