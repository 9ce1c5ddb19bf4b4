# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make plugin           the event plugin of OpenSM and its receiver (contrib/opensm-plugin); needs libopensm-dev, and serves
#                       an OpenSM of that version alone
# make install-plugin   into LIBDIR and SBINDIR
#
# Included by the Makefile.

PLUGIN := $(OUT)/opensm-plugin
LIBDIR ?= $(PREFIX)/lib

.PHONY: plugin install-plugin
plugin: $(PLUGIN)/libibqospoke.so $(PLUGIN)/ibqos-poked

$(PLUGIN)/libibqospoke.so: contrib/opensm-plugin/ibqos_poke.c Makefile mk/plugin.mk
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -isystem /usr/include/infiniband -Wall -Wextra -Wshadow $(W) -g -O2 -fPIC -shared -o $@ $<

$(PLUGIN)/ibqos-poked: contrib/opensm-plugin/ibqos_poked.c Makefile mk/plugin.mk
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $<

install-plugin: plugin
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(SBINDIR)
	install -m 755 $(PLUGIN)/libibqospoke.so $(DESTDIR)$(LIBDIR)/
	install -m 755 $(PLUGIN)/ibqos-poked $(DESTDIR)$(SBINDIR)/
