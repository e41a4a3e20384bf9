/* SPDX-License-Identifier: GPL-2.0-or-later */
/* certificate.c - reads and checks PEM files by GnuTLS; see certificate.h. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "common/private.h"
#include "common/utf8.h"
#include "controller/http/certificate.h"

/* TLS 1.2 and newer. */
#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define SUBJECT_MAX 300
#define TIME_MAX 40
#define KEY_MAX 40

/* What was read at one time; connections hold it. */
struct certificate_set {
	int n_refs;
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priority;
	bool asks_client, needs_client;
	time_t from, until;
	char subject[SUBJECT_MAX], key[KEY_MAX];
};

struct certificate {
	struct certificate_files files;
	struct certificate_set *set;
};

void certificate_release(struct certificate_set *set)
{
	if (!set || --set->n_refs > 0)
		return;
	if (set->credentials)
		gnutls_certificate_free_credentials(set->credentials);
	if (set->priority)
		gnutls_priority_deinit(set->priority);
	free(set);
}

static void certificate_releasep(struct certificate_set **set)
{
	certificate_release(*set);
}

static void free_datum(gnutls_datum_t *d)
{
	gnutls_memset(d->data, 0, d->size);
	gnutls_free(d->data);
}

static int load_file(const char *path, gnutls_datum_t *ret, struct err *err)
{
	int r;

	errno = 0;
	r = gnutls_load_file(path, ret);
	if (r >= 0)
		return 0;
	return errno ? err_set(err, -errno, "%.200s: %m", path)
		     : err_set(err, -EINVAL, "%.200s: %s", path, gnutls_strerror(r));
}

static const char *format_time(time_t t, char buf[static TIME_MAX])
{
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, TIME_MAX, "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(buf, TIME_MAX, "an unknown time");
	return buf;
}

/* ---- the controller's own ---- */

static int check_time(const struct certificate_set *set, const char *path, struct err *err)
{
	const time_t now = time(NULL);
	char when[TIME_MAX];

	if (now > set->until)
		return err_set(err, -EINVAL,
			       "the certificate in %.200s expired on %s; put a new one there",
			       path, format_time(set->until, when));
	if (now < set->from)
		return err_set(
			err, -EINVAL,
			"the certificate in %.200s is not valid before %s; check the clock, or put "
			"another one there",
			path, format_time(set->from, when));
	return 0;
}

static void read_key(gnutls_x509_crt_t certificate, char ret[static KEY_MAX])
{
	unsigned bits = 0;
	int algorithm = gnutls_x509_crt_get_pk_algorithm(certificate, &bits);
	const char *name =
		algorithm < 0 ? NULL : gnutls_pk_get_name((gnutls_pk_algorithm_t)algorithm);

	snprintf(ret, KEY_MAX, "%.25s %u", name ? name : "unknown", bits);
}

/* Of the first certificate of the chain, which is the controller's: subject, key and times. */
static int read_first(struct certificate_set *set, const gnutls_datum_t *pem, const char *path,
		      struct err *err)
{
	gnutls_x509_crt_t *chain = NULL;
	gnutls_datum_t subject = { NULL, 0 };
	unsigned n = 0;
	int r = gnutls_x509_crt_list_import2(&chain, &n, pem, GNUTLS_X509_FMT_PEM, 0);

	if (r < 0 || n == 0)
		return err_set(err, -EINVAL, "there is no certificate (PEM) in %.200s: %s",
			       path, gnutls_strerror(r));
	set->from = gnutls_x509_crt_get_activation_time(chain[0]);
	set->until = gnutls_x509_crt_get_expiration_time(chain[0]);
	read_key(chain[0], set->key);
	if (gnutls_x509_crt_get_dn3(chain[0], &subject, 0) >= 0)
		utf8_format(set->subject, sizeof(set->subject), "%s", subject.data);
	gnutls_free(subject.data);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	return check_time(set, path, err);
}

static int take_key(struct certificate_set *set, const gnutls_datum_t *certificate,
		    const struct certificate_files *files, struct err *err)
{
	__attribute__((cleanup(free_datum))) gnutls_datum_t key = { NULL, 0 };
	int r = private_check(files->key, err);

	if (r >= 0)
		r = load_file(files->key, &key, err);
	if (r < 0)
		return r;
	r = gnutls_certificate_set_x509_key_mem2(set->credentials, certificate, &key,
						 GNUTLS_X509_FMT_PEM, NULL, 0);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return err_set(err, -EINVAL,
			       "the key in %.200s is not that of the certificate in %.200s",
			       files->key, files->certificate);
	if (r == GNUTLS_E_DECRYPTION_FAILED)
		return err_set(err, -EINVAL,
			       "the key in %.200s is protected by a password; write it without "
			       "one: openssl pkey -in FILE -out NEW",
			       files->key);
	if (r < 0)
		return err_set(err, -EINVAL, "there is no usable key (PEM) in %.200s: %s",
			       files->key, gnutls_strerror(r));
	return 0;
}

/* ---- those of clients ---- */

/* Called by GnuTLS at the end of a handshake in which a client certificate was asked for. */
static int verify_client(gnutls_session_t session)
{
	const struct certificate_set *set = gnutls_session_get_ptr(session);
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned n = 0, status = 0;

	if (!gnutls_certificate_get_peers(session, &n) || n == 0)
		return set->needs_client ? GNUTLS_E_NO_CERTIFICATE_FOUND : 0;
	if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0 || status)
		return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
	return 0;
}

static int take_clients(struct certificate_set *set, const struct certificate_files *files,
			struct err *err)
{
	__attribute__((cleanup(free_datum))) gnutls_datum_t pem = { NULL, 0 };
	int r = files->clients ? load_file(files->clients, &pem, err) : 0;

	if (r < 0 || !files->clients)
		return r;
	r = gnutls_certificate_set_x509_trust_mem(set->credentials, &pem, GNUTLS_X509_FMT_PEM);
	if (r <= 0)
		return err_set(err, -EINVAL, "there is no certificate (PEM) in %.200s: %s",
			       files->clients, gnutls_strerror(r));
	gnutls_certificate_set_verify_function(set->credentials, verify_client);
	set->asks_client = true;
	set->needs_client = files->needs_client;
	return 0;
}

/* ---- all ---- */

static int read_set(const struct certificate_files *files, struct certificate_set **ret,
		    struct err *err)
{
	_cleanup_(certificate_releasep) struct certificate_set *set = calloc(1, sizeof(*set));
	__attribute__((cleanup(free_datum))) gnutls_datum_t pem = { NULL, 0 };
	int r;

	if (!set)
		return err_set(err, -ENOMEM, "out of memory");
	set->n_refs = 1;
	if (gnutls_certificate_allocate_credentials(&set->credentials) < 0 ||
	    gnutls_priority_init(&set->priority, PRIORITY, NULL) < 0)
		return err_set(err, -ENOMEM, "GnuTLS cannot be set up: out of memory");
	r = load_file(files->certificate, &pem, err);
	if (r >= 0)
		r = read_first(set, &pem, files->certificate, err);
	if (r >= 0)
		r = take_key(set, &pem, files, err);
	if (r >= 0)
		r = take_clients(set, files, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(set);
	return 0;
}

int certificate_open(const struct certificate_files *files, struct certificate **ret,
		     struct err *err)
{
	_cleanup_free_ struct certificate *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->files = *files;
	r = read_set(files, &c->set, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

struct certificate *certificate_close(struct certificate *c)
{
	if (c)
		certificate_release(c->set);
	free(c);
	return NULL;
}

int certificate_reload(struct certificate *c, struct err *err)
{
	struct certificate_set *set;
	int r = read_set(&c->files, &set, err);

	if (r < 0)
		return r;
	certificate_release(c->set);
	c->set = set;
	return 0;
}

int64_t certificate_left_s(const struct certificate *c)
{
	return (int64_t)c->set->until - (int64_t)time(NULL);
}

const char *certificate_key(const struct certificate *c)
{
	return c->set->key;
}

void certificate_format(const struct certificate *c, char ret[static CERTIFICATE_WORDS_MAX])
{
	char until[TIME_MAX];

	snprintf(ret, CERTIFICATE_WORDS_MAX, "%s, valid until %s",
		 *c->set->subject ? c->set->subject : "no subject",
		 format_time(c->set->until, until));
}

int certificate_begin(struct certificate *c, gnutls_session_t *ret_session,
		      struct certificate_set **ret_set)
{
	struct certificate_set *set = c->set;
	gnutls_session_t session = NULL;

	if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return -ENOMEM;
	if (gnutls_priority_set(session, set->priority) < 0 ||
	    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, set->credentials) < 0) {
		gnutls_deinit(session);
		return -ENOMEM;
	}
	gnutls_session_set_ptr(session, set);
	if (set->asks_client)
		gnutls_certificate_server_set_request(
			session, set->needs_client ? GNUTLS_CERT_REQUIRE : GNUTLS_CERT_REQUEST);
	set->n_refs++;
	*ret_session = session;
	*ret_set = set;
	return 0;
}
