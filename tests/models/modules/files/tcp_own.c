// SPDX-License-Identifier: GPL-2.0-only
// A module as for Linux, compiled as the Python package does: loader-test.cc runs it.

static int step = 1;
static int fails;
module_param(step, int, 0644);
MODULE_PARM_DESC(step, "segments more each ACK");
module_param(fails, int, 0644);

struct own { u32 acks; };

static void own_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct own *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	switch (fails) {
	case 1:
		tp->snd_cwnd = 0;
		return;
	case 2: /* behind its private state */
		((u32 *)ca)[26] = 1;
		break;
	case 3:
		((void (*)(void))0)();
		break;
	case 4:
		BUG();
	}
	ca->acks += acked;
	tp->snd_cwnd += step * ca->acks;
}

static struct tcp_congestion_ops own = {
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = own_cong_avoid,
	.owner = THIS_MODULE,
	.name = "own",
};

static int __init own_register(void)
{
	return fails == 9 ? -EINVAL : tcp_register_congestion_control(&own);
}

module_init(own_register);
MODULE_LICENSE("GPL");
