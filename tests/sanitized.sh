#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sanitized.sh address|thread|valgrind COMMAND... - run a suite over programs that are watched for wrong use of memory, as root.
#   address   the address and undefined behaviour sanitizers with leaks: make SANITIZE=1 O=build/sanitize all
#   thread    the thread sanitizer: make SANITIZE=thread O=build/tsan all
#   valgrind  reeve-controller and reeve as they are installed, under valgrind: values that were never set. Not the agent: valgrind does not
#             know clone3() into a cgroup
# The command runs in a mount namespace of its own in which build/bin is theirs, so that a suite needs to know nothing of it. A
# report fails the suite even where that does not look at the program's end; all reports are printed behind its own output.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
case ${1:-} in
address) built=build/sanitize ;;
thread) built=build/tsan ;;
valgrind) built=build ;;
*) sed -n '3,10s/^# \{0,1\}//p' "$0" && exit 64 ;;
esac
tool=$1
shift
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
[ -x "$built/bin/reeve-controller" ] || { echo "Bail out! $built is not built"; exit 1; }
reports=$(mktemp -d /var/tmp/reeve-sanitized-XXXXXX) && chmod 1777 "$reports" # programs of every user write there
trap 'rm -rf "$reports"' EXIT
where=log_path=$reports/report:exitcode=99
# Suites preload libraries of their own before the sanitizer's. Leaks are looked for only at an orderly end.
# ASAN_OPTIONS=fast_unwind_on_malloc=0 of the caller shows callers behind the C library, slowly.
export ASAN_OPTIONS=$where:verify_asan_link_order=0:detect_stack_use_after_return=1:handle_abort=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=$where:print_stacktrace=1 LSAN_OPTIONS=suppressions=$PWD/tests/sanitized.leaks:print_suppressions=0
export TSAN_OPTIONS=$where:halt_on_error=0:second_deadlock_stack=1:suppressions=$PWD/tests/sanitized.races
# What runs inside a job is as it is installed: the limits of a job leave no room for a sanitizer's memory.
cp build/bin/reeve-launch "$reports/.launch"
export REEVE_LAUNCH_BINARY=$reports/.launch
if [ "$tool" = valgrind ]; then
	command -v valgrind >/dev/null || { echo "1..0 # SKIP needs valgrind"; exit 0; }
	export REEVE_PROFILES=${REEVE_PROFILES:-$PWD/units/profiles} # reeve looks for them beside its program, which is valgrind here
	built=$reports/.valgrind
	mkdir -p "$built/as_built" && cp -r build/bin "$built"
	for name in reeve reeve-controller; do
		mv "$built/bin/$name" "$built/as_built"
		cat >"$built/bin/$name" <<-WRAPPER
			#!/bin/sh
			exec valgrind -q --track-origins=yes --leak-check=full --errors-for-leak-kinds=definite --child-silent-after-fork=yes \
				--suppressions=$PWD/tests/analysis/valgrind.supp --error-exitcode=99 --log-file=$reports/report.%p $built/as_built/$name "\$@"
		WRAPPER
		chmod 755 "$built/bin/$name"
	done
fi
# shellcheck disable=SC2016 # of the inner shell
unshare -m sh -c 'mount --bind "$1" build/bin && shift && exec "$@"' sh "$built/bin" "$@"
status=$?
find "$reports" -maxdepth 1 -name 'report*' -empty -delete # valgrind's of a program without one
for report in "$reports"/*; do
	[ -s "$report" ] || continue
	status=1
	sed 's/^/# /' "$report"
done
[ -z "$(ls "$reports")" ] || echo "not ok - no report of a sanitizer: $(cat "$reports"/* | grep -cE '^(==|WARNING|SUMMARY)') lines above"
exit $status
