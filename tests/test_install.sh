#!/bin/bash
# The installed library, as a user meets it: installs into a temporary folder
# and builds the example against what lies there, through pkg-config (shared,
# static) and through find_package (shared, static); each program runs and
# prints the right numbers; so do the examples that train. Also: links of the installed pages lead somewhere, and
# the shared library exports attn_* and nothing else, under the name libattn.so.0.1.
set -euo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}"
compiler=${CC:-cc}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix

fail() {
    echo "$*" >&2
    exit 1
}

# Worked out independently, in double precision, from the formulas in attn/attention.h.
expected=$(cat <<'NUMBERS'
output, head 0
  row 0   -2.0000  -1.2500  -0.5000   0.2500
  row 1   -1.4145  -0.6645   0.0855   0.8355
  row 2   -0.6459  -0.8099  -0.0599   0.6901
  row 3   -1.0000  -0.2500   0.5000   1.2500
  row 4   -0.5185   0.2315  -0.1878   0.5622
gradient of value, head 0
  row 0   -0.8060   0.2473   0.5284   0.4173
  row 1    0.0023   0.3414   0.0791  -0.1673
  row 2    0.0538   0.1613  -0.1075   0.0000
  row 3    0.3876  -0.5000   0.3624  -0.0437
  row 4   -0.1376   0.0000   0.1376  -0.2063
gradient of query, head 0
  row 0    0.0000   0.0000   0.0000   0.0000
  row 1    0.1461   0.0244   0.0609  -0.0609
  row 2    0.2776   0.0495   0.1430  -0.0852
  row 3    0.0000   0.0000   0.0000   0.0000
  row 4   -0.0374  -0.0561  -0.0748  -0.0125
NUMBERS
)

check_program() { # check_program NAME COMMAND...
    local name=$1 printed
    shift
    printed=$("$@") || fail "$name: failed"
    case $printed in
    "attn "*) ;;
    *) fail "$name: does not begin with the version: $printed" ;;
    esac
    printed=$(printf '%s\n' "$printed" | sed -e 1d -e 's/-0\.0000/ 0.0000/g')
    [ "$printed" = "$expected" ] || fail "$name printed" "$printed" "instead of" "$expected"
    echo "$name: right"
}

# Nothing of the source tree may help: the example is copied away from it.
cmake --install "$BUILD_DIR" --prefix "$prefix" >/dev/null
cp -r "$SOURCE_DIR/examples" "$folder/examples"
library=$(dirname "$(find "$prefix" -name libattn.a)")
[ -e "$library/libattn.so.0.1" ] || fail "there is no libattn.so.0.1 in $library"
for header in "$SOURCE_DIR"/include/attn/*.h; do
    cmp "$header" "$prefix/include/attn/$(basename "$header")"
done
"$prefix/bin/attn" --version >/dev/null || fail "the installed program does not run"

export PKG_CONFIG_PATH=$library/pkgconfig
read -ra shared < <(pkg-config --cflags --libs attn)
"$compiler" -std=c11 "$folder/examples/attention.c" "${shared[@]}" -o "$folder/by-pkg-config"
check_program "pkg-config, shared, in a private folder" env -u LD_LIBRARY_PATH "$folder/by-pkg-config"
mv "$library/libattn.so.0.1" "$library/away"
if "$folder/by-pkg-config" >/dev/null 2>&1; then
    fail "pkg-config, shared: runs without the shared library"
fi
mv "$library/away" "$library/libattn.so.0.1"
# Where the loader looks anyway, nothing says where.
DESTDIR=$folder/system cmake --install "$BUILD_DIR" --prefix /usr >/dev/null
if grep rpath "$(find "$folder/system" -name attn.pc)"; then
    fail "attn.pc of /usr has an rpath"
fi
for file in LICENSE README.md CONTRIBUTING.md docs/text.md examples/sort.c; do
    [ -s "$prefix/share/doc/attn/$file" ] || fail "$file is not installed"
done
# shellcheck source=tests/support/links.sh
. "$SOURCE_DIR/tests/support/links.sh"
broken=$(check_links "$prefix/share/doc/attn")
[ -z "$broken" ] || fail "links of the installed pages:" "$broken"
for page in attn attn-train attn-bench; do
    [ -s "$prefix/share/man/man1/$page.1" ] || fail "there is no manual page of $page"
done
bash -n "$prefix/share/bash-completion/completions/attn"
[ -s "$prefix/share/zsh/site-functions/_attn" ] || fail "there is no completion for zsh"

read -ra static < <(pkg-config --static --cflags --libs attn)
# libattn.a with the system's libraries, some of which there are only as shared ones
"$compiler" -std=c11 "$folder/examples/attention.c" "${static[@]/#-lattn/-l:libattn.a}" \
    -o "$folder/by-pkg-config-static"
check_program "pkg-config, static" "$folder/by-pkg-config-static"

cmake -S "$folder/examples" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler" >/dev/null
cmake --build "$folder/build" >/dev/null
check_program "find_package, attn::attn" "$folder/build/attention"
check_program "find_package, attn::attn_static" "$folder/build/attention_static"

# The programs that train: the one from single operations learns its task (the last line says so), the
# sorter begins to, and is no longer than it claims.
[ "$("$folder/build/network" | sed -n '$s/.* \([0-9.]*\) % right$/\1/p')" = 100.0 ] ||
    fail "examples/network.c does not learn"
[ "$(wc -l <"$folder/examples/sort.c")" -lt 100 ] || fail "examples/sort.c has 100 lines or more"
"$folder/build/sort" | grep -q '^[0-9]* of 1000 unseen sequences sorted without a mistake$' ||
    fail "examples/sort.c does not end with its result"

# The installed program makes a model, the example tags with it.
printf 'the\tDET\ncat\tNOUN\nsat\tVERB\n\nthe\tDET\ndog\tNOUN\nran\tVERB\n\n' >"$folder/tags.tsv"
"$prefix/bin/attn" train tag "$folder/tags.tsv" --anyway --dev "$folder/tags.tsv" -o "$folder/tags.safetensors" \
    --steps 60 --quiet
tagged=$("$folder/build/predict" "$folder/tags.safetensors" "the dog sat" | cut -f 1,2 | tr '\t\n' '/ ')
[ "$tagged" = "the/DET dog/NOUN sat/VERB " ] || fail "examples/predict.c tags: $tagged"
[ "$(wc -l <"$folder/examples/predict.c")" -lt 40 ] || fail "examples/predict.c has 40 lines or more"

exported=$(nm -D --defined-only "$library/libattn.so" | sed 's/^[0-9a-f]* [A-Z] //')
[ -n "$exported" ] || fail "the shared library exports nothing"
if printf '%s\n' "$exported" | grep -v '^attn_'; then
    fail "the shared library exports more than attn_*"
fi
