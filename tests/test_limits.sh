#!/bin/bash
# Files that would take all memory or all time, as the program meets them, and files that are overwritten while
# a model is in use. ATTN_PROGRAM is the program to test.
. "${SOURCE_DIR:?is the source folder}/tests/support/script.sh"

printf 'good\tfine film\nbad\tpoor film\ngood\tfine one\nbad\tpoor one\n' >"$folder/t.tsv"
train m classify "$folder/t.tsv" --steps 2 --anyway
model=$folder/m.safetensors

# ---- compressed files ----

head -c 16M /dev/zero | gzip -9 >"$folder/part.gz"
for ((i = 0; i < 64; i++)); do cat "$folder/part.gz"; done >"$folder/zeros.tsv.gz"
{ gzip <"$folder/t.tsv"; head -c 32M /dev/zero | tr '\0' a | gzip -9; } >"$folder/even.tsv.gz"
gzip <"$folder/t.tsv" >"$folder/t.tsv.gz"

# refuses WHAT COMMAND...: every command that reads examples, in a second.
refuses() {
    local what=$1 before after
    shift
    before=$(date +%s%N)
    run "$@"
    after=$(date +%s%N)
    check "$1: exit status of a file that is refused" exits_with 1
    check "$1 says why: $what" complains "$what"
    check "$1: a second is enough" [ $((after - before)) -lt 1000000000 ]
}
for file in "zeros byte 1 is 0: this is not text" "even decompresses to more than 200 times its size"; do
    path=$folder/${file%% *}.tsv.gz
    why=${file#* }
    refuses "$why" check "$path"
    refuses "$why" train classify "$path" -o "$folder/x.safetensors"
    refuses "$why" train classify "$folder/t.tsv" --dev "$path" -o "$folder/x.safetensors"
    refuses "$why" eval "$model" "$path"
    refuses "$why" predict "$model" "$path"
    refuses "$path" predict "$model" "$path"
    check "nothing is written" [ ! -e "$folder/x.safetensors" ]
done
run compare classify "$folder/zeros.tsv.gz" --test "$folder/t.tsv" --steps 1
check "compare refuses it, too" complains "byte 1 is 0"

# ---- --limit ----

run check "$folder/even.tsv.gz" --limit 1G --skip-bad --anyway
check "very even data may be read if it is said how large it is" exits_with 0
check "and is" says "2 classes"
for limit in 0 -1 x 5X 5KB 9999999999999G ""; do
    run check "$folder/t.tsv" --limit "$limit"
    check "--limit \"$limit\" is no size" exits_with 2
    check "--limit \"$limit\": what it must be" complains "64K, 100M or 8G"
done
for file in t.tsv t.tsv.gz; do
    for command in "check" "train classify -o $folder/x.safetensors" "eval $model"; do
        # shellcheck disable=SC2086
        run $command "$folder/$file" --limit 20
        check "$command --limit 20 of $file" exits_with 1
        check "$command says which limit" complains "$file: has more than 20 bytes"
    done
    run predict "$model" "$folder/$file" --limit 1K
    check "predict --limit 1K of $file" exits_with 0
done
head -c 3M /dev/zero | tr '\0' a | "$program" predict "$model" --limit 1M >"$folder/out" 2>"$folder/err"
status=$?
check "a line that never ends is refused" exits_with 1
check "and why" complains "standard input"

# ---- a model that is overwritten while it predicts ----

printf 'fine film\n' >"$folder/line"
mkfifo "$folder/lines"
"$program" predict "$model" <"$folder/lines" >"$folder/out" 2>"$folder/err" &
reader=$!
exec 3>"$folder/lines"
cat "$folder/line" >&3
for ((i = 0; i < 100; i++)); do
    [ -s "$folder/out" ] && break
    sleep 0.05
done
cp "$folder/t.tsv" "$model"
cat "$folder/line" >&3
exec 3>&-
wait "$reader"
status=$?
check "cp onto a model does not kill who uses it" exits_with 0
check "both lines are answered, alike" [ "$(sort -u <"$folder/out" | wc -l)-$(wc -l <"$folder/out")" = 1-2 ]
run predict "$model" "$folder/line"
check "what lies there now is no model" exits_with 1

finish
