#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One program on the virtual node's kernel, without a system around it: for the many small
# tests of BPF and cgroup behaviour. From power-on to power-off in a few seconds.
set -u

# shellcheck disable=SC2034
VM_NAME=vmtest
# shellcheck source=tests/vm/vm_lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../vm/vm_lib.sh"
# shellcheck source=tests/vm/vm_image.sh
. "$VM_NODE_DIR/vm_image.sh"

mem=512M
smp=2
limit_s=120
kernel_args=
adds=()
verbose=0

usage()
{
	cat <<-'EOF'
		usage: vmtest.sh [OPTION]... -- PROGRAM [ARG]...

		Boots the virtual node's kernel with busybox and PROGRAM alone, runs it as root,
		shows its output (stdout and stderr together) and exits with its status.
		Mounted there: proc, sys, devtmpfs, cgroup2 on /sys/fs/cgroup with every
		controller on for its children, bpf, tracefs, debugfs, securityfs, tmpfs on /tmp and /dev/shm.
		PROGRAM is best static; the shared libraries of another one are taken along. A
		script for busybox sh is a program too.

		  --mem SIZE        memory (512M)
		  --smp N           CPUs, or qemu's own words (2)
		  --add FILE:PATH   FILE of this host as PATH there; repeatable
		  --timeout S       seconds from power-on to power-off (120)
		  --kernel-arg ARG  one more word for the kernel command line; repeatable
		  --verbose         say accelerator and times on stderr

		Exit status: PROGRAM's own; 124 when the time ran out, 125 when the kernel went down
		early, 126 when this host lacks something, 64 for bad usage.

		Example: vmtest.sh --add build/bpf/vmem.bpf.o:/vmem.bpf.o -- build/tests/bpf/storm 1000
	EOF
}

bad_usage()
{
	vm_die "$VM_EX_USAGE" "$@" "(vmtest.sh --help)"
}

parse_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage && exit 0 ;;
		--verbose) verbose=1 && shift && continue ;;
		--) shift && break ;;
		--*) [ $# -ge 2 ] || bad_usage "$1 needs a value" ;;
		*) break ;;
		esac
		case $1 in
		--mem) mem=$2 ;;
		--smp) smp=$2 ;;
		--timeout) limit_s=$2 ;;
		--add) adds+=("$2") ;;
		--kernel-arg) kernel_args="$kernel_args $2" ;;
		*) bad_usage "unknown option $1" ;;
		esac
		shift 2
	done
	argv=("$@")
	check_options
}

check_options()
{
	local add

	vm_is_smp "$smp" || bad_usage "--smp $smp is not a CPU count"
	vm_is_size "$mem" || bad_usage "--mem $mem is not a size like 512M or 2G"
	vm_is_seconds "$limit_s" || bad_usage "--timeout $limit_s is not seconds"
	[ ${#argv[@]} -gt 0 ] || bad_usage "no program named"
	[ -f "${argv[0]}" ] || bad_usage "no program ${argv[0]}"
	for add in "${adds[@]}"; do
		[[ $add = *:/* ]] || bad_usage "--add $add is not FILE:/PATH"
		[ -f "${add%%:*}" ] || bad_usage "--add: no file ${add%%:*}"
	done
}

# The loader and the libraries of a program that is not static, at the same paths.
add_libraries()
{
	local lib

	for lib in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
		install -D -m 755 "$lib" "$2$lib" || exit "$VM_EX_HOST"
	done
}

# The common initial RAM disk, followed by an archive with this run's own files.
pack_program()
{
	local tree=$VM_TMP/tree add

	mkdir -p "$tree/test/bin"
	install -m 755 "${argv[0]}" "$tree/test/bin/" || exit "$VM_EX_HOST"
	add_libraries "${argv[0]}" "$tree"
	for add in "${adds[@]}"; do
		install -D -m "$(stat -c %a "${add%%:*}")" "${add%%:*}" "$tree${add#*:}" ||
			exit "$VM_EX_HOST"
	done
	vm_quote "/test/bin/$(basename -- "${argv[0]}")" "${argv[@]:1}" >"$tree/test/cmd"
	(cd "$tree" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) >"$VM_TMP/tree.cpio" ||
		vm_die "$VM_EX_HOST" "cannot pack the program"
	cat "$VM_INITRD" "$VM_TMP/tree.cpio" >"$VM_TMP/initrd" || exit "$VM_EX_HOST"
	VM_INITRD=$VM_TMP/initrd
	rm -rf "$tree" "$VM_TMP/tree.cpio"
}

main()
{
	local begin=$EPOCHREALTIME rc

	parse_options "$@"
	vm_prepare
	vm_need qemu-system-x86_64 qemu-system-x86 setpriv util-linux cpio cpio
	vm_tmp
	[ "$verbose" = 0 ] || vm_say "booting: $(vm_accel), $smp CPUs, $mem"
	pack_program
	vm_qemu "$limit_s" "reeve.mode=test $kernel_args" -smp "$smp" -m "$mem"
	vm_verdict $? "$limit_s"
	rc=$?
	[ "$verbose" = 0 ] || vm_times "$begin"
	exit "$rc"
}

main "$@"
