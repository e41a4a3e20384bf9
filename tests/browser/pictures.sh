#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pictures.sh LINK [TERMINAL] - takes the pictures of README.md and docs/ into docs/pictures: of the page of a controller that has something
# to show (LINK: `make demo KEEP=1` prints one), and of what `reeve top` wrote to a terminal of 80x24 (TERMINAL: `make demo DEMO_OUT=DIR`
# leaves DIR/terminal). Needs chromium, node and npm; for the terminal tmux and aha.
set -eu
cd "$(dirname "$0")/../.."
link=${1:?pictures.sh LINK [TERMINAL]: the link of make demo KEEP=1} out=docs/pictures terminal=
mkdir -p build/browser "$out"
cp tests/browser/package.json tests/browser/pictures.js build/browser/
[ -d build/browser/node_modules/playwright-core ] || (cd build/browser && npm install --no-audit --no-fund --silent)
# The screen as it was before `reeve top` left the alternate screen, by a real terminal emulator.
draw_terminal() { # RECORDED HTML
	local server
	server=$(mktemp -u)
	sed 's/\x1b\[?1049l.*//' "$1" >"$2.raw"
	tmux -S "$server" -f /dev/null new-session -d -x 80 -y 24 "cat '$2.raw'; sleep 60"
	sleep 1
	tmux -S "$server" capture-pane -e -p | aha --black --title "reeve top" >"$2"
	tmux -S "$server" kill-server
	rm "$2.raw"
}
if [ -n "${2:-}" ]; then
	terminal=$PWD/build/browser/terminal.html
	draw_terminal "$2" "$terminal"
fi
node build/browser/pictures.js "$link" "$out" "$(command -v chromium)" $terminal
ls -l "$out"
