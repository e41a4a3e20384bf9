# SPDX-License-Identifier: GPL-2.0-or-later
# group_lib.sh - half an allocation year of a site with two clusters, three projects and their allocations, in
# a ledger: what pages of group usage, quotas and shares show. To be sourced, after live_lib.sh.
# shellcheck shell=bash
#
#	group_history LEDGER CONFIG	imports the jobs; the configuration has their clusters
#	group_open [QUOTA]		the whole site: history, controller, accounts; $dir/reeve for other users
#	group_sections [QUOTA]		prints [Policy] and the clusters; QUOTA: target, grant or window
#	group_accounts [QUOTA]		prints accounts and allocations, for accounts.conf
#
# daemon owns rrg-curie, and shares def-meitner with bin. Last month of rrg-curie: bin 4,000 core-hours, daemon 1,000.
group_from=$(date -u -d "$(date -u +%Y-%m-01) -6 months" +%Y-%m-%d)
group_to=$(date -u -d "$group_from +1 year" +%Y-%m-%d)
group_last=$(date -u -d "$(date -u +%Y-%m-01) -1 month" +%Y-%m)
group_history() {
	python3 - "$group_from" >"$dir/group.sacct" <<'PY'
import datetime, sys
utc = datetime.timezone.utc
first = datetime.datetime.fromisoformat(sys.argv[1]).replace(tzinfo=utc)
now = datetime.datetime.now(utc)
n = 0
def job(cluster, account, user, start, hours, cpus, mem_gb, gpus=0):
    global n
    n += 1
    end = start + datetime.timedelta(hours=hours)
    stamp = lambda t: t.strftime('%Y-%m-%dT%H:%M:%S')
    tres = f'billing={cpus},cpu={cpus},mem={mem_gb}G,node=1' + (f',gres/gpu={gpus}' if gpus else '')
    row = [n, n, cluster, 'all', 'normal', account, account, 1, user, 1, stamp(start), stamp(start), stamp(start), stamp(end),
           f'{hours:02d}:00:00', '0:0', 'COMPLETED', 1, cpus, cpus, f'{mem_gb}G', tres, tres, '1-00:00:00', f'{cluster}1', 'job']
    sys.stdout.buffer.write('|'.join(str(c) for c in row).encode('utf-8', 'surrogateescape') + b'\n')
month = first
k = 0
job('cedar', 'rrg-curie', 'bin', first - datetime.timedelta(days=40), 10, 8, 8)
while month < now:
    def run(cluster, account, user, day, *what):
        start = month + datetime.timedelta(days=day)
        if start + datetime.timedelta(hours=what[0]) < now:
            job(cluster, account, user, start, *what)
    last = (month + datetime.timedelta(days=32)).replace(day=1) <= now < (month + datetime.timedelta(days=63)).replace(day=1)
    run('narval', 'rrg-curie', 'bin', 2, 20, 200 if last else 50 + 20 * k, 4)
    run('narval', 'rrg-curie', 'daemon', 3, 20, 50, 4)
    run('cedar', 'rrg-curie', 'daemon', 4, 10, 30 + k, 480)
    run('narval', 'rrg-curie', 'bin', 5, 12, 12, 32, 4)
    run('narval', 'def-meitner', 'daemon', 6, 5, 10, 8)
    run('cedar', 'def-meitner', 'bin', 7, 8, 16, 400)
    run('cedar', '<b>&"x"</b>', 'sys', 8, 1, 4, 4)
    run('cedar', 'caf\udcff', "o'<i>", 9, 1, 4, 4)
    month = (month + datetime.timedelta(days=32)).replace(day=1)
    k += 1
PY
	"$PWD/build/bin/reeve" import sacct "$dir/group.sacct" --profile "$2" --ledger "$1" >"$dir/group.out" 2>&1 ||
		bail "the history is not imported: $(cat "$dir/group.out")"
}
group_sections() { # [QUOTA]
	cat <<-CONF
		[Policy]
		Quota = ${1:-target}
		AllocationYearStart = ${group_from:5}
		PriorityWeightFairshare = 100000
		[Cluster narval]
		BundleCores = 1
		BundleMemory = 4GB
		GpuBundleGpus = 1
		GpuBundleCores = 12
		GpuBundleMemory = 127GB
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		[Cluster cedar]
		BundleCores = 1
		BundleMemory = 4GB
	CONF
}
group_accounts() { # [QUOTA]
	local kind=target curie=4 gpu=0.2 meitner=1
	case ${1:-target} in
	grant) kind=grant curie=25000 gpu=500 meitner=5000 ;;
	window*) kind=monthly curie=3500 gpu=60 meitner=700 ;;
	esac
	cat <<-CONF
		[Account rrg-curie]
		Description = Radium & its salts
		Shares = 3
		Coordinators = daemon
		Users = daemon, bin
		[Account def-meitner]
		Users = daemon, bin
		[Account rpp-empty]
		Users = sys
	CONF
	group_allocation rrg-curie cpu $kind $curie
	group_allocation rrg-curie gpu $kind $gpu
	group_allocation def-meitner cpu $kind $meitner
	printf '[Allocation rrg-curie/disk]\nKind = storage\nAmount = 10TB\nFrom = %s\nTo = %s\n' "$group_from" "$group_to"
}
group_allocation() { # ACCOUNT POOL KIND AMOUNT
	printf '[Allocation %s/%s]\nKind = %s\nPool = %s\nAmount = %s\nFrom = %s\nTo = %s\n' "$1" "$2" "$3" "$2" "$4" "$group_from" "$group_to"
}
group_configure() { # QUOTA
	{ live_controller "$dir/live.db"; group_sections "$1"; } >"$dir/controller.conf"
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
	[ -s "$dir/live.db" ] || group_history "$dir/live.db" "$dir/controller.conf"
}
group_open() { # [QUOTA]
	cp build/bin/reeve "$dir/reeve"
	live_open group_configure "${1:-target}"
	group_accounts "${1:-target}" >"$dir/accounts.conf"
	"$dir/reeve" admin accounts apply --config "$dir/reeve.conf" "$dir/accounts.conf" >"$dir/group.out" 2>&1 ||
		bail "the accounts are not applied: $(cat "$dir/group.out")"
}
