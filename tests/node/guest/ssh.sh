#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ssh.sh - ssh to a node as docs/operation.md sets it up: into the user's job, or not at all: a real
# sshd and pam_reeve, and a terminal, sftp and a limit through them. TAP.
#   tests/node/suite.sh ssh --with ssh
# It needs what the other suites of virtual nodes need (qemu, 2 GB of memory; KVM makes it quicker), and an
# image of its own with sshd and ssh (packages_ssh.txt), which is made once below REEVE_CACHE from a mirror
# of Debian: without that it is no part of `make check`. Then it takes one to three minutes.
. "$(dirname "$0")/node_lib.sh"
RES=ncpus=1,vmem=500MB,jobfs=20MB,walltime=0:05:00
node_start || { ok 1 "the node starts"; tap_end; }

sed -i -e '/^@include common-account/a account required pam_reeve.so exempt=admins' \
	-e '/^@include common-session/i session [success=done ignore=ignore default=die] pam_reeve.so exempt=admins' \
	/etc/pam.d/sshd
groupadd -f admins
for u in root alice; do
	home=$(getent passwd $u | cut -d: -f6)
	install -d -m 700 -o $u "$home/.ssh"
	[ -e "$home/.ssh/id_ed25519" ] || runuser -u $u -- ssh-keygen -q -t ed25519 -N '' -f "$home/.ssh/id_ed25519"
	install -m 600 -o $u "$home/.ssh/id_ed25519.pub" "$home/.ssh/authorized_keys"
done
ssh-keygen -A >/dev/null
systemctl restart ssh
visit() { # USER COMMAND...
	local user=$1
	shift
	runuser -u "$user" -- timeout 100 ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o LogLevel=INFO "$user@127.0.0.1" "$@" 2>&1
}
wait_for 60 visit root true; ok $? "root comes in" "$(visit root true)"
out=$(visit alice echo begun)
[[ $out == *'no job of yours runs on this node'* && $out != *begun* ]]
ok $? "a user without a job does not, and reads why" "$out"
as alice reeve submit -N visited -o /dev/null -l $RES -- sh -c 'ipcmk -M 1000000; touch /tmp/of-job; sleep 1000' >/tmp/out.$$
visited=$(grep -oE '[0-9]+' /tmp/out.$$ | tail -n 1)
sees_job() { visit alice ls /tmp | grep -q of-job; }
wait_for 60 sees_job; ok $? "with a job the session begins, in its view" "$(visit alice ls /tmp)"
out=$(visit alice 'cat /proc/self/cgroup; ipcs -m; grep NoNewPrivs /proc/self/status; echo job=$REEVE_JOB; pgrep -u alice -a systemd')
has "$out" "reeve-job-$visited-1.service/work" "in its cgroup" "$out"
has "$out" ' 1000000 ' "with its shared memory" "$out"
has "$out" 'NoNewPrivs:.*1' "gaining nothing by set-uid programs"
has "$out" "job=$visited" "and its environment names the job"
! loginctl list-sessions --no-legend | grep -q alice && ! systemctl is-active -q user@1001
ok $? "nothing is started for the user outside the job" "$(loginctl list-sessions; systemctl status user@1001)"
out=$(visit alice -tt 'tty; echo begun')
has "$(tr -d "\r" <<<"$out" | tr "\n" " ")" "/dev/pts/.*begun" "a terminal works"
echo 'get /etc/hostname /tmp/got' >/tmp/batch
runuser -u alice -- sftp -q -b /tmp/batch -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null alice@127.0.0.1 >/tmp/sftp 2>&1
cmp -s /etc/hostname /tmp/got; ok $? "sftp works" "$(cat /tmp/sftp)"
begun=$(for _ in 1 2 3 4; do systemctl restart --no-block reeve-agent; visit alice echo begun; sleep 1; done)
[ "$(grep -cx begun <<<"$begun")" = 4 ]; ok $? "a session that begins while the agent is restarted waits for it" "$begun"
visit alice sleep 86390 >/dev/null &
wait_for 30 pgrep -u alice -xf 'sleep 86390'
out=$(visit alice load map 600)
is_over() { as alice reeve job "$1" --json | grep -q '"state": *"ended"'; }
wait_for 60 is_over "$visited"
has "$(as alice reeve job "$visited")" "vmem limit exceeded" "what it maps counts as the job's" "$out"
sleep 1; pgrep -u alice -xf 'sleep 86390' >/dev/null; ok $((!$?)) "sessions end with the job"
out=$(visit alice echo begun)
[[ $out != *begun* ]]; ok $? "then none begins any more" "$out"

# A job whose only process has made namespaces of its own, as its user may.
as alice reeve submit -N hidden -o /dev/null -l $RES -- unshare -Urmi sleep 86391 >/tmp/out.$$
hidden=$(grep -oE '[0-9]+' /tmp/out.$$ | tail -n 1)
wait_for 60 pgrep -u alice -xf 'sleep 86391'
systemctl kill -s KILL reeve-agent
out=$(visit alice 'for d in /tmp /var/tmp /dev/shm; do echo session >$d/of-session; done; ipcmk -M 1234000; readlink /proc/self/ns/mnt /proc/self/ns/ipc')
disk=/var/lib/reeve/jobfs/$hidden-1
[ -e "$disk/tmp/of-session" ] && [ -e "$disk/vartmp/of-session" ] && [ ! -e /tmp/of-session ] && [ ! -e /var/tmp/of-session ]
ok $? "its session sees the /tmp and /var/tmp of the job, also after the agent was killed" "$out $(ls "$disk"/*)"
[ ! -e /dev/shm/of-session ] && ! ipcs -m | grep -qw 1234000; ok $? "and its shared memory" "$(ls /dev/shm; ipcs -m)"
systemctl restart reeve-agent
has "$(visit alice 'cat /var/tmp/of-session /dev/shm/of-session; ipcs -m' | tr '\n' ' ')" 'session session .* 1234000 ' \
	"so does another, after the agent was restarted"
out=$(visit alice 'dd if=/dev/zero of=/var/tmp/much bs=1M count=60')
wait_for 60 is_over "$hidden"
has "$(as alice reeve job "$hidden")" "jobfs limit exceeded" "what it writes to /var/tmp counts as the job's" "$out"
is_clean() { [ ! -e "$disk" ] && [ ! -e /var/tmp/much ]; }
wait_for 30 is_clean; ok $? "and is gone after the end" "$(ls -l /var/tmp "$disk")"
tap_end
