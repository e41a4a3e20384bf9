#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_start.sh - what the virtual node runs for `make demo-slurm`.
DEMO_COLOR=$1 exec /usr/local/lib/reeve-demo/slurm_guest.sh
