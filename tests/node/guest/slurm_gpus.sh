#!/bin/bash
# slurm_gpus.sh - GPUs of Slurm's jobs: Slurm gives and holds them, Reeve measures what the job did on those that it has, and charges them. Two
# simulated GPUs (tests/gpu/nvml_double.c, cuda_double.c), whose device files are those of other devices. TAP.
#   tests/node/suite.sh slurm_gpus --with slurm --net host
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"
L=/usr/local/lib/reeve-tests

mknod -m 666 /dev/nvidia0 c 1 7
mknod -m 666 /dev/nvidia1 c 1 8
mkdir -m 1777 /run/loads
cat >/etc/reeve/world <<'WORLD'
driver 535.154.05
clock real
loads /run/loads
gpu 0 uuid=GPU-00000000-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:3b:00.0 minor=0
gpu 1 uuid=GPU-11111111-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:5e:00.0 minor=1
WORLD
mkdir -p /etc/systemd/system/reeve-agent.service.d
printf '[Service]\nEnvironment=REEVE_NVML_DOUBLE=/etc/reeve/world\n' >/etc/systemd/system/reeve-agent.service.d/double.conf
slurm_configure
printf '%s\n' "NvmlLibrary = $L/libnvidia-ml.so.1" >>/etc/reeve/agent.conf
sed -i 's/ CPUs=4/ Gres=gpu:2 CPUs=4/; $a GresTypes=gpu' /etc/slurm/slurm.conf
echo 'Name=gpu File=/dev/nvidia[0-1]' >/etc/slurm/gres.conf
echo ConstrainDevices=yes >>/etc/slurm/cgroup.conf
slurm_with_controller || { ok 1 "the controller starts" "$(journalctl -u reeve-controller -o cat -n 20)"; tap_end; }
slurm_start || { ok 1 "the cluster starts"; tap_end; }
wait_for 60 node_is_up; ok $? "the node is up" "$(reeve nodes; journalctl -u reeve-agent -o cat -n 20)"
has "$(reeve nodes)" '2 a100-40 .*simulated' "Reeve lists its GPUs" "$(reeve nodes)"
is_ended() { reeve job "vc:$1" --json | grep -q '"state": *"ended"'; }
cat >/usr/local/bin/gpu-work <<SH
#!/bin/sh
# gpu-work MIB DUTY SECONDS: works on the first GPU of the job
LD_LIBRARY_PATH=$L REEVE_CUDA_LOADS=/run/loads exec $L/gpu-load "\$@" \${SLURM_JOB_GPUS%%,*}
SH
chmod 755 /usr/local/bin/gpu-work

slurm_batch alice --gres=gpu:1 --vmem=1G <<<'for n in 0 1; do (: </dev/nvidia$n) 2>/dev/null && echo "opens $n"; done; gpu-work 4096 60 12'
[ "$(grep -c '^opens' <<<"$out")" = 1 ]; ok $? "a job opens the GPU that Slurm gave it, and no other" "$out"
wait_for 60 is_ended "$job"; ok $? "it is in the ledger" "$(reeve job "vc:$job")"
reeve job "vc:$job" --json >/tmp/job.json
law() { # NAME EXPRESSION
	python3 -c "import json; j = json.load(open('/tmp/job.json'))['job']; raise SystemExit(not ($2))" 2>/tmp/law.err
	ok $? "$1" "$(cat /tmp/law.err /tmp/job.json)"
}
law "with one GPU of its model" "j['request']['resources']['ngpus'] == 1 and j['request']['resources']['gpu_model'] == 'a100-40'"
law "what it did there is measured" "len(j['gpus']) == 1 and j['gpus'][0]['busy_ns'] > 2e9 and j['gpus'][0]['mem_peak_bytes'] >= 4 << 30"
law "and is said to be simulated" "j['gpus'][0]['simulated']"
slurm_batch alice --vmem=1G <<<'for n in 0 1; do (: </dev/nvidia$n) 2>/dev/null && echo "opens $n"; done; true'
[ -z "$(grep '^opens' <<<"$out")" ]; ok $? "a job without GPUs opens none" "$out"
wait_for 60 is_ended "$job"
reeve job "vc:$job" --json >/tmp/job.json
law "and has none in the ledger" "not j['request']['resources'].get('ngpus')"
slurm_is_idle; ok $? "the node was not drained" "$(sinfo -R)"
tap_end
