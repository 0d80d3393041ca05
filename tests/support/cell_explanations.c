/* cell_explanations.c: the explanation of an example by the model of a cell, whatever it is. */
#include "support/cell_explanations.h"

#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/training.h"

/* Weights are finite; those of softmax, which all these models have, sum to 1 or, where nothing is seen, 0.
 */
static void check_map(const char *name, const attn_map *map) {
    if (!map->gradients)
        fail_msg("%s: %s, layer %lld has no gradients", name, attn_map_part_name(map->part),
                 (long long)map->layer);
    for (int64_t h = 0; h < map->heads; h++) {
        for (int64_t i = 0; i < map->queries; i++) {
            double sum = 0;
            for (int64_t c = 0; c < attn_map_entries(map, i); c++) {
                sum += (double)attn_map_weight(map, h, i, c);
                if (!isfinite(map->gradients[attn_map_place(map, h, i, c)]))
                    fail_msg("%s: a gradient is not finite", name);
            }
            if (fabs(sum - 1) > 1e-4 && sum != 0)
                fail_msg("%s: %s, layer %lld: the weights of query %lld sum to %g", name,
                         attn_map_part_name(map->part), (long long)map->layer, (long long)i, sum);
        }
    }
}

/* Every kind of file can be made of it. */
static void check_files(attn_context *context, const char *name, attn_explanation *made, int html) {
    static const struct {
        attn_drawing_format format;
        const char *begins;
    } files[] = {{ATTN_DRAWING_TSV, "part\t"},
                 {ATTN_DRAWING_JSON, "{"},
                 {ATTN_DRAWING_SVG, "<"},
                 {ATTN_DRAWING_HTML, "<!"}};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        attn_drawing_options drawing;
        const char *bytes = NULL;
        size_t length = 0;
        if (files[f].format == ATTN_DRAWING_HTML && !html) continue;
        attn_drawing_options_init(&drawing);
        drawing.format = files[f].format;
        expect_ok(context, attn_explanation_write(made, &drawing, &bytes, &length));
        if (length < 10 || strncmp(bytes, files[f].begins, strlen(files[f].begins)) != 0)
            fail_msg("%s: a file of format %d is %zu bytes", name, (int)files[f].format, length);
    }
}

void cell_explain(attn_context *context, const char *name, attn_predictor *predictor,
                  const attn_dataset *dataset) {
    attn_explanation *made = NULL;
    int64_t last = attn_dataset_examples(dataset) - 1;
    attn_explain_options options;
    attn_explain_options_init(&options);
    for (int64_t e = 0; e <= last; e += last > 0 ? last : 1) {
        options.example = e;
        expect_ok(context, attn_predictor_explain(predictor, dataset, &options, &made));
        assert_true(attn_explanation_rows(made) > 0);
        assert_true(attn_explanation_answers(made) > 0);
        assert_non_null(attn_explanation_target(made));
        double most = 0;
        for (int64_t r = 0; r < attn_explanation_rows(made); r++) {
            assert_non_null(attn_explanation_row(made, r));
            most = fmax(most, fabs(attn_explanation_contributions(made)[r]));
        }
        if (!(isfinite(most) && most > 0)) fail_msg("%s: the largest contribution is %g", name, most);
        for (int64_t m = 0; m < attn_explanation_maps(made); m++)
            check_map(name, attn_explanation_map(made, m));
        check_files(context, name, made, e == 0);
        attn_explanation_destroy(made);
    }
}
