/* sequences.c: answers of their own length as lines and as JSON (see sequences.h). */
#include "sequences.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "text.h"

int64_t sequences_strongest(const attn_answers *answered, int64_t example, int64_t number, int64_t symbol) {
    const float *weights = attn_answers_alignment(answered, example, number);
    int64_t units = attn_answers_source_units(answered, example), best = 0;
    if (weights == NULL || units == 0) return -1;
    weights += symbol * units;
    for (int64_t u = 1; u < units; u++)
        if (weights[u] > weights[best]) best = u;
    return best;
}

/* ---- lines ---- */

static void print_pairs(const attn_answers *answered, int64_t example, int64_t number) {
    for (int64_t s = 0; s < attn_answers_symbols(answered, example, number); s++) {
        int64_t unit = sequences_strongest(answered, example, number, s);
        if (unit < 0) break;
        printf("%s%" PRId64 "-%" PRId64, s > 0 ? " " : "", unit, s);
    }
}

static void print_lines(const sequences *print, const attn_answers *answered, int64_t example) {
    for (int64_t a = 0; a < attn_answers_count(answered, example); a++) {
        if (print->ranked) printf("%" PRId64 "\t%.4f\t", a + 1, attn_answers_score(answered, example, a));
        answers_text(print->how, stdout, attn_answers_text(answered, example, a));
        if (print->alignment) {
            putchar('\t');
            print_pairs(answered, example, a);
        }
        putchar('\n');
    }
}

/* ---- JSON ---- */

static void json_alignment(const attn_answers *answered, int64_t example, int64_t number) {
    const float *weights = attn_answers_alignment(answered, example, number);
    int64_t units = attn_answers_source_units(answered, example);
    int64_t symbols = weights != NULL ? attn_answers_symbols(answered, example, number) : 0;
    fputs(",\"alignment\":[", stdout);
    for (int64_t s = 0; s < symbols; s++) {
        fputs(s > 0 ? ",[" : "[", stdout);
        for (int64_t u = 0; u < units; u++) {
            double weight = (double)weights[s * units + u];
            printf(isfinite(weight) ? "%s%.4g" : "%snull", u > 0 ? "," : "", weight);
        }
        putchar(']');
    }
    putchar(']');
}

static void json_answer(const sequences *print, const attn_answers *answered, int64_t example,
                        int64_t number) {
    double score = attn_answers_score(answered, example, number);
    fputs("{\"text\":", stdout);
    text_print_json(stdout, attn_answers_text(answered, example, number));
    if (isfinite(score))
        printf(",\"score\":%.6g", score);
    else
        fputs(",\"score\":null", stdout);
    printf(",\"ended\":%s,\"symbols\":[", attn_answers_ended(answered, example, number) ? "true" : "false");
    for (int64_t s = 0; s < attn_answers_symbols(answered, example, number); s++) {
        if (s > 0) putchar(',');
        text_print_json(stdout, attn_answers_symbol(answered, example, number, s));
    }
    putchar(']');
    if (print->alignment) json_alignment(answered, example, number);
    putchar('}');
}

static void print_json(const sequences *print, const char *source, const attn_answers *answered,
                       int64_t example) {
    fputs("{\"source\":", stdout);
    text_print_json(stdout, source);
    if (print->alignment) {
        fputs(",\"units\":[", stdout);
        for (int64_t u = 0; u < attn_answers_source_units(answered, example); u++) {
            if (u > 0) putchar(',');
            text_print_json(stdout, attn_answers_source_unit(answered, example, u));
        }
        putchar(']');
    }
    fputs(",\"answers\":[", stdout);
    for (int64_t a = 0; a < attn_answers_count(answered, example); a++) {
        if (a > 0) putchar(',');
        json_answer(print, answered, example, a);
    }
    fputs("]}\n", stdout);
}

void sequences_print(const sequences *print, const attn_dataset *dataset, const attn_answers *answered) {
    for (int64_t e = 0; e < attn_answers_examples(answered); e++) {
        if (print->how->json)
            print_json(print, attn_dataset_token(dataset, e, 0), answered, e);
        else
            print_lines(print, answered, e);
    }
}
