#!/bin/bash
# pictures.sh LINK [OUT] - takes the pictures of README.md and docs/ (docs/pictures) from a controller that has something to show: the link
# that `make demo KEEP=1` prints. Needs chromium, node and npm.
set -eu
cd "$(dirname "$0")/../.."
link=${1:?pictures.sh LINK [OUT]: the link of make demo KEEP=1} out=${2:-docs/pictures}
mkdir -p build/browser "$out"
cp tests/browser/package.json tests/browser/pictures.js build/browser/
[ -d build/browser/node_modules/playwright-core ] || (cd build/browser && npm install --no-audit --no-fund --silent)
node build/browser/pictures.js "$link" "$out" "$(command -v chromium)"
ls -l "$out"
