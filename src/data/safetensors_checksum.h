/* safetensors_checksum.h: what the checksums of a file of tensors are taken of. docs/format.md specifies it.
 */
#ifndef AT_DATA_SAFETENSORS_CHECKSUM_H
#define AT_DATA_SAFETENSORS_CHECKSUM_H

#include <jansson.h>
#include <stdint.h>

#define AT_METADATA "__metadata__"
#define AT_CHECKSUMS "attn.checksums" /* metadata: a JSON object, name of a tensor -> eight digits */

enum { AT_CHECKSUM_TEXT = 9 };
void at_checksum_text(uint32_t checksum, char text[AT_CHECKSUM_TEXT]);

/* Of a header: the metadata without the checksums, then name, dtype and shape of every tensor, each in the
 * order of their names, so that it does not depend on how the JSON is written. The header must be one that
 * may be read or written. -1 without memory. */
int at_header_checksum(json_t *header, uint32_t *checksum);

#endif
