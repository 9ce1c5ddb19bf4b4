# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make dist         a tarball of the tree
# make deb          Debian packages into $(OUT)/packages, as contrib/debian has it
# make deb-source   their source package
# make rpm          RPM packages, as contrib/rpm/ibqos.spec has it
#
# All work in a copy of the tree: scripts/package.sh, docs/packaging.md. Included by the Makefile.

.PHONY: dist deb deb-source rpm
dist deb deb-source rpm:
	$(Q)OUT=$(OUT) scripts/package.sh $@
