#!/bin/bash
# rota.sh [all] - suites that take long and change seldom: one of them with each commit, so that
# `make check` stays below half an hour on two cores under emulation; `all`: every one. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
suites=(
	"tests/node/agent_suite.sh steps 0 4"
	"tests/node/agent_suite.sh options"
	"tests/node/agent_suite.sh steps 1 4"
	"tests/node/demo_native.sh"
	"tests/node/queue.sh"
	"tests/node/mpi.sh"
	"tests/node/gpus.sh options"
	"tests/node/agent_suite.sh steps 2 4"
	"tests/node/agent_suite.sh steps 3 4"
	"tests/node/agent_suite.sh exec cgroup"
	"env KILLS=100 tests/node/suite.sh crash"
	"tests/node/agent_suite.sh exec systemd"
	"tests/node/agent_suite.sh parts systemd"
	"tests/node/agent_suite.sh parts cgroup"
	"tests/node/agent_suite.sh life cgroup"
	"tests/node/gpus.sh"
	"tests/node/suite.sh clock"
)
status=0
turn=$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % ${#suites[@]}))
for i in "${!suites[@]}"; do
	[ "${1:-}" = all ] || [ "$i" = "$turn" ] || continue
	echo "# ${suites[i]}"
	# shellcheck disable=SC2086
	${suites[i]} || status=1
done
exit $status
