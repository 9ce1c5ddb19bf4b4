/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A snapshot in memory: its pools, and looking things up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot_parts.h"

/* --- pools --- */

const uint8_t *snapshot_item_bytes(const struct snapshot_pool *pool, uint32_t item, size_t *size)
{
	uint32_t start = item > 0 ? pool->ends[item - 1] : 0;

	*size = pool->ends[item] - start;
	return pool->bytes + start;
}

/* FNV-1a */
static size_t hash_of(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return (size_t)(hash ^ hash >> 32);
}

/* The slot where an item is, or would be put. There is always a free one. */
static size_t slot_of(const struct snapshot_pool *pool, const uint8_t *bytes, size_t size)
{
	size_t at = hash_of(bytes, size) & (pool->slot_count - 1);

	while (pool->slots[at] != 0) {
		size_t have;
		const uint8_t *item = snapshot_item_bytes(pool, pool->slots[at] - 1, &have);

		if (have == size && (size == 0 || memcmp(item, bytes, size) == 0))
			break;
		at = (at + 1) & (pool->slot_count - 1);
	}
	return at;
}

/* Keeps at least half of the hash table free. */
static bool room_in_slots(struct snapshot_pool *pool)
{
	size_t count = 1024;
	uint32_t *slots;

	if (pool->slots && pool->count < pool->slot_count / 2)
		return true;
	while (count / 2 <= pool->count)
		count *= 2;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	free(pool->slots);
	pool->slots = slots;
	pool->slot_count = count;
	for (uint32_t i = 0; i < pool->count; i++) {
		size_t size;
		const uint8_t *bytes = snapshot_item_bytes(pool, i, &size);

		pool->slots[slot_of(pool, bytes, size)] = i + 1;
	}
	return true;
}

uint32_t snapshot_keep(struct snapshot_pool *pool, const void *bytes, size_t size)
{
	uint32_t *ends;
	uint8_t *grown;
	size_t at;

	if (!room_in_slots(pool))
		return UINT32_MAX;
	at = slot_of(pool, bytes, size);
	if (pool->slots[at] != 0)
		return pool->slots[at] - 1;
	if (size > UINT32_MAX / 2 - pool->size)
		return UINT32_MAX;
	ends = array_grow(pool->ends, &pool->ends_room, (size_t)pool->count + 1, sizeof(*ends));
	if (!ends)
		return UINT32_MAX;
	pool->ends = ends;
	grown = array_grow(pool->bytes, &pool->bytes_room, (size_t)pool->size + size + 1, 1);
	if (!grown)
		return UINT32_MAX;
	pool->bytes = grown;
	if (size > 0)
		memcpy(pool->bytes + pool->size, bytes, size);
	pool->size += (uint32_t)size;
	pool->ends[pool->count] = pool->size;
	pool->slots[at] = pool->count + 1;
	return pool->count++;
}

uint32_t snapshot_keep_data(struct snapshot *snapshot, const uint8_t *data, size_t size)
{
	while (size > 0 && data[size - 1] == 0)
		size--;
	return snapshot_keep(&snapshot->data, data, size);
}

uint32_t snapshot_keep_text(struct snapshot *snapshot, const char *text)
{
	return snapshot_keep(&snapshot->strings, text, strnlen(text, SNAPSHOT_STRING_MAX));
}

bool snapshot_pool_begin(struct snapshot_pool *pool)
{
	return snapshot_keep(pool, "", 0) == 0;
}

void snapshot_pool_close(struct snapshot_pool *pool)
{
	free(pool->slots);
	pool->slots = NULL;
	pool->slot_count = 0;
}

void snapshot_pool_free(struct snapshot_pool *pool)
{
	snapshot_pool_close(pool);
	free(pool->bytes);
	free(pool->ends);
	*pool = (struct snapshot_pool){0};
}

void snapshot_get_data(const struct snapshot *snapshot, uint32_t item, uint8_t *to, size_t size)
{
	size_t have;
	const uint8_t *bytes = snapshot_item_bytes(&snapshot->data, item, &have);

	if (have > size)
		have = size;
	memset(to, 0, size);
	if (have > 0)
		memcpy(to, bytes, have);
}

char *snapshot_get_text(const struct snapshot *snapshot, uint32_t item)
{
	size_t size;
	const uint8_t *bytes = snapshot_item_bytes(&snapshot->strings, item, &size);

	return text_utf8(bytes, size);
}

/* --- the whole --- */

struct snapshot *snapshot_new(void)
{
	return calloc(1, sizeof(struct snapshot));
}

int snapshot_close(struct snapshot *snapshot)
{
	snapshot_pool_close(&snapshot->strings);
	snapshot_pool_close(&snapshot->data);
	free(snapshot->version);
	free(snapshot->label);
	snapshot->version = snapshot_get_text(snapshot, snapshot->meta->version);
	snapshot->label = snapshot_get_text(snapshot, snapshot->meta->label);
	return snapshot->version && snapshot->label ? 0 : -ENOMEM;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	snapshot_pool_free(&snapshot->strings);
	snapshot_pool_free(&snapshot->data);
	free(snapshot->meta);
	free(snapshot->nodes);
	free(snapshot->ports);
	free(snapshot->gaps);
	free(snapshot->runs);
	free(snapshot->sm);
	free(snapshot->version);
	free(snapshot->label);
	free(snapshot);
}

void snapshot_info(const struct snapshot *snapshot, struct snapshot_info *info)
{
	*info = (struct snapshot_info){
		.taken = snapshot->taken,
		.version = snapshot->version,
		.label = snapshot->label,
		.stopped = (int)snapshot->meta->stopped,
		.redacted = snapshot->meta->redacted,
	};
}

int snapshot_run_compare(const void *a, const void *b)
{
	const struct snapshot_run *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->mgmt_class != y->mgmt_class)
		return x->mgmt_class < y->mgmt_class ? -1 : 1;
	if (x->attribute != y->attribute)
		return x->attribute < y->attribute ? -1 : 1;
	return (x->modifier > y->modifier) - (x->modifier < y->modifier);
}

bool snapshot_find(const struct snapshot *snapshot, uint32_t port, uint8_t mgmt_class, uint16_t attribute,
		   uint32_t modifier, enum mad_outcome *outcome, uint32_t *value)
{
	const struct snapshot_run key = {
		.port = port, .mgmt_class = mgmt_class, .attribute = attribute, .modifier = modifier};
	uint32_t low = 0, high = snapshot->run_count;
	const struct snapshot_run *run;

	/* the last run that does not begin behind it */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (snapshot_run_compare(&snapshot->runs[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	run = &snapshot->runs[low - 1];
	if (run->port != port || run->mgmt_class != mgmt_class || run->attribute != attribute ||
	    (modifier - run->modifier) % run->step != 0 ||
	    (modifier - run->modifier) / run->step >= run->count)
		return false;
	*outcome = run->outcome;
	*value = run->value;
	return true;
}

/* --- what there is, and what is lacking --- */

/* What is kept of attributes, in bytes: what stands behind them in a MAD of the SA is anything
 * (IBA 13.4.8, 15.2.5). */
static const struct attribute {
	uint8_t mgmt_class;
	uint16_t attribute;
	uint8_t size;
	const char *name;
} attributes[] = {
	{MAD_CLASS_SMP, MAD_PORT_INFO, MAD_SMP_DATA, "PortInfo"},
	{MAD_CLASS_SMP, MAD_PKEY_TABLE, MAD_SMP_DATA, "P_KeyTable"},
	{MAD_CLASS_SMP, MAD_SL2VL, 8, "SL2VL"},
	{MAD_CLASS_SMP, MAD_VLARB, MAD_SMP_DATA, "VLArb"},
	{MAD_CLASS_SMP, MAD_LFT, MAD_SMP_DATA, "LinearForwardingTable"},
	{MAD_CLASS_SMP, MAD_MLNX_ADAPTIVE, MAD_SMP_DATA, "AdaptiveRoutingInfo"},
	{MAD_CLASS_SMP, MAD_SM_INFO, 21, "SMInfo"},
	{MAD_CLASS_PERF, MAD_PERF_CLASS_PORT_INFO, 8, "PM ClassPortInfo"}, /* what follows names GUIDs of others */
	{MAD_CLASS_PERF, MAD_PORT_SAMPLES_CONTROL, MAD_PERF_DATA, "PortSamplesControl"},
	{MAD_CLASS_PERF, MAD_PORT_COUNTERS, MAD_PERF_DATA, "PortCounters"},
	{MAD_CLASS_PERF, MAD_PORT_RCV_ERROR_DETAILS, MAD_PERF_DATA, "PortRcvErrorDetails"},
	{MAD_CLASS_PERF, MAD_PORT_XMIT_DISCARD_DETAILS, MAD_PERF_DATA, "PortXmitDiscardDetails"},
	{MAD_CLASS_PERF, MAD_PORT_COUNTERS_EXT, MAD_PERF_DATA, "PortCountersExtended"},
	{MAD_CLASS_PERF, MAD_PORT_EXT_SPEEDS_COUNTERS, MAD_PERF_DATA, "PortExtendedSpeedsCounters"},
	{MAD_CLASS_SA, MAD_SA_CLASS_PORT_INFO, MAD_SA_CLASS_PORT_INFO_SIZE, "SA ClassPortInfo"},
	{MAD_CLASS_SA, MAD_SA_PORT_INFO_RECORD, MAD_SA_PORT_INFO_RECORD_SIZE, "PortInfo record"},
	{MAD_CLASS_SA, MAD_SA_SL2VL_RECORD, MAD_SA_SL2VL_RECORD_SIZE, "SL2VL record"},
	{MAD_CLASS_SA, MAD_SA_VLARB_RECORD, MAD_SA_VLARB_RECORD_SIZE, "VLArb record"},
	{MAD_CLASS_SA, MAD_SA_PATH_RECORD, MAD_SA_PATH_RECORD_SIZE, "PathRecord"},
};

static const struct attribute *find_attribute(uint8_t mgmt_class, uint16_t attribute)
{
	for (unsigned i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].mgmt_class == mgmt_class && attributes[i].attribute == attribute)
			return &attributes[i];
	return NULL;
}

const char *snapshot_attribute_name(uint8_t mgmt_class, uint16_t attribute)
{
	const struct attribute *found = find_attribute(mgmt_class, attribute);

	return found ? found->name : NULL;
}

size_t snapshot_attribute_size(uint8_t mgmt_class, uint16_t attribute)
{
	const struct attribute *found = find_attribute(mgmt_class, attribute);

	return found ? found->size
	       : mgmt_class == MAD_CLASS_SMP  ? MAD_SMP_DATA
	       : mgmt_class == MAD_CLASS_PERF ? MAD_PERF_DATA
					      : MAD_SA_DATA;
}

/* The item of an attribute, put where it belongs if it is new; NULL: there is no room for more. */
static struct snapshot_item *item_of(struct snapshot_item *items, size_t *count, uint8_t mgmt_class,
				     uint16_t attribute)
{
	size_t at = 0;

	while (at < *count && (items[at].mgmt_class < mgmt_class ||
			       (items[at].mgmt_class == mgmt_class && items[at].attribute < attribute)))
		at++;
	if (at < *count && items[at].mgmt_class == mgmt_class && items[at].attribute == attribute)
		return &items[at];
	if (*count == SNAPSHOT_ITEMS)
		return NULL;
	memmove(&items[at + 1], &items[at], (*count - at) * sizeof(*items));
	items[at] = (struct snapshot_item){.mgmt_class = mgmt_class, .attribute = attribute};
	(*count)++;
	return &items[at];
}

size_t snapshot_items(const struct snapshot *snapshot, struct snapshot_item items[SNAPSHOT_ITEMS])
{
	size_t count = 0;

	for (uint32_t i = 0; i < snapshot->run_count; i++) {
		const struct snapshot_run *run = &snapshot->runs[i];
		struct snapshot_item *item = item_of(items, &count, run->mgmt_class, run->attribute);

		if (item)
			item->ended[run->outcome] += run->count;
	}
	for (uint32_t i = 0; i < snapshot->sm_count; i++) {
		struct snapshot_item *item =
			item_of(items, &count, snapshot->sm[i].mgmt_class, snapshot->sm[i].attribute);

		if (item)
			item->ended[snapshot->sm[i].outcome]++;
	}
	return count;
}

static int by_agent(const void *a, const void *b)
{
	const struct snapshot_lack *x = a, *y = b;

	if (x->agent != y->agent)
		return x->agent < y->agent ? -1 : 1;
	if (x->item.mgmt_class != y->item.mgmt_class)
		return x->item.mgmt_class < y->item.mgmt_class ? -1 : 1;
	return (x->item.attribute > y->item.attribute) - (x->item.attribute < y->item.attribute);
}

/* Adds what one has to the other, of the same agent and attribute. */
static void merge(struct snapshot_lack *into, const struct snapshot_lack *more)
{
	for (int i = 0; i < MAD_OUTCOMES; i++)
		into->item.ended[i] += more->item.ended[i];
	if (into->status == 0)
		into->status = more->status;
	if (into->tries < more->tries)
		into->tries = more->tries;
}

/* Adds a lack to an array; false: out of memory. */
static bool add_lack(struct snapshot_lack **lacks, size_t *count, size_t *room,
		     const struct snapshot_lack *lack)
{
	struct snapshot_lack *grown = array_grow(*lacks, room, *count + 1, sizeof(*grown));

	if (!grown)
		return false;
	*lacks = grown;
	grown[(*count)++] = *lack;
	return true;
}

static struct snapshot_lack lack_of(uint32_t agent, uint8_t mgmt_class, uint16_t attribute,
				    enum mad_outcome outcome, uint32_t value, uint64_t count)
{
	struct snapshot_lack lack = {
		.agent = agent,
		.item = {.mgmt_class = mgmt_class, .attribute = attribute},
		.status = outcome == MAD_STATUS ? (uint16_t)value : 0,
		.tries = outcome == MAD_TIMED_OUT ? value : 0,
	};

	lack.item.ended[outcome] = count;
	return lack;
}

/*
 * A vendor's attribute is no lack: a switch need not have it, and some leave a question for what they do not have unanswered.
 * Who needs it says that it is not known.
 */
static bool is_extra(const struct snapshot_lack *lack)
{
	if (lack->item.mgmt_class == MAD_CLASS_PERF) /* that a device has no such counters is an answer */
		return (lack->status & MAD_STATUS_FIELD) == MAD_STATUS_UNSUPPORTED;
	return lack->item.mgmt_class == MAD_CLASS_SMP && lack->item.attribute == MAD_MLNX_ADAPTIVE;
}

int snapshot_lacks(const struct snapshot *snapshot, const struct fabric *fabric, struct snapshot_lack **lacks,
		   size_t *count)
{
	struct snapshot_lack *all = NULL;
	size_t room = 0, n = 0, kept = 0;
	bool lost = false;

	for (uint32_t i = 0; i < snapshot->run_count && !lost; i++) {
		const struct snapshot_run *run = &snapshot->runs[i];
		struct snapshot_lack lack = lack_of(fabric_port_agent(fabric, run->port), run->mgmt_class,
						    run->attribute, run->outcome, run->value, run->count);

		if (run->outcome != MAD_ANSWERED && !is_extra(&lack))
			lost = !add_lack(&all, &n, &room, &lack);
	}
	for (uint32_t i = 0; i < snapshot->sm_count && !lost; i++) {
		const struct snapshot_sm *sm = &snapshot->sm[i];
		struct snapshot_lack lack =
			lack_of(FABRIC_NONE, sm->mgmt_class, sm->attribute, sm->outcome, sm->value, 1);

		if (sm->outcome != MAD_ANSWERED &&
		    !(lack.status == MAD_SA_NO_RECORDS && sm->mgmt_class == MAD_CLASS_SA))
			lost = !add_lack(&all, &n, &room, &lack);
	}
	*lacks = NULL;
	*count = 0;
	if (lost) {
		free(all);
		return -ENOMEM;
	}
	if (n > 0)
		qsort(all, n, sizeof(*all), by_agent);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && by_agent(&all[kept - 1], &all[i]) == 0)
			merge(&all[kept - 1], &all[i]);
		else
			all[kept++] = all[i];
	}
	*lacks = all;
	*count = kept;
	return 0;
}

/* --- the fabric --- */

unsigned snapshot_node_ports(const struct snapshot *snapshot, uint32_t node)
{
	uint8_t info[MAD_SMP_DATA];

	snapshot_get_data(snapshot, snapshot->nodes[node].node_info, info, sizeof(info));
	return info[3]; /* NodeInfo:NumPorts, IBA 14.2.5.3 */
}

static int add_node(const struct snapshot *snapshot, uint32_t index, struct fabric *fabric)
{
	static const uint8_t some_desc[MAD_SMP_DATA] = "?"; /* the name comes when the fabric is finished */
	const struct snapshot_node *node = &snapshot->nodes[index];
	uint8_t info[MAD_SMP_DATA], switch_info[MAD_SMP_DATA];
	struct mad_route route = {0};
	size_t size;
	const uint8_t *way = snapshot_item_bytes(&snapshot->data, node->route, &size);

	snapshot_get_data(snapshot, node->node_info, info, sizeof(info));
	snapshot_get_data(snapshot, node->switch_info, switch_info, sizeof(switch_info));
	if (size > 0 && size <= sizeof(route.port)) {
		memcpy(route.port, way, size);
		route.hops = (uint8_t)(size - 1);
	}
	return fabric_add_node(fabric, info, switch_info, node->has_desc ? some_desc : NULL, &route) == index
		       ? 0
		       : -ENOMEM;
}

static int add_ports(const struct snapshot *snapshot, struct fabric *fabric)
{
	int error = 0;

	for (uint32_t i = 0; i < snapshot->port_count && error == 0; i++) {
		const struct snapshot_port *port = &snapshot->ports[i];
		const struct fabric_port *at = &fabric->ports[i];
		uint8_t info[MAD_SMP_DATA], ext_info[MAD_SMP_DATA];

		if (at->number == 0 && fabric->nodes[at->node].type != FABRIC_SWITCH)
			continue;
		snapshot_get_data(snapshot, port->info, info, sizeof(info));
		snapshot_get_data(snapshot, port->ext_info, ext_info, sizeof(ext_info));
		error = fabric_port_seen(fabric, at->node, at->number, port->guid, info, ext_info);
	}
	for (uint32_t i = 0; i < snapshot->port_count && error == 0; i++) {
		uint32_t peer = snapshot->ports[i].peer;

		if (peer != FABRIC_NONE && peer >= i)
			error = fabric_link(fabric, fabric->ports[i].node, fabric->ports[i].number,
					    fabric->ports[peer].node, fabric->ports[peer].number);
	}
	return error;
}

/* Names and gaps are those of the discovery, not what finishing makes of what it sees. */
static int set_names(const struct snapshot *snapshot, struct fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		char *name = snapshot_get_text(snapshot, snapshot->nodes[i].name);

		if (!name)
			return -ENOMEM;
		if (name[0] == '\0') {
			free(name);
			continue;
		}
		free(fabric->nodes[i].name);
		fabric->nodes[i].name = name;
	}
	return 0;
}

static int set_gaps(const struct snapshot *snapshot, struct fabric *fabric)
{
	struct fabric_gap *gaps = calloc((size_t)snapshot->gap_count + 1, sizeof(*gaps));

	if (!gaps)
		return -ENOMEM;
	for (uint32_t i = 0; i < snapshot->gap_count; i++) {
		gaps[i] = (struct fabric_gap){.reason = snapshot->gaps[i].reason,
					      .port = snapshot->gaps[i].port};
		if (gaps[i].reason == FABRIC_GAP_NO_EXT_INFO) /* the port's speed is not known then */
			fabric->ports[gaps[i].port].notes |= 1u << FABRIC_GAP_NO_EXT_INFO;
	}
	free(fabric->gaps);
	fabric->gaps = gaps;
	fabric->gap_count = snapshot->gap_count;
	fabric->gap_room = (size_t)snapshot->gap_count + 1;
	return 0;
}

int snapshot_fabric(const struct snapshot *snapshot, struct fabric **fabric)
{
	struct fabric *made = fabric_new(snapshot->label);
	int error = made ? 0 : -ENOMEM;

	*fabric = NULL;
	for (uint32_t i = 0; i < snapshot->node_count && error == 0; i++)
		error = add_node(snapshot, i, made);
	if (error == 0)
		error = add_ports(snapshot, made);
	if (error == 0) {
		made->from_node = snapshot->meta->from_node;
		made->from_port = snapshot->meta->from_port;
		made->sm_lid = snapshot->meta->sm_lid;
		error = fabric_finish(made);
	}
	if (error == 0)
		error = set_names(snapshot, made);
	if (error == 0)
		error = set_gaps(snapshot, made);
	if (error != 0) {
		fabric_free(made);
		return error;
	}
	*fabric = made;
	return 0;
}
