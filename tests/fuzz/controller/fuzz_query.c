/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_query.c - any text as a value of a request's query or header: a day, a moment, a client's address, a ticket or cookie, and as the tasks
 * of an array that the ledger has. What is accepted is written again as text that reads the same; no ticket or cookie is guessed.
 *
 * links: controller/ledger/calendar controller/ledger/jobs/ranges controller/http/peers controller/session/session common/err
 *
 * libs: -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/http/peers.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/jobs/ranges.h"
#include "controller/session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_moment(const char *text)
{
	static struct calendar *c;
	char buf[CALENDAR_DAY_MAX];
	int64_t day, again, at_ns;

	if (!c && calendar_open("America/Toronto", &c, NULL) < 0)
		abort();
	if (calendar_parse_day(text, &day) == 0 &&
	    (strcmp(calendar_format_day(day, buf), text) != 0 ||
	     calendar_parse_day(buf, &again) < 0 || again != day ||
	     calendar_day(c, calendar_first_ns(c, day)) != day))
		abort();
	if (calendar_parse_at(c, text, &at_ns) == 0)
		calendar_day(c, at_ns);
}

static void check_address(const char *text)
{
	char buf[PEER_TEXT_MAX];
	struct peer_key key, again;

	if (peer_key_parse(text, &key) < 0)
		return;
	peer_key_format(&key, buf);
	buf[strcspn(buf, "/")] = '\0'; /* an IPv6 peer is its /64 */
	if (peer_key_parse(buf, &again) < 0 || memcmp(&key, &again, sizeof(key)) != 0)
		abort();
}

static void check_ranges(const char *text)
{
	struct ranges r, again;
	char *written;

	if (ranges_parse(text, &r) < 0)
		return;
	written = ranges_format(&r);
	if (!written || strlen(written) > strlen(text) || ranges_parse(written, &again) < 0 ||
	    again.n != r.n || ranges_count(&again) != ranges_count(&r))
		abort();
	for (size_t i = 0; i < r.n; i++)
		if (r.at[i].from < 0 || r.at[i].to < r.at[i].from ||
		    !ranges_has(&r, r.at[i].to) || (i && r.at[i].from <= r.at[i - 1].to + 1))
			abort();
	free(written);
	ranges_done(&again);
	ranges_done(&r);
}

static void check_token(const char *text)
{
	static struct session_table *t;
	char token[SESSION_TOKEN_MAX];
	struct session_user user = { 1, 1 };
	struct err err = { "" };

	if (!t) {
		t = session_table_new();
		if (!t || session_new_ticket(t, user, 1, token, &err) < 0)
			abort();
	}
	if (session_find(t, text, 2, &user) || session_redeem(t, text, 2, token, &err) >= 0 ||
	    !*err.text)
		abort();
	session_end(t, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	check_moment(text);
	check_address(text);
	check_ranges(text);
	check_token(text);
	free(text);
	return 0;
}
