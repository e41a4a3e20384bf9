# SPDX-License-Identifier: GPL-2.0-or-later
# top_lib.sh - a controller with two played nodes, jobs of two users, and a terminal (tmux) in which `reeve top` runs. To be
# sourced after tap_lib.sh, live_lib.sh, play_lib.sh and past_lib.sh. shellcheck shell=bash
#
#	top_site		starts the controller and brings the jobs to their states; $jobs are the running ones
#	top_report SECONDS	the jobs of n1 again, that many seconds later
#	screen_open UID WIDTH HEIGHT [ARG]...	`reeve top ARG...` in a terminal of that size
#	verb_open UID WIDTH HEIGHT VERB [ARG]...	`reeve VERB ARG...` in such a terminal
#	screen			what the terminal shows
#	press KEY...		types keys, by tmux's names
#	shows NAME NEEDLE	the screen has the needle within 20 s
#	screen_close		ends the terminal
export LC_ALL=C.UTF-8 TZ=UTC
unset REEVE_CONTROLLER REEVE_PROFILES NO_COLOR TMUX COLUMNS
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'
top_configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 1h
		[Policy]
		PriorityWeightFairshare = 1000
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
top_submit() { # UID ACCOUNT NAME RESOURCES
	local request
	request=$(job_request account="$2" resources="$4")
	job_number "$(ask "$1" POST /v1/jobs "${request/\"name\":\"t\"/\"name\":\"$3\"}")"
}
# Cores 0-3, 4-5, 6-13; the second is nearly at its vmem, the third does nothing with its cores.
top_documents() { # SECONDS since the start: jobs and reports of n1, as arguments of node_sync
	local s=$1 began=$((top_began - 1000)) i=0 cpus=(0-3 4-5 6-13) entries='' reports='' usage
	local cores=(390 195 10) vmem=(2000000000 980000000 100000000)
	for job in "${jobs[@]}"; do
		usage="\"cpu_ns\":$(((1000 + s) * cores[i] * 10000000)),\"vmem_bytes\":${vmem[i]},\"vmem_peak_bytes\":$((vmem[i] + 10000000))"
		usage+=",\"rss_bytes\":$((vmem[i] / 2)),\"rss_peak_bytes\":$((vmem[i] / 2 + 100000000)),\"jobfs_bytes\":1000000,\"jobfs_peak_bytes\":2000000"
		entries+=,$(job_entry "$job" running)
		reports+=,$(job_report "$job" $((s + 1)) running started_s=$began at_s=$((top_began + s)) running_s=$((1000 + s)) \
			usage="$usage" cpus="${cpus[i]}")
		i=$((i + 1))
	done
	top_args=(jobs="${entries#,}" reports="${reports#,}" notes="\"no \\u001b[31mBPF\\u202e here\"")
}
top_report() {
	top_documents "$1"
	node_sync "${top_args[@]}" free='"ncpus":2,"mem_bytes":60000000000,"jobfs_bytes":99000000000,"ngpus":0' >/dev/null
}
top_site() {
	live_munge
	cp build/bin/reeve "$dir/reeve"
	live_open top_configure
	backdate_dispatch "$dir/ledger.db"
	top_began=$(date +%s)
	node_sync >/dev/null
	jobs=("$(top_submit 1 physics molecules '"ncpus":4,"vmem_bytes":4000000000,"walltime_s":2000')"
		"$(top_submit 2 chemistry brim '"ncpus":2,"vmem_bytes":1000000000,"walltime_s":36000')"
		"$(top_submit 2 chemistry lazy '"ncpus":8,"vmem_bytes":8000000000,"walltime_s":36000')")
	until_has '"job":3' node_sync || bail "the jobs are not started: $out"
	top_report 0
	node_sync node=n2 boot=b2 more=',"gpus":[]' >/dev/null
	ask 0 POST /v1/nodes/drain '{"schema":"reeve/1","nodes":["n2"],"reason":"new disks"}' >/dev/null
	waiting=$(top_submit 1 physics patient '"ncpus":16,"vmem_bytes":1000000000,"walltime_s":3600')
}
# Its own server: nothing of the user's configuration, no other session.
screens=0
tmux_do() { tmux -S "$dir/tmux$screens" -f /dev/null "$@"; }
screen_open() {
	local uid=$1 width=$2 height=$3
	shift 3
	screen_close
	screens=$((screens + 1)) # a server that ends takes its socket away later
	printf 'cd /\n%s "%s" top --config "%s" %s\necho "left with $?"\nstty -a >"%s/stty"\nexec sleep 1000\n' \
		"$([ "$uid" = 0 ] || echo "setpriv --reuid $uid --regid $uid --clear-groups")" "$dir/reeve" "$dir/reeve.conf" "$*" "$dir" >"$dir/run.sh"
	tmux_do new-session -d -x "$width" -y "$height" "${screen_env:+env $screen_env }bash $dir/run.sh"
}
verb_open() { # UID WIDTH HEIGHT VERB [ARG]...: `reeve VERB ARG...`, which prints and ends
	local uid=$1 width=$2 height=$3
	shift 3
	screen_close
	screens=$((screens + 1))
	printf 'cd /\n%s "%s" %s --config "%s"\necho "left with $?"\nexec sleep 1000\n' \
		"$([ "$uid" = 0 ] || echo "setpriv --reuid $uid --regid $uid --clear-groups")" "$dir/reeve" "$*" "$dir/reeve.conf" >"$dir/run.sh"
	tmux_do new-session -d -x "$width" -y "$height" "bash $dir/run.sh"
}
screen() { tmux_do capture-pane -p "$@"; }
press() { tmux_do send-keys "$@"; }
shows() { soon "$1" "$2" screen; }
screen_close() { [ "$screens" = 0 ] || tmux_do kill-server 2>/dev/null; }
