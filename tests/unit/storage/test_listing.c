/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_listing - what lfs quota, mmrepquota -Y and repquota print becomes rows in bytes; what rounds, is damaged or cut off is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "storage/listing.h"
#include "storage/names.h"

static char text[4096]; /* the rows, or the error */

static void append_row(const struct listing_row *row)
{
	size_t n = strlen(text);

	snprintf(text + n, sizeof(text) - n,
		 "%s %lld '%s' %s: %lld of %lld, %lld of %lld files%s\n",
		 listing_kind_name(row->kind), (long long)row->id, row->name, row->filesystem,
		 (long long)row->bytes, (long long)row->limit_bytes, (long long)row->files,
		 (long long)row->limit_files, row->is_partial ? ", partial" : "");
}

static const char *read_all(const char *input)
{
	struct listing in = { 0 };
	struct err err = { "" };
	char line[1024];
	int r;

	*text = '\0';
	for (const char *p = input, *end; *p; p = end + (*end == '\n')) {
		struct listing_row row;

		end = p + strcspn(p, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)(end - p), p);
		r = listing_line(&in, line, &row, &err);
		if (r < 0)
			return strcpy(text, err.text);
		if (r > 0)
			append_row(&row);
	}
	r = listing_end(&in, &err);
	return r < 0 ? strcpy(text, err.text) : text;
}

#define LFS_HEADING                                                                            \
	"     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace\n"

static void lfs_quota_has_a_title_and_a_row(void **unused)
{
	(void)unused;
	assert_string_equal(
		read_all(
			"Disk quotas for grp physics (gid 1234):\n" LFS_HEADING
			"       /project 1225350212* 1000000000 2000000000 6d23h59m  714982       0 1000000       -\n"),
		"group 1234 'physics' /project: 1254758617088 of 2048000000000, 714982 of 1000000 files\n");
	assert_string_equal(
		read_all(
			"Disk quotas for prj 2228473301 (pid 2228473301):\n" LFS_HEADING
			"/lustre/a/path/that/is/wide\n"
			"                1225350212       0       0       -  714982       0       0       -\n"
			"pid 2228473301 is using default block quota setting\n"),
		"project 2228473301 '' /lustre/a/path/that/is/wide: 1254758617088 of 0, 714982 of 0 files\n");
}

static void outputs_of_lfs_follow_each_other(void **unused)
{
	(void)unused;
	assert_string_equal(
		read_all("Userquota:\nDisk quotas for usr alice (uid 7):\n" LFS_HEADING
			 "/lustre 4 0 0 - 1 0 0 -\nlustre-OST0000_UUID\n 4 - 0 - - - - -\n"
			 "Total allocated inode limit: 0, total allocated block limit: 0\n\n"
			 "Disk quotas for grp domain users (gid 9):\n" LFS_HEADING
			 "/lustre [8] 5 0 - 2 3 0 -\n"
			 "Some errors happened when getting quota info.\n"),
		"user 7 'alice' /lustre: 4096 of 0, 1 of 0 files\n"
		"group 9 'domain users' /lustre: 8192 of 5120, 2 of 3 files, partial\n");
}

static void rounded_figures_of_lfs_are_refused(void **unused)
{
	(void)unused;
	assert_non_null(strstr(
		read_all(
			"Disk quotas for prj 1 (pid 1):\n"
			"     Filesystem    used   quota   limit   grace   files   quota   limit   grace\n"
			"        /dodrio   15.4T     19T     20T       -  739564  1048576 1048576       -\n"),
		"run lfs quota without -h"));
	assert_non_null(strstr(read_all("Disk quotas for prj 1 (pid 1):\n" LFS_HEADING
					"/dodrio 15.4T 19T 20T - 739564 1048576 1048576 -\n"),
			       "'15.4T' is no whole number of KiB"));
}

static void a_title_without_figures_is_refused(void **unused)
{
	static const char cut[] = "Disk quotas for grp art (gid 5):\n" LFS_HEADING;
	char input[512];

	(void)unused;
	assert_string_equal(read_all(cut), "the report before has no row: that of art");
	snprintf(input, sizeof(input), "%sDisk quotas for grp physics (gid 6):\n", cut);
	assert_string_equal(read_all(input), "the report before has no row: that of art");
	assert_non_null(
		strstr(read_all("Disk quotas for grp art:\n"), "no title of lfs quota"));
	assert_non_null(strstr(read_all("Disk quotas for pool art (gid 5):\n"), "no title"));
	assert_non_null(strstr(read_all("Disk quotas for grp art (gid x):\n"), "no title"));
	assert_non_null(strstr(read_all("Disk quotas for grp art (gid 5):\n/project 1\n"),
			       "no heading of lfs quota"));
}

#define MM_HEADER                                                                              \
	"mmrepquota::HEADER:version:reserved:reserved:filesystemName:quotaType:id:name:"       \
	"blockUsage:blockQuota:blockLimit:blockInDoubt:blockGrace:filesUsage:filesQuota:"      \
	"filesLimit:filesInDoubt:filesGrace:remarks:quota:defQuota:fid:filesetname:\n"

static void mmrepquota_is_read_by_its_header(void **unused)
{
	(void)unused;
	assert_string_equal(
		read_all(
			"*** Report for FILESET quotas on project\n" MM_HEADER
			"mmrepquota::0:1:::project:FILESET:0:root:337419744:0:0:163840:none:1395:0:0:400:none:i:on:off:::\n"
			"mmrepquota::0:1:::project:FILESET:408:PZS1003:341467872:2147483648:2147483648:0:none:6286:2000000:2000000:0:none:e:on:off:::\n"
			"*** Report for USR GRP quotas on scratch\n" MM_HEADER
			"mmrepquota::0:1:::scr%2Fatch:GRP:103:sys%3Ap:4:8:0:0:none:1:0:0:0:none:i:on:off:2:qtest1:\n"
			"mmrepquota::0:1:::scratch:USR:20821:alice:0:0:0:0:none:1:0:0:0:none:i:on:off:0:root:\n"),
		"fileset 0 'root' project: 345517817856 of 0, 1395 of 0 files\n"
		"fileset 408 'PZS1003' project: 349663100928 of 2199023255552, 6286 of 2000000 files\n"
		"group 103 'sys:p' scr/atch:qtest1: 4096 of 8192, 1 of 0 files\n"
		"user 20821 'alice' scratch: 0 of 0, 1 of 0 files\n");
}

static void columns_of_mmrepquota_may_stand_elsewhere(void **unused)
{
	(void)unused;
	assert_string_equal(
		read_all(
			"mmrepquota::HEADER:name:filesLimit:new:filesQuota:filesUsage:blockLimit:blockQuota:"
			"blockUsage:id:quotaType:filesystemName:\n"
			"mmrepquota::0:art:9:?:8:7:6:5:4:3:FILESET:gpfs1:\n"),
		"fileset 3 'art' gpfs1: 4096 of 6144, 7 of 9 files\n");
	assert_non_null(strstr(read_all("mmrepquota::HEADER:name:id:\n"), "no filesystemName"));
	assert_non_null(
		strstr(read_all("mmrepquota::0:1:::p:GRP:1:a:\n"), "before its HEADER"));
	assert_non_null(strstr(read_all(MM_HEADER "mmrepquota::0:1:::p:GRP:1:a:4:0:0\n"),
			       "13 fields where the HEADER"));
}

#define REPQUOTA_HEADING                                                                       \
	"Block grace time: 7days; Inode grace time: 7days\n"                                   \
	"                        Block limits                File limits\n"                    \
	"Group           used    soft    hard  grace    used  soft  hard  grace\n"             \
	"----------------------------------------------------------------------\n"

static void repquota_shows_a_time_where_a_flag_says_so(void **unused)
{
	(void)unused;
	assert_string_equal(
		read_all(
			"*** Report for group quotas on device /dev/sda1\n" REPQUOTA_HEADING
			"root      --      20       0       0              2     0     0       \n"
			"physics   +-     120     100     200  6days       4     0     0       \n"
			"domain users -+  120     100       0              4     3     5  none \n"
			"#1234     ++     120     100     200  6days       4     3     0  23:59\n"
			"\nStatistics:\nTotal blocks: 7\n"
			"*** Report for project quotas on device /dev/mapper/a b\n" REPQUOTA_HEADING
			"1001      --       1       2       3      0       4     5     6      0\n\n"),
		"group -1 'root' /dev/sda1: 20480 of 0, 2 of 0 files\n"
		"group -1 'physics' /dev/sda1: 122880 of 204800, 4 of 0 files\n"
		"group -1 'domain users' /dev/sda1: 122880 of 102400, 4 of 5 files\n"
		"group 1234 '' /dev/sda1: 122880 of 204800, 4 of 3 files\n"
		"project 1001 '' /dev/mapper/a b: 1024 of 3072, 4 of 6 files\n");
}

static void damaged_repquota_is_refused(void **unused)
{
	(void)unused;
	assert_non_null(strstr(
		read_all("*** Report for group quotas on device /dev/sda1\n"
			 "                        Space limits                File limits\n"),
		"run repquota without -s"));
	assert_non_null(strstr(
		read_all("*** Report for group quotas on device /dev/sda1\n" REPQUOTA_HEADING
			 "physics   --     120     100\n"),
		"is no row of repquota"));
	assert_non_null(strstr(
		read_all("*** Report for group quotas on device /dev/sda1\n" REPQUOTA_HEADING
			 "physics   --  20K 0 0 2 0 0\n"),
		"'20K' is no whole number of KiB"));
	assert_string_equal(read_all("*** Report for group quotas on device /dev/sda1\n"),
			    "the report before has no row");
	assert_non_null(strstr(read_all("*** Report for job quotas on device /dev/sda1\n"),
			       "no title of repquota"));
}

static void an_amount_beyond_63_bits_is_refused(void **unused)
{
	(void)unused;
	assert_string_equal(read_all("Disk quotas for grp a (gid 1):\n" LFS_HEADING
				     "/p 9007199254740991 0 0 - 0 0 0 -\n"),
			    "group 1 'a' /p: 9223372036854774784 of 0, 0 of 0 files\n");
	assert_string_equal(read_all("Disk quotas for grp a (gid 1):\n" LFS_HEADING
				     "/p 9007199254740992 0 0 - 0 0 0 -\n"),
			    "more KiB than can be counted");
	assert_non_null(strstr(read_all("Disk quotas for grp a (gid 1):\n" LFS_HEADING
					"/p 9223372036854775808 0 0 - 0 0 0 -\n"),
			       "is no whole number"));
}

static void another_text_is_named(void **unused)
{
	(void)unused;
	assert_string_equal(read_all(""),
			    "this is no output of lfs quota, mmrepquota -Y or repquota");
	assert_string_equal(read_all("{\"quotas\": []}\n"),
			    "this is no output of lfs quota, mmrepquota -Y or repquota");
}

static void projects_have_the_names_of_etc_projid(void **unused)
{
	static const char projid[] =
		"# names\nart:1001\nbroken\n:7\nphysics:1002:x\nlarge:99999999999999999999\nlast:12";
	char name[LISTING_NAME_MAX] = "";

	(void)unused;
	assert_true(names_find_project(projid, 1001, name));
	assert_string_equal(name, "art");
	assert_true(names_find_project(projid, 12, name));
	assert_string_equal(name, "last");
	assert_false(names_find_project(projid, 1, name));
	assert_false(names_find_project(projid, 7, name));
	assert_false(names_find_project(projid, 1002, name));
	assert_false(names_find_project("", 0, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lfs_quota_has_a_title_and_a_row),
		cmocka_unit_test(outputs_of_lfs_follow_each_other),
		cmocka_unit_test(rounded_figures_of_lfs_are_refused),
		cmocka_unit_test(a_title_without_figures_is_refused),
		cmocka_unit_test(mmrepquota_is_read_by_its_header),
		cmocka_unit_test(columns_of_mmrepquota_may_stand_elsewhere),
		cmocka_unit_test(repquota_shows_a_time_where_a_flag_says_so),
		cmocka_unit_test(damaged_repquota_is_refused),
		cmocka_unit_test(an_amount_beyond_63_bits_is_refused),
		cmocka_unit_test(another_text_is_named),
		cmocka_unit_test(projects_have_the_names_of_etc_projid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
