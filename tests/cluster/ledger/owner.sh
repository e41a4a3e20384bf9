#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# owner.sh - commands of root's on the ledger of another user, who has put links in the places of its files: they work as
# that user, and no file of root's changes. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root, who works on another user's files"; exit 0; }
live_dir owner
binary_of_reeve=${REEVE_BINARY:-$PWD/build/bin/reeve}
owner=bin # whose ledger it is
uid=$(id -u $owner)
theirs=$dir/theirs # the owner's directory
backups=$dir/backups
roots=$dir/roots # a directory of root's
ledger=$theirs/ledger.db
target=$roots/target
reeve() { "$binary_of_reeve" "$@" 2>&1; }
install -d -m 700 "$backups" "$roots"
printf '; UnixStartTime: 1000000000\n1 0 1 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1\n' >"$dir/one.swf"
reeve import swf "$dir/one.swf" --cluster old --ledger "$roots/ledger.db" >/dev/null || bail "no ledger is made"
reeve admin backup "$backups/one.db" --ledger "$roots/ledger.db" >/dev/null || bail "no backup is made"

# A directory of the owner's with a ledger in it, and a file of root's.
begin() { # [EMPTY]
	rm -rf "$theirs"
	install -d -m 700 -o "$owner" "$theirs"
	[ -n "${1:-}" ] || install -m 600 -o "$owner" "$backups/one.db" "$ledger"
	rm -rf "$target"* "$roots"/made*
	printf "root's\n" >"$target" && chmod 600 "$target"
}
state() { stat -c '%n %u:%g %a %s %Y' "$target" && cat "$target"; ls "$roots"; }
# COMMAND of root's, where the owner put a link to root's file, then one to a name that root's directory lacks.
attack() { # COMMAND NAME [EMPTY]
	local was to
	for to in "$target" "$roots/made"; do
		begin "${3:-}"
		[ ! -e "$theirs/$2" ] || rm "$theirs/$2"
		ln -s "$to" "$theirs/$2"
		was=$(state)
		(cd / && $1) >"$dir/out" 2>&1
		is "${1//_/ }: a link from $2 to $([ "$to" = "$target" ] && echo "a file" || echo "a new name") of root's is not followed" "$was" "$(state)"
	done
}
restore() { reeve admin restore "$backups/one.db" --ledger "$ledger"; }
restore_mark() { reeve admin restore --mark --taken 2026-11-24T03:00:00Z --ledger "$ledger"; }
downgrade() { reeve admin downgrade --ledger "$ledger"; }
migrate() { reeve admin migrate --from "$ledger" --to postgresql://127.0.0.1:1/none; }
verify() { reeve admin verify --ledger "$ledger"; }
rebuild() { reeve admin rebuild --ledger "$ledger"; }
archive() { reeve admin archive --ledger "$ledger" --before 2026-01 --to "$theirs/archive"; }
backup() { reeve admin backup "$theirs/copy.db" --ledger "$ledger"; }
reprice() { reeve admin reprice --ledger "$ledger" --profile nci; }
import() { reeve import swf "$dir/one.swf" --cluster old --ledger "$ledger"; }
usage() { reeve usage --ledger "$ledger"; }
accounts() { reeve admin accounts show --ledger "$ledger"; }

for end in '' .lead .restoring .restoring-wal .restoring-shm .restoring-journal; do attack restore "ledger.db$end" empty; done
for verb in restore_mark downgrade migrate; do
	for end in '' .lead -wal -shm -journal; do attack $verb "ledger.db$end"; done
done
for verb in verify rebuild archive backup reprice import usage accounts; do
	for end in '' -wal -shm -journal; do attack $verb "ledger.db$end"; done
done
for end in '' .part .json .json.new .part-check .part-check-wal; do attack backup "copy.db$end"; done
attack archive archive
begin
mkdir "$roots/madedir"
reeve admin backup "$roots/madedir/ledger.db" --ledger "$roots/ledger.db" >/dev/null
ln -s "$roots/madedir" "$theirs/sub"
was=$(sha256sum "$roots/madedir/ledger.db"; ls "$roots/madedir")
out=$(reeve admin restore --mark --taken 2026-11-24T03:00:00Z --ledger "$theirs/sub/ledger.db")
is "a directory that is a link of the owner's leads into no directory of root's" "$was" "$(sha256sum "$roots/madedir/ledger.db"; ls "$roots/madedir")"

# ---- without links they do their work, as the owner ----
begin empty
out=$(restore)
is "root restores a ledger into the owner's directory" 0 $? "$out"
is "the ledger and its lock are the owner's" "$uid 600 $uid 600" "$(stat -c '%u %a' "$ledger" "$ledger.lead" | xargs)"
out=$(restore_mark)
is "root marks a restored ledger of the owner" 0 $?
out=$(verify)
is "root verifies a ledger of the owner" 0 $?
is "nothing in the directory is root's" "" "$(find "$theirs" -not -user "$owner")"
out=$(reeve admin backup "$roots" --ledger "$ledger")
is "a backup into a directory that the owner of the ledger cannot write is refused" 1 $?
has "the message names uid and directory" "uid $uid cannot write $roots: give it to that user, or another directory" "$out"
out=$(reeve admin backup "$theirs" --ledger "$roots/ledger.db")
is "a ledger of root's is not backed up into another user's directory" 1 $?
has "the message names the uid that cannot read the ledger" "uid $uid, the owner of $theirs, cannot read $roots/ledger.db" "$out"
ln -s "$roots" "$dir/link"
out=$(reeve admin verify --ledger "$dir/link/ledger.db")
is "root follows no link to a ledger, of its own neither" 1 $?
has "the message says what to give in the place of the link" "$dir/link is a symbolic link, and root follows none on the way to a ledger: give the path that it stands for" "$out"
tap_end
