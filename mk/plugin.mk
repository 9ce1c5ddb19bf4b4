# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make plugin           the event plugin of OpenSM and its receiver (contrib/opensm-plugin); needs libopensm-dev, and serves
#                       an OpenSM of that version alone
# make install-plugin   is in mk/install.mk
#
# Included by the Makefile.

PLUGIN := $(OUT)/opensm-plugin

.PHONY: plugin
plugin: $(PLUGIN)/libibqospoke.so $(PLUGIN)/ibqos-poked

$(PLUGIN)/libibqospoke.so: contrib/opensm-plugin/ibqos_poke.c Makefile mk/plugin.mk
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -isystem /usr/include/infiniband $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -shared $(LDFLAGS) -Wl,-soname,$(@F) -o $@ $<

$(PLUGIN)/ibqos-poked: contrib/opensm-plugin/ibqos_poked.c Makefile mk/plugin.mk
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $<
