/* test_json_memory.c: jansson, which allocates alone, runs out of memory at every place of saving a
 * model: an error, never a file that lacks something. (Reading is not tried: jansson's own reader asserts
 * there.)
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/predicting.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_json_memory_XXXXXX";
static int64_t fail_at, refused; /* the fail_at-th call from now fails; 0: none */

static void *allocate(size_t bytes) {
    if (fail_at > 0 && --fail_at == 0) {
        refused++;
        return NULL;
    }
    return malloc(bytes);
}

static int setup(void **state) {
    json_set_alloc_funcs(allocate, free);
    return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static void check_saving(const char *name, const char *const *sets, char *corpus) {
    attn_context *context = test_best_context(1);
    char path[100], again[100];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    snprintf(again, sizeof again, "%s/again.safetensors", folder);
    attn_config *config = tiny_config(context, sets);
    expect_ok(context, attn_config_set(config, "training.steps", "1"));
    attn_model *model = train_model(config, corpus, NULL, path);
    int64_t n = 1, failures = 0;
    for (refused = 0;; n++, refused = 0) { /* saving */
        unlink(again);
        fail_at = n;
        attn_status status = attn_model_save(model, again);
        fail_at = 0;
        if (status == ATTN_OK && !same_files(path, again)) fail_msg("%s: %d: another file", name, (int)n);
        if (status != ATTN_OK) {
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            assert_int_equal(access(again, F_OK), -1);
            failures++;
        }
        if (!refused) break;
    }
    assert_true(failures > 20);
    model_destroy(model);
    free(corpus);
}

static void test_models(void **state) {
    (void)state;
    static const char *const tag[] = {"task", "tag", NULL}, *const regress[] = {"task", "regress", NULL},
                             *const labels[] = {"task", "classify", NULL}, *const lm[] = {"task", "lm", NULL};
    check_saving("tag", tag, corpus_conllu(1, 10));
    check_saving("regress", regress, corpus_numbers(1, 10));
    check_saving("labels", labels, corpus_labels(1, 10));
    check_saving("lm", lm, corpus_running(1, 10));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
