/* encoder.c: attn/encoder.h: the same stack of blocks with four kinds of mixer, chosen by one value. */
#include <attn/encoder.h>
#include <stdio.h>

enum { ROWS = 4, COLUMNS = 16 };

int main(void) {
    static const attn_mixer_kind kinds[] = {ATTN_MIXER_ATTENTION, ATTN_MIXER_RNN, ATTN_MIXER_CNN,
                                            ATTN_MIXER_FC};
    static const char *const names[] = {"attention", "rnn", "cnn", "fc"};
    static float rows[ROWS * COLUMNS];
    static const int64_t offsets[] = {0, ROWS};
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_parameters_create(context, 1, &parameters) != ATTN_OK ||
        attn_tape_create(context, &tape) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    for (int k = 0; k < 4; k++) {
        attn_encoder_options options;
        attn_encoder_options_init(&options);
        options.columns = COLUMNS;
        options.block.mixer.kind = kinds[k];
        int64_t before = attn_parameters_size(parameters);
        attn_encoder *encoder = attn_encoder_create(parameters, names[k], &options);
        if (encoder == NULL) return puts(attn_parameters_error(parameters)), 1;
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){1, offsets};
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_encoder_apply(tape, encoder, attn_tape_input(tape, rows, ROWS, COLUMNS, 0), &places);
        if (attn_tape_status(tape) != ATTN_OK) return puts(attn_tape_error(tape)), 1;
        printf("%-10s %6lld parameters\n", names[k], (long long)(attn_parameters_size(parameters) - before));
    }
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
    return 0;
}
