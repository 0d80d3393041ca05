#!/bin/bash
# The examples: one for each header (examples/headers), which ends with 0 only if its numbers are what it says, and
# the short form of the README, which prints what the README says. Those that train longer are run by
# test_install.sh. Every example is built without a warning, against the shared library.
set -euo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}"
compiler=${CC:-cc}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$BUILD_DIR
build() { # build SOURCE NAME
    "$compiler" -std=c11 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" "$SOURCE_DIR/examples/$1" "$BUILD_DIR/libattn.so" \
        -lm -o "$folder/$2"
}
failures=0 count=0
# trainer.c first: it writes the model that others read.
for name in trainer $(cd "$SOURCE_DIR/examples/headers" && printf '%s\n' *.c | sed 's/\.c$//' | grep -v '^trainer$'); do
    build "headers/$name.c" "$name"
    arguments=()
    case $name in
    trainer | model | predictor | report | explain) arguments=("$folder/tagger.safetensors") ;;
    stream) arguments=("$folder/levels.safetensors") ;;
    esac
    count=$((count + 1))
    if ! ATTN_THREADS=2 "$folder/$name" "${arguments[@]}" >"$folder/out" 2>&1 || [ ! -s "$folder/out" ]; then
        echo "examples/headers/$name.c failed:"
        cat "$folder/out"
        failures=$((failures + 1))
    fi
done
build short.c short
expected='row 0   1.0  10.0
row 1   1.5  15.0
row 2   2.0  20.0
row 3   4.0  40.0
row 4   4.5  45.0'
[ "$("$folder/short")" = "$expected" ] || { echo "examples/short.c does not print what the README says"; failures=$((failures + 1)); }
for source in attention network predict sort; do build "$source.c" "$source"; done
echo "$count examples of headers, $failures failures"
[ "$failures" -eq 0 ]
