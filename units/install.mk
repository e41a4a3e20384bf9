# SPDX-License-Identifier: GPL-2.0-or-later
# install.mk - where things go. DESTDIR for packages; PREFIX is /usr.
INSTALL   ?= install
unitdir    = $(DESTDIR)$(PREFIX)/lib/systemd/system
# Where libpam looks for modules: /lib/x86_64-linux-gnu/security, /lib64/security.
pamdir    ?= $(DESTDIR)$(PREFIX)/lib/$(shell $(CC) -print-multiarch)/security
# Where Slurm of Debian looks for plugins (scontrol show config: PluginDir); elsewhere e.g. /usr/lib64/slurm.
slurmdir  ?= $(DESTDIR)$(PREFIX)/lib/$(shell $(CC) -print-multiarch)/slurm-wlm
# Where that Lua looks for modules in C (lua5.1 -e 'print(package.cpath)').
luadir    ?= $(DESTDIR)$(PREFIX)/lib/$(shell $(CC) -print-multiarch)/lua/$(LUA:lua%=%)
libexecdir = $(DESTDIR)$(PREFIX)/libexec/reeve

install: all
	$(INSTALL) -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $O/bin/reeve
	$(INSTALL) -D -m 755 -t $(DESTDIR)$(PREFIX)/sbin $O/bin/reeve-agent $O/bin/reeve-controller $O/bin/reeve-storage
	$(INSTALL) -D -m 755 -t $(libexecdir) $O/bin/reeve-launch $O/bin/reeve-mail
	$(INSTALL) -D -m 644 -t $(pamdir) $O/lib/pam_reeve.so
	$(if $(HAS_SLURM),$(INSTALL) -D -m 644 -t $(slurmdir) $O/lib/reeve_spank.so)
	$(if $(HAS_SLURM),$(INSTALL) -D -m 755 -t $(DESTDIR)$(PREFIX)/sbin $O/bin/reeve-slurm)
	$(if $(HAS_SLURM),$(INSTALL) -D -m 644 -t $(unitdir) units/reeve-slurm.service \
		units/reeve-reconcile.service units/reeve-reconcile.timer)
	$(if $(HAS_SLURM),$(INSTALL) -D -m 644 -t $(DESTDIR)/etc/reeve units/reeve-slurm.conf)
	$(INSTALL) -D -m 755 -t $(DESTDIR)$(PREFIX)/sbin $O/bin/reeve-slurm-submit
	$(INSTALL) -D -m 644 -t $(unitdir) units/reeve-slurm-submit.service
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/reeve/slurm slurm/lua/job_submit.lua
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/reeve/pbs pbs/reeve.py pbs/reeve.json
	$(if $(HAS_LUA),$(INSTALL) -D -m 644 -t $(luadir) $O/lib/reeve_lua.so)
	$(INSTALL) -D -m 644 -t $(unitdir) units/reeve-agent.service units/reeve-controller.service \
		units/reeve-controller.socket units/reeve.slice units/reeve_agent.slice units/reeve-backup.service units/reeve-backup.timer
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/systemd/catalog units/reeve.catalog
	$(INSTALL) -D -m 644 units/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/reeve.conf
	$(INSTALL) -D -m 644 units/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/reeve.conf
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/dbus-1/system.d units/org.reeve.Agent1.conf
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/polkit-1/rules.d units/50-reeve-linger.rules
	$(INSTALL) -D -m 644 -t $(DESTDIR)/etc/reeve units/agent.conf units/controller.conf \
		units/reeve.conf
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/reeve/profiles units/profiles/*.conf \
		units/profiles/*.examples
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/reeve/monitoring monitoring/reeve.rules.yml
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/reeve/monitoring/grafana monitoring/grafana/*.json
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/reeve/examples units/accounts.conf
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		units/bash-completion/reeve
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
		$(DESTDIR)$(PREFIX)/share/man/man8
	scdoc < docs/man/reeve.1.scd > $(DESTDIR)$(PREFIX)/share/man/man1/reeve.1
	scdoc < docs/man/reeve.conf.5.scd > $(DESTDIR)$(PREFIX)/share/man/man5/reeve.conf.5
	scdoc < docs/man/reeve-agent.8.scd > $(DESTDIR)$(PREFIX)/share/man/man8/reeve-agent.8
	scdoc < docs/man/reeve-controller.8.scd > $(DESTDIR)$(PREFIX)/share/man/man8/reeve-controller.8
	scdoc < docs/man/reeve-mail.8.scd > $(DESTDIR)$(PREFIX)/share/man/man8/reeve-mail.8
	scdoc < docs/man/reeve-storage.8.scd > $(DESTDIR)$(PREFIX)/share/man/man8/reeve-storage.8
	scdoc < docs/man/reeve-slurm-submit.8.scd > $(DESTDIR)$(PREFIX)/share/man/man8/reeve-slurm-submit.8
	$(if $(HAS_SLURM),scdoc < docs/man/reeve-slurm.8.scd > $(DESTDIR)$(PREFIX)/share/man/man8/reeve-slurm.8)
