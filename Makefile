# SPDX-License-Identifier: GPL-2.0-or-later
# Builds, tests and installs vnicd. `make V=1` shows the commands; `make CC=clang`, `make WERROR=1`, `make SAN=1`.

prefix      ?= /usr/local
sbindir     ?= $(prefix)/sbin
mandir      ?= $(prefix)/share/man
unitdir     ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
modprobedir ?= $(prefix)/lib/modprobe.d
DESTDIR     ?=

VERSION := 0.1
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
B       ?= build
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

PKGS  := libnl-3.0 libnl-route-3.0 libmnl libbpf libcap-ng libsystemd jansson sqlite3 smartcols
# Evaluated when used, so that `make deps` runs before anything is installed.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
WARN  := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings -Wundef
WARN  += $(if $(WERROR),-Werror)
HARD  := -fstack-protector-strong -fstack-clash-protection -fPIE
SANS  := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
HARD  += $(if $(SAN),,-D_FORTIFY_SOURCE=2)
comma := ,
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu17 $(WARN) $(HARD) $(CFLAGS) $(SANS) -I. -I$(B) $(PKG_CFLAGS) -DVERSION='"$(VERSION)"' -MMD -MP
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now $(LDFLAGS) $(SANS)

# What each program is made of: the layers of DESIGN, lowest first.
srcs    = $(sort $(foreach d,$(1),$(wildcard $(d)/*.c)))
objs    = $(patsubst %.c,$(B)/%.o,$(1))
CLI_SRC    := $(filter-out lib/bpf/%.bpf.c,$(call srcs,lib/base lib/model lib/ipc lib/cli))
DAEMON_LIB := $(filter-out %.bpf.c,$(call srcs,lib/base lib/model lib/ipc lib/nl lib/bpf lib/kern))
DAEMON_SRC := $(filter-out vnicd/main.c,$(call srcs,vnicd))
BPF_SRC    := $(wildcard lib/bpf/*.bpf.c)
SKELS      := $(patsubst lib/bpf/%.bpf.c,$(B)/lib/bpf/%.skel.h,$(BPF_SRC))
PROGRAMS   := $(B)/vnicd/vnicd $(B)/vnicadm/vnicadm
UNIT       := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
TOOLS      := $(patsubst tests/tools/%.c,$(B)/tests/tools/%,$(wildcard tests/tools/*.c))

.PHONY: all deps demo check check-unit check-netns bench lint asan install uninstall clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS)

$(B)/vnicd/vnicd: $(call objs,vnicd/main.c $(DAEMON_SRC) $(DAEMON_LIB))
$(B)/vnicadm/vnicadm: $(call objs,$(call srcs,vnicadm) $(CLI_SRC))
$(B)/vnicd/vnicd: LIBS = -lnl-route-3 -lnl-3 -lmnl -lbpf -lcap-ng -lsystemd -ljansson -lsqlite3
$(B)/vnicadm/vnicadm: LIBS = -ljansson -lsmartcols
$(PROGRAMS):
	$(call say,LD,$@) $(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/%.o: %.c Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(ALL_CFLAGS) -c -o $@ $<

# eBPF: object, then the skeleton header that embeds it.
$(B)/lib/bpf/%.bpf.o: lib/bpf/%.bpf.c $(wildcard lib/bpf/*.h) Makefile
	$(Q)mkdir -p $(@D)
	$(call say,BPF,$<) $(CLANG) -target bpf -O2 -g -Wall -Wextra -Werror -I. \
		-I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<
$(B)/lib/bpf/%.skel.h: $(B)/lib/bpf/%.bpf.o
	$(call say,SKEL,$@) $(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf >$@
$(call objs,$(filter-out %.bpf.c,$(wildcard lib/bpf/*.c))): $(SKELS)

# Unit tests link everything but the programs' main().
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(call objs,$(DAEMON_SRC) $(DAEMON_LIB) $(call srcs,lib/cli))
	$(call say,LD,$@) $(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt -lm -lpthread \
		-lnl-route-3 -lnl-3 -lmnl -lbpf -lcap-ng -lsystemd -ljansson -lsqlite3 -lsmartcols
$(B)/tests/tools/%: tests/tools/%.c Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< -lpthread -lm

clean:
	$(Q)rm -rf build build-*

-include $(shell find $(B) -name '*.d' 2>/dev/null)
