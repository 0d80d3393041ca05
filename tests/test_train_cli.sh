#!/bin/bash
# attn train as a user meets it: help and mistakes, odd files, configurations, a time to keep, Ctrl-C, a disk that
# is full.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
model=$folder/m.safetensors
last=$folder/m.last.safetensors
small=(--width 8 --heads 2 --layers 1 --threads 2)

# learn TASK FILE FLAG...: a tiny network, in $model.
learn() {
    local task=$1 file=$2
    shift 2
    rm -f "$model" "$last"
    run train "$task" "$file" -o "$model" "${small[@]}" "$@"
}
between() { [ "$1" -lt "$2" ] && [ "$2" -lt "$3" ]; }
opens() { "$program" info "$1" >"$folder/out" 2>"$folder/err2"; }
no_raw_controls() { ! tr -d '\n\t' <"$folder/err" | grep -q '[[:cntrl:]]'; }

# --- help and mistakes ------------------------------------------------------

run train --help
check "help: exit status" exits_with 0
check "help: names the tasks" says "classify"
check "help: has an example" says "attn train tag train.conllu --dev dev.conllu"
check "help: --resume" says "--resume"
sentences 60 >"$folder/train.conllu"
sentences 20 >"$folder/dev.conllu"

# mistake STATUS TEXT ARGUMENT...
mistake() {
    local expected=$1 text=$2
    shift 2
    rm -f "$model" "$last"
    run train "$@"
    check "attn train $*: exit status $expected" exits_with "$expected"
    check "attn train $*: says '$text'" complains "$text"
    check "attn train $*: nothing on stdout" silent out
    check "attn train $*: no model" [ ! -e "$model" ]
}
mistake 2 "what task?"
mistake 2 "no training file given" tag
mistake 2 "no output given" tag "$folder/train.conllu"
mistake 2 'task is "tagg"; it can be: tag, classify, regress' tagg "$folder/train.conllu" -o "$model"
mistake 2 "did you mean --layers?" tag "$folder/train.conllu" -o "$model" --layer 2
mistake 2 'encoder.layers is "two"' tag "$folder/train.conllu" -o "$model" --layers two
mistake 2 "encoder.layers is 2000; it can be from 0 to" tag "$folder/train.conllu" -o "$model" --layers 2000
mistake 2 "--time is" tag "$folder/train.conllu" -o "$model" --time soon
mistake 2 "--time is" tag "$folder/train.conllu" -o "$model" --time 0
mistake 2 "--time is" tag "$folder/train.conllu" -o "$model" --time inf
mistake 2 "--time is" tag "$folder/train.conllu" -o "$model" --time -5s
mistake 2 "not both" tag "$folder/train.conllu" -o "$model" --time 5s --steps 3
mistake 2 "--save-every is" tag "$folder/train.conllu" -o "$model" --save-every often
mistake 1 "not a multiple of encoder.heads (5)" tag "$folder/train.conllu" -o "$model" --heads 5
mistake 1 "$folder/no.conllu" tag "$folder/no.conllu" -o "$model"
mistake 1 "$folder" tag "$folder" -o "$model"
mistake 1 "$folder/no.json" tag "$folder/train.conllu" -o "$model" --config "$folder/no.json"
mistake 1 "cannot read $folder" tag "$folder/train.conllu" -o "$model" --config "$folder"
mistake 1 "$folder/no.vec" tag "$folder/train.conllu" -o "$model" --vectors "$folder/no.vec"
mistake 1 "$folder/none/m.safetensors: cannot be written: No such file" tag "$folder/train.conllu" -o "$folder/none/m.safetensors" "${small[@]}"
mistake 1 'there is no metric "acuracy"' tag "$folder/train.conllu" -o "$model" "${small[@]}" --metric acuracy
mistake 1 'there is no metric "word_f1"' tag "$folder/train.conllu" -o "$model" "${small[@]}" --metric word_f1
mistake 1 "$folder: cannot be written: it is a directory" tag "$folder/train.conllu" -o "$folder"
mistake 1 "/dev/null: cannot be written: it is a device" tag "$folder/train.conllu" -o /dev/null
mkfifo "$folder/pipe"
mistake 1 "$folder/pipe: cannot be written: it is a pipe" tag "$folder/train.conllu" -o "$folder/pipe"
ln -s pipe "$folder/to-a-pipe"
mistake 1 "$folder/to-a-pipe: cannot be written: it is a pipe" tag "$folder/train.conllu" -o "$folder/to-a-pipe"
cp "$folder/train.conllu" "$folder/same.conllu"
mistake 1 "same.conllu is an input file: the output" tag "$folder/same.conllu" -o "$folder/../$(basename "$folder")/same.conllu"
cp "$folder/train.conllu" "$folder/a.last.safetensors"
mistake 1 "a.last.safetensors is an input file: the output" tag "$folder/a.last.safetensors" --format conllu -o "$folder/a"
mistake 1 "a.last.safetensors is an input file: the output" tag "$folder/train.conllu" --dev "$folder/a.last.safetensors" \
    --force -o "$folder/a.safetensors"
check "a file that is read is as it was, whatever it is called" cmp -s "$folder/a.last.safetensors" "$folder/train.conllu"
check "the file that is read is as it was" cmp -s "$folder/same.conllu" "$folder/train.conllu"
printf '{"encoder": {\n"layers": ]}}' >"$folder/bad.json"
mistake 1 "bad.json:2:" tag "$folder/train.conllu" -o "$model" --config "$folder/bad.json"
printf '{"encoder": {"layer": 2}}' >"$folder/bad.json"
mistake 1 "did you mean encoder.layers?" tag "$folder/train.conllu" -o "$model" --config "$folder/bad.json"

# --- odd files --------------------------------------------------------------

: >"$folder/empty"
mistake 1 "$folder/empty: is empty" classify "$folder/empty" -o "$model"
mistake 1 "$folder/empty: is empty" tag "$folder/train.conllu" --dev "$folder/empty" -o "$model"
printf 'word\tT\n' >"$folder/one.tsv"
learn tag "$folder/one.tsv" --format columns --epochs 2 --anyway
check "a corpus of one word: exit status" exits_with 0
check "a corpus of one word: a model" opens "$model"
printf 'A\tred\nA\tgreen\nA\tblue sky\n' >"$folder/class.tsv"
learn classify "$folder/class.tsv" --epochs 2 --anyway
check "one class only: exit status" exits_with 0
check "one class only: says how good" complains "dev accuracy 1.0000"
printf 'A\tred\nB\tgreen\nA\tred sky\n' >"$folder/train.tsv"
printf 'C\tred\nA\tred\n' >"$folder/dev.tsv"
learn classify "$folder/train.tsv" --dev "$folder/dev.tsv" --epochs 20 --anyway
check "unseen labels in dev: exit status" exits_with 0
check "unseen labels in dev: count as wrong" complains "accuracy 0.5000"
awk 'BEGIN { for (i = 0; i < 100000; i++) print "w" i % 97 "\tT" i % 97 % 3; print ""; print "w1\tT1" }' >"$folder/long.tsv"
learn tag "$folder/long.tsv" --steps 2 --anyway
check "a sentence of 100,000 words: exit status" exits_with 0
awk 'BEGIN { printf "A\t"; for (i = 0; i < 100000; i++) printf "w%d ", i % 97; print ""; print "B\tx" }' >"$folder/text.tsv"
cp "$model" "$folder/tagger.safetensors"
learn classify "$folder/text.tsv" --dev "$folder/text.tsv" --steps 2 --anyway
check "a text of 100,000 words: exit status" exits_with 0
head -n 1 "$folder/text.tsv" | cut -f 2 >"$folder/line"
run predict "$model" "$folder/line"
check "a line of 100,000 words is classified" [ "$(wc -l <"$folder/out")" -eq 1 ]
run predict "$folder/tagger.safetensors" "$folder/line"
check "a line of 100,000 words is tagged" [ "$(wc -l <"$folder/out")" -eq 100001 ]
learn classify "$folder/text.tsv" --dev "$folder/text.tsv" --steps 2 --position learned --anyway
check "learned positions: long texts are cut: exit status" exits_with 0
printf '\033[31mA\tred\n\a\tgreen\n\033[31mA\tred sky\n' >"$folder/controls.tsv"
learn classify "$folder/controls.tsv" --epochs 2 --anyway
check "labels with control characters: exit status" exits_with 0
check "labels with control characters: not on the terminal" no_raw_controls
# which of the lines is held out decides about the message
learn regress "$folder/controls.tsv" --anyway --hold-out-groups false
check "labels that are no numbers: exit status" exits_with 1
check "labels that are no numbers: file and line" complains "controls.tsv:2: \"\\x07\" is not a number"
check "labels that are no numbers: escaped" no_raw_controls
learn classify "$folder/train.tsv" --column $'no\033such'
check "a column that is not there: exit status" exits_with 1
check "a column that is not there: escaped" no_raw_controls

# --- the width of the table of embeddings -----------------------------------

# A narrow table of embeddings: so many fewer numbers, and a map to the rows; a wide one is as wide as they are.
parameters() { "$program" info "$model" --json | sed -n 's/.*"parameters": *\([0-9]*\).*/\1/p' | head -n 1; }
for columns in 0 100 3; do
    echo "{\"text\": {\"columns\": $columns, \"buckets\": 500}}" >"$folder/narrow.json"
    learn tag "$folder/train.conllu" --dev "$folder/dev.conllu" --config "$folder/narrow.json" --splitter none --steps 3 --quiet
    check "text.columns $columns: exit status" exits_with 0
    counted[columns]=$(parameters)
done
check "text.columns 100: that of rows" [ "${counted[100]}" = "${counted[0]}" ]
saved=$((counted[0] - counted[3] + 3 * 8))
check "text.columns 3: rows of 3 numbers instead of 8" between 500 $((saved / 5)) 1000
check "text.columns 3: no other difference" [ $((saved % 5)) = 0 ]
run eval "$model" "$folder/dev.conllu" --json
check "text.columns 3: evaluates" exits_with 0

# --- the same data, the same model ------------------------------------------

learn tag "$folder/train.conllu" --dev "$folder/dev.conllu" --epochs 2 --quiet
check "--quiet: says nothing" silent err
check "--quiet: nothing on stdout" silent out
cp "$model" "$folder/quiet.safetensors"
learn tag "$folder/train.conllu" --dev "$folder/dev.conllu" --epochs 2 --quiet --json
check "--json: the same model" cmp -s "$model" "$folder/quiet.safetensors"
check "--json: nothing on stderr" silent err
steps=$(grep -c '^{"step": [0-9]*, "steps": .*"rows": [0-9]*, "seconds": [0-9.]*, "ranks": 1, .*}$' "$folder/out")
check "--json: a line for each step" grep -q "\"step\": $steps, \"steps\": $steps," "$folder/out"
check "--json: a line for a score" grep -q '^{"step": [0-9]*, "metric": "accuracy", "value": [0-9.]*, "macro_f1": [0-9.]*, "best_step": [0-9]*}$' "$folder/out"
mv "$model" "$folder/plain.safetensors"
{
    printf '\357\273\277'
    sed 's/$/\r/' "$folder/train.conllu"
} >"$folder/crlf.conllu"
learn tag "$folder/crlf.conllu" --dev "$folder/dev.conllu" --epochs 2
check "BOM and CRLF: the same model" cmp -s "$model" "$folder/plain.safetensors"
gzip -c "$folder/train.conllu" >"$folder/train.conllu.gz"
learn tag "$folder/train.conllu.gz" --dev "$folder/dev.conllu" --epochs 2 --threads 1
check "gzip, one thread: the same model" cmp -s "$model" "$folder/plain.safetensors"

# --- configurations ---------------------------------------------------------

run train tag --dump-config "${small[@]}" --epochs 2 --crf --window 3
check "--dump-config: exit status" exits_with 0
check "--dump-config: what was set" says '"columns": 8'
check "--dump-config: both sides of the window" says '"right": 3'
cp "$folder/out" "$folder/config.json"
run train tag --dump-config --columns 24 --heads 2
check "--columns: still sets the width" says '"columns": 24'
check "--columns: says its new name" complains "attn train: --columns is now called --width"
run train tag --dump-config --config "$folder/config.json"
check "--dump-config of --config is the same" cmp -s "$folder/out" "$folder/config.json"
run train classify --dump-config --config "$folder/config.json" --layers 3
check "flags win over --config" says '"layers": 3'
run train tag --list-config
check "--list-config lists every value" says "encoder.columns"
learn tag "$folder/train.conllu" --epochs 2 --crf --window 3
check "no --dev: exit status" exits_with 0
check "no --dev: says that it holds out" complains "6 for choosing the best model, held out from the training data"
for i in $(seq 40); do # whole texts, and parts of them
    echo "good	a$i b$i c$i d$i e$i f$i g$i h$i"
    echo "bad	b$i c$i d$i e$i f$i g$i"
done >"$folder/parts.tsv"
cp "$model" "$folder/plain.safetensors"
rm -f "$model" "$last"
learn classify "$folder/parts.tsv" --steps 2
check "no --dev: says what is left out" complains "4 examples are contained in held-out ones, or very similar: left out of both"
learn classify "$folder/parts.tsv" --steps 2 --hold-out-groups false
check "--hold-out-groups false: exit status" exits_with 0
check "--hold-out-groups false: leaves nothing out" [ "$(grep -c 'left out' "$folder/err")" -eq 0 ]
yes "good	one and the same text again" | head -n 20 >"$folder/same.tsv"
learn classify "$folder/same.tsv" --steps 2 --anyway
check "texts that are all the same: says so" complains "too similar to hold out groups"
rm -f "$model" "$last"
run train tag "$folder/train.conllu" -o "$model" --config "$folder/config.json"
check "--config and flags make the same model" cmp -s "$model" "$folder/plain.safetensors"

# --- a time to keep ---------------------------------------------------------

started=$(date +%s%N)
learn tag "$folder/train.conllu" --time 3s --patience 0
spent=$((($(date +%s%N) - started) / 1000000))
check "--time: exit status" exits_with 0
check "--time 3s takes about that, not $spent ms" between 1000 "$spent" 9000
steps=$(sed -n 's/^the time given is enough for \([0-9]*\) steps$/\1/p' "$folder/err")
check "--time: says how many steps" [ -n "$steps" ]
run info "$model" --config
check "--time: they stand in the model" says "\"steps\": $steps"

# --- Ctrl-C -----------------------------------------------------------------

# start: a run in the background, once it is under way.
start() {
    : >"$folder/err"
    "$program" train tag "$folder/train.conllu" --dev "$folder/dev.conllu" -o "$model" "${small[@]}" --steps 300 \
        --patience 0 >"$folder/out" 2>"$folder/err" &
    running=$!
    for _ in $(seq 400); do
        if grep -q "best" "$folder/err"; then break; fi
        sleep 0.02
    done
}
learn tag "$folder/train.conllu" --dev "$folder/dev.conllu" --steps 300 --patience 0 --resume --keep-last
check "--resume without a run before: says so" complains "nothing to resume"
mv "$model" "$folder/plain.safetensors"
mv "$last" "$folder/plain.last.safetensors"
start
kill -INT "$running"
wait "$running"
status=$?
check "Ctrl-C: exit status" exits_with 130
check "Ctrl-C: says how to go on" complains "--resume continues from there"
check "Ctrl-C: the best model is there" opens "$model"
check "Ctrl-C: the file to go on from is there" opens "$last"
run train tag "$folder/train.conllu" --dev "$folder/dev.conllu" -o "$model" "${small[@]}" --steps 300 --patience 0 --resume \
    --keep-last
check "--resume: exit status" exits_with 0
check "--resume: says where it was" complains "resumed after step"
check "--resume: the same model" cmp -s "$model" "$folder/plain.safetensors"
check "--resume: the same file to go on from" cmp -s "$last" "$folder/plain.last.safetensors"
run train tag "$folder/train.conllu" --dev "$folder/dev.conllu" -o "$model" "${small[@]}" --steps 301 --patience 0 --resume
check "--resume of another run: exit status" exits_with 1
check "--resume of another run: says what differs" complains "training.steps was 300 and is 301"
run train tag "$folder/dev.conllu" --dev "$folder/dev.conllu" -o "$model" "${small[@]}" --steps 300 --patience 0 --resume
check "--resume with other data: says so" complains "other training data"
check "--resume refused: the model is as it was" cmp -s "$model" "$folder/plain.safetensors"

# --- a terminal -------------------------------------------------------------

if script --version >"$folder/null" 2>&1; then
    for columns in 70 100; do # the bar stays, however long the numbers are; some of them go
        rm -f "$model" "$last"
        script -qec "stty cols $columns; '$program' train tag '$folder/train.conllu' -o '$model' ${small[*]} --time 1s --patience 0" \
            "$folder/typed" >"$folder/out" 2>"$folder/err"
        status=$?
        check "on a terminal of $columns columns: exit status" exits_with 0
        check "on a terminal of $columns columns: a bar" says "▏ epoch "
        check "on a terminal of $columns columns: what it says at last" says "the model is in"
    done
fi

# --- diverging --------------------------------------------------------------

printf '{"training": {"optimizer": "sgd", "clip_norm": 0, "warmup": 0.5}}' >"$folder/sgd.json"
learn tag "$folder/train.conllu" --config "$folder/sgd.json" --learning-rate 1000 --epochs 30
check "a loss that is not a number: exit status" exits_with 1
check "a loss that is not a number: step and learning rate" grep -Eq "at step [0-9]+, with learning rate [0-9]" "$folder/err"
check "a loss that is not a number: the file of before is whole" opens "$last"

# --- a full disk ------------------------------------------------------------

# whole WHAT: the run before the disk was full has left these, and they are as they were.
whole() {
    check "$1: exit status" exits_with 1
    check "$1: says which file" complains "m.last.safetensors"
    check "$1: the model is as it was" cmp -s "$disk/m.safetensors" "$folder/before.safetensors"
    check "$1: the other file is as it was" cmp -s "$disk/m.last.safetensors" "$folder/before.last.safetensors"
    check "$1: nothing else is left" [ "$(find "$disk" -type f ! -name filler | wc -l)" -eq 2 ]
}
# fill_first: files of a run that went well, in $disk.
fill_first() {
    run train tag "$folder/train.conllu" -o "$disk/m.safetensors" "${small[@]}" --steps 3 --keep-last
    check "$1: a run before it" exits_with 0
    cp "$disk/m.safetensors" "$folder/before.safetensors"
    cp "$disk/m.last.safetensors" "$folder/before.last.safetensors"
}
disk=$folder/limited
mkdir "$disk"
fill_first "a limit on files"
(
    ulimit -f 20 # the system would end the program with SIGXFSZ
    exec "$program" train tag "$folder/train.conllu" -o "$disk/m.safetensors" "${small[@]}" --steps 3 --seed 2 --force
) >"$folder/out" 2>"$folder/err"
status=$?
whole "a limit on files"
check "a limit on files: says so" complains "File too large"
disk=$folder/disk
mkdir "$disk"
if mount -t tmpfs -o size=16m attn_test "$disk" 2>"$folder/null"; then
    trap 'umount "$disk"; rm -rf "$folder"' EXIT
    fill_first "a full disk"
    head -c 20000000 /dev/zero >"$disk/filler" 2>"$folder/null"
    run train tag "$folder/train.conllu" -o "$disk/m.safetensors" "${small[@]}" --steps 3 --seed 2 --force
    whole "a full disk"
    check "a full disk: says so" complains "No space left"
else
    echo "a full disk: no mount here; the limit on files has to do"
fi

finish
