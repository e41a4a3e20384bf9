#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pbs_nodes.sh NUMBER NODES - jobs of PBS that use several nodes: n1 has Reeve's controller and the job's script, each node an agent and a fake of
# pbs_mom (tests/node/pbs). They are held on each of their nodes, end on all, and are one job in the ledger. TAP (of n1).
#   tests/node/suite.sh pbs_nodes --nodes 2 --with pbs
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/pbs_lib.sh"
address=10.77.0.$1

hostname "n$1"
echo 127.0.0.1 localhost >/etc/hosts
for i in 1 2; do echo "10.77.0.$i n$i" >>/etc/hosts; done
printf '[Match]\nType=ether\n[Network]\nAddress=%s/24\n' "$address" >/etc/systemd/network/host.network
install -o munge -g munge -m 400 /usr/local/lib/reeve-tests/munge.key /etc/munge/munge.key
has_address() { grep -qwF "$address" /proc/net/fib_trie; }
systemctl restart systemd-networkd munge
wait_for 20 has_address || { ok 1 "n$1 has its address" "$(networkctl status)"; tap_end; }
pbs_configure "n$1" n1
site '{"max_vmem": "1gb", "default_vmem": "500mb", "max_jobfs": "1gb"}'
if [ "$1" != 1 ]; then
	systemd-sysusers >/dev/null 2>&1
	systemd-tmpfiles --create >/dev/null 2>&1
	systemctl daemon-reload
	systemctl reload dbus 2>/dev/null
	systemctl start reeve-agent
	echo "n$1: agent $(systemctl is-active reeve-agent)"
	mom serve &
	exec journalctl -f -n all -o cat -u reeve-agent
fi
sed -i 's/^Listen = .*/Listen = 0.0.0.0:8640/' /etc/reeve/controller.conf
node_start || { ok 1 "n1 starts"; tap_end; }
both_up() { [ "$(reeve nodes --json | grep -c '"state": *"up"')" = 2 ]; }
wait_for 150 both_up; ok $? "two nodes are up" "$(reeve nodes)"
has_mom() { mom at n2 periodic; }
wait_for 60 has_mom; ok $? "both have a fake of pbs_mom"
echo "# hooks are run by fake_pbs_python and fake_pbs_mom: a fake of PBS"

number=100
chunks='(n1:ncpus=1:vmem=200mb)+(n2:ncpus=2:vmem=400mb)'
options=(-l ncpus=3 -l vmem=600mb -x "$chunks")
script() { # FILE <<< SCRIPT
	cat >"$1"
	chmod 755 "$1"
}
both_run() { [ "$(reeve job "nci:$job" --json | grep -c '"state": *"running"')" -ge 3 ]; } # the job and its parts
all_ended() { [ "$(reeve job "nci:$job" --json | grep -o '"state": *"[a-z]*"' | sort -u)" = '"state": "ended"' ]; }
# begin FIRST SECOND: a job with these scripts on n1 and n2, in the background; $job.
begin() {
	number=$((number + 1))
	job=$number
	script /tmp/first <<<"$1"
	script /tmp/second <<<"$2"
	mom job "$job.head" "${options[@]}" /tmp/first >/tmp/first.out 2>&1 &
	first=$!
	wait_for 20 begins "$job"
	mom at n2 task "$job.head" -s "${options[@]}" /tmp/second >/tmp/second.out 2>&1 &
	second=$!
}
# finish: when it ends on n1, pbs_mom there ends it on n2; $out.
finish() {
	wait $first
	out=$(cat /tmp/first.out)
	mom at n2 end "$job.head"
	wait $second
	wait_for 60 all_ended
}

# ---- within its limits ----
begin 'load map 60; sleep 25; echo first ends' 'load map 250; sleep 3; echo second ends'
wait_for 30 both_run; ok $? "a job runs on two nodes" "$(reeve job "nci:$job")"
finish
has "$out" 'first ends' "its script ends" "$out"
has "$(cat /tmp/second.out)" 'second ends' "so does its task on the other node, with more memory than the first node's chunk has" "$(cat /tmp/second.out)"
law "in the ledger it is one job with a part on each" "[p['node'] for p in j['parts']] == ['n1', 'n2']"
law "each with the cores and the limit of its chunk" "[(p['ncpus'], p['vmem_bytes'] >> 20) for p in j['parts']] == [(1, 200), (2, 400)]"
law "and with what ran there" "j['parts'][0]['usage']['vmem_peak_bytes'] > 60e6 and j['parts'][1]['usage']['vmem_peak_bytes'] > 250e6"
law "the cores of both are charged for the time of the first" "q['ncpus'] == 3 and abs(j['charge_requested_ms'] * 1000000 - j['running_ns'] * 3) < 3e6"
law "its end is that of its script" "j['end']['kind'] == 'exited' and j['end']['exit_status'] == 0"

# ---- each node has its own limit ----
begin 'sleep 100; echo not reached' 'load map 500; sleep 5; echo not reached'
finish
law "a task on the second node exceeds its limit: that is the job's end" "j['end']['kind'] == 'limit' and j['end']['reason']['host'] == 'n2' and j['end']['reason']['requested'] == 400 << 20"
! grep -qx 'not reached' <<<"$out"; ok $? "the controller's desired state ends the job on the first node" "$out"
has "$out" '^reeve: .*vmem limit exceeded on n2' "and the job's error file there says why" "$out"
begin 'load map 300; sleep 5; echo not reached' 'sleep 100; echo not reached'
finish
law "the first node exceeds its limit" "j['end']['kind'] == 'limit' and j['end']['reason']['host'] == 'n1' and j['end']['reason']['requested'] == 200 << 20"
! grep -qx 'not reached' /tmp/second.out; ok $? "the job ends on the second node, by its epilogue there" "$(cat /tmp/second.out)"

# ---- an end that no limit made ----
begin 'sleep 100; echo not reached' 'sleep 100; echo not reached'
wait_for 30 both_run
as alice reeve cancel "nci:$job" >/dev/null
finish
! grep -qx 'not reached' /tmp/first.out /tmp/second.out; ok $? "reeve cancel ends the job on both nodes" "$(cat /tmp/first.out /tmp/second.out)"
law "as cancelled" "j['end']['kind'] == 'cancelled' and all(p['state'] == 'ended' for p in j['parts'])"
begin 'sleep 30; echo first ends' 'sleep 25; echo second ends'
wait_for 30 both_run
mom suspend "$job.head"; mom at n2 suspend "$job.head"
sleep 10
mom resume "$job.head"; mom at n2 resume "$job.head"
finish
law "time in which PBS has suspended the job on its nodes is free" "j['suspended_ns'] > 9e9 and all(p['suspended_ns'] > 9e9 for p in j['parts'])"
law "only the rest is charged" "abs(j['charge_requested_ms'] * 1000000 - j['running_ns'] * 3) < 3e6"
tap_end
