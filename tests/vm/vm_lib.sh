# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2054
# Shared by vm.sh and tests/bpf/vmtest.sh: where things lie, which accelerator works on
# this machine, and how one throw-away qemu is started, timed and taken down.
# Sourced; the caller sets VM_NAME (the word its messages start with).

VM_NODE_DIR=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
VM_CACHE=${REEVE_CACHE:-$(dirname -- "$(dirname -- "$VM_NODE_DIR")")/.cache}/vm
VM_KERNEL_ARGS='console=ttyS0 quiet loglevel=4 lsm=lockdown,yama,apparmor,bpf
	mitigations=off panic=-1 oops=panic random.trust_cpu=on tsc=reliable no_timer_check'
VM_TMP=
VM_QEMU_PID=
VM_CAT_PID=
VM_ALIVE_AT=

# Exit statuses of the harness itself; a script's own status is passed through unchanged.
VM_EX_USAGE=64
VM_EX_TIMEOUT=124
VM_EX_GUEST=125
VM_EX_HOST=126

vm_say()
{
	printf '%s: %s\n' "$VM_NAME" "$*" >&2
}

# vm_die STATUS MESSAGE...
vm_die()
{
	local status=$1

	shift
	vm_say "$@"
	exit "$status"
}

# Ends qemu and removes the temporary directory. Runs on every way out (trap).
vm_cleanup()
{
	local pid

	trap '' INT TERM HUP
	for pid in $VM_QEMU_PID $VM_CAT_PID; do
		kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	[ -z "$VM_TMP" ] || rm -rf -- "$VM_TMP"
	VM_TMP=
}

# Makes VM_TMP and ties its life to ours.
vm_tmp()
{
	[ -z "$VM_TMP" ] || return 0
	trap vm_cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	VM_TMP=$(mktemp -d "${TMPDIR:-/tmp}/reeve-vm.XXXXXX") ||
		vm_die "$VM_EX_HOST" "no temporary directory"
}

# vm_need TOOL PACKAGE...: pairs; names every missing package at once.
vm_need()
{
	local missing=

	while [ $# -ge 2 ]; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null || missing="$missing $2"
		shift 2
	done
	[ -z "$missing" ] || vm_die "$VM_EX_HOST" "missing on this host, install:$missing"
}

# Quotes its arguments for any POSIX shell, as one line.
vm_quote()
{
	local arg

	for arg in "$@"; do
		printf "'%s' " "${arg//\'/\'\\\'\'}"
	done
}

vm_is_smp()
{
	[[ $1 =~ ^[1-9][0-9]*(,[a-z]+=[0-9]+)*$ ]]
}

vm_is_size()
{
	[[ $1 =~ ^[1-9][0-9]*[MG]$ ]]
}

vm_is_seconds()
{
	[[ $1 =~ ^[1-9][0-9]*$ ]]
}

# Prints "kvm" or "tcg". /dev/kvm may open and still not carry a stock kernel past its first
# instructions, so the answer comes from booting one; it is kept until the host reboots.
# VM_IMAGE and VM_INITRD must be set.
vm_accel()
{
	local memo

	if [ -n "${REEVE_VM_ACCEL:-}" ]; then
		echo "$REEVE_VM_ACCEL"
		return
	fi
	memo=$VM_CACHE/accel-$(cat /proc/sys/kernel/random/boot_id)-$(id -u)
	if [ ! -s "$memo" ]; then
		vm_probe_kvm >"$VM_TMP/accel"
		cp "$VM_TMP/accel" "$memo.$$" 2>/dev/null && mv "$memo.$$" "$memo"
		cat "$VM_TMP/accel"
		return
	fi
	cat "$memo"
}

vm_probe_kvm()
{
	if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
		timeout -k 1 8 qemu-system-x86_64 -accel kvm -cpu host -smp 2 -m 256M \
			-nodefaults -no-user-config -display none -no-reboot \
			-serial "file:$VM_TMP/probe" \
			-kernel "$VM_IMAGE/vmlinuz" -initrd "$VM_INITRD" \
			-append "${VM_KERNEL_ARGS//[$'\n\t']/ } reeve.mode=probe" \
			</dev/null >/dev/null 2>&1
		if grep -q reeve-probe-booted "$VM_TMP/probe" 2>/dev/null; then
			echo kvm
			return
		fi
	fi
	echo tcg
}

# Prints the rate of the emulated CPU's time stamp counter, which is the host's, for the guest's kernel. Its own
# calibration compares two clocks while it boots: on a busy machine it is paused in between, and such guests have been seen
# whose clock ran three times too fast. Measured once until the host reboots.
vm_tsc_khz()
{
	local memo

	memo=$VM_CACHE/tsc-khz-$(cat /proc/sys/kernel/random/boot_id)-$(id -u)
	if [ ! -e "$memo" ]; then
		vm_need cc gcc
		cc -O1 -o "$VM_TMP/tsc_khz" "$VM_NODE_DIR/tsc_khz.c" && "$VM_TMP/tsc_khz" >"$VM_TMP/tsc" ||
			vm_die "$VM_EX_HOST" "cannot measure the time stamp counter"
		mkdir -p "$VM_CACHE" && cp "$VM_TMP/tsc" "$memo.$$" && mv "$memo.$$" "$memo"
	fi
	cat "$memo"
}

# vm_qemu_words CONSOLE APPEND QEMU_ARG...: fills VM_QEMU with the command of one guest.
# Its port "reeve.out" carries output to the pipe $VM_TMP/stdout, "reeve.ctl" the marks and
# the exit status to $VM_TMP/ctl, "reeve.files" a tar of /out to $VM_TMP/files.tar.
vm_qemu_words()
{
	local console=$1 append=$2 accel cpu=max khz=

	shift 2
	accel=$(vm_accel)
	[ "$accel" != kvm ] || cpu=host
	[ "$accel" != tcg ] || khz=$(vm_tsc_khz) || exit "$VM_EX_HOST"
	[ "$accel" != tcg ] || accel=tcg,thread=multi
	VM_QEMU=(qemu-system-x86_64 -name reeve-vm -accel "$accel" -cpu "$cpu"
		-nodefaults -no-user-config -display none -no-reboot -serial "$console"
		-kernel "$VM_IMAGE/vmlinuz" -initrd "$VM_INITRD"
		-append "${VM_KERNEL_ARGS//[$'\n\t']/ }${khz:+ tsc_early_khz=$khz} $append"
		-device virtio-serial-pci
		-chardev "file,id=out,path=$VM_TMP/stdout"
		-device virtserialport,chardev=out,name=reeve.out
		-chardev "file,id=ctl,path=$VM_TMP/ctl"
		-device virtserialport,chardev=ctl,name=reeve.ctl
		-chardev "file,id=files,path=$VM_TMP/files.tar"
		-device virtserialport,chardev=files,name=reeve.files
		"$@")
}

# A guest says "alive" when its command begins, seconds after power-on. Under emulation on a machine
# with many times more to do than it has cores, the start has been seen to hang before that: such
# a guest is started again.
VM_SILENCE_S=${REEVE_VM_SILENCE_S:-150}
VM_STARTS=3

vm_power_on()
{
	rm -f "$VM_TMP/stdout" "$VM_TMP/ctl" "$VM_TMP/console"
	mkfifo "$VM_TMP/stdout"
	cat "$VM_TMP/stdout" &
	VM_CAT_PID=$!
	TMPDIR=$VM_TMP setpriv --pdeathsig TERM timeout -k 2 "$1" \
		setpriv --pdeathsig KILL "${VM_QEMU[@]}" </dev/null >"$VM_TMP/qemu.log" 2>&1 &
	VM_QEMU_PID=$!
}

# Returns qemu's status.
vm_power_end()
{
	local rc

	wait "$VM_QEMU_PID"
	rc=$?
	VM_QEMU_PID=
	# Ends our reader also when qemu never came to open the pipe.
	: 1<>"$VM_TMP/stdout"
	wait "$VM_CAT_PID"
	VM_CAT_PID=
	return "$rc"
}

# True when the guest has said nothing for VM_SILENCE_S and is still there. Otherwise VM_ALIVE_AT is
# when it said something.
vm_is_silent()
{
	local end=$((SECONDS + VM_SILENCE_S))

	while [ ! -s "$VM_TMP/ctl" ] && kill -0 "$VM_QEMU_PID" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || return 0
		sleep 0.1
	done
	VM_ALIVE_AT=$EPOCHREALTIME
	return 1
}

# vm_qemu TIMEOUT_S APPEND QEMU_ARG...: one guest, from power-on to power-off. Its output
# goes to our stdout as it is written, its console to $VM_TMP/console. Returns qemu's status,
# 124 when the time ran out. Both watchers end with us, however we end.
vm_qemu()
{
	local limit_s=$1 try

	shift
	vm_qemu_words "file:$VM_TMP/console" "$@"
	for try in $(seq "$VM_STARTS"); do
		vm_power_on "$limit_s"
		[ "$try" -lt "$VM_STARTS" ] && vm_is_silent || break
		vm_say "no sign of life after $VM_SILENCE_S s: power off and on again"
		kill -TERM "$VM_QEMU_PID" 2>/dev/null
		vm_power_end
	done
	vm_power_end
}

# vm_mark WORD: the values the guest noted on its control port under WORD.
vm_mark()
{
	[ ! -f "$VM_TMP/ctl" ] || sed -n "s/^$1 //p" "$VM_TMP/ctl" | tail -n 1
}

# vm_verdict QEMU_STATUS LIMIT_S: prints what is to be said, returns what we exit with.
vm_verdict()
{
	local status

	status=$(vm_mark status)
	case $status in
	'' | *[!0-9]*) ;;
	*) return "$status" ;;
	esac
	if [ "$1" = 124 ] || [ "$1" = 137 ]; then
		vm_tail "no end after $2 s, taken down"
		return "$VM_EX_TIMEOUT"
	fi
	if [ "$1" != 0 ]; then
		vm_say "qemu failed ($1):" && cat "$VM_TMP/qemu.log" >&2
		return "$VM_EX_HOST"
	fi
	vm_tail "the guest went down before its command ended"
	return "$VM_EX_GUEST"
}

vm_tail()
{
	vm_say "$1; the last console lines:"
	tail -n 60 "$VM_TMP/console" 2>/dev/null | tr -d '\r' | sed 's/^/    /' >&2
}

# vm_times BEGIN: where the time went since BEGIN (an $EPOCHREALTIME), as the guest noted it.
vm_times()
{
	[ -n "$(vm_mark status)" ] || return 0
	LC_ALL=C awk -v now="$EPOCHREALTIME" -v begin="$1" -v k="$(vm_mark kernel)" \
		-v i="$(vm_mark initrd)" -v r="$(vm_mark restored)" -v b="$(vm_mark begin)" \
		-v e="$(vm_mark end)" -v alive="$VM_ALIVE_AT" -v name="$VM_NAME" 'BEGIN {
		printf "%s: ", name
		if (r) printf "restored, payload %.1f s", b - r
		else printf "kernel %.1f s, initrd %.1f, system %.1f", k, i - k, b - i
		if (alive) printf ", began after %.1f", alive - begin
		printf ", command %.1f; in all %.1f s\n", e - b, now - begin }' >&2
}
