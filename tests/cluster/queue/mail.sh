#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mail.sh - mails about jobs: a real controller runs reeve-mail, which speaks with a real SMTP server (python3-aiosmtpd) or a sendmail
# program, while a client plays the node. TAP. Needs root (to be nodes and users).
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to be nodes and users"; exit 0; }
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || { echo "1..0 # SKIP needs an SMTP server: apt-get install python3-aiosmtpd"; exit 0; }
live_dir mail
export LC_ALL=C.UTF-8 TZ=UTC
reeve=$PWD/build/bin/reeve program=$PWD/build/bin/reeve-mail mails=$dir/mails
# shellcheck disable=SC2034 # play_lib.sh
amounts='"ncpus":64,"mem_bytes":400000000000,"jobfs_bytes":100000000000,"ngpus":0'
live_munge
: >"$mails"
serve() { # starts the SMTP server
	/usr/bin/python3 tests/cluster/lib/smtp_server.py "$smtp_port" "$mails" 2>"$dir/smtp.log" &
	smtp=$!
	for _ in $(seq 100); do (: </dev/tcp/127.0.0.1/"$smtp_port") 2>/dev/null && return; sleep 0.05; done
	bail "the SMTP server does not start: $(cat "$dir/smtp.log")"
}
smtp_port=$((20000 + RANDOM % 12000))
serve
mail_config() { # FURTHER LINES
	printf '[Mail]\nFrom = reeve@hpc.example\nState = %s/mail.db\nTimeLimit = 5\n%s\n' "$dir" "${1:-Relay = smtp://127.0.0.1:$smtp_port
Domain = site.example
Recipients = site.example,example.org}" >"$dir/mail.conf"
}
mail_config
cat >"$dir/hook" <<HOOK
#!/bin/bash
exec "$program" --config "$dir/mail.conf"
HOOK
chmod 755 "$dir/hook"
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Cluster main]
		DefaultResources = vmem=1GiB,jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
		[Hooks]
		Program = $dir/hook
		Events = job-started,job-ended,job-requeued,job-walltime-50,job-walltime-80
		RetryAfter = 1
	CONF
}
live_open configure
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/client.conf"
submit() { as 1 "$reeve" submit --config "$dir/client.conf" --controller "$url" -A physics -d / -l ncpus=1 "$@" 2>&1; } # ARGUMENTS
await_start() { # JOB
	until_has '"state":"starting"' ask 0 GET "/v1/jobs/$1" || bail "job $1 was not dispatched: $out"
}
jobs=''
play() { # JOB SEQ STATE [KEY=VALUE]...: the node reports
	node_sync jobs="$(job_entry "$1" "$3")" reports="$(job_report "$@")" >"$dir/answer"
}
mail_count() { wc -l <"$mails"; }
until_mails() { # NAME N: the server has N mails
	for _ in $(seq 200); do [ "$(mail_count)" -lt "$2" ] || break; sleep 0.05; done
	is "$1" "$2" "$(mail_count)"
}
last() { tail -n 1 "$mails" | python3 -c 'import json, sys; d = json.load(sys.stdin); v = eval(sys.argv[1], d)
print(*v if type(v) is tuple else [v])' "$1"; } # EXPRESSION: several by commas
quiet() { sleep 1; is "$1" "$2" "$(mail_count)"; } # NAME N: and so it stays
metric() { curl -s "$url/metrics" | sed -n "s/^reeve_hooks_$1 //p"; }
node_sync >/dev/null

# ---- begin and end ----
id=$(submit --mail-type=BEGIN,END --mail-user=alice@example.org -N model -- true)
await_start "$id"
play "$id" 1 running
until_mails "a job that begins" 1
is "the subject" "Job $id (model) began" "$(last subject)"
is "sender and recipient" "reeve@hpc.example ['alice@example.org'] alice@example.org" "$(last 'sender, to, header_to')"
has "the text names the account" "Account    physics" "$(last text)"
play "$id" 2 running
play "$id" 3 ended running_s=3
until_mails "and ends" 2
is "how it ended" "Job $id (model) ended by itself with exit status 0" "$(last subject)"
has "how long it ran" "Ran        0:00:0" "$(last text)"
has "how to see more" "reeve job $id" "$(last text)"
is "a well-formed mail of ASCII alone" "0 True True" "$(last 'defects, is_ascii, longest < 79')"
has "answered by no other program" "Auto-Submitted" "$(last headers)"

# ---- a limit, as the letters of PBS; the address is the user's own ----
printf '#!/bin/sh\n#PBS -m a\n#PBS -l ncpus=1\ntrue\n' >"$dir/job.sh"
chmod 644 "$dir/job.sh"
id=$(submit "$dir/job.sh")
await_start "$id"
play "$id" 1 running
play "$id" 2 ended kind=limit exit_status=-1 limit=vmem requested=1000000000 reached=1500000000 host=n1
until_mails "-m a of a job that exceeded a limit: one mail, not one more for its end" 3
is "goes to the user at the site's domain" "['daemon@site.example']" "$(last to)"
has "the subject says which limit" "vmem" "$(last subject)"
has "the text has the whole sentence" "requested" "$(last text)"
id=$(submit -m a -- true)
await_start "$id"
play "$id" 1 ended
id=$(submit -- true)
await_start "$id"
play "$id" 1 ended exit_status=1
id=$(submit --mail-type=LIMIT,BEGIN --mail-user=bob@example.org -- true)
await_start "$id"
play "$id" 1 ended exit_status=3
until_mails "a job reported only at its end began, too" 4
quiet "no mail of what was not asked for, or of who asked for none" 4

# ---- a part of the walltime has passed ----
before=$(mail_count)
id=$(submit --mail-type=TIME_LIMIT_80,TIME_LIMIT_50 --mail-user=alice@example.org -N long -l walltime=10 -- true)
await_start "$id"
play "$id" 1 running
sleep 6
play "$id" 2 running running_s=5
until_mails "half of the walltime has passed: a mail" $((before + 1))
is "with its subject" "Job $id (long) has used 50 % of its walltime" "$(last subject)"
has "and how long it may run" "Walltime   0:00:10" "$(last text)"
has "and how long that still is" "Left       0:00:0" "$(last text)"
play "$id" 3 running running_s=6
live_stop
live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
play "$id" 4 running running_s=7
quiet "no second one, over a restart of the controller either" $((before + 1))
sleep 2
play "$id" 5 running running_s=8
until_mails "80 % of it: the next one" $((before + 2))
is "with its subject, too" "Job $id (long) has used 80 % of its walltime" "$(last subject)"
play "$id" 6 ended running_s=9
quiet "its end was not asked for" $((before + 2))
has "a mail that the site does not send is said at submission" "no mail of TIME_LIMIT_90 is sent here" \
	"$(submit --mail-type=TIME_LIMIT_80,TIME_LIMIT_90 --hold -- true)"
lacks "and one that it sends is not" "no mail" "$(submit --mail-type=TIME_LIMIT_80 --hold -- true)"

# ---- an array: one mail that it begins, one how it ended ----
before=$(mail_count)
id=$(submit --mail-type=ALL -J 1-30 -N sweep -- true)
sleep 1
node_sync >/dev/null
for task in $(seq $((id + 1)) $((id + 30))); do
	await_start "$task"
	play "$task" 1 running
	if [ "$task" = $((id + 7)) ]; then play "$task" 2 ended exit_status=1; else play "$task" 2 ended; fi
done
until_mails "an array of 30: two mails" $((before + 2))
is "the digest counts" "Job array $id (sweep) ended: 29 of 30 tasks well" "$(last subject)"
has "and its text" "30: 29 ended well, 1 did not, 0 were cancelled" "$(last text)"
quiet "no more" $((before + 2))
id=$(submit --mail-type=FAIL,ARRAY_TASKS -J 1-3 -- true)
for task in $((id + 1)) $((id + 2)) $((id + 3)); do
	await_start "$task"
	play "$task" 1 ended exit_status=$((task == id + 2))
done
until_mails "ARRAY_TASKS: a mail of the task that failed" $((before + 3))
has "which names it" "Job $id[2] (" "$(last subject)"

# ---- hostile: what a node or a user says cannot add a header or a recipient ----
before=$(mail_count)
for user in $'a@example.org\r\nBcc: b@example.org' 'a b@example.org' '-oQ/tmp/x@example.org' 'a@example.org;b' '<a@example.org>'; do
	has "refused: $(tr -d '\r\n' <<<"$user")" "is not an address" "$(submit --mail-type=ALL --mail-user="$user" -- true)"
done
has "by the controller too" "is not an address" "$(ask 1 POST /v1/jobs "$(job_request more=',"mail_type":"ALL","mail_user":"a@example.org\r\nBcc: b@c"')")"
has "unknown words" "mail-type 'SOON': write some of BEGIN,END" "$(submit --mail-type=SOON -- true)"
event() { # JSON MEMBERS: straight to the program
	printf '{"schema":"reeve/1","event":"job-ended","job":900,"attempt":1,"id":"900","state":"ended","user":"alice","name":"x",%s}' "$1" |
		"$program" --config "$dir/mail.conf" 2>&1
}
end='"end":{"kind":"exited","exit_status":1,"line":"broke\r\nBcc: victim@example.org\r\n\r\nHELLO","text":"a\u0007b\r\n.\r\nQUIT\u202e"}'
event '"request":{"mail_type":"END","mail_user":"alice@example.org"},'"$end"
is "line ends in a node's sentence make no header" "['alice@example.org'] True" "$(last 'to, "Bcc" not in headers')"
has "they are in the subject as blanks" "broke Bcc: victim" "$(last 'subject.replace("  ", " ")')"
has "a single dot in the text ends nothing" "QUIT" "$(last text)"
long=$(printf 'é%.0s' $(seq 3000))
printf '{"event":"job-ended","job":901,"attempt":1,"id":"901","state":"ended","user":"alice","name":"x","request":{"mail_type":"END"},"end":{"kind":"failed","line":"%s","text":"%s"}}' \
	"$long" "$long" | "$program" --config "$dir/mail.conf"
is "a long subject of other letters is cut, folded and ASCII on the wire" "True True True" \
	"$(last 'len(subject.encode()) < 200, "éé" in subject, is_ascii and longest < 79')"
printf '{"event":"job-ended","job":902,"attempt":1,"state":"ended","user":"a\\nb","name":"x","request":{"mail_type":"END"}}' | "$program" --config "$dir/mail.conf" 2>"$dir/err"
is "a user whose name is no address: refused" 65 $?
printf '\xff\xfe{"event":' | "$program" --config "$dir/mail.conf" 2>"$dir/err"
is "input that is no UTF-8: refused" 65 $?
has "with the reason" "standard input has no event" "$(cat "$dir/err")"
before=$(mail_count)
event '"request":{"mail_type":"END","mail_user":"x@other.example"},'"$end" >"$dir/err"
is "a domain that the site does not send to" 69 $?
has "is said" "lost: its domain is not among Recipients=" "$(cat "$dir/err")"
is "and gets nothing" "$before" "$(mail_count)"

# ---- once; and no user gets too much ----
event '"request":{"mail_type":"END","mail_user":"alice@example.org"},'"$end"
is "the same event once more: no second mail" "$before" "$(mail_count)"
mail_config "Relay = smtp://127.0.0.1:$smtp_port
PerHour = 3"
for job in 910 911 912 913 914; do
	printf '{"event":"job-ended","job":%s,"attempt":1,"id":"%s","state":"ended","user":"carol","name":"x","request":{"mail_type":"END"},"end":{"kind":"exited","exit_status":0,"line":"ended"}}' \
		$job $job | "$program" --config "$dir/mail.conf" 2>>"$dir/rate"
done
is "three of an hour are sent" $((before + 3)) "$(mail_count)"
is "each lost one is said" 2 "$(grep -c 'lost: user carol had 3 mails in an hour' "$dir/rate")"
mail_config

# ---- a relay that is busy, one that is gone, one that refuses ----
before=$(mail_count)
touch "$mails.busy"
id=$(submit --mail-type=END,BEGIN --mail-user=alice@example.org -- true)
await_start "$id"
play "$id" 1 running
until_has "run again in 1 s" cat "$dir/controller.log"
check "the relay is asked again" until_has "run again in 2 s" cat "$dir/controller.log"
has "with its answer in the journal" "not yet sent: the relay" "$(cat "$dir/controller.log")"
check "a request that comes meanwhile is answered" ask 1 GET /v1/jobs
play "$id" 2 ended
rm "$mails.busy"
until_mails "when it is back both mails arrive, once each" $((before + 2))
is "in their order" "ended" "$(last 'subject.split()[3]')"
has "metrics count it" "retried" "$(curl -s "$url/metrics" | grep 'retried"} [1-9]')"
before=$(mail_count)
id=$(submit --mail-type=END --mail-user=gone@example.org,alice@example.org -- true)
await_start "$id"
play "$id" 1 ended
until_mails "an address that the relay refuses does not keep the other from its mail" $((before + 1))
check "and is said" until_has "to gone@example.org: lost: the relay refuses it" cat "$dir/controller.log"
check "and counted" until_has 1 metric 'total{result="failed"}'
kill "$smtp"; wait "$smtp" 2>/dev/null
id=$(submit --mail-type=END --mail-user=alice@example.org -- true)
await_start "$id"
play "$id" 1 ended
check "a relay that does not answer" until_has "Failed to connect" cat "$dir/controller.log"
before=$(mail_count)
live_stop
serve
live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
until_mails "over a restart of the controller the mail is not lost" $((before + 1))

# ---- jobs of run and alloc ----
asked() { # NAME: what the job of this name asked for
	ask 1 GET "/v1/jobs?state=active" | sed -n '2,$p' | python3 -c "
import json, sys
for j in json.load(sys.stdin)['jobs']:
    if j['name'] == '$1': print(j['job'])" | while read -r id; do
		ask 1 GET "/v1/jobs/$id" | grep -o '"mail_[a-z]*":"[^"]*"' | paste -sd' '
	done
}
for verb in run alloc; do
	as 1 "$reeve" $verb --config "$dir/client.conf" --controller "$url" -A physics -d / -l ncpus=1 -N "by-$verb" \
		-m ae -M alice@example.org -- true </dev/null >"$dir/said.$verb" 2>&1 &
	check "reeve $verb takes -m and -M" until_has '"mail_type":"END,FAIL" "mail_user":"alice@example.org"' asked "by-$verb"
	kill $!
	wait $! 2>/dev/null
	as 1 "$reeve" $verb --config "$dir/client.conf" --controller "$url" -A physics -d / -l ncpus=1 -N "slow-$verb" \
		--mail-type=TIME_LIMIT_80 -- true </dev/null >"$dir/said.$verb" 2>&1 &
	check "and --mail-type" until_has '"mail_type":"TIME_LIMIT_80"' asked "slow-$verb"
	kill $!
	wait $! 2>/dev/null
done

# ---- an allocation is used up ----
year=$(date +%Y)
mail_config
text="[Account physics]\nUsers = daemon, bin\nCoordinators = alice,bob\n[Allocation physics/$year]\nKind = grant\nAmount = 10\nFrom = $((year - 1))-01-01\nTo = $((year + 2))-01-01\n"
text+="[Account below]\nParent = physics\nUsers = daemon\n[Account small]\nUsers = daemon\n[Allocation small/$year]\nKind = grant\nAmount = 10\nFrom = $((year - 1))-01-01\nTo = $((year + 2))-01-01\n"
sed -i '/^\[Account physics\]/,/^Users/d; s/^Events = .*/&,allocation-used/; s/^\[Hooks\]/[Policy]\nQuota = grant\n&/' "$dir/controller.conf"
live_stop
live_start || bail "the controller does not start with grants: $(tail -n 5 "$dir/controller.log")"
has "accounts with grants" 200 "$(ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":0,\"text\":\"$text\"}")"
charge() { # ACCOUNT HOURS
	"$reeve" admin adjust --config "$dir/client.conf" --controller "$url" -A "$1" -u daemon --cluster main --charge "$2" --reason test
}
until_more() { # NAME N: within 25 s
	for _ in $(seq 500); do [ "$(mail_count)" -lt "$2" ] || break; sleep 0.05; done
	is "$1" "$2" "$(mail_count)"
}
for account in physics below small; do # each must have been charged for a job before it is adjusted
	id=$(as 1 "$reeve" submit --config "$dir/client.conf" --controller "$url" -A $account -d / -l ncpus=1,walltime=60 -- true)
	await_start "$id"
	play "$id" 1 running
	sleep 1.2
	play "$id" 2 ended running_s=1
done
before=$(mail_count)
check "a charge" charge physics 7.9
sleep 12
is "below 80 % there is no mail" "$before" "$(mail_count)"
check "a charge below it" charge below 0.2
check "and of another" charge small 20
until_more "at 80 % of the allocation its coordinators have a mail each" $((before + 2))
has "which names account and part, amounts and unit" "Account physics has used 80 % of its allocation $year (8.10" "$(last subject)"
has "and the command that shows more" "reeve quota --account physics shows" "$(last text)"
is "to both of them" "['alice@site.example'] ['bob@site.example']" "$(tail -n 2 "$mails" | python3 -c 'import json, sys; print(*sorted(str(json.loads(l)["to"]) for l in sys.stdin))')"
live_stop
live_start || bail "the controller does not start again: $(tail -n 5 "$dir/controller.log")"
sleep 12
is "no second one, over a restart either; none where there are no coordinators" $((before + 2)) "$(mail_count)"
check "more of it" charge physics 5
until_more "at 100 % the next" $((before + 4))
has "with that part" "has used 100 % of its allocation $year (13.10" "$(last subject)"
is "an account without coordinators is an event all the same" 1 "$(grep -c 'account small has used 100 % of its allocation' "$dir/controller.log")"

# ---- sendmail ----
cat >"$dir/sendmail" <<SENDMAIL
#!/bin/bash
printf '%s\n' "\$@" >"$dir/sendmail.arguments"
cat >"$dir/sendmail.mail"
exit \$(cat "$dir/sendmail.status")
SENDMAIL
chmod 755 "$dir/sendmail"
mail_config "Sendmail = $dir/sendmail"
echo 75 >"$dir/sendmail.status"
by_sendmail() { event '"request":{"mail_type":"END","mail_user":"dora@example.org"},'"$end" >"$dir/err"; }
by_sendmail
is "a sendmail that cannot yet" 75 $?
echo 67 >"$dir/sendmail.status"
by_sendmail
is "one that knows no such user" 69 $?
echo 0 >"$dir/sendmail.status"
check "one that takes it" by_sendmail
is "gets one recipient, behind --" "-i -f reeve@hpc.example -- dora@example.org" "$(xargs <"$dir/sendmail.arguments")"
is "and the whole mail" "dora@example.org" "$(sed -n 's/^To: \(.*\)\r$/\1/p' "$dir/sendmail.mail")"
: >"$dir/sendmail.arguments"
by_sendmail
is "once" "" "$(cat "$dir/sendmail.arguments")"

# ---- what cannot be read ----
: >"$dir/mail.conf"
by_sendmail
is "a configuration without a sender" 78 $?
has "says what to add" "add From = " "$(cat "$dir/err")"
tap_end
