# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Makes what the virtual node boots from, once, below $VM_CACHE/<key>/:
#   vmlinuz, modules/, root.img (Debian), jobfs-ext4.img, jobfs-xfs.img (2 GiB each),
#   initrd-<key of vm_init>.img; dev/ where the list of packages has some for it.
# Packages are those of packages.txt, and of packages_$VM_WITH.txt where VM_WITH is set. There
# SUITE:NAME is for that release alone, -NAME is removed again at the end, whatever needs it, and @NAME is unpacked into dev/ for the
# host's compiler and not installed.
# The key is the digest of the files that decide the content, so a change to any of them
# makes a new image and never alters one that a running guest reads.
# Sourced after vm_lib.sh.

# Its libraries are those that the programs were linked with: the node is of the host's release if that is Debian 12 or 13, else of 12.
# shellcheck disable=SC1091
VM_SUITE=$(. /etc/os-release && case ${VERSION_CODENAME:-} in trixie) echo trixie ;; *) echo bookworm ;; esac)
VM_KERNEL_META=linux-image-cloud-amd64
VM_MODULES='virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci
	virtio_blk virtio_console'
# Not of use in a guest that lives for seconds; each costs start-up time.
VM_MASKED='systemd-timesyncd.service apt-daily.timer apt-daily-upgrade.timer
	dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
	systemd-update-utmp.service systemd-update-utmp-runlevel.service
	systemd-pcrphase.service systemd-pcrphase-sysinit.service
	systemd-pcrphase-initrd.service systemd-pstore.service systemd-rfkill.socket
	systemd-rfkill.service getty.target console-getty.service
	systemd-networkd-wait-online.service systemd-random-seed.service
	systemd-machine-id-commit.service systemd-firstboot.service
	systemd-binfmt.service proc-sys-fs-binfmt_misc.automount modprobe@drm.service
	sys-kernel-config.mount modprobe@configfs.service modprobe@fuse.service
	sys-fs-fuse-connections.mount dev-hugepages.mount dev-mqueue.mount
	xfs_scrub_all.timer systemd-journal-flush.service systemd-boot-update.service
	systemd-hwdb-update.service systemd-udev-settle.service'

VM_WITH=

vm_packages()
{
	cat "$VM_NODE_DIR/packages.txt" "$VM_NODE_DIR/packages${VM_WITH:+_$VM_WITH}.txt" |
		sed 's/#.*//' | grep -o '[^[:space:]]*' | sed "s/^$VM_SUITE://; /^[a-z]*:/d" | awk '!seen[$0]++'
}

# vm_packages_of MARK: those that have it before their name, without it, on one line.
vm_packages_of()
{
	vm_packages | sed -n "s/^$1//p" | paste -sd' '
}

vm_image_key()
{
	{
		echo "$VM_SUITE"
		vm_packages
		cat "$VM_NODE_DIR/vm_image.sh"
	} | sha256sum | cut -c1-16
}

vm_initrd_key()
{
	sha256sum <"$VM_NODE_DIR/vm_init" | cut -c1-16
}

# Sets VM_IMAGE to a complete image directory and VM_INITRD, making what is missing. Two at once:
# the second waits for the first and takes its work.
vm_prepare()
{
	VM_IMAGE=$VM_CACHE/$(vm_image_key)
	VM_INITRD=$VM_IMAGE/initrd-$(vm_initrd_key).img
	[ ! -e "$VM_IMAGE/complete" ] || [ ! -e "$VM_INITRD" ] || return 0
	[ "$(uname -m)" = x86_64 ] ||
		vm_die "$VM_EX_HOST" "the virtual node is for x86_64 hosts, this is $(uname -m)"
	vm_need mmdebstrap mmdebstrap mke2fs e2fsprogs mkfs.xfs xfsprogs cpio cpio \
		busybox busybox-static qemu-system-x86_64 qemu-system-x86 dpkg-deb dpkg
	vm_tmp
	mkdir -p "$VM_CACHE" || vm_die "$VM_EX_HOST" "cannot write $VM_CACHE"
	exec 9>"$VM_CACHE/lock" || vm_die "$VM_EX_HOST" "cannot write $VM_CACHE/lock"
	if ! flock -n 9; then
		vm_say "another run is making the image, waiting for it"
		flock 9
	fi
	[ -e "$VM_IMAGE/complete" ] || vm_make_image
	[ -e "$VM_INITRD" ] || vm_make_initrd
	exec 9>&-
}

vm_make_image()
{
	local begin=$SECONDS new=$VM_IMAGE.new

	rm -rf "$VM_IMAGE" "$new"
	mkdir -p "$new" || vm_die "$VM_EX_HOST" "cannot write $new"
	vm_say "making the Debian node ($VM_SUITE) in $VM_CACHE (once, about a minute)"
	vm_make_root "$new"
	vm_say "packing kernel, initrd and job disks"
	vm_take_kernel "$new"
	vm_make_jobfs "$new"
	chmod -R a+rX "$new"
	touch "$new/complete"
	mv "$new" "$VM_IMAGE" || vm_die "$VM_EX_HOST" "cannot rename $new"
	vm_say "image ready after $((SECONDS - begin)) s: $VM_IMAGE"
}

# The host's own apt settings for fetching (proxy, mirrors' options, credentials by path)
# go to mmdebstrap; the image's /etc/apt is emptied at the end, none of it stays.
vm_apt_options()
{
	apt-config dump --format '%F "%v";%n' | grep -E '^(Acquire|APT::Authentication)::' |
		grep -v '^Acquire::IndexTargets'
	echo 'Acquire::Languages "none";'
	echo 'Dir::Etc::netrc "/etc/apt/auth.conf";'
	echo 'Dir::Etc::netrcparts "/etc/apt/auth.conf.d";'
}

# The host's sources when the host is of the same suite, else Debian's public mirror.
vm_apt_sources()
{
	local f

	# shellcheck disable=SC1091
	if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = "$VM_SUITE" ]; then
		for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
			/etc/apt/sources.list.d/*.sources; do
			[ ! -s "$f" ] || echo "$f"
		done
	fi
}

# What mmdebstrap's last hook does with the unpacked tree $1: configuration, kernel (taken
# from its package without its maintainer scripts), no traces of the host.
vm_write_hook()
{
	cat >"$VM_TMP/hook" <<-EOF
		#!/bin/sh
		set -e
		root=\$1
		masked='${VM_MASKED//[$'\n\t']/ }'
		kernel_meta=$VM_KERNEL_META
		away='$(vm_packages_of -)'
		dev='$(vm_packages_of @)'
	EOF
	cat >>"$VM_TMP/hook" <<-'EOF'
		cd "$(dirname "$0")/kernel"
		export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
		apt-get -qq download "$kernel_meta"
		kernel=$(dpkg-deb -f "$kernel_meta"_*.deb Depends | sed 's/[ ,(].*//')
		apt-get -qq download "$kernel"
		dpkg-deb --fsys-tarfile "$kernel"_*.deb |
			tar -C "$root" -x --keep-directory-symlink ./boot ./lib/modules
		version=$(basename "$root"/lib/modules/*)
		chroot "$root" depmod "$version"
		for p in $away; do
			chroot "$root" dpkg --force-depends --purge "$p"
		done
		for p in $dev; do
			apt-get -qq download "$p"
			dpkg-deb -x "$p"_*.deb dev
		done

		for n in alice:1001 bob:1002 carol:1003; do
			chroot "$root" useradd -m -s /bin/bash -u "${n#*:}" "${n%:*}"
		done
		test -s "$root/etc/munge/munge.key"
		mkdir -p "$root/var/lib/reeve/jobfs" "$root/out"
		echo reeve-vm >"$root/etc/hostname"
		echo '127.0.0.1 localhost reeve-vm' >"$root/etc/hosts"
		echo 6d792d72656576652d766d2d6e6f6465 >"$root/etc/machine-id"
		: >"$root/etc/fstab"
		mkdir -p "$root/etc/systemd/journald.conf.d" "$root/etc/systemd/system.conf.d"
		printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=64M\nRateLimitBurst=0\nForwardToConsole=yes\nMaxLevelConsole=err\n' \
			>"$root/etc/systemd/journald.conf.d/vm.conf"
		printf '[Manager]\nDefaultTimeoutStartSec=60s\nDefaultTimeoutStopSec=20s\n' \
			>"$root/etc/systemd/system.conf.d/vm.conf"
		for u in $masked; do
			ln -sf /dev/null "$root/etc/systemd/system/$u"
		done
		ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
		rm -rf "$root"/etc/apt/apt.conf.d/99mmdebstrap "$root"/etc/apt/sources.list* \
			"$root"/etc/apt/auth.conf* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* \
			"$root"/usr/share/doc/* "$root"/usr/share/locale/* "$root"/usr/share/man/*
		touch "$root/etc/.updated" "$root/var/.updated"
	EOF
	chmod 755 "$VM_TMP/hook"
	mkdir -m 1777 "$VM_TMP/kernel"
	chmod 711 "$VM_TMP"
}

vm_make_root()
{
	local new=$1 log=$VM_TMP/mmdebstrap.log sources mode=root

	if [ "$(id -u)" != 0 ]; then
		mode=unshare
		vm_check_unshare
	fi
	vm_write_hook
	vm_apt_options >"$VM_TMP/apt.conf"
	mapfile -t sources < <(vm_apt_sources)
	vm_say "fetching and unpacking packages"
	if ! mmdebstrap --mode="$mode" --variant=minbase --format=tar \
		--include="$(vm_packages | grep '^[a-z]' | paste -sd,)" --aptopt="$VM_TMP/apt.conf" \
		--customize-hook="$VM_TMP/hook" "$VM_SUITE" "$VM_TMP/root.tar" \
		"${sources[@]}" </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		vm_die "$VM_EX_HOST" "mmdebstrap failed"
	fi
	tar -C "$new" -xf "$VM_TMP/root.tar" ./boot ./lib/modules 2>/dev/null ||
		tar -C "$new" -xf "$VM_TMP/root.tar" ./boot ./usr/lib/modules
	[ ! -d "$VM_TMP/kernel/dev" ] || cp -R "$VM_TMP/kernel/dev" "$new/dev" ||
		vm_die "$VM_EX_HOST" "cannot write $new/dev"
	vm_say "writing the root disk"
	truncate -s 4G "$new/root.img"
	# shellcheck disable=SC2016
	vm_as_root "$mode" sh -c 'mkdir "$1/tree" && tar -C "$1/tree" --numeric-owner -x &&
		PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -O ^has_journal -L reeve-root \
		-d "$1/tree" "$2"; s=$?; rm -rf "$1/tree"; exit $s' \
		sh "$VM_TMP/kernel" "$new/root.img" <"$VM_TMP/root.tar" ||
		vm_die "$VM_EX_HOST" "mke2fs failed"
}

# Runs a command as root: ourselves, or in a user namespace with the user's id ranges.
vm_as_root()
{
	local mode=$1

	shift
	if [ "$mode" = root ]; then
		"$@"
	else
		unshare --map-root-user --map-auto --setuid 0 --setgid 0 "$@"
	fi
}

vm_check_unshare()
{
	vm_need newuidmap uidmap
	vm_as_root unshare true 2>/dev/null || vm_die "$VM_EX_HOST" \
		"making the image as $(id -un) needs user namespaces and id ranges in" \
		"/etc/subuid and /etc/subgid; or make it once as root: sudo $0 prepare"
}

# The kernel and the modules that the initial RAM disk needs, out of the unpacked tree.
vm_take_kernel()
{
	local new=$1 m f

	cp "$new"/boot/vmlinuz-* "$new/vmlinuz"
	mkdir "$new/modules"
	for m in $VM_MODULES; do
		f=$(find "$new" -name "$m.ko" | head -n 1)
		[ -n "$f" ] || vm_die "$VM_EX_HOST" "the kernel package has no $m"
		strip -g -o "$new/modules/$m.ko" "$f" 2>/dev/null || cp "$f" "$new/modules/"
	done
	rm -rf "${new:?}/boot" "${new:?}/lib" "${new:?}/usr"
}

vm_make_initrd()
{
	local tree=$VM_TMP/initrd

	mkdir -p "$tree/bin"
	cp "$(command -v busybox)" "$tree/bin/busybox"
	cp -R "$VM_IMAGE/modules" "$tree/"
	install -m 755 "$VM_NODE_DIR/vm_init" "$tree/init"
	(cd "$tree" && find . | cpio --quiet -o -H newc -R 0:0) >"$VM_INITRD.new" &&
		chmod a+r "$VM_INITRD.new" && mv "$VM_INITRD.new" "$VM_INITRD" ||
		vm_die "$VM_EX_HOST" "cannot write $VM_INITRD"
	rm -rf "$tree"
}

vm_make_jobfs()
{
	local new=$1
	local PATH=$PATH:/usr/sbin:/sbin

	truncate -s 2G "$new/jobfs-ext4.img" "$new/jobfs-xfs.img"
	mke2fs -q -t ext4 -O quota,project -E quotatype=usrquota:grpquota:prjquota \
		-L jobfs "$new/jobfs-ext4.img" || vm_die "$VM_EX_HOST" "mke2fs failed"
	mkfs.xfs -q -L jobfs "$new/jobfs-xfs.img" || vm_die "$VM_EX_HOST" "mkfs.xfs failed"
}
