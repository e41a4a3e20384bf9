# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# pbs_lib.sh - a fake of PBS's pbs_mom on this node (tests/node/pbs), beside an agent with Engine=pbs. Sourced by guests, after node_lib.sh; as root.
mom() { /usr/local/lib/reeve-tests/pbs/fake_pbs_mom "$@"; }

site() { # JSON: the hook's configuration
	mkdir -p /etc/fake_pbs
	echo "$1" >/etc/fake_pbs/reeve.json
}

# pbs_configure NODE CONTROLLER: the agent of this node; on the controller's own node the controller too, with the profile of NCI.
pbs_configure() {
	printf '%s\n' '[Agent]' "Node = $1" 'Engine = pbs' 'ReportInterval = 1s' 'SampleInterval = 1s' "Controller = http://$2:8640" \
		'ControllerUser = reeve' 'StrayExemptUnits = reeve-vm.service' >/etc/reeve/agent.conf
	sed -i '/^\[Cluster/,$d' /etc/reeve/controller.conf
	printf '%s\n' '[Policy]' 'Profile = nci' 'TimeZone = UTC' '[Cluster nci]' 'Engine = pbs' '[Account physics]' 'Users = alice, bob' \
		>>/etc/reeve/controller.conf
}

is_ended() { reeve job "nci:$1" --json | grep -q '"state": *"ended"'; }
begins() { journalctl -u reeve-agent -o cat | grep -q "job $1: began"; }

law() { # NAME EXPRESSION: python's, over j, the document of $job, and q, the resources of its request
	wait_for 30 is_ended "$job"
	reeve job "nci:$job" --json >/tmp/job.json
	python3 -c "import json; j = json.load(open('/tmp/job.json'))['job']; q = j['request']['resources']; raise SystemExit(not ($2))" 2>/tmp/law.err
	ok $? "$1" "$(cat /tmp/law.err /tmp/job.json)"
}
