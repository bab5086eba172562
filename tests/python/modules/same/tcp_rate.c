/* SPDX-License-Identifier: GPL-2.0-only */
/* Paces: 1/16 faster after each round trip without loss, 1/8 slower after one with. */
#include <linux/module.h>
#include <net/tcp.h>

struct rate { u32 rate; u32 round_end; u32 losses; };

static void rate_set(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate *ca = inet_csk_ca(sk);
	u64 window = (u64)ca->rate * tcp_min_rtt(tp) * 2;

	do_div(window, USEC_PER_SEC);
	tp->snd_cwnd = max((u32)window, 4U);
	sk->sk_pacing_rate = (u64)ca->rate * tp->mss_cache;
}

static void rate_init(struct sock *sk)
{
	struct rate *ca = inet_csk_ca(sk);

	ca->rate = 500;
	ca->round_end = tcp_sk(sk)->delivered;
	ca->losses = 0;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	rate_set(sk);
}

static void rate_main(struct sock *sk, const struct rate_sample *rs)
{
	struct rate *ca = inet_csk_ca(sk);

	ca->losses += rs->losses;
	if (rs->interval_us > 0 && !before(rs->prior_delivered, ca->round_end)) {
		ca->round_end = tcp_sk(sk)->delivered;
		if (ca->losses)
			ca->rate = max(ca->rate - ca->rate / 8, 50U);
		else
			ca->rate += ca->rate / 16;
		ca->losses = 0;
	}
	rate_set(sk);
}

static u32 rate_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, 2U);
}

static struct tcp_congestion_ops rate = {
	.init = rate_init,
	.ssthresh = rate_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_control = rate_main,
	.owner = THIS_MODULE,
	.name = "rate",
};

static int __init rate_register(void)
{
	return tcp_register_congestion_control(&rate);
}
module_init(rate_register);
