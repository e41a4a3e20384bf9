#!/bin/sh
# start.sh - what the virtual node runs for `make demo`.
DEMO_COLOR=$1 exec /usr/local/lib/reeve-demo/guest.sh /
