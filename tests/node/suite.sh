#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# suite.sh GUEST [--nodes N] [VM-OPTION...] - run tests/node/guest/GUEST.sh (GUEST: with a folder, or without) on a virtual node with Reeve
# installed and configured as in tests/node/etc. TAP comes out; what it leaves in /out goes to
# build/check/GUEST. With --nodes, on N nodes in one network, each as `GUEST.sh NUMBER N`, with one
# munge key: TAP is that of node 1, and the others are switched off when it ends; what they say is in
# build/check/GUEST/node-NUMBER.log. REEVE_SUITE_S: seconds it may take (1800).
set -eu
cd "$(dirname "$0")/../.."
script=tests/node/guest/$1.sh nodes=1
guest=${1##*/}
shift
if [ "${1:-}" = --nodes ]; then
	nodes=$2
	shift 2
fi
O=build
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-suite.XXXXXX")
others=()
end() {
	for pid in "${others[@]}"; do { kill "$pid" && wait "$pid"; } || true; done 2>/dev/null # or set -e would make 143 of the result
	rm -rf "$tree"
}
trap end EXIT
make --no-print-directory -s install DESTDIR="$tree" >/dev/null
cp -r tests/node/etc/. "$tree/etc/"
for p in load escape sql terminal; do
	make --no-print-directory -s $O/tests/node/$p
	install -D -m 755 $O/tests/node/$p "$tree/usr/local/bin/$p"
done
install -D -m 755 -t "$tree/usr/local/lib/reeve-tests" tests/node/{node,slurm,pbs}_lib.sh "$script"
if [[ $guest = pbs* ]]; then # a fake of pbs_python and pbs_mom
	install -m 755 -D -t "$tree/usr/local/lib/reeve-tests/pbs" tests/node/pbs/{pbs.py,fake_pbs_python,fake_pbs_mom}
fi
if [[ $guest = *gpus* || $guest = pbs ]]; then # a simulated driver
	make --no-print-directory -s $O/tests/gpu/libcuda.so.1 $O/tests/gpu/r535/libnvidia-ml.so.1 $O/tests/gpu/load
	install -m 755 -t "$tree/usr/local/lib/reeve-tests" $O/tests/gpu/libcuda.so.1 $O/tests/gpu/r535/libnvidia-ml.so.1
	install -m 755 $O/tests/gpu/load "$tree/usr/local/lib/reeve-tests/gpu-load"
fi
cat > "$tree/start.sh" <<EOF
#!/bin/sh
exec env ${PAIRS:+PAIRS=$PAIRS} ${KILLS:+KILLS=$KILLS} ${SEED:+SEED=$SEED} ${JOBS:+JOBS=$JOBS} /usr/local/lib/reeve-tests/$guest.sh "\$@"
EOF
mkdir -p $O/check/"$guest"
run_node=(tests/vm/vm.sh run --smp 4 --mem 2G --timeout "${REEVE_SUITE_S:-1800}" --payload "$tree" "$@")
if [ "$nodes" = 1 ]; then
	"${run_node[@]}" --out $O/check/"$guest" -- "$tree/start.sh"
	exit
fi
case " $* " in *' --with slurm '*) tests/node/mpi_ring.sh slurm "$tree/usr/local/bin/mpi_ring" ;; esac
head -c 1024 /dev/urandom >"$tree/usr/local/lib/reeve-tests/munge.key"
lan=$((20000 + $$ % 20000))
for ((i = 2; i <= nodes; i++)); do
	"${run_node[@]}" --lan "$lan,$i" -- "$tree/start.sh" "$i" "$nodes" >"$O/check/$guest/node-$i.log" 2>&1 &
	others+=($!)
done
"${run_node[@]}" --lan "$lan,1" --out $O/check/"$guest" -- "$tree/start.sh" 1 "$nodes"
