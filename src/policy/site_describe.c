/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The manual page and the JSON Schema of site files, of the tables that read them. */
#include <errno.h>

#include "site.h"

static const char head[] =
	".. Made by `make policy-docs` from the tables in src/policy: edit those.\n\n"
	"==========\n"
	"ibqos-site\n"
	"==========\n\n"
	"-------------------------------------------\n"
	"the fabrics of a site, each with its port\n"
	"-------------------------------------------\n\n"
	":Manual section: 5\n"
	":Manual group: InfiniBand administration\n\n"
	"DESCRIPTION\n"
	"===========\n\n"
	"A host with many adapters is often in as many fabrics (rails, planes), each with a subnet manager of its own. A site\n"
	"file of ibqos(8) names them, and ``--site FILE`` has a command look at all of them at once, or with\n"
	"``--fabric NAME,NAME`` at some. It is a YAML file as a policy is: unknown and doubled keys, values of the wrong type\n"
	"or out of range are errors with line and column, all reported in one run of ``ibqos lint --site FILE``.\n\n"
	"``ibqos lint --site-schema`` prints the language as a JSON Schema, for editors.\n\n"
	"EXAMPLE\n"
	"=======\n\n"
	"::\n\n"
	"  version: 1\n"
	"  name: cluster-7\n"
	"  defaults:\n"
	"    policy: /etc/ibqos/policy.yaml\n"
	"    baseline: /var/lib/ibqos/{fabric}/good.snap\n"
	"    state: /var/lib/ibqos/{fabric}/audit.state\n"
	"    history: /var/lib/ibqos/{fabric}\n"
	"    opensm:\n"
	"      config: /etc/opensm/opensm-{fabric}.conf\n"
	"  fabrics:\n"
	"    - name: rail0\n"
	"      port: {ca: mlx5_0, port: 1}\n"
	"      adapters: [mlx5_0, mlx5_4]\n"
	"    - name: rail1\n"
	"      port: {guid: 0x0c42a10300000011}\n"
	"      adapters: [mlx5_1, mlx5_5]\n"
	"      opensm: {host: mgmt2, config: /etc/opensm/opensm.conf}\n"
	"    - name: storage\n"
	"      via: [ssh, -o, BatchMode=yes, mgmt3]\n"
	"      port: {ca: mlx5_2}\n"
	"      policy: /etc/ibqos/storage.yaml\n"
	"      node_name_map: /etc/opensm/node-name-map\n"
	"      guid2mkey: /var/cache/opensm/guid2mkey\n"
	"      rotation: /var/lib/ibqos/storage/rotation\n"
	"      program: /usr/local/sbin/ibqos\n"
	"      timeout: 600\n"
	"  all_active_ports: false\n\n"
	"KEYS\n"
	"====\n";

static const char *const notes[] = {
	"Each fabric is looked at by a process of its own, all at the same time; ceilings as ``--mad-rate`` are for each of "
	"them. What becomes of one touches no other: where it crashes, is killed, answers nothing in time or what cannot be "
	"read, that fabric is unknown, by name, and the exit status 3 at least.",
	"No two fabrics may have one port, one state file, one baseline or one history, unless they are reached by another "
	"**via**.",
	"A **via** that leads to another host needs an ibqos there that speaks the same format of answers; another one is refused, and "
	"said to be another.",
	NULL};

int site_schema(FILE *out)
{
	return schema_write(out, &site_key_table, "ibqos site, version 1");
}

int site_manual(FILE *out)
{
	fputs(head, out);
	manual_table(out, "Of the site", &site_key_table);
	manual_paragraphs(out, "NOTES", notes);
	manual_heading(out, "SEE ALSO", '=');
	fputs("ibqos(8), ibqos-policy(5), ssh(1)\n", out);
	return ferror(out) ? -EIO : 0;
}
