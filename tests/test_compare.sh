#!/bin/bash
# attn compare as a user meets it: the table, JSON and picture of a small comparison, the same figures again, mistakes,
# runs that fail, Ctrl-C.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
small=(--width 8 --heads 2 --layers 1 --threads 2 --steps 10)
export TMPDIR=$folder/temporary
mkdir "$TMPDIR"
sentences 60 >"$folder/train.conllu"
sentences 20 >"$folder/dev.conllu"
sentences 35 | tail -n 150 | sed -n '/^# sent_id/,$p' >"$folder/test.conllu"
data=(tag "$folder/train.conllu" --dev "$folder/dev.conllu" --test "$folder/test.conllu")

has_line() { grep -qE -e "$2" "$folder/$1"; }
count_is() { [ "$(grep -cE -e "$3" "$folder/$2")" -eq "$1" ]; }
nothing_left() { [ -z "$(ls -A "$TMPDIR")" ]; }
# json EXPRESSION: what it says of standard output, read as `what`.
json() {
    python3 -c 'import json, sys
what = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$folder/out" "$1"
}
json_is() { [ "$(json "$2")" = "$1" ]; }
have_python() { python3 -c 'import json, xml.dom.minidom' >"$folder/null" 2>&1; }

# --- the table --------------------------------------------------------------

run compare --help all
check "help: exit status" exits_with 0
check "help: --seeds" says "--seeds N"
check "help: flags of training" says "--learning-rate"
run help
check "attn help lists it" says "compare"
run compare "${data[@]}" "${small[@]}" --encoders rnn,attention --seeds 2 --svg "$folder/plot.svg"
check "table: exit status" exits_with 0
check "table: what was compared" has_line out '^tag, 2 seeds, 1 layer of 8 columns, 10 steps per run$'
check "table: the metric stands in the heading" has_line out '^\| encoder +\| dev accuracy, median .*\| test accuracy, median .*\| test macro_f1, median .*\| parameters \|'
range='[01]\.[0-9]{4} \([01]\.[0-9]{4}–[01]\.[0-9]{4}\)'
check "table: rnn" has_line out "^\| rnn +\| $range +\| $range +\| $range +\| +[0-9]+k \| +[0-9]+k? \| +[0-9.]+ \| +[0-9]+ MB \|$"
check "table: attention" has_line out "^\| attention +\| $range +\| $range +\| "
check "table: no other encoder" count_is 4 out '^\|'
check "differences: against the best" has_line out '^test accuracy against (rnn|attention), the best:$'
check "differences: a line for the other" count_is 1 out '^  (rnn|attention) +[-+]0\.[0-9]{4} \([-+]0\.[0-9]{4} to [-+]0\.[0-9]{4}\), p [01]\.[0-9]{3}(: not significant)?$'
check "differences: how" has_line out '^Paired bootstrap: '
check "a line each run" count_is 4 err '^(rnn|attention) +seed [12]  accuracy: dev '
check "no model is left" nothing_left
cp "$folder/out" "$folder/first"
run compare "${data[@]}" "${small[@]}" --encoders rnn,attention --seeds 2 --quiet --threads 1
check "--quiet: says nothing" silent err
scores() { cut -d '|' -f 2-5 "$1"; }
check "again, one thread: the same scores" [ "$(scores "$folder/out")" = "$(scores "$folder/first")" ]

# The score of a model that is trained by hand is the one in the table.
run train tag "$folder/train.conllu" --dev "$folder/dev.conllu" -o "$folder/m.safetensors" "${small[@]}" --patience 0 \
    --encoder rnn --seed 2 --quiet
run eval "$folder/m.safetensors" "$folder/test.conllu"
cp "$folder/out" "$folder/by_hand"
by_hand=$(sed -n 's/^accuracy  *\([0-9.]*\)  (.*)$/\1/p' "$folder/out")
run compare "${data[@]}" "${small[@]}" --encoders rnn --seeds 2 --keep "$folder/kept"
check "--keep: exit status" exits_with 0
check "attn train and attn eval say $by_hand, too" has_line err "^rnn +seed 2 .* test $by_hand "
macro=$(sed -n 's/^macro_f1  *\([0-9.]*\)  (.*)$/\1/p' "$folder/by_hand")
check "macro F1 is $macro, too" has_line err "^rnn +seed 2 .* test $by_hand \(macro_f1 $macro\) "
check "--keep: the model of attn train" cmp -s "$folder/m.safetensors" "$folder/kept/rnn-2.safetensors"
check "--keep: the models and nothing else" [ "$(ls "$folder/kept")" = $'rnn-1.safetensors\nrnn-2.safetensors' ]

# --- other tasks, a time to keep --------------------------------------------

printf 'good\tred & <b>\nbad\tgreen\ngood\tred sky\nbad\tgreen sea\n' >"$folder/a & <b>.tsv"
run compare classify "$folder/a & <b>.tsv" --dev "$folder/a & <b>.tsv" --test "$folder/a & <b>.tsv" "${small[@]}" \
    --seeds 1 --svg "$folder/class.svg" --anyway
check "classify, all encoders: exit status" exits_with 0
check "classify, all encoders: one seed has no range" has_line out '^\| encoder +\| dev accuracy +\| test accuracy +\| test macro_f1 +\|'
check "classify, all encoders: in order" [ "$(sed -n 's/^| \([a-z]*\) .*/\1/p' "$folder/out" | tr '\n' ' ')" = "encoder none fc cnn rnn attention " ]
printf '1\tone\n2\ttwo\n1.5\tone two\n0\tnone\n' >"$folder/numbers.tsv"
run compare regress "$folder/numbers.tsv" --dev "$folder/numbers.tsv" --test "$folder/numbers.tsv" --width 8 --heads 2 \
    --encoders fc --seeds 1 --time 1s --json --svg "$folder/time.svg" --anyway
check "regress, --time, --json: exit status" exits_with 0
check "regress: less is better" says '"metric": "mean_squared_error", "rises": false'
check "--time: the picture has the speed" grep -q "tokens/s in training" "$folder/time.svg"

# --- JSON and pictures ------------------------------------------------------

run compare "${data[@]}" "${small[@]}" --encoders cnn,fc --seeds 3 --json
check "--json: exit status" exits_with 0
if have_python; then
    check "--json: encoders as given" json_is "['cnn', 'fc']" '[one["encoder"] for one in what["encoders"]]'
    check "--json: seeds" json_is "[1, 2, 3]" '[one["seed"] for one in what["encoders"][1]["runs"]]'
    check "--json: median and range" json_is True 'all([one["median"], one["lowest"], one["highest"]] == [sorted(r["test"] for r in e["runs"])[i] for i in (1, 0, 2)] for e in what["encoders"] for one in [e["test"]])'
    check "--json: macro F1 of accuracy" json_is True 'all(r["test_macro_f1"] <= e["test_macro_f1"]["highest"] for e in what["encoders"] for r in e["runs"])'
    check "--json: figures of a run" json_is True 'min(r[k] for e in what["encoders"] for r in e["runs"] for k in ("parameters", "tokens_per_second", "seconds", "peak_memory_bytes", "best_step")) > 0'
    check "--json: one encoder is the best, the other is compared" json_is "1" 'len([e for e in what["encoders"] if "against_best" in e])'
    check "--json: the difference of means" json_is True 'all(abs(b["difference"] - (sum(r["test"] for r in e["runs"]) - sum(r["test"] for o in what["encoders"] if o["encoder"] == b["best"] for r in o["runs"])) / 3) < 1e-6 and b["low"] <= b["high"] and 0 < b["p"] <= 1 and b["significant"] == (b["p"] < 0.05) for e in what["encoders"] if "against_best" in e for b in [e["against_best"]])'
    check "--json: the same steps" json_is "{10}" '{r["steps"] for e in what["encoders"] for r in e["runs"]}'
    for picture in plot class time; do
        check "$picture.svg is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$folder/$picture.svg"
    done
fi
check "picture: a dot each seed" count_is 4 plot.svg '<circle '
check "picture: file names are escaped" grep -qF 'Encoders on a &amp; &lt;b&gt;.tsv' "$folder/class.svg"
check "picture: no number that is none" [ "$(grep -ciE '[" ](nan|inf)' "$folder/plot.svg")" -eq 0 ]

# --- mistakes ---------------------------------------------------------------

# mistake STATUS TEXT ARGUMENT...
mistake() {
    local expected=$1 text=$2
    shift 2
    run compare "$@"
    check "attn compare $*: exit status $expected" exits_with "$expected"
    check "attn compare $*: says '$text'" complains "$text"
    check "attn compare $*: nothing on stdout" silent out
    check "attn compare $*: nothing was trained" [ "$(grep -c "seed 1" "$folder/err")" -eq 0 ]
    check "attn compare $*: nothing is left" nothing_left
}
mistake 2 "what task?"
mistake 2 "no training file" tag
mistake 2 "--test FILE" tag "$folder/train.conllu"
mistake 2 "there is no encoder rn: none, mean, fc, cnn, rnn, attention; did you mean rnn?" "${data[@]}" --encoders fc,rn
mistake 2 "names fc twice" "${data[@]}" --encoders fc,cnn,fc
mistake 2 "there is no encoder" "${data[@]}" --encoders ""
mistake 2 "there is no flag --encoder; did you mean --encoders?" "${data[@]}" --encoder rnn
mistake 2 "--seeds 0: must be" "${data[@]}" --seeds 0
mistake 2 'encoder.layers is "two"' "${data[@]}" --layers two
mistake 1 "not a multiple of encoder.heads (5)" "${data[@]}" --encoders fc,attention --width 8 --heads 5
mistake 2 "not both" "${data[@]}" --time 5s --steps 3
mistake 1 "$folder/no.conllu" tag "$folder/no.conllu" --test "$folder/test.conllu"
mistake 1 "$folder/no.conllu" tag "$folder/train.conllu" --test "$folder/no.conllu"
printf '1\tword\tT\n\n' >"$folder/bad.conllu"
mistake 1 "bad.conllu:1:" tag "$folder/train.conllu" --test "$folder/bad.conllu"
mistake 1 "train.conllu is an input file" "${data[@]}" --svg "$folder/train.conllu"
mistake 1 "test.conllu is an input file" "${data[@]}" --svg "$folder/test.conllu"
mistake 1 "$folder/none/plot.svg" "${data[@]}" --svg "$folder/none/plot.svg"
mistake 1 "cannot make $folder/none/kept" "${data[@]}" --keep "$folder/none/kept"
: >"$folder/a-file"
mistake 1 "cannot keep models in $folder/a-file: Not a directory" "${data[@]}" --keep "$folder/a-file"
printf '{"encoder": {"mix": "rnn", "layers": 1}}' >"$folder/mix.json"
mistake 2 "encoder.mix is rnn" "${data[@]}" --config "$folder/mix.json"

# --- runs that fail ---------------------------------------------------------

printf '{"training": {"optimizer": "sgd", "clip_norm": 0, "warmup": 0.5}}' >"$folder/sgd.json"
diverging=(--config "$folder/sgd.json" --learning-rate 1000 --steps 200)
run compare "${data[@]}" "${small[@]}" "${diverging[@]}" --encoders fc --seeds 1
check "a loss that is not a number: exit status" exits_with 1
check "a loss that is not a number: which run, why" has_line err "^attn compare: fc, seed 1: .* at step [0-9]+"
check "a loss that is not a number: no table" silent out
run compare "${data[@]}" "${small[@]}" "${diverging[@]}" --encoders fc --seeds 1 --json
check "a loss that is not a number: JSON has the error" has_line out '"runs": \[\{"seed": 1, "error": ".* at step [0-9]+'

# start FLAG...: a comparison in the background, once its models have a folder.
start() {
    : >"$folder/err"
    "$program" compare "${data[@]}" "${small[@]}" "$@" >"$folder/out" 2>"$folder/err" &
    running=$!
    wait_for folder_there
}
wait_for() {
    for _ in $(seq 1000); do
        if "$@"; then return; fi
        sleep 0.01
    done
}
folder_there() { ! nothing_left; }
if command -v pgrep >"$folder/null"; then
    start --encoders rnn,fc --seeds 1 --steps 2000 --svg "$folder/killed.svg"
    kill -KILL "$(pgrep -P "$running")"
    wait "$running"
    status=$?
    check "a killed run: exit status" exits_with 1
    check "a killed run: says so" complains "rnn, seed 1: its process was ended by signal 9"
    check "a killed run: its row" has_line out '^\| rnn, 0 of 1 +\| - +\| - '
    check "a killed run: the others go on" has_line out '^\| fc +\| [01]\.'
    check "a killed run: in the picture" grep -q "no run finished" "$folder/killed.svg"
    check "a killed run: nothing is left" nothing_left
fi

# --- Ctrl-C -----------------------------------------------------------------

start --encoders rnn,fc --seeds 500
wait_for grep -q "seed 1 " "$folder/err"
kill -INT "$running"
wait "$running"
status=$?
check "Ctrl-C: exit status" exits_with 1
check "Ctrl-C: says so" complains "interrupted"
check "Ctrl-C: what was done is there" has_line out '^\| rnn, [0-9]+ of 500 +\| [01]\.'
check "Ctrl-C: what was not is not" has_line out '^\| fc, 0 of 500 +\| - '
check "Ctrl-C: nothing is left" nothing_left
check "Ctrl-C: no process is left" [ -z "$(pgrep -P "$running" 2>"$folder/null")" ]

# --- a terminal -------------------------------------------------------------

if script --version >"$folder/null" 2>&1; then
    script -qec "'$program' compare ${data[*]} ${small[*]} --encoders fc --seeds 1 --steps 300" "$folder/typed" \
        >"$folder/out" 2>"$folder/err"
    status=$?
    check "on a terminal: exit status" exits_with 0
    check "on a terminal: which run" says "run 1 of 1: fc, seed 1"
    check "on a terminal: a bar" says "▏ epoch "
fi

finish
