#!/bin/bash
# attn eval --raw: sentences, words and tags that a model finds in the text of CoNLL-U. This model splits by
# rules, so what it finds can be known beforehand.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# json EXPRESSION: a Python expression of the object `o` on standard output is true.
json() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import json, sys
o = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$folder/out" "$1"
}
lacks() { ! says "$1"; }
tagger=$folder/tagger.safetensors

# A paragraph each: "without hears a dog.", of which the data says that `without` is two words. So tokens are
# all right, and of 6 words the 4 others.
sentences 120 | sed 's/^# sent_id/# newpar\n&/' >"$folder/train.conllu"
train tagger tag "$folder/train.conllu" --steps 120 --column UPOS,XPOS
run eval "$tagger" "$folder/train.conllu" --raw
check "--raw: exit status" exits_with 0
check "--raw: how many" says "train.conllu: 120 examples"
check "--raw: sentences" grep -Eqx "sentences +1\.0000 +1\.0000 +1\.0000" "$folder/out"
check "--raw: tokens" grep -Eqx "tokens +1\.0000 +1\.0000 +1\.0000" "$folder/out"
check "--raw: words" grep -Eqx "words +0\.8000 +0\.6667 +0\.7273" "$folder/out"
check "--raw: tags of the first output" grep -Eqx "UPOS +0\.8000 +0\.6667 +0\.7273 +1\.0000" "$folder/out"
check "--raw: tags of the second" grep -Eqx "XPOS +0\.8000 +0\.6667 +0\.7273 +1\.0000" "$folder/out"
check "--raw: all of them" grep -Eqx "all tags +0\.7273" "$folder/out"
run eval "$tagger" "$folder/train.conllu" --raw --json
check "--raw --json: words" json '((o["examples"], o["units"], o["compared"]) == (120, 720, 720)
    and abs(o["word_f1"] - 8 / 11) < 1e-9 and o["sentence_f1"] == 1 and o["token_recall"] == 1)'
check "--raw --json: tags" json '(abs(o["tag_f1"] - 8 / 11) < 1e-9 and o["tag_accuracy"] == 1
    and abs(o["outputs"]["XPOS"]["tag_f1"] - 8 / 11) < 1e-9 and "classes" not in o)'

# Wrong tags: every NOUN is a THING; half of them are in ranges, which are not aligned.
awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ && $4 == "NOUN" { $4 = "THING" } { print }' "$folder/train.conllu" \
    >"$folder/other.conllu"
run eval "$tagger" "$folder/other.conllu" --raw
check "--raw: wrong tags" grep -Eqx "UPOS +0\.6000 +0\.5000 +0\.5455 +0\.7500" "$folder/out"

# A column that the data does not have.
awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ { $5 = "_" } { print }' "$folder/train.conllu" >"$folder/upos.conllu"
run eval "$tagger" "$folder/upos.conllu" --raw
check "--raw: no tags of the second output" exits_with 0
check "--raw: nothing is said of them" lacks XPOS
check "--raw: the first output alone" grep -Eq "^UPOS .*1\.0000$" "$folder/out"

# Without paragraphs it is one text, of which rules make one sentence. The space that # text has is one.
grep -v '^# newpar' "$folder/train.conllu" >"$folder/running.conllu"
run eval "$tagger" "$folder/running.conllu" --raw
check "--raw: running text" grep -Eqx "sentences +0\.0000 +0\.0000 +0\.0000" "$folder/out"
check "--raw: words of running text" grep -Eqx "words +0\.8000 +0\.6667 +0\.7273" "$folder/out"
printf '# text = a cat.\n1\ta\t_\tDET\tDT\t_\t_\t_\t_\t_\n2\tcat.\t_\tNOUN\tNN\t_\t_\t_\t_\t_\n\n' >"$folder/text.conllu"
run eval "$tagger" "$folder/text.conllu" --raw
check "--raw: # text" grep -Eqx "words +0\.3333 +0\.5000 +0\.4000" "$folder/out"

# --- what cannot be ----------------------------------------------------------------

run eval "$tagger" "$folder/train.conllu" --raw --per-class
check "--raw --per-class: exit status" exits_with 2
check "--raw --per-class: why" complains "attn eval: --raw has no table of classes"
printf '1\ta\t_\tDET\tDT\t_\t_\t_\t_\t_\n2\t\xc2\xa0\t_\tNOUN\tNN\t_\t_\t_\t_\t_\n\n' >"$folder/blank.conllu"
run eval "$tagger" "$folder/blank.conllu" --raw
check "a word of white space: exit status" exits_with 1
check "a word of white space: where" complains "$folder/blank.conllu:2: word 2 has nothing but white space"
printf 'red\ta b\nblue\tc d\n' >"$folder/labels.tsv"
train classes classify "$folder/labels.tsv" --steps 2 --anyway
run eval "$folder/classes.safetensors" "$folder/labels.tsv" --raw
check "a model of texts: exit status" exits_with 1
check "a model of texts: why" complains "raw text needs a model that predicts for each word; this one has task classify"
finish
