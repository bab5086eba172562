/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_KERNEL_H
#define TUNNELCC_LINUX_KERNEL_H

/**
 * \file
 * What a congestion control module of Linux (4.4 to 6.18) uses of the kernel, for the compiler of
 * the user: it is included before the module's own first line, and each header that the module
 * includes is an empty file. Written after the behaviour of `include/net/tcp.h`,
 * `net/ipv4/tcp_cong.c`, `lib/win_minmax.c` and the kernel's general headers.
 *
 * With TUNNELCC_COMPANION, the file belongs to a module that includes its header (tcp_vegas.c to
 * tcp_yeah.c): it registers nothing and has no parameters.
 */

#include "linux-abi.h"

/* Words ------------------------------------------------------------------------------------- */

#define NULL ((void*)0)
#define bool _Bool
#define true 1
#define false 0
typedef unsigned long size_t;
typedef long ssize_t;
typedef s64 ktime_t;
typedef unsigned int gfp_t;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u8 uint8_t;
typedef u16 uint16_t;
typedef u32 uint32_t;
typedef u64 uint64_t;
typedef s8 int8_t;
typedef s16 int16_t;
typedef s32 int32_t;
typedef s64 int64_t;

#define __init
#define __exit
#define __initdata
#define __read_mostly
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __used __attribute__((used))
#define __packed __attribute__((packed))
#define __aligned(x) __attribute__((aligned(x)))
#define ____cacheline_aligned
#define __must_check
#define __pure __attribute__((pure))
#define __attribute_const__ __attribute__((const))
#define __cold
#define __hot
#define __user
#define __rcu
#define __force
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __asm__ __volatile__("" ::: "memory")
#define offsetof(type, member) __builtin_offsetof(type, member)
#define container_of(pointer, type, member)                                                        \
    ((type*)((char*)(pointer) - __builtin_offsetof(type, member)))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define smp_store_release(pointer, value) (*(pointer) = (value))
#define smp_load_acquire(pointer) (*(pointer))
#define cmpxchg(pointer, old, new)                                                                 \
    ({                                                                                             \
        __typeof__(pointer) tcc_p = (pointer);                                                     \
        __typeof__(*tcc_p) tcc_was = *tcc_p;                                                       \
        if (tcc_was == (old))                                                                      \
        {                                                                                          \
            *tcc_p = (new);                                                                        \
        }                                                                                          \
        tcc_was;                                                                                   \
    })

#define static_assert _Static_assert
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON: " #condition)
#define BUILD_BUG_ON_MSG(condition, text) _Static_assert(!(condition), text)
#define BUG_ON(condition)                                                                          \
    do                                                                                             \
    {                                                                                              \
        if (condition)                                                                             \
        {                                                                                          \
            __builtin_trap();                                                                      \
        }                                                                                          \
    } while (0)
#define BUG() __builtin_trap()
#define WARN_ON(condition) (!!(condition))
#define WARN_ON_ONCE(condition) (!!(condition))
#define WARN(condition, ...) (!!(condition))
#define WARN_ONCE(condition, ...) (!!(condition))

/* Nobody reads the kernel's log here. */
#define printk(...)                                                                                \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_debug(...)                                                                              \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_info(...)                                                                               \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_notice(...)                                                                             \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_warn(...)                                                                               \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_warn_once(...)                                                                          \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_warn_ratelimited(...)                                                                   \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_err(...)                                                                                \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define pr_info_once(...)                                                                          \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define net_warn_ratelimited(...)                                                                  \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define net_dbg_ratelimited(...)                                                                   \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define net_info_ratelimited(...)                                                                  \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define KERN_DEBUG
#define KERN_INFO
#define KERN_WARNING
#define KERN_ERR
#define KERN_CRIT

#define EINVAL 22
#define ENOMEM 12
#define EBUSY 16
#define EPERM 1
#define ERANGE 34

/* Numbers ----------------------------------------------------------------------------------- */

#define BITS_PER_LONG 64
#define BITS_PER_LONG_LONG 64
#define BITS_PER_TYPE(type) (8 * sizeof(type))
#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define U64_MAX ((u64)~0ULL)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define S32_MIN ((s32)(-S32_MAX - 1))
#define S64_MAX ((s64)(U64_MAX >> 1))
#define S64_MIN ((s64)(-S64_MAX - 1))
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (~0U)
#define LONG_MAX ((long)(~0UL >> 1))
#define ULONG_MAX (~0UL)
#define U32_C(x) x##U
#define U64_C(x) x##ULL
#define S64_C(x) x##LL
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define TCC_OP2(a, b, op)                                                                          \
    ({                                                                                             \
        __typeof__(a) tcc_a = (a);                                                                 \
        __typeof__(b) tcc_b = (b);                                                                 \
        tcc_a op tcc_b ? tcc_a : tcc_b;                                                            \
    })
#define TCC_OP2_T(type, a, b, op)                                                                  \
    ({                                                                                             \
        type tcc_ta = (a);                                                                         \
        type tcc_tb = (b);                                                                         \
        tcc_ta op tcc_tb ? tcc_ta : tcc_tb;                                                        \
    })
#define min(a, b) TCC_OP2(a, b, <)
#define max(a, b) TCC_OP2(a, b, >)
#define min_t(type, a, b) TCC_OP2_T(type, a, b, <)
#define max_t(type, a, b) TCC_OP2_T(type, a, b, >)
#define umin(a, b) TCC_OP2_T(u64, a, b, <)
#define umax(a, b) TCC_OP2_T(u64, a, b, >)
#define min3(a, b, c) min((__typeof__(a))min(a, b), c)
#define max3(a, b, c) max((__typeof__(a))max(a, b), c)
#define min_not_zero(a, b)                                                                         \
    ({                                                                                             \
        __typeof__(a) tcc_za = (a);                                                                \
        __typeof__(b) tcc_zb = (b);                                                                \
        tcc_za == 0 ? tcc_zb : (tcc_zb == 0 ? tcc_za : (tcc_za < tcc_zb ? tcc_za : tcc_zb));       \
    })
#define clamp(value, low, high)                                                                    \
    ({                                                                                             \
        __typeof__(value) tcc_v = (value);                                                         \
        __typeof__(low) tcc_l = (low);                                                             \
        __typeof__(high) tcc_h = (high);                                                           \
        tcc_v > tcc_h ? tcc_h : (tcc_v < tcc_l ? tcc_l : tcc_v);                                   \
    })
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define swap(a, b)                                                                                 \
    do                                                                                             \
    {                                                                                              \
        __typeof__(a) tcc_s = (a);                                                                 \
        (a) = (b);                                                                                 \
        (b) = tcc_s;                                                                               \
    } while (0)
#define abs(x)                                                                                     \
    ({                                                                                             \
        __typeof__(x) tcc_x = (x);                                                                 \
        tcc_x < 0 ? -tcc_x : tcc_x;                                                                \
    })
#define abs64(x) abs((s64)(x))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d) DIV_ROUND_UP((u64)(n), d)
#define DIV_ROUND_CLOSEST(n, d)                                                                    \
    ({                                                                                             \
        __typeof__(n) tcc_n = (n);                                                                 \
        __typeof__(d) tcc_d = (d);                                                                 \
        ((__typeof__(n))-1) > 0 || (tcc_n > 0) == (tcc_d > 0) ? (tcc_n + tcc_d / 2) / tcc_d        \
                                                              : (tcc_n - tcc_d / 2) / tcc_d;       \
    })
#define roundup(x, y) ((((x) + ((y) - 1)) / (y)) * (y))
#define round_down(x, y) ((x) - (x) % (y))

/** Divides in place and returns the remainder. */
#define do_div(n, base)                                                                            \
    ({                                                                                             \
        u32 tcc_base = (base);                                                                     \
        u32 tcc_rest = (u64)(n) % tcc_base;                                                        \
        (n) = (u64)(n) / tcc_base;                                                                 \
        tcc_rest;                                                                                  \
    })
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define div_s64(a, b) ((s64)(a) / (s32)(b))
#define div64_s64(a, b) ((s64)(a) / (s64)(b))
#define div64_ul(a, b) ((u64)(a) / (unsigned long)(b))
#define div64_long(a, b) ((s64)(a) / (long)(b))
#define mul_u64_u32_shr(a, b, shift) ((u64)(((unsigned __int128)(a) * (u32)(b)) >> (shift)))
#define mul_u32_u32(a, b) ((u64)(u32)(a) * (u32)(b))

static inline int
fls(u32 x)
{
    return x ? 32 - __builtin_clz(x) : 0;
}

static inline int
fls64(u64 x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

#define ffs(x) __builtin_ffs(x)
#define __ffs(x) ((unsigned long)__builtin_ctzl(x))
#define __fls(x) ((unsigned long)(63 - __builtin_clzl(x)))
#define ilog2(x) (fls64(x) - 1)
#define is_power_of_2(x) ((x) != 0 && (((x) & ((x) - 1)) == 0))
#define roundup_pow_of_two(x) (1UL << fls64((x) - 1))
#define hweight32(x) __builtin_popcount(x)

/** Whole part of the square root. */
static inline unsigned long
int_sqrt(unsigned long x)
{
    unsigned long root = 0;
    for (int bit = 31; bit >= 0; --bit)
    {
        const unsigned long larger = root | (1UL << bit);
        if (larger * larger <= x)
        {
            root = larger;
        }
    }
    return root;
}

#define int_sqrt64(x) ((u32)int_sqrt(x))

#define memset(to, value, bytes) __builtin_memset(to, value, bytes)
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define memmove(to, from, bytes) __builtin_memmove(to, from, bytes)
#define memcmp(a, b, bytes) __builtin_memcmp(a, b, bytes)
#define strcmp(a, b) __builtin_strcmp(a, b)
#define strlen(a) __builtin_strlen(a)

/* Memory, which only init() and release() ask for. */
#define GFP_KERNEL 0U
#define GFP_NOWAIT 0U
#define GFP_ATOMIC 0U
#define __GFP_NOWARN 0U
#define __GFP_ZERO 0U
#define kmalloc(bytes, flags) ((void)(flags), __builtin_malloc(bytes))
#define kzalloc(bytes, flags) ((void)(flags), __builtin_calloc(1, bytes))
#define kcalloc(count, bytes, flags) ((void)(flags), __builtin_calloc(count, bytes))
#define kmalloc_array(count, bytes, flags) kcalloc(count, bytes, flags)
#define kzalloc_objs(object, count, ...) __builtin_calloc(count, sizeof(object)) /* 7.2 */
#define kfree(pointer) __builtin_free((void*)(pointer))

/* The module and what it registers ---------------------------------------------------------- */

struct module;
#define THIS_MODULE ((struct module*)0)
#define MODULE_LICENSE(text)
#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_INFO(tag, text)
#define MODULE_SOFTDEP(text)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define IS_ENABLED(option) 0
#define IS_MODULE(option) 0

#define TCC_EXPORT __attribute__((visibility("default"), used))
#define TCC_JOIN_(a, b) a##b
#define TCC_JOIN(a, b) TCC_JOIN_(a, b)
#define TCC_IN(name) __attribute__((section(name), used, aligned(8)))

extern struct tunnelcc_host tunnelcc_host __attribute__((visibility("hidden")));
extern struct tcp_congestion_ops* tunnelcc_registered[2] __attribute__((visibility("hidden")));
extern u32 tunnelcc_registrations __attribute__((visibility("hidden")));

static inline int
tcp_register_congestion_control(struct tcp_congestion_ops* ops)
{
    if (tunnelcc_registrations < 2)
    {
        tunnelcc_registered[tunnelcc_registrations] = ops;
    }
    ++tunnelcc_registrations;
    return 0;
}

#define tcp_unregister_congestion_control(ops) ((void)(ops))

#define kernel_param tunnelcc_parameter

struct kernel_param_ops
{
    unsigned int flags;
    int (*set)(const char* text, const struct kernel_param* parameter);
    int (*get)(char* text, const struct kernel_param* parameter);
};

static inline u32
tunnelcc_number(const char* text)
{
    u32 number = 0;
    while (*text >= '0' && *text <= '9')
    {
        number = 10 * number + (u32)(*text++ - '0');
    }
    return number;
}

static inline int
param_set_uint_minmax(const char* text, const struct kernel_param* parameter, u32 low, u32 high)
{
    const u32 number = tunnelcc_number(text);
    if (number < low || number > high)
    {
        return -EINVAL;
    }
    *(u32*)parameter->variable = number;
    return 0;
}

#define param_set_uint(text, parameter) param_set_uint_minmax(text, parameter, 0, U32_MAX)

static inline int
param_get_uint(char* text __attribute__((unused)),
               const struct kernel_param* parameter __attribute__((unused)))
{
    return 0;
}

#define TCC_TYPE(variable)                                                                         \
    (__builtin_types_compatible_p(__typeof__(variable), _Bool)                                     \
         ? TUNNELCC_BOOL                                                                           \
         : (((__typeof__(variable))-1) < 0 ? TUNNELCC_SIGNED : TUNNELCC_UNSIGNED))

#ifdef TUNNELCC_COMPANION

#define module_init(function)                                                                      \
    int (*TCC_JOIN(tunnelcc_unused_, function))(void)                                              \
        __attribute__((used, visibility("hidden"))) = function;
#define module_exit(function)                                                                      \
    void (*TCC_JOIN(tunnelcc_unused_, function))(void)                                             \
        __attribute__((used, visibility("hidden"))) = function;
#define module_param_named(name, variable, type, mode)
#define module_param(name, type, mode)
#define module_param_cb(name, ops, argument, mode)
#define MODULE_PARM_DESC(name, text)

#else

struct tunnelcc_host tunnelcc_host;
struct tcp_congestion_ops* tunnelcc_registered[2];
u32 tunnelcc_registrations;

extern const struct tunnelcc_parameter __start_tunnelcc_parameters[]
    __attribute__((weak, visibility("hidden")));
extern const struct tunnelcc_parameter __stop_tunnelcc_parameters[]
    __attribute__((weak, visibility("hidden")));
extern const struct tunnelcc_description __start_tunnelcc_descriptions[]
    __attribute__((weak, visibility("hidden")));
extern const struct tunnelcc_description __stop_tunnelcc_descriptions[]
    __attribute__((weak, visibility("hidden")));

#define module_init(function)                                                                      \
    TCC_EXPORT const struct tunnelcc_linux_module tunnelcc_linux_module = {                        \
        LINUX_INTERFACE,                                                                           \
        TUNNELCC_HAS_ACK,                                                                          \
        TUNNELCC_HAS_COUNT,                                                                        \
        function,                                                                                  \
        &tunnelcc_host,                                                                            \
        tunnelcc_registered,                                                                       \
        &tunnelcc_registrations,                                                                   \
        __start_tunnelcc_parameters,                                                               \
        __stop_tunnelcc_parameters,                                                                \
        __start_tunnelcc_descriptions,                                                             \
        __stop_tunnelcc_descriptions,                                                              \
        ICSK_CA_PRIV_SIZE,                                                                         \
    };
#define module_exit(function)                                                                      \
    void (*TCC_JOIN(tunnelcc_unused_, function))(void)                                             \
        __attribute__((used, visibility("hidden"))) = function;
#define module_param_named(name, variable, type, mode)                                             \
    static const struct tunnelcc_parameter TCC_JOIN(tunnelcc_parameter_, name)                     \
        TCC_IN("tunnelcc_parameters") = {#name,                                                    \
                                         (void*)&variable,                                         \
                                         0,                                                        \
                                         TCC_TYPE(variable),                                       \
                                         sizeof(variable)}
#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_param_cb(name, ops, argument, mode)                                                 \
    static int TCC_JOIN(tunnelcc_set_, name)(const char* text,                                     \
                                             const struct tunnelcc_parameter* parameter)           \
    {                                                                                              \
        return (ops)->set(text, parameter);                                                        \
    }                                                                                              \
    static const struct tunnelcc_parameter TCC_JOIN(tunnelcc_parameter_, name)                     \
        TCC_IN("tunnelcc_parameters") = {#name,                                                    \
                                         (void*)(argument),                                        \
                                         TCC_JOIN(tunnelcc_set_, name),                            \
                                         TCC_TYPE(*(argument)),                                    \
                                         sizeof(*(argument))}
#define MODULE_PARM_DESC(name, text)                                                               \
    static const struct tunnelcc_description TCC_JOIN(tunnelcc_description_, name)                 \
        TCC_IN("tunnelcc_descriptions") = {#name, text}

#endif

#define subsys_initcall(function) module_init(function)
#define late_initcall(function) module_init(function)
#define core_param(name, variable, type, mode)

/* BPF may call functions of modules. */
struct btf_id_set8
{
    u32 count;
};

struct btf_kfunc_id_set
{
    struct module* owner;
    struct btf_id_set8* set;
};

#define __bpf_kfunc __attribute__((used))
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()
#define BTF_SET8_START(name) static struct btf_id_set8 name __attribute__((unused)) = {0};
#define BTF_SET8_END(name)
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name)
#define BTF_SET_START(name) BTF_SET8_START(name)
#define BTF_SET_END(name)
#define BTF_ID(...)
#define BTF_ID_FLAGS(...)
#define register_btf_kfunc_id_set(kind, set) ((void)(set), 0)
#define tcp_call_bpf(...) (-1)

/* Time -------------------------------------------------------------------------------------- */

#define HZ LINUX_HZ
#define MSEC_PER_SEC 1000L
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define TCP_TS_HZ 1000

#define jiffies ((unsigned long)tunnelcc_host.ticks)
#define tcp_jiffies32 ((u32)tunnelcc_host.ticks)
#define get_jiffies_64() (tunnelcc_host.ticks)
#define ktime_get_ns() (tunnelcc_host.nanoseconds)
#define ktime_get() ((ktime_t)tunnelcc_host.nanoseconds)
#define ktime_get_real() ktime_get()
#define ktime_get_real_ns() ktime_get_ns()
#define ktime_get_boottime_ns() ktime_get_ns()
#define local_clock() (tunnelcc_host.nanoseconds)
#define sched_clock() (tunnelcc_host.nanoseconds)
#define tcp_clock_ns() (tunnelcc_host.nanoseconds)
#define tcp_clock_us() (tunnelcc_host.nanoseconds / NSEC_PER_USEC)
#define tcp_clock_ms() (tunnelcc_host.nanoseconds / NSEC_PER_MSEC)
#define ktime_to_ns(time) (time)
#define ktime_to_us(time) ((s64)(time) / NSEC_PER_USEC)
#define ktime_to_ms(time) ((s64)(time) / NSEC_PER_MSEC)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_add(a, b) ((a) + (b))
#define ktime_us_delta(a, b) ktime_to_us((a) - (b))
#define ktime_equal(a, b) ((a) == (b))
#define ns_to_ktime(ns) ((ktime_t)(ns))
#define net_timedelta(then) (ktime_get() - (then))

#define msecs_to_jiffies(ms) ((unsigned long)DIV_ROUND_UP((u64)(ms), MSEC_PER_SEC / HZ))
#define usecs_to_jiffies(us) ((unsigned long)DIV_ROUND_UP((u64)(us), USEC_PER_SEC / HZ))
#define nsecs_to_jiffies(ns) ((unsigned long)((u64)(ns) / (NSEC_PER_SEC / HZ)))
#define jiffies_to_msecs(j) ((unsigned int)((j) * (MSEC_PER_SEC / HZ)))
#define jiffies_to_usecs(j) ((unsigned int)((j) * (USEC_PER_SEC / HZ)))
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)

/* Random numbers, of the connection's own (SplitMix64) ---------------------------------------- */

static inline u64
get_random_u64(void)
{
    u64 z = *tunnelcc_host.random += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

#define get_random_u32() ((u32)(get_random_u64() >> 32))
#define get_random_int() get_random_u32()
#define get_random_long() ((unsigned long)get_random_u64())
#define prandom_u32() get_random_u32()
#define get_random_u32_below(bound) ((u32)(((get_random_u64() >> 32) * (u32)(bound)) >> 32))
#define get_random_u32_inclusive(low, high) ((low) + get_random_u32_below((high) - (low) + 1))
#define prandom_u32_max(bound) get_random_u32_below(bound)

static inline void
get_random_bytes(void* to, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
    {
        ((u8*)to)[i] = (u8)(get_random_u64() >> 56);
    }
}

#define prandom_bytes(to, bytes) get_random_bytes(to, bytes)

/* Windowed maximum and minimum (Kathleen Nichols' algorithm, lib/win_minmax.c) ---------------- */

static inline u32
minmax_get(const struct minmax* m)
{
    return m->s[0].v;
}

static inline u32
minmax_reset(struct minmax* m, u32 time, u32 value)
{
    m->s[0] = m->s[1] = m->s[2] = (struct minmax_sample){time, value};
    return value;
}

static inline u32
tunnelcc_minmax_age(struct minmax* m, u32 window, struct minmax_sample sample)
{
    const u32 age = sample.t - m->s[0].t;
    if (age > window)
    {
        for (int i = 0; i < 2 && (i == 0 || sample.t - m->s[0].t > window); ++i)
        {
            m->s[0] = m->s[1];
            m->s[1] = m->s[2];
            m->s[2] = sample;
        }
    }
    else if (m->s[1].t == m->s[0].t && age > window / 4)
    {
        m->s[1] = m->s[2] = sample;
    }
    else if (m->s[2].t == m->s[1].t && age > window / 2)
    {
        m->s[2] = sample;
    }
    return m->s[0].v;
}

static inline u32
minmax_running_max(struct minmax* m, u32 window, u32 time, u32 value)
{
    const struct minmax_sample sample = {time, value};
    if (value >= m->s[0].v || time - m->s[2].t > window)
    {
        return minmax_reset(m, time, value);
    }
    if (value >= m->s[1].v)
    {
        m->s[1] = m->s[2] = sample;
    }
    else if (value >= m->s[2].v)
    {
        m->s[2] = sample;
    }
    return tunnelcc_minmax_age(m, window, sample);
}

static inline u32
minmax_running_min(struct minmax* m, u32 window, u32 time, u32 value)
{
    const struct minmax_sample sample = {time, value};
    if (value <= m->s[0].v || time - m->s[2].t > window)
    {
        return minmax_reset(m, time, value);
    }
    if (value <= m->s[1].v)
    {
        m->s[1] = m->s[2] = sample;
    }
    else if (value <= m->s[2].v)
    {
        m->s[2] = sample;
    }
    return tunnelcc_minmax_age(m, window, sample);
}

/* TCP --------------------------------------------------------------------------------------- */

#define ICSK_CA_PRIV_SIZE TUNNELCC_STATE_BYTES
#ifndef TUNNELCC_STATE_BYTES
#define TUNNELCC_STATE_BYTES LINUX_STATE_BYTES
#endif

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_RTO_MAX ((unsigned int)(120 * HZ))
#define TCP_RTO_MIN ((unsigned int)(HZ / 5))
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define TCP_ECN_OK LINUX_TCP_ECN_OK
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8
#define TCP_ECN_LOW 16
#define TCP_ECN_ECT_PERMANENT 32
#define tcp_ecn_mode_any(tcp) ((tcp)->ecn_flags & TCP_ECN_OK)
#define SK_PACING_NONE LINUX_SK_PACING_NONE
#define SK_PACING_NEEDED 1
#define SK_PACING_FQ 2
#define GSO_MAX_SIZE 65536
#define GSO_LEGACY_MAX_SIZE 65536U
#define GSO_MAX_SEGS 65535
#define MAX_TCP_HEADER 320 /* x86-64 with tunnels and mesh networks, as distributions build it */
#define TCP_MSS_DEFAULT 536U

#define tcp_sk(socket) ((struct tcp_sock*)(socket))
#define inet_csk(socket) ((struct inet_connection_sock*)(socket))
#define inet_csk_ca(socket) ((void*)inet_csk(socket)->icsk_ca_priv)

struct net
{
    struct
    {
        u8 sysctl_tcp_min_tso_segs;
        u8 sysctl_tcp_plb_enabled;
    } ipv4;
};

static const struct net tunnelcc_net __attribute__((unused)) = {.ipv4 = {2, 0}};
#define sock_net(socket) ((void)(socket), &tunnelcc_net)
#define TCP_SKB_CB(skb) (&((struct sk_buff*)(skb))->cb)
#define tcp_skb_pcount(skb) (TCP_SKB_CB(skb)->tcp_gso_segs)
#define tcp_skb_tx_in_flight_is_suspicious(count, sacked, in_flight) 0
#define ntohs(x) __builtin_bswap16(x)
#define ntohl(x) __builtin_bswap32(x)
#define htons(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)
#define NET_INC_STATS(...)                                                                         \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define NET_ADD_STATS(...)                                                                         \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define __NET_INC_STATS(...)                                                                       \
    do                                                                                             \
    {                                                                                              \
    } while (0)
#define NET_INC_STATS_BH(...) NET_INC_STATS()
#define NET_ADD_STATS_BH(...) NET_ADD_STATS()
#define INET_ECN_xmit(socket) ((void)(socket))
#define INET_ECN_dontxmit(socket) ((void)(socket))

#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)
#define after(a, b) before(b, a)
#define between(x, low, high) ((u32)(high) - (u32)(low) >= (u32)(x) - (u32)(low))

#define tcp_left_out(tp) ((tp)->sacked_out + (tp)->lost_out)
#define tcp_packets_in_flight(tp) ((tp)->packets_out - tcp_left_out(tp) + (tp)->retrans_out)
#define tcp_min_rtt(tp) minmax_get(&(tp)->rtt_min)
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_snd_cwnd_set(tp, value) ((void)((tp)->snd_cwnd = (value)))
#define tcp_in_initial_slowstart(tp) ((tp)->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
#define tcp_in_slow_start(tp) ((tp)->snd_cwnd < (tp)->snd_ssthresh)
#define tcp_in_cwnd_reduction(socket)                                                              \
    (((TCPF_CA_CWR | TCPF_CA_Recovery) & (1 << inet_csk(socket)->icsk_ca_state)) != 0)
#define tcp_ca_needs_ecn(socket) (inet_csk(socket)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN)
#define tcp_stamp_us_delta(later, earlier) max_t(s64, (later) - (earlier), 0)
#define tcp_stamp32_us_delta(later, earlier) max_t(s32, (later) - (earlier), 0)
#define tcp_time_stamp_ms(tp) ((u32)((tp)->tcp_mstamp / (USEC_PER_SEC / TCP_TS_HZ)))
#define tcp_time_stamp_ts(tp) tcp_time_stamp_ms(tp)
#ifdef TUNNELCC_TIME_STAMP_IS_JIFFIES /* before 4.13 */
#define tcp_time_stamp tcp_jiffies32
#else
#define tcp_time_stamp(tp) tcp_time_stamp_ms(tp)
#endif

/** The window, not the application, limits the sender. */
static inline bool
tcp_is_cwnd_limited(const struct sock* sk)
{
    const struct tcp_sock* tp = tcp_sk(sk);
    return tp->is_cwnd_limited || (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}

static inline u32
tcp_current_ssthresh(const struct sock* sk)
{
    const struct tcp_sock* tp = tcp_sk(sk);
    if (tcp_in_cwnd_reduction(sk))
    {
        return tp->snd_ssthresh;
    }
    return max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

/** Grow by what was acknowledged, up to the threshold. Returns what is left of it. */
static inline u32
tcp_slow_start(struct tcp_sock* tp, u32 acked)
{
    const u32 grown = min(tp->snd_cwnd + acked, tp->snd_ssthresh);
    acked -= grown - tp->snd_cwnd;
    tp->snd_cwnd = min(grown, tp->snd_cwnd_clamp);
    return acked;
}

/** Grow by a segment for `w` acknowledged ones. */
static inline void
tcp_cong_avoid_ai(struct tcp_sock* tp, u32 w, u32 acked)
{
    if (tp->snd_cwnd_cnt >= w)
    {
        tp->snd_cwnd_cnt = 0;
        ++tp->snd_cwnd;
    }
    tp->snd_cwnd_cnt += acked;
    if (tp->snd_cwnd_cnt >= w)
    {
        const u32 steps = tp->snd_cwnd_cnt / w;
        tp->snd_cwnd_cnt -= steps * w;
        tp->snd_cwnd += steps;
    }
    tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

__attribute__((unused)) static void
tcp_reno_cong_avoid(struct sock* sk, u32 ack, u32 acked)
{
    struct tcp_sock* tp = tcp_sk(sk);
    (void)ack;
    if (!tcp_is_cwnd_limited(sk))
    {
        return;
    }
    if (tcp_in_slow_start(tp))
    {
        acked = tcp_slow_start(tp, acked);
    }
    if (acked > 0)
    {
        tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
    }
}

__attribute__((unused)) static u32
tcp_reno_ssthresh(struct sock* sk)
{
    return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

__attribute__((unused)) static u32
tcp_reno_undo_cwnd(struct sock* sk)
{
    return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/** Reduce the window as after an echo of a mark; happens when the function has returned. */
#define tcp_enter_cwr(socket) ((void)(socket), (void)(tunnelcc_host.wants_cwr = 1))

/* A receiver's ACKs are the transport's business, and there is one path. */
#define __tcp_send_ack(socket, ...) ((void)(socket))
#define tcp_send_ack(socket) ((void)(socket))

enum inet_csk_ack_state_t
{
    ICSK_ACK_SCHED = 1,
    ICSK_ACK_TIMER = 2,
    ICSK_ACK_PUSHED = 4,
    ICSK_ACK_PUSHED2 = 8,
    ICSK_ACK_NOW = 16
};

#define TCP_PLB_SCALE 8

struct tcp_plb_state
{
    u8 consec_cong_rounds : 5, unused : 3;
    u32 pause_until;
};

#define tcp_plb_init(socket, plb) ((void)(socket), (void)((plb)->consec_cong_rounds = 0))
#define tcp_plb_update_state(socket, plb, ratio) ((void)(socket), (void)(plb), (void)(ratio))
#define tcp_plb_check_rehash(socket, plb) ((void)(socket), (void)(plb))
#define tcp_plb_update_state_upon_rto(socket, plb) ((void)(socket), (void)(plb))

/* What `ss -i` would show; nobody asks. */
#define INET_DIAG_VEGASINFO 3
#define INET_DIAG_DCTCPINFO 9
#define INET_DIAG_BBRINFO 16

struct tcpvegas_info
{
    u32 tcpv_enabled;
    u32 tcpv_rttcnt;
    u32 tcpv_rtt;
    u32 tcpv_minrtt;
};

struct tcp_dctcp_info
{
    u16 dctcp_enabled;
    u16 dctcp_ce_state;
    u32 dctcp_alpha;
    u32 dctcp_ab_ecn;
    u32 dctcp_ab_tot;
};

enum tcp_bbr_phase
{
    BBR_PHASE_INVALID,
    BBR_PHASE_STARTUP,
    BBR_PHASE_DRAIN,
    BBR_PHASE_PROBE_RTT,
    BBR_PHASE_PROBE_BW_UP,
    BBR_PHASE_PROBE_BW_DOWN,
    BBR_PHASE_PROBE_BW_CRUISE,
    BBR_PHASE_PROBE_BW_REFILL
};

struct tcp_bbr_info
{
    u32 bbr_bw_lo;
    u32 bbr_bw_hi;
    u32 bbr_min_rtt;
    u32 bbr_pacing_gain;
    u32 bbr_cwnd_gain;
    u32 bbr_bw_hi_lsb;
    u32 bbr_bw_hi_msb;
    u32 bbr_bw_lo_lsb;
    u32 bbr_bw_lo_msb;
    u8 bbr_mode;
    u8 bbr_phase;
    u8 unused1;
    u8 bbr_version;
    u32 bbr_inflight_lo;
    u32 bbr_inflight_hi;
    u32 bbr_extra_acked;
};

union tcp_cc_info {
    struct tcpvegas_info vegas;
    struct tcp_dctcp_info dctcp;
    struct tcp_bbr_info bbr;
};

#endif /* TUNNELCC_LINUX_KERNEL_H */
