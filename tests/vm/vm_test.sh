#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The laws of the two harnesses (vm.sh, ../bpf/vmtest.sh), as TAP: what they return, what
# they show, that a saved node is as good as a booted one, and that nothing of a run is left on the
# host. About six minutes without KVM. With a word, only the laws that begin so: vm_test.sh saved
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
vm=$here/vm.sh
vmtest=$here/../bpf/vmtest.sh
tmp=$(mktemp -d "${TMPDIR:-/tmp}/reeve-vm-test.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
# All temporary files of the runs go here, so that what is left behind can be seen.
mkdir "$tmp/runs"
export TMPDIR=$tmp/runs
only=${1:-}
count=0
failed=0

# law WHAT COMMAND...: one TAP line; stderr of the command is shown when it fails.
law()
{
	local what=$1

	[[ $what = "$only"* ]] || return 0
	shift
	count=$((count + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $count - $what"
	else
		failed=$((failed + 1))
		echo "not ok $count - $what"
		tail -n 30 "$tmp/log" | tr -d '\r' | sed 's/^/# /'
	fi
}

# script NAME: writes stdin as $tmp/NAME.
script()
{
	cat >"$tmp/$1" && chmod 755 "$tmp/$1"
}

# returns STATUS COMMAND...
returns()
{
	local want=$1 got

	shift
	"$@"
	got=$?
	echo "status $got, wanted $want"
	[ "$got" = "$want" ]
}

nothing_left()
{
	ls -A "$TMPDIR"
	[ -z "$(ls -A "$TMPDIR")" ] && ! pgrep -af "qemu-system.*$TMPDIR"
}

output_is_exact()
{
	printf 'err\n[a b] [it'"'"'s]\0no newline' >"$tmp/want"
	"$1" "${@:2}" -- "$tmp/say" 'a b' "it's" >"$tmp/got" || return 1
	cmp "$tmp/want" "$tmp/got"
}

large_output_is_whole()
{
	[ "$("$vmtest" -- "$tmp/large" | cksum)" = "$(seq 200000 | cksum)" ]
}

# starts_and_gets SIGNAL STATUS: a run that waits in the guest, then a signal as from a
# terminal, to its whole process group. (A background process ignores INT unless told.)
starts_and_gets()
{
	local pid n=0

	setsid env --default-signal=INT "$vmtest" -- "$tmp/ready" >"$tmp/live" 2>&1 &
	pid=$!
	until grep -q ready "$tmp/live" || [ "$n" -ge 600 ]; do
		read -rt 0.1 <> <(:)
		n=$((n + 1))
	done
	grep -q ready "$tmp/live" && pgrep -f "qemu-system.*$TMPDIR" || return 1
	kill -"$1" -- "-$pid"
	returns "$2" wait "$pid"
}

ended_by()
{
	starts_and_gets "$@" && nothing_left
}

# Killed outright the harness cannot clean up, but qemu must not outlive it.
killed_leaves_no_qemu()
{
	local n=0

	starts_and_gets KILL 137 || return 1
	while pgrep -f "qemu-system.*$TMPDIR" && [ "$n" -lt 50 ]; do
		read -rt 0.1 <> <(:)
		n=$((n + 1))
	done
	rm -rf "${TMPDIR:?}"/*
	! pgrep -af "qemu-system.*$TMPDIR"
}

# A cache with the image and no saved node in it.
empty_cache()
{
	local image

	image=$("$vm" prepare 2>&1 | sed -n 's/^vm: \(\/.*\)$/\1/p')
	mkdir -p "$tmp/cache/vm" && ln -s "$image" "$tmp/cache/vm/" &&
		cp "$(dirname "$image")"/accel-* "$tmp/cache/vm/"
}

states()
{
	find "$tmp/cache/vm/states" -mindepth 1 -maxdepth 1 -type d
}

# said LOG PATTERN...: each is on stderr of that run.
said()
{
	local log=$1 pattern

	shift
	for pattern; do
		grep -q -- "$pattern" "$log" || { echo "not said: $pattern" && cat "$log" && return 1; }
	done
}

# Two nodes at once: each has its own disk, neither sees the other's writes or an earlier run's.
runs_are_apart()
{
	local a b

	"$vm" run --out "$tmp/a" -- "$tmp/stain" A >"$tmp/a.log" 2>&1 &
	a=$!
	"$vm" run --out "$tmp/b" "$@" -- "$tmp/stain" B >"$tmp/b.log" 2>&1 &
	b=$!
	wait "$a" && wait "$b" || { cat "$tmp"/?.log && return 1; }
	[ "$(cat "$tmp/a/who" "$tmp/b/who")" = $'A\nB' ]
}

two_share_one_state()
{
	runs_are_apart --jobfs ext4 || return 1
	cat "$tmp/a.log" "$tmp/b.log" | tee "$tmp/ab.log"
	[ "$(states | wc -l)" = 1 ] &&
		said "$tmp/a.log" '^vm: restored' && said "$tmp/b.log" '^vm: restored' &&
		said "$tmp/ab.log" 'another run is saving' && [ "$(grep -c '^vm: node saved' "$tmp/ab.log")" = 1 ]
}

# A node without randomness of its own draws what its twin draws. Not from the same place in the row, for
# every process that starts draws some: so many numbers of each CPU are drawn, and none may be in both.
restored_twins_differ()
{
	local twin

	"$vm" save || return 1
	for twin in a b; do
		"$vm" run -- "$tmp/draw" >"$tmp/drawn-$twin" 2>"$tmp/$twin.log" &&
			said "$tmp/$twin.log" '^vm: restored' || return 1
		sort -u -o "$tmp/drawn-$twin" "$tmp/drawn-$twin"
		[ "$(wc -l <"$tmp/drawn-$twin")" = 8000 ] || return 1
	done
	comm -12 "$tmp/drawn-a" "$tmp/drawn-b" >"$tmp/drawn-both"
	echo "$(wc -l <"$tmp/drawn-both") numbers are in both" && [ ! -s "$tmp/drawn-both" ]
}

restored_time_is_now()
{
	local at

	until [ $(($(date +%s) - $(stat -c %Y "$(states)/device"))) -gt 20 ]; do
		read -rt 1 <> <(:)
	done
	at=$("$vm" run -- "$tmp/clock") || return 1
	echo "the guest said $at, now it is $(date +%s)"
	[ $(($(date +%s) - at)) -ge -2 ] && [ $(($(date +%s) - at)) -le 10 ]
}

# On a busy machine: two processes that always compute, beside the node.
keeps_the_rate_under_load()
{
	local pids="" rc

	for _ in 1 2; do
		bash -c 'while :; do :; done' &
		pids="$pids $!"
	done
	"$vm" run "$@" -- "$here/vm_clock.sh" 15
	rc=$?
	# shellcheck disable=SC2086
	kill $pids
	return "$rc"
}

saved_under_load_keeps_the_rate()
{
	local rc

	keeps_the_rate_under_load 2>"$tmp/a.log" && said "$tmp/a.log" '^vm: node saved' '^vm: restored'
	rc=$?
	rm -rf -- "$tmp/cache/vm/states"
	return "$rc"
}

# With a rate that was measured wrongly the kernel's clock is fast by three tenths.
wrong_rate_is_not_saved()
{
	local memo rc

	memo=$(echo "$REEVE_CACHE"/vm/tsc-khz-*) && mv "$memo" "$tmp/tsc-khz" || return 1
	echo $(($(<"$tmp/tsc-khz") * 7 / 10)) >"$memo"
	returns 126 "$vm" save 2>"$tmp/a.log" &&
		said "$tmp/a.log" "the clock has not the host's rate" 'could not be saved' && [ -z "$(states)" ]
	rc=$?
	mv "$tmp/tsc-khz" "$memo"
	return "$rc"
}

make_unit()
{
	rm -rf "$tmp/pay"
	mkdir -p "$tmp/pay/lib/systemd/system" "$tmp/pay/etc/systemd/system/multi-user.target.wants" \
		"$tmp/pay/etc/systemd/system/atpay.service.d" "$tmp/pay/usr/lib/tmpfiles.d"
	printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/false\n' \
		>"$tmp/pay/lib/systemd/system/atpay.service"
	printf '[Service]\nExecStart=\nExecStart=/bin/sh -c "echo $$(id -u) >/run/atpay"\n' \
		>"$tmp/pay/etc/systemd/system/atpay.service.d/x.conf"
	ln -s /lib/systemd/system/atpay.service "$tmp/pay/etc/systemd/system/multi-user.target.wants/"
	echo 'd /run/attmp 0711 root root' >"$tmp/pay/usr/lib/tmpfiles.d/attmp.conf"
}

payload_is_started()
{
	make_unit
	"$vm" run "$@" --payload "$tmp/pay" -- "$tmp/started" 2>"$tmp/a.log"
}

payload_is_started_restored()
{
	payload_is_started --jobfs ext4 && said "$tmp/a.log" '^vm: restored'
}

payload_that_replaces_boots()
{
	make_unit
	mkdir -p "$tmp/pay/etc" && echo 'some-other-name' >"$tmp/pay/etc/hostname"
	"$vm" run --payload "$tmp/pay" -- "$tmp/hostname" some-other-name 2>"$tmp/a.log" &&
		said "$tmp/a.log" 'booting: .*payload replaces etc/hostname'
}

boots_when_told()
{
	"$vm" run --boot -- "$tmp/status" 0 2>"$tmp/a.log" && said "$tmp/a.log" '^vm: booting' '^vm: kernel'
}

damaged_state_is_said()
{
	truncate -s 1000 "$(states | head -n 1)/device"
	"$vm" run -- "$tmp/status" 5 2>"$tmp/a.log"
	[ $? = 5 ] && said "$tmp/a.log" 'did not come up, removing it' '^vm: booting' '^vm: kernel' &&
		[ -z "$(states)" ]
}

states_are_bounded()
{
	"$vm" save --jobfs none && [ "$(states | wc -l)" = 1 ] && sleep 1 &&
		REEVE_VM_STATES_MIB=1 "$vm" save --jobfs xfs && [ "$(states | wc -l)" = 1 ] &&
		[ -s "$(states)/jobfs.qcow2" ]
}

clean_leaves_nothing()
{
	"$vm" clean && [ ! -e "$tmp/cache/vm" ]
}

payload_is_laid_over()
{
	mkdir -p "$tmp/pay/etc" "$tmp/pay/lib/reeve-test"
	chmod 700 "$tmp/pay" "$tmp/pay/etc"
	echo one >"$tmp/pay/etc/reeve-test"
	echo two >"$tmp/pay/lib/reeve-test/file"
	"$vm" run --payload "$tmp/pay" --numa 2 --smp 4 --jobfs none -- "$tmp/see"
}

script say <<'E2'
#!/bin/sh
echo err >&2
printf '[%s] [%s]\000no newline' "$1" "$2"
E2
script large <<'E2'
#!/bin/sh
seq 200000
E2
script ready <<'E2'
#!/bin/sh
echo ready
sleep 1000
E2
script status <<'E2'
#!/bin/sh
exit "$1"
E2
script crash <<'E2'
#!/bin/sh
echo c >/proc/sysrq-trigger
sleep 100
E2
script leave <<'E2'
#!/bin/sh
sleep 1000 &
echo left
E2
script stain <<'E2'
#!/bin/bash
[ ! -e /stain ] && [ ! -e /var/lib/reeve/jobfs/stain ] || exit 1
echo "$1" | tee /stain /var/lib/reeve/jobfs/stain >/out/who
E2
script draw <<'E2'
#!/bin/sh
for cpu in 0 1; do
	taskset -c $cpu perl -e 'open my $r, "<:raw", "/dev/urandom" or die;
		for (1 .. 4000) { sysread $r, my $b, 16; print unpack("H*", $b), "\n" }'
done
E2
script clock <<'E2'
#!/bin/sh
date +%s
E2
script started <<'E2'
#!/bin/bash
set -ex
systemctl is-active atpay.service
[ "$(cat /run/atpay)" = 0 ]
[ "$(stat -c %a /run/attmp)" = 711 ]
[ "$(systemctl is-system-running)" = running ]
E2
script hostname <<'E2'
#!/bin/sh
[ "$(hostname)" = "$1" ]
E2
script see <<'E2'
#!/bin/bash
set -ex
[ "$(cat /etc/reeve-test /usr/lib/reeve-test/file)" = $'one\ntwo' ]
[ -L /lib ] && [ "$(stat -c %a /etc)" = 755 ]
[ "$(stat -c %u /etc/reeve-test)" = 0 ]
[ "$(ls -d /sys/devices/system/node/node? | wc -l)" = 2 ] && [ "$(nproc)" = 4 ]
[ "$(cat /sys/devices/system/node/node1/cpulist)" = 2-3 ]
E2

"$vm" prepare || { echo "Bail out! no image" && exit 1; }
law "an image that exists is found in a second" timeout 1 "$vm" prepare
law "bad usage is 64" returns 64 "$vm" run --mem lots -- "$tmp/status" 0
law "a missing program is bad usage" returns 64 "$vmtest" -- "$tmp/nosuch"
law "vmtest: status 0" returns 0 "$vmtest" -- "$tmp/status" 0
law "vmtest: status 77" returns 77 "$vmtest" -- "$tmp/status" 77
law "vmtest: output byte for byte" output_is_exact "$vmtest"
law "vmtest: a large output is whole" large_output_is_whole
law "vmtest: a process left behind holds nothing up" \
	timeout 60 "$vmtest" --timeout 30 -- "$tmp/leave"
law "vmtest: time out is 124" returns 124 "$vmtest" --timeout 6 -- "$tmp/ready"
law "vmtest: a kernel crash is 125" returns 125 "$vmtest" -- "$tmp/crash"
law "nothing is left so far" nothing_left
law "vmtest: TERM ends everything" ended_by TERM 143
law "vmtest: Ctrl-C ends everything" ended_by INT 130
law "vmtest: KILL leaves no qemu" killed_leaves_no_qemu
law "run: status 3" returns 3 "$vm" run --jobfs none -- "$tmp/status" 3
law "run: output byte for byte" output_is_exact "$vm" run --jobfs none
law "run: a kernel crash is 125" returns 125 "$vm" run -- "$tmp/crash"
law "run: time out is 124" returns 124 "$vm" run --timeout 4 -- "$tmp/ready"
law "run: two at once are apart, /out comes back" runs_are_apart --jobfs xfs
law "run: a node that is booted on a busy machine keeps the host's rate" keeps_the_rate_under_load --boot
law "run: the payload is laid over, NUMA nodes are there" payload_is_laid_over
empty_cache || { echo "Bail out! no cache" && exit 1; }
export REEVE_CACHE=$tmp/cache
if [ "$(cat "$tmp/cache/vm"/accel-*)" = tcg ]; then
	law "saved: a node that is saved and restored on a busy machine keeps the host's rate" \
		saved_under_load_keeps_the_rate
	law "saved: a node whose clock has another rate is not saved" wrong_rate_is_not_saved
	law "saved: two at once save one node and are apart on it" two_share_one_state
	law "saved: two restored nodes draw no number alike" restored_twins_differ
	law "saved: a restored node has the host's time" restored_time_is_now
	law "saved: a restored node starts what the payload enables" payload_is_started_restored
	law "saved: so does a booted one" payload_is_started --boot
	law "saved: a payload that replaces a file of the node boots" payload_that_replaces_boots
	law "saved: --boot boots" boots_when_told
	law "saved: a damaged state is said, and the node boots" damaged_state_is_said
	law "saved: the nodes keep within their bound" states_are_bounded
else
	count=$((count + 1))
	echo "ok $count - saved nodes # SKIP only under emulation"
fi
law "clean leaves nothing" clean_leaves_nothing
law "nothing is left at the end" nothing_left
echo "1..$count"
[ "$failed" = 0 ]
