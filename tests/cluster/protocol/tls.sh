#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tls.sh - https of the controller's own: certificates made here by openssl; openssl s_client, curl, the command and a real agent as
# clients; what is refused and how it is said; new certificates while connections stay; clients that do not finish their handshake.
# TAP. Needs root and build/bin; loopback only.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/monitoring/agent_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
command -v openssl >/dev/null || { echo "1..0 # SKIP needs openssl"; exit 0; }
ulimit -n "$(ulimit -Hn)"
live_dir tls
live_munge
tls=$dir/tls
mkdir "$tls" && chmod 755 "$tls"
export LC_ALL=C.UTF-8 TZ=UTC CURL_CA_BUNDLE=$tls/ca.pem
unset REEVE_CONTROLLER REEVE_JOB REEVE_NODE

# ---- certificates ----
make_ca() { # NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/$1.key" -out "$tls/$1.pem" -days 30 \
		-subj "/CN=$1" -addext basicConstraints=critical,CA:TRUE 2>/dev/null
}
make_leaf() { # NAME CA SUBJECT_ALT_NAME DAYS [PURPOSE]: NAME.pem with the chain behind it, NAME.key
	# shellcheck disable=SC2086 # words
	openssl req -newkey ${kind:-ec -pkeyopt ec_paramgen_curve:P-256} -nodes -keyout "$tls/$1.key" -out "$tls/$1.csr" -subj "/CN=$1" 2>/dev/null
	printf 'subjectAltName=%s\nextendedKeyUsage=%s\n' "$3" "${5:-serverAuth}" >"$tls/$1.ext"
	openssl x509 -req -in "$tls/$1.csr" -CA "$tls/$2.pem" -CAkey "$tls/$2.key" -CAcreateserial -days "$4" -extfile "$tls/$1.ext" \
		-out "$tls/$1.pem" 2>/dev/null
	chmod 640 "$tls/$1.key"
}
here=DNS:localhost,IP:127.0.0.1
for name in ca other; do make_ca $name; done
# an authority between: the server must send it
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/mid.key" -out "$tls/mid.csr" -subj /CN=mid 2>/dev/null
echo basicConstraints=critical,CA:TRUE >"$tls/mid.ext"
openssl x509 -req -in "$tls/mid.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca.key" -CAcreateserial -days 30 -extfile "$tls/mid.ext" -out "$tls/mid.pem" 2>/dev/null
make_leaf first mid $here 30 && cat "$tls/mid.pem" >>"$tls/first.pem"
make_leaf second ca $here 20
make_leaf soon ca $here 3
kind=rsa:4096 make_leaf large ca $here 20
make_leaf elsewhere ca DNS:elsewhere.example 30
make_leaf stranger other $here 30
make_leaf client ca DNS:client 30 clientAuth
make_leaf forged other DNS:client 30 clientAuth
faketime=$(command -v faketime)
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/old.key" -out "$tls/old.csr" -subj /CN=old 2>/dev/null
mkdir "$tls/db" && : >"$tls/db/index" && echo 01 >"$tls/db/serial"
cat >"$tls/db/conf" <<-CONF
	[ca]
	default_ca = d
	[d]
	database = $tls/db/index
	serial = $tls/db/serial
	new_certs_dir = $tls/db
	default_md = sha256
	policy = p
	[p]
	commonName = supplied
CONF
printf 'subjectAltName=%s\n' $here >"$tls/old.ext"
make_dated() { # NAME FROM UNTIL: of old's key
	openssl ca -batch -config "$tls/db/conf" -cert "$tls/ca.pem" -keyfile "$tls/ca.key" -in "$tls/old.csr" -startdate "$2" -enddate "$3" \
		-extfile "$tls/old.ext" -notext -out "$tls/$1.pem" 2>/dev/null
	: >"$tls/db/index"
}
chmod 640 "$tls/old.key"
make_dated expired 20250101000000Z 20250201000000Z
make_dated future 20990101000000Z 20990201000000Z

# ---- configuration ----
use() { cp "$tls/$1.pem" "$tls/now.pem" && cp "$tls/${2:-$1}.key" "$tls/now.key" && chmod 640 "$tls/now.key"; } # CERTIFICATE [KEY]
configure() { # [LINE]...
	url=https://127.0.0.1:$port
	{
		live_controller "$dir/ledger.$port.db"
		printf 'Certificate = %s/now.pem\nCertificateKey = %s/now.key\n' "$tls" "$tls"
		[ $# = 0 ] || printf '%s\n' "$@"
		printf '%s\n' '[Cluster main]' 'DefaultResources = ncpus=1,vmem=500MB,jobfs=1MB,walltime=1:00:00' '[Account physics]' 'Users = daemon, bin'
	} >"$dir/controller.conf"
}
said() { # what the controller says of the configuration
	build/bin/reeve-controller --config "$dir/controller.conf" --check 2>&1
}
port=1
use first
configure
has "a certificate and its key are accepted" ': ok:' "$(said)"
chmod 644 "$tls/now.key"
has "a key that others may read is refused, with its file, line, key and what to do" \
	"controller.conf, line 8: CertificateKey = $tls/now.key: $tls/now.key has mode 644: others may use what is in it; chmod 640 it" "$(said)"
use first second
has "a key that is not the certificate's" "the key in $tls/now.key is not that of the certificate in $tls/now.pem" "$(said)"
use expired old
has "one that has expired, with the day" "the certificate in $tls/now.pem expired on 2025-02-01 00:00:00 UTC; put a new one there" "$(said)"
use future old
has "one that is not valid yet" "the certificate in $tls/now.pem is not valid before 2099-01-01 00:00:00 UTC; check the clock" "$(said)"
use first
echo nothing >"$tls/now.pem"
has "a file without a certificate" "there is no certificate (PEM) in $tls/now.pem" "$(said)"
use first
echo nothing >"$tls/now.key"
has "a file without a key" "there is no usable key (PEM) in $tls/now.key" "$(said)"
openssl ec -aes128 -passout pass:x -in "$tls/first.key" -out "$tls/now.key" 2>/dev/null
has "a key with a password" 'protected by a password; write it without one: openssl pkey' "$(said)"
rm "$tls/now.pem"
has "a file that is not there" "line 7: Certificate = $tls/now.pem: No such file or directory" "$(said)"
use first
configure "ClientCertificates = $tls/now.key"
has "authorities that are none" "there is no certificate (PEM) in $tls/now.key" "$(said)"
live_controller >"$dir/controller.conf" && echo "Certificate = $tls/now.pem" >>"$dir/controller.conf"
has "a certificate without a key" 'without CertificateKey=: name the file with its key' "$(said)"

# ---- versions, the chain, plain HTTP ----
use first
live_open configure
s_client() { openssl s_client -connect "127.0.0.1:$port" -CAfile "$tls/ca.pem" "$@" </dev/null 2>&1; }
for version in 2 3; do
	out=$(s_client -tls1_$version -verify_return_error)
	has "TLS 1.$version is spoken" "New, TLSv1.$version" "$out"
	has "with the chain up to the authority" 'Verify return code: 0 (ok)' "$out"
done
for version in tls1 tls1_1; do
	out=$(s_client -$version -cipher ALL:@SECLEVEL=0)
	has "$version is refused by the controller" 'alert protocol version' "$out"
done
has "the certificate that is configured is sent" 'CN = first' "$(s_client)"
is "curl gets an answer" 200 "$(curl -s -o /dev/null -w '%{http_code}' "$url/metrics")"
metrics=$(curl -s "$url/metrics")
left=$(sed -n 's/^reeve_certificate_left_seconds //p' <<<"$metrics")
[ "$left" -gt $((29 * 86400)) ] && [ "$left" -le $((30 * 86400)) ]
tap_result $? "the metrics have the time until it expires" "$left"
has "and the handshakes" 'reeve_tls_handshakes_total{result="done"}' "$metrics"
has "plain http gets the answer that says what to write" '"remedy":"write https:// instead of http://"' \
	"$(curl -s -w ' %{http_code}' "http://127.0.0.1:$port/metrics")"
is "with 400" 400 "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/metrics")"
is "also where the client sends a body" 400 \
	"$(head -c 300000 /dev/zero | curl -s -o /dev/null -w '%{http_code}' --data-binary @- "http://127.0.0.1:$port/v1/jobs")"
for _ in {1..40}; do printf 'url = %s/metrics\noutput = /dev/null\n' "$url"; done >"$dir/many"
is "many requests over a few connections" 40 "$(curl -s -K "$dir/many" -w '%{http_code}\n' -Z --parallel-max 8 2>/dev/null | grep -cx 200)"
is "a page is served" 401 "$(curl -s -o /dev/null -w '%{http_code}' "$url/web/")"

# ---- the command ----
cp build/bin/reeve "$dir/reeve"
client() { # [LINE]...: how the command is configured
	printf '[Client]\nMungeSocket = %s/munge.sock\nControllerUser = root\n' "$dir" >"$dir/client.conf"
	[ $# = 0 ] || printf '%s\n' "$@" >>"$dir/client.conf"
}
reeve() { # UID WORD...
	(cd / && as "$1" env HOME="$dir" REEVE_CONTROLLER="${address:-$url}" "$dir/reeve" "$2" --config "$dir/client.conf" "${@:3}" 2>&1)
}
client "CaFile = $tls/ca.pem"
submitted=$(reeve $daemon submit -- true)
[[ $submitted =~ ^[0-9]+ ]]
tap_result $? "a job is submitted over https" "$submitted"
has "and listed" true "$(reeve $daemon jobs)"
head -c 750000 /dev/urandom | base64 >"$dir/large" && { echo '#!/bin/sh' && sed 's/^/# /' "$dir/large"; } >"$dir/large.sh" && chmod 644 "$dir/large.sh"
large=$(reeve $daemon submit "$dir/large.sh")
is "a script of a megabyte comes back as it was sent" "$(sha256sum <"$dir/large.sh")" \
	"$(reeve $daemon job --json "$large" | python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["job"]["request"]["script"])' | sha256sum)"
ticket=$(reeve $daemon web 2>&1)
has "the pages are entered by https" "https://127.0.0.1:$port/web/enter?ticket=" "$ticket"
ticket=$(grep -o 'https://[^ ]*' <<<"$ticket")
has "the cookie of the page of entry is for https alone" '; Secure' "$(curl -s -D - -o /dev/null -c "$dir/jar" "$ticket")"
has "the cookie of the session is for https alone" 'SameSite=Strict; Secure' "$(curl -s -D - -o /dev/null -b "$dir/jar" -d "ticket=${ticket##*=}" "${ticket%%\?*}")"
client
has "an unknown authority is refused: address, reason, remedy" \
	"no https with $url: no authority that is known here has signed its certificate; name the authority that signed its certificate in CaFile=" \
	"$(reeve $daemon jobs)"
client "CaFile = $tls/none.pem"
has "a file of authorities that is not there" 'check CaFile=' "$(reeve $daemon jobs)"
client "CaFile = $tls/ca.pem"
has "with http:// the command says to write https://" 'this address of the controller is for https alone; write https:// instead of http://' \
	"$(address=http://127.0.0.1:$port; reeve $daemon jobs)"
client
is "its exit status says that the controller was not reached" 3 "$(reeve $daemon jobs >/dev/null; echo $?)"
client "CaFile = $tls/ca.pem"

# ---- a server that is no good: what openssl plays ----
play() { # CERTIFICATE [KEY]: a server with it at $address
	local played=$((port + 1))
	address=https://127.0.0.1:$played
	openssl s_server -accept "127.0.0.1:$played" -cert "$tls/$1.pem" -key "$tls/${2:-$1}.key" -www -quiet >/dev/null 2>&1 &
	player=$!
	until (: <"/dev/tcp/127.0.0.1/$played") 2>/dev/null; do sleep 0.02; done
}
played() { # CERTIFICATE KEY: what the command says of such a server
	play "$@"
	reeve $daemon jobs
	live_end_pid $player
}
out=$(played expired old)
has "a certificate that has expired is refused, with the address" "no https with https://127.0.0.1:$((port + 1)): its certificate has expired" "$out"
has "and what to do" 'check the clock here; else the controller needs a new certificate' "$out"
has "one that is not valid yet" 'its certificate is not valid yet' "$(played future old)"
out=$(played elsewhere elsewhere)
has "one with another name" "target host name '127.0.0.1'" "$out"
has "and what to do" 'write a name that its certificate has in Controller=' "$out"
has "one of another authority" 'no authority that is known here has signed' "$(played stranger stranger)"

python3 - $((port + 1)) <<-'PY' &
	import socket, sys
	s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
	while True:
	    c = s.accept()[0]
	    if c.recv(100):
	        c.shutdown(socket.SHUT_WR)
	        c.recv(10000)
	    c.close()
PY
player=$!
until (: <"/dev/tcp/127.0.0.1/$((port + 1))") 2>/dev/null; do sleep 0.02; done
has "a handshake that is broken off: where the reason is" "the controller's log has the reason" \
	"$(address=https://127.0.0.1:$((port + 1)); reeve $daemon jobs)"
live_end_pid $player

# ---- new certificates while it runs ----
log() { cat "$dir/controller.log"; }
hup() { kill -HUP "$controller"; }
subject() { s_client | sed -n 's/^subject=//p'; }
mkfifo "$dir/kept.in"
openssl s_client -connect "127.0.0.1:$port" -CAfile "$tls/ca.pem" -quiet -ign_eof <"$dir/kept.in" >"$dir/kept.out" 2>/dev/null &
exec 8>"$dir/kept.in"
printf 'GET /web/ HTTP/1.1\r\nHost: x\r\n\r\n' >&8
answers() { grep -c 'HTTP/1.1 401' "$dir/kept.out"; }
soon "a connection is kept" 1 answers
use second
hup
soon "SIGHUP: new connections get the new certificate" 'CN = second' subject
has "the log says which" 'new connections get the certificate that was read now: CN=second, valid until 20' "$(log)"
printf 'GET /web/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&8
soon "the kept connection is served on" 2 answers
exec 8>&-
echo nothing >"$tls/now.pem"
hup
soon "a broken file changes nothing, and the log has file and reason" \
	"the certificate in use stays: there is no certificate (PEM) in $tls/now.pem" log
has "the one before is in use" 'CN = second' "$(subject)"
use expired old
hup
soon "nor does one that has expired" "the certificate in use stays: the certificate in $tls/now.pem expired on" log
chmod 644 "$tls/now.key"
use soon && chmod 644 "$tls/now.key"
hup
soon "nor one whose key others may read" "the certificate in use stays: $tls/now.key has mode 644" log
use soon
hup
soon "one that expires soon is warned of" "the certificate in $tls/now.pem expires in 71 hours: put a new one there" log
has "and used" 'CN = soon' "$(subject)"

# ---- the doctor ----
doctor() { # what it finds of the certificate
	address=$url REEVE_CONTROLLER=$url build/bin/reeve admin doctor controller --config "$dir/client.conf" --controller-config "$dir/controller.conf" \
		--agent-config /none --csv -n -o check,state,finding,remedy 2>&1 | grep '^certificate'
}
out=$(doctor)
has "the doctor warns of one that expires soon" 'certificate,warn,the certificate that the controller uses expires in 2 days' "$out"
has "with what to do" "put a new one into $tls/now.pem; systemctl reload reeve-controller" "$out"

# ---- clients without a handshake ----
cat >"$dir/flood.py" <<-'PY'
	import socket, sys, time
	port, what, n = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
	kept, done, start = [], 0, time.time()
	while done < n:
	    s = socket.socket()
	    s.settimeout(5)
	    try:
	        s.bind(("127.0.0.5", 0))
	        s.connect(("127.0.0.1", port))
	        if what == "half":
	            s.send(b"\x16\x03\x01\x02\x00\x01")
	        kept.append(s)
	        done += 1
	    except OSError:
	        pass
	print(int(time.time() - start) + 1, flush=True)
	time.sleep(60)
PY
used_ms() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($14 + $15) * 1000 / hz }' "/proc/$controller/stat"; }
elsewhere() { curl -s -m 10 --interface 127.0.0.77 "$@" "$url/metrics"; } # [OPTION]...: a client of another address
failures() { elsewhere | sed -n 's/^reeve_tls_handshakes_total{result="failed"} //p'; }
for what in silent half; do
	: >"$dir/flood.out"
	failed_before=$(failures)
	python3 "$dir/flood.py" "$port" $what 3000 >"$dir/flood.out" &
	flood=$!
	served=0
	for _ in {1..20}; do
		[ "$(elsewhere -o /dev/null -w '%{http_code}')" = 200 ] && served=$((served + 1))
	done
	is "3,000 $what handshakes of one address: another is served" 20 $served
	until [ -s "$dir/flood.out" ]; do sleep 0.1; done
	took=$(cat "$dir/flood.out")
	connections=$(elsewhere | sed -n 's/^reeve_connections //p')
	[ "$connections" -le 80 ]
	tap_result $? "the address has no more connections than one may have" "$connections"
	before=$(used_ms)
	sleep 2
	used=$(($(used_ms) - before))
	[ $used -lt 500 ]
	tap_result $? "while they wait they cost nothing" "$used ms of CPU time in 2 s"
	live_end_pid $flood
done
# 400 at once and 50 a second are begun; of the others some were replaced before their first byte was read.
refused=$(($(failures) - failed_before))
[ $refused -ge $(((3000 - 400 - 50 * took) / 2)) ]
tap_result $? "handshakes of one address are bounded in time too" "$refused refused of 3000 in $took s"

# ---- a key whose handshakes cost twenty times as much ----
use large
hup
soon "the doctor warns of a key that makes handshakes dear" 'certificate-key,warn,the key of the certificate is RSA of 4096 bits' doctor
before=$(used_ms) from=$EPOCHREALTIME
python3 - "$port" <<-'PY'
	import socket, ssl, sys
	tls = ssl.create_default_context()
	tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
	for _ in range(400):
	    try:
	        tls.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=("127.0.0.6", 0))).close()
	    except OSError:
	        pass
PY
used=$(($(used_ms) - before)) may=$((1000 + (${EPOCHREALTIME/./} - ${from/./}) / 32000))
[ $used -lt $may ]
tap_result $? "handshakes of one address are bounded by the CPU time that they cost" "$used ms, $may allowed"
[ "$(elsewhere -o /dev/null -w '%{http_code}')" = 200 ]
tap_result $? "a client of another address is served meanwhile"

# ---- a standby ----
sed "s/^Listen = .*/Listen = 127.0.0.1:$((port + 2))/" "$dir/controller.conf" >"$dir/standby.conf"
build/bin/reeve-controller --config "$dir/standby.conf" 2>"$dir/standby.log" &
standby=$!
standing() { curl -s -m 5 -w ' %{http_code}' "https://127.0.0.1:$((port + 2))/metrics"; }
soon "a controller that stands by answers over https" ' 503' standing
has "and which one leads" "at 127.0.0.1:$port, process $controller," "$(standing)"
use second
kill -HUP $standby
soon "it reads its certificate again too" 'CN=second' cat "$dir/standby.log"
live_end_pid $standby

# ---- an agent ----
use second
hup
soon "the doctor finds nothing wrong with the next one" 'certificate,ok,the certificate that the controller uses expires in 19 days' doctor
address=
if agent_possible; then
	trap 'agent_end; live_end' EXIT
	agent_no_quota=1
	agent_open 'Jobfs = none' "CaFile = $tls/other.pem"
	agent_log() { cat "$agent_dir/log"; }
	soon "the agent refuses an unknown authority, and logs it" "no https with $url: no authority that is known here has signed" agent_log
	agent_stop
	sed -i "s|other.pem|ca.pem|" "$agent_dir/agent.conf"
	for fault in "expired old its certificate has expired" "elsewhere elsewhere target host name '127.0.0.1'"; do
		read -r certificate key why <<<"$fault"
		play "$certificate" "$key"
		sed "s|^Controller = .*|Controller = $address|" "$agent_dir/agent.conf" >"$agent_dir/other.conf"
		timeout 20 build/bin/reeve-agent --config "$agent_dir/other.conf" 2>"$agent_dir/other.log" &
		other=$!
		other_log() { cat "$agent_dir/other.log"; }
		soon "the agent refuses a certificate: $certificate" "$why" other_log
		live_end_pid $other
		live_end_pid $player
	done
	address=
	agent_start
	nodes() { reeve 0 nodes; }
	soon "with the right one it reports over https" 'n9' nodes
	losses=$(grep -c ' lost: ' "$agent_dir/log")
	reeve $daemon run -- sh -c 'echo begun; sleep 2; echo ended' >"$dir/run.out" &
	run=$!
	soon "a job runs on it" begun cat "$dir/run.out"
	use first
	hup
	soon "while it runs the certificate is replaced" 'CN = first' subject
	held=$(reeve $daemon submit -o /dev/null -e /dev/null -- sleep 120)
	running() { reeve $daemon jobs; }
	soon "another job runs" running running
	head -c 3000000 /dev/urandom >"$dir/bytes" && chmod 644 "$dir/bytes"
	reeve $daemon exec -j "$held" --stdin -- cat <"$dir/bytes" >"$dir/bytes.back"
	is "what goes to a program in a job comes back, 3 MB each way" "$(sha256sum <"$dir/bytes")" "$(sha256sum <"$dir/bytes.back")"
	reeve $daemon cancel "$held" >/dev/null
	wait $run
	is "the command that waited for it has its status" 0 $?
	has "and its output" ended "$(cat "$dir/run.out")"
	has "it is in the list" ' sh ' "$(reeve $daemon jobs --all)"
	is "the agent has not lost its controller" "$losses" "$(grep -c ' lost: ' "$agent_dir/log")"
else
	skip "a job over https" "no cgroup v2 in which jobs can be made"
fi

# ---- client certificates ----
with() { curl -s -m 5 -o /dev/null -w '%{http_code}' --cert "$tls/$1.pem" --key "$tls/$1.key" "${@:2}" "$url/metrics"; } # NAME [OPTION]...
without() { curl -s -m 5 -o /dev/null -w '%{http_code}' "$@" "$url/metrics"; }
chmod 644 "$tls/client.key"
live_stop
configure "ClientCertificates = $tls/ca.pem"
# live_start asks without a certificate: it is asked for as its clients are
start_asking() {
	printf -- '--cert %s/client.pem\n--key %s/client.key\n' "$tls" "$tls" >"$dir/.curlrc"
	CURL_HOME=$dir live_start
}
start_asking
tap_result $? "a controller that asks for client certificates"
for max in 1.2 1.3; do
	is "TLS $max: one of the authority is served" 200 "$(with client --tls-max $max)"
	is "TLS $max: a client without one is not" 000 "$(without --tls-max $max)"
	is "TLS $max: nor one of another authority" 000 "$(with forged --tls-max $max)"
	is "TLS $max: nor a certificate for servers" 000 "$(with second --tls-max $max)"
done
has "the command names the keys to set" 'one that it accepts in ClientCertificate= and ClientKey=' "$(reeve $daemon jobs)"
client "CaFile = $tls/ca.pem" "ClientCertificate = $tls/client.pem" "ClientKey = $tls/client.key"
has "and lists with it" true "$(reeve $daemon jobs --all)"
client "CaFile = $tls/ca.pem" "ClientCertificate = $tls/client.pem" "ClientKey = $tls/second.key"
has "with a key that is not its own it says which keys to check" 'check ClientCertificate= and ClientKey=' "$(reeve $daemon jobs)"
has "the log has the reason" 'no TLS with 127.0.0.1: ' "$(log)"
live_stop
configure "ClientCertificates = $tls/ca.pem" 'RequireClientCertificate = no'
live_start
is "where it is not required a client without one is served" 200 "$(without)"
is "one of another authority is not" 000 "$(with forged)"

# ---- without TLS ----
live_stop
client "CaFile = $tls/ca.pem"
sed -i '/Certificate/d' "$dir/controller.conf"
url=http://127.0.0.1:$port live_start
# whether such a controller answers a handshake or breaks it off depends on the random bytes in it: one of seven is broken off
is "with https:// to a controller without it the command says to write http://, in each of 40 attempts" 40 \
	"$(for _ in $(seq 40); do reeve $daemon jobs; done | grep -cF 'if the controller there has no Certificate= in controller.conf, write http://')"
has "both addresses in a list: the one that answers is used" true "$(address="https://127.0.0.1:$port, http://127.0.0.1:$port"; reeve $daemon jobs --all)"
hup
soon "SIGHUP without a certificate ends nothing" 'configuration reloaded: nothing changed' log
tap_end
