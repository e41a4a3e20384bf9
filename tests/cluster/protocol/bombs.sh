#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bombs.sh - small bodies that are large when they are looked at: what they cost the controller's memory,
# twelve at once, from a user, from a node, and from who shows no credential. TAP. Needs root; loopback only.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
most=200000 kept=40000 # kB: at the peak; above what it had before, 10 s later
live_dir bombs
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/ledger.db
		MungeSocket = $dir/munge.sock
		AcceptNodes = any
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		DefaultResources = jobfs=100MB,walltime=1:00:00,mem=1GB,vmem=1GB
		[Account physics]
		Users = daemon
	CONF
}
live_open configure
live_tool signed

# ---- what comes too slowly: looked at meanwhile, told at the end ----
python3 - "$port" "$dir" >"$dir/slow" 2>&1 <<'PY' &
import hashlib, select, socket, subprocess, sys, time
port, sock = int(sys.argv[1]), sys.argv[2] + "/munge.sock"
def sign(first, body):
    text = "reeve1 " + hashlib.sha256(first + b"\n" + body).hexdigest()
    return subprocess.run(["munge", "-S", sock, "-s", text], capture_output=True).stdout.strip()
body = b" " * 200000
post = lambda c: b"POST /v1/cost HTTP/1.1\r\nHost: x\r\n" + c + b"Content-Length: 200000\r\n\r\n"
def known(): return post(b"Authorization: Munge " + sign(b"POST /v1/cost", body) + b"\r\n")
late = known()
ways = {"nothing": (b"", b""), "line": (b"", late), "headers": (late[:40], late[40:]), "body": (known(), body),
        "enough": (known(), body)}
start, open_ = time.time(), {}
for name, (at_once, rest) in ways.items():
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(at_once)
    open_[s] = [name, rest]
while open_ and time.time() - start < 24:
    for s in select.select(list(open_), [], [], 0.25)[0]:
        try: said = s.recv(99)
        except OSError: said = b""
        print(open_.pop(s)[0], "%.0f" % (time.time() - start), said[9:12].decode() or "closed", flush=True)
    for s, left in list(open_.items()):
        n = 0 if left[0] == "nothing" else 6000 if left[0] == "enough" else 1
        try: s.send(left[1][:n])
        except OSError: pass
        left[1] = left[1][n:]
for s, left in open_.items(): print(left[0], "open", flush=True)
PY
slow=$!
status_kb() { sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/$controller/status"; }

python3 - "$dir" <<'PY' # fillings of two bytes an element and of the most memory a byte, as large as may be sent
import sys
d = sys.argv[1]
def doc(name, size, unit, open="[", close="]", more=""):
    head = '{"schema":"reeve/1",%s"x":%s' % (more, open)
    with open_(f"{d}/{name}", "w") as f:
        f.write(head + unit * ((size - len(head) - 20) // len(unit)) + "0" + close + "}")
open_ = __builtins__.open
M = 1 << 20
for who, size in ("user", 2 * M), ("node", 8 * M):
    doc(f"{who}-arrays", size, "[],")
    doc(f"{who}-texts", size, '"",')
    doc(f"{who}-objects", size, '{"a":1},')
    deep = size // 2 - 20
    with open_(f"{d}/{who}-deep", "w") as f:
        f.write('{"schema":"reeve/1","x":' + "[" * deep + "]" * deep + "}")
# Within every bound of a node: nothing that an agent says is dearer.
with open_(f"{d}/node-full", "w") as f:
    f.write('{"schema":"reeve/1","x":[' + ",".join('{"%d":1,"b%d":2,"c":""}' % (i, i) for i in range(118000)) + "]}")
env = ",".join('"E%05d="' % i for i in range(26000))
with open_(f"{d}/user-full", "w") as f:
    f.write('{"schema":"reeve/1","request":{"cluster":"main","account":"physics","name":"t","resources":{"ncpus":1},'
            '"vmem_policy":"kill","script":"%s","env":[%s],"workdir":"/"}}' % ("x" * 1000000, env))
PY
chmod 644 "$dir"/*-*
send() { # UID PATH FILE HOW: status
	as "$1" "$dir/signed" "$url" "$dir/munge.sock" POST "$2" "$3" "$4" 2>/dev/null | head -n 1
}
twelve() { # NAME WANTED UID PATH FILE [HOW]
	local before i got peak after
	before=$(status_kb VmRSS)
	echo 5 >"/proc/$controller/clear_refs"
	local pids=()
	for i in $(seq 12); do send "$3" "$4" "$dir/$5" "${6:-gzip}" >"$dir/answer.$i" & pids+=($!); done
	wait "${pids[@]}"
	peak=$(status_kb VmHWM)
	got=$(cat "$dir"/answer.* | sort -u | tr '\n' ' ')
	for i in $(seq 100); do
		after=$(status_kb VmRSS)
		[ $((after - before)) -gt "$kept" ] || break
		sleep 0.1
	done
	[ "${peak:-$((most + 1))}" -lt "$most" ] && [ "$got" = "$2 " ] && [ $((after - before)) -le "$kept" ]
	tap_result $? "twelve at once, $1: under $((most / 1000)) MB and given back" \
		"peak $peak kB, $before kB before, $after kB after, answers $got"
	echo "# peak $peak kB, $before kB before, $after kB after"
}
twelve "a user's 2 MiB of arrays in 2 KiB of gzip" 413 $daemon /v1/jobs user-arrays
twelve "a user's 2 MiB of objects" 413 $daemon /v1/jobs user-objects good
twelve "a user's 2 MiB of levels" 413 $daemon /v1/jobs user-deep good
twelve "a node's 8 MiB of arrays in 8 KiB of gzip" 413 0 /v1/node/sync node-arrays
twelve "a node's 8 MiB of arrays" 413 0 /v1/node/sync node-arrays good
twelve "a node's 8 MiB of texts" 413 0 /v1/node/sync node-texts good
twelve "a user's largest job" 201 $daemon /v1/jobs user-full
twelve "a node's fullest list" 400 0 /v1/node/sync node-full good

# Not inflated: what is no gzip at all is not found out.
echo '{}' >"$dir/no-gzip" && gzip -c "$dir/node-arrays" >"$dir/bomb.gz"
for how in none garbage; do
	for what in no-gzip bomb.gz; do
		credential=()
		[ $how = none ] || credential=(-H 'Authorization: Munge MUNGE:AwQFAAAAAAAAAAAAAAAAAAAAAAAA:')
		out=$(curl -s -o /dev/null -w '%{http_code}' -H 'Content-Encoding: gzip' "${credential[@]}" \
			--data-binary @"$dir/$what" "$url/v1/node/sync")
		has "credential $how: $what is not looked at" 401 "$out"
	done
done
out=$(curl -s -w '%{http_code}' --data-binary @"$dir/node-arrays" "$url/v1/node/sync")
has "8 MiB without a credential are refused by the headers" 401 "$out"
wait $slow
for what in nothing line headers body; do
	took=$(sed -n "s/^$what \([0-9]*\) closed/\1/p" "$dir/slow")
	[ "${took:-99}" -ge 4 ] && [ "$took" -le 22 ] # a loaded machine is late, and then the line is whole: 5 s more; without the rule it is minutes
	tap_result $? "who sends no more than a byte of its $what at a time is cut off after 5 s" "$(cat "$dir/slow")"
done
has "who sends 24 kB a second is heard: it is no JSON" "400" "$(grep enough "$dir/slow")"
kill -0 "$controller"
tap_result $? "the controller runs on"

# ---- wrong credentials: each costs munged a call, so that they are limited ----
python3 - "$port" >"$dir/wrong" 2>&1 <<'PY'
import re, socket, sys, time
n, start = 2000, time.time()
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
ask = b"GET /v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Munge MUNGE:AwQFAAAAAAAAAAAAAAAAAAAAAAAA:\r\n\r\n"
s.settimeout(60)
codes, text, sent = {}, b"", 0
while sum(codes.values()) < n:
    while sent < n and sent - sum(codes.values()) < 50:
        s.sendall(ask)
        sent += 1
    some = s.recv(65536)
    if not some: break
    text += some
    for code in re.findall(rb"HTTP/1.1 ([0-9]+) [^\n]*\n", text): codes[int(code)] = codes.get(int(code), 0) + 1
    text = text[text.rfind(b"\n") + 1:]
print("answers", sum(codes.values()), "checked", codes.get(401, 0), "refused", codes.get(429, 0), "most", 401 + int(200 * (time.time() - start)))
PY
figure_of() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$dir/wrong"; }
[ "$(figure_of answers)" = 2000 ] && [ "$(figure_of checked)" -ge 400 ] && [ "$(figure_of checked)" -le "$(figure_of most)" ] &&
	[ $(($(figure_of checked) + $(figure_of refused))) = 2000 ]
tap_result $? "wrong credentials of one address: 400 at once and 200 a second are sent to munged, the others refused" "$(cat "$dir/wrong")"
echo "# $(cat "$dir/wrong")"
tap_end
