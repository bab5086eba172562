/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_ABI_H
#define TUNNELCC_LINUX_ABI_H

/**
 * \file
 * What a congestion control module of Linux and LinuxModule share, in C and in C++: the connection
 * that the module sees and the functions that it offers. Names and meanings are Linux's
 * (`include/linux/tcp.h`, `include/net/tcp.h`); the layout is our own, and only members that
 * LinuxModule keeps up to date exist. A module that uses another one does not compile, and the
 * compiler names the member and the line.
 *
 * Change LINUX_INTERFACE with the layout or the meaning of a member: it is part of the identity of
 * compiled modules and of runs that use them.
 */

#ifdef __cplusplus
extern "C"
{
    namespace tunnelcc::kernel
    {
#endif

#define LINUX_INTERFACE 3

    typedef signed char s8;
    typedef unsigned char u8;
    typedef short s16;
    typedef unsigned short u16;
    typedef int s32;
    typedef unsigned int u32;
    typedef long long s64;
    typedef unsigned long long u64;

    struct sock;
    struct rate_sample;
    struct ack_sample;
    union tcp_cc_info;

    /** What the module is told beside the connection: clocks, and a state of random numbers. */
    struct tunnelcc_host
    {
        u64 ticks;       /**< jiffies, LINUX_HZ a second */
        u64 nanoseconds; /**< the kernel's monotonic clock */
        u64* random;     /**< state of the connection whose function runs */
        u32 wants_cwr;   /**< set by tcp_enter_cwr() */
    };

    struct minmax_sample
    {
        u32 t;
        u32 v;
    };

    struct minmax
    {
        struct minmax_sample s[3];
    };

    struct sock
    {
        struct
        {
            u16 skc_dport; /**< 0 */
        } __sk_common;

        unsigned long sk_pacing_rate; /**< payload bytes/s */
        unsigned long sk_max_pacing_rate;
        u32 sk_pacing_status;
        u32 sk_gso_max_size;
        u8 sk_pacing_shift;
        u8 sk_state;
    };

    struct inet_connection_sock
    {
        struct sock sk;
        const struct tcp_congestion_ops* icsk_ca_ops;
        u64* icsk_ca_priv; /**< ends at a page that nobody may touch */
        u8 icsk_ca_state;

        struct
        {
            u8 pending;
        } icsk_ack; /**< of the receiver, which does not look at it */
    };

    struct tcp_options_received
    {
        u32 rcv_tsval;
        u32 rcv_tsecr;
        u8 saw_tstamp;
        u8 tstamp_ok;
    };

    struct tcp_sock
    {
        struct inet_connection_sock inet_conn;
        u32 snd_cwnd;
        u32 snd_ssthresh;
        u32 snd_cwnd_cnt;
        u32 snd_cwnd_clamp;
        u32 prior_cwnd;
        u32 mss_cache;
        u32 snd_una; /**< bytes */
        u32 snd_nxt; /**< bytes */
        u32 packets_out;
        u32 sacked_out;
        u32 lost_out;
        u32 retrans_out;
        u32 max_packets_out;
        u32 delivered;
        u32 delivered_ce;
        u32 lost;
        u32 app_limited;
        u32 srtt_us; /**< eighths of a microsecond */
        u32 lsndtime;
        u32 rcv_nxt;
        u64 tcp_mstamp; /**< microseconds */
        u64 delivered_mstamp;
        u64 tcp_wstamp_ns;
        u64 tcp_clock_cache;
        struct minmax rtt_min;
        struct tcp_options_received rx_opt;
        u8 ecn_flags;
        u8 is_cwnd_limited;
        /* v3 branch of Google's BBR. */
        u8 fast_ack_mode;
        u8 is_sack_reneg;             /**< 0 */
        u8 tlp_orig_data_app_limited; /**< 0 */
    };

    /** Of a packet: what the v3 branch of Google's BBR reads of one that was marked lost. */
    struct tcp_skb_cb
    {
        u32 seq;
        u32 end_seq;
        u32 tcp_gso_segs;
        u8 sacked;

        struct
        {
            u64 delivered_mstamp; /**< not 0 */
            u32 in_flight;
            u32 lost;
            u8 is_app_limited;
        } tx;
    };

    struct sk_buff
    {
        struct tcp_skb_cb cb;
    };

    struct rate_sample
    {
        u64 prior_mstamp;
        u32 prior_delivered;
        u32 prior_delivered_ce;
        u32 prior_lost;
        u32 tx_in_flight;
        s32 delivered;
        s32 delivered_ce;
        s32 lost;
        long interval_us;
        u32 snd_interval_us;
        u32 rcv_interval_us;
        long rtt_us;
        int losses;
        u32 acked_sacked;
        u32 prior_in_flight;
        u8 is_app_limited;
        u8 is_retrans;
        u8 is_ack_delayed;
        u8 is_acking_tlp_retrans_seq;
        u8 is_ece;
    };

    struct ack_sample
    {
        u32 pkts_acked;
        s32 rtt_us;
        u32 in_flight;
    };

    enum tcp_ca_state
    {
        TCP_CA_Open = 0,
        TCP_CA_Disorder = 1,
        TCP_CA_CWR = 2,
        TCP_CA_Recovery = 3,
        TCP_CA_Loss = 4
    };

    enum tcp_ca_event
    {
        CA_EVENT_TX_START,
        CA_EVENT_CWND_RESTART,
        CA_EVENT_COMPLETE_CWR,
        CA_EVENT_LOSS,
        CA_EVENT_ECN_NO_CE,
        CA_EVENT_ECN_IS_CE,
        CA_EVENT_TLP_RECOVERY
    };

    enum tcp_ca_ack_event_flags
    {
        CA_ACK_SLOWPATH = 1,
        CA_ACK_WIN_UPDATE = 2,
        CA_ACK_ECE = 4
    };

#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_CONG_WANTS_CE_EVENTS 4

#define TCP_CA_NAME_MAX 16

    /* Of `cong_control` there are two: since 6.10 it is given the number that the ACK acknowledges
     * and flags, too. Whoever compiles a module says which of them it defines. */
#ifdef TUNNELCC_CONG_CONTROL_HAS_ACK
#define TUNNELCC_CONG_CONTROL_ARGUMENTS                                                            \
    struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#define TUNNELCC_HAS_ACK 1
#else
#define TUNNELCC_CONG_CONTROL_ARGUMENTS struct sock *sk, const struct rate_sample *rs
#define TUNNELCC_HAS_ACK 0
#endif

    /* Of `pkts_acked`, too: before 4.7, it was given the numbers themselves. */
#ifdef TUNNELCC_PKTS_ACKED_HAS_COUNT
#define TUNNELCC_PKTS_ACKED_ARGUMENTS struct sock *sk, u32 acked, s32 rtt_us
#define TUNNELCC_HAS_COUNT 1
#else
#define TUNNELCC_PKTS_ACKED_ARGUMENTS struct sock *sk, const struct ack_sample *sample
#define TUNNELCC_HAS_COUNT 0
#endif

    struct tcp_congestion_ops
    {
        u32 (*ssthresh)(struct sock* sk);
        void (*cong_avoid)(struct sock* sk, u32 ack, u32 acked);
        void (*set_state)(struct sock* sk, u8 new_state);
        void (*cwnd_event)(struct sock* sk, enum tcp_ca_event ev);
        void (*cwnd_event_tx_start)(struct sock* sk); /**< 7.2; CA_EVENT_TX_START before */
        void (*in_ack_event)(struct sock* sk, u32 flags);
        u32 (*min_tso_segs)(struct sock* sk);
#ifdef __cplusplus
        void (*pkts_acked)(); /**< tunnelcc_linux_module tells which */
        void (*cong_control)();
#else
    void (*pkts_acked)(TUNNELCC_PKTS_ACKED_ARGUMENTS);
    void (*cong_control)(TUNNELCC_CONG_CONTROL_ARGUMENTS);
#endif
        u32 (*undo_cwnd)(struct sock* sk);
        u32 (*sndbuf_expand)(struct sock* sk);
        unsigned long (*get_info)(struct sock* sk, u32 ext, int* attr, union tcp_cc_info* info);
        u32 (*tso_segs)(struct sock* sk, u32 mss_now);
        void (*skb_marked_lost)(struct sock* sk, const struct sk_buff* skb);
        void (*init)(struct sock* sk);
        void (*release)(struct sock* sk);
        void* owner;
        u32 key;
        u32 flags;
        char name[TCP_CA_NAME_MAX];
    };

    /** Types of parameters. */
    enum tunnelcc_type
    {
        TUNNELCC_BOOL,
        TUNNELCC_SIGNED,
        TUNNELCC_UNSIGNED
    };

    /** A module parameter: a variable, and what sets it (none: it is written). */
    struct tunnelcc_parameter
    {
        const char* name;
        void* variable;
        int (*set)(const char* text, const struct tunnelcc_parameter* parameter);
        u32 type;  /**< tunnelcc_type */
        u32 bytes; /**< of the variable */
    };

    struct tunnelcc_description
    {
        const char* name;
        const char* text;
    };

    /** What a compiled module exports as `tunnelcc_linux_module`. */
    struct tunnelcc_linux_module
    {
        u32 interface;
        u32 cong_control_has_ack;
        u32 pkts_acked_has_count;
        int (*init)(void);
        struct tunnelcc_host* host;
        /* What was registered, in order; the count goes on beyond those kept. */
        struct tcp_congestion_ops** registered;
        const u32* registrations;
        const struct tunnelcc_parameter* parameters;
        const struct tunnelcc_parameter* parameters_end;
        const struct tunnelcc_description* descriptions;
        const struct tunnelcc_description* descriptions_end;
        u32 state_bytes; /**< of icsk_ca_priv */
    };

#define LINUX_HZ 250
#define LINUX_STATE_BYTES 104 /* ICSK_CA_PRIV_SIZE: 13 u64 */
#define LINUX_SK_PACING_NONE 0
#define LINUX_TCP_ECN_OK 1

#ifdef __cplusplus
    } // namespace tunnelcc::kernel
}
#endif

#endif /* TUNNELCC_LINUX_ABI_H */
