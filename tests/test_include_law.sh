#!/bin/bash
# The include law, from the #include lines:
#
#     base <- tensor <- {kernels, cuda} <- ops <- tape <- layers <- model <- {train, explain}
#
# data may use base and tensor; model, train and explain may use data. cli,
# examples and bindings include the public headers, the system's, and files
# of their own folder. Public headers include <attn/...> and the C standard
# library. Also: no file over 1000 lines, and no call in src/ that prints,
# exits or aborts.
#
# The checker first proves itself on a small tree with one violation of each
# kind.
set -euo pipefail
: "${SOURCE_DIR:?}"

declare -A may_include=(
    [base]="base"
    [tensor]="tensor base"
    [kernels]="kernels tensor base"
    [cuda]="cuda tensor base"
    [ops]="ops kernels cuda tensor base"
    [tape]="tape ops kernels cuda tensor base"
    [layers]="layers tape ops kernels cuda tensor base"
    [model]="model layers tape ops kernels cuda tensor base data"
    [train]="train model layers tape ops kernels cuda tensor base data"
    [explain]="explain model layers tape ops kernels cuda tensor base data"
    [data]="data tensor base"
)
standard_headers=" assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
 stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
 wchar wctype "
standard_headers=${standard_headers//$'\n'/ }

sources() { # sources FOLDER...: the C and CUDA files below those that exist
    local folder
    for folder in "$@"; do
        if [ -d "$folder" ]; then
            find "$folder" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \)
        fi
    done | sort
}

includes() { # includes FILE: one included name a line, with its < or "
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"][^>"]*\)[>"].*/\1/p' "$1"
}

check_private() { # a file of src/: "folder/file.h" along the law
    local file=$1 from included to
    from=${file#src/}
    from=${from%%/*}
    if [ -z "${may_include[$from]:-}" ]; then
        echo "$file: src/$from is not a folder of the design"
        return
    fi
    while read -r included; do
        case $included in
        \<*) continue ;;
        esac
        to=${included#\"}
        if [ "${to#*/}" = "$to" ] || [ "${to#*..}" != "$to" ]; then
            echo "$file: includes \"$to\", which is not of the form \"folder/file.h\""
            continue
        fi
        case " ${may_include[$from]} " in
        *" ${to%%/*} "*) ;;
        *) echo "$file: $from may not include ${to%%/*} (\"$to\")" ;;
        esac
    done < <(includes "$file")
}

check_outside() { # a file of cli, examples, bindings: quotes reach its own folder only
    local file=$1 included name
    while read -r included; do
        name=${included:1}
        case $included in
        \"*)
            if [ "${name#*..}" != "$name" ] || [ ! -e "$(dirname "$file")/$name" ]; then
                echo "$file: includes \"$name\", which is not of its own folder"
            fi
            ;;
        *)
            if [ -e "src/$name" ]; then
                echo "$file: includes <$name>, which is private"
            fi
            ;;
        esac
    done < <(includes "$file")
}

check_public() { # a public header
    local file=$1 included name
    while read -r included; do
        name=${included:1}
        case $included in
        \<attn/*) ;;
        \<*.h)
            case $standard_headers in
            *" ${name%.h} "*) ;;
            *) echo "$file: includes <$name>, which is not of the C standard library" ;;
            esac
            ;;
        *) echo "$file: includes $included, which is neither <attn/...> nor standard" ;;
        esac
    done < <(includes "$file")
}

check_size() {
    local file=$1 lines
    lines=$(wc -l <"$file")
    if [ "$lines" -gt 1000 ]; then
        echo "$file: has $lines lines, more than 1000"
    fi
}

# Comments and strings may speak of printf; calls may not be made.
check_silence() {
    local file=$1
    sed -e 's/"\([^"\\]\|\\.\)*"/""/g' -e 's://.*$::' -e 's:/\*.*\*/::g' -e '/\/\*/,/\*\//d' "$file" |
        grep -oE '(^|[^A-Za-z0-9_])(_?_?exit|_Exit|quick_exit|abort|v?f?printf|f?puts|f?putc|putchar|perror)[[:space:]]*\(' |
        sed "s|.*|$file: calls &...), but the library never prints, exits or aborts|" || true
}

check_tree() { # all violations of the tree in the current folder
    local file
    for file in $(sources src); do
        check_private "$file"
        check_silence "$file"
    done
    for file in $(sources cli examples bindings); do check_outside "$file"; done
    for file in $(sources include); do check_public "$file"; done
    for file in $(sources include src cli examples bindings bench tests); do check_size "$file"; done
}

# ---- the checker checks itself ------------------------------------------------------------------------

expect() { # expect TEXT: the violations of the self-check have that line
    if ! grep -qF -- "$1" "$tree/violations"; then
        echo "self-check: not noticed: $1" >&2
        cat "$tree/violations" >&2
        exit 1
    fi
}

self_check() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree"/src/{base,tensor,kernels,ops,data,model,gadgets} "$tree"/{cli,examples,include/attn}
    cd "$tree"
    printf '#include <stdio.h>\n#include "base/a.h"\n/* printf( exit( */\nint x; // abort()\n' >src/base/a.h
    printf '#include "tensor/a.h"\n#include "base/a.h"\n#include "data/a.h"\n' >src/model/fine.c
    printf '#include "kernels/a.h"\nconst char *s = "exit(1)";\n' >src/ops/fine.c
    printf '#include "own.h"\n#include <attn/attn.h>\n#include <stdio.h>\n' >cli/fine.c
    printf '#include <attn/attn.h>\n' >cli/own.h
    printf '#include <attn/status.h>\n#include <stddef.h>\n' >include/attn/fine.h
    check_tree >violations
    if [ -s violations ] && grep -v gadgets violations; then
        echo "self-check: a lawful tree was refused" >&2
        exit 1
    fi
    printf '#  include "tensor/a.h"\n' >src/base/upwards.c
    printf '#include "ops/a.h"\n' >src/kernels/upwards.c
    printf '#include "kernels/a.h"\n' >src/data/sideways.c
    printf '#include "a.h"\n' >src/base/nameless.c
    printf '#include "../ops/a.h"\n' >src/base/climbing.c
    printf 'int y;\n' >src/gadgets/unknown.c
    printf 'void f(void) {\n    fprintf (stderr, "x");\n    exit(1);\n}\n' >src/base/loud.c
    printf '#include "base/a.h"\n' >cli/private.c
    printf '#include <base/a.h>\n' >examples/private.c
    printf '#include <pthread.h>\n#include "base/a.h"\n' >include/attn/impure.h
    seq 1001 | sed 's/.*/int a;/' >src/ops/long.c
    check_tree >violations
    expect 'src/base/upwards.c: base may not include tensor'
    expect 'src/kernels/upwards.c: kernels may not include ops'
    expect 'src/data/sideways.c: data may not include kernels'
    expect 'src/base/nameless.c: includes "a.h", which is not of the form'
    expect 'src/base/climbing.c: includes "../ops/a.h", which is not of the form'
    expect 'src/gadgets/unknown.c: src/gadgets is not a folder of the design'
    expect 'src/base/loud.c: calls  fprintf (...)'
    expect 'src/base/loud.c: calls  exit(...)'
    expect 'cli/private.c: includes "base/a.h", which is not of its own folder'
    expect 'examples/private.c: includes <base/a.h>, which is private'
    expect 'include/attn/impure.h: includes <pthread.h>, which is not of the C standard library'
    expect 'include/attn/impure.h: includes "base/a.h, which is neither'
    expect 'src/ops/long.c: has 1001 lines'
    if [ "$(wc -l <violations)" -ne 13 ]; then
        echo "self-check: more violations than there are:" >&2
        cat violations >&2
        exit 1
    fi
}

self_check
cd "$SOURCE_DIR"
if [ -z "$(sources src)" ]; then
    echo "there are no sources in $SOURCE_DIR/src" >&2
    exit 1
fi
violations=$(check_tree)
if [ -n "$violations" ]; then
    printf '%s\n' "$violations" >&2
    exit 1
fi
echo "the include law holds in $(sources src include cli examples bindings | wc -l) files"
