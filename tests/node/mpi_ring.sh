#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mpi_ring.sh WITH PROGRAM - compile mpi_ring.c for nodes that run `--with WITH`, by the Open MPI of their image: this machine needs none.
set -eu
cd "$(dirname "$0")/../.."
image=$(tests/vm/vm.sh prepare --with "$1" 2>&1 | sed -n 's/^vm: \(\/.*\)$/\1/p')
lib=$image/dev/usr/lib/x86_64-linux-gnu
[ -e "$lib/openmpi/include/mpi.h" ] || { echo "mpi_ring: no Open MPI in the image '$image'" >&2; exit 1; }
exec "${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -O1 -g -I. -isystem "$lib/openmpi/include" \
	-o "$2" tests/node/mpi_ring.c "$lib/libmpi.so.40" -Wl,--allow-shlib-undefined
