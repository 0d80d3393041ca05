/* checksum.h: CRC-32C (Castagnoli), the checksum that processors have an instruction for. */
#ifndef AT_BASE_CHECKSUM_H
#define AT_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `before` is the checksum of (0: of nothing) followed by these bytes. That of the nine
 * bytes "123456789" is e3069283. */
uint32_t at_crc32c(uint32_t before, const void *bytes, size_t count);

/* The same without the instruction: what runs where there is none. */
uint32_t at_crc32c_portable(uint32_t before, const void *bytes, size_t count);

#endif
