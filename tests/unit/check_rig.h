/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * check_rig: a small fabric whose devices hold real tables, programmed as OpenSM's Sets would leave
 * them (osm_qos.c, followed Set by Set and without the code under test), and a source that reads
 * them. Tests then change a device and see what verify says.
 *
 *   gpu-1[1] - leaf[1]   leaf[5] - spine[1]   leaf: 6 ports, enhanced port 0
 *   gpu-2[1] - leaf[2]   leaf[6] - spine[2]   spine: 4 ports, base port 0
 *   router[1] - leaf[3]  store[1] - spine[3]  leaf[4] and spine[4] are down
 */
#ifndef CHECK_RIG_H
#define CHECK_RIG_H

#include "images.h"
#include "ibqos/check.h"
#include "script_source.h"

#define RIG_LEAF 0x10
#define RIG_SPINE 0x20
#define RIG_GPU_1 0x100
#define RIG_GPU_2 0x200
#define RIG_STORE 0x300
#define RIG_ROUTER 0x400
#define RIG_LEAF_PORTS 6
#define RIG_SPINE_PORTS 4

/* A port's memory. sl2vl is that of an out port, by in-port; [0] for a port of a CA or router. */
struct rig_device {
	uint8_t info[MAD_SMP_DATA];
	uint8_t sl2vl[256][8];
	uint8_t vlarb[4][64]; /* low 0, low 1, high 0, high 1 */
};

struct rig {
	struct ibqos_ctx ctx;
	struct fabric *fabric;
	struct source *source;
	struct qos_config config;
	struct rig_device *devices; /* by port index */
	struct verify *verify;
	struct finding_list findings;
};

/* What a rig is made of; NULL or zero members: plain. */
struct rig_options {
	struct image_port isl;    /* leaf[5]-spine[1] and leaf[6]-spine[2] */
	struct image_port host;   /* gpu-1 and its switch port */
	struct image_port router; /* and its switch port */
	struct image_port port0;  /* of leaf */
	bool no_leaf_sl_map, no_host_sl_map;
	bool no_spine_switch_info;
	bool no_spine_port2_info; /* spine[2] gave no PortInfo at discovery */
};

/* The four kinds of port get tables that differ in every key. */
void rig_config(struct qos_config *config);
/* Makes the fabric and programs it. */
void rig_make(struct rig *rig, const struct rig_options *options);
void rig_free(struct rig *rig);

/* Writes all devices as OpenSM would for rig->config. */
void rig_program(struct rig *rig);

/* Port index and device of a node's port; abort the test where there is none. */
uint32_t rig_port(const struct rig *rig, uint64_t guid, unsigned number);
struct rig_device *rig_device(struct rig *rig, uint64_t guid, unsigned number);

/* Runs verify anew (or again, for what differed), and collects the findings, sorted. */
void rig_verify(struct rig *rig);
void rig_verify_again(struct rig *rig);
/* The only finding of a code; NULL if there is none; fails the test if there are more. */
const struct finding *rig_only(const struct rig *rig, enum finding_code code);
/* Asserts that coverage adds up: every query asked has ended. */
void rig_check_coverage(const struct rig *rig);

#endif
