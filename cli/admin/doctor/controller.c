/* SPDX-License-Identifier: GPL-2.0-or-later */
/* controller.c - what is checked on the controller's host; see doctor.h. */
#include <stdio.h>
#include <string.h>
#include "cli/admin/doctor/doctor.h"
#include "cli/admin/doctor/gather/database.h"
#include "cli/admin/doctor/gather/files.h"
#include "cli/admin/doctor/gather/machine.h"
#include "common/auth/auth.h"
#include "common/err.h"
#include "controller/config/config.h"
#include "controller/ledger/store.h"
#include "controller/postgres/pg.h"

#define CHECK_LIMIT_S 60
#define OTHERS_WRITE 022
#define OTHERS_ANYTHING 077
#define MIB ((int64_t)1 << 20)
#define LEDGER_NEEDS (256 * MIB)
#define LEDGER_WISHES (1024 * MIB)

static void check_disk(struct doctor *d, const struct judge_database *ledger)
{
	struct judge_disk disk = { .check = "disk-ledger",
				   .what = "the ledger",
				   .need_bytes = LEDGER_NEEDS,
				   .wish_bytes = LEDGER_WISHES };

	snprintf(disk.path, sizeof(disk.path), "%s", ledger->place);
	if (strrchr(disk.path + 1, '/'))
		*strrchr(disk.path, '/') = '\0';
	/* An upgrade of the schema writes large parts of it again. */
	if (ledger->bytes / 2 > disk.wish_bytes)
		disk.wish_bytes = ledger->bytes / 2;
	snprintf(disk.remedy, sizeof(disk.remedy),
		 "reeve admin archive --ledger %.200s --before MONTH --to DIRECTORY",
		 ledger->place);
	gather_disk(&disk);
	judge_disk(d->report, &disk);
}

static void check_modes(struct doctor *d, const char *ledger)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lead" };
	char dir[JUDGE_PATH_MAX], path[JUDGE_PATH_MAX];
	struct judge_path p[8];
	uint32_t uid = 0, gid;
	struct err unused;
	bool has_user = auth_user_lookup(d->link.controller_user, &uid, &gid, &unused) >= 0;
	size_t n = 0;

	snprintf(dir, sizeof(dir), "%.500s", d->controller_path);
	p[n++] = doctor_path(JUDGE_PATH_FILE, dir, OTHERS_WRITE);
	if (strrchr(dir + 1, '/'))
		*strrchr(dir, '/') = '\0';
	p[n++] = doctor_path(JUDGE_PATH_DIRECTORY, dir, OTHERS_WRITE);
	p[0].owner = p[1].owner = 0;
	if (d->controller->metrics_token)
		p[n++] = doctor_path(JUDGE_PATH_FILE, d->controller->metrics_token, 007);
	for (size_t i = 0; ledger && i < ARRAY_LEN(ends); i++) {
		snprintf(path, sizeof(path), "%.480s%s", ledger, ends[i]);
		p[n] = doctor_path(JUDGE_PATH_FILE, path, OTHERS_ANYTHING);
		p[n].may_lack = true; /* the check of the ledger says whether it is there */
		p[n].owner = has_user ? (int64_t)uid : -1;
		n++;
	}
	for (size_t i = 0; i < n; i++)
		gather_path(&p[i]);
	judge_paths(d->report, p, n);
}

static void check_ledger(struct doctor *d)
{
	const char *place = d->controller->database;
	struct judge_database file = { .check = "ledger", .newest = store_schema_newest() };
	struct judge_postgres server = { .newest = file.newest };

	if (pg_is_place(place)) {
		gather_postgres(place, d->link.controller_user, &server);
		judge_postgres(d->report, &server);
		check_modes(d, NULL);
		return;
	}
	snprintf(file.place, sizeof(file.place), "%s", place);
	gather_database(CHECK_LIMIT_S, &file);
	judge_database(d->report, &file);
	check_disk(d, &file);
	check_modes(d, place);
}

static void check_hooks(struct doctor *d)
{
	const char *program = d->controller->hooks.program;
	struct err err;

	if (!program)
		return;
	if (config_check_program(program, &err) >= 0) {
		judge_add(d->report, "hooks", JUDGE_OK, "%s may be run", program);
		return;
	}
	judge_add(d->report, "hooks", JUDGE_FAIL, "the program of [Hooks] is not run: %s",
		  err.text);
	judge_remedy(d->report, "chown root %s; chmod 755 %s", program, program);
}

void doctor_controller(struct doctor *d)
{
	struct gather_link link = d->link;
	struct judge_unit unit;
	struct judge_nodes nodes;

	gather_unit("reeve-controller.service", &unit);
	judge_unit(d->report, &unit);
	if (d->controller) {
		check_ledger(d);
		check_hooks(d);
		judge_certificate(d->report, &d->about, d->controller->certificate);
	} else {
		judge_add(d->report, "ledger", JUDGE_UNCHECKED,
			  "where the ledger is, is not known: controller.conf cannot be read");
	}
	gather_nodes(&link, d->about.version, &nodes);
	judge_nodes(d->report, &nodes);
}
