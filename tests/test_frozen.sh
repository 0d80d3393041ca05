#!/bin/bash
# A program that was compiled yesterday runs with the library of today. tests/frozen/attn is a copy of the public
# headers as they were, without their comments; a program compiled against it is linked with the library as it is.
# The layout of every struct is compared, member by member:
#
#     begins with size    members stay where they are; more may follow. Options inside of others stay in their room
#     plain               the same, to the byte
#     lent                attn_map, attn_training_state: the library's own, read through a pointer: more may follow
#
# Enum values stay. A change that this test refuses on purpose comes with a new major (before 1.0: minor) version
# and a new copy: cp include/attn/*.h tests/frozen/attn/.
set -euo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}"
compiler=${CC:-cc}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
frozen=$SOURCE_DIR/tests/frozen

layouts() { # layouts FOLDER-WITH-attn NAME: the layouts into $folder/NAME
    "$SOURCE_DIR/tools/struct-layouts" "$1/attn" >"$folder/$2.c"
    "$compiler" -std=c11 -I"$1" "$folder/$2.c" -o "$folder/$2.program" "$BUILD_DIR/libattn.so"
    LD_LIBRARY_PATH=$BUILD_DIR "$folder/$2.program" >"$folder/$2.layout"
    [ "$(grep -c ' - ' "$folder/$2.layout")" -eq "$(cat "$1"/attn/*.h | grep -c '^typedef struct attn_[a-z_]* {')" ] || {
        echo "not every struct of $1 was read" >&2
        return 1
    }
}

compare() { # compare OLD NEW: what an older program would trip over
    awk '
        FNR == NR { if ($2 == "-") { bytes[$1] = $3; sort[$1] = $4 } else { at[$1, $2] = $3; size[$1, $2] = $4 } next }
        $2 == "-" { new_bytes[$1] = $3; new_sort[$1] = $4; next }
        { new_at[$1, $2] = $3; new_size[$1, $2] = $4 }
        END {
            for (name in bytes) {
                lent = name == "attn_map" || name == "attn_training_state"
                if (!(name in new_bytes)) print name " is gone"
                else if (new_bytes[name] < bytes[name]) print name " is smaller"
                else if (sort[name] != new_sort[name]) print name " was " sort[name] " and is " new_sort[name]
                else if (sort[name] == "plain" && !lent && new_bytes[name] != bytes[name]) print name " grew, and cannot"
            }
            for (key in at) {
                split(key, part, SUBSEP)
                if (!(part[1] in new_bytes)) continue
                if (!(key in new_at)) print part[1] "." part[2] " is gone"
                else if (new_at[key] != at[key]) print part[1] "." part[2] " moved from " at[key] " to " new_at[key]
                else if (new_size[key] != size[key] && !((part[1], part[2] "_room") in at)) print part[1] "." part[2] " has another size"
            }
        }' "$1" "$2" | sort
}

# The check can fail: headers with one change of each kind.
layouts "$frozen" old
cp -r "$frozen" "$folder/changed"
sed -i 's/^    int64_t sequences;$/    int64_t added, sequences;/' "$folder/changed/attn/ragged.h" # plain, and inside of others
sed -i 's/^    int64_t inner;.*/    int inner;/' "$folder/changed/attn/layers.h"
sed -i 's/^    int64_t brevity.*//; s/^    double brevity_penalty;//' "$folder/changed/attn/scores.h"
layouts "$folder/changed" changed
compare "$folder/old.layout" "$folder/changed.layout" >"$folder/found"
for text in "attn_ragged grew, and cannot" "attn_ragged.sequences moved" "attn_block_options.inner has another size" \
    "attn_bleu.brevity_penalty is gone" "attn_bleu is smaller"; do
    grep -q "^$text" "$folder/found" || { echo "a change was not found: $text"; cat "$folder/found"; exit 1; }
done
# More at the end, also of what is inside of others, is no breach.
cp -r "$frozen" "$folder/grown"
sed -i 's/^} attn_multihead_options;/    int64_t more[8];\n&/; s/^} attn_places;/    int64_t more[8];\n&/' "$folder/grown/attn/layers.h"
layouts "$folder/grown" grown
compare "$folder/old.layout" "$folder/grown.layout" >"$folder/found"
[ ! -s "$folder/found" ] || { echo "what may grow was refused"; cat "$folder/found"; exit 1; }

layouts "$SOURCE_DIR/include" new
# Members and structs that have another name now (CHANGELOG): only the name may differ.
sed -i 's/^attn_number_metrics /attn_number_scores /; s/^attn_class_metrics /attn_class_scores /
    s/^attn_model_metric_text /attn_model_score_text /
    s/^\(attn_training_state\) value /\1 score /; s/^\(attn_training_state\) best_value /\1 best_score /
    s/^\(attn_training_state\) splitter_f1 /\1 splitter_score /' "$folder/new.layout"
compare "$folder/old.layout" "$folder/new.layout" >"$folder/found"
if [ -s "$folder/found" ]; then
    echo "an older program would not work:"
    cat "$folder/found"
    exit 1
fi

# Enum values.
{
    printf '#include <attn/attn.h>\n'
    grep -hoE '^ *ATTN_[A-Z0-9_]+ = [0-9]+' "$frozen"/attn/*.h | sed 's/^ *\(.*\) = \(.*\)/_Static_assert(\1 == \2, "\1");/'
} >"$folder/enums.c"
[ "$(wc -l <"$folder/enums.c")" -gt 50 ]
"$compiler" -std=c11 -I"$SOURCE_DIR/include" -fsyntax-only "$folder/enums.c"

# The program.
"$compiler" -std=c11 -Wall -Wextra -Werror -I"$frozen" "$frozen/program.c" "$BUILD_DIR/libattn.so" -lm -o "$folder/program"
LD_LIBRARY_PATH=$BUILD_DIR "$folder/program"
echo "$(grep -c ' - ' "$folder/old.layout") structs are as older programs know them, and one runs"
