/* attention_grid.c: the cases that both passes of attention are checked on. */
#include "support/attention_grid.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The usual patterns; `alternative` 0 .. PATTERNS - 1. */
#define PATTERNS 6
static void set_pattern(test_case *c, int alternative) {
    static const struct {
        int64_t left, right;
        attn_align align;
    } patterns[PATTERNS] = {
        {ATTN_UNLIMITED, ATTN_UNLIMITED, ATTN_ALIGN_START}, /* full */
        {ATTN_UNLIMITED, 0, ATTN_ALIGN_START},              /* causal */
        {ATTN_UNLIMITED, 0, ATTN_ALIGN_END},                /* causal, behind a cache */
        {5, 5, ATTN_ALIGN_START},                           /* window */
        {9, 0, ATTN_ALIGN_END},                             /* causal window */
        {3, ATTN_UNLIMITED, ATTN_ALIGN_END},                /* one-sided */
    };
    c->left = patterns[alternative].left;
    c->right = patterns[alternative].right;
    c->align = patterns[alternative].align;
}

void grid_short_lengths(int passes) {
    for (int64_t queries = 0; queries <= 49; queries++) {
        for (int64_t keys = 0; keys <= 49; keys++) {
            test_case c = case_simple(queries, keys);
            c.d_k = 8;
            c.d_v = 5;
            c.seed = (uint64_t)(queries * 50 + keys);
            c.weights = (queries + keys) % 3 == 0;
            set_pattern(&c, (int)((queries * 7 + keys) % PATTERNS));
            check_case(&c, passes);
        }
    }
}

void grid_long_lengths(int passes) {
    static const int64_t lengths[][2] = {{63, 64},   {64, 64},   {65, 65},   {96, 127},
                                         {128, 128}, {129, 130}, {130, 257}, {257, 130},
                                         {300, 300}, {17, 513},  {513, 17},  {200, 1030}};
    for (size_t k = 0; k < COUNT(lengths); k++) {
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            test_case c = case_simple(lengths[k][0], lengths[k][1]);
            c.seed = (uint64_t)k * PATTERNS + (uint64_t)pattern;
            c.weights = pattern % 2 == 0;
            set_pattern(&c, pattern);
            check_case(&c, passes);
        }
    }
}

void grid_channels(int passes) {
    static const int64_t channels[] = {1,  2,  3,  4,  5,  7,  8,  9,  15, 16,  17,  24,  31,  32,  33,  40,
                                       47, 48, 56, 63, 64, 65, 72, 80, 96, 100, 127, 128, 129, 256, 511, 512};
    for (size_t k = 0; k < COUNT(channels); k++) {
        for (int variant = 0; variant < 3; variant++) {
            test_case c = case_simple(21, 35);
            c.d_k = variant == 1 ? channels[COUNT(channels) - 1 - k] : channels[k];
            c.d_v = variant == 2 ? channels[(k * 5 + 3) % COUNT(channels)] : channels[k];
            c.seed = k * 3 + (uint64_t)variant;
            set_pattern(&c, variant);
            check_case(&c, passes);
        }
    }
}

void grid_heads_and_layouts(int passes) {
    static const int64_t heads[][2] = {{1, 1}, {2, 2}, {3, 1}, {4, 2}, {6, 3}, {8, 1}};
    for (size_t k = 0; k < COUNT(heads); k++) {
        for (int layout = 0; layout < LAYOUTS; layout++) {
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                test_case c = case_simple(19, 23);
                c.sequences = 2;
                c.queries[1] = layout % 2 ? 19 : 6; /* 4-d, with and without lengths */
                c.keys[1] = layout % 2 ? 23 : 11;
                c.heads = heads[k][0];
                c.kv_heads = heads[k][1];
                c.d_k = pattern % 2 ? 16 : 12;
                c.layout = (case_layout)layout;
                c.weights = pattern == 3;
                c.seed = (uint64_t)(layout * PATTERNS + pattern) + k;
                set_pattern(&c, pattern);
                check_case(&c, passes);
            }
        }
    }
}

void grid_ragged(int passes) {
    static const int64_t lengths[][6] = {{0, 1, 5, 0, 40, 2},
                                         {1, 1, 1, 1, 1, 1},
                                         {0, 0, 0, 0, 0, 0},
                                         {33, 0, 0, 70, 1, 16},
                                         {130, 3, 0, 64, 0, 129}};
    for (size_t k = 0; k < COUNT(lengths); k++) {
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            for (int cross = 0; cross < 2; cross++) {
                test_case c = case_simple(0, 0);
                c.sequences = 6;
                for (int b = 0; b < 6; b++) {
                    c.queries[b] = lengths[k][b];
                    c.keys[b] = lengths[k][cross ? 5 - b : b];
                }
                c.heads = c.kv_heads = 2;
                c.weights = cross;
                c.seed = k * 20 + (uint64_t)pattern * 2;
                c.layout = pattern % 2 ? LAYOUT_ROWS : LAYOUT_ROOM;
                set_pattern(&c, pattern);
                check_case(&c, passes);
            }
        }
    }
}

void grid_reach(int passes) {
    static const int64_t reaches[] = {ATTN_UNLIMITED, 0, 1, 2, 15, 16, 17, 40, 1000};
    static const int64_t lengths[][2] = {{37, 37}, {20, 45}, {45, 20}};
    for (size_t l = 0; l < COUNT(reaches); l++) {
        for (size_t r = 0; r < COUNT(reaches); r++) {
            for (int variant = 0; variant < 6; variant++) {
                test_case c = case_simple(lengths[variant % 3][0], lengths[variant % 3][1]);
                c.left = reaches[l];
                c.right = reaches[r];
                c.align = variant < 3 ? ATTN_ALIGN_START : ATTN_ALIGN_END;
                c.weights = true;
                c.seed = l * 100 + r * 10 + (uint64_t)variant;
                check_case(&c, passes);
            }
        }
    }
    test_case c = case_simple(900, 900); /* a narrow window over many tiles */
    c.left = c.right = 64;
    c.weights = true;
    check_case(&c, passes);
}

void grid_masks(int passes) {
    for (int mask = 1; mask < MASKS; mask++) {
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            test_case c = case_simple(70, 330);
            c.sequences = 2;
            c.queries[1] = 131;
            c.keys[1] = 60;
            c.heads = 2;
            c.mask = (case_mask)mask;
            c.weights = pattern % 2;
            c.seed = (uint64_t)(mask * PATTERNS + pattern);
            set_pattern(&c, pattern);
            check_case(&c, passes);
        }
    }
}

void grid_bias(int passes) {
    for (int shared = 0; shared < 16; shared++) {
        for (int order = 0; order < ORDERS; order++) {
            for (int pattern = 0; pattern < 4; pattern++) {
                test_case c = case_simple(18, 40);
                c.sequences = 3;
                c.queries[1] = 33;
                c.keys[1] = 17;
                c.queries[2] = c.keys[2] = 5;
                c.heads = 4;
                c.kv_heads = 2;
                c.bias = true;
                c.bias_shared = shared;
                c.bias_order = (case_order)order;
                c.bias_infinities = pattern % 2;
                c.seed = (uint64_t)(shared * 16 + order * 4 + pattern);
                set_pattern(&c, pattern);
                check_case(&c, passes);
            }
        }
    }
    for (int shared = 0; shared < 16; shared++) { /* over several tiles */
        test_case c = case_simple(150, 270);
        c.bias = true;
        c.bias_shared = shared;
        c.bias_infinities = true;
        c.seed = (uint64_t)shared;
        check_case(&c, passes);
    }
}

void grid_distance(int passes) {
    static const int64_t reaches[] = {0, 1, 2, 7, 8, 16, 31, 100};
    for (size_t k = 0; k < COUNT(reaches); k++) {
        for (int variant = 0; variant < 8; variant++) {
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                test_case c = case_simple(29, 50);
                c.sequences = 2;
                c.queries[1] = 40;
                c.keys[1] = 9;
                c.heads = c.kv_heads = 2;
                c.distance_reach = reaches[k];
                c.distance_shared = variant & 1;
                c.distance_infinities = variant & 2;
                c.alibi = variant & 4;
                c.seed = k * 64 + (uint64_t)(variant * 8 + pattern);
                set_pattern(&c, pattern);
                check_case(&c, passes);
            }
        }
    }
    for (int alibi = 0; alibi < 2; alibi++) { /* over several tiles */
        test_case c = case_simple(140, 300);
        c.distance_reach = alibi ? -1 : 80;
        c.alibi = alibi;
        c.align = ATTN_ALIGN_END;
        check_case(&c, passes);
    }
}

void grid_scores(int passes) {
    static const float scales[] = {0.0f, 1.0f, 0.1f, -0.3f}, softcaps[] = {0.0f, 0.7f, 30.0f};
    static const float dropouts[] = {0.0f, 0.1f, 0.9f};
    for (size_t s = 0; s < COUNT(scales); s++) {
        for (size_t t = 0; t < COUNT(softcaps); t++) {
            for (size_t d = 0; d < COUNT(dropouts); d++) {
                for (int pattern = 0; pattern < PATTERNS; pattern++) {
                    test_case c = case_simple(34, 77);
                    c.heads = 2;
                    c.scale = scales[s];
                    c.softcap = softcaps[t];
                    c.dropout = dropouts[d];
                    c.weights = true;
                    c.seed = s * 64 + t * 16 + d * 4;
                    set_pattern(&c, pattern);
                    check_case(&c, passes);
                }
            }
        }
    }
}

void grid_decode(int passes) {
    static const int64_t keys[] = {1, 8, 100, 511, 1025, 5000};
    for (size_t k = 0; k < COUNT(keys); k++) {
        for (int64_t queries = 1; queries <= 8; queries += 1 + (queries > 2)) {
            for (int variant = 0; variant < 3; variant++) {
                test_case c = case_simple(queries, keys[k]);
                c.heads = 4;
                c.kv_heads = variant == 1 ? 1 : 4;
                c.layout = variant == 2 ? LAYOUT_ROOM : LAYOUT_ROWS;
                c.right = 0;
                c.align = ATTN_ALIGN_END;
                c.left = variant == 2 ? 700 : ATTN_UNLIMITED;
                c.alibi = variant == 1;
                c.seed = k * 64 + (uint64_t)queries * 4 + (uint64_t)variant;
                check_case(&c, passes);
            }
        }
    }
}

void grid_random(int passes, uint64_t seed, int count, int64_t longest) {
    test_random random = {seed};
    for (int k = 0; k < count; k++) {
        test_case c = case_random(&random, longest);
        check_case(&c, passes);
    }
}
