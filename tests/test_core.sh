#!/bin/bash
# The core by itself: operators, tape, layers and optimisers build, install and learn
# without jansson, utf8proc and zlib, as libattn_core. Headers of these names that only say
# #error stand first in the include path, so a build that reaches for one of them fails.
set -euo pipefail
: "${SOURCE_DIR:?}"
compiler=${CC:-cc}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix

fail() {
    echo "$*" >&2
    exit 1
}

mkdir "$folder/out-of-reach"
for header in jansson.h utf8proc.h zlib.h; do
    echo "#error \"the core needs no $header\"" >"$folder/out-of-reach/$header"
done

# The check can fail: the whole library does not compile so.
if "$compiler" -std=c11 -I"$folder/out-of-reach" -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" -fsyntax-only \
    "$SOURCE_DIR/src/data/file.c" 2>/dev/null; then
    fail "a file that includes zlib.h compiles: the headers are not out of reach"
fi

# All instruction sets, but little optimised: it is the compiling that takes time here.
cmake -S "$SOURCE_DIR" -B "$folder/build" -G Ninja -DATTN_CORE_ONLY=ON -DATTN_WERROR=ON \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Quick -DCMAKE_C_FLAGS_QUICK="-O1 -DNDEBUG" \
    -DCMAKE_C_FLAGS="-I$folder/out-of-reach" -DCMAKE_INSTALL_PREFIX="$prefix" >/dev/null
if grep -iE 'jansson|utf8proc|zlib' "$folder/build/CMakeCache.txt"; then
    fail "the core was configured with a library that it does not need"
fi
cmake --build "$folder/build" --target library >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
cmake --install "$folder/build" >/dev/null
library=$(dirname "$(find "$prefix" -name libattn_core.a)")
[ -e "$library/libattn_core.so" ] || fail "there is no libattn_core.so in $library"
[ ! -e "$prefix/include/attn/attn.h" ] || fail "attn.h is installed with the core"
undefined=$(nm -u "$library/libattn_core.a" 2>/dev/null | grep -E ' (json_|utf8proc_|gz|inflate|deflate)' || true)
[ -z "$undefined" ] || fail "the core uses $undefined"

# The sorter, by the installed headers and nothing else, shared and static.
cp "$SOURCE_DIR/examples/sort.c" "$folder/sort.c"
export PKG_CONFIG_PATH=$library/pkgconfig
read -ra shared < <(pkg-config --cflags --libs attn_core)
read -ra static < <(pkg-config --static --cflags --libs attn_core)
"$compiler" -std=c11 "$folder/sort.c" "${shared[@]}" -o "$folder/sort"
"$compiler" -std=c11 "$folder/sort.c" -static "${static[@]}" -o "$folder/sort-static"
if nm -D --undefined-only "$library/libattn_core.so" | grep -E ' (json_|utf8proc_|gz)'; then
    fail "the shared core wants other libraries"
fi

# It learns: an untrained network has a loss of log(100) = 4.6 and sorts none of 1000.
learned=$(env LD_LIBRARY_PATH="$library" "$folder/sort" 1000)
sorted=$(printf '%s\n' "$learned" | sed -n 's/^\([0-9]*\) of 1000 unseen.*/\1/p')
[ "${sorted:-0}" -ge 100 ] || fail "the core learns little:" "$learned"
"$folder/sort-static" 101 | grep -q ' of 1000 unseen sequences' || fail "the static core does not run"
echo "the core sorts $sorted of 1000 sequences"
