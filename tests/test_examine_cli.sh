#!/bin/bash
# Data is looked at before training: what check, train and compare stop at, what they count, and what predict
# says of texts that it does not read to the end.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1
quick=(--width 8 --heads 2 --layers 1 --steps 2 --threads 1)

# stops FILE TASK WHAT...: check (with and without the task), train and compare fail and say all of WHAT; train
# leaves nothing behind; with --anyway check and train go on.
stops() {
    local file=$1 task=$2
    shift 2
    for command in "check $file" "check $file --task $task" "train $task $file -o no.safetensors" \
        "compare $task $file --test $file --seeds 1"; do
        # shellcheck disable=SC2086
        run $command
        check "$command: exit status" exits_with 1
        cat out err | tr -s ' \n' ' ' >flat
        for what in "$@"; do check "$command: says $what" grep -qF -e "$what" flat; done
    done
    check "$file: names what goes on" complains "--anyway"
    check "$file: no model" [ ! -e no.safetensors ]
    run check "$file" --anyway
    check "$file --anyway: exit status" exits_with 0
    run train "$task" "$file" -o no.safetensors "${quick[@]}" --quiet --anyway
    check "train $file --anyway: exit status" exits_with 0
    check "train $file --anyway: says nothing" [ ! -s err ]
    rm -f no.safetensors*
}

# passes FILE TASK...: nothing is found.
passes() {
    run check "$@"
    check "check $*: exit status" exits_with 0
    check "check $*: nothing is found" says_not "looks wrong: swapped columns"
}
says_not() { ! grep -qF -e "$1" out; }
complains_not() { ! grep -qF -e "$1" err; }

# --- what stops ---

awk 'BEGIN { for (i = 0; i < 40; i++) print "word " i " of a text\t" (i % 2 ? "good" : "bad") }' >swapped.tsv
stops swapped.tsv classify "40 different labels of 40 texts, of which 40 occur once" \
    'The texts look like labels, with 2 different: "bad", "good"' "--text-column 1 --column 2"
passes swapped.tsv --text-column 1 --column 2
passes swapped.tsv --task classify --text-column 1 --column 2
awk -F '\t' 'BEGIN { OFS = "\t"; print "text", "label" } { print $2, $1 }' swapped.tsv >named.tsv
stops named.tsv classify "Swap the columns of labels (--column) and texts (--text-column)"
passes named.tsv --column text --text-column label
awk 'BEGIN { for (i = 0; i < 40; i++) print "id" i "\tsome text " i * 7 % 40 }' >ids.tsv
stops ids.tsv classify "40 occur once" "If the columns are swapped"
awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 25 < 10 ? "same text" : "text " i) "\t" i % 3 }' >half.tsv
stops half.tsv classify "21 different labels of 40 texts" "look like labels, with 3 different"
awk 'BEGIN { for (i = 0; i < 400; i++) print (i % 2 ? "NOUN" : "VERB") "\tword" i % 100 (i % 10 == 9 ? "\n" : "") }' >swapped.conll
stops swapped.conll tag "100 different labels of 400 tokens" 'The tokens look like labels, with 2 different: "VERB", "NOUN"' \
    "a line is token TAB tag"

awk 'BEGIN { for (i = 0; i < 30; i++) print "good\ttext " i }' >one.tsv
stops one.tsv classify 'a single class, "good", for all 30 texts'
awk 'BEGIN { print "text,stars"; for (i = 0; i < 30; i++) print "text " i ",3.5" }' >one.csv
stops one.csv regress 'a single'
check "one number" [ "$("$program" check one.csv --task regress | grep -c 'a single number, "3.5", for all 30 texts')" = 1 ]
awk 'BEGIN { print "text,a,b"; for (i = 0; i < 30; i++) print "text " i ",x," i % 2 }' >two.csv
passes two.csv --column a,b
run check two.csv --column a
check "the one class of a column" exits_with 1

awk 'BEGIN { for (i = 0; i < 9; i++) print i % 2 "\ttext " i }' >few.tsv
stops few.tsv classify "9 texts for training"
echo "1	another" >>few.tsv
passes few.tsv
awk 'BEGIN { for (i = 0; i < 40; i++) print "w" i % 5 "\t" (i % 2 ? "A" : "B") }' >one.conll
stops one.conll tag "1 sentence for training" "blank lines separate sentences"
awk 'BEGIN { for (i = 0; i < 9; i++) print "source " i "\ttarget " i }' >few.pairs
run check few.pairs --task seq2seq
check "few pairs: exit status" exits_with 1
check "few pairs: what it says" says "9 pairs for training"
run train seq2seq few.pairs -o no.safetensors
check "train on few pairs" exits_with 1

awk 'BEGIN { for (i = 0; i < 40; i++) print (i < 3 ? "Pos" : i < 20 ? "pos" : i < 22 ? "very  bad" : "very bad") "\ttext " i }' >alike.tsv
stops alike.tsv classify 'labels that differ only in spaces or case: "very bad" 18 / "very \u0020bad" 2, "pos" 17 / "Pos" 3'
awk 'BEGIN { for (i = 0; i < 40; i++) print (i < 3 ? "verybad" : i < 20 ? "very bad" : "good") "\ttext " i }' >spaces.tsv
stops spaces.tsv classify '"very bad" 17 / "verybad" 3'
printf 'good\tone\nvery\302\240bad\ttwo\nvery bad\tthree\n' >nbsp.tsv
run check nbsp.tsv
check "a space that looks like another" says '"very\u00a0bad" 1'
awk 'BEGIN { for (i = 0; i < 520; i++) printf "%c\tpicture %d\n", (i % 52 < 26 ? 65 : 71) + i % 52, i }' >letters.tsv
passes letters.tsv
awk 'BEGIN { for (i = 0; i < 40; i++) print (i < 3 ? "Y" : i < 20 ? "y" : "n") "\ttext " i }' >yes.tsv
stops yes.tsv classify '"y" 17 / "Y" 3'

# --- what does not ---

awk 'BEGIN { print "text,value"; for (i = 0; i < 40; i++) print "text " i "," i / 8 }' >numbers.csv
passes numbers.csv
passes numbers.csv --task regress
run check numbers.csv --task classify
check "numbers as classes" exits_with 1
check "numbers as classes: the task" says "task regress learns numbers"
printf 'one line\ntwo lines\n' >lines.txt
passes lines.txt
passes lines.txt --task lm

# --- other kinds of input ---

awk 'BEGIN { print "a,b,label"; for (i = 0; i < 30; i++) print i % 7 "," i % 5 ",x" }' >vectors.csv
run check vectors.csv --input vectors --task classify
check "vectors of one class" exits_with 1
check "vectors of one class: says so" says 'a single class, "x"'
mkdir graph
awk 'BEGIN {
    print "node\tlabel\tfeatures" >"graph/nodes.tsv"
    for (i = 0; i < 30; i++) {
        print "n" i "\t" (i < 12 ? (i % 2 ? "low" : "high") : "") "\t" i % 3 >"graph/nodes.tsv"
        print "n" i "\tn" (i + 1) % 30 >"graph/edges.tsv"
    }
}'
passes graph
run train tag graph -o graph.safetensors "${quick[@]}" --quiet
check "one graph with labelled nodes is enough" exits_with 0
awk -F '\t' 'BEGIN { OFS = "\t" } NR > 10 { $2 = "" } { print }' graph/nodes.tsv >nodes && cp nodes graph/nodes.tsv
run check graph
check "nine labelled nodes" exits_with 1
check "nine labelled nodes: says so" says "9 nodes for training"
awk 'BEGIN { print "smiles,active"; for (i = 1; i < 30; i++) { printf "C"; for (j = 0; j < i; j++) printf "C"; print "O,1" } }' >molecules.csv
run check molecules.csv --input molecule --task classify
check "molecules of one class" exits_with 1
check "molecules of one class: says so" says 'a single class, "1", for all 29 molecules'

# --- what is counted ---

awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "good" : "bad") "\tText " i " here." }' >train.tsv
printf 'good\tText 1 here.\nbad\t  text  2 HERE\ngood\t"Text 3 here"!\nbad\tnew\nbad\tText 1 here.\n' >dev.tsv
printf 'good\tsome\nbad\tother\n' >test.tsv
cp train.tsv conflicts.tsv
printf 'good\tText 0 here.\nbad\tText 1 here.\ngood\tText 3 here.\n' >>conflicts.tsv
run check train.tsv --dev dev.tsv --test test.tsv
check "overlap: exit status" exits_with 0
tr -s ' \n' ' ' <out >flat
check "overlap: dev" grep -qF \
    "2 of the 5 texts in dev.tsv stand in it, too, and 2 more except for case, spaces and punctuation at the ends" flat
check "overlap: test" grep -qF "none of the 2 texts in test.tsv stands in it" flat
run check train.tsv --dev dev.tsv --json
check "overlap: JSON" says '"findings":[],"conflicts":0,"pieces":0,"cut":0,"overlap":{"dev":{"examples":5,"same":2,"alike":2},"test":{"examples":0,"same":0,"alike":0}}'
run check conflicts.tsv --json
check "conflicts: JSON" says '"conflicts":2,"pieces":0,"cut":0'
run train classify conflicts.tsv --dev dev.tsv -o model.safetensors "${quick[@]}"
check "train: exit status" exits_with 0
check "train: the overlap in one line" grep -qxF \
    "conflicts.tsv: 2 of the 5 texts in dev.tsv stand in it, too, and 2 more except for case, spaces and punctuation at the ends" err
check "train: conflicts" complains "conflicts.tsv: 2 texts occur more than once with different labels"
run train classify conflicts.tsv --dev dev.tsv -o model.safetensors "${quick[@]}" --quiet --force
check "train --quiet" [ ! -s err ]

# Data that says what is for training: the others are looked for in that alone.
{
    echo "text,label,part"
    awk 'BEGIN { for (i = 0; i < 40; i++) print "Text " i " here.," (i % 2 ? "good" : "bad") "," (i < 30 ? "train" : i < 35 ? "val" : "test") }'
    printf 'Text 1 here.,good,val\nText 31 here.,good,val\nTEXT 2 here,bad,test\nText 2 here.,bad,train\n'
    printf 'Text 36 here.,bad,test\n'
} >split.csv
check_split() { # FILE: says how many of each part stand in what is for training
    tr -s ' \n' ' ' <"$1" >flat
    check "$2: val" grep -qF "1 of the 7 texts for validation stands in what is for training, too" flat
    check "$2: test" grep -qF "1 of the 7 texts for testing stands in what is for training, too, except for case" flat
    check "$2: conflicts only in what is for training" not_in flat "different labels"
}
not_in() { ! grep -qF -e "$2" "$1"; }
run check split.csv --column label --split-column part
check "split: exit status" exits_with 0
check_split out "check, split"
run check split.csv --column label --split-column part --json
check "split: JSON" says '"overlap":{"dev":{"examples":7,"same":1,"alike":0},"test":{"examples":7,"same":0,"alike":1}}'
run train classify split.csv --column label --split-column part -o split.safetensors "${quick[@]}"
check "train, split: exit status" exits_with 0
check_split err "train, split"
awk -F, -v OFS=, '$3 == "train" { $2 = "good" } { print }' split.csv >one-split.csv
run train classify one-split.csv --column label --split-column part -o no.safetensors
check "what is for training has one class: exit status" exits_with 1
check "what is for training has one class: says so" complains 'a single class, "good", for all 31 texts'

# --- long texts ---

{ cat train.tsv; echo "good	$(seq 1 2001 | tr '\n' ' ')"; echo "bad	$(seq 1 2000 | tr '\n' ' ')"; } >long.tsv
run check long.tsv
check "pieces: exit status" exits_with 0
check "pieces: how many" says "1 text is longer than 2,000 units (text.longest): processed in pieces"
{ cat train.tsv; echo "good	$(seq 1 28251 | tr '\n' ' ')"; echo "bad	$(seq 1 28250 | tr '\n' ' ')"; } >long.tsv
run check long.tsv
check "cut: in pieces" says "1 text is longer than 2,000 units (text.longest): processed in pieces"
check "cut: how many" says "1 text is longer than 28,250 units: only the beginning is used (text.longest,"
echo '{"text": {"longest": 3}}' >pieces.json
run train classify train.tsv -o pieces.safetensors "${quick[@]}" --config pieces.json
check "train: how many in pieces" complains "train.tsv: 40 texts are longer than 3 units (text.longest): processed in pieces"
printf 'Text 1 here .\none two three\nText 1 here too\n' >some.txt
run predict pieces.safetensors some.txt --probs
check "predict in pieces: exit status" exits_with 0
check "predict in pieces: says it once" [ "$(grep -c "2 of 3 texts are longer than the 3 units that the model reads at once: they are processed in pieces" err)" = 1 ]
check "predict in pieces: the end counts" [ "$(sed -n 1p out)" != "$(sed -n 3p out)" ]
seq -s ' ' 1 70 >some.txt
run predict pieces.safetensors some.txt
check "predict in pieces: what is cut" complains "1 of 1 texts is longer than the 48 units that the model reads: only the beginning was used"
echo '{"text": {"longest": 3, "wide_buckets": 0}, "encoder": {"pieces": 1}}' >three.json
run train classify train.tsv -o three.safetensors "${quick[@]}" --config three.json
check "train: how many are cut" complains "train.tsv: 40 texts are longer than 3 units"
printf 'Text 1 here .\none two three\nText 1 here too\n' >some.txt
run predict three.safetensors some.txt --probs
check "predict: exit status" exits_with 0
check "predict: says it once" [ "$(grep -c "2 of 3 texts are longer than the 3 units that the model reads" err)" = 1 ]
check "predict: the beginning is what counts" [ "$(sed -n 1p out)" = "$(sed -n 3p out)" ]
printf 'one two three\n' >short.txt
run predict three.safetensors short.txt
check "predict: nothing is cut" [ ! -s err ]
run predict three.safetensors train.tsv
check "predict: a table" complains "40 of 40 texts"
run eval three.safetensors train.tsv --json
check "eval: says it" complains "attn eval: note: 40 of 40 texts are longer than the 3 units"
check "eval: JSON is JSON" python3 -c 'import json, sys; json.load(open("out"))'
run train classify train.tsv --dev long.tsv -o two.safetensors "${quick[@]}"
check "train: of --dev, too" complains "train.tsv: 1 text in long.tsv is longer than 2,000 units"
run check train.tsv --dev train.tsv --test long.tsv
check "check: of --test, too" says "1 text in long.tsv is longer than 2,000 units"
awk 'BEGIN { for (i = 0; i < 40; i++) print "w" i % 5 "\t" (i % 2 ? "A" : "B") (i % 3 == 2 ? "\n" : "") }' >tags.conll
run train tag tags.conll -o tags.safetensors "${quick[@]}" --config three.json
check "tags: nothing is cut" complains_not "longer than"
printf 'a b c d e f\n' >six.txt
run predict tags.safetensors six.txt
check "tags: pieces are no cuts" complains_not "longer than"

# --- a run that goes on ---

run train classify one.tsv -o on.safetensors "${quick[@]}" --anyway --keep-last
check "begun with --anyway" exits_with 0
check "--anyway: what was found is said" complains 'a single class, "good"'
run train classify one.tsv -o on.safetensors "${quick[@]}" --resume
check "goes on without it" exits_with 0
run train classify one.tsv -o new.safetensors "${quick[@]}" --resume
check "nothing to go on with" exits_with 1

finish
