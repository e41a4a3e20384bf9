#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hardware.sh [DIR] - agent/gpu on a machine with an NVIDIA GPU, by `make check-gpu-hardware`; DIR (default build/tests/gpu) may be
# copied there by itself, with this script. No network, no CUDA toolkit, no package but the driver is needed. TAP. Figures go to
# docs/performance.md.
set -uo pipefail
dir=${1:-$(dirname "$0")/../../build/tests/gpu}
n=0 bad=0
ok() { n=$((n + 1)) && echo "ok $n - $*"; }
not_ok() { n=$((n + 1)) bad=1 && echo "not ok $n - $*"; }

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
	echo "1..0 # SKIP no NVIDIA GPU with a driver here"
	exit 0
fi
echo "# $(date -u +%F), kernel $(uname -r), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)"

# The vendor's own tool: one line a GPU (no MIG instances there).
smi=$(nvidia-smi --query-gpu=index,uuid,name,memory.total,pci.bus_id --format=csv,noheader,nounits |
	sed 's/00000000:\([^,]*\)$/0000:\1/' | tr 'A-F' 'a-f' | tr -d '\r')
ours=$("$dir/inventory" 2>"$dir/inventory.notes" | grep -v ' MIG ' | cut -d, -f1-5 | tr 'A-F' 'a-f')
sed 's/^/# /' "$dir/inventory.notes"
if [ -n "$smi" ] && [ "$smi" = "$ours" ]; then
	ok "inventory as nvidia-smi has it"
else
	diff <(echo "$smi") <(echo "$ours") | sed 's/^/# /'
	not_ok "inventory as nvidia-smi has it"
fi
"$dir/inventory" 2>/dev/null | sed 's/^/# /'
cuda=$(ldconfig -p | awk '$1 == "libcuda.so.1" && /x86-64|AArch64/ { print $NF; exit }')
if CMOCKA_MESSAGE_OUTPUT=TAP "$dir/hardware_test" "$dir/load" "$cuda" >"$dir/hardware.log" 2>&1; then
	ok "memory, busy time, two told apart, idle seen, leftovers"
else
	not_ok "memory, busy time, two told apart, idle seen, leftovers"
fi
sed 's/^/#   /' "$dir/hardware.log"
echo "1..$n"
exit $bad
