/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* M_Keys and the config of infiniband-diags. */
#ifndef IBQOS_CMD_KEYS_H
#define IBQOS_CMD_KEYS_H

#include "cmd.h"

/*
 * Reads what the command line names (--m_key, --guid2mkey, --config) and the default config, and gives the options to open
 * a source with: what the command line says goes before the config. They stay good until `secrets` is cleared.
 * Faults of lines are findings; false, with a message, where a file cannot be read or holds no key.
 */
bool cmd_secrets_read(struct cmd_session *s, struct cmd_secrets *secrets, struct source_options *options);
void cmd_secrets_clear(struct cmd_secrets *secrets); /* wipes them */

#endif
