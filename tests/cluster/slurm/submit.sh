#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# submit.sh - a real slurmctld with Reeve's job_submit.lua, reeve-slurm-submit and a controller: quotas and limits decide when a job is
# submitted or changed; and slurmctld never waits longer than its limit. Needs root, munged, slurmctld and build/bin;
# uses loopback only and leaves nothing behind. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurmctld_lib.sh
export TZ=UTC LC_ALL=C PATH=$PATH:/usr/sbin
[ -e build/lib/reeve_lua.so ] || { skip "submission to Slurm" "needs liblua5.1-0-dev when Reeve is built"; tap_end; }
for tool in slurmctld sbatch munged; do
	command -v $tool >/dev/null || { skip "submission to Slurm" "needs $tool"; tap_end; }
done
live_dir slurm-submit
live_munge

year=$(date +%Y)
accounts() { # AMOUNT
	printf '[Account physics]\nUsers = daemon, bin\n[Allocation physics/%s]\nKind = grant\nAmount = %s\nFrom = %s-01-01\nTo = %s-01-01\n' \
		"$year" "$1" "$((year - 1))" "$((year + 2))"
	printf '[Account far]\nUsers = daemon\nClusters = elsewhere\n'
	printf '[Account limited]\nUsers = daemon\nMaxRunningCores = 8\n[Allocation limited/%s]\nKind = grant\nAmount = 1000\nFrom = %s-01-01\nTo = %s-01-01\n' \
		"$year" "$((year - 1))" "$((year + 2))"
}
beyond=refuse declared=slurm
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Policy]
		Quota = grant
		GrantBeyond = $beyond
		[Cluster vc]
		Engine = slurm
		Accounts = $declared
		Unit = service-units
		Queues = main,express,bonus
		[Queue express]
		Factor = 3
		[Queue bonus]
		Factor = 0
	CONF
}
live_open configure
revision=0
apply() { # accounts from standard input
	local text
	text=$(sed 's/"/\\"/g' | sed ':a;N;$!ba;s/\n/\\n/g')
	ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":$revision,\"text\":\"$text\\n\"}"
	revision=$((revision + 1))
}
has "accounts are declared" 200 "$(accounts 100 | apply)"

# ---- the program beside slurmctld ----
submitter=
sock=$dir/run/submit.sock
mkdir "$dir/run" && chown slurm "$dir/run"
submit_config() {
	printf '%s\n' '[Slurm]' 'Cluster = vc' "Controller = $url" 'ControllerUser = root' "MungeSocket = $dir/munge.sock" \
		"SubmitSocket = $sock" >"$dir/reeve-slurm.conf"
	chmod 644 "$dir/reeve-slurm.conf"
}
submit_start() {
	local before
	before=$(grep -c "answers at" "$dir/submit.log" 2>/dev/null)
	setpriv --reuid slurm --regid slurm --clear-groups build/bin/reeve-slurm-submit --config "$dir/reeve-slurm.conf" 2>>"$dir/submit.log" &
	submitter=$!
	for _ in $(seq 500); do [ "$(grep -c "answers at" "$dir/submit.log")" != "${before:-0}" ] && return; sleep 0.02; done
	bail "reeve-slurm-submit does not start: $(cat "$dir/submit.log")"
}
submit_stop() {
	kill -CONT "$submitter" 2>/dev/null
	live_end_pid "$submitter"
	rm -f "$sock"
}
submit_config
submit_start
cp slurm/lua/job_submit.lua "$dir/reeve.lua"
cp build/lib/reeve_lua.so "$dir/"
printf 'package.cpath = "%s/?.so"\ndofile("%s/reeve.lua")\nreeve.socket = "%s"\nreeve.pause_s = 2\n' "$dir" "$dir" "$sock" >"$dir/job_submit.lua"
chmod 644 "$dir"/*.lua
slurmctld_open JobSubmitPlugins=lua 'PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP' \
	'PartitionName=express Nodes=ALL State=UP' 'PartitionName=bonus Nodes=ALL State=UP' 'PartitionName=strange Nodes=ALL State=UP'

batch() { # UID OPTION...
	local uid=$1
	shift
	(cd / && as "$uid" sbatch -o /dev/null --wrap true "$@" 2>&1)
}
field() { scontrol show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
number() { grep -o '[0-9]*$' <<<"$1"; }
ms() { date +%s%3N; }
printf '%s\n' '[Slurm]' 'Cluster = vc' "Controller = $url" 'ControllerUser = root' "MungeSocket = $dir/munge.sock" \
	"SlurmConf = $dir/slurm.conf" >"$dir/follow.conf"
chmod 644 "$dir/follow.conf"
look() { # reeve-slurm lists the jobs that wait
	setpriv --reuid slurm --regid slurm --clear-groups build/bin/reeve-slurm --config "$dir/follow.conf" --task priority --once 2>"$dir/look.log" ||
		bail "reeve-slurm cannot look: $(cat "$dir/look.log")"
}
look

# ---- decisions ----
out=$(batch $daemon -A physics -n 16 -t 6:00:00)
has "a job within the grant is submitted" "Submitted batch job" "$out"
has "it counts at once" "the job reserves 5 SU, and account 'physics' has 4 of its grant available" "$(batch $daemon -A physics -n 1 -t 5:00:00)"
look
has "and once where it is listed" "has 4 of its grant available" "$(batch $daemon -A physics -n 1 -t 5:00:00)"
scancel "$(number "$out")"
look
out=$(batch $daemon -A physics -n 16 -t 6:30:00)
has "one beyond it is refused: what, and the number" \
	"reeve: the job reserves 104 SU, and account 'physics' has 100 of its grant available" "$out"
has "and what to do" "ask for less walltime or fewer cores" "$out"
lacks "it is not submitted" "Submitted" "$out"
has "the factor of the partition counts" "the job reserves 144 SU" "$(batch $daemon -A physics -p express -n 16 -t 3:00:00)"
has "each of several partitions counts" "the job reserves 144 SU" "$(batch $daemon -A physics -p bonus,express -n 16 -t 3:00:00)"
has "without charge there is nothing to cover" "Submitted" "$(batch $daemon -A physics -p bonus -n 64 -t 99:00:00)"
has "the default walltime of the partition counts" "reserves 101 SU" "$(batch $daemon -A physics --exclusive=user -n 101 -p main 2>&1)"
has "the tasks of an array count" "reserves 110 SU" "$(batch $daemon -A physics -n 1 -t 10:00 --array=0-399,500-759%5)"
has "tasks times cores count" "reserves 112 SU" "$(batch $daemon -A physics -n 7 -c 16 -t 60)"
has "an unlimited job is judged by a year" "reserves 8784 SU" "$(batch $daemon -A physics -t UNLIMITED 2>&1)"
has "an account of another cluster" "account 'far' is not for cluster 'vc'; it is for: elsewhere: name another with -A" "$(batch $daemon -A far)"
has "a limit that the job exceeds by itself" "8" "$(batch $daemon -A limited -n 16 -t 1)"
has "an account unknown to Reeve is Slurm's business" "Submitted" "$(batch $daemon -A ghost -n 64 -t 100:00:00)"
has "so is a partition: it counts as the default one" "reserves 112 SU" "$(batch $daemon -A physics -p strange -n 16 -t 7:00:00)"
out=$(batch 0 -A physics -n 64 -t 100:00:00)
has "jobs of root are not checked" "Submitted" "$out"
look
has "but count" "has -6300 of its grant available" "$(batch $daemon -A physics -n 1 -t 1)"
scancel "$(number "$out")"
look
has "salloc is asked about like sbatch" "reserves 112 SU" "$(as $daemon timeout 5 salloc --immediate=1 -A physics -n 16 -t 7:00:00 true 2>&1)"

# ---- changes ----
job=$(number "$(batch $daemon -H -A physics -n 16 -t 6:00:00)")
has "what is changed does not count beside itself, listed or not" "violates accounting/QOS policy" "$(as $daemon scontrol update job="$job" TimeLimit=6:16:00 2>&1)"
check "a change up to the grant is made" as $daemon scontrol update job="$job" TimeLimit=6:15:00
sleep 1.2
look
has "which counts" "has 0 of its grant available" "$(batch $daemon -A physics -n 1 -t 1)"
check "a change to less is always made" as $daemon scontrol update job="$job" TimeLimit=6:00:00
look
has "a change beyond the grant is refused" "violates accounting/QOS policy" "$(as $daemon scontrol update job="$job" NumCPUs=20 2>&1)"
has "slurmctld's log has the sentence" "the job reserves 120 SU" "$(slurmctld_log "refused a job of uid 1" | tail -n 1)"
is "and the job stays as it was" 16 "$(field "$job" NumCPUs)"
check "one within it is not" as $daemon scontrol update job="$job" TimeLimit=5:00:00
is "and is made" 05:00:00 "$(field "$job" TimeLimit)"
has "the account of a job is a change" "violates accounting/QOS policy" "$(as $daemon scontrol update job="$job" Account=far 2>&1)"
check "what costs nothing is not asked about" as $daemon scontrol update job="$job" Name=other
check "root may do all" scontrol update job="$job" TimeLimit=50:00:00
check "a partition without charge" as $daemon scontrol update job="$job" Partition=bonus
scancel "$job"
look

# ---- hostile text ----
bad=$(printf 'a"b\nrefuse\n\xff\xfe%%41')
has "an account's name with quotes, lines and bytes that are no text" "Submitted" "$(batch $daemon -A "$bad" -J "$bad" --comment "$bad" -n 1 -t 1)"
has "a forged field does not count" "reserves 112" "$(batch $daemon -A physics -n 16 -t 7:00:00 -J "$(printf 'x\naccount=ghost')")"
has "nor one in a name that is read" "Submitted" "$(batch $daemon -A "$(printf 'physics\n\nuid=0')" -n 1 -t 1)"
text=$(head -c 1000 /dev/zero | tr '\0' c)
has "a comment of 1000 bytes is not read" "Submitted" "$(batch $daemon -A physics -n 1 -t 1 --comment "$text")"
has "a script of 1 MB is not read" "Submitted" "$(cd / && { echo '#!/bin/sh'; head -c 1000000 /dev/zero | tr '\0' '#'; echo; } | as $daemon sbatch -o /dev/null -A physics -n 1 -t 1 2>&1)"
has "Slurm itself refuses a comment of 100 KB" "too long" "$(batch $daemon -A physics -n 1 -t 1 --comment "$(head -c 100000 /dev/zero | tr '\0' c)")"
long=$(seq -s, 1 2 7999)
has "an array that is too long to be read is refused, not passed" "array_inx has" "$(batch $daemon -A physics -n 1 -t 1 --array="$long" 2>&1)"
has "so is a list of partitions" "write it shorter" "$(batch $daemon -A physics -p "$(yes main | head -n 3000 | paste -sd,)" -n 1 -t 1)"
has "a long name is no other one" "Submitted" "$(batch $daemon -A "physics$(head -c 300 /dev/zero | tr '\0' x)" -n 64 -t 99:00:00)"
is "nothing of it stopped the program" "" "$(kill -0 "$submitter" 2>&1)"

# ---- who may ask ----
question=$(printf 'uid=1\naccount=physics\nmin_cpus=1\ntime_limit=1\n\n')
asks() { as "$1" /usr/bin/python3 - "$sock" "$question" <<-'PY' 2>&1
	import socket, sys
	s = socket.socket(socket.AF_UNIX); s.settimeout(3)
	s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() + b"\n\n")
	print(s.recv(1024).decode().split("\n")[0] or "closed")
	PY
}
is "root is answered" accept "$(asks 0 | tail -n 1)"
is "slurmctld's user is answered" accept "$(asks "$(id -u slurm)" | tail -n 1)"
has "a user does not reach the socket" "PermissionError" "$(asks $daemon | tail -n 1)"
chmod 666 "$sock"
said=$(asks $daemon | tail -n 1)
[ "$said" = closed ] || [[ $said == *ConnectionResetError* || $said == *BrokenPipe* ]]
tap_result $? "and where the socket is open to all is not answered" "$said"
has "which the log states" "uid 1 (process" "$(cat "$dir/submit.log")"
chmod 600 "$sock"
has "nor is a user's own question to the controller" 403 \
	"$(ask $daemon POST /v1/slurm/submit '{"schema":"reeve/1","cluster":"vc","user":"bin","account":"physics","ncpus":1}')"
has "Slurm's user may ask" '"verdict":"accept"' \
	"$(ask "$(id -u slurm)" POST /v1/slurm/submit '{"schema":"reeve/1","cluster":"vc","user":"bin","account":"physics","ncpus":1,"walltime_s":60}')"
has "of a cluster of Slurm" "no cluster 'main' of Slurm" \
	"$(ask 0 POST /v1/slurm/submit '{"schema":"reeve/1","cluster":"main","user":"bin","account":"physics","ncpus":1}')"

# ---- nothing keeps slurmctld waiting ----
timed() { # NAME MS COMMAND...: within that, and submitted
	local name=$1 most=$2 began
	shift 2
	began=$(ms)
	out=$("$@")
	took=$(($(ms) - began))
	has "$name: the job goes through" "Submitted" "$out"
	[ $took -le "$most" ]
	tap_result $? "$name: within $most ms" "$took ms"
}
beyond_grant=(batch $daemon -A physics -n 64 -t 99:00:00)
live_stop
timed "the controller is down" 1000 "${beyond_grant[@]}"
has "slurmctld's log states it" "was not checked and goes on: " "$(slurmctld_log 'was not checked' | tail -n 1)"
echo 'reeve.unchecked = "refuse"' >>"$dir/job_submit.lua"
slurmctld_close
slurmctld_start
out=$(batch $daemon -A physics -n 1 -t 1)
has "where the site wants it, what cannot be checked is refused" "reeve: quotas cannot be checked now" "$out"
lacks "and is not submitted" "Submitted" "$out"
has "which slurmctld's log states" "was not checked and is refused: " "$(slurmctld_log 'and is refused' | tail -n 1)"
sed -i '$d' "$dir/job_submit.lua"
slurmctld_close
slurmctld_start
live_start || bail "the controller does not start again"
has "it is back: jobs are refused again" "reserves" "$("${beyond_grant[@]}")"
kill -STOP "$controller"
timed "the controller is stopped" 1300 "${beyond_grant[@]}"
has "slurmctld's log states it" "did not answer" "$(slurmctld_log 'was not checked' | tail -n 1)"
timed "and at once the next one" 350 "${beyond_grant[@]}"
has "nothing is asked for a while" "was slow a moment ago" "$(slurmctld_log 'was not checked' | tail -n 1)"
kill -CONT "$controller"
sleep 2.2
has "after it jobs are refused again" "reserves" "$("${beyond_grant[@]}")"
kill -STOP "$submitter"
timed "reeve-slurm-submit is stopped" 1300 "${beyond_grant[@]}"
has "slurmctld's log states that too" "did not answer in time" "$(slurmctld_log 'was not checked' | tail -n 1)"
kill -CONT "$submitter"
sleep 2.2
has "and later it answers" "reserves" "$("${beyond_grant[@]}")"
kill -9 "$submitter"
wait "$submitter" 2>/dev/null
timed "reeve-slurm-submit is dead" 500 "${beyond_grant[@]}"
submit_start
has "it starts again over the socket that was left" "reserves" "$("${beyond_grant[@]}")"

# ---- what it costs: sbatch with the script and without it, in turn ----
rate() { # microseconds of one sbatch
	local began
	began=$(date +%s%N)
	for _ in $(seq 30); do as $daemon sbatch -H -Q -D / -o /dev/null -A physics -n 1 -t 1 --wrap true >/dev/null 2>&1; done
	echo $((($(date +%s%N) - began) / 30000))
}
with=0 without=0
for _ in 1 2; do
	with=$((with + $(rate) / 2))
	slurmctld_close
	sed -i '/^JobSubmitPlugins/d' "$dir/slurm.conf"
	slurmctld_start
	without=$((without + $(rate) / 2))
	slurmctld_close
	echo JobSubmitPlugins=lua >>"$dir/slurm.conf"
	slurmctld_start
done
echo "# sbatch: $with us with the script, $without us without it, ratio $((100 * with / without)) %"
[ $with -lt $((without + 500000)) ] # a wait, not a figure: the machine may have other work
tap_result $? "a submission waits for nothing" "$with us, $without us"

# ---- what no grant covers is moved ----
beyond=bonus declared=reeve
live_stop
configure
live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
out=$(batch $daemon -A physics -n 16 -t 7:00:00)
has "a job that no grant covers is moved to the partition without charge" \
	"moved from queue main to bonus, free of charge: the job reserves 112 SU" "$out"
is "and is submitted there" bonus "$(field "$(number "$out")" Partition)"
has "where accounts are Reeve's, an unknown one is refused" "there is no account 'ghost': name another with -A" "$(batch $daemon -A ghost)"
has "and one of others" "user 'bin' is not in account 'limited'" "$(batch $bin -A limited)"
submit_stop
slurmctld_close
tap_end
