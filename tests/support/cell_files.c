/* cell_files.c: a maker of files for every kind of input. All write what a user would: text, CSV, TSV, WAV,
 * TIMIT's .phn, PNG.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/cell_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "support/check.h"
#include "support/random.h"
#include "support/training.h"

/* What is to be made, and where. */
typedef struct order {
    const char *folder, *name, *task;
    uint64_t seed;
    int examples;
    char *path; /* of what is to be read */
} order;

static int is(const order *of, const char *task) { return strcmp(of->task, task) == 0; }

/* A path in the folder: NAME and what follows it. */
static void name_path(const order *of, const char *suffix, char path[CELL_PATH]) {
    int length = snprintf(path, CELL_PATH, "%s/%s%s", of->folder, of->name, suffix);
    assert_in_range(length, 1, CELL_PATH - 1);
}

static FILE *open_path(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("%s cannot be written", path);
    return file;
}

static void close_file(FILE *file) { assert_int_equal(fclose(file), 0); }

static FILE *open_main(const order *of, const char *suffix) {
    name_path(of, suffix, of->path);
    return open_path(of->path);
}

/* The target of an example that is of class 0, 1 or 2, but for tags. */
static void put_target(const order *of, FILE *file, int class) {
    static const char *const labels[] = {"low", "middle", "high"}, *const texts[] = {"a b", "b", "c a b"};
    if (is(of, "regress"))
        fprintf(file, "%g", 0.5 + class * 1.25);
    else
        fputs(is(of, "seq2seq") ? texts[class] : labels[class], file);
}

/* ---- text ---- */

/* Sources that occur once, for what is compared is sources; targets are every other letter, from the end: CTC
 * needs a row between two that are the same. */
static void put_pairs(const order *of, FILE *file) {
    for (int i = 0; i < of->examples; i++) {
        int number = 7 + i + of->examples * (int)of->seed;
        char letters[16];
        int count = 0;
        for (; number; number /= 3) letters[count++] = (char)('a' + number % 3);
        fprintf(file, "%.*s\t", count, letters);
        for (int at = (count - 1) / 2 * 2; at >= 0; at -= 2)
            fprintf(file, "%c%s", letters[at] - 'a' + 'A', at ? " " : "\n");
    }
}

static void make_text(const order *of) {
    FILE *file = open_main(of, is(of, "tag") ? ".conllu" : is(of, "lm") ? ".txt" : ".tsv");
    char *text = is(of, "tag")        ? corpus_conllu(of->seed, of->examples)
                 : is(of, "classify") ? corpus_classes(of->seed, of->examples, 0)
                 : is(of, "regress")  ? corpus_numbers(of->seed, of->examples)
                 : is(of, "lm")       ? corpus_running(of->seed, of->examples)
                                      : NULL;
    if (text)
        fputs(text, file);
    else
        put_pairs(of, file);
    free(text);
    close_file(file);
}

/* ---- vectors ---- */

static void make_vectors(const order *of) {
    test_random random = {of->seed * 2 + 1};
    FILE *file = open_main(of, ".csv");
    fputs("sequence,x,y,target\n", file);
    for (int i = 0; i < of->examples; i++) {
        int rows = (int)random_between(&random, 3, 9), class = i % 3;
        for (int r = 0; r < rows; r++) {
            double x = random_normal(&random);
            fprintf(file, "s%d,%.4f,%.4f,", i, x, class + 0.3 * (double)random_normal(&random));
            if (is(of, "tag"))
                fputs(x < 0 ? "below" : "above", file);
            else
                put_target(of, file, class);
            fputc('\n', file);
        }
    }
    close_file(file);
}

/* ---- graphs ---- */

/* One graph with labels of nodes, or one for each example. Rings: a node's label is that of the one before.
 */
static void make_graphs(const order *of) {
    test_random random = {of->seed * 2 + 1};
    int tags = is(of, "tag"), graphs = tags ? 1 : of->examples;
    char path[CELL_PATH + 16];
    name_path(of, ".graph", of->path);
    assert_int_equal(mkdir(of->path, 0777), 0);
    snprintf(path, sizeof path, "%s/nodes.tsv", of->path);
    FILE *nodes = open_path(path);
    snprintf(path, sizeof path, "%s/edges.tsv", of->path);
    FILE *edges = open_path(path), *list = NULL;
    snprintf(path, sizeof path, "%s/graphs.tsv", of->path);
    if (!tags) list = open_path(path), fputs("graph\tlabel\n", list);
    fprintf(nodes, "node\t%s\tx\ty\n", tags ? "label" : "graph");
    for (int g = 0; g < graphs; g++) {
        int count = tags ? 4 * of->examples : (int)random_between(&random, 3, 6), before = 0;
        for (int i = 0; i < count; i++) {
            int colour = (int)random_between(&random, 0, 1);
            fprintf(nodes, "g%dn%d\t", g, i);
            if (tags)
                fputs(before ? "red" : "blue", nodes);
            else
                fprintf(nodes, "g%d", g);
            fprintf(nodes, "\t%d\t%.3f\n", colour, g % 3 + 0.1 * (double)random_unit(&random));
            fprintf(edges, "g%dn%d\tg%dn%d\n", g, i, g, (i + 1) % count);
            before = colour;
        }
        if (tags) continue;
        fprintf(list, "g%d\t", g);
        put_target(of, list, g % 3);
        fputc('\n', list);
    }
    close_file(nodes);
    close_file(edges);
    if (list) close_file(list);
}

static void make_molecules(const order *of) {
    static const char *const parts[] = {"C", "N", "C(=O)", "c1ccc(cc1)", "O"};
    test_random random = {of->seed * 2 + 1};
    FILE *file = open_main(of, ".csv");
    fputs("smiles,label\n", file);
    for (int i = 0; i < of->examples; i++) {
        int64_t first = random_between(&random, 0, 4), second = random_between(&random, 0, 4);
        fprintf(file, "C%s%sC,", parts[first], parts[second]);
        put_target(of, file, first == 3 ? 2 : first == 2);
        fputc('\n', file);
    }
    close_file(file);
}

/* ---- speech ---- */

enum { RATE = 8000, HEADER = 44 };

static void put_bytes(unsigned char *to, uint32_t number, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(number >> (8 * i));
}

/* A WAV of 16 bits, one channel. */
static void write_wav(const char *path, const double *samples, int count) {
    unsigned char header[HEADER] = "RIFF____WAVEfmt ", two[2];
    put_bytes(header + 4, HEADER - 8 + 2 * (uint32_t)count, 4);
    put_bytes(header + 16, 16, 4);       /* bytes of the format: */
    put_bytes(header + 20, 1, 2);        /* plain numbers, */
    put_bytes(header + 22, 1, 2);        /* channels, */
    put_bytes(header + 24, RATE, 4);     /* samples and */
    put_bytes(header + 28, 2 * RATE, 4); /* bytes per second, */
    put_bytes(header + 32, 2, 2);        /* bytes and */
    put_bytes(header + 34, 16, 2);       /* bits a sample */
    memcpy(header + 36, "data", 4);
    put_bytes(header + 40, 2 * (uint32_t)count, 4);
    FILE *file = open_path(path);
    assert_int_equal(fwrite(header, 1, HEADER, file), HEADER);
    for (int i = 0; i < count; i++) {
        put_bytes(two, (uint32_t)(int32_t)lrint(samples[i] * 32767), 2);
        assert_int_equal(fwrite(two, 1, 2, file), 2);
    }
    close_file(file);
}

/* Tones one after another, each with its label: the class of a recording is that of its first tone. */
static void make_speech(const order *of) {
    static const char *const labels[] = {"low", "middle", "high"};
    test_random random = {of->seed * 2 + 1};
    FILE *list = open_main(of, ".tsv");
    static double samples[RATE];
    for (int i = 0; i < of->examples; i++) {
        char sound[CELL_PATH], phones[CELL_PATH], suffix[32];
        snprintf(suffix, sizeof suffix, "_%d.wav", i);
        name_path(of, suffix, sound);
        snprintf(suffix, sizeof suffix, "_%d.phn", i);
        name_path(of, suffix, phones);
        FILE *segments = is(of, "tag") ? open_path(phones) : NULL;
        int count = 0;
        for (int tone = 0; tone < 2; tone++) {
            int class = tone ? (int)random_between(&random, 0, 2) : i % 3, begin = count;
            int length = (int)random_between(&random, 500, 900);
            for (int s = 0; s < length; s++, count++)
                samples[count] = 0.4 * sin((0.1 + 0.5 * class) * s) + 0.02 * (double)random_unit(&random);
            if (segments) fprintf(segments, "%d %d %s\n", begin, count, labels[class]);
        }
        write_wav(sound, samples, count);
        fprintf(list, "%s\t", sound);
        if (segments)
            fputs(phones, list), close_file(segments);
        else
            put_target(of, list, i % 3);
        fputc('\n', list);
    }
    close_file(list);
}

int64_t cell_frames(const char *path, int64_t example) {
    char sound[CELL_PATH + 32];
    struct stat file;
    const char *dot = strrchr(path, '.');
    snprintf(sound, sizeof sound, "%.*s_%lld.wav", (int)(dot - path), path, (long long)example);
    if (stat(sound, &file) != 0) return -1;
    int64_t samples = ((int64_t)file.st_size - HEADER) / 2;
    return 1 + (samples - RATE / 40) / (RATE / 100);
}

/* ---- images ---- */

static void put_chunk(FILE *file, const char *type, const unsigned char *bytes, size_t count) {
    unsigned char number[4];
    uint32_t checksum = (uint32_t)crc32(0, (const unsigned char *)type, 4);
    if (count) checksum = (uint32_t)crc32(checksum, bytes, (unsigned)count);
    for (int i = 0; i < 4; i++) number[i] = (unsigned char)(count >> (24 - 8 * i));
    assert_int_equal(fwrite(number, 1, 4, file), 4);
    assert_int_equal(fwrite(type, 1, 4, file), 4);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    for (int i = 0; i < 4; i++) number[i] = (unsigned char)(checksum >> (24 - 8 * i));
    assert_int_equal(fwrite(number, 1, 4, file), 4);
}

/* A PNG of grey bytes. */
static void write_png(const char *path, const unsigned char *pixels, int height, int width) {
    unsigned char header[13] = {0, 0, 0, (unsigned char)width, 0, 0, 0, (unsigned char)height, 8};
    unsigned char lines[512], packed[1024];
    uLongf length = sizeof packed;
    for (int y = 0; y < height; y++) {
        lines[y * (width + 1)] = 0; /* no filter */
        memcpy(lines + y * (width + 1) + 1, pixels + y * width, (size_t)width);
    }
    assert_int_equal(compress(packed, &length, lines, (uLong)(height * (width + 1))), Z_OK);
    FILE *file = open_path(path);
    assert_int_equal(fwrite("\x89PNG\r\n\x1a\n", 1, 8, file), 8);
    put_chunk(file, "IHDR", header, sizeof header);
    put_chunk(file, "IDAT", packed, length);
    put_chunk(file, "IEND", header, 0);
    close_file(file);
}

/* Pictures of two sizes, whose class is which third is bright. */
static void make_images(const order *of) {
    test_random random = {of->seed * 2 + 1};
    FILE *list = open_main(of, ".tsv");
    for (int i = 0; i < of->examples; i++) {
        unsigned char pixels[9 * 12];
        char picture[CELL_PATH], suffix[32];
        int height = i % 2 ? 9 : 6, width = i % 2 ? 6 : 12;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                pixels[y * width + x] =
                    (unsigned char)(random_between(&random, 0, 60) + (x * 3 / width == i % 3 ? 150 : 0));
        snprintf(suffix, sizeof suffix, "_%d.png", i);
        name_path(of, suffix, picture);
        write_png(picture, pixels, height, width);
        fprintf(list, "%s\t", picture);
        put_target(of, list, i % 3);
        fputc('\n', list);
    }
    close_file(list);
}

/* ---- all of them ---- */

static const struct {
    const char *input, *tasks; /* with spaces around each */
    void (*make)(const order *of);
} makers[] = {
    {"text", " tag classify regress seq2seq lm ", make_text},
    {"vectors", " tag classify regress seq2seq ", make_vectors},
    {"graph", " tag classify regress ", make_graphs},
    {"molecule", " classify regress ", make_molecules},
    {"speech", " tag classify regress seq2seq ", make_speech},
    {"image", " classify regress seq2seq ", make_images},
};

int cell_files(const char *folder, const char *name, const char *input, const char *task, uint64_t seed,
               int examples, char path[CELL_PATH]) {
    const order of = {folder, name, task, seed, examples, path};
    char word[32];
    snprintf(word, sizeof word, " %s ", task);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(makers[i].input, input) != 0 || !strstr(makers[i].tasks, word)) continue;
        makers[i].make(&of);
        return 1;
    }
    return 0;
}
