/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Examples at the end of each command's --help. A test runs every one of them as it stands. */
#include <stdbool.h>
#include <string.h>

#include "cmd.h"

static const struct {
	const char *command; /* full name */
	const char *line;    /* behind "ibqos " */
	const char *about;
} examples[] = {
	{"discover", "discover", "what is there; status 0: everything answered"},
	{"discover", "discover --format json --output fabric.json", "the same for programs"},
	{"discover", "discover --from before.snap", "what was there when a snapshot was taken"},
	{"lint", "lint /etc/ibqos/policy.yaml", "every fault of a policy, with line and column"},
	{"lint", "lint --suggest-sl /etc/ibqos/policy.yaml", "with SLs proposed for classes that have none"},
	{"lint", "lint --opensm-conf /etc/opensm/opensm.conf", "what OpenSM makes of its config"},
	{"import", "import --opensm-conf /etc/opensm/opensm.conf --output imported.yaml", "a policy of the config that is in force"},
	{"import", "import --opensm-conf /etc/opensm/opensm.conf --qos-policy /etc/opensm/qos-policy.conf --output imported.yaml --force",
	 "with the rules of its qos-policy file, over an older result"},
	{"plan", "plan /etc/ibqos/policy.yaml", "what apply would change; nothing is written"},
	{"plan", "plan --explain /etc/ibqos/policy.yaml", "with what each class has on each kind of link"},
	{"plan", "plan --from before.snap /etc/ibqos/policy.yaml", "away from the fabric"},
	{"apply", "apply /etc/ibqos/policy.yaml", "install it, and wait until every port holds it"},
	{"apply", "apply --confirm-within 10m /etc/ibqos/policy.yaml", "undone unless `ibqos confirm` comes in time"},
	{"apply", "apply --stage staged /etc/ibqos/policy.yaml", "only write the files, for another tool to deploy"},
	{"rollback", "rollback", "undo the newest apply"},
	{"rollback", "rollback --to 20261130T101112Z", "undo the one that `ibqos history` lists so"},
	{"history", "history", "all changes, newest first, and which can be undone"},
	{"history", "history 20261130T101112Z", "one of them, step by step"},
	{"confirm", "confirm", "keep the change that waits for it"},
	{"confirm", "confirm 20261130T101112Z", "keep this one"},
	{"verify", "verify /etc/ibqos/policy.yaml", "every port, and whether the subnet manager still runs the policy"},
	{"verify", "verify --paths --by-lft /etc/ibqos/policy.yaml", "and whether all paths by the forwarding tables arrive, and on which VLs"},
	{"verify", "verify --hosts gpu-[001-008,012] /etc/ibqos/policy.yaml", "hosts that come back from repair"},
	{"verify", "verify --sample 1/24 --rotate /var/lib/ibqos/rotation /etc/ibqos/policy.yaml", "each hour a part, each day all"},
	{"trace", "trace gpu-001 gpu-017 --policy /etc/ibqos/policy.yaml --class training --by-lft", "the way of a class's packets, hop by hop"},
	{"trace", "trace gpu-001 gpu-017 --sl 2 --by-lft --from before.snap", "of an SL, in a snapshot"},
	{"audit", "audit", "links below what both their ends can"},
	{"audit", "audit --baseline good.snap", "or below what they were when all was well"},
	{"audit", "audit --counters --state /var/lib/ibqos/audit.state", "with errors since the last run"},
	{"audit", "audit --hosts gpu-[001-008]", "before hosts go back to the batch system"},
	{"ack", "ack link-width-low 'leaf-01[2]' --ticket OPS-7 --until 2036-12-15 --state /var/lib/ibqos/audit.state",
	 "a note until that day"},
	{"ack", "ack link-width-low leaf-01 --ticket OPS-7 --until 2036-12-15 --state /var/lib/ibqos/audit.state", "at a whole node"},
	{"ack", "ack --list --state /var/lib/ibqos/audit.state", "what is acknowledged, by whom, until when, and whether it is still seen"},
	{"ack", "ack --remove link-width-low leaf-01 --state /var/lib/ibqos/audit.state", "told again"},
	{"diff", "diff before.snap after.snap", "what has changed in between"},
	{"diff", "diff --expect changes.yaml before.snap after.snap", "and whether it was what was meant to"},
	{"snapshot", "snapshot --policy /etc/ibqos/policy.yaml before.snap", "all that verify and audit would ask for, in a file"},
	{"snapshot", "snapshot --from before.snap --redact names.map for-the-vendor.snap", "without names and GUIDs"},
	{"snapshot", "snapshot --show before.snap", "what is in it"},
	{"snapshot", "snapshot --accept after.snap --baseline good.snap --yes", "from now on what audit --baseline compares with"},
	{"job env", "job env --policy /etc/ibqos/policy.yaml --class training", "eval \"$(...)\" it in a job script"},
	{"job env", "job env --policy /etc/ibqos/policy.yaml --class training --form kubernetes", "for a pod"},
	{"job check", "job check --policy /etc/ibqos/policy.yaml --class training run.sbatch", "a script, which is read, not run"},
	{"job check", "job check --policy /etc/ibqos/policy.yaml --class training --env-file job.env", "an environment"},
	{"job check", "job check --policy /etc/ibqos/policy.yaml --class training --hosts gpu-[001-004] --by-lft run.sbatch", "and the paths of its hosts"},
	{"job log", "job log nccl.log", "networks, adapters, settings and errors that NCCL logged"},
	{"job log", "job log --from before.snap --state /var/lib/ibqos/audit.state nccl.log", "and which failed over a link with a fault"},
	{"job host", "job host", "the adapters of this host"},
	{"job host", "job host --hca mlx5_0,mlx5_1 --rate 400", "in a prolog: these, at this rate"},
	{"job bw-plan", "job bw-plan --hosts gpu-[001-004] --hca mlx5_0", "a script that measures neighbours"},
	{"job bw-plan", "job bw-plan --hosts gpu-[001-004] --hca mlx5_0 --policy /etc/ibqos/policy.yaml --class training", "in a class"},
	{"job bw-read", "job bw-read bw/*.txt", "what that script measured"},
	{"job bw-read", "job bw-read --rate 100 bw/*.txt", "on links of 100 Gb/s"},
	{"maintenance drain", "maintenance drain leaf-02", "what would be cut if it were taken out"},
	{"maintenance drain", "maintenance drain --from before.snap gpu-001 gpu-002", "by a snapshot"},
	{"maintenance begin", "maintenance begin swap-12 --policy /etc/ibqos/policy.yaml", "before the work"},
	{"maintenance begin", "maintenance begin swap-13 --drain leaf-02 --state /var/lib/ibqos/audit.state",
	 "with what will be cut, and counters since the last audit"},
	{"maintenance end", "maintenance end swap-12", "after it: what is new, fixed, unchanged"},
	{"maintenance end", "maintenance end swap-12 --expect changes.yaml --wait 2h", "what was meant to change; judged when links were up long enough"},
	{"maintenance list", "maintenance list", "what was begun, and whether it has ended"},
	{"maintenance list", "maintenance list --format json", "the same for programs"},
	{"merge", "merge site.snap r0.snap r1.snap", "one file of what several hosts have seen"},
	{"rails", "rails r0.snap r1.snap", "the same host on each rail"},
	{"rails", "rails --site /etc/ibqos/site.yaml", "looked at now"},
};

#define WIDTH 79 /* columns of a terminal, less one */

/* An example as it can be pasted: a long one goes on behind a backslash, before a word. */
static void example_print(FILE *to, const char *line)
{
	int column = fprintf(to, "  ibqos");

	while (*line) {
		int word = (int)strcspn(line, " "), value = strncmp(line, "--", 2) == 0 && line[word] ? (int)strcspn(line + word + 1, " ") + 1 : 0;
		bool last;

		/* an option and its value stay together, where a line has room for both */
		if (value > 0 && line[word + 1] != '-' && 6 + word + value + 2 <= WIDTH)
			word += value;
		last = !line[word];

		if (column + 1 + word + (last ? 0 : 2) > WIDTH) {
			fputs(" \\\n     ", to);
			column = 5;
		}
		column += fprintf(to, " %.*s", word, line);
		line += word + !last;
	}
	fputc('\n', to);
}

void cmd_examples(FILE *to, const char *command)
{
	const char *before = "\nExamples:\n";

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		if (strcmp(examples[i].command, command) != 0)
			continue;
		fputs(before, to);
		example_print(to, examples[i].line);
		fprintf(to, "        %s\n", examples[i].about);
		before = "";
	}
}
