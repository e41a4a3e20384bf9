#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deb.sh VERSION NEXT - the packages of /srv/deb (VERSION) and /srv/deb-next (NEXT) on this node, as an administrator uses them: a job
# runs through an upgrade and the way back, its limit holds and every second of it is charged. TAP.
. "$(dirname "$0")/node_lib.sh"
version=$1 next=$2
packages='reeve reeve-agent reeve-controller reeve-slurm reeve-doc'
LIMITS=ncpus=1,vmem=200MB,jobfs=20MB,walltime=1:00:00
export DEBIAN_FRONTEND=noninteractive

field() { as alice reeve job "$1" --json | json "$2"; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
submit() { as alice reeve submit "$@" | grep -oE '[0-9]+' | tail -n 1; }
daemons() { systemctl show -P MainPID reeve-agent reeve-controller | grep -v '^$' | paste -sd' '; }
install_all() { dpkg -i "$1"/*.deb 2>&1; }
# node_has VERSION: both daemons run the programs that are installed now, which have this version, and know each other.
node_has() {
	local pid
	[ "$(reeve-agent --version) $(reeve-controller --version) $(reeve --version)" = "reeve-agent $1 reeve-controller $1 reeve $1" ] || return 1
	for pid in $(daemons); do [[ $(readlink "/proc/$pid/exe") == /usr/sbin/reeve-* && $(readlink "/proc/$pid/exe") != *deleted* ]] || return 1; done
	wait_for 60 node_is_up
}
# is_charged JOB: its charge is the time that it ran (of one core), and that is the time between its start and its end.
is_charged() {
	awk -v b="$(field "$1" started_ns)" -v e="$(field "$1" ended_ns)" -v r="$(field "$1" running_ns)" -v c="$(field "$1" charge_requested_ms)" \
		'BEGIN { d = (e - b - r) / 1e9; m = r / 1e6 - c; exit !(r > 0 && d > -0.5 && d < 0.5 && m > -1 && m < 1) }'
}

named_reeve() { find /etc /usr /run /var -xdev -name '*reeve*' ! -path '/var/lib/reeve*' ! -path '/var/log/*' | sort; }
before=$(named_reeve)

# ---- installed ----
out=$(install_all /srv/deb)
ok $? "five packages of $version are installed, with what they depend on" "$out"
[ "$(systemctl is-enabled reeve-agent reeve-controller reeve-slurm reeve-slurm-submit | sort -u)" = disabled ] && ! systemctl is-active -q reeve-agent
ok $? "nothing runs before it is configured" "$(systemctl is-enabled reeve-agent reeve-controller reeve-slurm)"
has "$(getent passwd reeve)" ':/var/lib/reeve-controller:' "the user reeve is there"
has "$(stat -c '%a %U' /run/reeve)" '^755 root$' "the agent's folder for sockets is there"
[ -s /etc/reeve/agent.conf ] && [ -s /etc/reeve/controller.conf ] && [ -s /etc/reeve/reeve.conf ] && [ -s /etc/reeve/reeve-slurm.conf ]
ok $? "the configuration is in /etc/reeve"
cp /usr/local/lib/reeve-tests/etc/* /etc/reeve/
systemctl enable -q --now munge reeve-controller reeve-agent && node_has "$version"
ok $? "configured and enabled, the node registers" "$(journalctl -n 30 --no-pager -u reeve-controller -u reeve-agent)"

# ---- upgraded while jobs run ----
long=$(submit -N long -o /dev/null -j oe -l "$LIMITS" -- "$LOAD" work 3400 16)
big=$(submit -N big -j oe -o /home/alice/big.out -l "$LIMITS" -- sh -c 'until [ -e /home/alice/go ]; do sleep 0.2; done; load map 400; echo not reached')
wait_for 60 state_is "$long" running && wait_for 60 state_is "$big" running
ok $? "two jobs run"
pid=$(pgrep -u alice -x load)
out=$(dpkg -r reeve-agent 2>&1)
[ $? != 0 ] && [[ $out == *"not removed: 2 jobs are on this node"* ]] && systemctl is-active -q reeve-agent
ok $? "the agent is not removed while jobs run, and runs on" "$out"
old=$(daemons)
out=$(install_all /srv/deb-next)
ok $? "an upgrade to $next while they run" "$out"
[ "$(daemons)" != "$old" ] && node_has "$next"
ok $? "agent and controller are those of $next" "$(journalctl -n 30 --no-pager -u reeve-controller -u reeve-agent)"
kill -0 "$pid" && state_is "$long" running && state_is "$big" running
ok $? "the jobs run on, with the same processes" "$(field "$long" line) $(field "$big" line)"
grep -q '^Controller = http://127.0.0.1:8640' /etc/reeve/agent.conf
ok $? "the configuration is the administrator's"
as alice touch /home/alice/go
wait_for 60 state_is "$big" ended
has "$(field "$big" line)" '^vmem limit exceeded on n1 .*requested 200 MB' "a limit set before the upgrade is held after it"
out=$(cat /home/alice/big.out)
has "$out" 'vmem limit exceeded' "the job's error file has the reason"
! grep -qx 'not reached' <<<"$out"
ok $? "and it was killed" "$out"

# ---- back by one version ----
old=$(daemons)
out=$(install_all /srv/deb)
ok $? "a downgrade to $version while a job runs" "$out"
[ "$(daemons)" != "$old" ] && node_has "$version"
ok $? "agent and controller are those of $version" "$(journalctl -n 30 --no-pager -u reeve-controller -u reeve-agent)"
kill -0 "$pid" && state_is "$long" running
ok $? "the job runs on" "$(field "$long" line)"
as alice reeve cancel "$long" >/dev/null
wait_for 60 state_is "$long" ended && is_charged "$long" && is_charged "$big"
ok $? "both jobs are charged for all of their time, once" "$(as alice reeve job "$long" --json; as alice reeve job "$big" --json)"
sum=$(($(field "$long" charge_requested_ms) + $(field "$big" charge_requested_ms)))
[ "$(as alice reeve usage --by account --json | json charge_requested_ms)" = $sum ]
ok $? "so is their account: $sum ms"

# ---- removed ----
refused() { # PACKAGE FILE LINE NAME: not while this file has this line
	mkdir -p "${2%/*}"
	echo "$3" >>"$2"
	out=$(dpkg -r "$1" 2>&1)
	[ $? != 0 ] && [[ $out == *"not removed: "*"$2"* ]]
	ok $? "$4" "$out"
	sed -i '$d' "$2"
}
refused reeve-agent /etc/pam.d/sshd 'account required pam_reeve.so' "the agent is not removed while logins need its module of PAM"
refused reeve-slurm /etc/slurm/plugstack.conf 'required reeve_spank.so' "reeve-slurm is not removed while Slurm's jobs need its plugin"
refused reeve-slurm /etc/slurm/job_submit.lua 'dofile("/usr/share/reeve/slurm/job_submit.lua")' "nor while its submissions need its script"
no_job() { reeve-agent --status | grep -q '^spool: 0 reports' && ! reeve-agent --status | grep -q '^job: '; }
wait_for 60 no_job
# shellcheck disable=SC2086
out=$(dpkg -r $packages 2>&1)
ok $? "without jobs the packages are removed" "$out"
! pgrep -f 'reeve-(agent|controller)' >/dev/null && ! systemctl cat reeve-agent >/dev/null 2>&1 && [ ! -e /usr/bin/reeve ] && [ ! -e /sys/fs/bpf/reeve ]
ok $? "no daemon, no unit, no program, nothing in the kernel" "$(pgrep -af reeve; ls /sys/fs/bpf)"
[ -s /var/lib/reeve-controller/ledger.db ] && [ -s /var/lib/reeve/agent.db ] && [ -s /etc/reeve/agent.conf ]
ok $? "ledger, state and configuration stay"
out=$(install_all /srv/deb) && systemctl enable -q --now reeve-controller reeve-agent && node_has "$version"
ok $? "installed again, the node registers as it was configured" "$out"
has "$(field "$big" line)" '^vmem limit exceeded' "and the ledger has its jobs"

# ---- purged ----
wait_for 60 no_job
# shellcheck disable=SC2086
out=$(dpkg -P $packages 2>&1)
ok $? "the packages are purged" "$out"
has "$out" 'the ledger stays: /var/lib/reeve-controller' "the ledger stays, with a message"
[ -s /var/lib/reeve-controller/ledger.db ]
ok $? "it is there"
has "$out" 'the disk of the jobs stays: /var/lib/reeve/jobfs' "so does the disk of the jobs, which is a file system of its own"
dpkg-query -W -f '${Status} ${Package}\n' 'reeve*' 2>/dev/null | grep -v 'unknown ok not-installed'
ok $((!$?)) "dpkg knows nothing of them any more"
left=$(comm -13 <(echo "$before") <(named_reeve))
[ -z "$left" ] && [ "$(find /var/lib/reeve -xdev -mindepth 1)" = /var/lib/reeve/jobfs ]
ok $? "nothing else of them is left" "$left $(find /var/lib/reeve -xdev)"
tap_end
