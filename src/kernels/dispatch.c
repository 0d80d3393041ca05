/* dispatch.c: from an instruction set to its kernels. */
#include "kernels/isa/tables.h"

const at_kernels *at_kernels_for(at_isa isa) {
    switch (isa) {
#ifdef AT_HAVE_AVX512
    case AT_ISA_AVX512: return &at_kernels_avx512;
    case AT_ISA_AVX512X2: return &at_kernels_avx512x2;
#endif
#ifdef AT_HAVE_AVX2
    case AT_ISA_AVX2: return &at_kernels_avx2;
#endif
#ifdef AT_HAVE_NEON
    case AT_ISA_NEON: return &at_kernels_neon;
#endif
    default: return &at_kernels_scalar;
    }
}

const at_row_kernels *at_row_kernels_for(at_isa isa) {
    switch (isa) {
#ifdef AT_HAVE_AVX512
    case AT_ISA_AVX512:
    case AT_ISA_AVX512X2: return &at_row_kernels_avx512;
#endif
#ifdef AT_HAVE_AVX2
    case AT_ISA_AVX2: return &at_row_kernels_avx2;
#endif
#ifdef AT_HAVE_NEON
    case AT_ISA_NEON: return &at_row_kernels_neon;
#endif
    default: return &at_row_kernels_scalar;
    }
}
