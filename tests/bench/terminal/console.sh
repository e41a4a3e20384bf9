#!/bin/bash
# console.sh [MEGABYTES [RUNS]] - bytes through an interactive command (`reeve exec --stdin`): a real controller, munge, command, relay and waiter
# (tests/cluster/lib/console_node.c) on one machine, there, back, and both at once; beside them the same bytes through two processes of socat
# over TCP, plain and with TLS. Each figure is the median of the runs, with the ratio to the rivals of the same run. Needs root and socat.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
megabytes=${1:-32} runs=${2:-3}
type socat >/dev/null 2>&1 || { echo "no figures: socat is not installed"; exit 1; }
live_dir console-bench
live_munge
cp build/bin/reeve "$dir/reeve"
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
live_open configure
live_tool console_node -O2 build/agent/{node_http,step/console,step/step}.o build/agent/launch/step/console.o build/common/log.o \
	build/common/{model,wire}/console/*.o
live_tool step_node
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
export LC_ALL=C.UTF-8 HOME=$dir
job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":2,"vmem_bytes":1000000' env='"PATH=/usr/bin:/bin"')")")
"$dir/step_node" "$url" "$dir/munge.sock" "$(id -un)" n1 "$dir" 2>>"$dir/node.log" &
until_has '"state":"running"' ask $daemon GET "/v1/jobs/$job" || bail "the job does not run: $out"
head -c $((megabytes * 1000000)) /dev/urandom >"$dir/big"
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$dir/key" -out "$dir/cert" 2>/dev/null
cat "$dir/key" "$dir/cert" >"$dir/pem"

# command WAY: what runs at the far end; passes WAY PROGRAM...: bytes through a program whose far end is that command
command_of() {
	case $1 in there) echo "cat >/dev/null" ;; back) echo "cat $dir/big" ;; both) echo cat ;; esac
}
pass_through() {
	local way=$1 input=$dir/big
	[ "$way" != back ] || input=/dev/null
	"${@:2}" <"$input" >"$dir/back"
	[ "$way" = there ] || cmp "$dir/big" "$dir/back" || echo "no figures: other bytes came back"
}
reeve() { as $daemon env HOME="$dir" "$dir/reeve" exec --config "$dir/client.conf" -j "$job" --stdin -- sh -c "$(command_of "$1")"; }
# The far end serves one connection, and is there before it is measured.
listen() { # WAY ADDRESS
	socat -b 262144 "$2" "SYSTEM:$(command_of "$1")" 2>/dev/null &
	far=$!
	for _ in $(seq 100); do
		grep -q "$(printf ':%04X ' "$rival_port") 00000000:0000 0A" <(sed 's/  */ /g' /proc/net/tcp) && return
		sleep 0.02
	done
}
plain() { socat -b 262144 -t 30 - "TCP:127.0.0.1:$rival_port"; }
tls() { socat -b 262144 -t 30 - "OPENSSL:127.0.0.1:$rival_port,verify=0"; }
rival_port=$((port + 1))
measure() { # NAME WAY: MB/s, of one run
	local began ms
	case $1 in
	plain) listen "$2" "TCP-LISTEN:$rival_port,bind=127.0.0.1,reuseaddr" ;;
	tls) listen "$2" "OPENSSL-LISTEN:$rival_port,bind=127.0.0.1,reuseaddr,cert=$dir/pem,verify=0" ;;
	esac
	began=$(date +%s%N)
	pass_through "$2" "$1" "$2" 2>>"$dir/bench.err"
	ms=$((($(date +%s%N) - began) / 1000000))
	[ "$1" = reeve ] || { kill "$far" 2>/dev/null; wait "$far" 2>/dev/null; }
	echo $((megabytes * 1000 / (ms + 1)))
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for way in there back both; do
	for name in reeve plain tls; do : >"$dir/$name.figures"; done
	for _ in $(seq "$runs"); do
		for name in reeve plain tls; do measure $name $way >>"$dir/$name.figures"; done
	done
	ours=$(grep '^[0-9]' "$dir/reeve.figures" | median)
	grep -h 'no figures' "$dir"/*.figures
	awk -v way="$way" -v ours="$ours" -v plain="$(median <"$dir/plain.figures")" -v tls="$(median <"$dir/tls.figures")" 'BEGIN {
		printf "%-5s  %4d MB/s each way; socat %5d MB/s: x%.3f; socat with TLS %5d MB/s: x%.3f\n", way, ours, plain, ours / plain, tls, ours / tls }'
done
printf 'the controller: %d KiB at most\n' "$(awk '/VmHWM/ { print $2 }' "/proc/$controller/status")"
