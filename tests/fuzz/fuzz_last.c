/* fuzz_last.c: any bytes as what a training run continues from: refused with a text that names the file, or
 * training ends.
 *
 * The first run makes a .last file of a tiny model, in a folder of its own. The first byte of an input says
 * what becomes of it: 0: the rest is in its place; 1: places of it are overwritten (two bytes say where,
 * one what), its checksums being left out; 2: the rest is a JSON object, whose values take the place of those
 * of the state of training; 3: the rest is the configuration.
 */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/attn_fuzz_last_XXXXXX", shared[] = "/dev/shm/attn_fuzz_last_XXXXXX", *chosen;
static char output[80], last[80];
static char *base; /* the bytes of the file */
static size_t base_length;

static void clean(void) {
    unlink(output);
    unlink(last);
    rmdir(chosen);
}

static void write_bytes(const void *bytes, size_t length) {
    FILE *file = fopen(last, "wb");
    REQUIRE(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static attn_status train(int resume) {
    static const char text[] = "good\tfine film\nbad\tpoor film\ngood\tfine one\nbad\tno film\n";
    static const char settings[] =
        "{\"task\":\"classify\",\"text\":{\"buckets\":3,\"min_count\":1},\"encoder\":{\"columns\":4,"
        "\"heads\":2,"
        "\"layers\":1,\"inner\":4},\"training\":{\"steps\":3,\"batch_units\":4}}";
    attn_context *context = fuzz_context();
    attn_config *config = NULL;
    attn_dataset *data = NULL;
    attn_trainer *trainer = NULL;
    attn_reader_options reader;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = output;
    options.resume = resume;
    options.force = !resume;
    options.keep_last = 1;
    REQUIRE(attn_config_create(context, &config) == ATTN_OK);
    if (attn_config_parse(config, "config", settings, sizeof settings - 1) != ATTN_OK) {
        fprintf(stderr, "%s\n", attn_context_error(context));
        abort();
    }
    REQUIRE(attn_config_reader(config, &reader) == ATTN_OK);
    REQUIRE(attn_dataset_parse(context, "data", 1, text, sizeof text - 1, &reader, &data) == ATTN_OK);
    attn_status status = attn_trainer_create(config, data, data, &options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    return status;
}

static void make_base(void) {
    if (base) return;
    chosen = mkdtemp(shared);
    if (!chosen) chosen = mkdtemp(folder);
    REQUIRE(chosen);
    atexit(clean);
    snprintf(output, sizeof output, "%s/m.safetensors", chosen);
    snprintf(last, sizeof last, "%s/m.last.safetensors", chosen);
    REQUIRE(train(0) == ATTN_OK);
    FILE *file = fopen(last, "rb");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    base_length = (size_t)ftell(file);
    rewind(file);
    base = malloc(base_length);
    REQUIRE(base && fread(base, 1, base_length, file) == base_length);
    fclose(file);
}

static void overwrite(const uint8_t *data, size_t size) {
    char *bytes = malloc(base_length), *key;
    REQUIRE(bytes);
    memcpy(bytes, base, base_length);
    for (key = bytes; memcmp(key, "attn.checksums", 14) != 0;) key++;
    key[0] = 'x';
    for (size_t i = 0; i + 3 <= size; i += 3)
        bytes[(data[i] + 256u * data[i + 1]) % base_length] = (char)data[i + 2];
    write_bytes(bytes, base_length);
    free(bytes);
}

/* The state of training with the values of an object; NULL: the bytes are none. */
static char *changed_state(const char *state, const char *bytes, size_t size) {
    json_error_t error;
    json_t *changes = json_loadb(bytes, size, 0, &error), *all = json_loads(state, 0, &error);
    char *text = json_is_object(changes) && json_object_update(all, changes) == 0 ? json_dumps(all, 0) : NULL;
    json_decref(changes);
    json_decref(all);
    return text;
}

/* Writes it anew with another text for one key. 0: the text cannot are in a file. */
static int change_metadata(const char *changed, const char *bytes, size_t size) {
    static const char *const keys[] = {"attn.format", "attn.config", "attn.outputs", "attn.scores",
                                       "attn.training"};
    attn_context *context = fuzz_context();
    at_safetensors *file = NULL;
    at_safetensors_writer *writer = NULL;
    attn_status status = ATTN_OK;
    int object = strcmp(changed, "attn.training") == 0;
    write_bytes(base, base_length);
    REQUIRE(at_safetensors_open(context, last, &file) == ATTN_OK);
    REQUIRE(at_safetensors_writer_create(context, &writer) == ATTN_OK);
    for (int i = 0; i < 5 && status == ATTN_OK; i++) {
        const char *text = at_safetensors_metadata(file, keys[i]);
        char *other = NULL;
        if (strcmp(keys[i], changed) == 0) {
            other = object ? changed_state(text, bytes, size) : strndup(bytes, size);
            if (!other) status = ATTN_INVALID_ARGUMENT;
        }
        if (status == ATTN_OK) status = at_safetensors_put(writer, keys[i], other ? other : text);
        free(other);
    }
    for (int64_t i = 0; i < at_safetensors_count(file) && status == ATTN_OK; i++) {
        const at_stored *one = at_safetensors_at(file, i);
        REQUIRE(at_safetensors_add(writer, one->name, one->dtype, one->rank, one->shape, one->data) ==
                ATTN_OK);
    }
    if (status == ATTN_OK) REQUIRE(at_safetensors_commit(writer, last) == ATTN_OK);
    at_safetensors_writer_destroy(writer);
    at_safetensors_close(file);
    return status == ATTN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_context *context = fuzz_context();
    make_base();
    if (size < 1) return 0;
    int how = *data++ & 3;
    size--;
    if (how == 0) write_bytes(data, size);
    if (how == 1) overwrite(data, size);
    if (how >= 2 && !change_metadata(how == 2 ? "attn.training" : "attn.config", (const char *)data, size))
        return 0;
    attn_status status = train(1);
    if (status != ATTN_OK) REQUIRE(attn_context_error(context)[0] != 0);
    if (status != ATTN_OK && status != ATTN_NOT_FINITE)
        REQUIRE(strstr(attn_context_error(context), last) != NULL);
    return 0;
}
