/* checksum.c: CRC-32C at the speed of memory.
 *
 * The instruction takes eight bytes, and three cycles until its result can be used again, but a new one can
 * begin in every cycle. So three streams run side by side over three blocks that follow each other. A
 * checksum is linear: that of block A followed by block B is that of A followed by zeros, exclusive-or that
 * of B begun at 0. What zeros of a block's length make of a checksum is looked up byte by byte in a table.
 */
#include "base/checksum.h"

#include <pthread.h>
#include <string.h>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HAVE_INSTRUCTION 1
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#define HAVE_INSTRUCTION 1
#define WITH_INSTRUCTION
#else
#define HAVE_INSTRUCTION 0
#endif

enum {
    LONG_BLOCK = 4096, /* bytes of a stream */
    SHORT_BLOCK = 256,
    SLICES = 8
};

static const uint32_t polynomial = 0x82f63b78u; /* its bits reversed, as they are used */

typedef uint32_t zeros_table[4][256];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t slices[SLICES][256]; /* [k][b]: byte b followed by k zero bytes */
static zeros_table long_zeros, short_zeros;
static bool instruction;

static uint32_t append_zeros(uint32_t checksum, int bytes) {
    for (int i = 0; i < bytes; i++) checksum = checksum >> 8 ^ slices[0][checksum & 0xff];
    return checksum;
}

/* A table has one entry per byte; an entry is the exclusive-or of those of its bits. */
static void make_zeros(zeros_table table, int bytes) {
    for (int place = 0; place < 4; place++) {
        for (uint32_t bit = 1; bit < 256; bit *= 2) {
            table[place][bit] = append_zeros(bit << 8 * place, bytes);
            for (uint32_t below = 1; below < bit; below++)
                table[place][bit + below] = table[place][bit] ^ table[place][below];
        }
    }
}

static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? polynomial : 0);
        slices[0][byte] = value;
    }
    for (int k = 1; k < SLICES; k++)
        for (int byte = 0; byte < 256; byte++) slices[k][byte] = append_zeros(slices[k - 1][byte], 1);
    make_zeros(long_zeros, LONG_BLOCK);
    make_zeros(short_zeros, SHORT_BLOCK);
    instruction = HAVE_INSTRUCTION && at_cpu_has_crc32c();
}

/* ---- without the instruction ---- */

static uint64_t little_endian(const unsigned char *bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static uint32_t eight_bytes(uint32_t checksum, const unsigned char *bytes) {
    uint64_t word = little_endian(bytes) ^ checksum;
    checksum = 0;
    for (int i = 0; i < SLICES; i++) checksum ^= slices[SLICES - 1 - i][word >> 8 * i & 0xff];
    return checksum;
}

uint32_t at_crc32c_portable(uint32_t before, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    uint32_t checksum = ~before;
    pthread_once(&once, make_tables);
    for (; count >= 8; count -= 8, next += 8) checksum = eight_bytes(checksum, next);
    for (; count > 0; count--) checksum = checksum >> 8 ^ slices[0][(checksum ^ *next++) & 0xff];
    return ~checksum;
}

/* ---- with it ---- */

#if HAVE_INSTRUCTION

#if defined(__x86_64__)

WITH_INSTRUCTION static inline uint64_t step(uint64_t checksum, const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return _mm_crc32_u64(checksum, word);
}

WITH_INSTRUCTION static inline uint64_t step_byte(uint64_t checksum, unsigned char byte) {
    return _mm_crc32_u8((uint32_t)checksum, byte);
}

#else

static inline uint64_t step(uint64_t checksum, const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(checksum) : "r"(word));
    return checksum;
}

static inline uint64_t step_byte(uint64_t checksum, unsigned char byte) {
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(checksum) : "r"((uint32_t)byte));
    return checksum;
}

#endif

static inline uint64_t look_up(const zeros_table table, uint64_t checksum) {
    return table[0][checksum & 0xff] ^ table[1][checksum >> 8 & 0xff] ^ table[2][checksum >> 16 & 0xff] ^
           table[3][checksum >> 24 & 0xff];
}

/* Three blocks of `block` bytes, a multiple of 8. */
WITH_INSTRUCTION static inline uint64_t three_blocks(uint64_t first, const unsigned char *next, size_t block,
                                                     const zeros_table zeros) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < block; i += 8) {
        first = step(first, next + i);
        second = step(second, next + i + block);
        third = step(third, next + i + 2 * block);
    }
    return look_up(zeros, look_up(zeros, first) ^ second) ^ third;
}

WITH_INSTRUCTION static uint32_t with_instruction(uint32_t before, const unsigned char *next, size_t count) {
    uint64_t checksum = (uint32_t)~before;
    for (; count >= 3 * LONG_BLOCK; count -= 3 * LONG_BLOCK, next += 3 * LONG_BLOCK)
        checksum = three_blocks(checksum, next, LONG_BLOCK, (const uint32_t(*)[256])long_zeros);
    for (; count >= 3 * SHORT_BLOCK; count -= 3 * SHORT_BLOCK, next += 3 * SHORT_BLOCK)
        checksum = three_blocks(checksum, next, SHORT_BLOCK, (const uint32_t(*)[256])short_zeros);
    for (; count >= 8; count -= 8, next += 8) checksum = step(checksum, next);
    for (; count > 0; count--) checksum = step_byte(checksum, *next++);
    return ~(uint32_t)checksum;
}

uint32_t at_crc32c(uint32_t before, const void *bytes, size_t count) {
    pthread_once(&once, make_tables);
    return instruction ? with_instruction(before, bytes, count) : at_crc32c_portable(before, bytes, count);
}

#else

uint32_t at_crc32c(uint32_t before, const void *bytes, size_t count) {
    return at_crc32c_portable(before, bytes, count);
}

#endif
