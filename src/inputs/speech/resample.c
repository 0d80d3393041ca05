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
                   "%" PRId64 " samples a second cannot be brought to %" PRId64 " (libsamplerate: %s)", from,
                   to, src_strerror(error));
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

#else

attn_status at_resample(attn_context *context, const float *samples, int64_t count, int64_t from, int64_t to,
                        float *resampled) {
    if (from == to) {
        memcpy(resampled, samples, (size_t)count * sizeof *samples);
        return ATTN_OK;
    }
    return at_fail(
        context, ATTN_UNSUPPORTED,
        "a recording has %" PRId64 " samples a second, the model %" PRId64
        ", and this attn was built without libsamplerate (Debian: libsamplerate0-dev), which brings "
        "one to the other: do it with sox -r %" PRId64,
        from, to, to);
}

#endif
