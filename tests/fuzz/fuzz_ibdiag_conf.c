/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as infiniband-diags' config: values are in range; each fault has a line of the text, one a line; good lines
 * behind it count whatever stands before; a line with a key that cannot be read is reported without the key. The
 * same lines as a guid2mkey file: no key shows in a finding, GUIDs are found again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "ibqos/source.h"

#define SECRET "0x5ec2e75ec2e75ec"
#define GUID 0x00000c2e75ec0001

static unsigned lines_of(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void check_findings(const struct finding_list *findings, unsigned lines)
{
	unsigned before = 0;

	require(!findings->lost);
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->items[i];

		require(f->line > before && f->line <= lines); /* one a line */
		before = f->line;
		require(!f->what || !strstr(f->what, SECRET));
		require(f->detail && !strstr(f->detail, SECRET));
		require(fuzz_printable(f->detail, "") && (!f->what || fuzz_printable(f->what, "")));
	}
}

static void check_conf(const char *text)
{
	struct finding_list findings = {0};
	struct ibdiag_conf conf;
	char *longer;

	require(asprintf(&longer, "%s\nm_key=" SECRET "z\nCA=mlx5_7\nPort = 3\ntimeout=77\nMLX_EPI=true\nm_key=0x77\n", text) > 0);
	require(ibdiag_conf_parse("file", longer, &findings, &conf) == 0);
	check_findings(&findings, lines_of(longer));
	require(findings.count > 0);
	require(conf.ca && strcmp(conf.ca, "mlx5_7") == 0 && conf.port == 3 && conf.timeout_ms == 77);
	require(!conf.no_ext_info && conf.mkey == 0x77);
	ibdiag_conf_clear(&conf);
	finding_list_clear(&findings);
	require(ibdiag_conf_parse("file", text, &findings, &conf) == 0);
	require(conf.port >= 0 && conf.port <= 254 && conf.timeout_ms <= 60000);
	ibdiag_conf_clear(&conf);
	finding_list_clear(&findings);
	free(longer);
}

static void check_keys(const char *text)
{
	struct finding_list findings = {0};
	struct source_keys keys = {0};
	char path[64], *longer;
	int fd = memfd_create("keys", 0);
	size_t size;

	require(fd >= 0);
	require(asprintf(&longer, "0x%llx 0x99\n\n%s\n0x1 " SECRET "z\n", (unsigned long long)GUID, text) > 0);
	size = strlen(longer);
	require(write(fd, longer, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(source_keys_read(path, &findings, &keys) == 0);
	check_findings(&findings, lines_of(longer));
	require(findings.count > 0 && keys.any != 0);
	require(source_keys_of(&keys, GUID) == 0x99 && source_keys_of(&keys, 0) == 0);
	for (size_t i = 0; i < keys.count; i++)
		require(source_keys_of(&keys, keys.of[i].guid) == keys.of[i].key);
	source_keys_clear(&keys);
	finding_list_clear(&findings);
	close(fd);
	free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *text = fuzz_rest(&in);

	check_conf(text);
	check_keys(text);
	free(text);
	return 0;
}
