# SPDX-License-Identifier: GPL-2.0-or-later
# Builds, tests and installs vnicd. `make V=1` shows the commands; `make CC=clang`, `make WERROR=1`, `make SAN=1`.

prefix      ?= /usr/local
sbindir     ?= $(prefix)/sbin
mandir      ?= $(prefix)/share/man
unitdir     ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
modprobedir ?= $(prefix)/lib/modprobe.d
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
networkdir  ?= $(prefix)/lib/systemd/network
udevdir     ?= $(prefix)/lib/udev/rules.d
bashdir     ?= $(prefix)/share/bash-completion/completions
sysconfdir  ?= /etc
DESTDIR     ?=

VERSION := 0.1
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
B       ?= build
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

PKGS  := libnl-3.0 libnl-route-3.0 libmnl libbpf libcap-ng libsystemd jansson sqlite3 smartcols inih
# Evaluated when used, so that `make deps` runs before anything is installed.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
WARN  := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings -Wundef
WARN  += $(if $(WERROR),-Werror)
HARD  := -fstack-protector-strong -fstack-clash-protection -fPIE
comma := ,
SANS  := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
HARD  += $(if $(SAN),,-D_FORTIFY_SOURCE=2)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE $(WARN) $(HARD) $(CFLAGS) $(SANS) -I. -I$(B) $(PKG_CFLAGS) -DVERSION='"$(VERSION)"' -MMD -MP
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now $(LDFLAGS) $(SANS)

# What each program is made of: the layers of DESIGN, lowest first.
srcs    = $(sort $(foreach d,$(1),$(wildcard $(d)/*.c)))
objs    = $(patsubst %.c,$(B)/%.o,$(1))
CLI_SRC    := $(filter-out lib/bpf/%.bpf.c,$(call srcs,lib/base lib/model lib/ipc lib/cli))
DAEMON_LIB := $(filter-out %.bpf.c,$(call srcs,lib/base lib/model lib/ipc lib/nl lib/bpf lib/kern))
DAEMON_SRC := $(filter-out vnicd/main.c,$(call srcs,vnicd))
BPF_SRC    := $(wildcard lib/bpf/*.bpf.c)
SKELS      := $(patsubst lib/bpf/%.bpf.c,$(B)/lib/bpf/%.skel.h,$(BPF_SRC))
COMMANDS   := vnicadm flowadm
PROGRAMS   := $(B)/vnicd/vnicd $(foreach c,$(COMMANDS),$(B)/$(c)/$(c))
UNIT       := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
TOOLS      := $(patsubst tests/tools/%.c,$(B)/tests/tools/%,$(wildcard tests/tools/*.c))

.PHONY: all deps tested check check-unit check-netns asan demo bench soak deb check-vm check-system install uninstall clean
.PHONY: lint lint-format lint-tidy lint-cppcheck lint-shell lint-man
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS)

$(B)/vnicd/vnicd: $(call objs,vnicd/main.c $(DAEMON_SRC) $(DAEMON_LIB))
$(B)/vnicadm/vnicadm: $(call objs,$(call srcs,vnicadm) $(CLI_SRC))
$(B)/flowadm/flowadm: $(call objs,$(call srcs,flowadm) $(CLI_SRC))
$(B)/vnicd/vnicd: LIBS = -lnl-route-3 -lnl-3 -lmnl -lbpf -lcap-ng -lsystemd -ljansson -lsqlite3 -linih -lm
$(foreach c,$(COMMANDS),$(B)/$(c)/$(c)): LIBS = -ljansson -lsmartcols
# The daemon that dies or fails on demand, for tests only.
FAULTY     := vnicd/fault.c vnicd/apply.c vnicd/reconcile.c vnicd/save.c vnicd/flowtxn.c lib/base/disable.c
$(B)/tests/vnicd: $(call objs,vnicd/main.c $(filter-out $(FAULTY),$(DAEMON_SRC) $(DAEMON_LIB))) \
	$(patsubst %.c,$(B)/tests/vnicd-%.o,$(notdir $(FAULTY)))
$(B)/tests/vnicd: LIBS = -lnl-route-3 -lnl-3 -lmnl -lbpf -lcap-ng -lsystemd -ljansson -lsqlite3 -linih -lm
define faulty
$(B)/tests/vnicd-%.o: $(1)/%.c Makefile
	$$(Q)mkdir -p $$(@D)
	$$(call say,CC,$$< (faults)) $$(CC) $$(ALL_CFLAGS) -DVNICD_TEST -c -o $$@ $$<
endef
$(foreach d,vnicd lib/base,$(eval $(call faulty,$(d))))
$(PROGRAMS) $(B)/tests/vnicd:
	$(call say,LD,$@) $(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/%.o: %.c Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(ALL_CFLAGS) -c -o $@ $<

# eBPF: object, then the skeleton header that embeds it.
$(B)/lib/bpf/%.bpf.o: lib/bpf/%.bpf.c $(wildcard lib/bpf/*.h) Makefile
	$(Q)mkdir -p $(@D)
	$(call say,BPF,$<) $(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -I. \
		-I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<
$(B)/lib/bpf/many.bpf.o $(B)/lib/bpf/flow.bpf.o: lib/bpf/vnic.bpf.c lib/model/flowkey.h
$(B)/lib/bpf/%.skel.h: $(B)/lib/bpf/%.bpf.o
	$(call say,SKEL,$@) $(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf >$@
$(call objs,$(filter-out %.bpf.c,$(wildcard lib/bpf/*.c))): $(SKELS)

# The interface file as one C string: GetInterfaceDescription answers with it.
$(B)/lib/ipc/varlink_text.h: lib/ipc/org.vnicd.varlink Makefile
	$(Q)mkdir -p $(@D)
	$(call say,GEN,$@) sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' \
		-e '1s/^/static const char varlink_text[] =\n/' -e '$$s/$$/;/' $< >$@
$(B)/vnicd/service.o: $(B)/lib/ipc/varlink_text.h

# The session's test answers the requests itself.
$(B)/tests/unit/test_session: LDFLAGS += -Wl,--wrap=request_handle

# The random test puts itself between the daemon and its kernels, callers and clock.
wrap = -Wl,--wrap=$(1)
$(B)/tests/unit/random: LDFLAGS += $(foreach f,kern_real_new kern_free kern_real_event_fd kern_real_events kern_real_nsid \
	kern_real_zone kern_real_lower kern_real_zones sd_event_add_time_relative call_params call_method call_may_change \
	call_reply call_fail call_invalid,$(call wrap,$(f)))

# Unit tests link everything but the programs' main().
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(call objs,$(DAEMON_SRC) $(DAEMON_LIB) $(call srcs,lib/cli))
	$(call say,LD,$@) $(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt -lm -lpthread \
		-lnl-route-3 -lnl-3 -lmnl -lbpf -lcap-ng -lsystemd -ljansson -lsqlite3 -linih -lsmartcols
$(B)/tests/tools/%: tests/tools/%.c Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< -lpthread -lm

# What the system takes from vnicd/: FILE:WHERE, as one name has to do for several directories.
SYSTEM := vnicd.service:$(unitdir)/vnicd.service vnicd.sysusers:$(sysusersdir)/vnicd.conf \
	vnicd.tmpfiles:$(tmpfilesdir)/vnicd.conf vnicd.modprobe:$(modprobedir)/vnicd.conf \
	vnicd.rules:$(udevdir)/70-vnicd.rules vnicd.link:$(networkdir)/10-vnicd.link \
	vnicd.network:$(networkdir)/10-vnicd.network
where = $(word 2,$(subst :, ,$(1)))
MANS  = $(wildcard man/*.[58])
INSTALLED = $(addprefix $(sbindir)/,$(notdir $(PROGRAMS))) $(foreach s,$(SYSTEM),$(call where,$(s))) \
	$(foreach m,$(MANS),$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	$(addprefix $(bashdir)/,$(COMMANDS))
install: all
	$(Q)install -d $(addprefix $(DESTDIR),$(sort $(dir $(INSTALLED))) $(sysconfdir)/vnicd)
	$(Q)install -m 755 $(PROGRAMS) $(DESTDIR)$(sbindir)
	$(Q)$(foreach m,$(MANS),install -m 644 $(m) $(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m))) &&) true
	$(Q)$(foreach s,$(SYSTEM),sed 's|@sbindir@|$(sbindir)|' vnicd/$(firstword $(subst :, ,$(s))) \
		>$(DESTDIR)$(call where,$(s)) && chmod 644 $(DESTDIR)$(call where,$(s)) &&) true
	$(Q)$(foreach c,$(COMMANDS),install -m 644 $(c)/$(c).bash $(DESTDIR)$(bashdir)/$(c) &&) true
	$(Q)[ -e $(DESTDIR)$(sysconfdir)/vnicd/vnicd.conf ] || \
		install -m 644 vnicd/vnicd.conf $(DESTDIR)$(sysconfdir)/vnicd/vnicd.conf

# The configuration stays where somebody has changed it.
uninstall:
	$(Q)rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	$(Q)! cmp -s vnicd/vnicd.conf $(DESTDIR)$(sysconfdir)/vnicd/vnicd.conf || \
		rm -r $(DESTDIR)$(sysconfdir)/vnicd

# Debian packages to build, test and demo; the names are the same in Debian 12 and 13.
DEBS := gcc libc6-dev make pkg-config clang llvm bpftool \
	libnl-3-dev libnl-route-3-dev libmnl-dev libbpf-dev libcap-ng-dev libsystemd-dev libjansson-dev \
	libsqlite3-dev libsmartcols-dev libinih-dev uthash-dev \
	check bats perl mandoc shellcheck cppcheck clang-format clang-tidy \
	iperf3 iproute2 iputils-ping ethtool kmod jq sqlite3 udhcpd udhcpc socat procps strace nftables util-linux xz-utils zstd mmdebstrap \
	debian-archive-keyring git libteam-utils
installed   = dpkg-query -W -f '$${Status}\n' $(1) 2>/dev/null | grep -q 'ok installed'
missing     = for p in $(1); do $(call installed,$$p) || printf '%s ' "$$p"; done
apt_install = apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 \
	-qq -y --no-install-recommends install
# clang's sanitizer runtime is a package of its own, one for each version.
deps:
	$(Q)need=$$($(call missing,$(DEBS))); [ -z "$$need" ] || { $(apt_install) $$need; }
	$(Q)version=$$(dpkg-query -W -f '$${Depends}' clang | sed -n 's/.*clang-\([0-9][0-9]*\).*/\1/p'); \
	need=$$($(call missing,libclang-rt-$$version-dev)); [ -z "$$need" ] || { $(apt_install) $$need; }

# --- tests. Packages first, so that nothing is built before its libraries are there. -------------------------------
TESTED := $(PROGRAMS) $(B)/tests/vnicd $(UNIT) $(B)/tests/unit/random $(TOOLS)
tested: $(TESTED)
	@:

check: suites = unit static golden netns
check-unit: suites = unit static golden
check-netns: suites = netns
check check-unit check-netns: deps
	$(Q)$(MAKE) tested
	$(Q)B=$(B) tests/run $(WITHOUT:%=-x %) $(suites)

# 500 kills at random, then thousands of random steps, a million packets counted and 300,000 malformed frames; SEED=N
# for the choices of another run.
soak: deps
	$(Q)$(MAKE) tested
	$(Q)B=$(B) SEED=$${SEED:-$$(date +%s)} KILLS=$${KILLS:-500} STEPS=$${STEPS:-4000} PACKETS=$${PACKETS:-1000000} \
		FRAMES=$${FRAMES:-300000} TEST_LIMIT=7200 tests/run -v \
		tests/netns/soak.bats tests/netns/random.bats tests/netns/flowcounts.bats tests/netns/flowmangled.bats

# The same tests on a build with sanitizers, in a directory of its own.
asan: deps
	$(Q)$(MAKE) B=$(B)-asan SAN=1 CFLAGS='-O1 -g' check

# The namespace tests on Debian's kernels, old and new, in virtual machines; their parts are fetched once into
# ~/.cache/vnicd-vm ($$VM_CACHE). VM_TESTS=all: those too that take long and say little; or files. VM_KERNELS: releases.
check-vm: deps
	$(Q)$(MAKE) tested
	$(Q)B=$(B) tests/vm/check $(VM_KERNELS:%=-k %) $(VM_TESTS)

# The package on a machine: installed, booted again, upgraded under traffic, purged.
check-system: deb
	$(Q)B=$(B) tests/vm/system $(B)/deb/vnicd_*.deb

demo: deps
	$(Q)$(MAKE) tested
	$(Q)BUILD=$(B) tests/demo/run

bench: deps
	$(Q)$(MAKE) tested
	$(Q)BUILD=$(B) tests/bench/run

# The Debian package, into $(B)/deb; lintian says what is wrong with it.
DEB_DEPS := debhelper dpkg-dev lintian
deb: deps
	$(Q)need=$$($(call missing,$(DEB_DEPS))); [ -z "$$need" ] || { $(apt_install) $$need; }
	$(Q)rm -rf $(B)/deb && mkdir -p $(B)/deb/vnicd
	$(Q)git archive HEAD | tar -x -C $(B)/deb/vnicd
	$(Q)cd $(B)/deb/vnicd && dpkg-buildpackage -us -uc -b >../build.log 2>&1 || { tail -30 ../build.log; false; }
	$(Q)rm -rf $(B)/deb/vnicd
	$(Q)cd $(B)/deb && lintian --allow-root --fail-on error,warning *.changes
	$(Q)ls $(B)/deb/*.deb

C_FILES = $(sort $(shell find lib vnicd $(COMMANDS) tests -name '*.[ch]'))
SHELLS  = $(sort $(shell grep -rlE '^#!.*bash|^#!/usr/bin/env bats|^# shellcheck shell=' tests $(COMMANDS) .ci))
TIDIED  = $(filter-out %.bpf.c,$(filter %.c,$(C_FILES)))
lint: lint-format lint-tidy lint-cppcheck lint-shell lint-man
lint-format lint-tidy lint-cppcheck lint-shell lint-man: deps
lint-format:
	$(call say,LINT,clang-format) clang-format --dry-run -Werror $(C_FILES)
lint-tidy: $(SKELS) $(B)/lib/ipc/varlink_text.h
	$(call say,LINT,clang-tidy) clang-tidy --quiet $(TIDIED) -- -std=gnu17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' \
		-I. -I$(B) $(PKG_CFLAGS) 2>$(B)/tidy.log || { cat $(B)/tidy.log; false; }
lint-cppcheck:
	$(call say,LINT,cppcheck) cppcheck -q -j2 --enable=warning,performance,portability --std=c11 --inline-suppr \
		--suppress=uninitvar --suppress=arrayIndexThenCheck --error-exitcode=1 -I. --include=/usr/include/uthash.h --include=/usr/include/utlist.h \
		'-DLIBBPF_OPTS(type,name,...)=struct type name = {__VA_ARGS__}' $(TIDIED)
lint-shell:
	$(call say,LINT,shellcheck) shellcheck -x -S warning $(SHELLS)
lint-man:
	$(call say,LINT,mandoc) mandoc -T lint -W warning $(sort $(MANS))

clean:
	$(Q)rm -rf build build-*

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
