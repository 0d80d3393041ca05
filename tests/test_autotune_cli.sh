#!/bin/bash
# attn train --autotune as a user meets it: mistakes, the table, the model that is kept, the command that gives it
# again, signals, every task. No check is about how long something takes.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
model=$folder/models/m.safetensors
mkdir "$folder/models"
small=(--width 8 --heads 2 --layers 1 --threads 2)

awk 'BEGIN {
    seed = 7
    split("good fine great nice", good); split("bad poor awful sad", bad); split("film plot cast end", things)
    for (i = 0; i < 300; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648; r = int(seed / 65536)
        word = r % 2 ? good[1 + int(r / 2) % 4] : bad[1 + int(r / 2) % 4]
        print (r % 2 ? "yes" : "no") "\tthe " things[1 + int(r / 8) % 4] " is " word " " i % 17
    }
}' >"$folder/train.tsv"
head -60 "$folder/train.tsv" >"$folder/dev.tsv"
sentences 60 >"$folder/train.conllu"
awk -F '\t' '{ print ($1 == "yes" ? 1.5 : -0.5) "\t" $2 }' "$folder/train.tsv" >"$folder/numbers.tsv"
awk 'BEGIN { for (i = 100; i < 200; i++) print i "\t" i % 10 " " int(i / 10) % 10 }' >"$folder/pairs.tsv"
cut -f 2 "$folder/train.tsv" >"$folder/lines.txt"

# tune TASK FILE FLAG...: in $model.
tune() {
    local task=$1 file=$2
    shift 2
    rm -f "$folder/models/"*
    run train "$task" "$file" -o "$model" "${small[@]}" "$@"
}
alone() { [ "$(ls "$folder/models")" = m.safetensors ]; }
empty() { [ -z "$(ls "$folder/models")" ]; }
opens() { "$program" info "$1" >"$folder/info" 2>&1; }
# again: the command that was printed, with another output, gives the same bytes.
again() {
    local command
    command=$(sed -n '/^the command that gives it again:$/{n;s/^  //p}' "$folder/err")
    [ "${command%% *}" = attn ] && cp "$model" "$folder/kept.safetensors" && rm "$model" &&
        eval "'$program' ${command#attn}" >"$folder/out2" 2>"$folder/err2" && cmp -s "$model" "$folder/kept.safetensors"
}

# --- mistakes -----------------------------------------------------------------

# mistake STATUS TEXT ARGUMENT...
mistake() {
    local expected=$1 text=$2
    shift 2
    run train classify "$folder/train.tsv" -o "$model" "$@"
    check "$*: exit status $expected" exits_with "$expected"
    check "$*: says '$text'" complains "$text"
    check "$*: no files" empty
}
mistake 2 "--autotune is 90s, 10m or 1h" --autotune soon
mistake 2 "--autotune is 90s, 10m or 1h" --autotune 0
for other in --resume "--more 5m" "--start x.safetensors" "--time 5m" --keep-last "--save-every 5s" "--timetable 5,2:7" \
    --fast-sum --scatter; do
    # shellcheck disable=SC2086
    mistake 2 "it does not go with ${other%% *}" --autotune 10s $other
done
mistake 1 "no.tsv: cannot be opened" --autotune 10s --dev "$folder/no.tsv"
printf 'old' >"$model"
run train classify "$folder/train.tsv" -o "$model" --autotune 10s
check "a file that is there: exit status" exits_with 1
check "a file that is there: says so" complains "--force"
check "a file that is there stays" [ "$(cat "$model")" = old ]

# --- the best of several runs ---------------------------------------------------

tune classify "$folder/train.tsv" --dev "$folder/dev.tsv" --steps 12 --learning-rate 1e-5 --autotune 8s --json --seed 3
check "exit status" exits_with 0
check "one file" alone
check "the first row: the defaults" grep -Eq "^  1  whole  the defaults .* best$" "$folder/err"
check "a candidate has a row" grep -Eq "^  2  1 +--[a-z]+ " "$folder/err"
check "what is set is not tried" [ "$(grep -Ec -- '--(width|layers|learning-rate|steps)' "$folder/err")" -eq 1 ]
# The metric that is kept is the best of the whole runs whose gain is no chance, and in the file.
kept=$(sed -n 's/^{"best": [0-9]*, "value": \([0-9.]*\), .*/\1/p' "$folder/out")
check "kept: the best whole run" [ -n "$kept" ]
check "kept: none was better" awk -v kept="$kept" -F '"value": ' '
    /"round": "whole"/ && !/"could be chance"/ { value = $2 + 0; most = value > most ? value : most }
    END { exit !(most == kept) }' "$folder/out"
# clearly: of the candidates, those that took the place of the defaults are better by more than is needed, and those
# that were better and did not, by less; what is needed is more than 1.6 standard errors.
clearly() {
    sed -n 's/.*"state": "\([^"]*\)".*"value": \([0-9.e-]*\).*"standard_error": \([0-9.e-]*\), "needed": \([0-9.e-]*\).*/\1:\2:\3:\4/p' \
        "$folder/out" | awk -F : -v first="$(sed -n 's/^{"run": 1, .*"value": \([0-9.e-]*\).*/\1/p' "$folder/out")" '
        $4 < 1.6 * $3 { bad = 1 }
        $1 == "best" && !($2 - first > $4) { bad = 1 }
        $1 == "could be chance" && !($2 > first && $2 - first <= $4) { bad = 1 }
        END { exit bad || NR == 0 }'
}
check "kept: what is clearly better than the defaults" clearly
check "macro F1 beside accuracy" grep -Eq "^run +round .* accuracy +macro_f1 " "$folder/err"
check "JSON: macro F1" grep -q '"accuracy", "value": [0-9.]*, "macro_f1": [0-9.]*' "$folder/out"
"$program" info "$model" >"$folder/info" 2>&1
check "kept: it is in the file" grep -q "$(printf '%.4f' "$kept")" "$folder/info"
check "JSON: a line for each run" [ "$(grep -c '^{"run": ' "$folder/out")" -eq "$(grep -Ec '^ *[0-9]+  (whole|[0-9]) ' "$folder/err")" ]
check "JSON: the command" grep -q '"command": "attn train classify ' "$folder/out"
check "the command gives it again" again

# Held out, with the linear model, quiet.
tune classify "$folder/train.tsv" --steps 10 --autotune 3s --quiet
check "--quiet: exit status" exits_with 0
check "--quiet: says nothing" silent err
check "--quiet: nothing on stdout" silent out
check "--quiet: a model" opens "$model"
ln -s m.safetensors "$folder/link"
run train classify "$folder/train.tsv" -o "$folder/link" "${small[@]}" --steps 10 --autotune 3s --force
check "a symbolic link is followed, and stays" [ -L "$folder/link" ]
check "nothing is left beside it" alone
check "nothing is left beside the link" [ ! -e "$folder/link.last.safetensors" ]

# A name that the shell would not leave alone.
cp "$folder/train.tsv" "$folder/it's here.tsv"
tune classify "$folder/it's here.tsv" --epochs 1 --autotune 2s --anyway
check "an odd name: exit status" exits_with 0
check "an odd name: the command gives it again" again

# --- every task -------------------------------------------------------------------

while read -r task file; do
    tune "$task" "$folder/$file" --steps 6 --autotune 3s
    check "$task: exit status" exits_with 0
    check "$task: a model alone" alone
    check "$task: a table" grep -Eq "^  1  whole  the defaults " "$folder/err"
    check "$task: the command gives it again" again
done <<'TASKS'
tag train.conllu
regress numbers.tsv
seq2seq pairs.tsv
lm lines.txt
TASKS
tune tag "$folder/train.conllu" --steps 6 --autotune 3s --memory 64K
check "data in files: exit status" exits_with 0
check "data in files: the command gives it again" again
tune classify "$folder/train.tsv" --steps 4 --autotune 3s --config <(echo '{"output": {"members": 2}}')
check "several networks: exit status" exits_with 0
opens "$model"
check "several networks: a model" opens "$model"

# --- signals ------------------------------------------------------------------------

wait_for() {
    for _ in $(seq 3000); do
        if "$@"; then return; fi
        sleep 0.01
    done
}
# start FLAG...: in the background.
start() {
    rm -f "$folder/models/"*
    : >"$folder/err"
    "$program" train classify "$folder/train.tsv" --dev "$folder/dev.tsv" -o "$model" "${small[@]}" --autotune 1h "$@" \
        >"$folder/out" 2>"$folder/err" &
    running=$!
}
stop() {
    kill "-$1" "$running"
    wait "$running"
    status=$?
}
start --steps 20
wait_for grep -Eq "^  3  1 " "$folder/err"
stop INT
check "Ctrl-C: exit status" exits_with 130
check "Ctrl-C: the best so far alone" alone
check "Ctrl-C: says what it is" complains "best: run "
check "Ctrl-C: the command gives it again" again
# Evaluated often, so that there is a model soon, however slow the machine.
echo '{"training": {"evaluations": 10000}}' >"$folder/often.json"
start --steps 1000000 --patience 0 --config "$folder/often.json"
wait_for [ -s "$model" ]
stop TERM
check "SIGTERM in the first run: exit status" exits_with 143
check "SIGTERM in the first run: its model alone" alone
check "SIGTERM in the first run: it opens" opens "$model"
check "SIGTERM in the first run: says so" complains "stopped in the first run"
check "SIGTERM in the first run: no command" [ "$(grep -c 'gives it again' "$folder/err")" -eq 0 ]

finish
