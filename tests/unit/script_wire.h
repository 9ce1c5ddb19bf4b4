/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A wire for tests, with a clock of its own that moves only while the engine waits, so that hours
 * of timeouts pass at once. Either a script of the requests that must come, in order, each with
 * what becomes of it; or a function that plays the devices. Both ways the wire measures what a
 * test holds the engine to: how many MADs were on it at once, in all and to one device, and how
 * many in any one second. Devices are told apart by LID, or by their route's last port.
 *
 * The test owns the struct; the engine that is given &wire.wire only marks it closed.
 */
#ifndef SCRIPT_WIRE_H
#define SCRIPT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibqos/mad.h"

#define SCRIPT_DELAY_US 10 /* an answer's way back, unless an entry says otherwise */

enum script_fate {
	SCRIPT_ANSWER,  /* status 0, data of script_data() */
	SCRIPT_STATUS,  /* answered with entry.status */
	SCRIPT_LOST,    /* the wire says timed out when request.timeout_ms are over */
	SCRIPT_SILENCE, /* nothing at all */
	SCRIPT_REFUSED, /* send returns entry.error */
};

struct script_entry {
	uint16_t lid; /* what the request must be for; 0: any address */
	uint16_t attribute;
	uint32_t modifier;
	enum script_fate fate;
	uint16_t status;
	int error;
	unsigned delay_us; /* of the answer; 0: SCRIPT_DELAY_US */
	unsigned copies;   /* of the answer beyond the first */
};

struct script_wire;
/* Plays the devices: may call script_reply(); returns what send returns. */
typedef int script_device(void *arg, struct script_wire *wire, const struct mad_request *request);

struct script_wire {
	struct mad_wire wire;
	uint64_t clock_ns;
	script_device *device;
	void *arg;
	int receive_errors; /* so many receives, from now on, return */
	int receive_error;  /* this */

	/* measured */
	uint64_t sends;          /* accepted */
	uint64_t attempts;       /* accepted and refused */
	uint64_t *sent_ns;       /* when each was sent */
	unsigned peak;           /* most MADs on the wire at once */
	unsigned device_peak;    /* of these, to one device */
	uint64_t delivered;      /* answers handed to the engine, timeouts left out */
	uint64_t idle_receives;  /* receives in a row that came back empty at once: busy-spinning */
	struct mad_request last; /* the last attempt; last.to points to last_to */
	struct mad_address last_to;
	bool closed;

	/* the wire's own */
	const struct script_entry *script;
	size_t script_size, script_used;
	struct script_flight *flight; /* on the wire */
	size_t flights, flight_room;
	struct script_pending *pending; /* replies under way, by time */
	size_t pendings, pending_room;
	size_t sent_room;
};

/* A wire that follows a script, or one whose devices a function plays. */
void script_wire_init(struct script_wire *wire, const struct script_entry *script, size_t size);
void script_wire_play(struct script_wire *wire, script_device *device, void *arg);
/* Fails the test if the script was not used up or the wire not closed. Frees. */
void script_wire_end(struct script_wire *wire);

/* Makes a reply arrive after a delay. */
void script_reply(struct script_wire *wire, uint64_t delay_ns, const struct mad_reply *reply);
/* The right answer to a request: its data is a function of address, attribute and modifier. */
struct mad_reply script_answer(const struct mad_request *request);
void script_data(uint16_t lid, uint16_t attribute, uint32_t modifier, uint8_t data[MAD_SMP_DATA]);

/* The most MADs sent within any one second. */
size_t script_wire_most_in_a_second(const struct script_wire *wire);

#endif
