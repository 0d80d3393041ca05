#!/bin/bash
# attn train seq2seq and attn train lm as a user meets them: one file and two, odd files, what is refused.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
model=$folder/m.safetensors
last=$folder/m.last.safetensors
small=(--width 8 --heads 2 --layers 1 --decoder-layers 1 --threads 2)

# learn TASK ARGUMENT...: a tiny network, in $model.
learn() {
    rm -f "$model" "$last"
    run train "${@:1:1}" -o "$model" "${small[@]}" --steps 3 "${@:2}"
}
opens() { "$program" info "$1" >"$folder/out2" 2>"$folder/err2"; }
has() { "$program" info "$model" --json 2>"$folder/err2" | tr -d ' \n' | grep -q -F -- "$1"; }
no_raw_controls() { ! tr -d '\n\t' <"$folder/err" | grep -q '[[:cntrl:]]'; }

# learns NAME ARGUMENT...
learns() {
    local name=$1
    shift
    learn "$@"
    check "$name: exit status" exits_with 0
    check "$name: a model" opens "$model"
}
# refused STATUS TEXT ARGUMENT...
refused() {
    local expected=$1 text=$2
    shift 2
    learn "$@"
    check "attn train $*: exit status $expected" exits_with "$expected"
    check "attn train $*: says '$text'" complains "$text"
    check "attn train $*: nothing on stdout" silent out
    check "attn train $*: nothing that moves a cursor" no_raw_controls
    check "attn train $*: no model" [ ! -e "$model" ]
}

run train --help all
check "help: seq2seq" says "seq2seq"
check "help: lm" says "  lm"
check "help: ctc" says "ctc"

# --- pairs ------------------------------------------------------------------

awk 'BEGIN { for (i = 0; i < 30; i++) print substr("abcabc", 1 + i % 3, 1 + i % 4) "\t" (i % 2 ? "A B" : "C") }' >"$folder/pairs.tsv"
cut -f 1 "$folder/pairs.tsv" >"$folder/a.src"
cut -f 2 "$folder/pairs.tsv" >"$folder/a.trg"
learns "one file" seq2seq "$folder/pairs.tsv"
check "one file: the units are those of the data" has '"target":{"unit":"symbols"'
cp "$model" "$folder/one.safetensors"
learns "two files" seq2seq "$folder/a.src" "$folder/a.trg"
check "two files: the same model" cmp "$model" "$folder/one.safetensors"
learns "two files and two for development" seq2seq "$folder/a.src" "$folder/a.trg" --dev "$folder/a.src" "$folder/a.trg"
learns "development data first" seq2seq --dev "$folder/pairs.tsv" "$folder/pairs.tsv"
learns "subwords" seq2seq "$folder/pairs.tsv" --unit subwords --subwords 20
check "subwords: of both sides" has '"target":{"unit":"subwords"'

# without a decoder
awk 'BEGIN { for (i = 0; i < 30; i++) { c = substr("abc", 1 + i % 3, 1); print c c "-" c c "\t" c c } }' >"$folder/rows.tsv"
learns "without a decoder" seq2seq "$folder/rows.tsv" --unit chars --target-unit chars --output ctc
check "without a decoder: the head" has '"kind":"ctc"'
run info "$model"
check "without a decoder: info" says "ctc, no decoder"
printf 'aa-aa\n' >"$folder/row.txt"
run predict "$model" "$folder/row.txt" --beam 4 --n-best 2 --alignment
check "without a decoder: two answers" [ "$(wc -l <"$folder/out")" = 2 ]
run eval "$model" "$folder/rows.tsv"
check "without a decoder: measures" says "character_error_rate"
printf 'aab\tab\nab\taa\n' >"$folder/tight.tsv"
refused 1 "tight.tsv:2: the target of 2 symbols needs 3 rows" seq2seq "$folder/tight.tsv" --unit chars --target-unit chars --output-kind ctc --anyway
refused 1 "output.kind labels is for tag, classify and regress" seq2seq "$folder/rows.tsv" --output-kind labels
refused 1 "output.kind ctc is for task seq2seq" lm "$folder/a.src" --output-kind ctc

# as many lines
head -n 28 "$folder/a.trg" >"$folder/short.trg"
refused 1 "30" seq2seq "$folder/a.src" "$folder/short.trg"
check "uneven files: both counts" complains "28"
check "uneven files: the name" complains "short.trg"
refused 1 "28" seq2seq "$folder/pairs.tsv" --dev "$folder/a.src" "$folder/short.trg"
# what is no text
{ head -n 2 "$folder/pairs.tsv"; printf 'ab\tA \377\n'; } >"$folder/bad.tsv"
refused 1 "bad.tsv:3: byte 6" seq2seq "$folder/bad.tsv"
printf 'a\nb\303\n' >"$folder/bad.src"
printf 'A\nB\n' >"$folder/good.trg"
refused 1 "bad.src:2: byte 2" seq2seq "$folder/bad.src" "$folder/good.trg"
refused 1 "bad.src:2: byte 2" seq2seq "$folder/good.trg" "$folder/bad.src"
# lines that are empty, or lack something
{ cat "$folder/pairs.tsv"; printf '\n\n'; cat "$folder/pairs.tsv"; } >"$folder/gaps.tsv"
learns "empty lines between pairs" seq2seq "$folder/gaps.tsv"
printf 'a\tA\n\n\tX\nb\tB\n' >"$folder/odd.tsv"
refused 1 "odd.tsv:3: the source is empty" seq2seq "$folder/odd.tsv"
printf 'a\tA\nb\t\n' >"$folder/odd.tsv"
refused 1 "odd.tsv:2: the target is empty" seq2seq "$folder/odd.tsv"
printf 'a\tA\nb\n' >"$folder/odd.tsv"
refused 1 "odd.tsv:2:" seq2seq "$folder/odd.tsv"
learns "bad lines left out" seq2seq "$folder/odd.tsv" --skip-bad --anyway
check "bad lines left out: how many" complains "1 bad line"
printf 'a\n\nb\n' >"$folder/gap.src"
printf 'A\n\nB\n' >"$folder/gap.trg"
learns "empty lines in both files" seq2seq "$folder/gap.src" "$folder/gap.trg" --anyway
printf 'A\nX\nB\n' >"$folder/nogap.trg"
refused 1 "gap.src:2: the source is empty" seq2seq "$folder/gap.src" "$folder/nogap.trg"
# few
printf 'one\tU N\n' >"$folder/one.tsv"
learns "one pair" seq2seq "$folder/one.tsv" --anyway
printf 'one\tU N' >"$folder/one.tsv"
learns "one pair without a line end" seq2seq "$folder/one.tsv" --anyway
: >"$folder/empty"
refused 1 "empty: is empty" seq2seq "$folder/empty"
refused 1 "empty" seq2seq "$folder/empty" "$folder/empty"
refused 1 "empty" seq2seq "$folder/pairs.tsv" --dev "$folder/empty"
printf '\n\n' >"$folder/blank"
refused 1 "blank" seq2seq "$folder/blank"
# a target that is long, and learned positions
awk 'BEGIN { printf "a\t"; for (i = 0; i < 600; i++) printf "x "; print "y"; print "b\tx" }' >"$folder/long.tsv"
learns "a target of 600 symbols" seq2seq "$folder/long.tsv" --anyway
printf '{"encoder": {"position": "learned", "longest": 64}}' >"$folder/learned.json"
refused 1 "long.tsv:1: the target has 601 symbols" seq2seq "$folder/long.tsv" --dev "$folder/pairs.tsv" --config "$folder/learned.json" --anyway
# what does not go together
refused 1 "encoder.heads" seq2seq "$folder/pairs.tsv" --heads 3
refused 1 "there is no metric" seq2seq "$folder/pairs.tsv" --metric accuracy
printf '__label__x y\n' >"$folder/labels.ft"
refused 1 "have different formats" classify "$folder/pairs.tsv" "$folder/labels.ft"
learns "running text from two files" lm "$folder/a.src" "$folder/a.trg"

# --- running text -----------------------------------------------------------

awk 'BEGIN { for (i = 0; i < 20; i++) print "the cat sat on the mat, and sat." }' >"$folder/book.txt"
learns "running text" lm "$folder/book.txt"
learns "running text in subwords" lm "$folder/book.txt" --unit subwords --subwords 40
learns "running text in bytes" lm "$folder/book.txt" --unit bytes
printf 'one line\n' >"$folder/line.txt"
learns "one line" lm "$folder/line.txt"
printf 'x' >"$folder/line.txt"
learns "one character" lm "$folder/line.txt"
printf '\n\n\n' >"$folder/line.txt"
learns "line ends and nothing else" lm "$folder/line.txt"
{ cat "$folder/book.txt"; printf '\n\n  \n'; cat "$folder/book.txt"; } >"$folder/gaps.txt"
learns "empty lines" lm "$folder/gaps.txt" --dev "$folder/book.txt"
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "ab "; print "" }' >"$folder/long.txt"
learns "a line of 60,000 characters" lm "$folder/long.txt"
refused 1 "empty: is empty" lm "$folder/empty"
refused 1 "empty: is empty" lm "$folder/book.txt" --dev "$folder/empty"
printf 'good\nb\377d\n' >"$folder/bad.txt"
refused 1 "bad.txt:2: byte 2" lm "$folder/bad.txt"
refused 1 "text.unit has to be chars, bytes or subwords" lm "$folder/book.txt" --unit words
refused 1 "there is no metric" lm "$folder/book.txt" --metric bleu

finish
