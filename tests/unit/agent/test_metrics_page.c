/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_metrics_page - where the agent's metrics are read, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include "agent/metrics/address.h"
#include "agent/metrics/page.h"
#include "common/err.h"

/* ---- the address ---- */

static void a_socket_and_two_loopback_addresses_are_accepted(void **unused)
{
	struct metrics_address a;
	struct err err;

	(void)unused;
	assert_int_equal(metrics_address_parse("/run/reeve/m.sock", &a, &err), 0);
	assert_int_equal(a.at.any.sa_family, AF_UNIX);
	assert_string_equal(a.at.local.sun_path, "/run/reeve/m.sock");
	assert_int_equal(metrics_address_parse("127.0.0.1:9640", &a, &err), 0);
	assert_int_equal(a.at.four.sin_addr.s_addr, htonl(0x7f000001));
	assert_int_equal(ntohs(a.at.four.sin_port), 9640);
	assert_int_equal(metrics_address_parse("[::1]:65535", &a, &err), 0);
	assert_int_equal(ntohs(a.at.six.sin6_port), 65535);
	assert_true(IN6_IS_ADDR_LOOPBACK(&a.at.six.sin6_addr));
}

static void everything_else_is_refused_with_a_remedy(void **unused)
{
	static const char *const bad[] = {
		"0.0.0.0:9640",	 "127.0.0.1",	  "127.0.0.1:0",   "127.0.0.1:65536",
		"127.0.0.1:+80", "127.0.0.1: 80", "127.0.0.1:80x", "127.0.0.10:80",
		"[::]:9640",	 "[::1]",	  "::1:9640",	   "localhost:9640",
		"9640",		 "metrics.sock",  "/run/reeve/",   "/",
		"10.0.0.1:9640", "127.0.0.1:"
	};
	char path[200] = "/";
	struct metrics_address a;
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = '\0';
		assert_true(metrics_address_parse(bad[i], &a, &err) < 0);
		assert_non_null(strstr(err.text, bad[i]));
		assert_non_null(strstr(err.text, "MetricsListen"));
		assert_non_null(strstr(err.text, "127.0.0.1:PORT"));
	}
	memset(path + 1, 'a', 107);
	assert_true(metrics_address_parse(path, &a, &err) < 0);
	path[107] = '\0';
	assert_int_equal(metrics_address_parse(path, &a, &err), 0);
}

/* ---- the text ---- */

static struct metrics_job jobs[2];
static char *page_of(struct metrics_view *v, bool is_openmetrics)
{
	struct metrics_text t = { NULL, is_openmetrics };
	char *text = NULL;
	size_t size;

	t.f = open_memstream(&text, &size);
	assert_non_null(t.f);
	metrics_page_write(v, &t);
	assert_int_equal(fclose(t.f), 0);
	return text;
}

static void make_view(struct metrics_view *v)
{
	*v = (struct metrics_view){ .node = "n1",
				    .node_type = "",
				    .engine = "reeve",
				    .version = "1",
				    .jobs = jobs,
				    .n_jobs = 2 };
	for (int i = 0; i < _METRICS_NODE_MAX; i++)
		v->value[i] = METRICS_ABSENT;
	for (int k = 0; k < 2; k++) {
		jobs[k] = (struct metrics_job){ .job = 7 + k, .attempt = 1, .account = "a" };
		for (int i = 0; i < _METRICS_JOB_MAX; i++)
			jobs[k].value[i] = METRICS_ABSENT;
	}
	jobs[0].user = "ab\"c\\d\ne";
	jobs[1].user = "bob";
}

static void what_is_not_measured_is_left_out(void **unused)
{
	struct metrics_view v;
	char *text;

	(void)unused;
	make_view(&v);
	v.value[METRICS_CORES] = 0;
	jobs[1].value[METRICS_JOB_CPU_NS] = 1500000000;
	text = page_of(&v, false);
	assert_non_null(strstr(text, "\nreeve_node_cores 0\n"));
	assert_null(strstr(text, "reeve_node_gpus"));
	assert_null(strstr(text, "reeve_node_job_vmem"));
	assert_null(strstr(text, "job_id=\"7\""));
	assert_non_null(strstr(text, "reeve_node_job_cpu_seconds_total{job_id=\"8\",attempt="
				     "\"1\",user=\"bob\",account=\"a\"} 1.500000000\n"));
	assert_null(strstr(text, "# EOF"));
	free(text);
}

static void labels_are_escaped(void **unused)
{
	struct metrics_view v;
	char *text;

	(void)unused;
	make_view(&v);
	jobs[0].value[METRICS_JOB_CORES] = 2;
	text = page_of(&v, false);
	assert_non_null(strstr(text, "user=\"ab\\\"c\\\\d\\ne\",account"));
	free(text);
}

static void openmetrics_names_counters_and_units_as_it_wants_them(void **unused)
{
	struct metrics_view v;
	char *text;
	size_t n;

	(void)unused;
	make_view(&v);
	v.value[METRICS_AGENT_CPU_NS] = 1;
	v.value[METRICS_MEMORY] = 5;
	v.killed[LIMIT_VMEM] = 3;
	text = page_of(&v, true);
	n = strlen(text);
	assert_non_null(strstr(text, "# TYPE process_cpu_seconds counter\n"
				     "# UNIT process_cpu_seconds seconds\n"
				     "process_cpu_seconds_total 0.000000001\n"));
	assert_non_null(strstr(text, "# UNIT reeve_node_memory_bytes bytes\n"));
	assert_non_null(strstr(text, "# TYPE reeve_node info\n"));
	assert_non_null(strstr(text, "\nreeve_node_kills_total{limit=\"vmem\"} 3\n"));
	assert_string_equal(text + n - 6, "# EOF\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_and_two_loopback_addresses_are_accepted),
		cmocka_unit_test(everything_else_is_refused_with_a_remedy),
		cmocka_unit_test(what_is_not_measured_is_left_out),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(openmetrics_names_counters_and_units_as_it_wants_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
