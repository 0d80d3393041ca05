#!/bin/bash
# attn eval and attn info: the numbers that can be known beforehand, as text and as JSON.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# json EXPRESSION: a Python expression of the object `o` on standard output is true.
json() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import json, sys
o = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$folder/out" "$1"
}
tagger=$folder/tagger.safetensors

# --- tags ----------------------------------------------------------------------

sentences 120 >"$folder/train.conllu"
train tagger tag "$folder/train.conllu" --steps 120
run eval "$tagger" "$folder/train.conllu"
check "eval: exit status" exits_with 0
check "eval: how many" says "train.conllu: 120 examples"
check "eval: accuracy" grep -Eqx "accuracy +1\.0000  \(1\.0000–1\.0000\)" "$folder/out"
check "eval: what the brackets are" says "(in brackets: 95 % intervals, by 1000 bootstrap samples of the test data)"
check "eval: a line a class, the largest first" grep -Eqx "DET +240 +240 +240 +1\.0000 +1\.0000 +1\.0000" "$folder/out"
check "eval: the confusion matrix of four classes" grep -Eqx " +1  DET +240 +\. +\. +\." "$folder/out"

# Every second NOUN becomes a class that the model cannot know; one VERB an ADJ that it never says.
# (One in every sentence: any sample of them has the same accuracy.)
awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ && $4 == "NOUN" && n++ % 2 { $4 = "THING" } { print }' "$folder/train.conllu" \
    >"$folder/other.conllu"
run eval "$tagger" "$folder/other.conllu"
check "unknown labels count as wrong" grep -Eqx "accuracy +0\.8333  \(0\.8333–0\.8333\)" "$folder/out"
check "unknown labels are counted" grep -Eq "^unknown_labels +120 " "$folder/out"
check "the most frequent mistake" grep -Eqx " +120  THING  NOUN" "$folder/out"
run eval "$tagger" "$folder/other.conllu" --json
check "--json: one line" [ "$(wc -l <"$folder/out")" -eq 1 ]
check "--json: accuracy is a fraction" json 'abs(o["accuracy"] - 5 / 6) < 1e-9'
check "--json: counts" json '(o["examples"], o["units"], o["compared"], o["unknown_labels"]) == (120, 720, 720, 120)'
check "--json: a class" json '[c for c in o["classes"] if c["label"] == "NOUN"] == [{"label": "NOUN", "support": 120,
    "predicted": 240, "right": 120, "precision": 0.5, "recall": 1.0, "f1": c["f1"]} for c in o["classes"] if c["label"] == "NOUN"]'
check "--json: the interval of the accuracy" json \
    'all(abs(end - 5 / 6) < 1e-9 for end in o["intervals"]["accuracy"])'
check "--json: metrics that have intervals" json 'sorted(o["intervals"]) == ["accuracy", "macro_f1"]'
check "--json: macro is the mean over classes" json \
    'abs(o["macro_f1"] - sum(c["f1"] for c in o["classes"]) / len(o["classes"])) < 1e-9'
check "--json: confusion" json 'o["confusion"]["rows"][o["confusion"]["labels"].index("THING")][
    o["confusion"]["labels"].index("NOUN")] == 120'
check "--json: confusion sums up" json 'sum(map(sum, o["confusion"]["rows"])) == 720'

# A missing target is not compared.
awk -F'\t' -v OFS='\t' '/^3\t/ { $4 = "_" } { print }' "$folder/train.conllu" >"$folder/missing.conllu"
run eval "$tagger" "$folder/missing.conllu" --skip-bad
check "nothing but bad sentences: exit status" exits_with 1

# --- entities ----------------------------------------------------------------------

# Every NOUN after a DET is an entity of both words.
awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ { tag = $4 == "DET" ? "B-NP" : before == "DET" && $4 == "NOUN" ? "I-NP" : "O"
    before = $4; print $2, tag; next } !NF { before = ""; print "" }' "$folder/train.conllu" >"$folder/chunks.tsv"
train chunker tag "$folder/chunks.tsv" --format columns --steps 120
run eval "$folder/chunker.safetensors" "$folder/chunks.tsv"
check "entities: F1" grep -Eqx "entity_f1 +1\.0000  \(1\.0000–1\.0000\)" "$folder/out"
check "entities: a line each type" grep -Eqx "NP +240 +240 +240 +1\.0000 +1\.0000 +1\.0000" "$folder/out"
run eval "$folder/chunker.safetensors" "$folder/chunks.tsv" --json
check "entities: JSON" json '(o["entity_f1"], o["entity_precision"], o["entity_recall"]) == (1, 1, 1) and [
    (e["type"], e["support"], e["right"]) for e in o["entities"]] == [("NP", 240, 240)]'
check "entities: JSON has the interval" json 'o["intervals"]["entity_f1"] == [1, 1]'
run eval "$tagger" "$folder/train.conllu" --json
check "no entities elsewhere" json '"entities" not in o and "entity_f1" not in o'

# --- several outputs ---------------------------------------------------------------

train features tag "$folder/train.conllu" --steps 200 --column "UPOS,FEATS:Number"
run eval "$folder/features.safetensors" "$folder/train.conllu"
check "several outputs: each with its name" [ "$(grep -cxE 'UPOS|FEATS:Number' "$folder/out")" -eq 2 ]
run eval "$folder/features.safetensors" "$folder/train.conllu" --json
check "--json: further outputs" json 'list(o["outputs"]) == ["FEATS:Number"] and "accuracy" in o["outputs"]["FEATS:Number"]'

check "--json: the mean of several outputs" json \
    'abs(o["mean"]["accuracy"] - (o["accuracy"] + o["outputs"]["FEATS:Number"]["accuracy"]) / 2) < 1e-9'

# Two classes in several columns, with gaps; the last column has one class only in the second file.
awk 'BEGIN { print "text,a,b,c,d,e"
    for (i = 0; i < 90; i++) { print "w" i % 7 " w" i % 5 "," (i % 7 < 2) "," (i % 4 ? (i % 5 < 2 ? "yes" : "no") : "") \
        "," (i % 3 ? i % 2 : "") "," (i % 5 == 1) "," (i % 6 ? "" : i % 4 / 2) } }' >"$folder/columns.csv"
sed '2,$s/,[01]*$/,1/' "$folder/columns.csv" >"$folder/one-class.csv"
train columns classify "$folder/columns.csv" --column a,b,c,d,e --text-column text --steps 60 --balance --metric roc_auc,log_loss
run eval "$folder/columns.safetensors" "$folder/columns.csv"
check "many columns: a row each" [ "$(grep -cE '^[abcde] +[0-9]+( +[01]\.[0-9]{4}){5}$' "$folder/out")" -eq 5 ]
check "many columns: their mean" grep -qE '^mean( +[0-9.]+){5}$' "$folder/out"
check "many columns: no classes" [ "$(grep -c confusion "$folder/out")" -eq 0 ]
run eval "$folder/columns.safetensors" "$folder/columns.csv" --per-class
check "many columns, --per-class" [ "$(grep -c confusion "$folder/out")" -eq 5 ]
check "the positive class is named" grep -qE '^roc_auc +[01]\.[0-9]+ \(positive: yes\)$' "$folder/out"
run eval "$folder/columns.safetensors" "$folder/one-class.csv"
check "one class: no areas" grep -qE '^e +90 +[0-9.]+ +[0-9.]+ +[0-9.]+ +- +-$' "$folder/out"
check "one class: not in the mean" says "(columns in the mean: roc_auc 4, pr_auc 4 of 5)"
run eval "$folder/columns.safetensors" "$folder/one-class.csv" --json
check "--json: no areas of one class" json '"roc_auc" not in o["outputs"]["e"] and 0 <= o["mean"]["roc_auc"] <= 1'
run info "$folder/columns.safetensors" --json
check "chosen by the mean over columns" json 'o["metrics"]["metric"] == "mean.roc_auc"'
for metric in b.roc_auc a.accuracy mean.log_loss; do
    train "$metric" classify "$folder/columns.csv" --column a,b,c,d,e --text-column text --steps 3 --metric $metric
    run info "$folder/$metric.safetensors" --json
    check "chosen by $metric" json 'o["metrics"]["metric"] == "'"${metric#a.}"'"'
done
for metric in 'r2|roc_auc|accuracy' 'accuracy|roc_auc'; do
    train first classify "$folder/columns.csv" --column a,b,c,d,e --text-column text --steps 3 --metric "$metric" --force
    run info "$folder/first.safetensors" --json
    check "the first metric of $metric that there is" json "o['metrics']['metric'] == 'mean.' + '${metric#r2|}'.split('|')[0]"
done
sed '2,$s/,[01],/,1,/' "$folder/columns.csv" >"$folder/all-one.csv"
run train classify "$folder/columns.csv" --dev "$folder/all-one.csv" --column a --text-column text --steps 3 \
    --width 16 --heads 2 --metric 'roc_auc|accuracy' -o "$folder/other.safetensors"
run info "$folder/other.safetensors" --json
check "another metric where the first is undefined" json 'o["metrics"]["metric"] == "accuracy"'
run train classify "$folder/columns.csv" --column a --text-column text --metric 'r3|accuracy' -o "$folder/none.safetensors"
check "alternatives must be metrics" complains 'there is no metric "r3" for this task'
run train classify "$folder/columns.csv" --column a --text-column text --metric r2 -o "$folder/none.safetensors"
check "a metric of another head" complains 'there is no metric "r2" for this task'

# --- words --------------------------------------------------------------------------

train words tag "$folder/train.conllu" --unit chars --scheme bmes --steps 300
run eval "$folder/words.safetensors" "$folder/train.conllu" --json
check "bmes: word F1" json '0.5 < o["word_f1"] <= 1 and 0.5 < o["word_precision"] <= 1 and 0.5 < o["word_recall"] <= 1'

# --- texts --------------------------------------------------------------------------

awk 'BEGIN { for (i = 0; i < 120; i++) print (i % 2 ? "__label__red " : "") (i % 3 ? "__label__big " : "__label__tiny ") \
    (i % 2 ? "a red " : "a blue ") (i % 3 ? "house" : "mouse") }' >"$folder/labels.txt"
train labels classify "$folder/labels.txt" --steps 150
run eval "$folder/labels.safetensors" "$folder/labels.txt" --json
check "labels: exact and micro F1" json 'o["exact"] == 1 and o["micro_f1"] == 1'
sed 's/__label__red/__label__scarlet/' "$folder/labels.txt" >"$folder/scarlet.txt"
run eval "$folder/labels.safetensors" "$folder/scarlet.txt" --json
check "labels: an unknown one is missed" json 'o["exact"] == 0.5 and o["unknown_labels"] == 60 and abs(o["micro_recall"] - 2 / 3) < 1e-9'

awk 'BEGIN { for (i = 0; i < 100; i++) { n = i % 5; printf "%d\t", n; for (j = 0; j < n; j++) printf "more "; print "words" } }' >"$folder/numbers.tsv"
train numbers regress "$folder/numbers.tsv" --steps 80
run eval "$folder/numbers.safetensors" "$folder/numbers.tsv" --json
check "numbers: root and r2" json 'abs(o["rmse"] ** 2 - o["mean_squared_error"]) < 1e-9 and 0.5 < o["r2"] < 1'
run train regress "$folder/numbers.tsv" -o "$folder/none.safetensors" --balance
check "--balance of numbers" complains "output.balance gives rare classes more weight"
run eval "$folder/numbers.safetensors" "$folder/numbers.tsv" --json
check "numbers: correlation and errors" json 'o["correlation"] > 0.8 and o["mean_squared_error"] < 2 and "classes" not in o'
run eval "$folder/numbers.safetensors" "$folder/train.conllu"
check "data of another kind: exit status" exits_with 1
check "data of another kind: why" complains "attn eval: $folder/train.conllu"
run eval "$tagger" "$folder/none"
check "no such file" complains "none"
run eval "$tagger"
check "eval without a file: exit status" exits_with 2

# --- info ---------------------------------------------------------------------------

run info "$tagger"
check "info: exit status" exits_with 0
check "info: the labels" says "UPOS: one of 4 labels: DET NOUN PUNCT VERB"
check "info: the encoder" says "attention, 1 layer of 16 columns, 2 heads"
run info "$tagger" --json
check "info --json: outputs" json 'o["outputs"][0]["name"] == "UPOS" and len(o["outputs"][0]["labels"]) == 4'
check "info --json: groups sum up" json 'sum(g["numbers"] for g in o["groups"]) == o["parameters"]'
check "info --json: the file" json 'o["bytes"] == '"$(stat -c %s "$tagger")"' and o["config"]["encoder"]["columns"] == 16'
check "info --json: scores" json 'o["metrics"]["metric"] == "accuracy"'
run info "$tagger" --config
cp "$folder/out" "$folder/config.json"
run train tag --config "$folder/config.json" --dump-config
check "info --config is what train --config takes" cmp -s "$folder/out" "$folder/config.json"
head -c 1000 "$tagger" >"$folder/cut.safetensors"
run info "$folder/cut.safetensors"
check "a cut model: exit status" exits_with 1
check "a cut model: why" complains "cut.safetensors: "
run info
check "info without a model: exit status" exits_with 2

finish
