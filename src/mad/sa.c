/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the subnet manager says of itself (SMInfo, IBA 14.2.5.13) and what is asked of the subnet
 * administrator: ClassPortInfo (13.4.8.1, 15.2.5.1), PathRecord (15.2.5.16) and its records of ports.
 */
#include "ibqos/mad.h"

#include <endian.h>
#include <string.h>

#include <infiniband/mad.h>

/* CapabilityMask2 of the SA's ClassPortInfo: IsQoSSupported */
#define CAP2_QOS (1u << 1)

/* Bits of a PathRecord's ComponentMask: one for each member, in their order. */
#define PATH_SERVICE_ID 3ull /* both halves */
#define PATH_DGID (1ull << 2)
#define PATH_SGID (1ull << 3)
#define PATH_REVERSIBLE (1ull << 11)
#define PATH_NUMB_PATH (1ull << 12)
#define PATH_PKEY (1ull << 13)
#define PATH_QOS_CLASS (1ull << 14)

/* Members that libibmad has no field for, as bytes of the record. */
#define PATH_DGUID_BYTE 16 /* the lower halves of DGID and SGID */
#define PATH_SGUID_BYTE 32
#define GUID_SIZE 8
#define PATH_NUMB_BYTE 49 /* Reversible, then 7 bits of NumbPath */
#define PATH_PKEY_BYTE 50
#define PATH_QOS_BYTE 52  /* 12 bits of QoSClass, then 4 of SL */
#define REVERSIBLE 0x80

void mad_sm_info_decode(const uint8_t data[MAD_SMP_DATA], struct mad_sm_info *info)
{
	void *raw = (void *)data; /* libibmad reads through a pointer that is not const */

	*info = (struct mad_sm_info){
		.guid = mad_get_field64(raw, 0, IB_SMINFO_GUID_F),
		.act_count = mad_get_field(raw, 0, IB_SMINFO_ACT_F),
		.priority = (uint8_t)mad_get_field(raw, 0, IB_SMINFO_PRIO_F),
		.state = (uint8_t)mad_get_field(raw, 0, IB_SMINFO_STATE_F),
	};
}

size_t mad_sa_record_size(uint16_t attribute)
{
	static const struct {
		uint16_t attribute, size;
	} records[] = {
		{MAD_SA_CLASS_PORT_INFO, MAD_SA_CLASS_PORT_INFO_SIZE},
		{MAD_SA_PORT_INFO_RECORD, MAD_SA_PORT_INFO_RECORD_SIZE},
		{MAD_SA_SL2VL_RECORD, MAD_SA_SL2VL_RECORD_SIZE},
		{MAD_SA_PATH_RECORD, MAD_SA_PATH_RECORD_SIZE},
		{MAD_SA_VLARB_RECORD, MAD_SA_VLARB_RECORD_SIZE},
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (records[i].attribute == attribute)
			return records[i].size;
	return 0;
}

bool mad_sa_qos(const uint8_t data[MAD_SA_DATA])
{
	return mad_get_field((void *)data, 0, IB_CPI_CAPMASK2_F) & CAP2_QOS;
}

uint64_t mad_path_encode(const struct mad_path_question *question, uint8_t data[MAD_SA_DATA])
{
	uint64_t mask = PATH_DGID | PATH_SGID | PATH_REVERSIBLE | PATH_NUMB_PATH;

	memset(data, 0, MAD_SA_DATA);
	mad_set_array(data, 0, IB_SA_PR_DGID_F, (void *)question->to);
	mad_set_array(data, 0, IB_SA_PR_SGID_F, (void *)question->from);
	data[PATH_NUMB_BYTE] = REVERSIBLE | 1;
	if (question->has_service_id) {
		uint64_t id = htobe64(question->service_id);

		memcpy(data, &id, sizeof(id)); /* the first member */
		mask |= PATH_SERVICE_ID;
	}
	if (question->pkey) {
		data[PATH_PKEY_BYTE] = (uint8_t)(question->pkey >> 8);
		data[PATH_PKEY_BYTE + 1] = (uint8_t)question->pkey;
		mask |= PATH_PKEY;
	}
	if (question->qos_class == MAD_NO_QOS_CLASS)
		return mask;
	data[PATH_QOS_BYTE] = (uint8_t)(question->qos_class >> 4);
	data[PATH_QOS_BYTE + 1] = (uint8_t)(question->qos_class << 4);
	return mask | PATH_QOS_CLASS;
}

bool mad_path_is_of(const uint8_t asked[MAD_SA_DATA], const uint8_t got[MAD_SA_DATA])
{
	return memcmp(asked + PATH_DGUID_BYTE, got + PATH_DGUID_BYTE, GUID_SIZE) == 0 &&
	       memcmp(asked + PATH_SGUID_BYTE, got + PATH_SGUID_BYTE, GUID_SIZE) == 0;
}

unsigned mad_path_sl(const uint8_t data[MAD_SA_DATA])
{
	return mad_get_field((void *)data, 0, IB_SA_PR_SL_F);
}

/* --- records of ports: a key of LID and two numbers, then the table --- */

#define KEY_SIZE 4   /* LID, and the two numbers of SL2VL and VLArb records; of PortInfo records one and options */
#define TABLE_BYTE 8 /* where the table begins in the two */
#define MASK_LID 1ull
#define MASK_FIRST 2ull /* of PortInfo records too: the port's number */
#define MASK_SECOND 4ull

static void put_key(uint8_t data[MAD_SA_DATA], uint16_t lid, unsigned first, unsigned second)
{
	memset(data, 0, MAD_SA_DATA);
	data[0] = (uint8_t)(lid >> 8);
	data[1] = (uint8_t)lid;
	data[2] = (uint8_t)first;
	data[3] = (uint8_t)second;
}

uint64_t mad_sl2vl_record_encode(uint16_t lid, unsigned in, unsigned out, uint8_t data[MAD_SA_DATA])
{
	put_key(data, lid, in, out);
	return MASK_LID | MASK_FIRST | MASK_SECOND;
}

uint64_t mad_vlarb_record_encode(uint16_t lid, unsigned port, unsigned block, uint8_t data[MAD_SA_DATA])
{
	put_key(data, lid, port, block + 1); /* blocks are counted from 1, as in a modifier */
	return MASK_LID | MASK_FIRST | MASK_SECOND;
}

uint64_t mad_port_info_record_encode(uint16_t lid, unsigned port, uint8_t data[MAD_SA_DATA])
{
	put_key(data, lid, port, 0);
	return MASK_LID | MASK_FIRST;
}

const uint8_t *mad_record_table(uint16_t attribute, const uint8_t asked[MAD_SA_DATA],
				const uint8_t got[MAD_SA_DATA])
{
	bool port_info = attribute == MAD_SA_PORT_INFO_RECORD;

	if (memcmp(asked, got, port_info ? KEY_SIZE - 1 : KEY_SIZE) != 0)
		return NULL;
	return got + (port_info ? KEY_SIZE : TABLE_BYTE);
}
