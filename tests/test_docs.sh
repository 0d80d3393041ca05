#!/bin/bash
# What the documentation says is there:
#
#   - links lead to files and headings that exist
#   - C in README, docs and the comments of headers compiles; whole programs run
#   - commands in README, docs and helps have flags that the program has; none stand outside of ``` in pages
#   - the example of README that makes its own data runs
#   - a list of headers has one on each line
#   - docs/testing.md names every test, and only tests that there are
#   - "NAME (FILE)" in the walk of docs/design.md: the name stands in that file
#   - pages that are printed by a tool are what it prints
#   - what returns a status lists its errors, in its comment or in that of its group; what returns a variable or makes
#     an object with sticky errors, there or in the opening comment of its header
#   - every public header has an example (tests/test_examples.sh runs them)
#
# Each check first finds a mistake that is planted for it.
set -uo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}" "${ATTN_PROGRAM:?}"
compiler=${CC:-cc}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
    printf '%s\n' "$*" >&2
    failures=$((failures + 1))
}
# shellcheck source=tests/support/links.sh
. "$SOURCE_DIR/tests/support/links.sh"

# --- links --------------------------------------------------------------------

mkdir "$folder/planted"
printf '# One page\n\n[a](b.md) [c](#two-pages) [d](#one-page) `[e](f)`\n' >"$folder/planted/a.md"
[ "$(check_links "$folder/planted" | wc -l)" -eq 2 ] || fail "the check of links does not find planted mistakes"
check_links "$SOURCE_DIR" >"$folder/broken"
[ ! -s "$folder/broken" ] || fail "broken links:" "$(cat "$folder/broken")"
count_links=$(for page in $(pages "$SOURCE_DIR"); do links "$page"; done | wc -l)

# --- C --------------------------------------------------------------------------

# What pieces of programs take for granted. Names mean different things in different guides: one of these fits.
common='#include <attn/attn.h>
#include <attn/machine.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
static attn_context *context; static attn_model *model; static attn_predictor *predictor; static attn_prediction *answer, *prediction;
static attn_dataset *dataset, *dev, *test, *train; static attn_config *config; static attn_parameters *parameters; static attn_tape *tape;
static attn_optimizer *optimizer; static attn_optimizer_options training; static attn_embedding *embedding, *words; static attn_encoder *encoder; static attn_linear *output_map, *tags;
static attn_places places; static attn_ragged batch; static attn_stream *stream; static attn_stream_answers answers; static attn_report *report;
static attn_explanation *explanation; static attn_exchange *exchange; static attn_trainer_options trainer_options; static attn_workers *workers;
static attn_encoder_state *state; static attn_mixer_state *mixer_state; static attn_variable *loss_of, *y, *next_rows; static attn_status status;
static int64_t n, d, seed, steps, query_row, entry, heads, kv_heads, room, nodes, edges, rows, channels, recordings, step, count, columns; static int64_t *source, *target, *first_segment, *starts, *ends, *offsets;
static int32_t *ids, *labels_of_rows, *numbers, *sorted; static const char **texts; static float *samples, *bonds, *d_table, *a, *qkv; 
enum { SYMBOLS = 100, STEPS = 3 };
static void fail(const char *text) { puts(text); }
static attn_variable *record(void *user, attn_tape *on, int64_t shard) { (void)user; (void)on; (void)shard; return NULL; }
static attn_graph *graph, *molecules; static const int64_t shape[2]; static attn_drawing_options drawing; static const char *bytes; static size_t length; static attn_trainer *trainer; static void *user;
static int64_t more_samples(float *into) { (void)into; return 0; }
'
operator='static attn_pattern pattern; static attn_attention_options options; static attn_attention_gradients gradients; static attn_tensor q, k, v, o, log_sum_exp;
static float *query, *key, *value, *output, *bias, *table; static const char **labels; static attn_linear *unused;'
views='static attn_pattern pattern; static attn_attention_options options; static attn_tensor query, key, value, output, log_sum_exp; static const char **labels; static float *table;'
network='static attn_encoder_options options; static attn_variable *x, *loss; static int32_t *labels; static attn_linear *output;'
parts='static attn_parameter *table, *weight, *bias; static int32_t *labels; static int64_t query; static attn_variable *loss; static attn_tensor q, k, v, o;'
sequence='static attn_trainer_options options; static attn_parameters *set; static attn_linear *output; static attn_variable *x; static const char **labels; static double loss;'

compiles() { # FILE: a whole program, or a piece that one of the surroundings fits
    local surroundings
    if grep -q 'main(' "$1"; then
        "$compiler" -std=c11 -w -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" -I"$SOURCE_DIR/tests" -fsyntax-only "$1" 2>"$folder/errors"
        return
    fi
    for surroundings in "$operator" "$views" "$network" "$parts" "$sequence"; do
        {
            printf '%s%s\n' "$common" "$surroundings"
            grep '^#include' "$1"
            printf 'int piece(void);\nint piece(void) {\n'
            grep -v '^#include' "$1" | sed -E 's/^ *\.\.\..*$//; s/\) \.\.\.$/) {}/'
            printf '    return 0;\n}\n'
        } >"$folder/piece.c"
        "$compiler" -std=gnu11 -w -Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion \
            -I"$SOURCE_DIR/include" -fsyntax-only "$folder/piece.c" 2>"$folder/errors" && return 0
    done
    return 1
}
printf 'attn_tensor t = attn_tensor_rows(query, n, heads);\n' >"$folder/wrong.c"
compiles "$folder/wrong.c" && fail "the check of C does not find a planted mistake"
printf 'attn_tensor t = attn_tensor_rows(query, n, heads, d);\n' >"$folder/right.c"
compiles "$folder/right.c" || fail "the check of C refuses what is right: $(cat "$folder/errors")"

# Pieces of C into $folder/c/NAME-LINE.c
mkdir "$folder/c"
for page in $(pages "$SOURCE_DIR" | grep -v '/docs/api.md$'); do
    awk -v to="$folder/c/$(basename "$page" .md)" '
        /^```c$/ { inside = 1; file = to "-" FNR ".c"; next }
        /^```/ { inside = 0 }
        inside { print >file }' "$page"
done
# In a header's comments: indented lines that begin with a call of the library, a declaration or a loop; what stands
# two spaces behind the end of a statement is a remark.
for header in "$SOURCE_DIR"/include/attn/*.h; do
    awk -v to="$folder/c/$(basename "$header" .h).h" '
        function flush() { if (text ~ /attn_[a-z_]+\(/ && text ~ /;/ && !broken) printf "%s", text >(to "-" begun ".c"); text = ""; broken = 0 }
        /^ \*     ./ {
            line = $0
            sub(/^ \*     /, "", line)
            sub(/\/\*.*\*\/ *$/, "", line)
            sub(/;   *[^ ].*$/, ";", line)
            sub(/\{   *[^ ].*$/, "{", line)
            if (text == "") begun = FNR
            if (line ~ /^ *(\.\.\.)/) line = ""
            text = text line "\n"
            next
        }
        { flush() }
        END { flush() }' "$header"
done
count_c=0
for piece in "$folder"/c/*.c; do
    name=$(basename "$piece" .c)
    count_c=$((count_c + 1))
    # A function in a comment stands in a file of its own.
    if grep -q '^static attn_variable \*record' "$piece"; then
        { echo '#include <attn/attn.h>'; sed -n '/^static/,/^}/p' "$piece"; } >"$folder/function.c"
        sed -i '/^static/,/^}/d' "$piece"
    fi
    compiles "$piece" || fail "$name does not compile:" "$(head -c 600 "$folder/errors")" "$(cat "$piece")"
    if grep -q 'main(void)' "$piece" && ! grep -q cmocka "$piece"; then
        if "$compiler" -std=c11 -w -I"$SOURCE_DIR/include" "$piece" "$BUILD_DIR/libattn.so" -lm -o "$folder/program" 2>"$folder/errors"; then
            LD_LIBRARY_PATH=$BUILD_DIR "$folder/program" >"$folder/out" || fail "$name does not run"
        else
            fail "$name does not link: $(cat "$folder/errors")"
        fi
    fi
done
[ "$count_c" -ge 20 ] || fail "only $count_c pieces of C were found"

# --- commands -------------------------------------------------------------------

for command in $("$ATTN_PROGRAM" help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$ATTN_PROGRAM" "$command" --help all 2>/dev/null | grep -oE -- '(^  |, )(-[a-z]|--[a-z][a-z0-9-]*)' | grep -oE -- '--?[a-z][a-z0-9-]*' | sort -u >"$folder/flags.$command"
done
printf '%s\n' --bash --zsh >"$folder/flags.help"
# check_commands < lines: those that call attn with a command or a flag that is not there
check_commands() {
    grep -oE '(^|[|(;&"`] *|time |job |srun |mpirun [^|]*|\$ )(build/release/|\./)?attn [a-z][^|;&#`]*' | sed -E 's:^.*(build/release/|\./|^|[^a-z./-])attn ([a-z]):attn \2:' | while read -r line; do
        read -r _ command rest <<<"$line"
        if [ ! -e "$folder/flags.$command" ]; then
            case $command in is | [a-z]*[!a-z]* ) ;; *) echo "no such command: $line" ;; esac
            continue
        fi
        for word in $rest; do
            case $word in
            --) break ;;
            --help | -h | all) continue ;;
            --[a-z]*) word=${word%%=*} ;;
            -[a-z]) ;;
            *) continue ;;
            esac
            word=$(sed 's/[^a-z0-9-]*$//' <<<"$word")
            grep -qxF -e "$word" "$folder/flags.$command" || echo "attn $command has no $word: $line"
        done
    done
}
[ "$(printf 'attn train tag a.conllu --never b\nattn prdict m\nattn predict m --probs\n' | check_commands | wc -l)" -eq 2 ] ||
    fail "the check of commands does not find planted mistakes"
for page in $(pages "$SOURCE_DIR" | grep -vE '/(CHANGELOG|api)\.md$'); do
    awk '/^```(sh)?$/ && !code { code = 1; next } /^```/ { code = 0; next } code' "$page" | check_commands | sed "s:^:$(basename "$page")\: :"
done >"$folder/commands"
for command in "$folder"/flags.*; do
    command=${command##*.}
    "$ATTN_PROGRAM" "$command" --help all 2>/dev/null | sed -n '/^examples*$/,$p' | check_commands | sed "s/^/attn $command --help: /"
done >>"$folder/commands"
[ ! -s "$folder/commands" ] || fail "commands that do not work:" "$(cat "$folder/commands")"

# check_layout FILE: commands in indented text, which the check above does not read; headers that share a line of a list
check_layout() {
    awk '/^```/ { code = !code; next }
        !code && /^    (\$ |([^ ]*\/)?attn [a-z])/ { print FILENAME ":" FNR ": a command outside of ```" }
        !code && /^    .*attn\/[a-z]+\.h .*attn\/[a-z]+\.h / { print FILENAME ":" FNR ": two headers on one line" }' "$1"
}
printf '    attn info m\n```\nattn info m\n```\n    attn/a.h   one attn/b.h   two\n' >"$folder/layout.md"
[ "$(check_layout "$folder/layout.md" | wc -l)" -eq 2 ] || fail "the check of layout does not find planted mistakes"
for page in $(pages "$SOURCE_DIR" | grep -v '/docs/api.md$'); do check_layout "$page"; done >"$folder/layout"
[ ! -s "$folder/layout" ] || fail "$(cat "$folder/layout")"

# The example of README that makes its own data; fewer examples and steps, as it takes a minute else.
awk '/^```/ { if (inside && text ~ /seq 500/) printf "%s", text; inside = !inside; text = ""; next } inside { text = text $0 "\n" }' \
    "$SOURCE_DIR/README.md" | sed "s:seq 500:seq 60:; s:^attn train .*:& --steps 40 --quiet:; s:attn \(train\|predict\):'$ATTN_PROGRAM' \1:" >"$folder/example.sh"
mkdir "$folder/example"
(cd "$folder/example" && bash -euo pipefail ../example.sh >../answer 2>../errors) || fail "the example of README fails:" "$(cat "$folder/errors" "$folder/example.sh")"
grep -q '^date' "$folder/answer" || fail "the example of README predicts:" "$(cat "$folder/answer")"

# --- names, pages, examples -------------------------------------------------------

count_names=0
while read -r name file; do
    count_names=$((count_names + 1))
    grep -qw "$name" "$SOURCE_DIR/$file" 2>"$folder/null" || fail "docs/design.md: $name is not in $file"
done < <(sed -n '/^## The life of one sentence/,/^## Inputs/p' "$SOURCE_DIR/docs/design.md" | tr '\n' ' ' | sed 's/  */ /g' | grep -oE '`[a-z_]+` ?(\(|, )`[a-z_/]+\.[ch]`' | sed -E 's/[`(,]/ /g')
[ "$count_names" -ge 20 ] || fail "only $count_names names with their file were found in docs/design.md"

# tests_off_page < page: tests that it does not name, and names that are no tests
tests_off_page() {
    grep -oE '`test_[A-Za-z0-9_*]+\.(c|sh)`' | tr -d '`' | grep -v NAME | sort -u >"$folder/named"
    (
        cd "$SOURCE_DIR/tests" || exit 1
        while read -r name; do compgen -G "$name" || echo "there is no tests/$name" >&2; done <"$folder/named" | sort -u >"$folder/on_page"
        printf '%s\n' test_*.c test_*.sh | sort | comm -23 - "$folder/on_page" | sed 's/$/ is missing/'
    ) 2>&1
}
[ "$(grep -v test_determinism "$SOURCE_DIR/docs/testing.md" | cat - <(echo '`test_never.c`') | tests_off_page | wc -l)" -eq 2 ] ||
    fail "the check of docs/testing.md does not find planted mistakes"
tests_off_page <"$SOURCE_DIR/docs/testing.md" >"$folder/off"
[ ! -s "$folder/off" ] || fail "docs/testing.md:" "$(cat "$folder/off")"

# without_errors < header: functions that return a status, and the comment before them, without a blank line between,
# does not list the errors. So must functions that return a variable or make an object whose errors are sticky, unless the
# opening comment of the header lists the errors of all of them.
without_errors() {
    awk 'BEGIN { list = "Errors?( as |[a-z, ]*:)" }
        FNR == 1 { opening = 1 }
        opening { text = text substr($0, 3); if (/\*\/$/) { opening = 0; all = text ~ list } next }
        /^$/ { told = 0; group = "" }
        /^\/\*/ { group = "" }
        /^(\/\*| \*)/ { group = group substr($0, 3); told = group ~ list }
        /^ATTN_API attn_status / && !told { sub(/\(.*/, ""); print $3 }
        /^ATTN_API attn_variable \*/ || /^ATTN_API attn_[a-z_]+ \*attn_[a-z_]+_(create|add)[a-z_]*\(/ {
            if (!told && !all) { sub(/\(.*/, ""); sub(/.*\*/, ""); print }
        }'
}
planted='/* x.h: x. */
/* Takes x. */
ATTN_API attn_status attn_x(int x);

/* Error of y is INVALID_ARGUMENT. */
ATTN_API attn_status attn_y(int y);

ATTN_API attn_variable *attn_z(int z);

ATTN_API attn_part *attn_part_create(int z);

/* Makes it. Errors, which are
 * sticky: OVERFLOW. */
ATTN_API attn_variable *attn_good(int y);
/* Errors as attn_good. */
ATTN_API attn_status attn_better(int y);
ATTN_API attn_status attn_best(int y);
/* The same with w. */
ATTN_API attn_status attn_w(int w);'
[ "$(without_errors <<<"$planted" | tr '\n' ' ')" = 'attn_x attn_y attn_z attn_part_create attn_w ' ] ||
    fail "the check of errors does not find planted mistakes"
[ "$(sed 's/^.*x\.h: x\./\/* x.h: x. Errors of all: OVERFLOW./' <<<"$planted" | without_errors | tr '\n' ' ')" = 'attn_x attn_y attn_w ' ] ||
    fail "the check of errors does not take those of the opening comment"
for header in "$SOURCE_DIR"/include/attn/*.h; do
    for name in $(without_errors <"$header"); do fail "$(basename "$header"): $name does not say which errors it has"; done
done

cd "$SOURCE_DIR" || exit 1
for page in api-page:docs/api.md folders-drawing:docs/folders.svg; do
    tools/"${page%%:*}" | cmp -s - "${page#*:}" || fail "${page#*:} is not up to date: tools/${page%%:*} >${page#*:}"
done
for header in include/attn/*.h; do
    name=$(basename "$header" .h)
    [ -e "examples/headers/$name.c" ] || fail "attn/$name.h has no example: examples/headers/$name.c"
done

echo "$count_links links, $count_c pieces of C, $count_names names: $failures mistakes"
[ "$failures" -eq 0 ]
