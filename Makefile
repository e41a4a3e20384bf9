# SPDX-License-Identifier: GPL-2.0-or-later
# One Makefile, no recursion. `make`, `make demo`, `make demo-slurm`, `make check`; `make V=1` shows commands.
O        := build
CC       ?= cc
CLANG    ?= clang
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
ARCH     := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	    -Wvla -Wundef -Wwrite-strings -Wformat=2 -Werror
HARDEN   := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
CFLAGS   ?= -O2 -g
ALLFLAGS := -std=gnu17 -D_GNU_SOURCE $(WARN) $(HARDEN) -I. -I$O -iquote $O/bpf-skel -MMD -MP $(CFLAGS)
LDFLAGS  += -pie -Wl,-z,relro,-z,now -Wl,--as-needed
# make SANITIZE=1 O=build/sanitize: everything under ASan and UBSan, where the first report ends the
# program. GCC's warnings about cut strings are wrong there, and fortified calls would hide reads from ASan.
# make SANITIZE=thread O=build/tsan: the same under TSan.
ifdef SANITIZE
SANITIZERS := -fsanitize=$(if $(filter thread,$(SANITIZE)),thread,address,undefined) -fno-sanitize-recover=all -fno-omit-frame-pointer
ALLFLAGS   += $(SANITIZERS) -O1 -U_FORTIFY_SOURCE -Wno-format-truncation -Wno-maybe-uninitialized
LDFLAGS    += $(SANITIZERS)
endif
# make COVERAGE=1 O=build/coverage: counts which lines run; tests/coverage/coverage.py
ifdef COVERAGE
ALLFLAGS   += --coverage -fprofile-update=atomic -O0 -U_FORTIFY_SOURCE -Wno-format-truncation -Wno-maybe-uninitialized
LDFLAGS    += --coverage
endif
PREFIX   ?= /usr
DESTDIR  ?=
# All cores, unless -j says otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
Q        := $(if $(V),,@)
,        := ,
say       = $(if $(V),@:,@printf '  %-7s %s\n' "$1" "$2")

# Rooms. A directory is a room; a binary is a list of rooms.
sources     = $(shell find $1 -name '*.c')
COMMON     := $(call sources,common)
LIBRARY    := $(call sources,$(addprefix controller/,policy scheduler simulate config history accounts ledger pricing examples sharetree quota postgres))
CONTROLLER := $(call sources,controller)
LAUNCH     := $(call sources,agent/launch) $(patsubst %,common/%.c,err process/bounded process/clone_into views/datagram views/views packets/packets) common/model/console/console.c common/seal/seal.c
AGENT      := $(filter-out agent/launch/% agent/pam/%,$(call sources,agent))
CLI        := $(call sources,cli)
BPF        := $(wildcard bpf/*.bpf.c)
SKELS      := $(patsubst bpf/%.bpf.c,$O/bpf-skel/%.skel.h,$(BPF))
objs        = $(patsubst %.c,$O/%.o,$(sort $1))
FOLLOW     := $(call sources,slurm/follow)
MAIL       := $(call sources,mail)
OBJS       := $(call objs,$(COMMON) $(MAIL) $(CONTROLLER) $(AGENT) $(LAUNCH) $(CLI) $(FOLLOW) $(STORAGE) $(wildcard slurm/submit/*.c))

LIB_COMMON := -lsystemd -ljansson -lmunge -lsqlite3 -lnettle -lz -lm
LIB_AGENT  := $(LIB_COMMON) -lbpf -lelf -lcgroup -lhwloc
LIB_CTL    := $(LIB_COMMON) -lmicrohttpd -lgnutls -lxslt -lxml2
$O/controller/web/%.o: ALLFLAGS += $(shell pkg-config --cflags libxslt)
# The rest is loaded when it is needed: cli/lazy.
LIB_CLI    := -ljansson -lmunge -lnettle
$O/controller/postgres/%.o: ALLFLAGS += $(shell pkg-config --cflags libpq)
$O/cli/admin/doctor/gather/%.o: ALLFLAGS += $(shell pkg-config --cflags libpq)

PAM        := $(wildcard agent/pam/*.c) agent/launch/seccomp.c $(patsubst %,common/%.c,err views/datagram views/views)

# The plugin for Slurm is built where Slurm's headers are (libslurm-dev).
SPANK      := $(wildcard slurm/*.c) common/err.c common/model/amount.c
HAS_SLURM  := $(wildcard /usr/include/slurm/spank.h)

# Answers job_submit.lua: needs nothing of Slurm's to be built.
SLURM_SUBMIT := $(wildcard slurm/submit/*.c) slurm/follow/config.c slurm/follow/array.c

# Runs on file servers: libc only.
STORAGE := $(wildcard storage/*.c) $(patsubst %,common/%.c,err nearest csv/csv_write quotactl/quotactl verb/verb verb/verb_help)

# The module of Lua that job_submit.lua needs: for the Lua that slurmctld's plugin job_submit/lua is linked with. make LUA=lua5.4
LUA     ?= lua5.1
HAS_LUA := $(shell pkg-config --exists $(LUA) && echo yes)

BINS := $O/bin/reeve-slurm-submit $O/bin/reeve-mail $O/bin/reeve-storage $(if $(HAS_LUA),$O/lib/reeve_lua.so) $(if $(HAS_SLURM),$O/lib/reeve_spank.so $O/bin/reeve-slurm) $O/bin/reeve-agent $O/bin/reeve-controller $O/bin/reeve $O/bin/reeve-launch $O/lib/pam_reeve.so

# What other programs load would need the sanitizers in those.
all: $(if $(SANITIZERS),$(filter $O/bin/%,$(BINS)),$(BINS))

$O/bin/reeve-agent: $(call objs,$(COMMON) $(AGENT))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LIB_AGENT)
# The assembler includes the templates, which the compiler does not see.
$O/controller/web/files.o: $(wildcard controller/web/templates/*)
$O/bin/reeve-controller: $(call objs,$(COMMON) $(CONTROLLER))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LIB_CTL)
$O/bin/reeve: $(call objs,$(COMMON) $(CLI) $(LIBRARY))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LIB_CLI)
# The one program that is linked with libslurm: with the library of Slurm's own commands where it is, in the folder of
# plugins. The plugin that speaks with slurmdbd needs functions that libslurm.so hides, once slurmdbd fails.
SLURM_FULL := $(firstword $(wildcard $(PREFIX)/lib/$(shell $(CC) -print-multiarch)/slurm-wlm/libslurmfull.so $(PREFIX)/lib64/slurm/libslurmfull.so))
LIB_SLURM  := $(if $(SLURM_FULL),$(SLURM_FULL) -Wl$(,)-rpath$(,)$(dir $(SLURM_FULL)),-lslurm)
$O/bin/reeve-slurm: $(call objs,$(COMMON) $(FOLLOW))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LIB_COMMON) $(LIB_SLURM)
# What runs inside a job before the user's program does: libc only, so that it starts fast.
$O/bin/reeve-launch: $(call objs,$(LAUNCH))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^

# Loaded by sshd: libc and libpam only, and no name of ours in its way.
$O/lib/pam_reeve.so: $(patsubst %.c,$O/pic/%.o,$(PAM)) agent/pam/pam_reeve.map
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-z,relro,-z,now,-z,defs,--as-needed \
		-Wl,--version-script=agent/pam/pam_reeve.map -o $@ $(filter %.o,$^) -lpam
# Loaded by Slurm's daemons and commands, which have the functions slurm_* and spank_*.
$O/lib/reeve_spank.so: $(patsubst %.c,$O/pic/%.o,$(SPANK)) slurm/reeve_spank.map
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-z,relro,-z,now \
		-Wl,--version-script=slurm/reeve_spank.map -o $@ $(filter %.o,$^)
# Loaded by slurmctld, which has the functions of liblua.
$O/pic/slurm/lua/%.o: ALLFLAGS += $(shell pkg-config --cflags $(LUA))
$O/lib/reeve_lua.so: $O/pic/slurm/lua/reeve_lua.o slurm/lua/reeve_lua.map
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-z,relro,-z,now \
		-Wl,--version-script=slurm/lua/reeve_lua.map -o $@ $(filter %.o,$^)
$O/pic/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) -fPIC -c $< -o $@

$O/bin/reeve-mail: $(call objs,$(COMMON) $(MAIL))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LIB_COMMON) -lcurl
$O/bin/reeve-storage: $(call objs,$(STORAGE))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^
$O/bin/reeve-slurm-submit: $(call objs,$(COMMON) $(SLURM_SUBMIT))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LIB_COMMON)
# Only the files that include a skeleton wait for the BPF programs.
$(patsubst %.c,$O/%.o,$(shell grep -rls --include='*.c' 'skel\.h"' agent)): | $(SKELS)
$O/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) -c $< -o $@

# Kernel side: CO-RE against bpf/kernel.h, so that building needs no BTF on the build host.
$O/bpf/%.bpf.o: bpf/%.bpf.c bpf/%_abi.h bpf/kernel.h
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) -g -O2 -mcpu=v3 -Wall -Werror -target bpf \
		-D__TARGET_ARCH_$(ARCH) -I. -c $< -o $@
$O/bpf-skel/%.skel.h: $O/bpf/%.bpf.o
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp 2>$@.log && mv $@.tmp $@ \
		|| { cat $@.log >&2; exit 1; }

# Tests. A unit test links its module and what tests/unit/links.mk names: its honest list of
# dependencies. tests/unit has a folder for each room; the programs stand side by side in $O/tests/unit.
UNIT_SOURCES := $(shell find tests/unit -name 'test_*.c')
UNIT := $(patsubst %.c,$O/tests/unit/%,$(notdir $(UNIT_SOURCES)))
-include tests/unit/links.mk
vpath test_%.c $(sort $(dir $(UNIT_SOURCES)))
$O/tests/unit/%: %.c
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) -lcmocka $(LDLIBS) \
		&& sed -i 's,[^ ]*/test_[^ /]*\.c,,' $@.d # a test that moves to another folder is found by vpath

# Programs that tests run inside a node or a small kernel: static, so that they need nothing there.
$O/tests/node/%: tests/node/%.c common/cleanup.h
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -I. -static -pthread -o $@ $<

$O/tests/node/sql: tests/node/sql.c
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $< -lsqlite3

# Test levels: docs/testing.md. One suite: tests/check.sh NAME.
check-quick check check-all: deps
	$(Q)tests/check.sh $(patsubst check-%,%,$@)
demo: deps-demo
	$(Q)$(MAKE) --no-print-directory -s all
	$(Q)tests/node/demo/demo.sh
demo-slurm: deps-demo
	$(Q)$(MAKE) --no-print-directory -s all
	$(Q)tests/node/demo/slurm.sh
bench: all
	$(Q)tests/bench/run.sh
# Do the unit tests notice a changed sign? tests/mutation/mutate.py --help
mutation: all
	$(Q)tests/mutation/mutate.py
# Which lines of the pure rooms the unit tests run: tests/coverage/coverage.py --help
coverage: deps
	$(Q)tests/coverage/coverage.py
# What static analysers say of every source: tests/analysis/analyse.py --help
analysis: all
	$(Q)tests/analysis/analyse.py
deps:
	$(Q)tests/deps.sh
deps-build deps-demo:
	$(Q)tests/deps.sh $(@:deps-%=%)
unit-tests: $(UNIT)
sanitized-tests:
	$(Q)$(MAKE) --no-print-directory O=$O/sanitize SANITIZE=1 unit-tests
# What tests/sanitized.sh runs suites over.
sanitized-programs:
	$(Q)$(MAKE) --no-print-directory O=$O/sanitize SANITIZE=1 all
thread-sanitized-programs:
	$(Q)$(MAKE) --no-print-directory O=$O/tsan SANITIZE=thread all

clean:
	$(Q)rm -rf $O
.PHONY: all check check-quick check-all demo demo-slurm bench mutation coverage analysis deps deps-build deps-demo unit-tests sanitized-tests sanitized-programs thread-sanitized-programs bpf-tests install clean
.DELETE_ON_ERROR:
.SECONDARY:
include units/install.mk debian/deb.mk tests/bpf/scan.mk tests/bpf/vmem.mk tests/gpu/gpu.mk
bpf-tests: $(VMEM_BINS) $(SCAN_BINS)
-include $(OBJS:.o=.d) $(UNIT:=.d) $(patsubst %.c,$O/pic/%.d,$(PAM) $(SPANK) slurm/lua/reeve_lua.c) $(patsubst %.c,$O/%.d,$(PAM) $(SPANK)) \
	$O/tests/node/sql.d $(wildcard $O/tests/bpf/*.d $O/tests/bench/*/*.d)
