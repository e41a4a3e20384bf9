#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# interactive.sh - commands with standard input and with a terminal of their own, in a job on a real node: what a user types, sees
# and loses. /usr/local/bin/terminal is the user.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
ended() { as alice reeve job "$1" --json | grep -q '"state": *"ended"'; }
running() { as alice reeve job "$1" --json | grep -q '"state": *"running"'; }
cat >/usr/local/bin/at <<'END'
#!/bin/bash
# at ROWS COLS COMMAND...: a terminal of alice's, driven by standard input.
exec runuser -u alice -- env -C /home/alice HOME=/home/alice USER=alice TERM=xterm-256color /usr/local/bin/terminal "$@"
END
chmod 755 /usr/local/bin/at
id=$(as alice reeve submit -o /dev/null -j oe -l ncpus=1,vmem=1GB,jobfs=200MB,walltime=1:00:00 -- sleep 3600 | grep -oE '[0-9]+' | tail -n 1)
wait_for 60 running "$id" || { ok 1 "a job runs"; tap_end; }
ex() { as alice reeve exec -j "$id" "$@"; }

# ---- standard input ----
[ "$(echo 'a b' | timeout 100 runuser -u alice -- reeve exec -j "$id" -i -- cat 2>&1)" = 'a b' ]
ok $? "a pipe is the input of the command, and its end is passed on"
out=$(ex -- cat </etc/passwd); [ -z "$out" ]; ok $? "without --stdin it is /dev/null"
head -c 50000000 /dev/urandom >/home/alice/big
chown alice /home/alice/big
began=$(date +%s%N)
ex -i -- cat </home/alice/big >/tmp/back; rc=$?
took=$((($(date +%s%N) - began) / 1000000))
[ $rc = 0 ] && cmp -s /home/alice/big /tmp/back
ok $? "50 MB of any bytes go through a command and come back" "exit $rc, $(stat -c %s /tmp/back) bytes"
echo "# 50 MB there and back in $took ms"
ex -i -- sh -c 'cat >/dev/null; echo out; echo err >&2; exit 7' </dev/null >/tmp/o 2>/tmp/e; rc=$?
[ $rc = 7 ] && [ "$(cat /tmp/o)" = out ] && [ "$(cat /tmp/e)" = err ]; ok $? "both streams and the exit status come back" "$rc $(cat /tmp/o /tmp/e)"
yes | timeout 200 runuser -u alice -- reeve exec -j "$id" -i -- head -n 3 >/tmp/o; [ "$(cat /tmp/o)" = $'y\ny\ny' ]
ok $? "a command that closes its input ends although more would come" "$(cat /tmp/o)"
# By its command line: it has executed itself, so that its name is "exe".
waiter_kb() { for pid in $(pgrep -f 'reeve-launch --step'); do awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; done | sort -n | tail -n 1; }
(yes | timeout 200 runuser -u alice -- reeve exec -j "$id" -i -- sh -c 'echo >/home/alice/idle; sleep 25') & sleeper=$!
idles() { [ -e /home/alice/idle ]; }
wait_for 100 idles
sleep 10; kb=$(waiter_kb); [ "${kb:-99999}" -lt 8192 ]; ok $? "input that a command does not read is not piled up in its job" "$kb KB"
wait $sleeper

# ---- a terminal ----
session() { timeout 280 at 30 100 reeve exec -j "$id" --pty --export none "$@"; }
out=$(session env PS1='$ ' bash --norc <<'END'
expect $
send echo "<$TERM> $(tty) $(stty size)"\r
expect <
expect /dev/pts/
expect  30 100
size 41 77
send stty size\r
expect 41 77
send stat -c '%U %a' $(tty)\r
expect alice 6
send sleep 1000\r
sleep 1000
send \x03
send echo $((600 + 66))\r
expect 666
send sleep 1000\r
sleep 1000
send \x1a
expect Stopped
send fg\r
sleep 1000
send \x03
send trap 'echo caught' INT; sleep 2; trap - INT\r
sleep 300
send \x03
expect caught
send exit 5\r
exit
END
)
has "$out" '^exit 5 cooked' "bash in a terminal: size and its change, Ctrl-C, Ctrl-Z and fg, exit status; this terminal is as before" "$out"
out=$(session env PS1='$ ' bash --norc <<'END'
expect $
keys 100
send \x03
send exit\r
exit
END
)
has "$out" 'keys 100 median' "keys are echoed" "$out"
echo "# $(grep keys <<<"$out")"
us=$(sed -nE 's/.*median ([0-9]+).*/\1/p' <<<"$out")
base64 -w 76 /home/alice/big | head -c 1000000 >/home/alice/text
out=$(session sh -c 'stty -echo; echo ready; head -n 12987 | tail -n +1 | head -c 1000000 | sha256sum; stty echo' <<'END'
expect ready
paste /home/alice/text
expect -
exit
END
)
has "$out" '^exit 0 cooked' "a paste of 1 MB" "$out"
out=$(session sh -c 'stty raw -echo; echo ready; head -c 1000000 | sha256sum >got; stty -raw echo; cat got' <<END
expect ready
paste /home/alice/text
expect $(sha256sum </home/alice/text)
exit
END
)
has "$out" '^exit 0 cooked' "... arrives whole" "$out"
out=$(session sh -c 'echo ready; exec sleep 1000' <<'END'
expect ready
send \r~.
exit
END
)
has "$out" '^exit 125 cooked' "~. hangs up"  "$out"
nothing_left() { ! pgrep -x sleep -u alice -f 'sleep 1000' >/dev/null; }
wait_for 20 nothing_left; ok $? "... and ends the command"
out=$(session sh -c 'echo ready; exec sleep 1000' <<'END'
expect ready
signal 15
exit
END
)
has "$out" '^exit 143 cooked' "SIGTERM to reeve ends the command, and the terminal is as before" "$out"
wait_for 20 nothing_left; ok $? "... nothing is left of it"
out=$(session sh -c 'kill -9 $$' <<'END'
exit
END
)
has "$out" '^exit 137 cooked' "a command that is killed: its signal as exit status" "$out"
[ "$(as bob reeve exec -j "$id" --pty true 2>&1; echo $?)" != 0 ]; ok $? "no other user gets in"

# ---- the agent is killed ----
session env PS1='$ ' bash --norc >/tmp/killed 2>&1 <<'END' &
expect $
send echo be''fore\r
expect before
sleep 15000
send echo af''ter\r
expect after
send exit 3\r
exit
END
typist=$!
sleep 8
systemctl kill -s KILL reeve-agent
sleep 1
systemctl start reeve-agent
wait $typist
has "$(cat /tmp/killed)" '^exit 3 cooked' "a session survives kill -9 of the agent"
as alice reeve cancel "$id" >/dev/null
tap_end
