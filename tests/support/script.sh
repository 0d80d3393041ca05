#!/bin/bash
# script.sh: what the tests of the program share; sourced by them. ATTN_PROGRAM is the program to test.
set -u
export LC_ALL=C
unset NO_COLOR COLORTERM ATTN_ISA ATTN_THREADS
program=${ATTN_PROGRAM:?is the path of the program attn}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
checks=0

# check WHAT COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    checks=$((checks + 1))
    if ! "$@"; then
        echo "FAILED: $what"
        head -c 1000 "$folder/out" | sed 's/^/  stdout: /'
        head -c 1000 "$folder/err" | sed 's/^/  stderr: /'
        failures=$((failures + 1))
    fi
}

# run ARGUMENT...: leaves out, err and status.
run() {
    "$program" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}

exits_with() { [ "$status" -eq "$1" ]; }
says() { grep -qF -e "$1" "$folder/out"; }
complains() { grep -qF -e "$1" "$folder/err"; }
silent() { [ ! -s "$folder/$1" ]; }
# is TEXT: standard output is exactly that (printf escapes understood).
# shellcheck disable=SC2059
is() { printf "$1" | cmp -s - "$folder/out"; }

finish() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$failures" -eq 0 ]
}

# train NAME TASK FILE FLAG...: a small model of a file, which is also the development data, in
# $folder/NAME.safetensors.
train() {
    local name=$1 task=$2 file=$3
    shift 3
    run train "$task" "$file" --dev "$file" -o "$folder/$name.safetensors" --width 16 --heads 2 --layers 1 \
        --threads 2 --patience 0 --learning-rate 0.01 --quiet "$@"
    check "a model is trained: $name" exits_with 0
}

# sentences COUNT: CoNLL-U whose tags follow from its words, with comments, a range and an empty node.
sentences() {
    awk -v count="$1" '
        function next_number() { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) }
        function noun(   word, plural) {
            word = nouns[1 + next_number() % 5]
            plural = next_number() % 2
            print ++n "\t" word (plural ? "s" : "") "\t" word "\tNOUN\t" (plural ? "NNS" : "NN") \
                "\tCase=Nom|Number=" (plural ? "Plur" : "Sing") "\t_\t_\t_\tKey=Value"
        }
        BEGIN {
            split("cat dog bird house tree", nouns)
            split("hears likes finds", verbs)
            seed = 7
            for (s = 1; s <= count; s++) {
                n = 0
                print "# sent_id = " s
                print "1-2\twithout\t_\t_\t_\t_\t_\t_\t_\t_"
                print ++n "\tthe\t_\tDET\tDT\t_\t_\t_\t_\t_"
                noun()
                print n ".1\tempty\t_\tVERB\t_\t_\t_\t_\t_\t_"
                print ++n "\t" verbs[1 + next_number() % 3] "\t_\tVERB\tVBZ\tTense=Pres\t_\t_\t_\t_"
                print ++n "\ta\t_\tDET\tDT\t_\t_\t_\t_\t_"
                noun()
                print ++n "\t.\t.\tPUNCT\t.\t_\t_\t_\t_\tSpaceAfter=No\n"
            }
        }'
}
