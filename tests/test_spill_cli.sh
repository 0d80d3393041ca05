#!/bin/bash
# Data larger than --memory: the same bytes of model as with all of it in memory, for every task; what the flag
# can be; folders that have no room. ATTN_PROGRAM is the program to test.
. "${SOURCE_DIR:?is the source folder}/tests/support/script.sh"

mkdir "$folder/data"
export TMPDIR=$folder/data

# words COUNT [SEED]: lines of words, as text.
words() {
    awk -v count="$1" -v seed="${2:-3}" '
        function next_number() { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) }
        BEGIN {
            for (line = 1; line <= count; line++) {
                text = ""
                for (w = 2 + next_number() % 9; w > 0; w--) {
                    word = ""
                    for (c = 1 + next_number() % 6; c > 0; c--) word = word substr("etaoinshrdlu", 1 + next_number() % 12, 1)
                    text = text (text == "" ? "" : " ") word
                }
                print text
            }
        }'
}
words 6000 >"$folder/lm.txt"
words 6000 | awk '{ print (length($0) % 3 ? "odd" : "even") "\t" $0 }' >"$folder/classify.tsv"
words 6000 | awk '{ answer = $0; gsub("e", "i", answer); print $1 "\t" substr(answer, 1, length($1)) }' \
    >"$folder/seq2seq.tsv"
cut -f 1 "$folder/seq2seq.tsv" >"$folder/sources.txt"
cut -f 2 "$folder/seq2seq.tsv" >"$folder/targets.txt"
sentences 1500 >"$folder/tag.conllu"
words 4000 | awk '{ for (i = 1; i <= NF; i++) print $i "\t" (length($i) % 2 ? "A" : "B"); print "" }' \
    >"$folder/columns.tsv"

# same NAME TASK FLAG...: trained with all in memory and with a small bound.
same() {
    local name=$1 task=$2
    shift 2
    for memory in all 300K; do
        run train "$task" "$@" -o "$folder/$name-$memory.safetensors" --width 16 --heads 2 --layers 1 --steps 4 \
            --threads 2 --memory "$memory" --keep-last
        check "$name is trained with --memory $memory" exits_with 0
    done
    check "$name: the data was not all in memory" complains "MB in $folder/data"
    check "$name: the same model" cmp "$folder/$name-all.safetensors" "$folder/$name-300K.safetensors"
    check "$name: the same file to go on from" \
        cmp "$folder/$name-all.last.safetensors" "$folder/$name-300K.last.safetensors"
    check "$name: nothing is left behind" [ -z "$(ls -A "$folder/data")" ]
}
same lm lm "$folder/lm.txt"
same lm-bytes lm "$folder/lm.txt" --unit bytes
same lm-subwords lm "$folder/lm.txt" --unit subwords
same classify classify "$folder/classify.tsv"
same classify-dev classify "$folder/classify.tsv" --dev "$folder/classify.tsv"
same seq2seq seq2seq "$folder/seq2seq.tsv"
same parallel seq2seq "$folder/sources.txt" "$folder/targets.txt"
same tag tag "$folder/tag.conllu"
same columns tag "$folder/columns.tsv"
same several tag "$folder/columns.tsv" "$folder/columns.tsv"

# Other threads and another bound.
run train lm "$folder/lm.txt" -o "$folder/part.safetensors" --width 16 --heads 2 --layers 1 --steps 4 --threads 1 \
    --memory 90K
check "one thread and a bound: the same model" cmp "$folder/lm-all.safetensors" "$folder/part.safetensors"

# Evaluation, prediction, check and compare.
for memory in all 300K; do
    run eval "$folder/tag-all.safetensors" "$folder/tag.conllu" --json --memory "$memory"
    check "eval --memory $memory" exits_with 0
    cp "$folder/out" "$folder/eval-$memory"
    run predict "$folder/classify-all.safetensors" "$folder/classify.tsv" --memory "$memory"
    check "predict --memory $memory" exits_with 0
    cp "$folder/out" "$folder/predict-$memory"
    run check "$folder/columns.tsv" --memory "$memory"
    check "check --memory $memory" exits_with 0
    cp "$folder/out" "$folder/check-$memory"
done
for command in eval predict check; do
    check "$command says the same with a bound" cmp "$folder/$command-all" "$folder/$command-300K"
done
run compare classify "$folder/classify.tsv" --test "$folder/classify.tsv" --encoders mean --seeds 1 --steps 2 --memory 300K
check "compare --memory" exits_with 0

# ---- the flag ----

run train lm "$folder/lm.txt" -o "$folder/usual.safetensors" --width 16 --heads 2 --layers 1 --steps 4 --threads 2
check "without the flag the data fits" exits_with 0
check "and nothing is said of it" [ "$(grep -c "^data:" "$folder/err")" -eq 0 ]
for memory in 0 -1 x 5X ""; do
    run check "$folder/lm.txt" --memory "$memory"
    check "--memory \"$memory\" is no size" exits_with 2
    check "--memory \"$memory\": what it must be" complains "64K, 100M or 8G, or all"
done
run check "$folder/lm.txt" --limit all
check "--limit is a size" exits_with 2

# ---- folders ----

TMPDIR=$folder/none run train lm "$folder/lm.txt" -o "$folder/x.safetensors" --memory 300K
check "a folder that is not there" exits_with 1
check "it is named" complains "$folder/none: cannot be used for data beyond --memory: No such file"
(
    ulimit -f 100 # blocks of 1,024 bytes
    run train lm "$folder/lm.txt" -o "$folder/x.safetensors" --memory 100K
    [ "$status" -eq 1 ] && complains "$folder/data: no room for"
)
check "a full folder is an error, not a signal" [ $? -eq 0 ]
(
    ulimit -n 24
    run train lm "$folder/lm.txt" -o "$folder/x.safetensors" --memory 100K --threads 16
    [ "$status" -eq 1 ] && complains "too many open files for data beyond --memory"
)
check "too many open files: says what to do" [ $? -eq 0 ]
if mkdir "$folder/small" && mount -t tmpfs -o size=1M tmpfs "$folder/small" 2>/dev/null; then
    TMPDIR=$folder/small run train lm "$folder/lm.txt" -o "$folder/x.safetensors" --memory 100K
    umount "$folder/small"
    check "a full disk" exits_with 1
    check "it is named, with what to do" complains "$folder/small: no room for"
fi
check "nothing is written" [ ! -e "$folder/x.safetensors" ]
finish
