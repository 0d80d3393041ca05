/* options.c: options and places of older and newer callers (base/options.h).
 *
 * Options inside of others have a size of their own: they are taken one by one, from the outside in, each out
 * of its room.
 */
#include <string.h>

#include "base/options.h"
#include "layers/layers.h"
#include "tape/tape.h"

_Static_assert(sizeof(attn_multihead_options) <= ATTN_MULTIHEAD_ROOM, "the room cannot grow");
_Static_assert(sizeof(attn_mixer_options) <= ATTN_MIXER_ROOM, "the room cannot grow");
_Static_assert(sizeof(attn_block_options) <= ATTN_BLOCK_ROOM, "the room cannot grow");

static int take(attn_parameters *set, const char *layer, const char *name, const char *init,
                const void *given, size_t first, size_t current, void *into) {
    char reason[AT_OPTIONS_TEXT];
    attn_status status = at_options_take(name, init, given, first, current, into, reason);
    if (status != ATTN_OK) at_parameters_fail(set, status, "%s: %s", layer, reason);
    return status == ATTN_OK;
}

int at_take_multihead(attn_parameters *set, const char *layer, const attn_multihead_options *given,
                      attn_multihead_options *into) {
    attn_multihead_options_init(into);
    return take(set, layer, "multihead options", "attn_multihead_options_init", given,
                AT_FIRST_SIZE(attn_multihead_options, uniform), sizeof *into, into);
}

int at_take_mixer(attn_parameters *set, const char *layer, const attn_mixer_options *given,
                  attn_mixer_options *into) {
    attn_mixer_options_init(into);
    return take(set, layer, "mixer options", "attn_mixer_options_init", given,
                AT_FIRST_SIZE(attn_mixer_options, grid), sizeof *into, into) &&
           at_take_multihead(set, layer, given ? &given->attention : NULL, &into->attention);
}

int at_take_block(attn_parameters *set, const char *layer, const attn_block_options *given,
                  attn_block_options *into) {
    attn_block_options_init(into);
    return take(set, layer, "block options", "attn_block_options_init", given,
                AT_FIRST_SIZE(attn_block_options, mixed_activation), sizeof *into, into) &&
           at_take_mixer(set, layer, given ? &given->mixer : NULL, &into->mixer);
}

int at_take_encoder(attn_parameters *set, const char *layer, const attn_encoder_options *given,
                    attn_encoder_options *into) {
    attn_encoder_options_init(into);
    return take(set, layer, "encoder options", "attn_encoder_options_init", given,
                AT_FIRST_SIZE(attn_encoder_options, jump), sizeof *into, into) &&
           at_take_block(set, layer, given ? &given->block : NULL, &into->block);
}

int at_take_decoder(attn_parameters *set, const char *layer, const attn_decoder_options *given,
                    attn_decoder_options *into) {
    attn_decoder_options_init(into);
    return take(set, layer, "decoder options", "attn_decoder_options_init", given,
                AT_FIRST_SIZE(attn_decoder_options, norm_epsilon), sizeof *into, into);
}

int at_layer_knows(attn_parameters *set, const char *layer, const char *what, int value, int last) {
    if (value >= 0 && value <= last) return 1;
    at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "%s: %s is %d; 0 to %d are known", layer, what, value,
                       last);
    return 0;
}

void attn_places_init_sized(attn_places *places, size_t size) {
    attn_places own = {.size = sizeof own};
    at_options_give(places, size, &own, sizeof own);
}

const attn_places *at_places_ready(attn_tape *tape, const char *layer, const attn_places *places) {
    attn_places own;
    if (!at_tape_ready(tape)) return NULL;
    if (!places) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: places is NULL", layer);
    if (places->size == sizeof *places) return places;
    attn_places_init(&own);
    if (!at_tape_options(tape, layer, "places", "attn_places_init", places,
                         AT_FIRST_SIZE(attn_places, weights), sizeof own, &own))
        return NULL;
    return at_tape_copy(tape, &own, 1, sizeof own);
}
