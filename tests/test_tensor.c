/* test_tensor.c: the views, element by element, and the default pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <attn/pattern.h>
#include <attn/tensor.h>

static void check_common(const attn_tensor *view, const void *data, int rank) {
    assert_ptr_equal(view->data, data);
    assert_int_equal(view->dtype, ATTN_F32);
    assert_int_equal(view->device, ATTN_CPU);
    assert_int_equal(view->rank, rank);
}

static void a_view_is_row_major(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 3, 4, 5};
    static const int64_t strides[5][4] = {{0}, {1}, {3, 1}, {12, 4, 1}, {60, 20, 5, 1}};
    float data[1];
    for (int rank = 1; rank <= ATTN_MAX_RANK; rank++) {
        attn_tensor view = attn_tensor_view(data, rank, shape);
        check_common(&view, data, rank);
        for (int axis = 0; axis < rank; axis++) {
            assert_int_equal(view.shape[axis], shape[axis]);
            assert_int_equal(view.stride[axis], strides[rank][axis]);
        }
        for (int axis = rank; axis < ATTN_MAX_RANK; axis++) {
            assert_int_equal(view.shape[axis], 0);
            assert_int_equal(view.stride[axis], 0);
        }
    }
}

static void an_impossible_rank_gives_rank_0(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 3, 4, 5, 6};
    static const int ranks[] = {-1, 0, 5, 1000};
    float data[1];
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        attn_tensor view = attn_tensor_view(data, ranks[i], shape);
        check_common(&view, data, 0);
    }
}

/* Extents whose product no int64_t holds: the view is made all the same (the
 * call that gets it refuses it), without undefined arithmetic. */
static void huge_extents_are_kept(void **state) {
    (void)state;
    static const int64_t shape[] = {INT64_MAX, INT64_MAX, INT64_MAX, -5};
    attn_tensor view = attn_tensor_view(NULL, 4, shape);
    check_common(&view, NULL, 4);
    for (int axis = 0; axis < 4; axis++) assert_int_equal(view.shape[axis], shape[axis]);
}

static void rows_hold_their_heads_side_by_side(void **state) {
    (void)state;
    float data[7 * 3 * 5];
    attn_tensor view = attn_tensor_rows(data, 7, 3, 5);
    check_common(&view, data, 3);
    for (int64_t row = 0; row < 7; row++)
        for (int64_t head = 0; head < 3; head++)
            for (int64_t channel = 0; channel < 5; channel++)
                assert_int_equal(row * view.stride[0] + head * view.stride[1] + channel * view.stride[2],
                                 (row * 3 + head) * 5 + channel);
    assert_int_equal(view.shape[0], 7);
    assert_int_equal(view.shape[1], 3);
    assert_int_equal(view.shape[2], 5);
}

static void bhnd_swaps_rows_and_heads(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 7, 3, 5}; /* sequence, row, head, channel */
    float data[1];
    attn_tensor view = attn_tensor_bhnd(data, 2, 3, 7, 5);
    check_common(&view, data, 4);
    for (int axis = 0; axis < 4; axis++) assert_int_equal(view.shape[axis], shape[axis]);
    for (int64_t sequence = 0; sequence < 2; sequence++)
        for (int64_t row = 0; row < 7; row++)
            for (int64_t head = 0; head < 3; head++)
                for (int64_t channel = 0; channel < 5; channel++)
                    assert_int_equal(sequence * view.stride[0] + row * view.stride[1] +
                                         head * view.stride[2] + channel * view.stride[3],
                                     ((sequence * 3 + head) * 7 + row) * 5 + channel);
}

static void a_matrix_is_row_major(void **state) {
    (void)state;
    float data[1];
    attn_tensor view = attn_tensor_matrix(data, 4, 9);
    check_common(&view, data, 2);
    assert_int_equal(view.shape[0], 4);
    assert_int_equal(view.shape[1], 9);
    assert_int_equal(view.stride[0], 9);
    assert_int_equal(view.stride[1], 1);
}

static void the_default_pattern_is_full_attention(void **state) {
    (void)state;
    attn_pattern pattern;
    memset(&pattern, 0x5a, sizeof pattern);
    attn_pattern_init(&pattern);
    assert_int_equal(pattern.size, sizeof pattern);
    assert_int_equal(pattern.sequences, 0);
    assert_null(pattern.query_offsets);
    assert_null(pattern.key_offsets);
    assert_null(pattern.query_lengths);
    assert_null(pattern.key_lengths);
    assert_int_equal(pattern.left, ATTN_UNLIMITED);
    assert_int_equal(pattern.right, ATTN_UNLIMITED);
    assert_int_equal(pattern.align, ATTN_ALIGN_START);
    assert_null(pattern.mask.bits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_is_row_major),
        cmocka_unit_test(an_impossible_rank_gives_rank_0),
        cmocka_unit_test(huge_extents_are_kept),
        cmocka_unit_test(rows_hold_their_heads_side_by_side),
        cmocka_unit_test(bhnd_swaps_rows_and_heads),
        cmocka_unit_test(a_matrix_is_row_major),
        cmocka_unit_test(the_default_pattern_is_full_attention),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
