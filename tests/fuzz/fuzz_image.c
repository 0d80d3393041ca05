/* fuzz_image.c: any bytes as a picture, PNG, JPEG or none: refused with a reason, or samples that are all
 * there, and no more than the limit allows. */
#include "fuzz_dataset.h"
#include "inputs/image/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    at_pictures pictures = {0};
    at_image_decoding now = {.context = fuzz_context(), .pictures = &pictures, .limit = 1 << 22};
    attn_status status = at_image_decode(&now, (const char *)data, size);
    if (status == ATTN_INVALID_ARGUMENT) {
        REQUIRE(now.reason[0] && strlen(now.reason) < sizeof now.reason);
    } else if (status == ATTN_OK) {
        REQUIRE(at_pictures_add(fuzz_context(), &pictures, &now.made) == ATTN_OK);
        REQUIRE(now.made.height > 0 && now.made.width > 0 && at_picture_samples(&now.made) <= 1 << 22);
        for (int64_t i = 0; i < at_picture_samples(&now.made); i++)
            REQUIRE(!now.made.exact || (pictures.numbers[i] >= 0 && pictures.numbers[i] <= 255));
    } else {
        REQUIRE(status == ATTN_OVERFLOW);
    }
    at_pictures_free(fuzz_context(), &pictures);
    return 0;
}
