/* fuzz_idx.c: any bytes as IDX, images and labels: refused with a text that shows no control characters, or
 * pictures that have all their samples. The first two bytes say how they are read, and how many of the others
 * are labels. */
#include "fuzz_dataset.h"
#include "inputs/image/pictures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pictures(const attn_dataset *dataset) {
    const at_pictures *pictures = at_pictures_of(dataset);
    REQUIRE(pictures->count == dataset->examples && dataset->rows == dataset->examples);
    REQUIRE(dataset->targets.count == dataset->examples * dataset->columns.count);
    REQUIRE(dataset->ids.count == dataset->examples);
    for (int64_t i = 0; i < pictures->count; i++) {
        const at_picture *one = &pictures->list[i];
        int64_t end = one->first + at_picture_samples(one);
        REQUIRE(one->height > 0 && one->width > 0 && (one->channels == 1 || one->channels == 3));
        REQUIRE(end <= (one->exact ? pictures->number_count : pictures->byte_count));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    if (size < 2) return 0;
    attn_reader_options_init(&options);
    options.input = "image";
    options.labelled = data[0] & 1;
    options.skip_bad = data[0] >> 1 & 1;
    options.stop_at_bad = data[0] >> 2 & 1;
    options.format = (attn_format)(data[0] >> 3 & 1 ? AT_IMAGE_IDX : AT_IMAGE_AUTO);
    options.expanded_limit = 1 << 20;
    size_t labels = data[1] < size - 2 ? data[1] : size - 2, images = size - 2 - labels;
    const char *bytes = (const char *)data + 2;
    const attn_file files[2] = {{"/none/images", bytes, images}, {"/none/labels", bytes + images, labels}};
    attn_status status =
        attn_dataset_read_files(fuzz_context(), files, data[0] >> 4 & 1 ? 2 : 1, &options, &dataset);
    if (status != ATTN_OK) {
        REQUIRE((status == ATTN_INVALID_ARGUMENT || status == ATTN_OVERFLOW) && dataset == NULL);
        for (const char *p = attn_context_error(fuzz_context()); *p; p++) REQUIRE((unsigned char)*p >= ' ');
        return 0;
    }
    check_pictures(dataset);
    attn_dataset_destroy(dataset);
    return 0;
}
