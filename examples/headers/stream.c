/* stream.c: attn/stream.h: rows that come one by one are answered as soon as the model has seen enough.
 *
 * It trains for a moment, in memory: a row is "up" where its number is above that of the row before.
 *
 *     stream levels.safetensors
 */
#include <attn/stream.h>
#include <attn/trainer.h>
#include <stdio.h>

enum { ROWS = 400, LENGTH = 40 };

static attn_status set(attn_config *config) {
    static const char *const values[][2] = {
        {"task", "tag"},       {"input", "vectors"},   {"encoder.columns", "32"}, {"encoder.heads", "2"},
        {"encoder.left", "2"}, {"encoder.right", "1"}, {"encoder.layers", "1"},   {"training.steps", "60"},
    };
    attn_status status = ATTN_OK;
    for (int i = 0; i < 8 && status == ATTN_OK; i++)
        status = attn_config_set(config, values[i][0], values[i][1]);
    return status;
}

int main(int count, char **arguments) {
    float rows[ROWS];
    const char *labels[ROWS];
    int64_t offsets[ROWS / LENGTH + 1] = {0};
    for (int i = 0; i < ROWS; i++) {
        rows[i] = (float)(i * 7 % 11) / 11;
        labels[i] = i % LENGTH > 0 && rows[i] > rows[i - 1] ? "up" : "down";
        offsets[i / LENGTH + 1] = i + 1;
    }
    attn_context *context;
    attn_config *config;
    attn_dataset *data;
    attn_trainer *trainer;
    attn_model *model;
    attn_predictor *predictor;
    attn_stream *stream;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.force = 1;
    if (count != 2) return puts("stream MODEL"), 2;
    options.output = arguments[1];
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_config_create(context, &config) != ATTN_OK || set(config) != ATTN_OK ||
        attn_dataset_from_rows(context, rows, 1, offsets, ROWS / LENGTH, &data) != ATTN_OK ||
        attn_dataset_set_targets(data, 1, (const char *const[]){"level"}, labels, 1) != ATTN_OK ||
        attn_trainer_create(config, data, data, &options, &trainer) != ATTN_OK ||
        attn_trainer_run(trainer) != ATTN_OK || attn_model_load(context, arguments[1], &model) != ATTN_OK ||
        attn_predictor_create(model, context, &predictor) != ATTN_OK ||
        attn_stream_create(predictor, NULL, &stream) != ATTN_OK)
        return puts(attn_context_error(context)), 1;

    attn_stream_answers answers;
    attn_stream_answers_init(&answers);
    int64_t answered = 0;
    for (int i = 0; i <= LENGTH; i++) {
        attn_status status = i < LENGTH ? attn_stream_push(stream, rows + i, 1) : attn_stream_end(stream);
        do {
            if (status == ATTN_OK) status = attn_stream_next(stream, &answers);
            if (status != ATTN_OK) return puts(attn_context_error(context)), 1;
            if (answers.count > 0)
                printf("after row %d: rows %lld to %lld\n", i < LENGTH ? i : i - 1, (long long)answers.row,
                       (long long)(answers.row + answers.count - 1));
            answered += answers.count;
        } while (answers.count > 0 && !answers.ended);
    }
    attn_stream_destroy(stream);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    attn_context_destroy(context);
    return answered != LENGTH;
}
