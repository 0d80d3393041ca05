#!/bin/bash
# Probabilities at the command line: the temperature that training fits, calibration in the report of eval, rare
# classes and the advice about them, and predict --unsure.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# texts COUNT SEED: "label TAB text" of two large classes, of which a third is noise, and a rare one that no word
# tells apart.
texts() {
    awk -v count="$1" -v seed="$2" '
        function next_number(below) { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) % below }
        BEGIN {
            for (i = 0; i < count; i++) {
                key = next_number(2)
                label = next_number(3) ? key : next_number(2)
                if (i % 30 == 7) label = 2
                print (label == 2 ? "rare" : label ? "yes" : "no") "\t" (key ? "fine" : "poor") " w" next_number(90)
            }
        }'
}
texts 300 1 >"$folder/train.tsv"
texts 300 2 >"$folder/dev.tsv"
texts 600 3 >"$folder/test.tsv"
# fit NAME FLAG...: trains on one file, chooses by another.
fit() {
    local name=$1
    shift
    run train classify "$folder/train.tsv" --dev "$folder/dev.tsv" -o "$folder/$name.safetensors" --width 16 --heads 2 \
        --layers 1 --threads 2 --patience 0 --learning-rate 0.02 --steps 300 "$@"
    check "a model is trained: $name" exits_with 0
}
printf '{"output": {"calibrate": false}}\n' >"$folder/off.json"

fit plain --config "$folder/off.json"
run info "$folder/plain.safetensors"
check "off: no temperature" [ "$(grep -c temperature "$folder/out")" -eq 0 ]
fit fitted
check "training: macro F1 beside accuracy" grep -Eq 'dev accuracy [01]\.[0-9]{4}, macro_f1 [01]\.[0-9]{4}' "$folder/err"
check "training: macro F1 of the best" grep -Eq '^best: dev accuracy [01]\.[0-9]{4}, macro_f1 [01]\.[0-9]{4} at step' "$folder/err"
check "training: rare classes" grep -Eqx ' +10 +0\.0000  rare' "$folder/err"
check "training: what helps them" complains "training with --balance"
run info "$folder/fitted.safetensors"
check "info: the temperature" grep -Eq 'outputs .*; temperature [0-9.]+$' "$folder/out"

# value NAME: of the report on standard output.
value() { awk -v name="$1" '$1 == name { print $2 }' "$folder/out"; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }
run eval "$folder/plain.safetensors" "$folder/test.tsv"
loss=$(value log_loss) error=$(value calibration_error) accuracy=$(value accuracy)
run eval "$folder/fitted.safetensors" "$folder/test.tsv"
check "eval: the same labels" [ "$(value accuracy)" = "$accuracy" ]
check "eval: a lower log loss" less "$(value log_loss)" "$loss"
check "eval: a lower calibration error" less "$(value calibration_error)" "$error"
check "eval: says how it is measured" grep -Eqx 'calibration_error +0\.[0-9]{4} \(15 bins of equal size\)' "$folder/out"
check "eval: rare classes" grep -Eqx ' +20 +0\.0000  rare' "$folder/out"
check "eval: no others" [ "$(grep -A9 '^rare classes' "$folder/out" | grep -Ec '  (yes|no)$')" -eq 0 ]
check "eval: what helps them" says "training with --balance"
run eval "$folder/fitted.safetensors" "$folder/test.tsv" --json
check "--json: the error" grep -q '"calibration_error":' "$folder/out"
check "--json: rare classes" grep -qF '"rare_classes": [{"label": "rare", "support": 20, "recall": 0}], ' "$folder/out"
check "--json: it is JSON" python3 -m json.tool "$folder/out" "$folder/object"
grep -v '^rare' "$folder/test.tsv" >"$folder/common.tsv"
run eval "$folder/fitted.safetensors" "$folder/common.tsv"
check "eval: none is rare" [ "$(grep -c '^rare classes' "$folder/out")" -eq 0 ]
run eval "$folder/fitted.safetensors" "$folder/common.tsv" --json
check "--json: none is rare" grep -qF '"rare_classes": [], ' "$folder/out"
fit balanced --balance
run eval "$folder/balanced.safetensors" "$folder/test.tsv"
check "--balance: rare classes" says "rare classes"
check "--balance: no advice to use it" [ "$(grep -c -e --balance "$folder/out")" -eq 0 ]

# --- unsure ---------------------------------------------------------------------------

cut -f 2 "$folder/test.tsv" >"$folder/texts.txt"
run predict "$folder/fitted.safetensors" "$folder/texts.txt"
cp "$folder/out" "$folder/sure"
run predict "$folder/fitted.safetensors" "$folder/texts.txt" --unsure 0.7
check "--unsure: exit status" exits_with 0
cp "$folder/out" "$folder/unsure"
check "--unsure: some are unknown" [ "$(grep -cx unknown "$folder/out")" -gt 0 ]
check "--unsure: some are not" [ "$(grep -cvx unknown "$folder/out")" -gt 0 ]
check "--unsure: the others are as they were" \
    [ "$(paste "$folder/out" "$folder/sure" | awk '$1 != "unknown" && $1 != $2' | wc -l)" -eq 0 ]
run predict "$folder/fitted.safetensors" "$folder/texts.txt" --unsure 0.7 --json
check "--unsure: JSON" says '"outputs":{"label":"unknown"}'
run predict "$folder/fitted.safetensors" "$folder/texts.txt" --unsure 0.7 --probs
check "--unsure --probs: unknown stands before the probabilities" [ "$(grep -c '^unknown	' "$folder/out")" = "$(grep -cx unknown "$folder/unsure")" ]
check "--unsure --probs: the others are as they were" [ "$(grep -vc '^unknown' "$folder/out")" = "$(grep -vc '^unknown' "$folder/unsure")" ]
for bad in 0 1.5 -1 much; do
    run predict "$folder/fitted.safetensors" "$folder/texts.txt" --unsure "$bad"
    check "--unsure $bad: exit status" exits_with 2
    check "--unsure $bad: says so" complains "--unsure"
done
awk 'BEGIN { for (i = 0; i < 40; i++) print i % 5 "\tword " i % 5 }' >"$folder/numbers.tsv"
train numbers regress "$folder/numbers.tsv" --steps 2
run predict "$folder/numbers.safetensors" "$folder/texts.txt" --unsure 0.5
check "--unsure of numbers: exit status" exits_with 1
check "--unsure of numbers: says why" complains "unsure needs an output that predicts one class"

finish
