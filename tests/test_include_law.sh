#!/bin/bash
# The include law, from the #include lines:
#
#     base <- tensor <- {kernels, cuda} <- ops <- tape <- layers <- {inputs, heads} <- model <- {train, explain}
#
# Kernels and CUDA are known to ops alone: what stands above it goes through the
# backend (src/ops/backend.h). data may use base and tensor; what stands above
# layers may use data. inputs and heads do not know each other. cli, examples
# and bindings include the public headers, the system's, and files of their own
# folder. Public headers include <attn/...> and the C standard library.
#
# A kind of input is known to its own folder and to the table of kinds alone;
# a head to the folder of heads alone: outside, no file includes their headers,
# and model, train and cli do not name them, nor a task.
#
# Also: no file over 700 lines (tests: 1000), and no call in src/ that prints,
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
    [tape]="tape ops tensor base"
    [layers]="layers tape ops tensor base"
    [inputs]="inputs layers tape ops tensor base data"
    [heads]="heads layers tape ops tensor base data"
    [model]="model inputs heads layers tape ops tensor base data"
    [train]="train model inputs heads layers tape ops tensor base data"
    [explain]="explain model inputs heads layers tape ops tensor base data"
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

includes() { # includes FOLDER...: FILE, a space and an included name with its < or ", one per line
    sources "$@" | xargs -r grep -HE '^[[:space:]]*#[[:space:]]*include' |
        sed -n 's/^\([^:]*\):[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"][^>"]*\)[>"].*/\1 \2/p'
}

check_folders() { # every file of src/ stands in a folder of the design
    local file from
    for file in $(sources src); do
        from=${file#src/}
        from=${from%%/*}
        [ -n "${may_include[$from]:-}" ] || echo "$file: src/$from is not a folder of the design"
    done
}

check_private() { # files of src/: "folder/file.h" along the law
    local file from included to
    while read -r file included; do
        from=${file#src/}
        from=${from%%/*}
        [ "${included:0:1}" = '"' ] && [ -n "${may_include[$from]:-}" ] || continue
        to=${included#\"}
        if [ "${to#*/}" = "$to" ] || [ "${to#*..}" != "$to" ]; then
            echo "$file: includes \"$to\", which is not of the form \"folder/file.h\""
            continue
        fi
        case " ${may_include[$from]} " in
        *" ${to%%/*} "*) ;;
        *) echo "$file: $from may not include ${to%%/*} (\"$to\")" ;;
        esac
    done < <(includes src)
}

# The kinds of input are the folders of src/inputs; heads and tasks are named in their tables.
kinds_of_input() { find src/inputs -mindepth 1 -maxdepth 1 -type d -printf '%f\n' 2>/dev/null | sort; }
names_of_heads() { sed -n 's/^ *\.name = "\([a-z]*\)",.*/\1/p' src/heads/*.c 2>/dev/null | sort -u; }
names_of_tasks() { sed -n 's/.*\.name = "\([a-z0-9]*\)",.*/\1/p' src/model/tasks.c 2>/dev/null | sort -u; }

check_kinds() { # files of src: headers of a kind are its own, those of heads but head.h theirs
    local file included to kind
    while read -r file included; do
        to=${included#\"}
        case $to in
        inputs/*/*)
            kind=${to#inputs/}
            kind=${kind%%/*}
            [ "${file#src/inputs/"$kind"/}" != "$file" ] ||
                echo "$file: includes \"$to\", which only the kind $kind knows"
            ;;
        heads/head.h) ;;
        heads/*)
            [ "${file#src/heads/}" != "$file" ] || echo "$file: includes \"$to\", which only heads know"
            ;;
        esac
    done < <(includes src)
}

any_of() { tr '\n' '|' | sed 's/|$//'; } # lines -> an alternative of a regular expression

# Without comments; names as identifiers (at_text_..., at_head_crf) and as strings that are compared or looked for.
# `kinds`, `heads` and `tasks` are alternatives of all names there are (check_tree).
check_names() { # a file of model, train or cli
    local file=$1 name code
    [ "$file" != src/model/tasks.c ] || return 0 # the table of tasks
    code=$(sed -e '/^#include/d' -e 's:/\*.*\*/::g' -e '/\/\*/,/\*\//d' "$file")
    names() { # names REGEX ALTERNATIVES: those of them that stand in the code where REGEX, with NAME for the name, says
        [ -n "$2" ] && [[ $code =~ ${1//NAME/($2)} ]] || return 0
        grep -oE "${1//NAME/($2)}" <<<"$code" | grep -oE "$2" | sort -u
    }
    for name in $(names 'at_NAME_(kind|input|values|fields|encoded|batch)|(strcmp|find|_set)[^;]*"NAME"|"NAME\.' "$kinds"); do
        echo "$file: names the kind of input $name"
    done
    if [[ $code =~ attn_dataset_(tokens?|source)[^a-z_]|ATTN_FORMAT_(CONLLU|COLUMNS|TABLE|FASTTEXT|LINES|PAIRS)[^A-Z_] ]]; then
        echo "$file: knows what only text has"
    fi
    for name in $(names 'at_(head_NAME|NAME_head)[^a-z_]|(strcmp|find)[^;]*"NAME"' "$heads"); do
        echo "$file: names the head $name"
    done
    for name in $(names '(strcmp|TASK_)[^;]*"NAME"' "$tasks") $(names 'TASK_NAME[^A-Z]' "${tasks^^}"); do
        echo "$file: names the task ${name,,}"
    done
    return 0
}

check_outside() { # files of cli, examples, bindings: quotes reach their own folder only
    local file included name
    while read -r file included; do
        name=${included:1}
        case $included in
        \"*)
            if [ "${name#*..}" != "$name" ] || [ ! -e "${file%/*}/$name" ]; then
                echo "$file: includes \"$name\", which is not of its own folder"
            fi
            ;;
        *)
            if [ -e "src/$name" ]; then
                echo "$file: includes <$name>, which is private"
            fi
            ;;
        esac
    done < <(includes cli examples bindings)
}

check_public() { # public headers
    local file included name
    while read -r file included; do
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
    done < <(includes include)
}

check_size() {
    local file lines most
    while read -r lines file; do
        most=700
        [ "${file#tests/}" = "$file" ] || most=1000
        [ "$lines" -le "$most" ] || echo "$file: has $lines lines, more than $most"
    done < <(sources include src cli examples bindings bench tests | xargs wc -l | grep -v ' total$')
}

# Comments and strings may speak of printf; calls may not be made.
check_silence() {
    sources src | xargs sed -s -e '1F' -e 's/"\([^"\\]\|\\.\)*"/""/g' -e 's://.*$::' -e 's:/\*.*\*/::g' -e '/\/\*/,/\*\//d' |
        awk '
            /^src\/[^ ]*\.(c|h|cu|cuh)$/ { file = $0; next }
            {
                while (match($0, /(^|[^A-Za-z0-9_])(_?_?exit|_Exit|quick_exit|abort|v?f?printf|f?puts|f?putc|putchar|perror)[[:space:]]*\(/)) {
                    print file ": calls " substr($0, RSTART, RLENGTH) "...), but the library never prints, exits or aborts"
                    $0 = substr($0, RSTART + RLENGTH)
                }
            }'
}

check_tree() { # all violations of the tree in the current folder
    local file kinds heads tasks
    kinds=$(kinds_of_input | any_of) heads=$(names_of_heads | any_of) tasks=$(names_of_tasks | any_of)
    check_folders
    check_private
    check_kinds
    check_silence
    for file in $(sources src/model src/train cli); do check_names "$file"; done
    check_outside
    check_public
    check_size
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
    mkdir -p "$tree"/src/{base,tensor,kernels,ops,data,inputs/text,heads,model,train,gadgets} \
        "$tree"/{cli,examples,include/attn}
    cd "$tree"
    printf '#include <stdio.h>\n#include "base/a.h"\n/* printf( exit( */\nint x; // abort()\n' >src/base/a.h
    printf '#include "tensor/a.h"\n#include "base/a.h"\n#include "data/a.h"\n#include "heads/head.h"\n' >src/model/fine.c
    printf '#include "inputs/text/a.h"\n' >src/inputs/text/fine.c
    printf 'const kind k = {\n    .name = "crf",\n};\n' >src/heads/crf.c
    printf 'const task t = {.name = "tag",\n};\n' >src/model/tasks.c
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
    seq 701 | sed 's/.*/int a;/' >src/ops/long.c
    printf '#include "heads/head.h"\n' >src/inputs/text/sideways.c
    printf '#include "inputs/text/a.h"\n' >src/model/kind.c
    printf '#include "heads/rows.h"\n' >src/train/head.c
    printf 'extern int at_text_kind;\n' >src/model/text.c
    printf 'int f(void) { return kind == &at_head_crf; }\n' >src/train/crf.c
    printf 'int f(void) { return strcmp(task, "tag"); }\n' >cli/task.c
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
    expect 'src/ops/long.c: has 701 lines'
    expect 'src/inputs/text/sideways.c: inputs may not include heads'
    expect 'src/model/kind.c: includes "inputs/text/a.h", which only the kind text knows'
    expect 'src/train/head.c: includes "heads/rows.h", which only heads know'
    expect 'src/model/text.c: names the kind of input text'
    expect 'src/train/crf.c: names the head crf'
    expect 'cli/task.c: names the task tag'
    if [ "$(wc -l <violations)" -ne 19 ]; then
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
