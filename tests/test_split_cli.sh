#!/bin/bash
# Taggers that split raw text, from the command line: what train says, and what predict makes of lines.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# feed TEXT ARGUMENT...: attn predict with that on standard input (printf escapes understood).
feed() {
    local text=$1
    shift
    # shellcheck disable=SC2059
    printf "$text" | "$program" predict "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}

# word ID FORM TAG [MISC]: a line of CoNLL-U.
word() { printf '%s\t%s\t_\t%s\t_\t_\t_\t_\t_\t%s\n' "$1" "$2" "$3" "${4:-_}"; }

# sentence NOUN: "The NOUN don't go du NOUN."
sentence() {
    echo "# text = The $1 don't go du $1."
    word 1 The DET
    word 2 "$1" NOUN
    word 3-4 "don't" _
    word 3 "do" AUX
    word 4 "n't" PART
    word 5 go VERB
    word 6-7 du _
    word 6 de ADP
    word 7 le DET
    word 8 "$1" NOUN SpaceAfter=No
    word 9 . PUNCT
    echo
}

for _ in 1 2 3 4 5 6 7 8; do
    for noun in cat dog bird; do sentence "$noun"; done
done >"$folder/train.conllu"
small=(--width 16 --heads 2 --layers 1 --threads 2 --patience 0 --learning-rate 0.01)
model=$folder/model.safetensors

# --- training -------------------------------------------------------------------

run train tag "$folder/train.conllu" --dev "$folder/train.conllu" -o "$model" --steps 40 "${small[@]}"
check "train: exit status" exits_with 0
check "train: a second network is announced" complains "a second network learns to split raw text"
check "train: no note" [ "$(grep -c '^note:' "$folder/err")" -eq 0 ]
check "train: how well it splits" complains "words of raw text: dev F1 1.0000"
run train tag "$folder/train.conllu" --dev "$folder/train.conllu" -o "$model" --steps 40 "${small[@]}" --resume
check "nothing is left to do: exit status" exits_with 0
check "nothing is left to do: no score is made up" [ "$(grep -c 'words of raw text' "$folder/err")" -eq 0 ]

sed -e '/^# text/d' -e 's/SpaceAfter=No/_/' "$folder/train.conllu" >"$folder/spaced.conllu"
run train tag "$folder/spaced.conllu" --dev "$folder/spaced.conllu" -o "$folder/none.safetensors" --steps 3 "${small[@]}"
check "data that does not say how words are written: exit status" exits_with 0
check "data that does not say how words are written: a note" \
    complains "note: no network learns to split raw text: the training"
run train tag "$folder/spaced.conllu" --dev "$folder/spaced.conllu" -o "$folder/one.safetensors" --steps 3 --spaces one "${small[@]}"
check "--spaces one: it is so, then" complains "a second network learns to split raw text"
run train tag "$folder/train.conllu" --dev "$folder/train.conllu" -o "$folder/none.safetensors" --steps 3 --splitter none --force "${small[@]}"
check "--splitter none: exit status" exits_with 0
check "--splitter none: no second network, no note" [ "$(grep -c 'split raw text' "$folder/err")" -eq 0 ]
run train tag "$folder/train.conllu" -o "$folder/none.safetensors" --unit chars --scheme split --force "${small[@]}"
check "--scheme split is not for users" exits_with 1
check "--scheme split: what to do" complains "train.conllu: text.scheme split is reserved for the splitter of a tagger"

# --- predicting -----------------------------------------------------------------

printf "The cat don't go du bird.  The dog don't go du cat.\n\nThe bird don't go du dog.\n" >"$folder/raw.txt"
run predict "$model" "$folder/raw.txt"
check "raw text: exit status" exits_with 0
check "raw text: nothing on stderr" silent err
tags="The\tDET\n%s\tNOUN\ndo\tAUX\nn't\tPART\ngo\tVERB\nde\tADP\nle\tDET\n%s\tNOUN\n.\tPUNCT\n\n"
# shellcheck disable=SC2059
printf "$tags$tags$tags" cat bird dog cat bird dog >"$folder/expected"
check "raw text: sentences of words" cmp -s "$folder/out" "$folder/expected"
"$program" predict "$model" <"$folder/raw.txt" >"$folder/out" 2>"$folder/err"
check "raw text from standard input" cmp -s "$folder/out" "$folder/expected"
feed "The cat don't go du bird." "$model" --json
check "--json: the words" says '{"line":1,"id":"1.1","text":"The cat don'"'"'t go du bird.","units":["The","cat","do","n'"'"'t","go","de","le","bird","."]'

run predict "$model" "$folder/raw.txt" --conllu
check "--conllu: exit status" exits_with 0
{
    for pair in "1.1 cat bird" "1.2 dog cat" "3.1 bird dog"; do
        # shellcheck disable=SC2086
        set -- $pair
        case $1 in *.1) echo "# newpar" ;; esac
        echo "# sent_id = $1"
        sentence "$2" | sed -e "s/^# text.*/# text = The $2 don't go du $3./" -e "/^8/s/$2/$3/"
    done
} >"$folder/expected"
check "--conllu: ids, texts, ranges, spaces, tags" cmp -s "$folder/out" "$folder/expected"
cp "$folder/out" "$folder/split.conllu"
"$program" predict "$model" --conllu <"$folder/raw.txt" >"$folder/out" 2>"$folder/err"
check "--conllu from standard input" cmp -s "$folder/out" "$folder/expected"
run predict "$model" "$folder/split.conllu"
check "what comes out can go in" cmp -s "$folder/out" "$folder/expected"
run eval "$model" "$folder/split.conllu"
check "and can be evaluated" exits_with 0
run check "$folder/split.conllu" --anyway
check "and checked" exits_with 0

feed "The cat-dog don't.\n" "$model" --pretokenized
check "--pretokenized: split at spaces" [ "$(cut -f 1 "$folder/out" | tr '\n' '|')" = "The|cat-dog|don't.||" ]
feed "" "$model" --conllu
check "no text, no answer" silent out
check "no text: exit status" exits_with 0
feed "The cat\n" "$folder/none.safetensors"
check "a model without a splitter splits by rules" [ "$(cut -f 1 "$folder/out" | tr '\n' '|')" = "The|cat||" ]

finish
