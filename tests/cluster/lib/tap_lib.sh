# SPDX-License-Identifier: GPL-2.0-or-later
# tap_lib.sh - what shell suites say, as TAP. To be sourced; then the checks; then `tap_end`.
# shellcheck shell=bash
export CURL_HOME=$PWD/tests/cluster/lib # its .curlrc: no curl waits for ever
n=0 failed=0
tap_result() { # OK? NAME [TEXT shown on failure]
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		[ -z "${3:-}" ] || echo "$3" | sed 's/^/# /'
		failed=1
	fi
}
is() { # NAME EXPECTED ACTUAL
	if [ "$2" = "$3" ]; then tap_result 0 "$1"; else
		tap_result 1 "$1" "$(diff <(echo "$2") <(echo "$3"))"
	fi
}
has() { # NAME NEEDLE TEXT
	case $3 in *"$2"*) tap_result 0 "$1" ;; *) tap_result 1 "$1" "lacks: $2
$3" ;; esac
}
soon() { # NAME NEEDLE COMMAND...: as has, of what the command says within 20 s
	local end=$((SECONDS + 20)) said
	until said=$("${@:3}" 2>&1); [[ $said == *"$2"* ]] || [ $SECONDS -ge $end ]; do sleep 0.05; done
	has "$1" "$2" "$said"
}
lacks() { # NAME NEEDLE TEXT
	case $3 in *"$2"*) tap_result 1 "$1" "has: $2
$3" ;; *) tap_result 0 "$1" ;; esac
}
check() { # NAME COMMAND...: it exits with 0; else what it said is shown
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then tap_result 0 "$name"; else tap_result 1 "$name" "$said"; fi
}
skip() { # NAME WHY
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
bail() { echo "Bail out! $*"; exit 1; }
tap_end() { echo "1..$n"; exit $failed; }
