#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shares.sh - shares over a run: a real controller with a real munged, and a client that plays two nodes
# and their users. Hundreds of jobs of several sizes by fairshare; as long as every account has jobs that
# wait, each is charged its share, within 5 %, also when one asks for three times as much. The nodes tell
# the time: a job has run for as long as they say, so hours pass in seconds. TAP. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir shares
live_munge
live_tool signed

configure() { # NAME
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/$1.db")
		[Policy]
		Scheduler = backfill
		PriorityWeightFairshare = 1000000
		UsageHalfLife = 0
		[Cluster main]
		DefaultResources = vmem=1GB,jobfs=100MB
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
}
declare_accounts() { # ACCOUNT=USER=SHARES...
	local row account user shares
	for row; do
		IFS== read -r account user shares <<<"$row"
		printf '[Account %s]\nUsers = %s\nShares = %s\n' "$account" "$user" "$shares"
	done >"$dir/accounts.conf"
	build/bin/reeve admin accounts apply "$dir/accounts.conf" --config "$dir/client.conf" >"$dir/said" 2>&1 ||
		bail "the accounts are refused: $(cat "$dir/said")"
}

# player SPECIFICATION: ACCOUNT UID CORES SECONDS JOBS, a row for each. Hands all in, then lets the nodes
# run what they are given until an account has nothing that waits; prints what each was charged by then.
cat >"$dir/player.py" <<'PY'
import json, os, re, subprocess, sys, time, urllib.error, urllib.request

signed, url, socket, folder = sys.argv[1:5]
CORES, NODES = 8, ("n1", "n2")
AMOUNTS = {"ncpus": CORES, "mem_bytes": 64 * 10**9, "jobfs_bytes": 10**11, "ngpus": 0}
body_file = os.path.join(folder, "player.json")

def ask(uid, method, path, body=None):
    if body is not None:
        with open(body_file, "w") as f:
            json.dump(dict(body, schema="reeve/1"), f)
        os.chmod(body_file, 0o644)
    said = subprocess.run([signed, url, socket, method, path, body_file if body is not None else ""],
                          user=uid, group=uid, extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    status, _, answer = said.stdout.decode().partition("\n")
    if status[:1] != "2":
        sys.exit("%s %s: %s %s" % (method, path, status, answer))
    return json.loads(answer)

kinds = {}
for row in sys.argv[5:]:
    account, uid, cores, seconds, jobs = row.split()
    kinds[account] = {"uid": int(uid), "cores": int(cores), "s": int(seconds), "left": int(jobs)}
owner = {}
for account, k in kinds.items():
    for _ in range(k["left"]):
        job = ask(k["uid"], "POST", "/v1/jobs", {"request": {
            "cluster": "main", "account": account, "queue": "normal", "name": "t",
            "resources": {"ncpus": k["cores"], "vmem_bytes": 10**9, "walltime_s": k["s"]}, "vmem_policy": "kill",
            "stream": False, "join": False, "argv": ["/bin/true"], "env": [], "workdir": "/"}})["job"]
        owner[job] = account

began = int(time.time()) - 86400
now = 0               # seconds since then, on the clock of the nodes
running = {}          # job: [node, since, number of its last report]

def report(job, has_ended):
    node, since, seq = running[job]
    running[job][2] += 1
    end = {"kind": "exited" if has_ended else "none", "exit_status": 0, "signal": 0, "reason": {
        "limit": "none", "requested": -1, "reached": -1, "at_ns": 0, "host": "", "n_procs": 0, "procs": [], "text": ""}}
    return {"job": job, "attempt": 1, "seq": seq + 1, "at_ns": (began + now) * 10**9,
            "state": "ended" if has_ended else "running", "started_ns": (began + since) * 10**9,
            "ended_ns": (began + now) * 10**9 if has_ended else 0, "running_ns": (now - since) * 10**9,
            "suspended_ns": 0, "usage": {}, "end": end, "cpus": "0", "note": ""}

def sync(node, over=()):
    """Reports the usage of all that runs there; returns how many were started by the answer."""
    mine = [j for j in running if running[j][0] == node]
    answer = ask(0, "POST", "/v1/node/sync", {
        "node": node, "boot": "b1", "number": time.time_ns(), "version": "t", "capacity": AMOUNTS, "free": AMOUNTS,
        "state": "up", "tier": 1, "notes": [], "output": [],
        "jobs": [{"job": j, "attempt": 1, "state": "ended" if j in over else "running"} for j in mine],
        "reports": [report(j, j in over) for j in mine]})
    for j in mine:
        if j in over:
            del running[j]
    new = [j["job"] for j in answer["jobs"] if j["want"] == "run" and j["job"] not in running and j["job"] not in over]
    for j in new:
        running[j] = [node, now, 0]
        kinds[owner[j]]["left"] -= 1
    held = sum(kinds[owner[j]]["cores"] for j in running if running[j][0] == node)
    if held > CORES:
        sys.exit("%s is given %d cores of %d" % (node, held, CORES))
    return len(new)

def cycles():
    while True:  # who shows no credential is held to a rate
        try:
            text = urllib.request.urlopen(url + "/metrics").read().decode()
            break
        except urllib.error.HTTPError as e:
            if e.code != 429:
                raise
            time.sleep(0.2)
    return int(re.search(r"^reeve_cycles_total (\d+)", text, re.M).group(1))

def fill(before):
    """Until every core is taken, or the scheduler has looked at it since and gives nothing more."""
    end = time.monotonic() + 30
    while sum(kinds[owner[j]]["cores"] for j in running) < CORES * len(NODES):
        seen = cycles()
        if sum(sync(node) for node in NODES):
            before = seen
        elif (running and seen > before) or time.monotonic() > end:
            return
        time.sleep(0.01)

steps = before = 0
while all(k["left"] > 0 for k in kinds.values()):
    fill(before)
    if not running:
        sys.exit("nothing is started")
    now = min(running[j][1] + kinds[owner[j]]["s"] for j in running)
    over = [j for j in running if running[j][1] + kinds[owner[j]]["s"] == now]
    before = cycles()
    for node in NODES:
        sync(node, over)
    steps += 1
for node in NODES:
    sync(node)
charged = {}
for row in ask(0, "GET", "/v1/usage?by=account")["rows"]:
    charged[row["account"]] = row["charge_requested_ms"] // 1000
print(json.dumps({"charged": charged, "waits": {a: k["left"] for a, k in kinds.items()}, "steps": steps, "now": now}))
PY
play() {
	python3 "$dir/player.py" "$dir/signed" "$url" "$dir/munge.sock" "$dir" "$@"
}
# shares_are WANT...: ACCOUNT=SHARES of what was charged in all, within 5 %; and every core second belongs to an account
shares_are() {
	python3 - "$out" "$@" <<'PY'
import json, sys
said = json.loads(sys.argv[1])
want = {a: int(s) for a, s in (x.split("=") for x in sys.argv[2:])}
got = said["charged"]
all_got, bad = sum(got.values()), 0
for a, shares in want.items():
    fair = all_got * shares / sum(want.values())
    print("%s: %d core-seconds, %+.1f %% of its share; %d wait" % (a, got[a], 100 * (got[a] / fair - 1), said["waits"][a]))
    bad |= abs(got[a] / fair - 1) > 0.05
print("%d steps, %d s, %.0f %% of the cores" % (said["steps"], said["now"], 100 * all_got / said["now"] / 16))
sys.exit(bad or set(got) != set(want) or all_got > 16 * said["now"])
PY
}
verdict() { # NAME WANT...
	local said
	said=$(shares_are "${@:2}" 2>&1)
	tap_result $? "$1" "$said"
	sed 's/^/# /' <<<"$said"
}

live_open configure equal
backdate_dispatch "$dir/equal.db" 48
declare_accounts physics=daemon=1 chemistry=bin=1 biology=sys=1 geology=sync=1
out=$(play "physics 1 1 97 310" "chemistry 2 4 83 91" "biology 3 8 59 64" "geology 4 3 89 338" 2>&1) || bail "$out"
verdict "equal shares, jobs of four sizes, one asks for three times as much: all are charged the same, within 5 %" \
	physics=1 chemistry=1 biology=1 geology=1
check "the sums of the ledger are those of its jobs" build/bin/reeve admin verify --ledger "$dir/equal.db"
live_open configure parts
backdate_dispatch "$dir/parts.db" 48
declare_accounts physics=daemon=50 chemistry=bin=30 biology=sys=20
out=$(play "physics 1 1 109 230" "chemistry 2 4 89 43" "biology 3 8 59 22" 2>&1) || bail "$out"
verdict "shares of 50, 30 and 20: within 5 %" physics=50 chemistry=30 biology=20
live_stop
tap_end
