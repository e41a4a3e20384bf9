#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# input.sh - bad input: a clear error that says what and how to mend it; nothing left behind.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
GOOD=ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00
ended() { as alice reeve job "$1" --json | grep -q '"state": *"ended"'; }

refused() { # PATTERN NAME ARGS...: reeve submit ARGS fails with these words, in one breath
	local pattern=$1 name=$2 out rc
	shift 2
	out=$(as alice reeve submit "$@" 2>&1); rc=$?
	[ $rc -ne 0 ] && grep -qiE -- "$pattern" <<<"$out"
	ok $? "$name: $(head -n 1 <<<"$out")" "exit $rc: $out"
}
refused "unknown resource 'cores'" "unknown resource" -l cores=4 -- true
refused "unit" "bad unit" -l vmem=2GX -- true
refused "at least 1" "zero" -l ncpus=0 -- true
refused "whole number" "negative" -l ncpus=-4 -- true
refused "too large|whole number" "overflow" -l vmem=99999999999999999999GB -- true
refused "largest|at most" "larger than any node" -l ncpus=1000,vmem=100MB,jobfs=10MB,walltime=60 -- true
refused "largest|at most" "more memory than any node" -l ncpus=1,vmem=100TB,jobfs=10MB,walltime=60 -- true
refused "walltime" "a resource not stated" -l ncpus=1,vmem=100MB,jobfs=10MB -- true
refused "account" "unknown account" -A nonsense -l $GOOD -- true
refused "account" "an account of others" -A biology -l $GOOD -- true
printf '#!/bin/sh\r\n#REEVE -l ncpus=1\r\ntrue\r\n' >/tmp/crlf.sh
printf '#!/bin/sh\necho \0\n' >/tmp/nul.sh
chmod 644 /tmp/crlf.sh /tmp/nul.sh
refused "line 1.*CR LF.*sed" "a script with CRLF" -l $GOOD /tmp/crlf.sh
refused "line 2.*NUL" "a script with NUL" -l $GOOD /tmp/nul.sh
refused "no such file" "a script that is not there" -l $GOOD /tmp/not-there.sh
out=$(runuser -u daemon -- reeve submit -l $GOOD -- true 2>&1); has "$out" "account" "a user without any account"

ends_with() { # PATTERN NAME ARGS...
	local pattern=$1 name=$2 id
	shift 2
	id=$(as alice reeve submit "$@" | grep -oE '[0-9]+' | tail -n 1)
	wait_for 60 ended "$id"
	has "$(as alice reeve job "$id" --json | json line)" "$pattern" "$name"
}
ends_with "could not be started.*/home/nowhere" "a missing working directory" -d /home/nowhere -l $GOOD -- true
letters=$(printf 'Ж%.0s' $(seq 120))
for dir in "/$letters" "/x$letters"; do
	ends_with "could not be started.*(\\\\u0416|Ж){3}" "one of ${#letters} letters of two bytes" -d "$dir" -l $GOOD -- true
done
ends_with "could not be started.*(/root/x|ermission)" "an unwritable output file" -o /root/x -l $GOOD -- true
ends_with "could not be started.*no-such-command" "a command that is not there" -l $GOOD -- no-such-command

id=$(as alice reeve submit -o /dev/null -j oe -l "${GOOD/0:01:00/0:10:00}" -- sleep 600 | grep -oE '[0-9]+' | tail -n 1)
for verb in cancel suspend resume; do
	out=$(as bob reeve $verb "$id" 2>&1); rc=$?
	[ $rc -ne 0 ]; ok $? "another user cannot $verb it: $out"
done
out=$(as bob reeve job "$id" 2>&1); rc=$?; [ $rc -ne 0 ]; ok $? "another user does not see it: $out"
[ -z "$(as bob reeve jobs -a --json | grep '"job"')" ]; ok $? "nor in the list"
out=$(as alice reeve job 999999 2>&1); [ $? -eq 4 ]; ok $? "a job that does not exist is 'not found' too: $out"
out=$(as alice reeve cancel "$id" 2>&1); ok $? "its owner can: $out"

# A process whose name is no text does what is refused: that is noted, and the job ends like any other.
noted() { # PATTERN NAME ARGS...
	local pattern=$1 name=$2 id
	shift 2
	id=$(as alice reeve submit -o /dev/null -j oe "$@" | grep -oE '[0-9]+' | tail -n 1)
	wait_for 60 ended "$id"; ok $? "$name: the job ends" "$(as alice reeve job "$id" --json)"
	has "$(as alice reeve job "$id" --json | json note)" "$pattern" "$name: it is noted"
}
noted 'process [0-9]+ \(\?\?\) tried to change the project id' "a name of other bytes, and a project id" \
	-l $GOOD -- env ESCAPE_AS_BYTES=1 escape projid
noted 'process [0-9]+ \(\?\?\) refused with ENOMEM' "a name of other bytes, and too much memory under enomem" \
	--vmem-action enomem -l $GOOD -- env ESCAPE_AS_BYTES=1 escape map 500
all_free() { reeve nodes --json | grep -q '"ncpus_free": 4,'; }
wait_for 20 all_free; ok $? "all cores are free after that" "$(reeve nodes --json)"

# The controller away: the job runs on, the spool keeps its reports.
id=$(as alice reeve submit -o /dev/null -j oe -l $GOOD -- sleep 6 | grep -oE '[0-9]+' | tail -n 1)
running() { as alice reeve job "$id" --json | grep -q '"state": *"running"'; }
wait_for 30 running
systemctl stop reeve-controller
out=$(as alice reeve jobs 2>&1); rc=$?
[ $rc -eq 3 ]; ok $? "controller unreachable: exit 3: $out"
sleep 8
systemctl start reeve-controller
wait_for 90 ended "$id"; ok $? "the job went on and its end arrived afterwards"
has "$(as alice reeve job "$id" --json | json line)" "exit status 0" "it ended well meanwhile"
# ---- a controller that was taken over ----
# What runs is what its user signed. Here an attacker controls the ledger and changes its content.
lie() { sql /var/lib/reeve-controller/ledger.db "$@"; }
line() { as alice reeve job "$1" --json | json line; }
declare -a names words numbers
held() { # OPTION...: sets $id, a job of alice's that waits, and says in ran-ID that it ran
	id=$(as alice reeve submit -h -N lie -A physics -o /dev/null -j oe --env WHO=alice -l $GOOD "$@" -- \
		sh -c 'echo $WHO >ran-$REEVE_JOB' | grep -oE '[0-9]+' | tail -n 1)
}
change() { # NAME PATTERN STATEMENT: after this the job is to be refused with these words
	held
	names+=("$1") words+=("$2") numbers+=("$id")
	lie "${3//JOB/$id}" || ok 1 "the ledger is changed: $3"
}
request() { change "$1" "$2" "UPDATE jobs SET request = json_set(request, '\$.$3', $4) WHERE job = JOB"; }
held
credential=$(lie "SELECT credential FROM credentials WHERE job = $id")
as alice reeve release "$id" >/dev/null && wait_for 90 ended "$id"
[ "$(cat "/home/alice/ran-$id")" = alice ]; ok $? "what its user signed runs"
is_gone=$(lie "SELECT COUNT(*) FROM credentials WHERE job = $id"); [ "$is_gone" = 0 ]; ok $? "and its credential is not kept beyond its end"
unmunge -m /dev/null -o /dev/null <<<"$credential" 2>/dev/null; rc=$?
[ $rc -eq 15 ] || [ $rc -eq 17 ]; ok $? "root reads it, but for having been read or being old: $rc"
runuser -u reeve -- unmunge -m /dev/null -o /dev/null <<<"$credential" 2>/dev/null; rc=$?
[ $rc -eq 18 ]; ok $? "the controller cannot read it: $rc"
request "another command" "its command is not what its user signed" 'argv[2]' "'id >/home/alice/ran-evil'"
request "another environment" "its environment is not what its user signed" 'env[0]' "'LD_PRELOAD=/tmp/evil.so'"
request "another directory" "its working directory is not what" workdir "'/root'"
request "another output file" "an output file is not what" out_path "'/home/alice/.bashrc'"
request "another account" "the account that is charged is not what" account "'biology'"
request "another user" "uid 1001 signed it, and not uid 1002" uid 1002
request "root" "uid 1001 signed it, and not uid 0" uid 0
request "more cores than asked for" "its ncpus, 2, is more than the 1 that its user signed" resources.ncpus 2
change "a second run" "attempt 2 of it is not what its user signed" "UPDATE jobs SET attempt = 1 WHERE job = JOB"
change "no signature" "starts no job without its user's signature" "DELETE FROM credentials WHERE job = JOB"
change "a signature that is none" "signature is not good on node" "UPDATE credentials SET credential = 'MUNGE:AwQFAAC:' WHERE job = JOB"
change "what she signed of another job" "signature has started job [0-9]+ on node" "UPDATE credentials SET credential = '$credential' WHERE job = JOB"
for id in "${numbers[@]}"; do as alice reeve release "$id" >/dev/null; done
for i in "${!names[@]}"; do
	id=${numbers[i]}
	wait_for 90 ended "$id"; ok $? "${names[i]}: the job ends"
	has "$(line "$id")" "${words[i]}" "... with the reason: $(line "$id")"
	[ ! -e "/home/alice/ran-$id" ]; ok $? "... and did not run"
done
[ ! -e /home/alice/ran-evil ]; ok $? "nothing else ran either"

id=$(as alice reeve submit -o /dev/null -j oe -l "${GOOD/0:01:00/0:10:00}" -- sleep 600 | grep -oE '[0-9]+' | tail -n 1)
wait_for 30 running
out=$(as alice reeve exec -j "$id" -- echo signed 2>&1); has "$out" '^signed$' "a step that its user signed runs"
lie "CREATE TRIGGER lie AFTER INSERT ON texts BEGIN UPDATE texts SET text = replace(text, '\"signed\"', '\"evil\"')
	WHERE id = new.id; END"
out=$(as alice reeve exec -j "$id" -- echo signed 2>&1); rc=$?
has "$out" "its command is not what its user signed" "a step with another command does not"
[ $rc -eq 125 ]; ok $? "... and was not started: $rc"
lie "DROP TRIGGER lie"
sed -i '/^\[Agent\]/a RefusedGroups = alice' /etc/reeve/agent.conf
systemctl restart reeve-agent
out=$(as alice reeve exec -j "$id" -- echo signed 2>&1); has "$out" "gid 1001 is one of this node's RefusedGroups" "whom the node refuses, it refuses also in a job that runs"
as alice reeve cancel "$id" >/dev/null
sed -i 's/^RefusedGroups.*/MinUid = 2000/' /etc/reeve/agent.conf
systemctl restart reeve-agent
wait_for 60 node_is_up
held && as alice reeve release "$id" >/dev/null && wait_for 90 ended "$id"
has "$(line "$id")" "uid 1001 is below this node's MinUid, 2000" "users below MinUid are refused: $(line "$id")"
[ ! -e "/home/alice/ran-$id" ]; ok $? "... and did not run"
systemctl list-units --all 'reeve-job-*' --no-legend | grep -q .; ok $((!$?)) "no unit is left"
tap_end
