#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cli_golden.sh - what `reeve` prints, sends and exits with, against canned answers and a real munged.
# TAP on standard output. Needs build/bin/reeve; leaves nothing behind.
# shellcheck disable=SC2317 # stop() is called by the trap
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
root=$PWD
reeve=$root/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-cli-XXXXXX) && chmod 755 "$dir"
pids=()
stop() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	if [ -s "$dir/munged.pid" ]; then
		munged=$(cat "$dir/munged.pid")
		kill "$munged" 2>/dev/null
		for _ in $(seq 100); do kill -0 "$munged" 2>/dev/null || break; sleep 0.05; done
	fi
	wait
	rm -rf "$dir"
}
trap stop EXIT
# exits NAME CODE COMMAND...: standard error is kept in $err
exits() {
	local name=$1 code=$2 got
	shift 2
	out=$("$@" 2>"$dir/stderr")
	got=$?
	err=$(cat "$dir/stderr")
	is "$name" "exit $code" "exit $got"
	[ "$got" = "$code" ] || echo "$err" | sed 's/^/# /'
}

# ---- a munged of our own, the fake controller, and the client's configuration ----
dd if=/dev/urandom of="$dir/key" bs=128 count=1 2>/dev/null && chmod 600 "$dir/key"
munged --force --key-file="$dir/key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
	--log-file="$dir/munged.log" --seed-file="$dir/munged.seed" 2>"$dir/munged.err" ||
	bail "munged does not start: $(cat "$dir/munged.err")"
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/fake" tests/cluster/lib/cli_fake.c \
	build/common/auth/auth.o build/common/err.o -lmicrohttpd -lmunge -lnettle -lz ||
	bail "cli_fake.c does not compile"
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/check" tests/cluster/lib/cli_http.c \
	build/common/http/*.o build/common/auth/auth.o build/common/err.o build/common/utf8.o build/common/wire/*.o build/common/wire/json/*.o \
	build/common/model/*.o -lcurl -ljansson -lmunge -lnettle -lz -lsystemd ||
	bail "cli_http.c does not compile"
mkdir "$dir/answers"
"$dir/fake" "$dir/answers" "$dir/munge.sock" >"$dir/port" &
pids+=($!)
for _ in $(seq 100); do [ -s "$dir/port" ] && break; sleep 0.05; done
[ -s "$dir/port" ] || bail "the fake controller does not start"
cat >"$dir/reeve.conf" <<-CONF
	[Client]
	Controller = http://127.0.0.1:$(cat "$dir/port")
	MungeSocket = $dir/munge.sock
	Cluster = main
CONF
export LC_ALL=C.UTF-8 TZ=UTC HOME=$dir XDG_CONFIG_HOME=$dir/.config
unset REEVE_CONTROLLER
mkdir -p "$dir/.config"
cp "$dir/reeve.conf" "$dir/.config/reeve.conf"
answer() { # NAME STATUS, the body on standard input
	{ echo "$2"; cat; } >"$dir/answers/$1"
}
sent() { tail -n 1 "$dir/answers/log"; }

# ---- jobs ----
rows() { # A document with one job an object: as packed rows (docs/protocol.md) behind their columns, as the controller sends them
	python3 -c 'import json, sys
columns = """job id name user account cluster queue qos state node nodes ncpus ngpus gpu_model vmem_bytes mem_bytes jobfs_bytes walltime_s
 running_ns suspended_ns submitted_ns started_ns ended_ns charge_requested_ms charge_used_ms unit usage gpu_idle end array why note""".split()
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def text(kind, t):
    b = t.encode()
    return bytes([kind]) + varint(len(b)) + b + b"\0"
def pack(v):
    if v is None: return b"\0"
    if isinstance(v, bool): return bytes([1 + v])
    if isinstance(v, int): return b"\3" + varint(v << 1 if v >= 0 else -2 * v - 1)
    return text(5, v) if isinstance(v, str) else text(6, json.dumps(v))
d = json.load(sys.stdin)
jobs = d.pop("jobs")
document = json.dumps({**d, "columns": columns + ["new"]}).encode()
sys.stdout.buffer.write(document + b"\0" + b"".join(pack(j.get(c)) for j in jobs for c in columns + ["new"]))'
}
rows <<'JSON' | answer GET_v1_jobs 200
{"schema":"reeve/1","jobs":[
 {"job":14,"state":"queued","name":"evil\u001b[2J\u202e","user":"alice","account":"physics",
  "cluster":"main","queue":"normal","ncpus":8,"vmem_bytes":8589934592,"jobfs_bytes":1000000,"walltime_s":3600,
  "submitted_ns":1763719200000000000,"why":"needs 8 cores; 3 of 8 are free"},
 {"job":13,"state":"running","name":"sim","user":"alice","account":"physics","node":"n1",
  "ncpus":2,"vmem_bytes":2000000000,"jobfs_bytes":1000000,"walltime_s":600,"charge_requested_ms":122000,
  "running_ns":61000000000,"usage":{"vmem_peak_bytes":1073741824,"cpu_ns":120000000000}},
 {"job":12,"state":"ended","name":"hog","user":"alice","account":"physics","node":"n1",
  "ncpus":1,"vmem_bytes":1073741824,"jobfs_bytes":1000000,"walltime_s":600,
  "running_ns":5000000000,"usage":{},"end":{"kind":"limit","exit_status":-1,"signal":9,
  "reason":{"limit":"vmem","requested":1073741824,"reached":1342177280,"at_ns":1763720000000000000,
  "host":"n1","n_procs":1,"procs":[{"pid":42,"bytes":1342177280,"comm":"hog"}],"text":""}}}]}
JSON
is "jobs: units for people, a dash for what was not measured, no escape sequence" \
'JOB NAME              USER  ACCOUNT STATE   RESULT     NODE CPUS     VMEM    PEAK WALLTIME RUNNING  CHARGED NOTE
 14 evil\033[2J\u202e alice physics queued  -          -       8 8.00 GiB       -  1:00:00       - 0.000000 needs 8 cores; 3 of 8 are free
 13 sim               alice physics running -          n1      2  2.00 GB 1.07 GB  0:10:00 0:01:01 0.033889 
 12 hog               alice physics ended   vmem limit n1      1 1.00 GiB       -  0:10:00 0:00:05 0.000000 vmem limit exceeded on n1 at 2025-11-21 10:13:20 UTC: requested 1.00 GiB, reached 1.25 GiB (+256 MiB); the job was killed.' \
"$("$reeve" jobs 2>&1)"
is "jobs asks for those that have not ended" \
	"GET /v1/jobs?packed=1&state=active&limit=1000 uid=$(id -u) " "$(sent)"
is "jobs --csv: exact, and empty where not measured" \
'job,vmem_bytes,vmem_peak_bytes,running_ns,exit_code
14,8589934592,,,
13,2000000000,1073741824,61000000000,
12,1073741824,,5000000000,137' \
"$("$reeve" jobs --csv -o job,vmem_bytes,vmem_peak_bytes,running_ns,exit_code)"
is "jobs --json has a schema and the same figures" "reeve/1 14 null 137" \
	"$("$reeve" jobs -a --json | python3 -c 'import json,sys; d = json.load(sys.stdin); j = d["jobs"]
print(d["schema"], j[0]["job"], json.dumps(j[0].get("vmem_peak_bytes")), j[2]["exit_code"])')"
"$reeve" jobs -a --user 'a&b=c d' --node n1 >/dev/null
has "filters are escaped" "/v1/jobs?packed=1&user=a%26b%3Dc%20d&node=n1&limit=100 " "$(sent)"
is "jobs -p: fields ended by a bar" 'job|state|
14|queued|
13|running|
12|ended|' "$("$reeve" jobs -p -o job,state)"
is "jobs -P -n: separated by bars; nothing in a name breaks a row" '14|evil\033[2J‮
13|sim
12|hog' "$("$reeve" jobs -P -n -o job,name)"
is "the last form given wins" '14' "$("$reeve" jobs --json --csv -P -n -o job | head -n 1)"
is "--output parsable is -p" "$("$reeve" jobs -p)" "$("$reeve" jobs --output parsable)"
has "-o help lists the columns" $'unit|UNIT\nnote|NOTE' "$("$reeve" jobs -o help -P)"
lacks "colour is for terminals" $'\033[' "$("$reeve" jobs)"
on_terminal() { # COLUMNS: what the command shows on a terminal so wide
	script -qec "stty cols $1; TERM=dumb '$reeve' jobs -o job,state,name" /dev/null </dev/null | tr -d '\r'
}
widest() { awk '{ n = length($0) > n ? length($0) : n } END { print n }'; }
listed=$("$reeve" jobs -o job,state,name)
is "a terminal that is wide enough shows what a pipe gets" "$listed" "$(on_terminal $(($(widest <<<"$listed") + 1)))"
is "on a narrower one the last column is cut" 20 "$(on_terminal 20 | widest)"
has "colour is there when asked for" $'\033[31mvmem limit' "$("$reeve" jobs --color always)"
exits "unknown column is wrong usage" 2 "$reeve" jobs -o jbo
has "... and the nearest is named" "did you mean 'job'?" "$err"
exits "unknown state is wrong usage" 2 "$reeve" jobs --state "done"

# ---- job ----
answer GET_v1_jobs_12 200 <<'JSON'
{"schema":"reeve/1","job":{"job":12,"attempt":1,"state":"ended","name":"hog","user":"alice",
 "account":"physics","cluster":"main","queue":"normal","node":"n1","cpus":"2-3",
 "request":{"resources":{"ncpus":2,"vmem_bytes":1073741824,"mem_bytes":1073741824,
 "jobfs_bytes":500000000,"walltime_s":600}},"submitted_ns":1763719200000000000,
 "started_ns":1763719260000000000,"ended_ns":1763719380000000000,"running_ns":120000000000,
 "suspended_ns":60000000000,"usage":{"cpu_ns":180000000000,"vmem_peak_bytes":1342177280,
 "rss_peak_bytes":536870912,"mem_peak_bytes":600000000,"jobfs_peak_bytes":0,
 "cores":[{"cpu":2,"ns":120000000000},{"cpu":3,"ns":60000000000}]},
 "end":{"kind":"limit","exit_status":-1,"signal":9,"reason":{"limit":"vmem","requested":1073741824,
 "reached":1342177280,"at_ns":1763719380000000000,"host":"n1","n_procs":2,
 "procs":[{"pid":42,"bytes":1342000000,"comm":"hog"},{"pid":41,"bytes":177280,"comm":"sh\u001b[31m"}],
 "text":""}},"charge_requested_ms":240000,"charge_used_ms":180000,"rate":"2","unit":"core-equivalent",
 "decided_by":"cores"}}
JSON
is "job: requested, used, the sentence, the charge, the advice" \
'job 12  hog  ended: vmem limit
user       alice
account    physics
cluster    main
queue      normal
node       n1
cores      2-3
submitted  2025-11-21 10:00:00 UTC
started    2025-11-21 10:01:00 UTC
ended      2025-11-21 10:03:00 UTC
suspended  0:01:00

RESOURCE  REQUESTED     USED   % MEANING
ncpus             2     1.50  75 cores busy on average
cpu time    0:04:00  0:03:00  75 of cores x running time
vmem       1.00 GiB 1.25 GiB 125 peak of the sum of virtual sizes
mem        1.00 GiB  512 MiB  50 peak resident, without page cache
mem+cache         -  572 MiB   - peak with page cache, which the kernel reclaims
jobfs        500 MB      0 B   0 peak of node-local disk
walltime    0:10:00  0:02:00  20 running time, without suspension
per core (busy): 2:100% 3:50%
not measured (-): pids

vmem limit exceeded on n1 at 2025-11-21 10:03:00 UTC: requested 1.00 GiB, reached 1.25 GiB (+256 MiB); the job was killed.
      PID       SIZE  COMMAND
       42   1.25 GiB  hog
       41    173 KiB  sh?[31m

charged    0.066667 core-equivalent hours (240.000 s): rate 2, decided by cores
as used    0.050000 (the cost of the smallest request that would have sufficed)

next time request more vmem: at least -l vmem=1536MiB' \
	"$("$reeve" job 12 2>&1)"
has "job --csv: one line for each figure" "job.usage.cpu_ns,180000000000" "$("$reeve" job 12 --csv)"
is "job --json hands on what the controller said" "1342177280" \
	"$("$reeve" job 12 --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["job"]["end"]["reason"]["reached"])')"
exits "columns of a document" 2 "$reeve" job 12 --json -o key
exits "a job that is not there" 4 "$reeve" job 99
is "... is named" "reeve job: job 99: no such thing" "$err"
answer GET_v1_jobs_98 404 <<<'{"schema":"reeve/1","error":{"code":"not-found","message":"no job 98","remedy":""}}'
exits "a refusal that names the job" 4 "$reeve" job 98
is "... does not name it twice" "reeve job: no job 98" "$err"
answer GET_v1_jobs_14 200 <<'JSON'
{"schema":"reeve/1","job":{"job":14,"attempt":0,"state":"queued","name":"x","user":"alice","node":"",
 "cpus":"","request":{"resources":{"ncpus":2,"vmem_bytes":1073741824,"walltime_s":60}},"running_ns":0,
 "submitted_ns":1763719200000000000,"started_ns":0,"charge_requested_ms":0,"charge_used_ms":0,
 "rate":"2","unit":"core-equivalent","decided_by":"cores","why":"no node is up"}}
JSON
is "a queued job has no figures, no charge and a reason" \
'job 14  x  queued
user       alice
submitted  2025-11-21 10:00:00 UTC
waits      no node is up

RESOURCE REQUESTED USED % MEANING
ncpus            2    - - cores busy on average
vmem      1.00 GiB    - - peak of the sum of virtual sizes
walltime   0:01:00    - - running time, without suspension' "$("$reeve" job 14)"
exits "no number" 2 "$reeve" job abc
answer GET_v1_jobs_66 200 <<<'{"schema":"reeve/1","job":{"job":66,"state":"asleep"}}'
exits "a state from the future is no success" 1 "$reeve" job 66
answer GET_v1_jobs_67 200 <<<'{"schema":"reeve/9","job":{}}'
exits "another schema is not read" 3 "$reeve" job 67
has "... and the words say what to do" "upgrade the older side" "$err"

# ---- submit ----
answer POST_v1_jobs 201 <<<'{"schema":"reeve/1","job":15}'
cat >"$dir/job.sh" <<'SH'
#!/bin/sh
#REEVE -l ncpus=2,vmem=1GB -N fromscript
#PBS -q express -m abe -S /bin/sh
echo hello
SH
field() { sent | sed 's/^[^{]*//' | python3 -c "import json,sys; r = json.load(sys.stdin)['request']; print($1)"; }
cd "$dir" || exit 1
is "submit prints the job's number alone" 15 \
	"$("$reeve" submit -l ncpus=4 -A physics -o out.txt -j oe --env A=1 --env 'B=x y' job.sh a 'b c' --json 2>/dev/null)"
is "the command line wins over the script, the script over nothing" \
	"4 1000000000 fromscript express physics main" \
	"$(field 'r["resources"]["ncpus"], r["resources"]["vmem_bytes"], r["name"], r["queue"], r["account"], r["cluster"]')"
is "what follows the script is the script's" "['a', 'b c', '--json']" "$(field 'r["argv"]')"
is "output, join, workdir" "out.txt True $dir" "$(field 'r["out_path"], r["join"], r["workdir"]')"
is "the script travels whole" "$(cat job.sh)" "$(field 'r["script"].rstrip()')"
is "environment: the usual and the named" "A=1 B=x y HOME=$dir REEVE_O_WORKDIR=$dir" \
	"$(field '" ".join(sorted(e for e in r["env"] if e[:2] in ("A=", "B=", "HO", "RE")))')"
"$reeve" submit -l ncpus=1 --export all -- ./prog -l x >/dev/null
has "--export all hands everything on" "'LC_ALL=C.UTF-8'" "$(field 'r["env"]')"
is "a command after --, with options of its own" "['./prog', '-l', 'x'] prog" \
	"$(field 'r["argv"], r["name"]')"
has "a large body is gzipped and its credential still fits" " gzip " \
	"$("$reeve" submit --env X="$(head -c 20000 /dev/zero | tr '\0' x)" -- true >/dev/null; sent)"
is "a script from standard input" "stdin" "$("$reeve" submit - <job.sh >/dev/null 2>&1; field 'r["script"][2:9] and "stdin"')"
is "submit --json" '{"schema":"reeve/1","job":15}' "$("$reeve" submit --json -- true | tr -d ' \n')"
exits "submit says which lines mean nothing here" 0 "$reeve" submit job.sh
has "... by their option" "ignored script lines with options that Reeve does not have: -S" "$err"
exits "unknown resource" 2 "$reeve" submit -l cpus=1 -- true
has "... names the known" "ncpus, vmem, mem, jobfs, walltime, ngpus, pids" "$err"
exits "no such script" 2 "$reeve" submit nosuch.sh
printf '#!/bin/sh\r\necho\r\n' >crlf.sh
exits "a script with Windows line ends" 2 "$reeve" submit crlf.sh
has "... says how to mend it" "sed -i" "$err"
printf '#!/bin/sh\necho \0\n' >nul.sh
exits "a script with a NUL byte" 2 "$reeve" submit nul.sh
exits "an argument that is not UTF-8" 2 "$reeve" submit -- echo $'\xff'
exits "a variable that is not there" 2 "$reeve" submit --env NOSUCH -- true
exits "nothing to run" 2 "$reeve" submit
exits "a directory is no script" 2 "$reeve" submit "$dir"
answer POST_v1_jobs 400 <<<'{"schema":"reeve/1","error":{"code":"unknown-account","message":"account \u001b[31mx is not known","remedy":"yours are: physics"}}'
exits "a refusal" 1 "$reeve" submit -- true
is "... has the message and the remedy, and no escape sequence" \
	'reeve submit: account \033[31mx is not known; yours are: physics' "$err"
answer POST_v1_jobs 403 <<<'{"schema":"reeve/1","error":{"code":"no","message":"not you","remedy":""}}'
exits "not permitted" 5 "$reeve" submit -- true
exits "controller away" 3 "$reeve" jobs --controller http://127.0.0.1:1
has "... says what to check" "check that reeve-controller runs there" "$err"
exits "controller with an impossible address" 2 "$reeve" jobs --controller 127.0.0.1:8640
exits "munged away" 3 env -u REEVE_CONTROLLER "$reeve" jobs --config <(sed 's/munge.sock/nosuch.sock/' "$dir/reeve.conf")
exits "option before the command" 2 "$reeve" --json jobs
exits "full disk" 1 bash -c "'$reeve' jobs >/dev/full"
has "... is reported" "cannot write the output" "$err"
REEVE_CONTROLLER=http://127.0.0.1:1 exits "the environment wins over the file" 3 "$reeve" jobs

# ---- cancel, suspend, resume ----
answer POST_v1_jobs_13_cancel 200 <<<'{"schema":"reeve/1","job":13,"state":"ending"}'
answer POST_v1_jobs_14_cancel 409 <<<'{"schema":"reeve/1","error":{"code":"too-late","message":"it has ended","remedy":""}}'
answer POST_v1_jobs_13_suspend 200 <<<'{"schema":"reeve/1","job":13,"state":"suspended"}'
answer POST_v1_jobs_13_resume 200 <<<'{"schema":"reeve/1","job":13,"state":"running"}'
exits "several jobs: the first failure is the exit status" 4 "$reeve" cancel 99 14 13
is "... the others are done all the same" $'JOB STATE\n 13 ending' "$out"
is "... and each failure has its line" $'reeve cancel: job 99: no such thing\nreeve cancel: job 14: it has ended' "$err"
is "suspend" '13,suspended' "$("$reeve" suspend 13 --csv -n)"
is "resume" $'13\trunning' "$("$reeve" resume 13 --output raw -n)"

# ---- run ----
answer POST_v1_jobs 201 <<<'{"schema":"reeve/1","job":15}'
ended() { # KIND STATUS SIGNAL LIMIT
	cat <<-JSON
	{"schema":"reeve/1","job":{"job":15,"attempt":1,"state":"ended","name":"x","running_ns":1,
	"request":{"resources":{"ncpus":1}},"usage":{},"end":{"kind":"$1","exit_status":$2,"signal":$3,
	"reason":{"limit":"$4","requested":1073741824,"reached":1342177280,"at_ns":1763719380000000000,
	"host":"n1","n_procs":0,"procs":[],"text":"why\u001b[1m"}}}}
	JSON
}
printf 'hello from the job\n' >"$dir/answers/out"
printf 'a warning\n' >"$dir/answers/err"
: >"$dir/answers/ended"
answer GET_v1_jobs_15 200 <<<"$(ended exited 3 0 none)"
exits "run exits as the job did" 3 "$reeve" run -l ncpus=1 -- true
is "... with its output" "hello from the job" "$out"
is "... and its errors, and no more" "a warning" "$err"
is "run asks for a stream" "True" "$(grep 'POST /v1/jobs ' "$dir/answers/log" | tail -n 1 |
	sed 's/^[^{]*//' | python3 -c 'import json,sys; print(json.load(sys.stdin)["request"]["stream"])')"
for t in "limit -1 9 vmem 137" "limit -1 9 walltime 143" "signaled -1 11 none 139" \
	"cancelled -1 15 none 143" "failed -1 0 none 125" "node-lost -1 0 none 125" "exited 0 0 none 0"; do
	read -r kind status signal limit code <<<"$t"
	answer GET_v1_jobs_15 200 <<<"$(ended "$kind" "$status" "$signal" "$limit")"
	exits "submit --wait: $kind ($limit)" "$code" "$reeve" submit --wait -- true
	is "... with the number" 15 "$out"
	[ "$kind" = limit ] && has "... and the sentence" "reeve submit: job 15: $limit limit exceeded on n1 at" "$err"
	exits "run: $kind ($limit)" "$code" "$reeve" run -- true
	[ "$kind" = limit ] && has "... with the sentence" "reeve run: job 15: $limit limit exceeded on n1 at" "$err"
	[ "$kind" = failed ] && has "... with the words, and nothing that moves the cursor" 'could not be started: why?[1m' "$err"
done
answer GET_v1_jobs_15 200 <<<"$(ended exited 0 0 none)"
is "run --json: the record on standard output" 15 \
	"$("$reeve" run --json -- true 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["job"]["job"])')"

for t in "3 0" "2 1"; do
	answer GET_v1_jobs_15 200 <<<"{\"schema\":\"reeve/1\",\"job\":{\"job\":15,\"state\":\"ended\",\"request\":{\"resources\":{}},\"array\":{\"n\":3,\"ended_well\":${t% *}}}}"
	exits "submit --wait of an array of which ${t% *} of 3 tasks ended well" "${t#* }" "$reeve" submit --wait -J 1-3 -- true
done
answer GET_v1_jobs_15 200 <<<'{"schema":"reeve/1","job":{"job":15,"state":"running","request":{"resources":{}}}}'
"$reeve" submit --wait -- true >"$dir/live" 2>"$dir/live.err" &
waits=$!
for _ in $(seq 100); do [ -s "$dir/live" ] && break; sleep 0.05; done
is "submit --wait prints the number at once" 15 "$(cat "$dir/live")"
answer GET_v1_jobs_15 200 <<<"$(ended exited 4 0 none)"
wait $waits
is "... and waits for the end" 4 $?

printf '#!/bin/sh\n' | tee "$dir/a.sh" >"$dir/b.sh"
answer GET_v1_jobs_15 200 <<<"$(ended exited 4 0 none)"
exits "submit --each --wait: the first status that is not 0" 4 "$reeve" submit --each --wait "$dir/a.sh" "$dir/b.sh"
is "... with a number each" "15 15" "$(xargs <<<"$out")"

# live: what comes after a while is shown when it comes
rm "$dir/answers/ended" "$dir/answers/out"
answer GET_v1_jobs_15 200 <<<'{"schema":"reeve/1","job":{"job":15,"state":"running","request":{"resources":{}}}}'
"$reeve" run -- true >"$dir/live" 2>"$dir/live.err" &
run=$!
printf 'first ' >"$dir/answers/out"
for _ in $(seq 100); do [ "$(cat "$dir/live")" = "first " ] && break; sleep 0.05; done
is "run shows output while the job runs" "first " "$(cat "$dir/live"; kill -0 $run 2>/dev/null || echo gone)"
printf 'second' >>"$dir/answers/out"
ended cancelled -1 15 none >"$dir/cancelled.json"
{ echo 200; cat "$dir/cancelled.json"; } >"$dir/answers/cancelled"
answer POST_v1_jobs_15_cancel 200 <<<'{"schema":"reeve/1","job":15,"state":"ending"}'
kill -INT $run
wait $run
is "the first interrupt cancels and waits for the end" "143 first second" "$? $(cat "$dir/live")"
has "... and prints that" "cancelling job 15; interrupt again to exit without waiting" "$(cat "$dir/live.err")"
has "... the controller was asked" "POST /v1/jobs/15/cancel" "$(cat "$dir/answers/log")"

rm -f "$dir/answers/ended"
answer GET_v1_jobs_15 200 <<<'{"schema":"reeve/1","job":{"job":15,"state":"running","request":{"resources":{}}}}'
"$reeve" run -- true >/dev/null 2>"$dir/live.err" &
run=$!
for _ in $(seq 100); do [ "$(tail -n 2 "$dir/answers/log" | grep -c 'stream=')" = 2 ] && break; sleep 0.05; done
kill -INT $run
for _ in $(seq 100); do grep -q cancelling "$dir/live.err" && break; sleep 0.05; done
kill -INT $run
wait $run
is "the second interrupt leaves the job to itself" 130 $?

# ---- nodes, usage, cost ----
answer GET_v1_nodes 200 <<'JSON'
{"schema":"reeve/1","nodes":[{"node":"n1","cluster":"main","state":"up","jobs":2,"tier":1,
 "capacity":{"ncpus":8,"mem_bytes":8589934592,"jobfs_bytes":100000000000},
 "free":{"ncpus":3,"mem_bytes":4294967296,"jobfs_bytes":50000000000},
 "topology":"1 socket, 8 cores","notes":["no GPU library\u0007"]}]}
JSON
is "nodes: what there is, what is free, what is not enforced" \
'NODE STATE JOBS CORES FREE   MEMORY     FREE    JOBFS     FREE TIER TOPOLOGY
n1   up       2     8    3 8.00 GiB 4.00 GiB 93.1 GiB 46.6 GiB    1 1 socket, 8 cores
n1: no GPU library\007' "$("$reeve" nodes)"
answer GET_v1_usage 200 <<'JSON'
{"schema":"reeve/1","rows":[{"account":"physics","pool":"cpu","jobs_started":3,"jobs_ended":2,
 "running_ms":7200000,"cpu_ms":3600000,"core_ms":14400000,"charge_requested_ms":18000000,
 "charge_used_ms":9000000}]}
JSON
is "usage: hours for people" \
'ACCOUNT POOL ENDED RUNNING     CPU CORE-H CHARGED AS USED
physics cpu      2 2:00:00 1:00:00  4.000   5.000   2.500' "$("$reeve" usage)"
"$reeve" usage --by user --start 2026-11-01 --end 2026-12-01 >/dev/null
has "usage passes the period on" "GET /v1/usage?by=user&start=2026-11-01&end=2026-12-01 " "$(sent)"
exits "no such day" 2 "$reeve" usage --start 2026-02-30
answer POST_v1_cost 200 <<'JSON'
{"schema":"reeve/1","rate":"2.5","rate_num":5,"rate_den":2,"unit":"core-equivalent","pool":"cpu",
 "charge":"18000","charge_ms":18000000,"charge_per_hour":"9000","charge_per_hour_ms":9000000,
 "decided_by":"memory","walltime_s":7200,"cluster":"main","sides":[
 {"side":"cores","requested":2,"per_equivalent":"1","ratio":"2","decides":false},
 {"side":"memory","requested":10000000000,"per_equivalent":"4000000000","ratio":"2.5","decides":true}],
 "resources":{"ncpus":2,"vmem_bytes":10000000000,"jobfs_bytes":100000000,"walltime_s":7200}}
JSON
is "cost: the charge, the rule, and how the units were read" \
'rate                  2.5 core-equivalent
pool                  cpu
an hour of running    2.500 core-equivalent hours (9000 s)
for walltime 2:00:00  5.000 core-equivalent hours (18000 s)
decided by            memory
  cores: 2 / 1 = 2
  memory: 10000000000 / 4000000000 = 2.5 (decides)
read as
  ncpus=2
  vmem=10GB = 10000000000 bytes
  walltime=2:00:00 = 7200 s
filled in by the site
  jobfs=100MB = 100000000 bytes' \
	"$("$reeve" cost -l ncpus=2,vmem=10GB -l walltime=2h)"
is "cost --json" 18000000 "$("$reeve" cost --json -l ncpus=2 | python3 -c 'import json,sys; print(json.load(sys.stdin)["charge_ms"])')"
exits "a limit that is none" 2 "$reeve" jobs --limit -1
cp "$dir/answers/GET_v1_jobs" "$dir/jobs.before"
rows <<<'{"schema":"reeve/1","next":12,"jobs":[{"job":12,"state":"queued","ncpus":1}]}' | answer GET_v1_jobs 200
exits "pages that do not end" 1 "$reeve" jobs --limit 0
has "... are an error" "pages of jobs do not end" "$err"
answer GET_v1_jobs 200 <<<'{"schema":"reeve/1","jobs":[]}'
exits "a controller without rows" 1 "$reeve" jobs
has "... is older" "no packed rows; is it older than this command?" "$err"
rows <<<'{"schema":"reeve/1","jobs":[]}' | sed -z 's/"why"/"whence"/' | answer GET_v1_jobs 200
exits "rows without a column" 1 "$reeve" jobs
has "... it is named" "no column 'why'; is it older than this command?" "$err"
rows <<<'{"schema":"reeve/1","jobs":[{"job":12,"state":"queued","ncpus":-1}]}' | answer GET_v1_jobs 200
exits "a number of cores that is none" 1 "$reeve" jobs
has "... is named" "the controller's answer cannot be read: 'ncpus' is less than 0" "$err"
rows <<<'{"schema":"reeve/1","jobs":[{"job":12,"state":"queued","ncpus":1}]}' | head -c -3 | answer GET_v1_jobs 200
exits "a row that is cut" 1 "$reeve" jobs
has "... is an error" "the controller's answer cannot be read: " "$err"
cp "$dir/jobs.before" "$dir/answers/GET_v1_jobs"

# ---- the exchange itself: in an event loop as the agent makes it, and waited for as most verbs do ----
url=http://127.0.0.1:$(cat "$dir/port")
answer GET_small 200 <<<'{"schema":"reeve/1"}'
answer GET_garbage 200 <<<'{"schema":"reeve/1"'
answer GET_twice 200 <<<'{"schema":"reeve/1","schema":"reeve/1"}'
rm -f "$dir/answers/ended" "$dir/answers/out"
exchange() { # NAME RESULT UID PATH WORDS
	local how
	for how in loop ask; do
		got=$("$dir/check" $how "$url" "$dir/munge.sock" "$3" "$4")
		is "exchange ($how): $1" "$2" "${got%% *}"
		has "exchange ($how): $1: the words" "$5" "$got"
	done
}
rm -f "$dir/answers/sign"
exchange "no signature wanted" 0 -1 /small ""
exchange "an unsigned answer is refused" -13 "$(id -u)" /small "is not signed"
: >"$dir/answers/sign"
exchange "a signed answer is taken" 0 "$(id -u)" /small ""
exchange "signed by another user" -13 12345 /small "not by the controller's uid 12345"
echo x >"$dir/answers/sign"
exchange "signed for other words" -13 "$(id -u)" /small "made for another request or body"
rm -f "$dir/answers/sign"
exchange "half a document" -71 -1 /garbage "not JSON"
exchange "a key twice" -71 -1 /twice "duplicate"
exchange "not found" 404 -1 /nosuch "no such thing"
exchange "an answer that does not come" -110 -1 "/v1/jobs/1/output?stream=out&offset=0" "does not answer"
is "exchange: a call that was cancelled is not reported, the next one is" "0 1 call" \
	"$("$dir/check" cancel "$url" "$dir/munge.sock" -1 /small)"

# What else may listen on that port. The last two close a connection that was kept; a second request follows.
raw() { # NAME RESULT WORDS ANSWER [HOW [keep]]: of a server that says ANSWER (printf's) to each connection; or request, with keep
	local how
	for how in ${5:-ask loop}; do raw_once "$1" "$2" "$3" "$4" "$how" "${6:-}"; done
}
raw_once() {
	local raw
	# shellcheck disable=SC2059 # the answer is a format
	printf "$4" >"$dir/raw.bytes"
	rm -f "$dir/raw.port"
	python3 tests/cluster/lib/raw_answer.py "$dir/raw.port" "$dir/raw.bytes" ${6:+keep} >"$dir/raw.seen" &
	raw=$!
	pids+=($raw)
	for _ in $(seq 100); do [ -s "$dir/raw.port" ] && break; sleep 0.05; done
	got=$("$dir/check" "$5" "http://127.0.0.1:$(cat "$dir/raw.port")" "$dir/munge.sock" -1 /x)
	kill $raw
	is "exchange ($5): $1" "$2" "$(cut -d' ' -f1 <<<"$got" | paste -sd' ')"
	has "exchange ($5): $1: the words" "$3" "$got"
}
cd "$root" || exit 1
doc='{"schema":"reeve/1"}'
raw "another protocol" -71 "it is not HTTP/1.1" 'SSH-2.0-OpenSSH_9.2\r\n'
raw "another web server" 403 "is that a Reeve controller?" 'HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope'
raw "closed without a word" -71 "the connection was closed without one" ''
raw "half an answer" -71 "it ends in the middle" "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n$doc"
raw "chunks" 0 "" "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n$doc\r\n0\r\n\r\n"
raw "until the connection ends" 0 "" "HTTP/1.0 200 OK\r\n\r\n$doc"
raw "an encoding that was not asked for" -71 "not asked for" "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx"
raw "a kept connection that was closed" "0 0" "" "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n$doc" twice
is "the second request came over a new connection" 2 "$(grep -c '^GET /x HTTP/1.1' "$dir/raw.seen")"
paged="HTTP/1.1 200 OK\r\nX-Reeve-Next: 7\r\nContent-Length: 20\r\n\r\n$doc"
seen() { sed -n 's/^\(GET [^ ]*\) .*/\1/p; /^connection/p' "$dir/raw.seen" | paste -sd' '; }
raw "a page whose next was announced" "0 0" "" "$paged" ahead keep
is "it is sent ahead, over the same connection" "connection GET /x GET /next" "$(seen)"
raw "another page than was announced" "0 0" "" "$paged" astray keep
is "it does not get the other's answer" "connection GET /x GET /next connection GET /x" "$(seen)"
raw "a page sent ahead over a connection that ends" "0 0" "" "$paged" ahead
is "it is sent again" "connection GET /x connection GET /next" "$(seen)"
raw "a next page that is no number" "0 0" "" "${paged/: 7/: 7x}" ahead keep
is "nothing is sent ahead" "connection GET /x GET /next" "$(seen)"
for how in ask loop; do
	has "nobody listens ($how)" "-111 cannot reach the controller at http://127.0.0.1:1: Connection refused; check that" \
		"$("$dir/check" $how http://127.0.0.1:1 "$dir/munge.sock" -1 /x)"
	has "no such host ($how)" "check the host name in Controller=" \
		"$("$dir/check" $how http://no-such-host.invalid:1 "$dir/munge.sock" -1 /x)"
	has "no port that is one ($how)" "cannot reach the controller at http://127.0.0.1:http9" \
		"$("$dir/check" $how http://127.0.0.1:http9 "$dir/munge.sock" -1 /x)"
	has "a host by its name ($how)" "-111 cannot reach the controller at http://localhost:1: Connection refused" \
		"$("$dir/check" $how http://localhost:1 "$dir/munge.sock" -1 /x)"
done

# ---- help ----
for verb in $("$reeve" help --words); do
	has "$verb --help has an example" "Examples:" "$("$reeve" "$verb" --help)"
	has "$verb --help has the exit codes" "Exit status: 0 done" "$("$reeve" "$verb" --help)"
	is "$verb --help stays below 81 columns" "" "$("$reeve" "$verb" --help | grep -E '.{81}')"
done
is "reeve --help stays below 81 columns" "" "$("$reeve" --help | grep -E '.{81}')"
for verb in $("$reeve" admin help --words); do
	is "admin $verb --help stays below 81 columns" "" "$("$reeve" admin "$verb" --help | grep -E '.{81}')"
	has "the man page has admin $verb" "## reeve admin $verb" "$(cat "$root/docs/man/reeve.1.scd")"
done
for verb in $("$reeve" help --words); do
	has "the man page has $verb" "## reeve $verb" "$(cat "$root/docs/man/reeve.1.scd")"
done
cd "$root" || exit 1
is "the man page is what the verb tables say (docs/man/generate.sh)" "" \
	"$(docs/man/generate.sh | diff - docs/man/reeve.1.scd | head -20)"
is "that of the controller, what its keys say (docs/man/generate_controller.sh)" "" \
	"$(docs/man/generate_controller.sh | diff - docs/man/reeve-controller.8.scd | head -20)"
for page in reeve.1 reeve.conf.5 reeve-controller.8; do
	is "$page is good scdoc" "" "$(scdoc 2>&1 <docs/man/$page.scd >/dev/null)"
done
for key in $(sed -n 's/.*"Client", "\([A-Za-z]*\)".*/\1/p' cli/client/config.c); do
	has "reeve.conf(5) knows $key" "*$key* = " "$(cat docs/man/reeve.conf.5.scd)"
done

# ---- completion ----
complete_words() { # WORD...: what the last one may become
	PATH=$root/build/bin:$PATH bash -c '. units/bash-completion/reeve
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _reeve; echo "${COMPREPLY[*]}"' - "$@" 2>/dev/null
}
is "completion: commands" "suspend submit" "$(complete_words reeve su | tr ' ' '\n' | sort -r | xargs)"
is "completion: options" "--state" "$(complete_words reeve jobs --st)"
is "completion: values" "queued" "$(complete_words reeve jobs --state q)"
is "completion: values of = form" "--output=json" "$(complete_words reeve jobs --output=j)"
is "completion: jobs of the user" "12 13 14" "$(complete_words reeve job 1 | tr ' ' '\n' | sort | xargs)"

is "--version" "reeve 0.1.0" "$("$reeve" --version)"
for name in reeve-agent reeve-controller; do
	is "the version of $name is the same" "$name 0.1.0" "$("$root/build/bin/$name" --version)"
done
exits "a day that is none" 2 "$reeve" admin reconcile --from @
exits "unknown command" 2 "$reeve" sumbit
has "... and the nearest" "did you mean 'reeve submit'?" "$err"
exits "a beginning of a command" 2 "$reeve" sub
has "... is near enough" "did you mean 'reeve submit'?" "$err"
exits "a word that no command is like" 2 "$reeve" foo
has "... gets no wrong guess" "'reeve help' lists them" "$err"
exits "an option before the command" 2 "$reeve" --json jobs
has "... and where it belongs" "options come behind the command" "$err"
exits "jobs with a number" 2 "$reeve" jobs 12
has "... and the command that shows one" "'reeve job 12' shows one job" "$err"
exits "jobs with a name" 2 "$reeve" jobs physics
has "... and its option" "--account physics" "$err"
exits "usage with a name" 2 "$reeve" usage physics
has "... and its option" "did you mean --account physics?" "$err"
exits "quota with a name" 2 "$reeve" quota physics
has "... and its option" "did you mean --account physics?" "$err"
exits "the page before no job" 2 "$reeve" jobs --before x
has "... is no request" "--before x is not a job number" "$err"
exits "nodes with a name" 2 "$reeve" nodes n1
has "... and the command that shows one" "'reeve top --node n1' shows one node" "$err"
lacks "no credential was refused in all of this" "REFUSED" "$(cat "$dir/answers/log")"

tap_end
