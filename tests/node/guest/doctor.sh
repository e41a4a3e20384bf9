#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1090,SC1091
# `reeve admin doctor` on a node that is also the controller's host: a healthy one has no finding that fails; what is broken is found, and the
# command that the finding names mends it. TAP.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
systemctl enable munge reeve-controller reeve-agent 2>/dev/null
echo root | tee /etc/cron.allow >/etc/at.allow

doctor() {
	reeve admin doctor "$@" >/tmp/lines 2>&1
	status=$?
}
all_of() { grep -A 1 -E "^$1 +$2 " /tmp/lines; } # STATE CHECK: with what mends it
remedy() { all_of "$1" "$2" | sed -n 's/^ *mend: *//p' | head -n 1; }

# ---- a healthy node ----
doctor
cp /tmp/lines /out/healthy.txt
ok $status "a healthy node and controller: exit status 0" "$(cat /tmp/lines)"
! grep -qE '^(fail|unchecked) ' /tmp/lines; ok $? "nothing failed, and everything was checked" "$(grep -E '^(fail|unchecked)' /tmp/lines)"
! grep -q '^warn ' /tmp/lines; ok $? "nor is there a warning" "$(grep -A 1 '^warn' /tmp/lines)"
has "$(reeve admin doctor --json)" '"kind": "node and controller"' "it finds out what the machine is"
has "$(all_of ok quota)" '(ext4|xfs)\): a file was stopped at the limit' "a file is stopped at the limit of its project"
is_empty=$(find /var/lib/reeve/jobfs -name '.reeve-doctor*')
[ -z "$is_empty" ]; ok $? "the test of the quota leaves nothing behind" "$is_empty"
has "$(all_of ok tier)" 'tier 1' "the tier that the agent found"
has "$(all_of ok signature)" 'decodes what the controller signs' "munge in both directions"
has "$(all_of ok ledger)" 'consistent' "the ledger while the controller writes it"
doctor node --job alice --account physics
has "$(all_of ok job)" 'ran in its cgroup, and its output came back' "a test job from submission to output"
runuser -u alice -- reeve admin doctor >/tmp/lines 2>&1
has "$(grep '^unchecked' /tmp/lines)" 'this needs root' "a user sees which checks need root"

# ---- broken, found, mended ----
loginctl enable-linger alice
wait_for 10 test -d /sys/fs/cgroup/user.slice/user-1000.slice
doctor node
has "$(all_of fail linger)" 'user alice .* lingers' "a user who lingers is found" "$(cat /tmp/lines)"
ok $((status != 1)) "exit status 1"
bash -c "$(remedy fail linger)" >/dev/null 2>&1
wait_for 15 sh -c '! ls -d /sys/fs/cgroup/user.slice/user-*.slice/user@1*.service'
doctor node
has "$(all_of ok linger)" 'no user lingers' "the command that it names ends that" "$(cat /tmp/lines)"

chmod 755 /var/lib/reeve
doctor node
has "$(all_of fail modes)" '/var/lib/reeve has mode 0755' "an open state directory is found"
bash -c "$(remedy fail modes)"
doctor node
has "$(all_of ok modes)" 'owners and modes' "the command that it names closes it"

systemctl stop munge
doctor node
has "$(all_of fail munge)" 'munged cannot be reached' "a munged that was stopped is found"
bash -c "$(remedy fail munge)" 2>/dev/null
doctor node
has "$(all_of ok munge)" 'decodes them' "the command that it names starts it"

systemctl stop reeve-agent
doctor node
has "$(all_of fail unit)" 'reeve-agent.service is inactive' "an agent that was stopped is found"
has "$(all_of fail agent)" 'does not answer' "and that there is no answer on the bus"
has "$(all_of unchecked tier)" 'does not answer' "then the tier is not known"
bash -c "$(remedy fail unit)"
wait_for 30 node_is_up
doctor node
has "$(all_of ok agent)" 'answers' "the command that it names starts it" "$(cat /tmp/lines)"

systemctl disable reeve-agent 2>/dev/null
doctor
has "$(all_of warn unit)" 'does not start at the next boot' "a unit that is not enabled is found"
ok $status "a warning alone: exit status 0"
reeve admin doctor --strict >/dev/null
ok $(($? != 1)) "with --strict 1"

sed 's,^\[Agent\],&\nJobfsDirectory = /root/plain,' /etc/reeve/agent.conf >/root/agent.conf
mkdir -p /root/plain
doctor node --agent-config /root/agent.conf
has "$(all_of fail quota)" '/root/plain .* takes no project and limit' "a disk without project quotas is found" "$(cat /tmp/lines)"
tap_end
