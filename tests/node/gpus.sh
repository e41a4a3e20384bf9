#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpus.sh [options] - run tests/node/guest/gpus.sh, or gpus_options.sh, on a virtual node that
# has four simulated GPUs (tests/gpu/nvml_double.c); their device files have numbers of devices that
# open for real.
set -eu
guest=gpus${1:+_$1}.sh
cd "$(dirname "$0")/../.."
O=build
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-gpus.XXXXXX")
trap 'rm -rf "$tree"' EXIT
make --no-print-directory -s install DESTDIR="$tree" >/dev/null
make --no-print-directory -s $O/tests/node/load $O/tests/gpu/r535/libnvidia-ml.so.1 \
	$O/tests/gpu/libcuda.so.1 $O/tests/gpu/load
install -D -m 755 $O/tests/node/load "$tree/usr/local/bin/load"
install -D -m 755 $O/tests/gpu/load "$tree/usr/local/bin/gpuload"
install -D -m 755 -t "$tree/usr/local/lib/reeve-tests" $O/tests/gpu/r535/libnvidia-ml.so.1 $O/tests/gpu/libcuda.so.1 \
	tests/node/node_lib.sh tests/node/guest/gpus_lib.sh "tests/node/guest/$guest"
cp -r tests/node/etc/. "$tree/etc/"
cat >>"$tree/etc/reeve/agent.conf" <<'CONF'
NvmlLibrary = /usr/local/lib/reeve-tests/libnvidia-ml.so.1
CONF
cat >>"$tree/etc/reeve/controller.conf" <<'CONF'

[GpuModel a100-40]
Weight = 1
[GpuModel h100-80]
Weight = 2
CONF
cat >"$tree/etc/reeve/world" <<'WORLD'
driver 535.154.05
clock real
loads /run/loads
gpu 0 uuid=GPU-00000000-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:3b:00.0 minor=0
gpu 1 uuid=GPU-11111111-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:5e:00.0 minor=1
gpu 2 uuid=GPU-22222222-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:86:00.0 minor=2
gpu 3 uuid=GPU-33333333-hhhh name=H100_80GB_HBM3 mem=81559 bus=0000:af:00.0 minor=3
WORLD
sed -i '/^BundleMemory/a GpuBundleGpus = 1\nGpuBundleCores = 1\nGpuBundleMemory = 512MiB' "$tree/etc/reeve/controller.conf"
mkdir -p "$tree/etc/systemd/system/reeve-agent.service.d"
printf '[Service]\nEnvironment=REEVE_NVML_DOUBLE=/etc/reeve/world\n' \
	>"$tree/etc/systemd/system/reeve-agent.service.d/double.conf"
printf '#!/bin/sh\nexec /usr/local/lib/reeve-tests/%s\n' "$guest" >"$tree/start.sh"
chmod 755 "$tree/start.sh"
tests/vm/vm.sh run --smp 6 --mem 2G --timeout 1800 --payload "$tree" -- "$tree/start.sh"
