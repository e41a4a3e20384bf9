#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# storage.sh - reeve-storage reads group and project quotas of a real ext4 and XFS, with the figures that the kernel counts, and the
# controller takes what it prints.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
grep -q '^physics:' /etc/group || echo 'physics:x:5001:' >>/etc/group
echo biology:1001 >/etc/projid
MIB=1048576

make_disk() { # TYPE: /mnt/TYPE, an image with quotas of groups and projects
	truncate -s 400M "/var/tmp/$1.img" && mkdir -p "/mnt/$1"
	if [ "$1" = ext4 ]; then
		mkfs.ext4 -q -O quota,project -E quotatype=grpquota:prjquota "/var/tmp/$1.img" && mount -o loop,grpquota,prjquota "/var/tmp/$1.img" "/mnt/$1"
	else
		mkfs.xfs -q "/var/tmp/$1.img" && mount -o loop,gquota,pquota "/var/tmp/$1.img" "/mnt/$1"
	fi
}
fill_disk() { # TYPE: 5 MiB of group physics in two files, 3 MiB of project 1001 in a folder
	local at=/mnt/$1
	head -c $((4 * MIB)) /dev/zero >"$at/a" && head -c $MIB /dev/zero >"$at/b" && chgrp 5001 "$at/a" "$at/b" || return
	mkdir "$at/project" && chattr -p 1001 +P "$at/project" && head -c $((3 * MIB)) /dev/zero >"$at/project/c" || return
	xfs_quota -f -x -c "limit -g bhard=20m ihard=100 5001" "$at" && xfs_quota -f -x -c "limit -p bsoft=8m 1001" "$at" && sync
}
# near ROW BYTES REST: the second field is BYTES or up to 64 KiB more (indirect blocks), and the row without it and the time is REST.
near() {
	awk -F, -v OFS=, -v bytes="$2" -v rest="$3" '{ used = $3; $3 = "N"; $7 = "T"; exit !(used >= bytes && used <= bytes + 65536 && $0 == rest) }' <<<"$1"
}

for type in ext4 xfs; do
	out=$(make_disk $type 2>&1 && fill_disk $type 2>&1); ok $? "$type: a disk with quotas of groups and projects" "$out"
	out=$(reeve-storage --kind group /mnt/$type 2>&1)
	near "$(grep physics <<<"$out")" $((5 * MIB)) "physics,/mnt/$type,N,2,$((20 * MIB)),100,T"; ok $? "$type: a group has its bytes, files and limits" "$out"
	[ "$(wc -l <<<"$out")" = 2 ]; ok $? "$type: root is left out" "$out"
	out=$(reeve-storage --filesystem /project /mnt/$type 2>&1)
	near "$(grep biology <<<"$out")" $((3 * MIB)) "biology,/project,N,2,$((8 * MIB)),,T"
	ok $? "$type: projects go before groups, with the name of /etc/projid and the soft limit" "$out"
done
out=$(reeve-storage /mnt/ext4 /mnt/xfs | reeve admin storage import - 2>&1); ok $? "the controller takes it" "$out"
out=$(as carol reeve usage --storage --csv --noheader --columns account,filesystem,files 2>&1)
[ "$(xargs <<<"$out")" = "biology,/mnt/ext4,2 biology,/mnt/xfs,2" ]; ok $? "a member of the project sees both file systems" "$out"
out=$(as alice reeve-storage /mnt/xfs 2>&1)
[ $? = 1 ]; ok $? "a user who is not root reads nothing" "$out"
has "$out" 'only root reads quotas' "and the message says why"
out=$(reeve-storage --kind project /var/tmp 2>&1); has "$out" 'counts no projects; it must be an XFS or ext4 that is mounted with prjquota' "a disk without them is refused"
umount /mnt/ext4 /mnt/xfs
tap_end
