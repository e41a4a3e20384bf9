#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_gpus.sh - GPUs of Slurm's jobs: Slurm gives and holds them, Reeve measures what the job did on those that it has, and charges them. Three
# simulated GPUs (tests/gpu/nvml_double.c, cuda_double.c), one of them split into two MIG instances; their device files are those of other
# devices. gres.conf has them in another order than their numbers. TAP.
#   tests/node/suite.sh slurm_gpus --with slurm --net host
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"
L=/usr/local/lib/reeve-tests

mknod -m 666 /dev/nvidia0 c 1 7
mknod -m 666 /dev/nvidia1 c 1 8
mknod -m 666 /dev/nvidia2 c 1 5
mkdir /dev/nvidia-caps
for i in 66 67; do mknod -m 666 /dev/nvidia-caps/nvidia-cap$i c 1 9; done
for i in 75 76; do mknod -m 666 /dev/nvidia-caps/nvidia-cap$i c $(stat -c '0x%t 0x%T' /dev/cpu_dma_latency); done
mount -t tmpfs none /proc/driver # where NVIDIA's driver says which capability is whose
cap() { # INSTANCE MINOR
	mkdir -p "/proc/driver/nvidia/capabilities/gpu2/mig/$1"
	printf 'DeviceFileMinor: %s\nDeviceFileMode: 292\n' "$2" >"/proc/driver/nvidia/capabilities/gpu2/mig/$1/access"
}
cap gi7 66; cap gi7/ci0 67; cap gi8 75; cap gi8/ci0 76
mkdir -m 1777 /run/loads
cat >/etc/reeve/world <<'WORLD'
driver 535.154.05
clock real
loads /run/loads
gpu 0 uuid=GPU-00000000-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:3b:00.0 minor=0
gpu 1 uuid=GPU-11111111-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:5e:00.0 minor=1
gpu 2 uuid=GPU-22222222-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:86:00.0 minor=2 mig=yes
instance 2 uuid=MIG-77777777-aaaa profile=1g.5gb mem=4864 gi=7 ci=0
instance 2 uuid=MIG-88888888-aaaa profile=1g.5gb mem=4864 gi=8 ci=0
WORLD
mkdir -p /etc/systemd/system/reeve-agent.service.d
printf '[Service]\nEnvironment=REEVE_NVML_DOUBLE=/etc/reeve/world\n' >/etc/systemd/system/reeve-agent.service.d/double.conf
slurm_configure
printf '%s\n' "NvmlLibrary = $L/libnvidia-ml.so.1" >>/etc/reeve/agent.conf
sed -i 's/ CPUs=4/ Gres=gpu:1g.5gb:2,gpu:a100:2 CPUs=4/; $a GresTypes=gpu' /etc/slurm/slurm.conf
C=/dev/nvidia-caps/nvidia-cap
printf '%s\n' 'Name=gpu Type=a100 File=/dev/nvidia1' 'Name=gpu Type=a100 File=/dev/nvidia0' \
	"Name=gpu Type=1g.5gb MultipleFiles=/dev/nvidia2,${C}66,${C}67" "Name=gpu Type=1g.5gb MultipleFiles=/dev/nvidia2,${C}75,${C}76" >/etc/slurm/gres.conf
echo ConstrainDevices=yes >>/etc/slurm/cgroup.conf
slurm_with_controller || { ok 1 "the controller starts" "$(journalctl -u reeve-controller -o cat -n 20)"; tap_end; }
slurm_start || { ok 1 "the cluster starts"; tap_end; }
wait_for 60 node_is_up; ok $? "the node is up" "$(reeve nodes; journalctl -u reeve-agent -o cat -n 20)"
has "$(reeve nodes)" '2 a100-40 .*simulated' "Reeve lists its GPUs" "$(reeve nodes)"
is_ended() { reeve job "vc:$1" --json | grep -q '"state": *"ended"'; }
cat >/usr/local/bin/gpu-work <<SH
#!/bin/sh
# gpu-work MIB DUTY SECONDS GPU
LD_LIBRARY_PATH=$L REEVE_CUDA_LOADS=/run/loads exec $L/gpu-load "\$@"
SH
chmod 755 /usr/local/bin/gpu-work
cat >/usr/local/bin/gpu-opens <<'SH'
#!/bin/sh
# gpu-opens: a line for each device file of a GPU, or of an instance, that can be opened
for n in nvidia0 nvidia1 nvidia2 nvidia-caps/nvidia-cap66 nvidia-caps/nvidia-cap67 nvidia-caps/nvidia-cap75 nvidia-caps/nvidia-cap76; do
	(: </dev/$n) 2>/dev/null && echo "opens $n"
done
true
SH
chmod 755 /usr/local/bin/gpu-opens
[ "$(su alice -c gpu-opens | wc -l)" = 7 ]; ok $? "outside of jobs all their files can be opened" "$(su alice -c gpu-opens)"

slurm_batch alice --gres=gpu:a100:1 --vmem=1G <<<'echo "numbers $SLURM_JOB_GPUS"; gpu-opens; gpu-work 4096 60 12 "$(gpu-opens | tr -dc 01)"'
[ "$(grep -c '^opens' <<<"$out")" = 1 ]; ok $? "a job opens the GPU that Slurm gave it, and no other" "$out"
wait_for 60 is_ended "$job"; ok $? "it is in the ledger" "$(reeve job "vc:$job")"
reeve job "vc:$job" --json >/tmp/job.json
law() { # NAME EXPRESSION
	python3 -c "import json; j = json.load(open('/tmp/job.json'))['job']; raise SystemExit(not ($2))" 2>/tmp/law.err
	ok $? "$1" "$(cat /tmp/law.err /tmp/job.json)"
}
law "with one GPU of its model" "j['request']['resources']['ngpus'] == 1 and j['request']['resources']['gpu_model'] == 'a100-40'"
gpu=$(sed -n 's/^opens nvidia//p' <<<"$out")
law "the one that it can open, not that of Slurm's number: $(grep -o 'numbers.*' <<<"$out")" "j['gpus'][0]['uuid'].startswith('GPU-$gpu$gpu$gpu')"
law "what it did there is measured" "len(j['gpus']) == 1 and j['gpus'][0]['busy_ns'] > 2e9 and j['gpus'][0]['mem_peak_bytes'] >= 4 << 30"
law "and is said to be simulated" "j['gpus'][0]['simulated']"
# A process of its own on the instance that it can open, as the driver would show it.
slurm_batch alice --gres=gpu:1g.5gb:1 --vmem=1G <<'SH'
gpu-opens
i=0
gpu-opens | grep -q cap76 && i=1
echo "instance $i"
echo "2 1000 0 $i" >/run/loads/$$
sleep 8
rm /run/loads/$$
SH
case $out in
*'instance 0'*) want='opens nvidia2 opens nvidia-caps/nvidia-cap66 opens nvidia-caps/nvidia-cap67' uuid=MIG-7777 ;;
*) want='opens nvidia2 opens nvidia-caps/nvidia-cap75 opens nvidia-caps/nvidia-cap76' uuid=MIG-8888 ;;
esac
[ "$(grep '^opens' <<<"$out" | tr '\n' ' ')" = "$want " ]; ok $? "a job with a MIG instance opens its files, and none of another" "$out"
wait_for 60 is_ended "$job"
reeve job "vc:$job" --json >/tmp/job.json
law "the ledger has one instance of its model" "j['request']['resources']['ngpus'] == 1 and j['request']['resources']['gpu_model'] == 'a100_1g.5gb'"
law "the one that it can open" "len(j['gpus']) == 1 and j['gpus'][0]['uuid'].startswith('$uuid')"
law "its memory there is measured; busy time, which the driver does not say of instances, is absent" "j['gpus'][0]['mem_peak_bytes'] == 1000 << 20 and not j['gpus'][0].get('busy_ns')"
slurm_batch alice --vmem=1G <<<gpu-opens
[ -z "$(grep '^opens' <<<"$out")" ]; ok $? "a job without GPUs opens none" "$out"
wait_for 60 is_ended "$job"
reeve job "vc:$job" --json >/tmp/job.json
law "and has none in the ledger" "not j['request']['resources'].get('ngpus')"
slurm_is_idle; ok $? "the node was not drained" "$(sinfo -R)"
tap_end
