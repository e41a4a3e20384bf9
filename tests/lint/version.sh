#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# version.sh - what --version prints, the newest section of CHANGELOG.md and the newest entry of debian/changelog name one version.
version=$(sed -n 's/^#define REEVE_VERSION "\(.*\)"$/\1/p' common/version.h)
changes=$(sed -n 's/^## \[\([0-9].*\)\] - [0-9-]*$/\1/p' CHANGELOG.md | head -n 1)
package=$(sed -n '1s/^reeve (\(.*\)) .*/\1/p' debian/changelog)
[ -n "$version" ] && [ "$version" = "$changes" ] && [ "$version" = "$package" ] && exit
echo "lint: versions differ: common/version.h '$version', CHANGELOG.md '$changes', debian/changelog '$package'"
exit 1
