# SPDX-License-Identifier: GPL-2.0-or-later
# play_lib.sh - plays a node and its jobs over the protocol, and submits jobs, for suites with a real
# controller. To be sourced after live_lib.sh; $amounts are the node's resources. shellcheck shell=bash
#
#	node_document [KEY=VALUE]...	an exchange of a node. node, boot, number, state, free; elements of arrays:
#					notes, jobs, reports, output; more: further members, with a comma before each
#	node_sync [KEY=VALUE]...	sends it, as a long poll of `wait` seconds; prints the answer
#	job_entry JOB STATE [ATTEMPT]	an element of jobs
#	job_report JOB SEQ STATE [KEY=VALUE]...	an element of reports: see there for the keys
#	job_request [KEY=VALUE]...	a submission: see there for the keys
#	encode_series INTERVAL_MS ELAPSED_MS METRIC=VALUE,VALUE...	a series as an agent encodes it, for `more` of a report
#	job_number ANSWER		the number of the job in it
#	desired_state JOB ANSWER [EXPRESSION]	what the answer to an exchange wants of a job, nothing where it has
#					none; or a Python expression of j, the job's entry, r, its request, p, its part
#	until_has NEEDLE COMMAND...	until its output, in $out, has the needle; 1: not within 20 s
node_document() {
	# shellcheck disable=SC2154 # amounts: of the suite
	local node=n1 boot=b1 number free=$amounts state=up notes='' jobs='' reports='' output='' more=''
	number=$(date +%s%N)
	[ $# = 0 ] || local "$@"
	printf '{"schema":"reeve/1","node":"%s","boot":"%s","number":%s,"version":"t","capacity":{%s},"free":{%s},"state":"%s",' \
		"$node" "$boot" "$number" "$amounts" "$free" "$state"
	printf '"tier":1,"notes":[%s],"jobs":[%s],"reports":[%s],"output":[%s]%s}\n' "$notes" "$jobs" "$reports" "$output" "$more"
}
node_sync() {
	local wait=0
	[ $# = 0 ] || local "$@"
	ask 0 POST "/v1/node/sync?wait=$wait" "$(node_document "$@")"
}
job_entry() { echo "{\"job\":$1,\"attempt\":${3:-1},\"state\":\"$2\"}"; }
job_report() { # times in seconds; the end is at at_s; usage: members; kind is "exited" of a job that ended
	local job=$1 seq=$2 state=$3 attempt=1 at_s started_s='' running_s=0 suspended_s=0 usage='' ended=0 \
		kind=none exit_status=0 signal=0 limit=none requested=-1 reached=-1 host='' cpus=0-1 more=''
	at_s=$(date +%s)
	[ "$state" != ended ] || kind=exited
	shift 3
	[ $# = 0 ] || local "$@"
	[ "$state" != ended ] || ended=${at_s}000000000
	printf '{"job":%s,"attempt":%s,"seq":%s,"at_ns":%s000000000,"state":"%s","started_ns":%s000000000,"ended_ns":%s,' \
		"$job" "$attempt" "$seq" "$at_s" "$state" "${started_s:-$at_s}" "$ended"
	printf '"running_ns":%s,"suspended_ns":%s,"usage":{%s},"end":{"kind":"%s","exit_status":%s,"signal":%s,' \
		$((running_s * 1000000000)) $((suspended_s * 1000000000)) "$usage" "$kind" "$exit_status" "$signal"
	printf '"reason":{"limit":"%s","requested":%s,"reached":%s,"at_ns":0,"host":"%s","n_procs":0,"procs":[],"text":""}},' \
		"$limit" "$requested" "$reached" "$host"
	printf '"cpus":"%s","note":""%s}\n' "$cpus" "$more"
}
# METRIC: a number of enum series_metric, "-": not measured
encode_series() {
	python3 - "$@" <<-'PY'
		import base64, sys
		def varint(v):
		    out = b''
		    while v >= 0x80:
		        out += bytes([v & 0x7f | 0x80]); v >>= 7
		    return out + bytes([v])
		metrics = {int(m): vs.split(',') for m, vs in (a.split('=') for a in sys.argv[3:])}
		out = b'\x01' + varint(int(sys.argv[1])) + varint(int(sys.argv[2])) + bytes([sum(1 << m for m in metrics)])
		for m in sorted(metrics):
		    before = 0
		    for v in metrics[m]:
		        if v == '-':
		            out += b'\0'
		            continue
		        d = int(v) - before
		        out += varint((d << 1 if d >= 0 else -2 * d - 1) + 1)
		        before = int(v)
		print(base64.b64encode(out).decode())
	PY
}
job_request() { # resources: members; argv, env: elements; more: further members of the request, with a comma before each
	local account=physics queue=normal resources='"ncpus":1,"vmem_bytes":1000000' stream=false argv='"/bin/true"' env='' \
		workdir=/ more=''
	[ $# = 0 ] || local "$@"
	printf '{"schema":"reeve/1","request":{"cluster":"main","account":"%s","queue":"%s","name":"t","resources":{%s},' \
		"$account" "$queue" "$resources"
	printf '"vmem_policy":"kill","stream":%s,"join":false,"argv":[%s],"env":[%s],"workdir":"%s"%s}}\n' \
		"$stream" "$argv" "$env" "$workdir" "$more"
}
job_number() { grep -o '"job":[0-9]*' <<<"$1" | head -n 1 | cut -d: -f2; }
desired_state() {
	sed -n '2,$p' <<<"$2" | python3 -c "
import json, sys
for j in json.load(sys.stdin).get('jobs', []):
    r = j.get('request') or {}
    p = r.get('part') or {}
    if j['job'] == $1: print(${3:-j['want']})"
}
until_has() {
	local end=$((SECONDS + 20))
	until out=$("${@:2}"); [[ $out == *"$1"* ]]; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}
