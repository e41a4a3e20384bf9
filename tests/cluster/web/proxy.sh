#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# proxy.sh - pages for a proxy that has signed its users in: a real nginx before the controller's unix socket, what it may say and who
# else may not. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir proxy
live_munge
chmod 755 "$dir"
socket=$dir/web.sock
configure() { # [LINE]...
	live_controller
	printf '%s\n' "$@" '[Cluster main]' '[Account physics]' 'Users = daemon'
}
check() { # LINE...: what the controller says of a configuration
	configure "$@" >"$dir/wrong.conf"
	build/bin/reeve-controller --config "$dir/wrong.conf" --check 2>&1
}
served() { configure "WebSocket = $socket" 'WebSocketUser = bin' >"$dir/controller.conf"; }
as_proxy() { as "$bin" curl -s --unix-socket "$socket" "$@"; }                    # CURL-ARGUMENT...
status() { as_proxy -o /dev/null -w '%{http_code}' "$@"; }                        # CURL-ARGUMENT...
page() { status -H "X-Remote-User: $1" "http://reeve/web${2:-/}"; }               # USER [PATH]

# ---- configuration ----
has "a socket without its user is refused" 'WebSocket= without WebSocketUser=' "$(check "WebSocket = $socket")"
has "a user without a socket too" 'WebSocketUser= without WebSocket=' "$(check 'WebSocketUser = bin')"
has "and a socket without pages" 'Web = no: there are no pages' "$(check "WebSocket = $socket" 'WebSocketUser = bin' 'Web = no')"
has "a header's name that is none" "letters, digits and '-' alone" "$(check 'WebUserHeader = X Remote')"

# ---- who may say who reads ----
live_open served
has "a page is the named user's" '>daemon<' "$(as_proxy -H 'X-Remote-User: daemon' http://reeve/web/)"
lacks() { case $3 in *"$2"*) tap_result 1 "$1" "has: $2" ;; *) tap_result 0 "$1" ;; esac; } # NAME NEEDLE TEXT
lacks "who leaves at the proxy, and not here" '>Leave<' "$(as_proxy -H 'X-Remote-User: daemon' http://reeve/web/)"
is "the next request on the same connection may be another user's" 'sys daemon' \
	"$(as_proxy -H 'X-Remote-User: sys' http://reeve/web/ --next -s --unix-socket "$socket" -H 'X-Remote-User: daemon' http://reeve/web/ |
		grep -oE '>(sys|daemon)<' | tr -d '<>' | xargs)"
is "without a user there is no page" 401 "$(status http://reeve/web/)"
has "the page says what is missing" 'X-Remote-User must be there once' "$(as_proxy http://reeve/web/)"
is "a user that the machine does not know is none" 401 "$(page no-such-user)"
is "nor is a number" 401 "$(page 1)"
is "nor root" 401 "$(page root)"
is "nor an empty name" 401 "$(status -H 'X-Remote-User;' http://reeve/web/)"
is "nor one of 9,000 bytes" 401 "$(page "$(printf 'a%.0s' {1..9000})")"
is "two headers name no user, whatever they say" 401 "$(status -H 'X-Remote-User: daemon' -H 'x-remote-user: daemon' http://reeve/web/)"
is "the API is not there" 404 "$(status -H 'X-Remote-User: daemon' http://reeve/v1/jobs)"
is "nor are the metrics" 404 "$(status -H 'X-Remote-User: daemon' http://reeve/metrics)"
is "on the controller's own port the header is nothing" 401 \
	"$(curl -s -o /dev/null -w '%{http_code}' -H 'X-Remote-User: daemon' "$url/web/")"
as "$daemon" curl -s --unix-socket "$socket" -H 'X-Remote-User: sys' http://reeve/web/ >"$dir/other" 2>&1
is "another process than the proxy's is not served" '' "$(cat "$dir/other")"
is "root's is" 200 "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" -H 'X-Remote-User: daemon' http://reeve/web/)"
for _ in {1..200}; do echo "url = http://reeve/web/jobs"; done >"$dir/many"
is "a proxy that sends many requests is not slowed" 200 \
	"$(as_proxy -H 'X-Remote-User: daemon' -K "$dir/many" -o /dev/null -w '%{http_code}\n' -Z --parallel-max 40 2>/dev/null | grep -c 200)"

# ---- a real proxy ----
if command -v nginx >/dev/null; then
	mkdir -p "$dir/nginx" && chmod 777 "$dir/nginx"
	printf 'daemon:%s\n' "$(openssl passwd -apr1 secret)" >"$dir/nginx/users"
	proxy_port=$((port + 1))
	sed "s|@DIR@|$dir|g; s|@PORT@|$proxy_port|g" tests/cluster/web/nginx.conf >"$dir/nginx/nginx.conf"
	nginx -c "$dir/nginx/nginx.conf" -p "$dir/nginx" 2>"$dir/nginx/start"
	asked() { curl -s -o "$dir/nginx/page" -w '%{http_code}' "$@" "http://127.0.0.1:$proxy_port/web/jobs"; }
	is "nginx asks for a password" 401 "$(asked)"
	is "and shows the page of whose it is" 200 "$(asked -u daemon:secret)"
	has "with the user's name" '>daemon<' "$(cat "$dir/nginx/page")"
	is "a header of the browser is not passed on" 200 "$(asked -u daemon:secret -H 'X-Remote-User: sys')"
	has "its page is the user's who signed in" '>daemon<' "$(cat "$dir/nginx/page")"
	[ ! -f "$dir/nginx/pid" ] || kill "$(cat "$dir/nginx/pid")"
else
	skip "pages through a real nginx" "nginx is not installed (Debian: nginx-light)"
fi

# ---- its end ----
kill -9 "$controller" 2>/dev/null
wait "$controller" 2>/dev/null
[ -S "$socket" ]
tap_result $? "a killed controller leaves its socket"
live_open served
is "the next one replaces it" 200 "$(page daemon)"
# ---- starts that cannot be ----
live_stop
rm "$socket"
echo kept >"$socket"
served
live_start && live_stop
has "a file at the socket's place is not replaced" 'is there and is no socket' "$(cat "$dir/controller.log")"
is "it is as it was" kept "$(cat "$socket")"
rm "$socket"
configure "WebSocket = $socket" 'WebSocketUser = no-such-user' >"$dir/controller.conf"
live_start && live_stop
has "a proxy's user that is not there stops the start, with its name" "no user 'no-such-user'" "$(cat "$dir/controller.log")"
tap_end
