/* scene.c: a recording as it is drawn: its spectra over time. */
#include "base/memory.h"
#include "inputs/speech/speech.h"

attn_status at_speech_scene(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                            int64_t count, at_scene *scene) {
    const at_speech_values *values = &at_speech_input_of(input)->values;
    const at_speech_encoded *own = at_speech_encoded_of(encoded);
    int64_t columns = own->rows.columns, bins = columns;
    if (values->features != AT_SPEECH_GIVEN) bins = columns / (values->deltas + 1); /* slopes stand behind */
    int64_t begin = own->rows.offsets[example], end = own->rows.offsets[example + 1];
    int64_t each = values->stride;
    scene->spectrum = at_allocate(scene->context, count * each * bins, sizeof *scene->spectrum, "a drawing");
    if (!scene->spectrum) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count * each; i++) {
        int64_t frame = begin + (first - encoded->offsets[example]) * each + i;
        if (frame >= end) frame = end - 1; /* the last row may have fewer */
        for (int64_t b = 0; b < bins && end > begin; b++)
            scene->spectrum[i * bins + b] = own->rows.numbers[frame * columns + b];
    }
    scene->spectra = each;
    scene->kind = AT_SCENE_FRAMES;
    scene->rows = count;
    scene->bins = bins;
    scene->step = own->step;
    scene->begin = own->center + (double)(first - encoded->offsets[example]) * own->step;
    return ATTN_OK;
}
