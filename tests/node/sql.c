/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sql - what who has taken over a controller can do to its ledger: runs statements in it.
 *
 * usage: sql DATABASE STATEMENT...; prints what they answer, a row a line.
 */
#include <sqlite3.h>
#include <stdio.h>

static int print_row(void *ctx, int n, char **values, char **names)
{
	(void)ctx;
	(void)names;
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? "|" : "", values[i] ? values[i] : "");
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db;
	char *why = NULL;

	if (argc < 3 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return 1;
	sqlite3_busy_timeout(db, 20000);
	for (int i = 2; i < argc; i++)
		if (sqlite3_exec(db, argv[i], print_row, NULL, &why) != SQLITE_OK) {
			fprintf(stderr, "sql: %s\n", why);
			return 1;
		}
	return sqlite3_close(db) != SQLITE_OK;
}
