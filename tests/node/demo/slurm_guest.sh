#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_guest.sh - jobs of Slurm, with the commands of Slurm: some keep to what they requested of Reeve, others do not.
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"
bold='' plain=''
[ -n "${DEMO_COLOR:-}" ] && bold=$'\033[1m' plain=$'\033[0m'

chapter() { printf '\n%s== %s ==%s\n' "$bold" "$*" "$plain"; }
show() { # COMMAND...: typed by alice
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	(as alice "$@" 2>&1) | sed 's/^/    /'
}
batch() { # NAME OPTION... <<< LINES: a script with these #SBATCH options, to its end; then its output
	local name=$1 file=/home/alice/$1.sh option
	shift
	{
		echo '#!/bin/bash'
		for option; do echo "#SBATCH $option"; done
		cat
	} >"$file"
	chmod 755 "$file"
	show cat "$name.sh"
	printf '%s$ sbatch %s.sh%s\n' "$bold" "$name" "$plain"
	job=$(as alice sbatch --parsable -o "$name.out" "$file") || return
	echo "    Submitted batch job $job"
	wait_for 60 slurm_is_over "$job"
	show cat "$name.out"
}
is_ended() { reeve job "vc:$1" --json | grep -q '"state": *"ended"'; }

slurm_configure
slurm_plugin max-vmem=1G default-vmem=500M max-jobfs=1G
slurm_with_controller && slurm_start || { echo "the cluster does not start" >&2; exit 1; }
wait_for 60 node_is_up

chapter "What the site has: one line of plugstack.conf, and Engine=slurm"
show cat /etc/slurm/plugstack.conf
show sinfo
show reeve nodes
printf '%s$ srun --help | grep Reeve%s\n' "$bold" "$plain"
as alice srun --help 2>&1 | grep -A 1 '\[Reeve\]'

chapter "A job that keeps to its request"
batch good --vmem=300M --jobfs=100M <<<$'echo "my own disk: $TMPDIR"\nload work 3 32'
good=$job

chapter "Jobs that do not"
batch one-mapping --vmem=100M <<<'load map 300'
killed=$job
batch two-steps --vmem=100M <<<$'srun --overlap -n 1 load map 60 &\nsrun --overlap -n 1 load map 60 &\nwait; sleep 3'
batch big-file --jobfs=20M <<<$'head -c 50000000 /dev/zero >$TMPDIR/file\nsleep 3'
show srun --vmem=100M load forks 16 10
show srun --vmem=2G true
show srun --vmem=4000 true

chapter "Why was my job killed? Slurm knows"
printf '%s$ scontrol show job %s | grep AdminComment%s\n' "$bold" "$killed" "$plain"
scontrol show job "$killed" | grep AdminComment
show sacct -X -o "JobID,JobName,State,ExitCode,AdminComment%80"

chapter "And Reeve: requested against used, and the charge"
wait_for 60 is_ended "$killed"
show reeve job "vc:$killed"
show reeve job "vc:$good"
show reeve jobs -a
show reeve usage
