/* fuzz_image_list.c: any bytes as a list of pictures, of which none can be opened: refused with a text that
 * shows no control characters, or everything is left out and counted. The first byte says how it is read. */
#include "fuzz_dataset.h"
#include "inputs/image/pictures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"/none/a.csv", "/none/a.tsv", "/none/a.txt", "/none/-"};
    static const char *const columns[] = {NULL, "y", "y,z", NULL};
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    if (size == 0) return 0;
    attn_reader_options_init(&options);
    options.input = "image";
    options.format = (attn_format)AT_IMAGE_LIST;
    options.column = columns[data[0] & 3];
    options.labelled = data[0] >> 4 & 1;
    options.skip_bad = data[0] >> 5 & 1;
    options.stop_at_bad = data[0] >> 6 & 1;
    options.piece = data[0] >> 7;
    options.expanded_limit = 1 << 20;
    attn_status status = attn_dataset_parse(fuzz_context(), names[data[0] >> 2 & 3], 1,
                                            (const char *)data + 1, size - 1, &options, &dataset);
    if (status != ATTN_OK) {
        REQUIRE((status == ATTN_INVALID_ARGUMENT || status == ATTN_OVERFLOW) && dataset == NULL);
        for (const char *p = attn_context_error(fuzz_context()); *p; p++) REQUIRE((unsigned char)*p >= ' ');
        return 0;
    }
    REQUIRE(dataset->targets.count == dataset->examples * dataset->columns.count);
    REQUIRE(dataset->ids.count == dataset->examples && at_pictures_of(dataset)->count == dataset->examples);
    for (int64_t i = 0; attn_dataset_problem(dataset, i); i++)
        for (const char *p = attn_dataset_problem(dataset, i); *p; p++) REQUIRE((unsigned char)*p >= ' ');
    REQUIRE(attn_dataset_consumed(dataset) <= size - 1);
    attn_dataset_destroy(dataset);
    return 0;
}
