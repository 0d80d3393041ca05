/* resample.c: samples at another rate, through libsamplerate. */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/speech/sound.h"

int64_t at_resampled_count(int64_t count, int64_t from, int64_t to) {
    if (from == to) return count;
    double exact = (double)count * (double)to / (double)from;
    int64_t made = (int64_t)(exact + 0.5);
    return made > 0 ? made : 1;
}

#ifdef AT_HAVE_SAMPLERATE

#include <samplerate.h>

enum { PIECE = 1 << 20 }; /* samples that are handed over at once: the library counts in long */

static attn_status fail(attn_context *context, int64_t from, int64_t to, int error) {
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "%" PRId64 " samples per second cannot be resampled to %" PRId64 " (libsamplerate: %s)",
                   from, to, src_strerror(error));
}

attn_status at_resample(attn_context *context, const float *samples, int64_t count, int64_t from, int64_t to,
                        float *resampled) {
    int64_t wanted = at_resampled_count(count, from, to), taken = 0, made = 0;
    double ratio = (double)to / (double)from;
    int error = 0;
    if (from == to) {
        memcpy(resampled, samples, (size_t)count * sizeof *samples);
        return ATTN_OK;
    }
    if (!src_is_valid_ratio(ratio)) return fail(context, from, to, 6); /* SRC_ERR_BAD_SRC_RATIO */
    SRC_STATE *state = src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error);
    if (!state) return fail(context, from, to, error);
    while (made < wanted && error == 0) {
        int64_t piece = count - taken < PIECE ? count - taken : PIECE;
        int64_t room = wanted - made < PIECE ? wanted - made : PIECE;
        SRC_DATA data = {.data_in = samples + taken,
                         .data_out = resampled + made,
                         .input_frames = (long)piece,
                         .output_frames = (long)room,
                         .end_of_input = taken + piece == count,
                         .src_ratio = ratio};
        error = src_process(state, &data);
        if (error == 0 && data.input_frames_used == 0 && data.output_frames_gen == 0) break;
        taken += data.input_frames_used;
        made += data.output_frames_gen;
    }
    src_delete(state);
    if (error != 0) return fail(context, from, to, error);
    memset(resampled + made, 0, (size_t)(wanted - made) * sizeof *resampled); /* a rounded end */
    return ATTN_OK;
}

/* ---- in pieces ---- */

struct at_resampler {
    attn_context *context;
    SRC_STATE *state;
    int64_t from, to, taken, made; /* samples so far */
    float *numbers;
    int64_t room;
};

attn_status at_resampler_create(attn_context *context, int64_t from, int64_t to, at_resampler **resampler) {
    int error = 0;
    if (!src_is_valid_ratio((double)to / (double)from)) return fail(context, from, to, 6);
    at_resampler *made = at_allocate(context, 1, sizeof *made, "samples at another rate");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *made = (at_resampler){.context = context, .from = from, .to = to};
    made->state = src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error);
    if (!made->state) {
        at_release(context, made);
        return fail(context, from, to, error);
    }
    *resampler = made;
    return ATTN_OK;
}

void at_resampler_destroy(at_resampler *resampler) {
    if (!resampler) return;
    src_delete(resampler->state);
    at_release(resampler->context, resampler->numbers);
    at_release(resampler->context, resampler);
}

/* One call of the library; *more: there may be more to take or to give. */
static attn_status push_some(at_resampler *by, const float **samples, int64_t *left, int64_t *have, int last,
                             int *more) {
    int64_t piece = *left < PIECE ? *left : PIECE, room = piece * by->to / by->from + 64;
    attn_status status =
        at_grow(by->context, &by->numbers, &by->room, *have + room, sizeof *by->numbers, "samples");
    if (status != ATTN_OK) return status;
    SRC_DATA data = {.data_in = *samples,
                     .data_out = by->numbers + *have,
                     .input_frames = (long)piece,
                     .output_frames = (long)room,
                     .end_of_input = last && piece == *left,
                     .src_ratio = (double)by->to / (double)by->from};
    int error = src_process(by->state, &data);
    if (error != 0) return fail(by->context, by->from, by->to, error);
    *samples += data.input_frames_used;
    *left -= data.input_frames_used;
    *have += data.output_frames_gen;
    *more = data.input_frames_used > 0 || data.output_frames_gen > 0;
    return ATTN_OK;
}

attn_status at_resampler_push(at_resampler *by, const float **samples, int64_t *count, int last) {
    static const float none[1];
    int64_t left = *count, have = 0;
    const float *from = left ? *samples : none;
    attn_status status = ATTN_OK;
    int more = left > 0 || last;
    by->taken += left;
    while (more && status == ATTN_OK) status = push_some(by, &from, &left, &have, last, &more);
    if (status != ATTN_OK) return status;
    if (last) { /* a rounded end */
        int64_t wanted = at_resampled_count(by->taken, by->from, by->to) - by->made;
        if (wanted < 0) wanted = 0;
        status = at_grow(by->context, &by->numbers, &by->room, wanted + 1, sizeof *by->numbers, "samples");
        if (status != ATTN_OK) return status;
        if (have < wanted) memset(by->numbers + have, 0, (size_t)(wanted - have) * sizeof *by->numbers);
        have = wanted;
    }
    by->made += have;
    *samples = by->numbers;
    *count = have;
    return ATTN_OK;
}

#else

struct at_resampler {
    int none;
};

attn_status at_resampler_create(attn_context *context, int64_t from, int64_t to, at_resampler **resampler) {
    float nothing = 0;
    (void)resampler;
    return at_resample(context, &nothing, 0, from, to, &nothing);
}

void at_resampler_destroy(at_resampler *resampler) { (void)resampler; }

attn_status at_resampler_push(at_resampler *by, const float **samples, int64_t *count, int last) {
    (void)by;
    (void)samples;
    (void)count;
    (void)last;
    return ATTN_UNSUPPORTED;
}

attn_status at_resample(attn_context *context, const float *samples, int64_t count, int64_t from, int64_t to,
                        float *resampled) {
    if (from == to) {
        memcpy(resampled, samples, (size_t)count * sizeof *samples);
        return ATTN_OK;
    }
    return at_fail(context, ATTN_UNSUPPORTED,
                   "a recording has %" PRId64 " samples a second, the model %" PRId64
                   ", and this attn was built without libsamplerate (Debian: libsamplerate0-dev), which "
                   "resamples: use sox -r %" PRId64,
                   from, to, to);
}

#endif
