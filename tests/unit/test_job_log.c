/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Logs of NCCL: each format of each release, prefixes, lines in pieces, torn and long lines. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/job.h"

static struct job_log *read_text(const char *text, size_t size, size_t piece)
{
	struct job_log *log;

	assert_int_equal(job_log_new(&log), 0);
	assert_int_equal(job_log_begin(log, "f"), 0);
	for (size_t at = 0; at < size; at += piece)
		assert_int_equal(job_log_feed(log, text + at, size - at < piece ? size - at : piece), 0);
	assert_int_equal(job_log_end(log), 0);
	return log;
}

static struct job_log *read_all(const char *text)
{
	return read_text(text, strlen(text), 1u << 20);
}

/* --- what went wrong --- */

static void test_events(void **state)
{
	static const struct {
		const char *text;
		enum job_log_kind kind;
		int code;
		unsigned vendor;
		const char *device, *peer, *name;
	} cases[] = {
		/* 2.12 to 2.17 */
		{"n1:1:2 [0] net_ib.cc:1198 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4791> with error 12, opcode 0, len 0, "
		 "vendor err 129", JOB_LOG_COMPLETION, 12, 129, NULL, "10.0.0.2<4791>", NULL},
		/* 2.18, 2.19 */
		{"n1:1:2 [0] net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4791> with error 4, opcode 1, len 7, "
		 "vendor err 81 (Send)", JOB_LOG_COMPLETION, 4, 81, NULL, "10.0.0.2<4791>", NULL},
		/* 2.20, 2.21 */
		{"n1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1> with status=12 opcode=32600 len=0 vendor "
		 "err 129 (Recv) localGid ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2", JOB_LOG_COMPLETION, 12, 129, NULL, "10.0.0.2<1>",
		 NULL},
		/* 2.22 to 2.28.3 */
		{"n1:1:2 [0] transport/net_ib.cc:1984 NCCL WARN NET/IB: Got completion from peer fe80::1%eth0<1> with status=5 opcode=0 "
		 "len=0 vendor err 249 (Send) hca mlx5_3", JOB_LOG_COMPLETION, 5, 249, "mlx5_3", "fe80::1%eth0<1>", NULL},
		/* 2.28.7 to 2.28.9 */
		{"[2026-11-30 05:52:53] n1:1:2 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with "
		 "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=65536 vendor_err=129 req_type=Send hca mlx5_0",
		 JOB_LOG_COMPLETION, 12, 129, "mlx5_0", "10.0.0.2<1>", NULL},
		/* 2.29 on; 2.30.7 has the function */
		{"n1:1:2 [0] p2p.cc:688 (ncclIbLogCompletionWithError) NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with "
		 "status=IBV_WC_RNR_RETRY_EXC_ERR(13) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=137  localGid ::1 remoteGids::2 hca mlx5_7",
		 JOB_LOG_COMPLETION, 13, 137, "mlx5_7", "10.0.0.2<1>", NULL},
		/* GIN */
		{"n1:1:2 [0] gin.cc:749 NCCL WARN NET/IB/GIN: Got completion from peer 10.0.0.2<1> with status=12 opcode=1 len=8 vendor err "
		 "129 (Put) hca mlx5_1", JOB_LOG_COMPLETION, 12, 129, "mlx5_1", "10.0.0.2<1>", NULL},
		/* 2.29.7 to 2.30.4: one that a port was left for */
		{"n1:1:2 [0] NCCL INFO NET/IB: ncclIbCompletion: Got completion with error (devIndex=1, wc->status=(IBV_WC_RETRY_EXC_ERR)12, "
		 "wc->opcode=(IBV_WC_SEND)0, wc->wr_id=1, wc->qp_num=7, wc->byte_len=0)", JOB_LOG_COMPLETION, 12, 0, NULL, NULL, NULL},
		/* 2.30.7 */
		{"n1:1:2 [0] NCCL INFO NET/IB : mlx5_3:1 speed change detected: 400000 -> 200000 Mbps", JOB_LOG_ASYNC, 0, 0, "mlx5_3:1", NULL,
		 "speed change detected: 400000 -> 200000 Mbps"},
		/* other words for it are not guessed at */
		{"n1:1:2 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with trouble", JOB_LOG_OTHER, 0, 0, NULL, NULL,
		 "NET/IB: Got completion from peer 10.0.0.2<1> with trouble"},
		/* async events: 2.12 to 2.19, 2.20 to 2.22, 2.23 to 2.28.3, from 2.28.7 */
		{"n1:1:2 [0] net_ib.cc:94 NCCL WARN NET/IB : Got async event : port error", JOB_LOG_ASYNC, 0, 0, NULL, NULL, "port error"},
		{"n1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async event : client reregistration event", JOB_LOG_ASYNC, 0, 0,
		 "mlx5_0:1", NULL, "client reregistration event"},
		{"n1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error", JOB_LOG_ASYNC, 0, 0, "mlx5_0:1", NULL,
		 "port error"},
		{"n1:1:2 [0] init.cc:179 NCCL WARN NET/IB : mlx5_12:1 Got non-fatal async event: port error(10)", JOB_LOG_ASYNC, 0, 0,
		 "mlx5_12:1", NULL, "port error"},
		{"n1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 async fatal event: local catastrophic error", JOB_LOG_ASYNC_FATAL, 0, 0,
		 "mlx5_0:1", NULL, "local catastrophic error"},
		{"n1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 async fatal event on CQ (0x7f): CQ error", JOB_LOG_ASYNC_FATAL, 0, 0,
		 "mlx5_0:1", NULL, "CQ error"},
		{"n1:1:2 [0] init.cc:140 (f) NCCL WARN NET/IB : mlx5_0:2 async fatal event on QP (0x7f) qpn=7 handle=1 send_cq=1 recv_cq=1 "
		 "state=6 sq_psn=0 rq_psn=0: local access violation work queue error", JOB_LOG_ASYNC_FATAL, 0, 0, "mlx5_0:2", NULL,
		 "local access violation work queue error"},
		/* queue pairs: up to 2.23, from 2.24 */
		{"n1:1:2 [0] ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out", JOB_LOG_MODIFY_QP, -1, 0,
		 NULL, NULL, "Call to ibv_modify_qp failed with error Connection timed out"},
		{"n1:1:2 [0] ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_2:1, curr state "
		 "INIT, next state RTR, local GID index 0", JOB_LOG_MODIFY_QP, 110, 0, "mlx5_2:1", NULL, NULL},
		{"n1:1:2 [0] connect.cc:431 NCCL WARN Warning: remote FLID configured as zero even when endpoints are on different subnets, "
		 "using dlid as fallback", JOB_LOG_FLID, 0, 0, NULL, NULL, NULL},
		{"n1:1:2 [0] misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer n2<3>", JOB_LOG_OTHER, 0, 0, NULL,
		 NULL, "socketProgress: Connection closed by remote peer n2<3>"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_log *log = read_all(cases[i].text);
		struct job_log_view v = job_log_view(log);
		const struct job_log_event *e = v.events;

		if (v.event_count != 1 || v.process_count != 1 || strcmp(v.processes[0].key, "n1:1") != 0)
			fail_msg("%zu events, %zu processes: %s", v.event_count, v.process_count, cases[i].text);
		if (e->kind != cases[i].kind || e->code != cases[i].code || e->vendor != cases[i].vendor)
			fail_msg("kind %d code %d vendor %u: %s", (int)e->kind, e->code, e->vendor, cases[i].text);
		if (!e->device != !cases[i].device || (e->device && strcmp(e->device, cases[i].device) != 0))
			fail_msg("device %s: %s", e->device, cases[i].text);
		if (!e->peer != !cases[i].peer || (e->peer && strcmp(e->peer, cases[i].peer) != 0))
			fail_msg("peer %s: %s", e->peer, cases[i].text);
		if (cases[i].name && strcmp(e->text, cases[i].name) != 0)
			fail_msg("text '%s': %s", e->text, cases[i].text);
		assert_int_equal(e->count, 1);
		assert_int_equal(e->line, 1);
		assert_int_equal(v.hosts[0].warn, strstr(cases[i].text, " WARN ") != NULL);
		job_log_free(log);
	}
}

/* --- adapters --- */

static void test_devices(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>", "mlx5_0:1/0"},
		{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", "mlx5_0:1/0 mlx5_bond_0:1/1"},
		{"NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [1]mlx5_2:1/IB [RO]; OOB a:1<0>",
		 "mlx5_0:1/1 mlx5_1:1/1 mlx5_2:1/0"},
		{"NET/IB : Using [0]mlx5_0:1:0:3/IB [1]mlx5_1:1::2/IB; OOB a:1<0>", "mlx5_0:1/0 mlx5_1:1/0"},
		{"NET/IB : Using [RO]; OOB eth0:192.0.2.2<0>", ""},
		{"NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x1 pciPath=/sys ar=1", "mlx5_0:1/0@400000"},
		{"NET/IB: [3] mlx5_3:rocep1:2/RoCE speed=200000 context=0x1 pciPath=/sys ar=0", "mlx5_3:2/1@200000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[512], got[512] = "";
		struct job_log *log;
		struct job_log_view v;

		snprintf(line, sizeof(line), "n1:1:2 [0] NCCL INFO %s\n", cases[i].text);
		log = read_all(line);
		v = job_log_view(log);
		for (size_t d = 0; d < v.device_count; d++) {
			size_t at = strlen(got);

			snprintf(got + at, sizeof(got) - at, "%s%s/%d", d ? " " : "", v.devices[d].name, v.devices[d].link);
			at = strlen(got);
			if (v.devices[d].mbps)
				snprintf(got + at, sizeof(got) - at, "@%ju", (uintmax_t)v.devices[d].mbps);
		}
		if (strcmp(got, cases[i].wanted) != 0)
			fail_msg("%s -> %s", cases[i].text, got);
		job_log_free(log);
	}
}

static void test_gdr(void **state)
{
	struct job_log *log = read_all("n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_10:1/IB ; OOB a:1<0>\n"
				       "n1:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n"
				       "n1:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1' (no module)\n");
	struct job_log_view v = job_log_view(log);

	(void)state;
	assert_int_equal(v.device_count, 3);
	assert_int_equal(v.devices[0].gdr, 1);
	assert_int_equal(v.devices[1].gdr, 0);
	assert_int_equal(v.devices[2].gdr, -1);
	assert_true(v.processes[0].net_lines);
	job_log_free(log);
}

/* --- a process --- */

static void test_process(void **state)
{
	struct job_log *log = read_all("n1:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
				       "n1:1:2 [0] NCCL INFO NCCL_IB_SL set by environment to 1.\n"
				       "n1:1:3 [0] NCCL INFO NCCL_IB_SL set by environment to 1.\n"
				       "n1:1:2 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0\n"
				       "n1:1:2 [0] NCCL INFO Using network IB\n"
				       "n1:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 1 nranks 2 cudaDev 0 busId 60 - Init START\n"
				       "n1:1:2 [0] NCCL INFO comm 0x1 rank 9 nranks 16 cudaDev 0 busId 60 - Init COMPLETE\n"
				       "n1:1:2 [0] NCCL INFO [Rank 4] ncclCommSplit comm 0x1 rank 4 nranks 8 cudaDev 0 - Init COMPLETE\n"
				       "n1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
				       "n1:1:2 [0] NCCL INFO Channel 01/0 : 1[1] -> 0[0] [send] via NET/IB/0(2)/GDRDMA(PCI)/Shared\n"
				       "n1:1:2 [0] NCCL INFO Channel 02/0 : 1[b2000] -> 0[60] [send] via NET/Socket/0\n"
				       "n1:1:2 [0] NCCL INFO Channel 03/0 : 1[1] -> 2[2] via P2P/CUMEM\n"
				       "n1:1:2 [0] NCCL INFO Channel 00/24 : 0 1\n"
				       "n1:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n");
	struct job_log_view v = job_log_view(log);
	const struct job_log_process *p = v.processes;

	(void)state;
	assert_int_equal(v.process_count, 1);
	assert_int_equal(p->nccl, JOB_NCCL(2, 21, 5));
	assert_string_equal(p->network, "IB");
	assert_int_equal(p->rank, 9);
	assert_int_equal(p->ranks, 16);
	assert_int_equal(p->channels_net, 3);
	assert_int_equal(p->channels_gdr, 2);
	assert_int_equal(p->channels_socket, 1);
	assert_int_equal(p->channels_local, 1);
	assert_true(p->connected && p->env_lines && !p->net_lines);
	assert_int_equal(v.setting_count, 2);
	assert_string_equal(v.settings[0].value, "1");
	assert_int_equal(v.settings[0].processes, 1);
	assert_string_equal(v.settings[1].value, "=mlx5_0");
	job_log_free(log);
}

/* What launchers put before a line. */
static void test_prefixes(void **state)
{
	static const struct {
		const char *text, *key;
	} cases[] = {
		{"n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"n1:1:2 NCCL INFO Using network IB", "n1:1"},
		{"17: n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"[1,0]<stdout>:n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"[rank0]:n1.a.b:1:2 [7] NCCL INFO Using network IB", "n1.a.b:1"},
		{"[default0]:n-1:1:2 [7] NCCL INFO Using network IB", "n-1:1"},
		{"2026-11-30T05:52:53.1Z n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"[2026-11-30 05:52:53] n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"worker-0 | n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"(Ray pid=1, ip=10.0.0.1) n1:1:2 [0] NCCL INFO Using network IB", "n1:1"},
		{"n1:1 [0] NCCL INFO Using network IB", NULL},
		{"NCCL INFO Using network IB", NULL},
		{"a:b:c [0] NCCL INFO Using network IB", NULL},
		{":1:2 [0] NCCL INFO Using network IB", NULL},
		{"n1:1:2 [x] NCCL INFO Using network IB", NULL},
		{"NCCL version 2.21.5+cuda12.4", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_log *log = read_all(cases[i].text);
		struct job_log_view v = job_log_view(log);

		if (!cases[i].key ? v.process_count != 0 : v.process_count != 1 || strcmp(v.processes[0].key, cases[i].key) != 0 ||
								    strcmp(v.processes[0].network, "IB") != 0)
			fail_msg("%s -> %s", cases[i].text, v.process_count ? v.processes[0].key : "none");
		job_log_free(log);
	}
}

/* --- the stream --- */

static void test_torn_lines(void **state)
{
	/* n2 is known by then; n9 is not, so neither its line nor the one that it broke can be told */
	struct job_log *log = read_all("n2:3:4 [1] NCCL INFO Bootstrap\n"
				       "n1:1:2 [0] NCCL INFO NCCL_IB_SL set by environment to 1n2:3:4 [1] NCCL INFO Using network IB\n.\n"
				       "n1:1:2 [0] NCCL INFO Using netwn2:3:4 [0] NCCL INFO Connected all rings\nork Socket\n"
				       "n1:1:2 [0] NCCL INFO NCCL_IB_TC set by environment to 4n9:3:4 [1] NCCL INFO Using network IB\n");
	struct job_log_view v = job_log_view(log);

	(void)state;
	assert_int_equal(v.torn, 3);
	assert_int_equal(v.process_count, 2);
	assert_int_equal(v.setting_count, 1);
	assert_string_equal(v.settings[0].value, "1");
	assert_string_equal(v.processes[0].key, "n2:3");
	assert_string_equal(v.processes[0].network, "IB");
	assert_int_equal(v.processes[0].line, 2);
	assert_true(v.processes[0].connected);
	assert_string_equal(v.processes[1].network, "");
	job_log_free(log);
}

static void test_cr(void **state)
{
	struct job_log *log = read_all("n1:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo\r\nn1:1:2 [0] NCCL INFO Using network IB\n");

	(void)state;
	assert_true(job_log_view(log).settings[0].cr);
	assert_false(job_log_view(log).all_cr);
	assert_string_equal(job_log_view(log).settings[0].value, "lo");
	job_log_free(log);
	log = read_all("n1:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo\r\nn1:1:2 [0] NCCL INFO Using network IB\r\n");
	assert_true(job_log_view(log).all_cr);
	assert_string_equal(job_log_view(log).processes[0].network, "IB");
	job_log_free(log);
}

/* The same result whatever the pieces. */
static void test_pieces(void **state)
{
	static const char text[] = "noise\nn1:1:2 [0] NCCL INFO Using network IB\n\nn2:1:2 [0] a.cc:1 NCCL WARN odd\nn1:1:2 [0] NCCL INFO "
				   "Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0\nn2:1:2 [0] NCCL INFO Using network Socket";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct job_log *log = read_text(text, sizeof(text) - 1, piece);
		struct job_log_view v = job_log_view(log);

		assert_int_equal(v.process_count, 2);
		assert_int_equal(v.lines, 5);
		assert_int_equal(v.bytes, sizeof(text) - 1);
		assert_int_equal(v.nccl_lines, 4);
		assert_int_equal(v.processes[0].line, 2);
		assert_int_equal(v.processes[0].channels_net, 1);
		assert_int_equal(v.events[0].line, 4);
		assert_string_equal(v.processes[1].network, "Socket");
		assert_int_equal(v.processes[1].line, 6);
		job_log_free(log);
	}
}

/* A line of a megabyte: what is in its first 64 KiB counts, and lines behind it have their numbers. */
static void test_long_lines(void **state)
{
	static const size_t pieces[] = {1u << 22, 65536, 65535, 4096, 7777};
	const size_t length = 1u << 20;
	char *text = malloc(length + 300);
	size_t size;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', length);
	memcpy(text, "n1:1:2 [0] NCCL INFO Using network IB", 37);
	memcpy(text + 70000, " n3:1:2 [0] NCCL INFO Using network IB3 ", 40);
	size = length + (size_t)sprintf(text + length, "\nn4:1:2 [0] NCCL INFO Using network IB\n");
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct job_log *log = read_text(text, size, pieces[i]);
		struct job_log_view v = job_log_view(log);

		assert_int_equal(v.process_count, 2);
		assert_int_equal(v.torn, 0);
		assert_string_equal(v.processes[1].key, "n4:1");
		assert_int_equal(v.processes[1].line, 2);
		assert_int_equal(v.lines, 2);
		job_log_free(log);
	}
	free(text);
}

static void test_counts_by_kind(void **state)
{
	struct job_log *log = read_all("n1:1:2 [0] a.cc:7 NCCL WARN odd 1\nn1:1:2 [0] a.cc:7 NCCL WARN odd 2\nn1:1:2 [0] a.cc:8 NCCL WARN odd 3\n"
				       "n2:1:2 [0] a.cc:7 NCCL WARN odd 4\n");
	struct job_log_view v = job_log_view(log);

	(void)state;
	assert_int_equal(v.event_count, 3);
	assert_int_equal(v.events[0].count, 2);
	assert_string_equal(v.events[0].text, "odd 1");
	assert_int_equal(v.hosts[0].warn, 3);
	assert_int_equal(v.hosts[1].warn, 1);
	job_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),	  cmocka_unit_test(test_devices),    cmocka_unit_test(test_gdr),
		cmocka_unit_test(test_process),	  cmocka_unit_test(test_prefixes),   cmocka_unit_test(test_torn_lines),
		cmocka_unit_test(test_cr),	  cmocka_unit_test(test_pieces),     cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_counts_by_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
