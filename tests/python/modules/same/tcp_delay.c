/* SPDX-License-Identifier: GPL-2.0-only */
/* A segment more or less each window, by whether the RTT is below 5/4 of the least one. */
#include <linux/module.h>
#include <net/tcp.h>

struct delay { u32 count; s32 rtt_us; };

static void delay_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct delay *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt_us = sample->rtt_us;
}

static void delay_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct delay *ca = inet_csk_ca(sk);

	ca->count += acked;
	if (ca->count < tp->snd_cwnd)
		return;
	ca->count = 0;
	if (4 * (u32)ca->rtt_us < 5 * tcp_min_rtt(tp))
		tp->snd_cwnd++;
	else
		tp->snd_cwnd = max(tp->snd_cwnd - 1, 2U);
}

static u32 delay_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

static struct tcp_congestion_ops delay = {
	.ssthresh = delay_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = delay_cong_avoid,
	.pkts_acked = delay_pkts_acked,
	.owner = THIS_MODULE,
	.name = "delay",
};

static int __init delay_register(void)
{
	return tcp_register_congestion_control(&delay);
}
module_init(delay_register);
