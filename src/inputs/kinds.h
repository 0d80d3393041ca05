/* kinds.h: the kinds of input: one line each. Files that no other kind recognises belong to the first; if
 * several recognise a file, the last of them gets it.
 */
#ifndef AT_INPUTS_KINDS_H
#define AT_INPUTS_KINDS_H

#include "inputs/input.h"

extern const at_input_kind at_text_kind, at_vectors_kind, at_speech_kind, at_image_kind, at_graph_kind,
    at_molecule_kind;

#define AT_INPUT_KINDS                                                                                       \
    { &at_text_kind, &at_vectors_kind, &at_speech_kind, &at_image_kind, &at_graph_kind, &at_molecule_kind }

#endif
