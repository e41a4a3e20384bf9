# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Saved nodes. A booted node that waits in vm_wait.sh is saved once below $VM_CACHE/states/<key>/, and
# later runs of the same shape are restored from there:
#   ram                        its memory; each guest maps it copy-on-write
#   device                     the rest of the machine, as qemu's migration stream
#   root.qcow2, jobfs.qcow2    what the boot wrote, over the disks of the image
#   files                      every file that it has, to find a payload that replaces one
# The key is the digest of everything that the state depends on: the shape, the image, this harness, qemu
# and this boot of this host (an emulated CPU counts the host's own ticks). A saved state is never
# written again, so any number of guests may run from it.
# Seconds, emulated on two cores under a load of 10 to 15, 4 CPUs and 2 GiB; a state is about 200 MiB:
#                        start to script    script's end to return
#   boot                 26, 38, 46         0.5, 0.8, 1.7
#   restore              2.3, 2.6, 2.7      0.1, 0.3, 0.4
#   save, then restore   33, 39, 62         0.1, 0.7, 0.8
# Sourced by vm.sh after vm_image.sh; uses its options ($smp, $payload, ...) and its functions.

VM_STATES=$VM_CACHE/states
VM_STATES_MIB=${REEVE_VM_STATES_MIB:-4096}
VM_SAVE_LIMIT_S=300
VM_QMP_S=60
# The disk of the run's files must have one size in all guests of a state.
VM_JOB_DISK_MIB=1024
VM_STATE=
# Paths of a payload that are read before vm_wait.sh begins, or hidden below what is mounted by then.
VM_BOOT_ONLY='^(run|proc|sys|dev|tmp|var/lib/(reeve/jobfs|systemd))/
^etc/(munge|default)/
^etc/(crypttab|modules|sysctl\.conf)$
/(sysctl|modules-load|modprobe|binfmt|environment|udev/rules|udev/hwdb)\.d/
/systemd/[a-z]+\.conf(\.d/|$)
/systemd/system-generators/
/systemd/system/[^/]*(\.slice|@\.service)\.d/'

# Says why this run must boot; fails when it need not.
state_why_boot()
{
	local word

	for word in ${boot_always:+--boot} ${numa:+--numa} ${link:+--link} ${lan:+--lan} \
		${kernel_args:+--kernel-arg}; do
		echo "$word" && return
	done
	[ "$net" = none ] || { echo "--net $net" && return; }
	[ "$(vm_accel)" = tcg ] || { echo "a boot under $(vm_accel) is quick" && return; }
	[[ $VM_CACHE$VM_TMP =~ ^/[A-Za-z0-9/._+@-]+$ ]] ||
		{ echo "odd characters in $VM_CACHE or $VM_TMP" && return; }
	return 1
}

# What the payload has that only a boot reads, or, once VM_STATE is there, what would replace a file of
# the booted node. Fails when there is nothing such.
state_why_payload()
{
	local path

	[ -n "$payload" ] || return 1
	path=$(state_paths | grep -m1 -E "$VM_BOOT_ONLY")
	[ -z "$path" ] || { echo "the payload's $path counts at boot only" && return; }
	[ -e "$VM_STATE/files" ] || return 1
	path=$(state_paths | LC_ALL=C sort -u | LC_ALL=C comm -12 - "$VM_STATE/files" | head -n 1)
	[ -n "$path" ] && echo "the payload replaces $path"
}

# The payload's paths as the node has them, and the unit that each drop-in would change.
state_paths()
{
	(cd "$payload" && find . ! -type d -printf '%P\n') |
		sed -E 's,^(bin|sbin|lib|lib64)/,usr/\1/,; p
			s,^(etc|usr/lib)/systemd/system/([^/]+)\.d/[^/]*$,usr/lib/systemd/system/\2,'
}

state_key()
{
	{
		echo "$VM_IMAGE $VM_INITRD $smp $mem $jobfs $(vm_accel) $VM_KERNEL_ARGS"
		stat -Lc '%n %i %s %Y' "$VM_IMAGE/root.img" "$(command -v qemu-system-x86_64)"
		cat /proc/sys/kernel/random/boot_id "$VM_NODE_DIR"/vm{,_lib,_state,_wait,_clock}.sh
		grep -m1 '^model name' /proc/cpuinfo
	} | sha256sum | cut -c1-16
}

# Sets VM_STATE to a complete state, saving one when there is none. Two at once: the second waits for
# the first and takes its work. Fails with a message when the node cannot be saved.
state_prepare()
{
	local lock rc=0

	VM_STATE=$VM_STATES/$(state_key)
	if [ ! -d "$VM_STATE" ]; then
		mkdir -p "$VM_STATES" && exec {lock}>"$VM_STATE.lock" || return 1
		if flock -n "$lock"; then
			[ -d "$VM_STATE" ] || state_save || rc=1
		else
			vm_say "another run is saving this node, waiting for it"
			flock "$lock"
			[ -d "$VM_STATE" ] || rc=1
		fi
		exec {lock}>&-
	fi
	[ "$rc" = 0 ] || return 1
	touch -c "$VM_STATE"
	[ -w "$VM_STATE/ram" ] || vm_say "$VM_STATE is another user's"
	[ -w "$VM_STATE/ram" ]
}

state_save()
{
	local begin=$SECONDS new=$VM_STATE.new need_mib

	rm -rf -- "$new"
	need_mib=$(($(size_mib "$mem") + 512))
	if [ "$(df --output=avail -BM "$VM_STATES" | tr -dc 0-9)" -lt "$need_mib" ]; then
		vm_say "$VM_STATES has less than $need_mib MiB left, not saving this node"
		return 1
	fi
	vm_say "saving a booted node in $VM_CACHE (once for this shape)"
	if mkdir "$new" && truncate -s "$mem" "$new/ram" && state_boot "$new" &&
		state_freeze "$new" && chmod -R a+rX "$new" && mv -T "$new" "$VM_STATE"; then
		vm_say "node saved after $((SECONDS - begin)) s, $(du -sm "$VM_STATE" | cut -f1) MiB"
		state_prune
		return 0
	fi
	rm -rf -- "$new"
	vm_tail "this node could not be saved"
	return 1
}

# Boots the node that is to be saved, up to its wait. What it writes to its disks goes into $1.
state_boot()
{
	local VM_SILENCE_S=$VM_SAVE_LIMIT_S

	state_make_disk "$VM_IMAGE/root.img" "$1/root.qcow2" || return 1
	[ "$jobfs" = none ] ||
		state_make_disk "$VM_IMAGE/jobfs-$jobfs.img" "$1/jobfs.qcow2" || return 1
	pack_wait
	disk_words "$1/root.qcow2" "$1/jobfs.qcow2" off
	state_power_on "$VM_SAVE_LIMIT_S" "$1/ram" on
	! vm_is_silent && grep -qsx ready "$VM_TMP/ctl" && return 0
	state_power_cut
	return 1
}

# state_make_disk BASE NEW: an empty qcow2 over the raw BASE, made by a qemu without a machine (qemu-img
# is another package). drive-backup would make one too; where the source is a snapshot=on, qemu 7.2
# then deletes BASE.
state_make_disk()
{
	: >"$2"
	VM_QEMU=(qemu-system-x86_64 -machine none -nodefaults -no-user-config -display none)
	qmp_power_on "$VM_QMP_S"
	if qmp '"return"' qmp_capabilities &&
		qmp '"return"' blockdev-add "{\"driver\":\"file\",\"node-name\":\"new\",
			\"filename\":\"$2\"}" &&
		qmp '"concluded"' blockdev-create "{\"job-id\":\"make\",\"options\":{
			\"driver\":\"qcow2\",\"file\":\"new\",\"size\":$(stat -c %s "$1"),
			\"backing-file\":\"$1\",\"backing-fmt\":\"raw\"}}" &&
		qmp '"return"|"SHUTDOWN"' quit; then
		state_power_end
		return
	fi
	state_power_cut
	return 1
}

# state_power_on LIMIT_S RAM SHARED [QEMU_ARG]...: one guest with its memory in the file RAM, to be told
# things by qmp, and with a port "reeve.go" whose end is $go.
state_power_on()
{
	local limit_s=$1

	rm -f "$VM_TMP/go"
	mkfifo "$VM_TMP/go"
	exec {go}<>"$VM_TMP/go"
	vm_qemu_words "file:$VM_TMP/console" "$(boot_words)" "${machine[@]}" "${disks[@]}" \
		-chardev "pipe,id=go,path=$VM_TMP/go" -device virtserialport,chardev=go,name=reeve.go \
		-object "memory-backend-file,id=ram,size=$mem,mem-path=$2,share=$3" \
		-machine pc,memory-backend=ram "${@:4}"
	qmp_power_on "$limit_s"
}

# Starts VM_QEMU with a control channel, whose ends are $qmp_in and $qmp_out.
qmp_power_on()
{
	rm -f "$VM_TMP/qmp.in" "$VM_TMP/qmp.out"
	mkfifo "$VM_TMP/qmp.in" "$VM_TMP/qmp.out"
	exec {qmp_in}<>"$VM_TMP/qmp.in" {qmp_out}<>"$VM_TMP/qmp.out"
	VM_QEMU+=(-chardev "pipe,id=qmp,path=$VM_TMP/qmp" -mon chardev=qmp,mode=control)
	vm_power_on "$1"
}

state_power_cut()
{
	kill -TERM "$VM_QEMU_PID" 2>/dev/null
	state_power_end
}

# Returns qemu's status.
state_power_end()
{
	exec {qmp_in}>&- {qmp_out}>&-
	vm_power_end
}

# qmp WANT COMMAND [ARGUMENTS]: tells qemu, then reads what it says until a line matches WANT.
qmp()
{
	local want=$1 line end=$((SECONDS + VM_QMP_S))

	printf '{"execute":"%s"%s}\n' "$2" "${3:+,\"arguments\":$3}" >&"$qmp_in"
	while [ "$SECONDS" -lt "$end" ]; do
		if read -rt 1 line <&"$qmp_out"; then
			[[ $line =~ $want ]] && return 0
			[[ $line =~ '"error"'|'"failed"' ]] && break
		else
			kill -0 "$VM_QEMU_PID" 2>/dev/null || break
		fi
	done
	echo "qemu did not do: $2 ${3:-}: ${line:-}" >>"$VM_TMP/console"
	return 1
}

# Memory in a shared file is not to be part of the migration stream.
qmp_begin()
{
	qmp '"return"' qmp_capabilities &&
		qmp '"return"' migrate-set-capabilities '{"capabilities":[
			{"capability":"x-ignore-shared","state":true},{"capability":"events","state":true}]}'
}

# Stops the waiting guest, writes all that makes it up into the directory $1, and ends it.
state_freeze()
{
	if qmp_begin && qmp '"STOP"' stop &&
		qmp '"completed"' migrate "{\"uri\":\"exec:cat >$1/device\"}" &&
		qmp '"return"|"SHUTDOWN"' quit; then
		state_power_end
		LC_ALL=C sort -u "$VM_TMP/files.tar" >"$1/files"
		return
	fi
	state_power_cut
	return 1
}

# state_run LIMIT_S: one guest from VM_STATE to its end. Returns qemu's status, as vm_qemu does; one that
# did not come up has left no "alive".
state_run()
{
	pack_saved
	disk_words "$VM_STATE/root.qcow2" "$VM_STATE/jobfs.qcow2" on
	state_power_on "$1" "$VM_STATE/ram" off -incoming defer
	if qmp_begin && qmp '"completed"' migrate-incoming "{\"uri\":\"exec:cat $VM_STATE/device\"}" &&
		qmp '"RESUME"' cont; then
		printf '%s %s\n' "$EPOCHREALTIME" "$(od -An -vtx1 -N64 /dev/urandom | tr -d ' \n')" >&"$go"
		vm_is_silent && kill -TERM "$VM_QEMU_PID"
	else
		kill -TERM "$VM_QEMU_PID" 2>/dev/null
	fi
	state_power_end
}

# state_is_lost QEMU_STATUS: the guest did not come up, for another reason than its time limit. It
# says what qemu said last and removes the state: the next run makes another.
state_is_lost()
{
	! grep -qsx alive "$VM_TMP/ctl" || return 1
	[ "$1" != 124 ] || return 1
	vm_tail "the saved node $VM_STATE did not come up, removing it: $(tail -n 1 "$VM_TMP/qemu.log")"
	rm -rf -- "$VM_STATE"
}

# Removes the states that were not used for longest, until all fit into VM_STATES_MIB, and what killed
# runs have left.
state_prune()
{
	local dir used_mib=0

	find "$VM_STATES" -mindepth 1 -maxdepth 1 -name '*.new' -mmin +60 -exec rm -rf {} +
	for dir in $(find "$VM_STATES" -mindepth 1 -maxdepth 1 -type d ! -name '*.new' \
		-printf '%T@ %p\n' | sort -rn | sed 's/^[^ ]* //'); do
		used_mib=$((used_mib + $(du -sm "$dir" | cut -f1)))
		if [ "$used_mib" -gt "$VM_STATES_MIB" ] && [ "$dir" != "$VM_STATE" ]; then
			rm -rf -- "$dir"
			rm -f -- "$dir.lock"
		fi
	done
}
