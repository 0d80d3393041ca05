/* describe.c: a dataset of images described for people and as JSON (see data/describe.h): how many, sizes,
 * channels, what they were decoded from, labels, and what occurs twice. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/describe.h"
#include "inputs/image/image.h"

/* A size, and how many pictures have it. */
typedef struct size {
    int64_t height, width, count;
} size;

typedef struct summary {
    size smallest, usual, largest;
    int64_t sizes; /* how many different ones */
    int64_t colour, deep, sources[AT_PICTURE_SOURCES];
    double least, mean, most; /* of the samples */
    at_lengths heights, widths;
    at_repeats repeats;
} summary;

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

/* ---- counting ---- */

static int by_size(const void *a, const void *b) {
    const size *x = a, *y = b;
    int64_t p = x->height * x->width, q = y->height * y->width;
    if (p != q) return p < q ? -1 : 1;
    return (x->height > y->height) - (x->height < y->height);
}

static attn_status count_sizes(const attn_dataset *dataset, summary *made) {
    const at_pictures *pictures = at_pictures_of(dataset);
    size *list = at_allocate(dataset->context, pictures->count + 1, sizeof *list, "the sizes of pictures");
    int64_t kinds = 0;
    if (!list) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < pictures->count; i++)
        list[i] = (size){pictures->list[i].height, pictures->list[i].width, 1};
    qsort(list, (size_t)pictures->count, sizeof *list, by_size);
    for (int64_t i = 0; i < pictures->count; i++) {
        if (kinds > 0 && by_size(&list[kinds - 1], &list[i]) == 0)
            list[kinds - 1].count++;
        else
            list[kinds++] = list[i];
    }
    made->sizes = kinds;
    made->smallest = list[0];
    made->largest = list[kinds ? kinds - 1 : 0];
    for (int64_t i = 0; i < kinds; i++)
        if (list[i].count > made->usual.count) made->usual = list[i];
    at_release(dataset->context, list);
    return ATTN_OK;
}

static void count_samples(const at_pictures *pictures, summary *made) {
    double sum = 0, count = 0;
    for (int64_t p = 0; p < pictures->count; p++) {
        const at_picture *picture = &pictures->list[p];
        made->colour += picture->channels == 3;
        made->deep += picture->exact;
        made->sources[picture->source]++;
        for (int64_t i = 0; i < at_picture_samples(picture); i++) {
            double sample = (double)at_image_sample(pictures, picture, i);
            if (count == 0 || sample < made->least) made->least = sample;
            if (count == 0 || sample > made->most) made->most = sample;
            sum += sample;
            count++;
        }
    }
    made->mean = count > 0 ? sum / count : 0;
}

/* ---- the same picture: the same samples ---- */

static uint64_t hash(const attn_dataset *dataset, int64_t example) {
    return dataset->kind->hash(dataset->content, dataset->offsets[example], dataset->offsets[example + 1], 0);
}

static int same(const attn_dataset *dataset, int64_t a, int64_t b) {
    const at_pictures *pictures = at_pictures_of(dataset);
    const at_picture *x = &pictures->list[dataset->offsets[a]], *y = &pictures->list[dataset->offsets[b]];
    if (x->height != y->height || x->width != y->width || x->channels != y->channels || x->exact != y->exact)
        return 0;
    size_t samples = (size_t)at_picture_samples(x);
    if (x->exact)
        return memcmp(pictures->numbers + x->first, pictures->numbers + y->first,
                      samples * sizeof *pictures->numbers) == 0;
    return memcmp(pictures->bytes + x->first, pictures->bytes + y->first, samples) == 0;
}

static const at_likeness likeness = {hash, same, NULL};

/* ---- for people ---- */

static void put_size(at_writer *writer, const char *what, const size *one) {
    at_print(writer, "  %-18s %7s x %-7s ", what, at_grouped(one->height).text, at_grouped(one->width).text);
    at_put_count(writer, one->count, "picture");
    put(writer, "\n");
}

static void put_sizes(at_writer *writer, const summary *made) {
    put(writer, "\n");
    if (made->sizes == 1) {
        put_size(writer, "height x width", &made->usual);
        return;
    }
    at_put_count(writer, made->sizes, "size");
    put(writer, ", height x width\n");
    put_size(writer, "smallest", &made->smallest);
    put_size(writer, "most frequent", &made->usual);
    put_size(writer, "largest", &made->largest);
}

static void put_count(at_writer *writer, int64_t count, const char *what) {
    if (count == 0) return;
    put(writer, "  ");
    at_put_count(writer, count, "picture");
    at_print(writer, " %s\n", what);
}

static void put_facts(at_writer *writer, const summary *made, int64_t pictures) {
    put(writer, "\n");
    put_count(writer, made->sources[AT_PICTURE_PNG], "of PNG");
    put_count(writer, made->sources[AT_PICTURE_JPEG], "of JPEG");
    put_count(writer, pictures - made->colour, "in grey");
    put_count(writer, made->colour, "in colour");
    put_count(writer, made->deep, "with more than 8 bits per sample");
    at_print(writer, "  samples from %.6g to %.6g, mean %.6g\n", made->least, made->most, made->mean);
}

static void put_parts(at_writer *writer, const attn_dataset *dataset) {
    if (dataset->part_count == 0) return;
    put(writer, "\nsplit: ");
    for (int p = ATTN_PART_TRAIN; p <= ATTN_PART_TEST; p++)
        at_print(writer, "%s%s %s", p > ATTN_PART_TRAIN ? ", " : "", attn_part_name((attn_part)p),
                 at_grouped(attn_dataset_part_size(dataset, (attn_part)p)).text);
    int64_t none = attn_dataset_part_size(dataset, ATTN_PART_NONE);
    if (none) at_print(writer, ", none %s", at_grouped(none).text);
    put(writer, "\n");
}

/* Lines are those of a list; else numbers of pictures. */
static void put_repeats(at_writer *writer, const at_repeats *repeats) {
    if (repeats->duplicates == 0 && repeats->contradictions == 0) return;
    put(writer, "\n");
    at_put_duplicates(writer, repeats, "picture");
    at_put_contradictions(writer, repeats, "picture");
}

/* ---- as JSON ---- */

static void put_size_json(at_writer *writer, const char *what, const size *one) {
    at_print(writer, "\"%s\":{\"height\":%" PRId64 ",\"width\":%" PRId64 ",\"pictures\":%" PRId64 "}", what,
             one->height, one->width, one->count);
}

static void put_json(at_writer *writer, const attn_dataset *dataset, const summary *made) {
    at_print(writer, ",\"sizes\":{\"count\":%" PRId64 ",", made->sizes);
    put_size_json(writer, "smallest", &made->smallest);
    put(writer, ",");
    put_size_json(writer, "usual", &made->usual);
    put(writer, ",");
    put_size_json(writer, "largest", &made->largest);
    at_print(writer,
             "},\"png\":%" PRId64 ",\"jpeg\":%" PRId64 ",\"grey\":%" PRId64 ",\"colour\":%" PRId64
             ",\"deep\":%" PRId64 ",\"samples\":{\"least\":%.9g,\"mean\":%.9g,\"most\":%.9g}",
             made->sources[AT_PICTURE_PNG], made->sources[AT_PICTURE_JPEG], dataset->examples - made->colour,
             made->colour, made->deep, made->least, made->mean, made->most);
    if (dataset->part_count)
        at_print(
            writer,
            ",\"split\":{\"train\":%" PRId64 ",\"val\":%" PRId64 ",\"test\":%" PRId64 ",\"none\":%" PRId64
            "}",
            attn_dataset_part_size(dataset, ATTN_PART_TRAIN), attn_dataset_part_size(dataset, ATTN_PART_VAL),
            attn_dataset_part_size(dataset, ATTN_PART_TEST), attn_dataset_part_size(dataset, ATTN_PART_NONE));
    at_print(writer, ",\"duplicates\":%" PRId64 ",\"contradictions\":%" PRId64 ",\"columns\":",
             made->repeats.duplicates, made->repeats.contradictions);
}

/* ---- all of it ---- */

static attn_status describe_text(const attn_dataset *dataset, const attn_describe_options *options,
                                 const summary *made, at_writer *writer) {
    static const char *const formats[] = {
        "", "a folder", "a list", "IDX", "an array of NumPy", "arrays of NumPy", "one picture"};
    at_print(writer, "%s, ", formats[dataset->format]);
    at_put_count(writer, dataset->examples, "picture");
    put(writer, "\n");
    if (options->unlabelled) {
        put(writer, "\nno targets: it can be used for prediction, not for training. As training data it\n");
        at_put_reason(writer, options);
    }
    put_sizes(writer, made);
    put_facts(writer, made, dataset->examples);
    put_parts(writer, dataset);
    attn_status status = at_put_columns(writer, dataset, options, "picture");
    put_repeats(writer, &made->repeats);
    return status;
}

attn_status at_image_describe(const attn_dataset *dataset, const attn_describe_options *options,
                              at_writer *writer) {
    summary made;
    memset(&made, 0, sizeof made);
    attn_status status = count_sizes(dataset, &made);
    if (status == ATTN_OK) status = at_find_repeats(dataset, &likeness, &made.repeats);
    if (status != ATTN_OK) return status;
    count_samples(at_pictures_of(dataset), &made);
    if (!options->json) return describe_text(dataset, options, &made, writer);
    put_json(writer, dataset, &made);
    return at_put_columns(writer, dataset, options, "picture");
}
