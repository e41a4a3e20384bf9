#!/bin/sh
# demo_start.sh - what the virtual node runs for `make demo`.
DEMO_COLOR=$1 exec /usr/local/lib/reeve-demo/demo_guest.sh /
