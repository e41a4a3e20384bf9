#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# archive.sh [KILLS [SEED]] - `reeve admin archive`: the jobs of past months move from a ledger to files while it is killed at
# random; no job is lost or twice, and usage, shares, quotas and verification answer as before. On SQLite and PostgreSQL. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/server_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir archive
live_munge
kills=${1:-8} seed=${2:-$RANDOM}
RANDOM=$seed
echo "# $kills kills, seed $seed"
program=$PWD/build/bin/reeve
reeve() { "$program" "$@" 2>&1; }
jobs=${ARCHIVE_JOBS:-12000}
slurm=$((2 << 40)) # the numbers of jobs of Slurm's first cluster begin there

# ---- a ledger of four months: jobs 1 ... that ended, and those behind them that have to stay ----
first=$dir/first.db
{
	echo '; UnixStartTime: 1700000000'
	seq 2000 | awk '{ print $1, $1 * 3000, 5, $1 * 37 % 9000, $1 % 63 + 1, -1, -1, 4, 7200, -1, 1, $1 % 19, $1 % 4, -1, -1, -1, -1, -1 }'
} >"$dir/h.swf"
reeve import swf "$dir/h.swf" --cluster old --ledger "$first" >/dev/null
cat >"$dir/fill.sql" <<-SQL
	CREATE TEMP TABLE n AS WITH r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < $jobs) SELECT i, (1704067200 + i * 10368000 / $jobs) * 1000000000 AS at,
		i % 5000 + 60 AS ran, i % 3 = 0 AS cut FROM r;
	INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,
		submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,
		bundle_memory_num, bundle_memory_den, request, "end", kept)
		SELECT i, 1, 5, 1000 + i % 7, 'u' || (i % 7), 'g' || (i % 3), 'main', 'normal', 'a,"b' || char(10) || 'c', 'n' || (i % 9), i % 8 + 1, 1000, 0, 0, 7200, 0,
		at - ran * 1000000000, at - ran * 1000000000, at, 0, 1, i % 8 + 1, 1, 0, 1, 0, 1, 0, 1, '{"argv":["x,y"]}', NULL, 0 FROM n;
	INSERT INTO attempts(job, attempt, node, given_ns, state, closed, seq, at_ns, started_ns, ended_ns, running_ns, charge_requested_ms, charge_used_ms, end_kind,
		usage, started_day, ended_day, usage_day, sliced)
		SELECT i, 1, 'n' || (i % 9), at - ran * 1000000000, 5, 1, 3, at, at - ran * 1000000000, at, ran * 1000000000, ran * 1000 * (i % 8 + 1), ran * 500, 1,
		'{"cpu_ns":' || (ran * 700000000) || '}', (at / 1000000000 - ran) / 86400, (at / 1000000000 - 1) / 86400, CASE WHEN cut THEN -1000000 ELSE (at / 1000000000 - 1) / 86400 END, cut FROM n;
	INSERT INTO slices SELECT i, 1, (at / 1000000000 - 1) / 86400 - k, ran * 1000 * s, 0, ran * 700 * s, ran * 1000 * (i % 8 + 1) * s, ran * 500 * s, ran * 1000 * (i % 8 + 1) * s, 0
		FROM (SELECT 0 AS k, 0 AS s UNION SELECT 1, 1), n WHERE cut;
	INSERT INTO stretches SELECT i, 1, at - ran * 1000000000, at, ran * 1000000000, 1 FROM n;
	-- Jobs of Slurm: of reeve-slurm, and each third of an agent alone.
	INSERT INTO origins(id, cluster) VALUES(2, 'vc');
	INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,
		submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,
		bundle_memory_num, bundle_memory_den, request, "end", kept)
		SELECT $slurm + i, 1, 5, 1000 + i % 7, 'u' || (i % 7), 'g' || (i % 3), 'vc', 'batch', 'run', 'm1', 2, 0, 0, 0, 7200, 0,
		at - ran * 1000000000, at - ran * 1000000000, at, 0, 1, 2, 1, 0, 1, 0, 1, 0, 1, '{}', NULL, 0 FROM n WHERE i % 20 = 0;
	INSERT INTO attempts(job, attempt, node, given_ns, state, closed, seq, at_ns, started_ns, ended_ns, running_ns, charge_requested_ms, charge_used_ms, end_kind,
		usage, started_day, ended_day, usage_day, sliced)
		SELECT $slurm + i, 1, 'm1', at - ran * 1000000000, 5, 1, CASE WHEN i % 3 = 0 THEN 2 ELSE 0 END, at, at - ran * 1000000000, at, ran * 1000000000, ran * 2000, ran * 500, 1,
		'{"cpu_ns":' || (ran * 700000000) || '}', (at / 1000000000 - ran) / 86400, (at / 1000000000 - 1) / 86400, (at / 1000000000 - 1) / 86400, 0 FROM n WHERE i % 20 = 0;
	INSERT INTO stretches SELECT $slurm + i, 1, at - ran * 1000000000, at, ran * 1000000000, 1 FROM n WHERE i % 20 = 0;
	INSERT INTO slurm_attempts(origin, id, submit_s, job, attempt, state, start_s, end_s, suspended_s, exit_status, signal, ncpus, nodes, node, array_job, array_task,
		het_job, het_offset, source, at_s) SELECT 2, i, at / 1000000000 - ran - 5, $slurm + i, 1, 3, at / 1000000000 - ran, at / 1000000000, 0, 0, 0, 2, 'm[1-2]', 'm1', 0, -1,
		0, 0, 2, at / 1000000000 FROM n WHERE i % 20 = 0 AND i % 3 > 0;
	UPDATE slurm_attempts SET due_ns = 1 WHERE id = 40;
	UPDATE jobs SET kept = 2 WHERE job % 100 = 1;
	UPDATE attempts SET closed = 0 WHERE job = 4;
	INSERT INTO depends VALUES($jobs, 6, 1, 0);
	INSERT INTO arrays VALUES(8, 2, 0, 1, 0, '', 0, 0, 2, 2, 1), (20, 2, 0, 1, 0, '', 0, 0, 2, 2, 0), ($((jobs - 40)), 3, 0, 1, 0, '', 0, 0, 2, 2, 0);
	UPDATE jobs SET array_job = 8, array_index = job - 9 WHERE job IN (9, 10);
	UPDATE jobs SET array_job = 20, array_index = job - 21 WHERE job IN (21, 22);
SQL
sqlite3 "$first" <"$dir/fill.sql" || bail "no ledger"
stay="4, 6, 8, 9, 10, $((jobs - 40)), $((slurm + 40))"
reeve admin adjust --ledger "$first" --job 14 --cluster main --charge -0.05 --reason test >"$dir/said" || bail "$(cat "$dir/said")"
reeve admin rebuild --ledger "$first" >"$dir/said" || bail "$(cat "$dir/said")"
reeve admin adjust --ledger "$first" --account g1 --user u1 --cluster main --charge 2.5 --reason test >"$dir/said" || bail "$(cat "$dir/said")"
reeve admin verify --ledger "$first" >"$dir/said" || bail "$(cat "$dir/said")"
printf '[Account g0]\nUsers=u0=3,u1,u2,u3,u4,u5,u6\n[Account g1]\nUsers=u0,u1,u2,u3,u4,u5,u6\n[Account g2]\nUsers=u0,u1,u2,u3,u4,u5,u6\n[Allocation g1/x]\nKind=target\nAmount=2000\nFrom=2024-01-01\nTo=2025-01-01\n' >"$dir/acc.conf"

views() { # LEDGER: the same before and after
	local view
	for view in "usage --by account --monthly --csv" "usage --by user,cluster --json" "usage --by account --user u3 --csv" \
		"share --profile bmrc --accounts $dir/acc.conf --csv" "quota --profile alliance-narval --accounts $dir/acc.conf --at 2024-06-01 --json" \
		"admin adjustments --csv"; do
		# shellcheck disable=SC2086
		reeve $view --ledger "$1"
	done
	reeve admin verify --ledger "$1" | sed 's/[0-9]* attempts/attempts/'
}
views "$first" >"$dir/views"
[ "$(grep -c 'RawShares\|"used_ms"\|: 0 differences\|^2024-03,g' "$dir/views")" -ge 6 ] || bail "the views do not answer: $(cat "$dir/views")"
sql() { # LEDGER SQL
	case $1 in postgresql:*) server_sql "$@" ;; *) sqlite3 "$@" ;; esac
}
months='2024-01 2024-02 2024-03'
archived="ended_ns < 1711929600000000000 AND kept = 0 AND job NOT IN ($stay)"
expected=$(sqlite3 "$first" "SELECT COUNT(*) FROM jobs WHERE $archived")

compare() { # DIR: every line of the files against the rows of the ledger as it was
	python3 - "$first" "$1" "$archived" <<'PY'
import csv, glob, sqlite3, sys
csv.field_size_limit(1 << 30)
db = sqlite3.connect(sys.argv[1])
for name, table in (("jobs", "jobs"), ("attempts", "attempts"), ("parts", "parts"), ("slices", "slices"), ("runs", "stretches"), ("slurm", "slurm_attempts")):
    lines, columns = [], None
    for path in glob.glob(f"{sys.argv[2]}/{name}-*.csv"):
        with open(path, newline="") as f:
            rows = list(csv.reader(f))
        columns = rows[0]
        lines += rows[1:]
    own = [c for c in columns if name != "attempts" or columns.index(c) > 3]
    names = ", ".join(f't."{c}"' for c in own)
    if name == "attempts": names = "j.cluster, j.account, j.user, j.pool, " + names
    there = [["" if v is None else str(v) for v in row] for row in db.execute(
        f"SELECT {names} FROM {table} t JOIN jobs j ON j.job = t.job WHERE t.job IN (SELECT job FROM jobs WHERE {sys.argv[3]})")]
    all_columns = [r[1] for r in db.execute(f"PRAGMA table_info({table})") if r[1] != "even"]
    whole = own == all_columns if name != "slurm" else sorted(own) == sorted(all_columns)
    print(name, len(lines), "lines", "same" if sorted(lines) == sorted(there) else "OTHER", "whole" if whole else "COLUMNS")
PY
}

amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
at_of() { echo $((1704067200 + $1 * 10368000 / jobs)); } # the end of a job
utc() { date -u -d "@$1" +%FT%T; }
row_again() { # ID [SECONDS]: slurmdbd's row of an archived job, which ended so much later
	local end
	end=$(at_of "$1")
	printf '{"schema":"reeve/1","cluster":"vc","source":"slurmdbd","at_s":%s,"jobs":[{"job":%s,"attempt":0,"uid":%s,"state":"completed","user":"u%s","account":"g%s","queue":"batch",' \
		"$((end + 9000000))" "$1" $((1000 + $1 % 7)) $(($1 % 7)) $(($1 % 3))
	printf '"name":"run","nodes":"m[1-2]","node":"m1","ncpus":2,"submit_s":%s,"start_s":%s,"end_s":%s,"suspended_s":0}]}' \
		$((end - $1 % 5000 - 65)) $((end - $1 % 5000 - 60)) $((end + ${2:-0}))
}
agent_again() { # ID
	local start=$(($(at_of "$1") - $1 % 5000 - 60))
	node_sync node=m1 jobs="$(job_entry "$1" ended)" reports="$(job_report "$1" 9 ended started_s=$start at_s=$((start + 99)) running_s=99)" \
		more=",\"engine\":\"slurm\",\"slurm_jobs\":[{\"job\":$1,\"attempt\":1,\"uid\":$((1000 + $1 % 7)),\"user\":\"u$(($1 % 7))\",\"account\":\"g$(($1 % 3))\",\"queue\":\"batch\",\"name\":\"run\",\"ncpus\":2,\"mem_bytes\":1000000,\"vmem_bytes\":0,\"jobfs_bytes\":0,\"nodes\":1,\"job_ncpus\":0,\"started_ns\":$((start * 1000000000))}]"
}
# Slurm and an agent tell of archived jobs once more; $w, $ledger and $to are suite's.
slurm_again() {
	local before day id at
	before=$(sql "$ledger" "SELECT COUNT(*) FROM jobs")
	has "$w: slurmdbd's row of an archived job changes nothing" '"n_changed":0' "$(ask 0 POST /v1/slurm/jobs "$(row_again 100)")"
	ask 0 POST /v1/slurm/jobs "$(row_again 140 30)" >/dev/null
	until_has "slurmdbd has other figures now of 1 archived jobs (job 140 first)" cat "$dir/controller.log"
	tap_result $? "$w: what slurmdbd corrects of one is logged" "$out"
	agent_again 60 >/dev/null
	has "$w: an agent's report of one is acknowledged" '"job":60,"attempt":1,"seq":9' "$(agent_again 60)"
	is "$w: and none of them is a job again" "$before" "$(sql "$ledger" "SELECT COUNT(*) FROM jobs")"
	has "$w: it says where it is" "job 100 was archived in $to (slurm-2024-01.csv, jobs-2024-01.csv)" "$(ask 0 GET "/v1/jobs/$((slurm + 100))")"
	day=$(($(at_of 100) / 86400 * 86400))
	is "$w: reconcile has every attempt of a day in an archived month" "$(sqlite3 "$first" "SELECT COUNT(*) FROM attempts WHERE job >= $slurm AND ended_ns / 1000000000 >= $day AND ended_ns / 1000000000 < $day + 86400")" \
		"$(ask 0 GET "/v1/slurm/attempts?cluster=vc&from=$day&to=$((day + 86400))" | grep -o '"job":' | wc -l)"
	for id in 60 100 100001; do
		at=$(at_of 100)
		[ $id = 60 ] && at=$(at_of 60)
		echo "$id|$id|vc|batch|normal|g1|g|1|u2|2|$(utc $((at - id % 5000 - 65)))|x|$(utc $((at - id % 5000 - 60)))|$(utc "$at")|x|0:0|COMPLETED|1|2|2|1Gn|t|cpu=2|2:00:00|m1|run"
	done >"$dir/sacct.log"
	out=$(reeve import sacct "$dir/sacct.log" --ledger "$ledger" --json)
	has "$w: of a sacct log only what is not archived is imported" '"new": 1' "$out"
	has "$w: ... and the rest is counted" '"followed": 2' "$out"
}

suite() { # WHAT LEDGER
	local w=$1 ledger=$2 to=$dir/$1.archive start took done_before='' victim out byte="x'01'"
	[[ $ledger != postgresql:* ]] || byte="'\\x01'"
	sql "$ledger" "INSERT INTO series(job, attempt, part, at_ns, data) SELECT job, 1, 0, 1, $byte FROM jobs" || bail "no series"
	out=$(reeve admin archive --ledger "$ledger" --before 2024-04 --dry-run)
	has "$w: a dry run counts the jobs of each month" "$(sqlite3 -separator ': ' "$first" "SELECT strftime('%Y-%m', ended_ns / 1000000000, 'unixepoch'), COUNT(*) || ' jobs' FROM jobs
		WHERE ended_ns < 1711929600000000000 AND kept = 0 GROUP BY strftime('%Y-%m', ended_ns / 1000000000, 'unixepoch') ORDER BY 1")" "$out"
	has "$w: ... and names what stays" "$(sqlite3 "$first" "SELECT COUNT(*) FROM jobs WHERE ended_ns < 1711929600000000000 AND kept > 0") more jobs stay" "$out"
	is "$w: ... and changes nothing" "$((jobs + jobs / 20)) no" "$(sql "$ledger" 'SELECT COUNT(*) FROM jobs') $([ -e "$to" ] && echo yes || echo no)"
	out=$(reeve admin archive --ledger "$ledger" --before 2124-04 --to "$to")
	has "$w: a month that has not ended" "only whole months are archived" "$out"
	out=$(reeve admin archive --ledger "$ledger" --before 2024-13 --to "$to")
	has "$w: no month" "'2024-13' is not a month" "$out"

	took=${ARCHIVE_MS:-1600}
	for _ in $(seq "$kills"); do
		"$program" admin archive --ledger "$ledger" --before 2024-04 --to "$to" >"$dir/said" 2>&1 &
		victim=$!
		sleep "$(awk "BEGIN { print (50 + $((RANDOM % (took / kills)))) / 1000 }")"
		kill -9 $victim 2>/dev/null
		wait $victim 2>/dev/null
		done_before+=" $(sql "$ledger" 'SELECT COUNT(*) FROM jobs')"
	done
	echo "# $w: jobs in the ledger after each kill:$done_before"
	out=$(reeve admin archive --ledger "$ledger" --before 2024-04 --to "$to")
	is "$w: killed at any point, it goes on and ends" 0 $?
	echo "# ${out//$'\n'/; }"
	is "$w: the files have every row once, as it was" "jobs $expected lines same whole
attempts $expected lines same whole
parts 0 lines same whole
slices $(sqlite3 "$first" "SELECT COUNT(*) FROM slices WHERE job IN (SELECT job FROM jobs WHERE $archived)") lines same whole
runs $expected lines same whole
slurm $(sqlite3 "$first" "SELECT COUNT(*) FROM slurm_attempts WHERE job IN (SELECT job FROM jobs WHERE $archived)") lines same whole" "$(compare "$to")"
	is "$w: each attempt of an archived job of Slurm is still known" "$(sqlite3 "$first" "SELECT COUNT(*) FROM attempts WHERE job >= $slurm AND job IN (SELECT job FROM jobs WHERE $archived)")" \
		"$(sql "$ledger" "SELECT COUNT(*) FROM archived_slurm")"
	is "$w: no unfinished file is left" "" "$(find "$to" -name '*.part')"
	is "$w: the files are the owner's alone" "" "$(find "$to" -perm /077)"
	is "$w: what is not over or is named stays" "$(sqlite3 "$first" "SELECT job FROM jobs WHERE NOT ($archived) ORDER BY 1")" \
		"$(sql "$ledger" "SELECT job FROM jobs ORDER BY 1")"
	views "$ledger" >"$dir/views.$w"
	is "$w: usage, shares, quotas and sums answer as before" "$(cat "$dir/views")" "$(cat "$dir/views.$w")"
	is "$w: no row of an archived job is left" 0 "$(sql "$ledger" "SELECT (SELECT COUNT(*) FROM attempts WHERE job NOT IN (SELECT job FROM jobs)) +
		(SELECT COUNT(*) FROM slices WHERE job NOT IN (SELECT job FROM jobs)) + (SELECT COUNT(*) FROM slurm_attempts WHERE job NOT IN (SELECT job FROM jobs)) + (SELECT COUNT(*) FROM stretches WHERE job NOT IN (SELECT job FROM jobs)) +
		(SELECT COUNT(*) FROM series WHERE job NOT IN (SELECT job FROM jobs))")"
	is "$w: the jobs that stay have their series" "$(sql "$ledger" 'SELECT COUNT(*) FROM jobs')" "$(sql "$ledger" 'SELECT COUNT(*) FROM series')"
	out=$(reeve admin archive --ledger "$ledger" --before 2024-04 --to "$to")
	has "$w: again: nothing is left to do" "0 jobs archived" "$out"
	out=$(reeve admin archive --ledger "$ledger" --verify "$to")
	is "$w: the files are as recorded" "$(wc -w <<<"$months") months, $((6 * $(wc -w <<<"$months"))) files: 0 differences" "$(tail -n 1 <<<"$out")"

	# Jobs that could not be archived then come with part 2.
	sql "$ledger" "UPDATE attempts SET closed = 1 WHERE job = 4"
	out=$(reeve admin archive --ledger "$ledger" --before 2024-04 --to "$to")
	has "$w: a job that was late comes in a part of its own" "2024-01: 1 jobs" "$out"
	is "$w: ... with its files" "4,1" "$(cut -d, -f1,2 "$to/jobs-2024-01.2.csv" | sed -n 2p)"
	views "$ledger" >"$dir/views.$w"
	is "$w: and the sums hold" "$(cat "$dir/views")" "$(cat "$dir/views.$w")"

	# Files that are not what they were.
	cp -a "$to" "$to.good"
	sed -i '2s/g[012]/gx/' "$to/attempts-2024-02.csv"
	rm "$to/runs-2024-03.csv"
	echo >>"$to/jobs-2024-01.csv"
	out=$(reeve admin archive --ledger "$ledger" --verify "$to")
	is "$w: files that were changed: exit status" 1 $?
	has "$w: another byte is found" "attempts-2024-02.csv has the SHA-256" "$out"
	has "$w: a file that is gone" "runs-2024-03.csv: No such file" "$out"
	has "$w: one that is longer" "jobs-2024-01.csv has $(stat -c %s "$to/jobs-2024-01.csv") bytes, $(stat -c %s "$to.good/jobs-2024-01.csv") are recorded" "$out"
	sql "$ledger" "UPDATE archive_sums SET charge_used_ms = charge_used_ms + 1 WHERE archive = 1 AND association = (SELECT MIN(association) FROM archive_sums)"
	out=$(reeve admin archive --ledger "$ledger" --verify "$to.good")
	has "$w: and a sum that is another" ": charge_used_ms is" "$out"
	reeve admin archive --ledger "$ledger" --before 2024-05 --to "$dir/second.$w" >/dev/null
	views "$ledger" >"$dir/views.$w"
	is "$w: a further month goes to another directory" "$(cat "$dir/views")" "$(cat "$dir/views.$w")"

	# The controller on what is left.
	configure() {
		cat >"$dir/controller.conf" <<-CONF
			$(live_controller "$ledger")
			[Cluster main]
			DefaultResources = jobfs=100MB,walltime=1:00:00
			[Cluster vc]
			Engine = slurm
			[Node m1]
			Cluster = vc
			[Account physics]
			Users = daemon
		CONF
	}
	live_open configure
	slurm_again
	has "$w: a job that is archived says where it may be" "no job 12 in the ledger; jobs around this number that had ended were archived in $to, from 2024-01 on" "$(ask $daemon GET /v1/jobs/12)"
	has "$w: another's job says no more" "no job 6 in the ledger; jobs around" "$(ask $daemon GET /v1/jobs/6)"
	has "$w: a number beyond all is no job" "no job 999999\"" "$(ask $daemon GET /v1/jobs/999999)"
	is "$w: numbers of jobs go on" $((jobs + 1)) "$(job_number "$(ask $daemon POST /v1/jobs "$(job_request)")")"
	live_stop
	check "$w: the sums hold" "$program" admin verify --ledger "$ledger"
}

cp "$first" "$dir/sqlite.db"
suite sqlite "$dir/sqlite.db"
if server_open; then
	there=$(server_schema archive)
	reeve admin migrate --from "$first" --to "$there" >"$dir/said" || bail "$(cat "$dir/said")"
	suite postgres "$there"
else
	skip "the same on PostgreSQL" "no PostgreSQL server: make deps"
fi
tap_end
