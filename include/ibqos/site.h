/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * site: the fabrics that one admin has, by name, and what each of them needs (part of folder policy). The file: ibqos-site(5).
 */
#ifndef IBQOS_SITE_H
#define IBQOS_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibqos/finding.h"

#define SITE_FABRICS_MAX 64
#define SITE_WORDS_MAX 32	 /* of a command */
#define SITE_TIMEOUT_S 3600 /* for one fabric's answer, unless told otherwise */

/* One fabric. Strings are NULL where nothing was said; defaults are filled in, and {fabric} replaced. */
struct site_fabric {
	char *name; /* letters, digits, '_', '-'; never NULL */
	/* the port that reaches it, of the host where ibqos is run for it */
	char *ca;	    /* NULL: libibumad's choice */
	unsigned port;	    /* 0: the adapter's first that is active */
	uint64_t port_guid; /* in place of both; 0: not given */
	char *policy, *baseline, *state, *rotation, *node_name_map, *guid2mkey;
	char *opensm_config; /* of this fabric's OpenSM, in place of what the policy says */
	char *opensm_host; /* where it runs; NULL: where ibqos is run for this fabric */
	char *history;	   /* where apply keeps its history */
	char **via;	   /* words of the command that ibqos's own words are put behind; via_count of them */
	size_t via_count;
	char **adapters; /* of the hosts that jobs run on, in this fabric: "mlx5_0", "mlx5_0:2" for one port; adapter_count of them */
	size_t adapter_count;
	char *program;	    /* ibqos behind `via`; NULL: as this one */
	unsigned timeout_s; /* for one answer */
	unsigned line, column; /* where it begins; 0: it is an active port of this host, not of the file */
};

struct site {
	char *path;
	char *name; /* NULL: none */
	struct site_fabric *fabrics;
	size_t count, room;
	bool all_active_ports; /* each active InfiniBand port of this host that none of them names is a fabric, too */
	struct site_fabric defaults; /* name NULL: what a fabric has that says nothing else; {fabric} stands as written */
};

/*
 * Reads a site file. All faults are reported in one run as findings with path:line:column; *site is NULL if there is
 * one. 0 also then; -errno: the file could not be read (no finding added); -ENOMEM.
 */
int site_read(const char *path, struct finding_list *findings, struct site **site);
/* The same from text already read. */
int site_parse(const char *path, const char *text, size_t size, struct finding_list *findings, struct site **site);
/*
 * Adds a fabric that is not in the file, with the site's defaults: an active port of this host. 0; -EEXIST: there is one of
 * this name; -ENOSPC: SITE_FABRICS_MAX; -ENOMEM.
 */
int site_add_port(struct site *site, const char *name, const char *ca, unsigned port);
const struct site_fabric *site_find(const struct site *site, const char *name); /* NULL: none */
/* The fabric that this adapter's port of a host is in, by `adapters`. NULL: none of the file's. */
const struct site_fabric *site_fabric_of(const struct site *site, const char *name, unsigned port);
void site_free(struct site *site);						/* NULL is fine */

int site_schema(FILE *out); /* JSON Schema of the file */
int site_manual(FILE *out); /* ibqos-site(5), reStructuredText */

#endif
