#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# console.sh [MEGABYTES [RUNS]] - bytes through an interactive command (`reeve exec --stdin`): a real controller, munge, command, relay and waiter
# (tests/cluster/lib/interactive/console_node.c) on one machine, there, back, and both at once; beside them the same bytes through two processes of socat
# over TCP, plain and with TLS, and the same command and node without the codes that seal the messages (no_hmac.c). Each figure is the median of
# the runs, with the ratio to the rivals of the same run. Needs root and socat.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/command_lib.sh
megabytes=${1:-32} runs=${2:-3}
type socat >/dev/null 2>&1 || { echo "no figures: socat is not installed"; exit 1; }
command_open console-bench
submit() { # NODE: $job, alone on the node that has come last
	job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":8,"vmem_bytes":1000000' env='"PATH=/usr/bin:/bin"')")")
	until_has "\"node\":\"$1\"" ask $daemon GET "/v1/jobs/$job" || bail "the job does not run on $1: $out"
}
command_node -O2
submit n1
sealed=$job
node=bare command_node -O2 tests/bench/terminal/no_hmac.c
submit bare
bare=$job
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -shared -fPIC -o "$dir/no_hmac.so" tests/bench/terminal/no_hmac.c || bail "no_hmac.c does not compile"
head -c $((megabytes * 1000000)) /dev/urandom >"$dir/big"
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$dir/key" -out "$dir/cert" 2>/dev/null
cat "$dir/key" "$dir/cert" >"$dir/pem"

# What runs at the far end.
command_of() {
	case $1 in there) echo "cat >/dev/null" ;; back) echo "cat $dir/big" ;; both) echo cat ;; esac
}
pass_through() { # WAY PROGRAM...: bytes through a program at whose far end that command runs
	local way=$1 input=$dir/big to=$dir/back.$1
	[ "$way" != back ] || input=/dev/null
	"${@:2}" <"$input" >"$to"
	[ "$way" = there ] || cmp "$dir/big" "$to" >&2 || echo "no figures: other bytes came back"
}
reeve() { # WAY JOB [NAME=VALUE]
	pass_through "$1" as $daemon env HOME="$dir" "${@:3}" "$dir/reeve" exec --config "$dir/client.conf" -j "$2" --stdin -- sh -c "$(command_of "$1")"
}
plain_far=TCP-LISTEN plain_near=TCP tls_far=OPENSSL-LISTEN tls_near=OPENSSL
rival() { # plain|tls WAY PORT; the far end serves one connection, which is accepted after its first refusals
	local far=${1}_far near=${1}_near more='' pid
	[ "$1" = plain ] || more=",cert=$dir/pem,verify=0"
	socat -b 262144 "${!far}:$3,bind=127.0.0.1,reuseaddr$more" "SYSTEM:$(command_of "$2")" 2>>"$dir/rival.err" &
	pid=$!
	[ "$1" = plain ] || more=",verify=0"
	pass_through "$2" socat -b 262144 -t 30 - "${!near}:127.0.0.1:$3,retry=200,interval=0.01$more"
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}
# socat stops where both ends write at once: what goes there and back goes through two.
measure() { # NAME WAY: tenths of MB/s, of one run
	local began ms
	began=$(date +%s%N)
	case $1-$2 in
	reeve-*) reeve "$2" "$sealed" ;;
	bare-*) reeve "$2" "$bare" LD_PRELOAD="$dir/no_hmac.so" ;;
	*-both) rival "$1" there $((port + 1)) & rival "$1" back $((port + 2)); wait $! ;;
	*) rival "$1" "$2" $((port + 1)) ;;
	esac
	ms=$((($(date +%s%N) - began) / 1000000))
	echo $((megabytes * 10000 / (ms + 1)))
}
ticks() { awk '{ print $14 + $15 }' "/proc/$controller/stat"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for way in there back both; do
	for name in reeve bare plain tls; do : >"$dir/$name.figures"; done
	cpu=0
	for _ in $(seq "$runs"); do
		for name in reeve bare plain tls; do
			began=$(ticks)
			measure $name $way >>"$dir/$name.figures"
			[ $name != reeve ] || cpu=$((cpu + $(ticks) - began))
		done
	done
	grep -h 'no figures' "$dir"/*.figures
	for name in reeve bare plain tls; do eval "${name}_rate=$(grep '^[0-9]' "$dir/$name.figures" | median)"; done
	awk -v way="$way" -v ours="$reeve_rate" -v bare_rate="$bare_rate" -v plain="$plain_rate" -v tls="$tls_rate" -v cpu=$((cpu * 1000 / $(getconf CLK_TCK))) -v n=$((megabytes * runs)) 'BEGIN {
		printf "%-5s  %4.1f MB/s each way; without codes %4.1f MB/s: x%.2f; socat %5.0f MB/s: x%.3f; socat with TLS %5.0f MB/s: x%.3f; CPU time of the controller %.1f ms for each MB\n",
			way, ours / 10, bare_rate / 10, ours / bare_rate, plain / 10, ours / plain, tls / 10, ours / tls, cpu / n }'
done
printf 'the controller: %d KiB at most\n' "$(awk '/VmHWM/ { print $2 }' "/proc/$controller/status")"
