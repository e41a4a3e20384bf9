#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A whole Debian 12 node (systemd, cgroup v2, BPF, munge) in a throw-away virtual machine.
set -u

# shellcheck disable=SC2034
VM_NAME=vm
# shellcheck source=tests/vm/vm_lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/vm_lib.sh"
# shellcheck source=tests/vm/vm_image.sh
. "$VM_NODE_DIR/vm_image.sh"
# shellcheck source=tests/vm/vm_state.sh
. "$VM_NODE_DIR/vm_state.sh"

smp=2
mem=2G
numa=
jobfs=ext4
payload=
out=
net=none
forward=
link=
lan=
limit_s=600
kernel_args=
boot_always=${REEVE_VM_BOOT:-}

usage()
{
	cat <<-'EOF'
		usage: vm.sh prepare [--with NAME]
		       vm.sh save [OPTION]...
		       vm.sh run [OPTION]... -- SCRIPT [ARG]...
		       vm.sh shell [OPTION]...
		       vm.sh clean

		prepare  make kernel, initrd and disks (the others do it when needed)
		save     save a booted node of this shape (run does it when needed)
		run      run SCRIPT as root in a fresh node, show its output, exit with its status
		shell    boot a fresh node with a root shell on this terminal; leave with "exit"
		clean    remove every cached image and every saved node

		Under emulation, run restores a saved node instead of booting one: a few seconds, not half a
		minute or more. A shape (--smp, --mem, --jobfs, --with) is saved when it is first run.
		With --boot, --numa, --net, --link, --lan, --kernel-arg, under KVM, or with a payload that
		replaces a file of the node or has what only a boot reads, run boots, and says why. Restored
		nodes share one boot id and the start of their uptime; time and randomness are their own.

		  --smp N             CPUs, or qemu's own words: 8,sockets=2,cores=2,threads=2 (2)
		  --mem SIZE          memory (2G); not with a spelt-out --numa
		  --numa N            N NUMA nodes, CPUs and memory split evenly
		  --numa CPUS:MEM/... each node spelt out: --smp 4 --numa 0-1:1G/2-3:1G
		  --jobfs TYPE        ext4 (project,prjquota), xfs (pquota) or none, a disk of
		                      2 GiB on /var/lib/reeve/jobfs (ext4)
		  --payload DIR       a DESTDIR tree laid over / before the node starts: its files,
		                      links and empty directories, all owned by root
		  --out DIR           what SCRIPT leaves in /out comes back here
		  --net host|none     a network on which the host is 10.0.2.2 and the node the
		                      address that it takes (none)
		  --forward PORT      --net host, and PORT of this machine's loopback leads to PORT of the
		                      node at 10.0.2.15
		  --link HERE,THERE   a second network card, at the end of a cable to another guest, whose
		                      --link is THERE,HERE: two paths of sockets that qemu makes
		  --lan PORT,N        a network card in a network of guests: those of the same PORT of this
		                      machine's loopback; N (1 to 254) is the last byte of its address,
		                      06:00:00:00:00:N
		  --with NAME         a node that has the packages of packages_NAME.txt as well
		  --timeout S         seconds from power-on to power-off (600)
		  --kernel-arg ARG    one more word for the kernel command line; repeatable

		Exit status: SCRIPT's own; 124 when the time ran out, 125 when the node went down
		early (panic, power-off), 126 when this host lacks something, 64 for bad usage.
		With 124, 125 and 126 the reason is on stderr, with the last console lines.

		Environment: REEVE_CACHE (default: .cache in the repository) holds the images and the
		saved nodes, of these REEVE_VM_STATES_MIB (4096) at most, the least used go first;
		REEVE_VM_BOOT=1 is --boot for every run;
		REEVE_VM_ACCEL=kvm|tcg skips the probe for KVM; REEVE_VM_SILENCE_S (150): a guest that
		has not begun SCRIPT by then is started again, twice at most.

		Example: vm.sh run --jobfs xfs --payload build/root -- tests/vm/vm_selftest.sh
	EOF
}

bad_usage()
{
	vm_die "$VM_EX_USAGE" "$@" "(vm.sh --help)"
}

# Takes the options of run and shell; leaves SCRIPT and its arguments in $script_argv.
parse_options()
{
	script_argv=()
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage && exit 0 ;;
		--boot) boot_always=1 && shift && continue ;;
		--) shift && script_argv=("$@") && break ;;
		--*) [ $# -ge 2 ] || bad_usage "$1 needs a value" ;;
		*) script_argv=("$@") && break ;;
		esac
		case $1 in
		--smp) smp=$2 ;;
		--mem) mem=$2 ;;
		--numa) numa=$2 ;;
		--jobfs) jobfs=$2 ;;
		--payload) payload=$2 ;;
		--out) out=$2 ;;
		--net) net=$2 ;;
		--forward) forward=$2 net=host ;;
		--link) link=$2 ;;
		--lan) lan=$2 ;;
		--with) VM_WITH=$2 ;;
		--timeout) limit_s=$2 ;;
		--kernel-arg) kernel_args="$kernel_args $2" ;;
		*) bad_usage "unknown option $1" ;;
		esac
		shift 2
	done
	check_options
}

check_options()
{
	vm_is_smp "$smp" || bad_usage "--smp $smp is not a CPU count"
	vm_is_size "$mem" || bad_usage "--mem $mem is not a size like 512M or 2G"
	vm_is_seconds "$limit_s" || bad_usage "--timeout $limit_s is not seconds"
	case $jobfs in
	ext4 | xfs | none) ;;
	*) bad_usage "--jobfs $jobfs is none of ext4, xfs, none" ;;
	esac
	case $net in
	host | none) ;;
	*) bad_usage "--net $net is neither host nor none" ;;
	esac
	[ -z "$forward" ] || { [[ $forward =~ ^[1-9][0-9]{0,4}$ ]] && [ "$forward" -le 65535 ]; } ||
		bad_usage "--forward $forward is not a port"
	[ -z "$link" ] || [[ $link =~ ^[^,]+,[^,]+$ ]] || bad_usage "--link $link is not HERE,THERE"
	[ -z "$lan" ] || [[ $lan =~ ^[0-9]+,[0-9]+$ && ${lan#*,} -ge 1 && ${lan#*,} -le 254 ]] ||
		bad_usage "--lan $lan is not PORT,N with N from 1 to 254"
	[ -z "$VM_WITH" ] || [ -f "$VM_NODE_DIR/packages_$VM_WITH.txt" ] ||
		bad_usage "--with $VM_WITH: there is no packages_$VM_WITH.txt"
	[ -z "$payload" ] || [ -d "$payload" ] || bad_usage "--payload $payload is no directory"
	[ -z "$numa" ] || [[ $numa =~ ^[1-9]$ || $numa =~ ^[0-9-]+:[0-9]+[MG](/[0-9-]+:[0-9]+[MG])*$ ]] ||
		bad_usage "--numa $numa is neither a count nor CPUS:MEM/CPUS:MEM"
}

size_mib()
{
	case $1 in
	*G) echo $((${1%G} * 1024)) ;;
	*M) echo "${1%M}" ;;
	esac
}

# Fills $machine with qemu's words for CPUs, memory and NUMA nodes.
machine_shape()
{
	local cpus=${smp%%,*} nodes=() total_mib=0 i node

	case $numa in
	'') ;;
	*:*) IFS=/ read -ra nodes <<<"$numa" ;;
	*)
		((cpus % numa == 0)) || bad_usage "$cpus CPUs do not split over $numa nodes"
		for ((i = 0; i < numa; i++)); do
			nodes+=("$((i * cpus / numa))-$(((i + 1) * cpus / numa - 1)):$(($(size_mib "$mem") / numa))M")
		done
		;;
	esac
	[ ${#nodes[@]} -lt 2 ] || [[ $smp = *,* ]] || ((cpus % ${#nodes[@]})) ||
		smp=$smp,sockets=${#nodes[@]}
	machine=()
	for i in "${!nodes[@]}"; do
		node=${nodes[i]}
		machine+=(-object "memory-backend-ram,id=m$i,size=${node#*:}"
			-numa "node,nodeid=$i,cpus=${node%%:*},memdev=m$i")
		total_mib=$((total_mib + $(size_mib "${node#*:}")))
	done
	[ "$total_mib" = 0 ] || mem=${total_mib}M
	machine+=(-smp "$smp" -m "$mem")
	[ "$net" = none ] || machine+=(-netdev "user,id=n0${forward:+,hostfwd=tcp:127.0.0.1:$forward-10.0.2.15:$forward}"
		-device "virtio-net-pci,netdev=n0,romfile=")
	[ -z "$link" ] || machine+=(-netdev
		"dgram,id=n1,local.type=unix,local.path=${link%,*},remote.type=unix,remote.path=${link#*,}"
		-device "virtio-net-pci,netdev=n1,romfile=,mac=$(link_address "${link%,*}")")
	[ -z "$lan" ] || machine+=(-netdev "socket,id=n2,mcast=230.0.0.1:${lan%,*},localaddr=127.0.0.1"
		-device "virtio-net-pci,netdev=n2,romfile=,mac=$(printf '06:00:00:00:00:%02x' "${lan#*,}")")
}

# An address of the locally administered ones: the ends of a cable must not have the same.
link_address()
{
	sha256sum <<<"$1" | sed 's/^\(..\)\(..\)\(..\)\(..\)\(..\).*/02:\1:\2:\3:\4:\5/'
}

# $VM_TMP/job.tar for a boot: the payload, the script with its command line, and the units that run
# it and mount the job disk.
pack_boot()
{
	pack_begin
	write_runner "$VM_TMP/stage/.reeve-vm"
	write_units "$VM_TMP/stage/etc/systemd/system"
	pack_end
}

# For a node that is to be saved: the same without payload and script.
pack_wait()
{
	local payload=

	pack_begin
	install -m 755 "$VM_NODE_DIR/vm_wait.sh" "$VM_TMP/stage/.reeve-vm/guest"
	install -m 755 -t "$VM_TMP/stage/.reeve-vm" "$VM_NODE_DIR/vm_clock.sh"
	write_units "$VM_TMP/stage/etc/systemd/system"
	pack_end
}

# For a saved node: the units are there.
pack_saved()
{
	pack_begin
	write_runner "$VM_TMP/stage/.reeve-vm"
	pack_end
}

pack_begin()
{
	rm -rf "$VM_TMP/stage" "$VM_TMP/job.tar"
	mkdir -p "$VM_TMP/stage/.reeve-vm"
}

pack_end()
{
	chmod -R a+rX "$VM_TMP/stage"
	pack_tree "$VM_TMP/stage" -c
	[ -z "$payload" ] || pack_tree "$payload" -r
	truncate -s ">${VM_JOB_DISK_MIB}M" "$VM_TMP/job.tar"
	rm -rf "$VM_TMP/stage"
}

# pack_tree DIR -c|-r: every owner becomes root, names below the merged /usr are kept so.
# Directories come along only when empty: a DESTDIR made under a tight umask must not close
# the guest's /etc to its users.
pack_tree()
{
	(cd "$1" && find . -mindepth 1 \( ! -type d -o -empty \) -print0) |
		tar -C "$1" --no-recursion --null -T - "$2" -f "$VM_TMP/job.tar" \
			--owner=0 --group=0 --numeric-owner \
			--transform 's,^\./\(bin\|sbin\|lib\|lib64\)/,./usr/\1/,' ||
		vm_die "$VM_EX_HOST" "cannot pack $1"
}

# The script and what it is run with. TERM is not the unit's, which may be older than this run.
write_runner()
{
	local script=${script_argv[0]:-}

	install -m 755 "$VM_NODE_DIR/vm_guest.sh" "$1/guest"
	[ -z "$out" ] || touch "$1/want-out"
	[ -n "$script" ] || return 0
	install -D -m 755 -t "$1/script" "$script" || exit "$VM_EX_HOST"
	{
		echo "TERM=$(vm_quote "${TERM:-dumb}")"
		vm_quote "/.reeve-vm/script/$(basename -- "$script")" "${script_argv[@]:1}"
	} >"$1/cmd"
}

# write_units DIR: what runs vm_guest.sh when the node is up, and mounts the job disk.
write_units()
{
	local unit=$1 stdio=null

	mkdir -p "$unit/reeve-vm.target.wants" "$unit/local-fs.target.wants"
	[ "$verb" != shell ] || stdio="tty"
	cat >"$unit/reeve-vm.target" <<-'EOF'
		[Unit]
		Description=Virtual node with its test
		Requires=multi-user.target
		After=multi-user.target
		JobTimeoutSec=240
		JobTimeoutAction=poweroff-force
	EOF
	# Not oneshot: the manager is to count as running, not as starting, under the test.
	cat >"$unit/reeve-vm.service" <<-EOF
		[Unit]
		Description=Test of the virtual node
		After=multi-user.target systemd-user-sessions.service
		[Service]
		Type=exec
		ExecStart=/.reeve-vm/guest
		StandardInput=${stdio/tty/tty-force}
		StandardOutput=${stdio/null/journal}
		TTYPath=/dev/ttyS0
		Environment=HOME=/root TERM=${TERM:-dumb} LC_ALL=C.UTF-8
		WorkingDirectory=/
		OOMPolicy=continue
		OOMScoreAdjust=-900
		TasksMax=infinity
		TimeoutStopSec=2s
	EOF
	ln -s ../reeve-vm.service "$unit/reeve-vm.target.wants/"
	write_jobfs_mount "$unit"
}

write_jobfs_mount()
{
	local options=prjquota
	local name='var-lib-reeve-jobfs.mount'

	[ "$jobfs" != none ] || return 0
	[ "$jobfs" = ext4 ] || options=pquota
	cat >"$1/$name" <<-EOF
		[Unit]
		Description=Job disk
		[Mount]
		What=/dev/vdc
		Where=/var/lib/reeve/jobfs
		Type=$jobfs
		Options=$options
	EOF
	ln -s "../$name" "$1/local-fs.target.wants/"
}

# disk_words ROOT JOBFS SNAPSHOT: fills $disks: root, the run's files, the job disk. With a snapshot (on)
# writes go to an unlinked file in $VM_TMP and end with the guest.
disk_words()
{
	local words=if=virtio,cache=unsafe

	disks=(
		-drive "file=$1,format=$(disk_format "$1"),$words,snapshot=$3"
		-drive "file=$VM_TMP/job.tar,format=raw,$words,snapshot=on"
	)
	[ "$jobfs" = none ] || disks+=(-drive
		"file=$2,format=$(disk_format "$2"),$words,snapshot=$3,discard=unmap")
}

disk_format()
{
	case $1 in
	*.qcow2) echo qcow2 ;;
	*) echo raw ;;
	esac
}

prepare_run()
{
	vm_prepare
	vm_need qemu-system-x86_64 qemu-system-x86 setpriv util-linux
	vm_tmp
	machine_shape
}

prepare_boot()
{
	pack_boot
	disk_words "$VM_IMAGE/root.img" "$VM_IMAGE/jobfs-$jobfs.img" on
	vm_say "booting: $(shape_words)${1:+ ($1)}"
}

shape_words()
{
	echo "$(vm_accel), $smp CPUs, $mem, jobfs $jobfs"
}

boot_words()
{
	echo "reeve.mode=node root=/dev/vda systemd.unit=reeve-vm.target" \
		"systemd.show_status=error$kernel_args"
}

fetch_out()
{
	[ -n "$out" ] || return 0
	mkdir -p "$out" &&
		tar -C "$out" --no-same-owner -xf "$VM_TMP/files.tar" && return 0
	vm_say "what the script left in /out did not come back whole"
	return 1
}

# Restores a node when this run may have one that was saved, else boots. Returns qemu's status.
run_guest()
{
	local why rc

	if ! why=$(state_why_boot) && ! why=$(state_why_payload); then
		why="no saved node"
		if state_prepare && ! why=$(state_why_payload); then
			vm_say "restoring: $(shape_words)"
			state_run "$limit_s"
			rc=$?
			state_is_lost "$rc" || return "$rc"
			why="the saved one did not come up"
		fi
	fi
	prepare_boot "$why"
	vm_qemu "$limit_s" "$(boot_words)" "${machine[@]}" "${disks[@]}"
}

verb_run()
{
	local begin=$EPOCHREALTIME rc

	parse_options "$@"
	[ ${#script_argv[@]} -gt 0 ] || bad_usage "no script named"
	[ -f "${script_argv[0]}" ] || bad_usage "no script ${script_argv[0]}"
	prepare_run
	run_guest
	vm_verdict $? "$limit_s"
	rc=$?
	if [ -n "$(vm_mark status)" ]; then
		fetch_out || rc=$VM_EX_GUEST
		vm_times "$begin"
	fi
	exit "$rc"
}

verb_save()
{
	local why

	parse_options "$@"
	prepare_run
	if why=$(state_why_boot); then
		vm_die "$VM_EX_USAGE" "such a node is not saved: $why"
	fi
	state_prepare || exit "$VM_EX_HOST"
	vm_say "$VM_STATE"
}

verb_shell()
{
	parse_options "$@"
	[ -t 0 ] || bad_usage "shell needs a terminal"
	[ ${#script_argv[@]} -eq 0 ] || bad_usage "shell takes no script"
	prepare_run
	prepare_boot
	vm_say "leave with exit, or cut off with Ctrl-A x"
	vm_qemu_words mon:stdio "$(boot_words)" "${machine[@]}" "${disks[@]}"
	mkfifo "$VM_TMP/stdout"
	cat "$VM_TMP/stdout" >/dev/null &
	# shellcheck disable=SC2034
	VM_CAT_PID=$!
	TMPDIR=$VM_TMP "${VM_QEMU[@]}"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
prepare) parse_options "$@" && vm_prepare && vm_say "$VM_IMAGE" ;;
save) verb_save "$@" ;;
run) verb_run "$@" ;;
shell) verb_shell "$@" ;;
clean) rm -rf -- "$VM_CACHE" ;;
--help | -h | help) usage ;;
*) usage >&2 && exit "$VM_EX_USAGE" ;;
esac
