/* fuzz_conllu.c: any bytes as CoNLL-U. */
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "FEATS,xpos", "FEATS:Number,MISC:SpaceAfter",
                                          "MISC,HEAD,UPOS"};
    static const char *const names[] = {"a.conllu", "a", "a.conll", "a.txt"};
    return fuzz_parse(ATTN_FORMAT_CONLLU, columns, names, NULL, data, size);
}
