/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Launch scripts of every kind: which settings, where, and what is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ibqos/job.h"

/* Settings that count as "NAME=VALUE@line:column", then findings as "code@line". */
static void expect(const char *file, const char *text, const char *wanted)
{
	struct finding_list findings = {0};
	struct job_env env = {0};
	char got[2048] = "";

	assert_int_equal(job_scan(NULL, &env, file, text, strlen(text), &findings), 0);
	assert_int_equal(job_env_settle(&env), 0);
	for (size_t i = 0; i < env.count; i++) {
		const struct job_setting *s = &env.items[i];
		size_t at = strlen(got);

		if (!s->hidden && !s->removed)
			snprintf(got + at, sizeof(got) - at, "%s%s=%s@%u:%u", at ? " " : "", s->name, s->value ? s->value : "?",
				 s->line, s->column);
	}
	for (size_t i = 0; i < findings.count; i++) {
		size_t at = strlen(got);

		snprintf(got + at, sizeof(got) - at, "%s%s@%u", at ? " " : "", finding_kind(findings.items[i].code)->code,
			 findings.items[i].line);
	}
	if (strcmp(got, wanted) != 0)
		fail_msg("%s:\n%s\n-> %s\nexpected %s", file, text, got, wanted);
	finding_list_clear(&findings);
	job_env_clear(&env);
}

static void test_shell(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"export NCCL_IB_SL=1\n", "NCCL_IB_SL=1@1:8"},
		{"export NCCL_IB_SL='1' NCCL_IB_TC=\"41\"", "NCCL_IB_SL=1@1:8 NCCL_IB_TC=41@1:23"},
		{"NCCL_IB_SL=1 python train.py\n", "NCCL_IB_SL=1@1:1"},
		{"NCCL_IB_SL=1\npython train.py\n", "job-not-exported@1"},
		{"NCCL_IB_SL=1\nexport NCCL_IB_SL\n", "NCCL_IB_SL=1@1:1"},
		{"export NCCL_IB_SL=1\nNCCL_IB_SL=2\n", "NCCL_IB_SL=2@2:1"},
		{"set -a\nNCCL_IB_SL=1\n", "NCCL_IB_SL=1@2:1"},
		{"declare -x NCCL_IB_SL=1\n", "NCCL_IB_SL=1@1:12"},
		{"export NCCL_IB_SL=1; unset NCCL_IB_SL\n", ""},
		{"export NCCL_IB_SL=1 # NCCL_IB_SL=2\n#export NCCL_IB_TC=3\n", "NCCL_IB_SL=1@1:8"},
		{"export NCCL_IB_SL=$SL NCCL_IB_TC=4\n", "NCCL_IB_SL=?@1:8 NCCL_IB_TC=4@1:23"},
		{"export NCCL_IB_SL=${SL:-1}\nexport NCCL_IB_TC=\"$(cat \"tc\")\" A=1\n", "NCCL_IB_SL=?@1:8 NCCL_IB_TC=?@2:8"},
		{"export NCCL_IB_SL='$SL'\n", "NCCL_IB_SL=$SL@1:8"},
		{"export NCCL_IB_HCA=mlx5_0,\\\nmlx5_1\n", "NCCL_IB_HCA=mlx5_0,mlx5_1@1:8"},
		{"if true; then export NCCL_IB_SL=1; fi\n", "NCCL_IB_SL=1@1:22"},
		{"[ -n \"$A\" ] && export NCCL_IB_SL=1 || true\n", "NCCL_IB_SL=1@1:23"},
		{"echo NCCL_IB_SL=1\n", ""},
		{"setenv NCCL_IB_SL 1\n", "NCCL_IB_SL=1@1:8"},
		{"mpirun -np 8 -x NCCL_IB_SL=1 -x PATH ./a\n", "NCCL_IB_SL=1@1:17"},
		{"NCCL_IB_SL=3\nmpirun -x NCCL_IB_SL ./a\n", "NCCL_IB_SL=3@1:1"},
		{"mpirun --mca btl_openib_ib_service_level 2 ./a\n", "OMPI_MCA_btl_openib_ib_service_level=2@1:14"},
		{"mpiexec -genv NCCL_IB_SL 1 ./a\n", "NCCL_IB_SL=1@1:15"},
		{"docker run -e NCCL_IB_SL=1 --env=UCX_IB_SL=2 --env NVSHMEM_IB_SL=3 image\n",
		 "NCCL_IB_SL=1@1:15 UCX_IB_SL=2@1:34 NVSHMEM_IB_SL=3@1:52"},
		{"srun --export=ALL,NCCL_IB_SL=1,UCX_IB_SL=$S ./a\n", "NCCL_IB_SL=1@1:19 UCX_IB_SL=?@1:32"},
		{"#SBATCH --export=NONE,NCCL_IB_SL=1\n  #SBATCH --export=NCCL_IB_SL=2\n", "NCCL_IB_SL=1@1:23"},
		{"#PBS -v NCCL_IB_SL=1,NCCL_IB_TC=2\n", "NCCL_IB_SL=1@1:9 NCCL_IB_TC=2@1:22"},
		{"srun bash -c 'export NCCL_IB_SL=1; exec ./a'\n", "NCCL_IB_SL=1@1:22"},
		{"ssh host \"NCCL_IB_SL=1 ./a\"\n", "NCCL_IB_SL=1@1:11"},
		{"docker run -e 'NCCL_IB_HCA=a b' i\n", "NCCL_IB_HCA=a b@1:16"},
		{"env NCCL_IB_SL=1 ./a\n", "NCCL_IB_SL=1@1:5"},
		{"cat >~/.nccl.conf <<EOF\nNCCL_IB_SL=1\nEOF\nexport NCCL_IB_TC=1\n", "NCCL_IB_TC=1@4:8 job-script-skipped@2"},
		{"cat <<-'E O'\n\tNCCL_A=1\n\tE O\nexport NCCL_IB_TC=1\n", "NCCL_IB_TC=1@4:8 job-script-skipped@2"},
		{"source env.sh\n", "job-script-skipped@1"},
		{"case $1 in\na) export NCCL_IB_SL=1 ;;\nesac\n", "NCCL_IB_SL=1@2:11"},
		{"export NCCL_IB_SL+=1\n", "NCCL_IB_SL=?@1:8"},
		{"export NCCL_IB_SL=1\r\nexport NCCL_IB_TC=2\r\n", "NCCL_IB_SL=1@1:8 NCCL_IB_TC=2@2:8"},
		{"export NCCL_IB_SL='1", "NCCL_IB_SL=1@1:8"},
		{"export NCCL_IB_SL=\"$(", "NCCL_IB_SL=?@1:8"},
		{"A=1", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect("run.sh", cases[i].text, cases[i].wanted);
}

static void test_docker(void **state)
{
	(void)state;
	expect("Dockerfile", "FROM a\nENV NCCL_IB_SL=1 NCCL_IB_TC=\"41\"\n", "NCCL_IB_SL=1@2:5 NCCL_IB_TC=41@2:18");
	expect("Dockerfile", "FROM a\nENV NCCL_IB_SL 1 \n", "NCCL_IB_SL=1@2:5");
	expect("x", "# c\nARG v=1\nFROM a\nenv NCCL_IB_SL=$v \\\n # why\n NCCL_IB_TC=1\n", "NCCL_IB_SL=?@4:5 NCCL_IB_TC=1@6:2");
	expect("a/Dockerfile.gpu", "FROM a\nRUN export NCCL_IB_SL=1 && make\nCMD NCCL_IB_TC=4 ./a\n",
	       "NCCL_IB_TC=4@3:5 job-not-exported@2");
	expect("Dockerfile", "FROM a\nARG NCCL_IB_SL=1\n# ENV NCCL_IB_SL=2", "");
}

static void test_yaml(void **state)
{
	(void)state;
	expect("a.yaml", "spec:\n  env:\n  - name: NCCL_IB_SL\n    value: \"1\"\n  - name: OTHER\n    value: x\n", "NCCL_IB_SL=1@3:11");
	expect("a.yaml", "env: [{value: '1', name: NCCL_IB_SL}]\n", "NCCL_IB_SL=1@1:26");
	expect("a.yml", "env:\n- name: NCCL_IB_SL\n  valueFrom: {fieldRef: {fieldPath: x}}\n", "NCCL_IB_SL=?@2:9");
	expect("a.yml", "data:\n  NCCL_IB_SL: '1'\n  \"NCCL_IB_TC\": 41\n", "NCCL_IB_SL=1@2:3 NCCL_IB_TC=41@3:3");
	expect("a.yml", "environment:\n- NCCL_IB_SL=1\n- UCX_IB_SL=$SL\n", "NCCL_IB_SL=1@2:3 UCX_IB_SL=?@3:3");
	expect("a.yml", "# \xc3\xbc\nname: \xc3\xbc\nargs: [\"\xc3\xbc\", '-x', NCCL_IB_SL=1]\n", "NCCL_IB_SL=1@3:20");
	expect("a.yml", "command:\n- bash\n- -c\n- |\n  export NCCL_IB_SL=1\n  exec ./a\n", "NCCL_IB_SL=1@5:10");
	expect("a.yml", "command: [bash, -c, \"NCCL_IB_SL=1 exec ./a\"]\n", "NCCL_IB_SL=1@1:22");
	expect("a.yml", "NCCL_IB_SL: [1]\n", "NCCL_IB_SL=?@1:1");
	expect("a.yml", "NCCL_IB_SL: 1\n{{ if x }}\n  a: {{ .v }}\n", "NCCL_IB_SL=1@1:1 job-script-syntax@3");
}

static void test_quoted(void **state)
{
	(void)state;
	expect("a.py", "os.environ[\"NCCL_IB_SL\"] = \"1\"  # NCCL_IB_TC\n", "NCCL_IB_SL=1@1:13");
	expect("a.py", "os.environ.setdefault('NCCL_IB_SL', '1')\n", "NCCL_IB_SL=1@1:24");
	expect("a.py", "os.environ['NCCL_IB_SL'] = str(sl)\n", "NCCL_IB_SL=?@1:13");
	/* a string that is not all of the value tells nothing */
	expect("a.py", "os.environ['NCCL_IB_SL'] = '1' if a else '3'\n", "NCCL_IB_SL=?@1:13");
	expect("a.py", "os.environ['NCCL_IB_SL'] = '1' + x\n", "NCCL_IB_SL=?@1:13");
	expect("a.py", "os.environ['NCCL_IB_SL'] = '1' '2'\n", "NCCL_IB_SL=?@1:13");
	expect("a.py", "os.environ['NCCL_IB_SL'] = '\\x31'\n", "NCCL_IB_SL=?@1:13");
	expect("a.py", "os.environ['NCCL_IB_SL'] = '1' ; x()\n", "NCCL_IB_SL=1@1:13");
	/* names as keywords */
	expect("a.py", "os.environ.update(NCCL_IB_SL='1')\n", "NCCL_IB_SL=1@1:19");
	expect("a.py", "env = dict(os.environ, A=str(1), NCCL_IB_SL = \"1\")\n", "NCCL_IB_SL=1@1:34");
	expect("a.py", "os.environ.update(NCCL_IB_SL=sl)\n", "NCCL_IB_SL=?@1:19");
	expect("a.py", "os.environ['NCCL_IB_SL'] = '1'\n  del os.environ['NCCL_IB_SL']\n", "");
	expect("a.py", "def f(NCCL_IB_SL='1'): pass\n", "NCCL_IB_SL=?@1:7");
	expect("a.py", "NCCL_IB_SL = '1'\nf(NCCL_IB_SL == '1', MY_NCCL_IB_SL='1')\n", "");
	expect("a.py", "env={'NCCL_IB_SL': '1', \"UCX_IB_SL\": sl}\n", "NCCL_IB_SL=1@1:7 UCX_IB_SL=?@1:26");
	expect("a.py", "if os.environ['NCCL_IB_SL'] == '1': pass\n# os.environ['NCCL_IB_TC'] = '1'\n", "");
	expect("a.json", "{\"env\": {\"NCCL_IB_SL\": \"1\",\n \"NCCL_IB_TC\": \"41\"}}\n", "NCCL_IB_SL=1@1:11 NCCL_IB_TC=41@2:3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shell), cmocka_unit_test(test_docker),
					   cmocka_unit_test(test_yaml), cmocka_unit_test(test_quoted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
