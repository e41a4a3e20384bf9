# SPDX-License-Identifier: GPL-2.0-or-later
# deb.mk - `make dist`: the committed source as build/reeve-VERSION.tar.gz. `make deb`: Debian's packages, in build/deb, from the
# files as they are here; what was compiled for them before is used again. Nothing is written into the tree.
VERSION := $(shell sed -n 's/.*REEVE_VERSION "\(.*\)"/\1/p' common/version.h)

dist:
	$(Q)mkdir -p $O && git archive --prefix=reeve-$(VERSION)/ -o $O/reeve-$(VERSION).tar.gz HEAD
	@echo $O/reeve-$(VERSION).tar.gz

deb:
	$(Q)debian/build.sh $O/deb
.PHONY: dist deb
