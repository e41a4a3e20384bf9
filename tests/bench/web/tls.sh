#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tls.sh [ROUNDS] - what https of the controller costs beside http, in turns, the median of the rounds: a submission over a connection that
# is kept, a command that submits, and a handshake alone, with certificates of two kinds. The ledger is in memory. Needs root and openssl.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
rounds=${1:-5} commands=40 handshakes=20
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
live_dir tls-bench
live_tool tests/bench/submit_bench.c -O2
live_munge
shm=$(mktemp -d /dev/shm/reeve-tls-XXXXXX) || bail "no /dev/shm"
trap 'live_end; rm -rf "$shm"' EXIT
export LC_ALL=C.UTF-8
make_certificate() { # NAME OPTION...: of the kind that the options of openssl say
	openssl req -x509 "${@:2}" -nodes -keyout "$dir/$1.key" -out "$dir/$1.pem" -days 2 -subj /CN=bench -addext subjectAltName=IP:127.0.0.1 2>/dev/null
}
make_certificate ecdsa -newkey ec -pkeyopt ec_paramgen_curve:P-256
make_certificate rsa -newkey rsa:2048
make_certificate rsa4096 -newkey rsa:4096
configure() { # http|ecdsa|rsa
	live_controller "$shm/$port.db" >"$dir/controller.conf"
	[ "$1" = http ] || {
		url=https://127.0.0.1:$port
		printf 'Certificate = %s\nCertificateKey = %s\n' "$dir/$1.pem" "$dir/$1.key" >>"$dir/controller.conf"
	}
	printf '%s\n' 'MaxQueuedPerUser = 0' '[Cluster main]' 'DefaultResources = ncpus=1,vmem=1GB,jobfs=100MB,walltime=1:00:00' '[Account physics]' 'Users = daemon' >>"$dir/controller.conf"
}
cp build/bin/reeve "$dir/reeve"
used_us() { awk '{ printf "%d", $1 / 1000 }' "/proc/$controller/schedstat"; } # of its one thread
now_us() { date +%s%6N; }
note() { echo "$3" >>"$dir/figure.$1.$2"; } # WHAT KIND VALUE
kept() { # KIND: submissions over one connection
	local before said n
	before=$(used_us)
	said=$(SUBMIT_BENCH_CA=$dir/$1.pem "$dir/submit_bench" "$url" "$dir/munge.sock" 3 1:1:0)
	n=$(grep -o '[0-9]* taken' <<<"$said" | cut -d' ' -f1)
	note kept_cpu "$1" $((($(used_us) - before) / (n > 0 ? n : 1)))
	note kept_p50 "$1" "$(grep -o 'p50 [0-9.]*' <<<"$said" | awk '{ printf "%d", $2 * 1000 }')"
}
by_command() { # KIND: one command, one connection each
	local before start
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\nControllerUser = root\nCaFile = %s\n' "$url" "$dir" "$dir/$1.pem" >"$dir/client.conf"
	before=$(used_us) start=$(now_us)
	for _ in $(seq $commands); do
		(cd / && as 1 "$dir/reeve" submit --config "$dir/client.conf" -- true) >/dev/null || bail "no submission over $1"
	done
	note command_time "$1" $((($(now_us) - start) / commands))
	note command_cpu "$1" $((($(used_us) - before) / commands))
}
shake_hands() { # KIND: handshakes without a request, fewer than one address may make at once with any key
	local before
	[ "$1" = http ] && return
	before=$(used_us)
	python3 - "$port" $handshakes <<-'PY'
		import socket, ssl, sys
		tls = ssl.create_default_context()
		tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
		for _ in range(int(sys.argv[2])):
		    tls.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1])))).close()
	PY
	note handshake_cpu "$1" $((($(used_us) - before) / handshakes))
}
for _ in $(seq "$rounds"); do
	for kind in http ecdsa rsa rsa4096; do
		CURL_CA_BUNDLE=$dir/$kind.pem live_open configure $kind
		kept $kind
		by_command $kind
		shake_hands $kind
	done
done
median() { sort -n "$dir/figure.$1.$2" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; } # WHAT KIND
echo "load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds; microseconds"
for what in kept_p50 kept_cpu command_time command_cpu; do
	plain=$(median $what http)
	for kind in http ecdsa rsa rsa4096; do
		awk -v what=$what -v kind=$kind -v v="$(median $what $kind)" -v plain="$plain" \
			'BEGIN { printf "%-13s %-8s %7d  x%.2f\n", what, kind, v, v / plain }'
	done
done
for kind in ecdsa rsa rsa4096; do
	awk -v kind=$kind -v v="$(median handshake_cpu $kind)" \
		'BEGIN { printf "%-13s %-8s %7d  %d a second of one core\n", "handshake_cpu", kind, v, 1000000 / v }'
done
