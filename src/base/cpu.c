/* cpu.c: which instruction sets this build and this machine have.
 *
 * An instruction set is usable if three parties agree: the build compiled its
 * kernels (AT_HAVE_*), the CPU reports the instructions (CPUID), and the
 * operating system saves the wide registers when it switches threads (XGETBV).
 * This file is compiled without the flags of any of them, so that asking is
 * safe everywhere.
 */
#define _GNU_SOURCE /* sched_getaffinity */

#include "base/cpu.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

const char *at_isa_name(at_isa isa) {
    switch (isa) {
    case AT_ISA_SCALAR: return "scalar";
    case AT_ISA_NEON: return "neon";
    case AT_ISA_AVX2: return "avx2";
    case AT_ISA_AVX512: return "avx512";
    case AT_ISA_AVX512X2: return "avx512x2";
    case AT_ISA_COUNT: break;
    }
    return "unknown";
}

/* The name of a Xeon of the first two generations tells those with one unit from those with two. */
static bool is_small_xeon(const char *brand) {
    if (strstr(brand, "Bronze") || strstr(brand, "Silver")) return true;
    const char *gold = strstr(brand, "Gold 5");
    return gold && strncmp(gold, "Gold 5122", 9) != 0 && strncmp(gold, "Gold 5222", 9) != 0;
}

/* The second table pays where two 512-bit multiply-adds go in a cycle: Intel's cores for servers, which load
 * little more than one 512-bit vector a cycle, and Zen 5, which loads two, but gains from the prefetching
 * inside of products and from the cheaper exp2. CPUID does not tell the number of units. A list by model is
 * certain and always gives the same table, and so the same bits, on one machine; a measurement would be
 * neither. Intel's cores with AMX are all for servers: a virtual machine may show them under another model
 * (Granite Rapids as Rocket Lake was seen), and so later servers need no entry.
 *
 * Not in the list: Intel's cores for clients (Ice, Tiger, Rocket Lake), which have one unit; Zen 4 and the
 * mobile models of Zen 5, whose units are 256 bits wide; and what was not known when this was written.
 * ATTN_ISA asks for either table anywhere. */
bool at_cpu_wants_avx512x2(const char *vendor, unsigned version, const char *brand, bool has_amx) {
    unsigned family = version >> 8 & 0xf, model = (version >> 4 & 0xf) | (version >> 12 & 0xf0);
    if (family == 0xf) family += version >> 20 & 0xff;
    if (strcmp(vendor, "AuthenticAMD") == 0) { /* servers (Zen 5, Zen 5c) and desktops */
        return family == 0x1a && (model < 0x20 || (model >= 0x40 && model < 0x50));
    }
    if (strcmp(vendor, "GenuineIntel") != 0) return false;
    if (has_amx) return true;
    if (family != 6) return false;
    switch (model) {
    case 0x55: return !is_small_xeon(brand); /* Skylake, Cascade Lake, Cooper Lake */
    case 0x6a:                               /* Ice Lake */
    case 0x8f:                               /* Sapphire Rapids */
    case 0xcf:                               /* Emerald Rapids */
    case 0xad:                               /* Granite Rapids */
    case 0xae: return true;                  /* the same, D */
    default: return false;
    }
}

#if defined(__x86_64__)

/* The register states that the operating system saves: XCR0. */
static unsigned saved_states(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* The best that CPU and operating system have together. */
static at_isa machine_isa(void) {
    const unsigned avx_states = 0x06;    /* xmm, ymm */
    const unsigned avx512_states = 0xe6; /* and the masks, the upper halves, zmm16 .. zmm31 */
    const unsigned avx512_features = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    const unsigned needed = bit_OSXSAVE | bit_AVX | bit_FMA;
    unsigned eax, ebx, ecx, edx;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & needed) != needed) return AT_ISA_SCALAR;
    unsigned saved = saved_states();
    if ((saved & avx_states) != avx_states) return AT_ISA_SCALAR;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & bit_AVX2)) return AT_ISA_SCALAR;
    if ((ebx & avx512_features) == avx512_features && (saved & avx512_states) == avx512_states)
        return AT_ISA_AVX512;
    return AT_ISA_AVX2;
}

static bool this_cpu_wants_avx512x2(void) {
    const unsigned amx_tile = 1u << 24;
    unsigned version, words[4], most;
    char vendor[13] = "", brand[49] = "";
    if (!__get_cpuid(0, &words[3], &words[0], &words[2], &words[1])) return false;
    memcpy(vendor, words, 12); /* EBX, EDX, ECX */
    if (!__get_cpuid(1, &version, &words[1], &words[2], &words[3])) return false;
    const unsigned name = 0x80000002u; /* three leaves of 16 letters */
    most = __get_cpuid_max(0x80000000u, NULL);
    for (unsigned leaf = 0; leaf < 3 && name + leaf <= most; leaf++) {
        __get_cpuid(name + leaf, &words[0], &words[1], &words[2], &words[3]);
        memcpy(brand + 16 * leaf, words, 16);
    }
    bool has_amx =
        __get_cpuid_count(7, 0, &words[0], &words[1], &words[2], &words[3]) && (words[3] & amx_tile);
    return at_cpu_wants_avx512x2(vendor, version, brand, has_amx);
}

#elif defined(__aarch64__)

static at_isa machine_isa(void) { return AT_ISA_NEON; } /* part of every AArch64 */
static bool this_cpu_wants_avx512x2(void) { return false; }

#else

static at_isa machine_isa(void) { return AT_ISA_SCALAR; }
static bool this_cpu_wants_avx512x2(void) { return false; }

#endif

static bool in_this_build(at_isa isa) {
    switch (isa) {
    case AT_ISA_SCALAR: return true;
#if defined(AT_HAVE_NEON)
    case AT_ISA_NEON: return true;
#endif
#if defined(AT_HAVE_AVX2)
    case AT_ISA_AVX2: return true;
#endif
#if defined(AT_HAVE_AVX512)
    case AT_ISA_AVX512:
    case AT_ISA_AVX512X2: return true;
#endif
    default: return false;
    }
}

/* The instructions that a table needs: the machine's sets are nested (AVX-512
 * has AVX2), except that NEON and AVX are of different machines. */
static bool on_this_machine(at_isa isa) {
    at_isa best = machine_isa();
#if defined(AT_EMULATE_AVX512) /* in tests: its instructions are made of AVX2's */
    if (isa == AT_ISA_AVX512 || isa == AT_ISA_AVX512X2) isa = AT_ISA_AVX2;
#endif
    if (isa == AT_ISA_AVX512X2) isa = AT_ISA_AVX512;
    if (isa == AT_ISA_NEON) return best == AT_ISA_NEON;
    if (isa == AT_ISA_AVX2 || isa == AT_ISA_AVX512) return best != AT_ISA_NEON && isa <= best;
    return isa == AT_ISA_SCALAR;
}

bool at_isa_available(at_isa isa) { return in_this_build(isa) && on_this_machine(isa); }

at_isa at_isa_best(void) {
    at_isa best = machine_isa();
    if (best == AT_ISA_AVX512 && this_cpu_wants_avx512x2()) best = AT_ISA_AVX512X2;
    for (int isa = best; isa > AT_ISA_SCALAR; isa--)
        if (at_isa_available((at_isa)isa)) return (at_isa)isa;
    return AT_ISA_SCALAR;
}

bool at_cpu_has_crc32c(void) {
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2);
#elif defined(__aarch64__) && defined(__linux__)
    const unsigned long crc32 = 1ul << 7; /* HWCAP_CRC32 */
    return (getauxval(AT_HWCAP) & crc32) != 0;
#else
    return false;
#endif
}

int at_cpu_count(void) {
#if defined(__linux__)
    /* Room for 8192 cores on the stack: cpu_set_t alone stops at 1024. */
    cpu_set_t allowed[8];
    if (sched_getaffinity(0, sizeof allowed, allowed) == 0) {
        int count = CPU_COUNT_S(sizeof allowed, allowed);
        if (count > 0) return count;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online >= 1 && online <= INT_MAX ? (int)online : 1;
}
