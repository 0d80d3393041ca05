#!/bin/bash
# Every public header compiles by itself: as C11 and, where there is a C++
# compiler, as C++11, without a warning.
set -euo pipefail
: "${SOURCE_DIR:?}"
compiler=${CC:-cc}
warnings=(-Wall -Wextra -Werror -pedantic)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cxx=
for candidate in ${CXX:-} c++ g++ clang++; do
    if command -v "$candidate" >/dev/null; then
        cxx=$candidate
        break
    fi
done

check() { # check COMPILER STANDARD FILE-SUFFIX INCLUDE-FOLDER HEADER
    # Twice, so that the include guard is checked as well.
    printf '#include <%s>\n#include <%s>\nint not_empty;\n' "$5" "$5" >"$folder/alone.$3"
    "$1" "-std=$2" "${warnings[@]}" -I"$4" -fsyntax-only "$folder/alone.$3"
}

# The check can fail: a header that needs another one does not pass.
mkdir "$folder/attn"
printf 'size_t needs_stddef(void);\n' >"$folder/attn/broken.h"
if check "$compiler" c11 c "$folder" attn/broken.h 2>/dev/null; then
    echo "a header that does not stand alone passed" >&2
    exit 1
fi

count=0
for path in "$SOURCE_DIR"/include/attn/*.h; do
    header=attn/$(basename "$path")
    check "$compiler" c11 c "$SOURCE_DIR/include" "$header"
    if [ -n "$cxx" ]; then
        check "$cxx" c++11 cpp "$SOURCE_DIR/include" "$header"
    fi
    count=$((count + 1))
done
if [ "$count" -eq 0 ]; then
    echo "no header was found" >&2
    exit 1
fi
echo "$count headers stand alone: C11${cxx:+, C++11}"
