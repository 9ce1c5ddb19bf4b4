# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make install           program, manual pages, policies, units, what other programs take, documents
# make install-plugin    the event plugin of OpenSM and its receiver: needs libopensm-dev, and serves an OpenSM of that version
# make uninstall, make uninstall-plugin
#                        the same files, by the same variables; what an admin changed or ibqos wrote stays
#
# DESTDIR is put before each folder; all of them can be set. No network and no root is needed, nothing is stripped, started or
# enabled. docs/packaging.md has more. Included by the Makefile.

PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec
DATAROOTDIR ?= $(PREFIX)/share
DATADIR ?= $(DATAROOTDIR)/ibqos
MANDIR ?= $(DATAROOTDIR)/man
DOCDIR ?= $(DATAROOTDIR)/doc/ibqos
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR ?= /etc
DEFAULTDIR ?= $(SYSCONFDIR)/default
LOCALSTATEDIR ?= /var
BASHCOMPDIR ?= $(DATAROOTDIR)/bash-completion/completions
ZSHCOMPDIR ?= $(DATAROOTDIR)/zsh/site-functions

# Words mode:kind:file:target. Kind t: a text that names paths of /usr/local, which become those of this installation.
INSTALL_PROGRAM := 755:f:$(OUT)/ibqos:$(SBINDIR)/ibqos
INSTALL_MAN := $(foreach m,$(MAN_PAGES),644:f:$(m):$(MANDIR)/man$(patsubst .%,%,$(suffix $(m)))/$(notdir $(m)))
INSTALL_DATA := $(foreach f,$(sort $(wildcard policies/*.yaml)),644:f:$(f):$(DATADIR)/$(f)) \
	$(foreach f,$(sort $(wildcard docs/*.schema.json)),644:f:$(f):$(DATADIR)/$(notdir $(f)))
INSTALL_UNITS := $(foreach f,ibqos-audit.service ibqos-audit.timer ibqos-verify.service ibqos-verify.timer,644:t:contrib/systemd/$(f):$(UNITDIR)/$(f))
INSTALL_CONTRIB := \
	$(foreach f,$(sort $(wildcard contrib/prometheus/*.yml contrib/grafana/*.json)),644:t:$(f):$(DATADIR)/$(f:contrib/%=%)) \
	$(foreach f,$(sort $(wildcard contrib/slurm/*.sh)),755:t:$(f):$(DATADIR)/$(f:contrib/%=%)) \
	$(foreach f,$(sort $(wildcard contrib/cron.d/* contrib/systemd/*.conf contrib/nagios/*.c* contrib/kubernetes/*.yaml)),644:t:$(f):$(DOCDIR)/examples/$(f:contrib/%=%))
INSTALL_COMPLETION := 644:f:$(OUT)/completion/ibqos.bash:$(BASHCOMPDIR)/ibqos 644:f:$(OUT)/completion/_ibqos:$(ZSHCOMPDIR)/_ibqos
INSTALL_DOC := $(foreach f,README.md CHANGELOG.md $(sort $(wildcard docs/*.md docs/*.svg docs/*.png)),644:f:$(f):$(DOCDIR)/$(f))
INSTALL_ALL := $(INSTALL_PROGRAM) $(INSTALL_MAN) $(INSTALL_DATA) $(INSTALL_UNITS) $(INSTALL_CONTRIB) $(INSTALL_COMPLETION) $(INSTALL_DOC)
INSTALL_PLUGIN := 755:f:$(PLUGIN)/ibqos-poked:$(LIBEXECDIR)/ibqos-poked 644:f:$(PLUGIN)/libibqospoke.so:$(LIBDIR)/libibqospoke.so \
	644:t:contrib/systemd/ibqos-poke.service:$(UNITDIR)/ibqos-poke.service 644:t:contrib/systemd/ibqos-poke.socket:$(UNITDIR)/ibqos-poke.socket

install_files = DESTDIR="$(DESTDIR)" SBINDIR="$(SBINDIR)" LIBEXECDIR="$(LIBEXECDIR)" DEFAULTDIR="$(DEFAULTDIR)" scripts/install-files.sh

# Paths go into words that a shell, sed and systemd units split: what could mean something else there is refused, and nothing is touched.
INSTALL_FOLDERS := PREFIX SBINDIR LIBDIR LIBEXECDIR DATAROOTDIR DATADIR MANDIR DOCDIR UNITDIR SYSCONFDIR DEFAULTDIR LOCALSTATEDIR BASHCOMPDIR ZSHCOMPDIR
INSTALL_TARGETS := $(filter install install-plugin uninstall uninstall-plugin,$(MAKECMDGOALS))
install_comma := ,
# By the shell alone, which gets the value as one quoted word.
install_quote = '$(subst ','\'',$(1))'
install_say = $(shell case $(call install_quote,$(2)) in (*[!A-Za-z0-9/._+:~@=,-]* | [!/]*) printf '%s ' $(1) ;; esac)
ifneq ($(INSTALL_TARGETS),)
INSTALL_BAD := $(strip $(foreach v,$(INSTALL_FOLDERS),$(call install_say,$(v),$($(v)))) $(call install_say,DESTDIR,$(DESTDIR)))
ifneq ($(INSTALL_BAD),)
$(error cannot $(firstword $(INSTALL_TARGETS)): not an absolute path of letters, digits and /._+:~@=$(install_comma)- alone: $(INSTALL_BAD))
endif
endif

.PHONY: install install-plugin uninstall uninstall-plugin
install: all man completion
	$(Q)$(install_files) install $(INSTALL_ALL)
	$(Q)install -d "$(DESTDIR)$(SYSCONFDIR)/ibqos" "$(DESTDIR)$(LOCALSTATEDIR)/lib/ibqos"
	$(Q)$(install_files) install-conf contrib/systemd/ibqos.default $(DEFAULTDIR)/ibqos

uninstall:
	$(Q)$(install_files) uninstall $(INSTALL_ALL)
	$(Q)$(install_files) uninstall-conf contrib/systemd/ibqos.default $(DEFAULTDIR)/ibqos
	$(Q)$(install_files) remove-folders $(DATADIR) $(DOCDIR) $(SYSCONFDIR)/ibqos $(LOCALSTATEDIR)/lib/ibqos

install-plugin: plugin
	$(Q)$(install_files) install $(INSTALL_PLUGIN)

uninstall-plugin:
	$(Q)$(install_files) uninstall $(INSTALL_PLUGIN)
