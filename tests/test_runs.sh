#!/bin/bash
# attn train on files that are there: --force, --resume, --more, --start, links, two runs at once, and the signals
# that end a run.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
model=$folder/m.safetensors
last=$folder/m.last.safetensors
small=(--width 8 --heads 2 --layers 1 --threads 2 --patience 0)
sentences 60 >"$folder/train.conllu"
sentences 20 >"$folder/dev.conllu"
data=("$folder/train.conllu" --dev "$folder/dev.conllu")

# learn FLAG...: a tiny network, in $model.
learn() { run train tag "${data[@]}" -o "$model" "${small[@]}" "$@"; }
unchanged() { cmp -s "$model" "$folder/before"; }
opens() { "$program" info "$1" >"$folder/null" 2>&1; }

# --- a model that is there --------------------------------------------------

for flag in --force --resume --more --start --keep-last; do
    run train --help all
    check "help: $flag" says " $flag"
done
echo precious >"$model"
cp "$model" "$folder/before"
learn --steps 20
check "a file that is there: exit status" exits_with 1
check "a file that is there: says which" complains "m.safetensors: exists already"
check "a file that is there: says what to do" complains "(--force, --more)"
check "a file that is there: is as it was" unchanged
learn --steps 20 --force --resume
check "--force and --resume: exit status" exits_with 2
learn --steps 20 --force
check "--force: exit status" exits_with 0
check "--force: a model" opens "$model"
check "a finished run: no .last file" [ ! -e "$last" ]
check "a finished run: no lock" [ ! -e "$model.lock" ]
cp "$model" "$folder/before"
learn --steps 20 --resume
check "--resume of a finished run: exit status" exits_with 0
check "--resume of a finished run: says so" complains "finished: nothing to do"
check "--resume of a finished run: the model is as it was" unchanged
learn --steps 30 --resume
check "--resume of another finished run: exit status" exits_with 1
check "--resume of another finished run: what differs" complains "training.steps was 20 and is 30"
run train tag "$folder/dev.conllu" --dev "$folder/dev.conllu" -o "$model" "${small[@]}" --steps 20 --resume
check "--resume of a finished run with other data: exit status" exits_with 1
check "--resume of a finished run with other data: says so" complains "other training data"
run train tag "${data[@]}" -o "$model" --width 8 --heads 2 --layers 1 --threads 2 --time 1s --force
check "--time: the run by steps is told not to end sooner" grep -q "^to repeat it, instead of --time: --steps [0-9]* --patience 0$" "$folder/err"
learn --time 1s --force
check "--time: who says how long to wait does so again" grep -q "^to repeat it, instead of --time: --steps [0-9]*$" "$folder/err"
learn --time 1s --resume
check "--resume of a finished run of --time: says so" complains "finished: nothing to do"
learn --steps 20 --force --keep-last
check "--keep-last: it is there" opens "$last"
learn --steps 20 --resume --keep-last
check "--resume of a finished run with its .last file: says so" complains "finished: nothing to do"
learn --steps 20
check "a .last file that was kept: refused" complains "(--resume, --force)"

# --- more -------------------------------------------------------------------

learn --steps 8 --force
for wrong in soon 0 -5m 2epochsx 0steps epochs; do
    run train tag "${data[@]}" -o "$model" --more "$wrong"
    check "--more $wrong: exit status" exits_with 2
    check "--more $wrong: says how it is written" complains "--more is 5m, 2epochs or 500steps"
done
for other in "--time 1s" "--steps 3" "--epochs 3" "--start $folder/before" "--force"; do
    # shellcheck disable=SC2086 # a flag and its value
    run train tag "${data[@]}" -o "$model" --more 3steps $other
    check "--more with $other: exit status" exits_with 2
done
run train tag "${data[@]}" -o "$folder/none.safetensors" --more 3steps
check "--more of nothing: exit status" exits_with 1
check "--more of nothing: says so" complains "no model to train further"
run train tag "${data[@]}" -o "$model" --more 3steps --layers 2
check "--more of another network: exit status" exits_with 1
check "--more of another network: says what differs" complains "encoder.layers was 1 and is 2"
score() { sed -n 's/.*"score":\([0-9.]*\).*/\1/p' "$folder/out"; }
run info "$model" --json
before=$(score)
run train tag "${data[@]}" -o "$model" --more 60steps --learning-rate 0.01 --threads 2
check "--more 60steps: exit status" exits_with 0
check "--more 60steps: begins with the score of the model" complains "the model to be trained further: dev accuracy $(printf '%.4f' "$before")"
check "--more 60steps: as many" complains " 60 steps ("
run info "$model" --json
check "--more 60steps: a better model" awk -v a="$before" -v b="$(score)" 'BEGIN { exit !(a != "" && b > a) }'
run train tag "${data[@]}" -o "$model" --more 2epochs
check "--more 2epochs: as many" complains "(2.0 epochs)"
run train tag "${data[@]}" -o "$model" --more 1s
check "--more 1s: exit status" exits_with 0
check "--more 1s: measured" complains "the time given is enough for"
cp "$model" "$folder/before"
run train tag "${data[@]}" -o "$model" --more 5steps --learning-rate 10
check "--more that makes it worse: exit status" exits_with 0
check "--more that makes it worse: says so" complains "no evaluation was better: the model is unchanged"
check "--more that makes it worse: the model is as it was" unchanged

# --- from another model -----------------------------------------------------

run train tag "${data[@]}" -o "$folder/n.safetensors" --start "$model" --epochs 2 --quiet
check "--start: exit status" exits_with 0
check "--start: the model that it begins from is as it was" unchanged
run info "$folder/n.safetensors" --json
check "--start: the network is that of the model" says '"columns": 8'
run train tag "${data[@]}" -o "$model" --start "$model" --force
check "--start from the output: exit status" exits_with 1
check "--start from the output: says why" complains "would replace it"
run train tag "${data[@]}" -o "$folder/n.safetensors" --start "$model"
check "--start onto a file that is there: refused" complains "n.safetensors: exists already"
printf '1\tcat\t_\tSTRANGE\t_\t_\t_\t_\t_\t_\n\n' >"$folder/strange.conllu"
run train tag "$folder/strange.conllu" -o "$folder/o.safetensors" --start "$model" --anyway
check "--start with a label that the model lacks: exit status" exits_with 1
check "--start with a label that the model lacks: where" complains 'strange.conllu:1: the model that training starts from has no label "STRANGE"'

# --- signals ----------------------------------------------------------------

# start FLAG...: a run in the background, once it is under way; it would take an hour.
start() {
    : >"$folder/err"
    "$program" train tag "${data[@]}" -o "$model" "${small[@]}" --steps 100000 "$@" >"$folder/out" 2>"$folder/err" &
    running=$!
    for _ in $(seq 400); do
        if grep -q "best\|resumed" "$folder/err"; then break; fi
        sleep 0.02
    done
}
stop() {
    kill "-$1" "$running"
    wait "$running"
    status=$?
}
begin=--force
for signal in INT:130 TERM:143 HUP:129; do
    start "$begin"
    begin=--resume
    stop "${signal%:*}"
    check "SIG${signal%:*}: exit status ${signal#*:}" exits_with "${signal#*:}"
    check "SIG${signal%:*}: says how to go on" complains "--resume continues from there"
    check "SIG${signal%:*}: the model is there" opens "$model"
    check "SIG${signal%:*}: the .last file is there" opens "$last"
    check "SIG${signal%:*}: nothing else is there" [ "$(find "$folder" -name 'm.*' | wc -l)" -eq 2 ]
done
learn --steps 100000
check "after a stop: refused" exits_with 1
check "after a stop: says where it was" complains "is of a run that was stopped after step"
check "after a stop: says what to do" complains "(--resume, --force)"
run train tag "${data[@]}" -o "$model" --more 3steps
check "after a stop: no more" complains "resume continues it"
: >"$folder/err"
(
    trap '' HUP # as nohup does
    exec "$program" train tag "${data[@]}" -o "$model" "${small[@]}" --steps 100000 --resume >"$folder/out" 2>"$folder/err"
) &
running=$!
for _ in $(seq 400); do
    if grep -q "resumed" "$folder/err"; then break; fi
    sleep 0.02
done
kill -HUP "$running"
sleep 0.3
check "nohup: SIGHUP does not end it" kill -0 "$running"
stop TERM
check "nohup: SIGTERM does" exits_with 143

# --- two at once ------------------------------------------------------------

start --force
learn --steps 5 --force
check "a second run: exit status" exits_with 1
check "a second run: refused at once" complains "m.safetensors: another run is writing it"
kill -KILL "$running"
wait "$running" 2>"$folder/null"
check "killed: what it locked is still there" [ -e "$model.lock" ]
learn --steps 5 --force
check "killed: no obstacle to the next" exits_with 0
check "killed: nothing is left behind" [ "$(find "$folder" -name 'm.*' | wc -l)" -eq 1 ]

# --- links ------------------------------------------------------------------

mkdir "$folder/models"
ln -s models/real.safetensors "$folder/link.safetensors"
run train tag "${data[@]}" -o "$folder/link.safetensors" "${small[@]}" --steps 5
check "a link: exit status" exits_with 0
check "a link stays one" [ -L "$folder/link.safetensors" ]
check "a link: its target is the model" opens "$folder/models/real.safetensors"
check "a link: nothing else is there" [ "$(find "$folder/models" -type f | wc -l)" -eq 1 ]

# --- compare ----------------------------------------------------------------

mkdir "$folder/kept"
echo precious >"$folder/kept/fc-1.safetensors"
compare=(compare tag "${data[@]}" --test "$folder/dev.conllu" --encoders fc --seeds 1 --steps 3 --width 8 --layers 1
    --quiet --keep "$folder/kept")
run "${compare[@]}"
check "compare --keep where a model is: exit status" exits_with 1
check "compare --keep where a model is: says what to do" complains "fc-1.safetensors exists already: --force replaces it"
check "compare --keep where a model is: it stays" grep -q precious "$folder/kept/fc-1.safetensors"
run "${compare[@]}" --force
check "compare --keep --force: exit status" exits_with 0
check "compare --keep --force: a model, and nothing else" opens "$folder/kept/fc-1.safetensors"
check "compare --keep --force: nothing else" [ "$(find "$folder/kept" -type f | wc -l)" -eq 1 ]

finish
