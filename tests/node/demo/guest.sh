#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest.sh ROOT - real jobs on this node: one keeps to its request, the others exceed it; and
# two with a simulated GPU each, of which one does nothing.
# Runs as root on a machine with systemd and cgroup v2, from a tree installed below ROOT. It starts
# a controller and an agent of its own (units reeve-demo-*), and takes them away again at the end.
set -u
ROOT=${1:-/}
ROOT=${ROOT%/}
. "$(dirname "$0")/node_lib.sh"
D=/run/reeve-demo
LIB=$ROOT/usr/local/lib/reeve-demo
LOAD=$ROOT/usr/local/bin/load
NODE_USER=nobody
PATH=$ROOT/usr/bin:$ROOT/usr/sbin:$PATH
export REEVE_CONTROLLER=http://127.0.0.1:8641
bold='' plain='' listen=
# The port of a virtual node that its host forwards comes from outside.
[ -z "${KEEP:-}" ] || ! grep -qF 10.0.2.15 /proc/net/fib_trie || listen=0.0.0.0
[ -n "${DEMO_COLOR:-}" ] && bold=$'\033[1m' plain=$'\033[0m'

as() {
	local user=$1
	shift
	runuser -u "$user" -- env -C $D/home HOME=$D/home USER="$user" "$@"
}

take_down() {
	systemctl stop reeve-demo-agent reeve-demo-controller 2>/dev/null
	systemctl stop 'reeve-job-*' 'reeve-views-*-reeve-demo-*' reevedemo.slice 2>/dev/null
	mountpoint -q $D/jobfs && umount $D/jobfs
	[ ! -d $D/loads ] || rm -f /dev/nvidia0 /dev/nvidia1
	rm -rf $D /sys/fs/bpf/reeve-demo /run/systemd/system/reevedemo.slice
	systemctl daemon-reload
}

# Node-local disk with project quotas: a disk of the machine that has them, else a loop device.
make_jobfs() {
	mkdir -p $D/jobfs
	if mountpoint -q /var/lib/reeve/jobfs; then
		mount --bind /var/lib/reeve/jobfs $D/jobfs
	else
		truncate -s 512M $D/jobfs.img &&
			mkfs.ext4 -q -O quota,project $D/jobfs.img &&
			mount -o loop,prjquota $D/jobfs.img $D/jobfs
	fi
}

# Two GPUs that are not there: a double of NVIDIA's library tells of them, one of CUDA's works on
# them. Their device files have numbers of other devices (full, random), so that they can be opened;
# where the machine has NVIDIA files of its own, there are none.
make_gpus() {
	local n
	for n in /dev/nvidia*; do [ ! -e "$n" ] || return; done
	mkdir -m 1777 $D/loads
	mknod -m 666 /dev/nvidia0 c 1 7
	mknod -m 666 /dev/nvidia1 c 1 8
	{
		printf 'driver 535.154.05\nclock real\nloads %s\n' $D/loads
		for n in 0 1; do
			echo "gpu $n uuid=GPU-simulated-$n name=A100-SXM4-40GB mem=40960 bus=0000:${n}b:00.0 minor=$n"
		done
	} >$D/world
	printf 'NvmlLibrary = %s\nCudaLibrary = %s\n' $LIB/libnvidia-ml.so.1 $LIB/libcuda.so.1 >>$D/agent.conf
	cat >$D/gpu-load <<-EOF
		#!/bin/sh
		# gpu-load MIB DUTY SECONDS: work on the simulated GPU that this job was given
		: </dev/nvidia\${CUDA_VISIBLE_DEVICES##*-}
		LD_LIBRARY_PATH=$LIB REEVE_CUDA_LOADS=$D/loads exec $LIB/gpu-load "\$@" \${CUDA_VISIBLE_DEVICES##*-}
	EOF
	chmod 755 $D/gpu-load
}

configure() {
	mkdir -p $D/home/.config
	printf '[Client]\nControllerUser = root\n' >$D/home/.config/reeve.conf
	cat >$D/controller.conf <<-EOF
		[Controller]
		Listen = ${listen:-127.0.0.1}:8641
		Database = $D/state/ledger.db
		Operators = root
		AcceptNodes = any

		[Policy]
		GpuIdleMinutes = 1

		[Cluster demo]
		BundleCores = 1
		BundleMemory = 4GB
		GpuBundleGpus = 1
		GpuBundleCores = 12
		GpuBundleMemory = 127000MB

		[Cluster history]

		[Account physics]
		Users = nobody
	EOF
	[ ! -e $LIB/history.db ] || install -m 600 $LIB/history.db $D/state/ledger.db
	cat >$D/agent.conf <<-EOF
		[Agent]
		Node = $(uname -n)
		Controller = $REEVE_CONTROLLER
		ControllerUser = root
		RunDirectory = $D/agent
		StateDirectory = $D/agent-state
		JobfsDirectory = $D/jobfs
		PinDirectory = /sys/fs/bpf/reeve-demo
		Slice = reevedemo.slice
		LaunchProgram = $ROOT/usr/libexec/reeve/reeve-launch
		ReportInterval = 2s
		SampleInterval = 1s
		KillGrace = 2s
		StrayProcesses = ignore
	EOF
}

start_daemons() {
	install -D -m 644 $ROOT/usr/lib/systemd/system/reeve.slice /run/systemd/system/reevedemo.slice
	systemctl daemon-reload
	mkdir -p $D/state $D/home $D/agent-state && chown $NODE_USER $D/home
	systemctl start munge || { echo "munge does not start"; return 1; }
	make_jobfs && configure && make_gpus || return 1
	systemd-run -q --unit=reeve-demo-controller -p Type=notify \
		reeve-controller --config $D/controller.conf &&
		systemd-run -q --unit=reeve-demo-agent -p Type=notify -p LimitMEMLOCK=infinity \
			-E REEVE_NVML_DOUBLE=$D/world \
			reeve-agent --config $D/agent.conf &&
		wait_for 60 node_is_up && return 0
	echo "Reeve did not start:"
	journalctl -n 30 --no-pager -u reeve-demo-controller -u reeve-demo-agent
	return 1
}

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { # COMMAND...: as the user would see it
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	as "$NODE_USER" "$@" 2>&1
}
# job NAME RESOURCES LOAD...: run it and show how it ended
job() {
	local name=$1 res=$2
	shift 2
	printf '%s$ reeve run -N %s -l %s -- load %s%s\n' "$bold" "$name" "$res" "$*" "$plain"
	as "$NODE_USER" reeve run -N "$name" -l "$res" -- "$LOAD" "$@" 2>&1 | sed 's/^/    /'
	echo "    (exit status ${PIPESTATUS[0]})"
}

ended() { as "$NODE_USER" reeve job "$1" --json | grep -q '"state": *"ended"'; }
# begin NAME RESOURCES COMMAND...: submits a job; $id
begin() {
	local name=$1 res=$2
	shift 2
	id=$(as "$NODE_USER" reeve submit -N "$name" -o "$name.out" -j oe -l "$res" -- "$@") ||
		{ echo "submit failed: $id"; exit 1; }
	printf '%s$ reeve submit -N %s -l %s -- %s%s\n    job %s\n' "$bold" "$name" "$res" "${*##*/}" "$plain" "$id"
}

begin_gpu_jobs() {
	say "Two jobs with a simulated GPU each: one works, one holds memory there and does nothing"
	begin gpu-work ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:10:00,ngpus=a100:1 $D/gpu-load 4096 60 25
	worker=$id
	begin gpu-idle ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:10:00,ngpus=a100:1 $D/gpu-load 1024 0 900
	holder=$id
}
is_idle() { as "$NODE_USER" reeve job "$holder" --json | grep -q '"gpu_idle": *true'; }
show_gpu_jobs() {
	say "A GPU that is held and does nothing (simulated GPUs; idle is said from GpuIdleMinutes = 1 on)"
	wait_for 90 ended "$worker"
	wait_for 120 is_idle
	show reeve jobs --columns job,name,state,ngpus,gpu_model,gpu_busy_ns,gpu_mem_peak_bytes,gpu_idle_ns,note
	as "$NODE_USER" reeve cancel "$holder" >/dev/null
	wait_for 30 ended "$holder"
	show reeve job "$holder"
	show reeve eff "$worker" "$holder" --columns job,ngpus,running_ms,gpu_percent,idle_gpu_ms,gpu_mem_peak_bytes,charge_requested_ms
}

# What `reeve top` writes to a terminal of 80x24 for some seconds, for a picture (tests/browser/pictures.sh).
record_terminal() { # FILE
	(sleep 8; printf q) | as "$NODE_USER" env TERM=xterm-256color script -qfec 'stty cols 80 rows 24; reeve top --delay 2' /dev/null >"$1" 2>/dev/null
}

trap take_down EXIT
start_daemons || exit 1
say "The node"
show reeve nodes
[ ! -d $D/loads ] || show reeve nodes --columns node,ngpus,gpu_models,gpus_simulated
show reeve cost -l ncpus=2,vmem=10GB,jobfs=50MB,walltime=1:00:00

say "A neighbour that runs beside all the others, on a core of its own"
begin neighbour ncpus=1,vmem=200MB,jobfs=10MB,walltime=0:10:00 "$LOAD" work 600 16
neighbour=$id
# Beside the others where there is a core for each; else when the neighbour is gone.
holder=
[ ! -d $D/loads ] || [ "$(nproc)" -lt 4 ] || begin_gpu_jobs

[ -z "${RECORD:-}" ] || record_terminal /out/terminal &
say "A job that keeps to its request"
job good ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 work 3 32

say "Jobs that do not"
job one-mapping ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 map 200
job many-forks ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 forks 16 10
job shared-maps ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 shared 16
job deep-stack ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 stack 200
job exec-loop ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 exec
job memory ncpus=1,vmem=400MB,mem=50MB,jobfs=10MB,walltime=0:01:00 touch 150
job big-file ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 file 64
job many-files ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 files 64
job deleted-file ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 deleted 64
job too-long ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:00:03 sleep 60
job greedy ncpus=1,vmem=1GB,jobfs=10MB,walltime=0:01:00 greedy 3 6
job fork-bomb ncpus=1,vmem=500MB,jobfs=10MB,walltime=0:01:00,pids=50 bomb 3

as "$NODE_USER" reeve cancel "$neighbour" >/dev/null
wait_for 30 ended "$neighbour"
if [ -d $D/loads ]; then
	[ -n "$holder" ] || begin_gpu_jobs
	show_gpu_jobs
else
	say "This machine has NVIDIA devices of its own: the simulated GPUs are left out"
fi

say "What each requested, used and was charged"
show reeve jobs -a --columns job,name,result,ncpus,vmem_bytes,vmem_peak_bytes,cpu_ns,running_ns,charge_requested_ms,charge_used_ms
say "Why was my job killed?"
second=$(as "$NODE_USER" reeve jobs -a --csv -n --columns job,name | sed -n 's/,many-forks$//p')
show reeve job "${second:-3}"
say "The account"
show reeve usage

# A link is for one use, within two minutes.
show_page() {
	local link
	link=$(reeve web --print) || { echo "no page: $link"; return; }
	say "The same in a browser: as an operator (a link is for one use, within two minutes)"
	echo "    $link"
}
say "On the page: ${KEEP:+served until Ctrl-C; }a page is the documents of the API"
[ ! -e $LIB/history ] || echo "    beside these jobs there is a history: $(cat $LIB/history)"
if [ -z "${KEEP:-}" ]; then
	echo "    make demo KEEP=1 keeps serving it, and prints a link"
else
	while :; do
		show_page
		sleep 110
	done
fi
