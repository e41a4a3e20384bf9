#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stray.sh - processes of a job's user outside every job: a user manager that lingers, at, a session's scope, a daemon that acts as the
# user. With StrayProcesses = note they are named, with kill they end, and those of jobs, of others and of exempt units go on. TAP.
#   tests/node/suite.sh escape/stray --with polkit
# Its image has polkit (packages_polkit.txt), by which a job may let its user linger where Reeve's rule is not installed. As for the suite ssh,
# the image is made once below REEVE_CACHE from a mirror of Debian.
. "$(dirname "$0")/node_lib.sh"
RES=ncpus=1,vmem=500MB,jobfs=20MB,walltime=0:20:00
CONF=/etc/reeve/agent.conf
node_start || { ok 1 "the node starts"; tap_end; }
systemctl start atd

set_mode() { # MODE [LINE]...
	sed -i '/^Stray/d' $CONF
	printf '%s\n' 'StrayExemptUnits = reeve-vm.service, site.service' "StrayProcesses = $1" >>$CONF
	systemctl reload reeve-agent
}
submit() { # USER COMMAND...: prints the job's number
	as "$1" reeve submit -N "$1" -o /dev/null -l $RES -- "${@:2}" | grep -oE '[0-9]+' | tail -n 1
}
runs() { as alice reeve job "$1" --json | grep -q '"state": *"running"'; }
lives() { pgrep -u "$1" -xf "(/usr/bin/)?sleep $2" >/dev/null; }
is_gone() { ! lives "$@"; }
starts() { # UNIT USER SECONDS: a unit of root's with this process of the user's
	systemd-run -q --unit="$1" -p User="$2" -- sleep "$3"
	wait_for 30 lives "$2" "$3" || echo "# $1.service has not started sleep $3"
}
at_now() { # USER SECONDS
	echo "exec sleep $2" | as "$1" at now 2>/dev/null
	wait_for 30 lives "$1" "$2" || echo "# at has not started sleep $2"
}
burner='while :; do date +%s.%N; done >/tmp/burn'
manager_of_alice() { [ -S /run/user/1001/systemd/private ]; }
burns() { pgrep -u alice -f '/tmp/burn|burner\.sh' >/dev/null; }
is_quenched() { ! burns; }
notes() { reeve-agent --status | grep '^note: stray: '; } # root's

job=$(submit alice sleep 5000)
wait_for 60 runs "$job"; ok $? "alice's job runs"

# ---- lingering, without and with Reeve's rule ----
in_job() { as alice reeve exec -j "$job" -- "$@" 2>&1; }
says() { reeve admin doctor node >/tmp/lines; grep -A 1 "^$1 *$2 " /tmp/lines; } # STATE CHECK
RULE=/usr/share/polkit-1/rules.d/50-reeve-linger.rules
in_job loginctl enable-linger alice >/tmp/refused
has "$(cat /tmp/refused)" 'Access denied|[Aa]uthentication required' "the rule refuses a job that would let its user linger"
[ ! -e /var/lib/systemd/linger/alice ]; ok $? "and alice does not linger"
has "$(says ok polkit)" 'polkit refuses' "doctor asks polkit" "$(cat /tmp/lines)"
units=/home/alice/.config/systemd/user
as alice mkdir -p $units/default.target.wants
echo "$burner" >/home/alice/burner.sh
printf '[Service]\nExecStart=/bin/sh /home/alice/burner.sh\n' | as alice tee $units/burner.service >/dev/null
as alice ln -s $units/burner.service $units/default.target.wants/
rm $RULE
lets() { says fail polkit | grep -q 'lets each user linger'; }
wait_for 20 lets; ok $? "without the rule doctor finds that" "$(cat /tmp/lines)"
mend=$(says fail polkit | sed -n 's/^ *mend: *//p')
in_job loginctl enable-linger alice >/tmp/refused; ok $? "then a job lets its user linger" "$(cat /tmp/refused)"
wait_for 30 manager_of_alice; ok $? "and there is a user manager outside the job"
bash -c "$mend"
refuses() { says ok polkit | grep -q refuses; }
wait_for 20 refuses; ok $? "the command that doctor names adds the rule" "$mend; $(cat /tmp/lines)"

# ---- note ----
wait_for 30 burns; ok $? "which runs the job's service, uncounted" "$(journalctl -n 20 --no-pager)"
at_now alice 7001
noted() { notes | grep -q user@1001.service && notes | grep -q atd.service; }
wait_for 30 noted
out=$(notes)
has "$out" 'user alice \(uid 1001\) has processes outside every job:.* user@1001\.service' "the agent names the user and the unit" "$out"
has "$out" 'outside every job:.* atd\.service' "and what at has started" "$out"
is_anonymous() { reeve nodes --json | grep -q 'users of jobs have processes outside every job'; }
wait_for 20 is_anonymous; ok $? "the node's notes say that there are some" "$(reeve nodes --json)"
! { reeve nodes --json; as bob reeve-agent --status; } | grep -E 'stray:.*(alice|1001)'; ok $? "but other users do not see whose they are"
of_job() { as alice reeve job "$job" | grep -q 'alice had processes outside every job on node n1: user@1001.service'; }
wait_for 30 of_job; ok $? "the job's record says it" "$(as alice reeve job "$job")"
reeve admin doctor node >/tmp/lines
has "$(grep '^warn *note' /tmp/lines)" 'stray: user alice .* user@1001\.service' "doctor names it" "$(cat /tmp/lines)"
sleep 5
[ "$(journalctl -u reeve-agent -o cat --no-pager | grep -c '^stray: user alice .*user@1001')" = 1 ]
ok $? "the journal says it once" "$(journalctl -u reeve-agent -o cat --no-pager | grep stray)"
burns && lives alice 7001; ok $? "nothing is killed"

# ---- kill ----
other=$(submit bob sleep 5000)
is_running_bob() { as bob reeve job "$other" --json | grep -q '"state": *"running"'; }
wait_for 60 is_running_bob
as alice reeve exec -j "$job" -- sleep 7002 &
wait_for 60 lives alice 7002; ok $? "a step of the job runs"
at_now carol 7003
starts site alice 7004
starts other alice 7005
systemd-run -q --scope --slice=user-1001.slice --uid=alice -- sleep 7006 &
wait_for 30 lives alice 7006
lives alice 7001 && lives carol 7003 && lives alice 7004 && lives alice 7005 && lives alice 7006 && burns
ok $? "outside the jobs run a service of hers, what at started, two daemons' processes and a session's" "$(ps -ef)"
set_mode kill
wait_for 10 is_quenched; ok $? "the burner ends" "$(ps -ef)"
wait_for 10 is_gone alice 7001; ok $? "what at has started ends"
wait_for 10 is_gone alice 7006; ok $? "so does what a session of hers runs"
wait_for 40 is_gone alice 7005; ok $? "and what another daemon runs as her, when it is 10 s old"
lives alice 7002 && lives alice 5000 && lives bob 5000; ok $? "the jobs and the step go on" "$(ps -ef)"
lives alice 7004; ok $? "so does what runs in one of StrayExemptUnits"
lives carol 7003; ok $? "and what a user without a job has"
has "$(notes)" 'user@1001\.service.*; they are killed' "the agent says that they are killed" "$(notes)"

# A process that forks and exits for ever has no id long enough to be killed by it.
in_slice() { # UNIT COMMAND: what a session of alice's would run
	systemd-run -q --unit="$1" --slice=user-1001.slice -p User=alice -p KillMode=none -p Type=forking -- sh -c "$2"
}
rm -f /tmp/burn
set_mode note
in_slice chain 'f() { date +%s.%N >>/tmp/chain; f & }; f &'
in_slice burner "{ $burner; } &"
has_both() { [ "$(wc -l </tmp/chain)" -gt 3 ] && [ "$(wc -l </tmp/burn)" -gt 3 ]; }
wait_for 20 has_both; ok $? "a chain of processes that fork and exit runs, and a burner" "$(ps -ef)"
set_mode kill
told=$(date +%s.%N)
is_over() { local n; n=$(wc -l </tmp/chain); sleep 1; [ "$n" = "$(wc -l </tmp/chain)" ] && is_quenched; }
wait_for 20 is_over; ok $? "the chain ends" "$(ps -ef)"
after() { awk -v told="$told" '{ last = $1 } END { printf "%.1f\n", last - told }' "$1"; }
echo "# after the reload the chain lasted $(after /tmp/chain) s, the burner $(after /tmp/burn) s"
awk -v a="$(after /tmp/chain)" -v b="$(after /tmp/burn)" 'BEGIN { exit !(a < 5 && b < 5) }'; ok $? "each within a moment"

# ---- ignore, and no job ----
set_mode ignore
gone() { [ -z "$(notes)" ]; }
wait_for 20 gone; ok $? "with StrayProcesses = ignore the notes go" "$(notes)"
at_now alice 7007
sleep 4
lives alice 7007; ok $? "and nothing is killed"
tap_end
