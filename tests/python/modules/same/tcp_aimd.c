/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds `step` segments a round trip, and keeps kept/1024 of its window after a loss. */
#include <linux/module.h>
#include <net/tcp.h>

static int step = 2;
static int kept = 768;
module_param(step, int, 0644);
module_param(kept, int, 0644);

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, max(tp->snd_cwnd / step, 1U), acked);
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * kept / 1024, 2U);
}

static struct tcp_congestion_ops aimd = {
	.ssthresh = aimd_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = aimd_cong_avoid,
	.owner = THIS_MODULE,
	.name = "aimd",
};

static int __init aimd_register(void)
{
	return tcp_register_congestion_control(&aimd);
}
module_init(aimd_register);
