#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# doctor.sh - `reeve admin doctor` on a machine with a real munged, controller and agent: things are broken one by one, and each is named with
# what mends it. The bus, the clocks of other machines and the configuration of sshd are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/server_lib.sh
. tests/cluster/monitoring/agent_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
agent_possible || { echo "1..0 # SKIP no cgroup v2 that jobs may be made in"; exit 0; }
live_dir doctor
ends() {
	agent_end
	umount "$dir/full" 2>/dev/null
	[ -z "$server_place" ] || server_do stop
	live_end
}
trap ends EXIT
mkdir "$dir/etc" "$dir/root" "$dir/bin" "$dir/lib"
live_munge
live_munge other
configure() {
	{
		live_controller "$dir/lib/ledger.db"
		printf '[Cluster main]\nDefaultResources = jobfs=100MB,walltime=1:00:00\nQueues = normal\n[Account physics]\nUsers = daemon\n'
	} >"$dir/controller.conf"
}
live_open configure
printf '[Client]\nController = %s\nControllerUser = root\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
agent_no_quota=1
agent_open "Jobfs = none" "SpoolMax = 1MiB"
chmod 700 "$agent_dir/pins"
until_has '"state":"up"' ask 0 GET /v1/nodes || bail "the node does not come: $(tail -n 5 "$agent_dir/log")"

# ---- what is played ----
export PATH=$PWD/build/bin:$PATH LC_ALL=C.UTF-8
version=$(build/bin/reeve --version | cut -d' ' -f2)
bus_good() { # [KEY=JSON]...: what the agent says on the bus
	python3 - "$@" >"$dir/bin/Describe.json" <<-PY
		import json, sys
		d = {"schema": "reeve/1", "node": "n9", "version": "$version", "tier": 1, "notes": [], "controller": "$url", "controller_up": True,
		     "spool_bytes": 10, "spool_max_bytes": 1000}
		d.update((k, json.loads(v)) for k, v in (a.split("=", 1) for a in sys.argv[1:]))
		print(json.dumps({"type": "s", "data": [json.dumps(d)]}))
	PY
}
cat >"$dir/bin/busctl" <<-'SH'
	#!/bin/sh
	cat "$(dirname "$0")/Describe.json" 2>/dev/null || { echo "Call failed: ${BUS_SAYS:-no agent}"; exit 1; }
SH
chmod 755 "$dir/bin/busctl"
bus_good
doctor() { # [ARGUMENT]...
	DBUS_SYSTEM_BUS_ADDRESS=played PATH=$dir/bin:$PATH build/bin/reeve admin doctor --config "$dir/reeve.conf" --agent-config "$agent_dir/agent.conf" \
		--controller-config "$dir/controller.conf" --root "$dir/root" "$@"
}
found() { # CHECK [ARGUMENT]...: its findings as "state finding | remedy"
	local check=$1
	shift
	doctor "$@" --csv -n -o check,state,finding,remedy | python3 -c '
import csv, sys
for r in csv.reader(sys.stdin):
    if r[0] == sys.argv[1]: print(r[1] + " " + r[2] + " | " + r[3])' "$check"
}
finds() { # NAME CHECK STATE NEEDLE REMEDY [ARGUMENT]...: one of its findings is of that state, has both
	local name=$1 check=$2 state=$3 needle=$4 remedy=$5 out
	shift 5
	out=$(found "$check" "$@")
	grep -F -- "$needle" <<<"$out" | grep "^$state " | grep -qF -- "$remedy"
	tap_result $? "$name" "$out"
}

# ---- all is well ----
has "without an argument it says what it takes the machine for" "checked as a login machine" "$(PATH=$dir/bin:$PATH build/bin/reeve admin doctor --config "$dir/reeve.conf" --agent-config /none --controller-config /none)"
out=$(doctor node)
lacks "a healthy node: nothing failed but what this kernel lacks" "fail " "$(grep -v 'fail *\(cgroup\|kernel\) ' <<<"$out")"
lacks "nor was anything left unchecked" "unchecked" "$(grep '^unchecked' <<<"$out")"
out=$(doctor controller)
is "a healthy controller: nothing failed" "" "$(grep '^\(fail\|unchecked\)' <<<"$out")"
doctor controller >/dev/null
is "exit status 0" 0 $?
doctor controller --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "reeve/1" and d["kind"] == "controller" and {"check", "state", "finding"} <= set(d["checks"][0])'
is "JSON: the kind of machine and each check" 0 $?
for file in run/reeve var/lib/reeve var/lib/reeve/jobfs sys/fs/bpf/reeve usr/libexec/reeve/reeve-launch; do
	grep -q "\"/$file\"" agent/config.c && grep -q "\"/$file\"" cli/admin/doctor/gather/config.c
	is "the default /$file is that of the agent" 0 $?
done
doctor nodes >/dev/null 2>"$dir/said"
is "another kind of machine is wrong usage" "2 reeve admin: doctor: 'nodes' is no kind of machine: node, controller, or none to find it out" "$? $(cat "$dir/said")"

# ---- munge and the controller ----
finds "munge works" munge ok "makes credentials here" "" node
finds "the controller decodes ours" controller ok "decodes what munge signs here" "" node
finds "and we its" signature ok "decodes what the controller signs" "" node
sed "s,munge.sock,gone.sock," "$dir/controller.conf" >"$dir/etc/gone.conf"
finds "munged that does not run" munge fail "munged cannot be reached" "systemctl enable --now munge" controller --controller-config "$dir/etc/gone.conf"
finds "then nothing can be asked" controller unchecked "munge does not work here" "" controller --controller-config "$dir/etc/gone.conf"
sed "s,munge.sock,other.sock," "$agent_dir/agent.conf" >"$dir/etc/other.conf"
finds "another key than the controller's" controller fail "does not decode what munge signs here" "sha256sum /etc/munge/munge.key" node --agent-config "$dir/etc/other.conf"
finds "then the answer's signature was not checked" signature unchecked "it did not answer" "" node --agent-config "$dir/etc/other.conf"
sed 's,^ControllerUser.*,ControllerUser = daemon,' "$agent_dir/agent.conf" >"$dir/etc/user.conf"
out=$(found controller node --agent-config "$dir/etc/user.conf")
has "credentials for another user than the controller's" "fail " "$out"
finds "no controller there" controller fail "does not answer" "systemctl status reeve-controller" node --controller http://127.0.0.1:1
doctor node --controller http://127.0.0.1:1 >/dev/null
is "exit status 1" 1 $?

# ---- clocks ----
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/cli_fake" tests/cluster/lib/cli_fake.c build/common/auth/auth.o build/common/err.o \
	-lmicrohttpd -lmunge -lnettle -lz || bail "cli_fake.c does not compile"
mkdir "$dir/fake" && : >"$dir/fake.port"
"$dir/cli_fake" "$dir/fake" "$dir/munge.sock" >"$dir/fake.port" &
until_has 1 grep -c . "$dir/fake.port" || bail "cli_fake does not start"
fake=http://127.0.0.1:$(cat "$dir/fake.port")
about() { # SECONDS: that controller's clock is so much before ours
	printf '200\n{"schema":"reeve/1","version":"%s","now_ns":%s}' "${2:-$version}" $(($(date +%s%N) + $1 * 1000000000)) >"$dir/fake/GET_v1_about"
}
about 0
finds "clocks in step" clock ok "ms" "" node --controller "$fake"
about 10
finds "a clock that is behind" clock warn "behind the controller's" "chronyc makestep" node --controller "$fake"
about -3600
finds "one that is an hour before" clock fail "ms before the controller's" "timedatectl set-ntp true" node --controller "$fake"
printf '401\n{"schema":"reeve/1","error":{"code":"not-authenticated","message":"Rewound credential","remedy":""}}' >"$dir/fake/GET_v1_about"
finds "one so far off that no credential is decoded" clock fail "clock is before the controller's by more than credentials allow" "chronyc makestep" node --controller "$fake"
about 0 9.9.9
finds "another version of the controller" version warn "the running controller has version 9.9.9" "upgrade the controller first" node --controller "$fake"

# ---- the agent ----
finds "the agent answers" agent ok "answers on the system bus" "" node
finds "its tier" tier ok "tier 1" "" node
bus_good 'tier=3' 'notes=["vmem: no BTF here: tier 3","sampling: slow"]'
finds "a weak tier" tier warn "tier 3" "see the notes above" node
finds "and why it is no better one" tier warn "vmem: no BTF here" "" node
finds "its other notes" note warn "sampling: slow" "" node
bus_good 'version="0.0.9"'
finds "an agent that runs since before the upgrade" version warn "the running agent has version 0.0.9" "systemctl restart reeve-agent" node
bus_good 'controller_up=false' 'controller_why="Connection refused"' 'spool_bytes=900'
finds "an agent without its controller" uplink fail "Connection refused" "systemctl reload reeve-agent" node
finds "a spool that fills" spool warn "900 of 1000 bytes" "SpoolMax=" node
rm "$dir/bin/Describe.json"
BUS_SAYS="Unknown method Describe" finds "an agent that is too old to be asked" agent fail "older version" "systemctl restart reeve-agent" node
finds "an agent that is away" agent fail "does not answer: Call failed" "systemctl restart reeve-agent" node
finds "then the tier is not known" tier unchecked "the agent does not answer" "" node
finds "nor its version" version unchecked "the running agent is not known" "" node
finds "nor how its exchange goes" uplink unchecked "does not answer" "" node
bus_good
finds "the controller has the node" registered ok "node n9 as up" "" node
sed 's,^Node = n9,Node = n77,' "$agent_dir/agent.conf" >"$dir/etc/n77.conf"
finds "a node that it does not have" registered fail "no node n77" "[Node n77]" node --agent-config "$dir/etc/n77.conf"
ask 0 POST /v1/nodes/drain '{"schema":"reeve/1","nodes":["n9"],"reason":"new disk"}' >/dev/null
finds "a drained node" registered warn "drained by root: new disk" "reeve nodes resume n9" node
ask 0 POST /v1/nodes/resume '{"schema":"reeve/1","nodes":["n9"]}' >/dev/null
sed 's,^Node = n9,Nod = n9,' "$agent_dir/agent.conf" >"$dir/etc/bad.conf"
finds "a fault of agent.conf" config fail "Nod" "reeve-agent --check" node --agent-config "$dir/etc/bad.conf"
finds "no agent.conf" config fail "cannot open $dir/none.conf" "--agent-config" node --agent-config "$dir/none.conf"
finds "the chosen Jobfs = none" quota warn "jobs may fill $agent_dir/jobfs" "remove Jobfs= from agent.conf" node
sed '/^Jobfs = none/d' "$agent_dir/agent.conf" >"$dir/etc/quota.conf"
finds "a disk without project quotas" quota fail "takes no project and limit" "prjquota" node --agent-config "$dir/etc/quota.conf"
is "the test leaves nothing behind" "" "$(ls -A "$agent_dir/jobfs")"

# ---- modes and disks ----
chmod 666 "$agent_dir/agent.conf"
finds "agent.conf that everyone may write" modes fail "$agent_dir/agent.conf has mode 0666" "chmod 0644 $agent_dir/agent.conf" node
chown daemon "$agent_dir/agent.conf"
finds "and that is another user's" modes fail "belongs to uid 1" "chown 0 $agent_dir/agent.conf" node
chown root "$agent_dir/agent.conf"
chmod 644 "$agent_dir/agent.conf"
chmod 755 "$agent_dir/state"
finds "a state directory that everyone may read" modes fail "$agent_dir/state has mode 0755" "chmod 0700" node
chmod 700 "$agent_dir/state"
finds "mended" modes ok "owners and modes" "" node
finds "room for the spool" disk-spool ok "MiB are left" "" node
sed 's,^SpoolMax.*,SpoolMax = 1GiB,' "$agent_dir/agent.conf" >"$dir/etc/spool.conf"
finds "too little of it" disk-spool fail "needs 10" "du -xh" node --agent-config "$dir/etc/spool.conf"
finds "the agent's database" store ok "is consistent" "" node

# ---- the ledger ----
finds "the ledger" ledger ok "is consistent, schema version" "" controller
chmod 644 "$dir/lib/ledger.db"
finds "a ledger that everyone may read" modes fail "ledger.db has mode 0644" "chmod 0600" controller
chmod 600 "$dir/lib/ledger.db"
live_stop
newest=$(sqlite3 "$dir/lib/ledger.db" 'PRAGMA user_version')
copy() { # NAME: a ledger and a configuration of it
	mkdir "$dir/etc/$1" && sqlite3 "$dir/lib/ledger.db" ".backup $dir/etc/$1/ledger.db" && chmod 600 "$dir/etc/$1/ledger.db"
	sed "s,$dir/lib/,$dir/etc/$1/," "$dir/controller.conf" >"$dir/etc/$1.conf"
}
copy old
sqlite3 "$dir/etc/old/ledger.db" 'PRAGMA user_version = 3'
finds "an old schema" ledger warn "its schema has version 3, this version of Reeve writes $newest" "systemctl restart reeve-controller" controller --controller-config "$dir/etc/old.conf"
is "which the examination leaves as it is" 3 "$(sqlite3 "$dir/etc/old/ledger.db" 'PRAGMA user_version')"
copy new
sqlite3 "$dir/etc/new/ledger.db" 'PRAGMA user_version = 999'
finds "a newer schema" ledger fail "version 999" "install the version of Reeve that wrote it" controller --controller-config "$dir/etc/new.conf"
copy torn
dd if=/dev/urandom of="$dir/etc/torn/ledger.db" bs=4096 seek=20 count=200 conv=notrunc 2>/dev/null
finds "a damaged ledger" ledger fail "is damaged" "restore the last backup" controller --controller-config "$dir/etc/torn.conf"
copy text
echo 'this is no database, and long enough to be read as its head: .......................................' >"$dir/etc/text/ledger.db"
finds "a file that is no ledger" ledger fail "not a database" "ls -l" controller --controller-config "$dir/etc/text.conf"
sed "s,$dir/lib/,$dir/etc/nowhere/," "$dir/controller.conf" >"$dir/etc/nowhere.conf"
finds "no ledger yet" ledger warn "there is no database" "systemctl start reeve-controller" controller --controller-config "$dir/etc/nowhere.conf"
mkdir "$dir/full" && mount -t tmpfs -o size=8M none "$dir/full"
sed "s,$dir/lib/,$dir/full/," "$dir/controller.conf" >"$dir/etc/full.conf"
finds "a full disk" disk-ledger fail "are left for the ledger, which needs 256 MiB" "reeve admin archive" controller --controller-config "$dir/etc/full.conf"
sed 's,^Listen,Lisen,' "$dir/controller.conf" >"$dir/etc/fault.conf"
finds "a fault of controller.conf" config fail "Lisen" "reeve admin check-config" controller --controller-config "$dir/etc/fault.conf"
finds "then the ledger was not looked at" ledger unchecked "controller.conf cannot be read" "" controller --controller-config "$dir/etc/fault.conf"
finds "a controller that is away" controller fail "does not answer" "systemctl status" controller
live_start || bail "the controller does not come back"

# ---- ways out of jobs ----
finds "no user lingers" linger ok "no user lingers" "" node
mkdir -p "$dir/root/var/lib/systemd/linger" "$dir/root/etc/pam.d" "$dir/root/etc/ssh" "$dir/root/usr/sbin" "$dir/root/lib/x/security"
touch "$dir/root/var/lib/systemd/linger/daemon" "$dir/root/var/lib/systemd/linger/no-such-user"
finds "a user who lingers" linger fail "user daemon (uid 1) lingers" "loginctl disable-linger daemon" node
lacks "a linger file of a user that no longer exists does not count" no-such-user "$(found linger node)"
rm "$dir/root/var/lib/systemd/linger/"*
mkdir -p "$dir/root/sys/fs/cgroup/user.slice/user-2.slice/user@2.service"
finds "a user manager" user-slice warn "user@2.service of user bin runs" "loginctl terminate-user bin" node
rm -r "$dir/root/sys"
finds "no polkit" polkit n/a "no polkit is installed" "" node
mkdir -p "$dir/root/usr/bin" "$dir/root/usr/share/polkit-1/rules.d"
pkcheck() { # WORDS: what the fake says, if a user without privileges asks of an own process
	printf '#!/bin/sh\n[ "$(id -u) $*" = "65534 --action-id org.freedesktop.login1.set-self-linger --process $PPID" ] && %s\n' "$1" \
		>"$dir/root/usr/bin/pkcheck"
	chmod 755 "$dir/root" "$dir/root/usr" "$dir/root/usr/bin" "$dir/root/usr/bin/pkcheck"
}
pkcheck 'exit 0'
finds "a polkit that lets users linger" polkit fail "lets each user linger" "/usr/share/polkit-1/rules.d/50-reeve-linger.rules" node
cp units/50-reeve-linger.rules "$dir/root/usr/share/polkit-1/rules.d/"
finds "though Reeve's rule is installed" polkit fail "a rule comes before that of" "/etc/polkit-1/rules.d" node
pkcheck '{ echo "not authorized"; exit 1; }'
finds "one that refuses it" polkit ok "refuses" "" node
pkcheck '{ echo "no bus"; exit 127; }'
finds "one that does not answer" polkit unchecked "exit status 4: no bus" "" node
rm -r "$dir/root/usr/bin" "$dir/root/usr/share"
finds "no sshd" ssh n/a "no sshd is installed" "" node
touch "$dir/root/usr/sbin/sshd" "$dir/root/usr/sbin/cron"
finds "an sshd without configuration" ssh unchecked "No such file" "" node
printf '@include common-auth\n@include common-account\n@include common-session\n' >"$dir/root/etc/pam.d/sshd"
printf 'UsePAM yes\n' >"$dir/root/etc/ssh/sshd_config"
finds "sshd without pam_reeve" ssh fail "no account line of pam_reeve" "docs/operation.md" node
printf 'AllowGroups admins\n' >>"$dir/root/etc/ssh/sshd_config"
finds "sshd that allows some users alone is ok" ssh ok "allows some users alone to log in" "" node
printf 'account required pam_reeve.so exempt=bin\n@include common-session\nsession [success=done default=die] pam_reeve.so exempt=bin\n' >"$dir/root/etc/pam.d/sshd"
finds "a module that is not installed" ssh fail "is not installed" "reeve-agent" node
touch "$dir/root/lib/x/security/pam_reeve.so"
finds "pam_systemd before pam_reeve" ssh fail "pam_systemd runs before" "before \"@include common-session\"" node
printf 'account required pam_reeve.so exempt=bin\nsession [success=done default=die] pam_reeve.so exempt=bin\n@include common-session\n' >"$dir/root/etc/pam.d/sshd"
finds "pam_reeve in its place" ssh ok "except those of group bin" "" node
sed 's,^Node = n9,&\nStrayProcesses = kill,' "$agent_dir/agent.conf" >"$dir/etc/kill.conf"
finds "StrayProcesses = kill, and that group" stray warn "ends sessions of group bin" "add bin to StrayExemptGroups" node --agent-config "$dir/etc/kill.conf"
touch "$dir/root/var/lib/systemd/linger/bin"
lacks "members of the group that it passes may linger" "user bin" "$(found linger node)"
finds "cron without cron.allow" cron warn "there is no /etc/cron.allow" "/etc/cron.allow" node
touch "$dir/root/etc/cron.allow"
finds "with it" cron ok "/etc/cron.allow" "" node
doctor controller >/dev/null
is "warnings alone: exit status 0" 0 $?

# ---- a ledger in PostgreSQL ----
postgres() {
	local place
	server_open || { skip "a ledger in PostgreSQL" "no PostgreSQL is installed"; return; }
	trap ends EXIT
	place=$(server_schema doctor)
	awk -v place="$place" '/^Database/ { print "Database = " place; next } { print }' "$dir/controller.conf" >"$dir/etc/pg.conf"
	finds "a server that has no ledger yet" ledger warn "no ledger in it yet" "systemctl start reeve-controller" controller --controller-config "$dir/etc/pg.conf"
	live_stop
	live_start "$dir/etc/pg.conf" || bail "no controller on PostgreSQL: $(tail -n 5 "$dir/controller.log")"
	out=$(found ledger controller --controller-config "$dir/etc/pg.conf")
	has "the server and its version" "ok postgres on $dir/pg: PostgreSQL 1" "$out"
	has "its settings" "ok the server's settings keep what is committed" "$out"
	has "its checkpoints" "checkpoints began before checkpoint_timeout" "$out"
	is "nothing else" 3 "$(grep -c . <<<"$out")"
	for _ in $(seq 12); do server_sql "$place" CHECKPOINT; done
	until_has "max_wal_size" found ledger controller --controller-config "$dir/etc/pg.conf"
	finds "checkpoints that mostly begin too soon" ledger warn "max_wal_size = 1024 MB" "SET max_wal_size = '8GB'" controller --controller-config "$dir/etc/pg.conf"
	server_sql "$place" "UPDATE reeve_schema SET version = 2"
	finds "an old schema there" ledger warn "its schema has version 2" "systemctl restart reeve-controller" controller --controller-config "$dir/etc/pg.conf"
	server_sql "$place" "ALTER ROLE postgres SET statement_timeout = '30s'"
	finds "a setting that ends long queries" ledger warn "statement_timeout = 30000" "ALTER ROLE" controller --controller-config "$dir/etc/pg.conf"
	server_sql "$place" "ALTER ROLE postgres RESET statement_timeout"
	server_sql "$place" "ALTER SYSTEM SET full_page_writes = off" && server_sql "$place" "SELECT pg_reload_conf()" >/dev/null
	until_has off server_sql "$place" "SHOW full_page_writes"
	finds "a setting that a crash makes a damaged ledger of" ledger fail "full_page_writes = off" "ALTER SYSTEM RESET full_page_writes" controller --controller-config "$dir/etc/pg.conf"
	live_stop
	server_do stop
	finds "a server that does not run" ledger fail "PostgreSQL does not answer" "systemctl status postgresql" controller --controller-config "$dir/etc/pg.conf"
	live_start || bail "the controller does not come back"
}
postgres

# ---- a test job ----
finds "without --job none is run" job n/a "--job USER" "" node
finds "a test job of a user" job ok "a test job of daemon ran in its cgroup, and its output came back" "" node --job daemon --account physics
finds "one that is refused" job fail "ended with status" "reeve jobs -u bin" node --job bin --account physics
finds "one of a user who does not exist" job unchecked "there is no user no-such-user" "" node --job no-such-user
tap_end
