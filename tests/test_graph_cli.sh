#!/bin/bash
# Graphs as a user meets them: folders are checked, learned from, evaluated by parts, predicted on and compared.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# A node is what the node that leads to it says of itself.
mkdir web
awk 'BEGIN {
    print "node\tlabel\tsplit\tsplits3\tfeatures" >"web/nodes.tsv"
    for (i = 0; i < 120; i++) {
        from = (i * 7 + 13) % 120
        part = i % 4 == 0 ? "test" : i % 4 == 1 ? "val" : "train"
        letters = i % 4 == 0 ? "sst" : i % 4 == 1 ? "vtv" : "tts"
        print "n" i "\t" (from * 37 % 11 < 5 ? "low" : "high") "\t" part "\t" letters "\t" \
              (i * 37 % 11 < 5 ? 0 : 1) " " 2 + i % 5 >"web/nodes.tsv"
        print "n" from "\tn" i >"web/edges.tsv"
    }
}'
echo '{"graph": {"few": "false", "dropout": 0}, "encoder": {"inner": 0}}' >quick.json
quick=(--config quick.json --width 16 --heads 2 --layers 1 --dropout 0 --learning-rate 0.005 --epochs 200 --quiet)

# --- check ---

run check web
check "check: exit status" exits_with 0
check "check: what it is" says "120 nodes"
check "check: the classes" says "low"
run check web --json
check "check: JSON" exits_with 0

# --- training and evaluation ---

run train tag web -o web.safetensors "${quick[@]}"
check "train: exit status" exits_with 0
run eval web.safetensors web
check "eval: the test nodes" says "test: 30 of 120"
check "eval: learned" grep -qE '^accuracy +(1\.0000|0\.9[0-9])' out
run eval web.safetensors web --split val
check "eval: validation nodes" says "val: 30 of 120"
run eval web.safetensors web --split val --json
check "eval --json: names the part" says '{"split": "val", '
run eval web.safetensors web --split all
check "eval: all of it" exits_with 0
check "eval: no part is named then" [ "$(grep -c "of 120" out)" = 0 ]
run eval web.safetensors web --split some
check "eval: no such part" exits_with 2
check "eval: which there are" complains "--split is train, val, test or all"
run eval web.safetensors web --split-column splits3:2 --split train
check "eval: another split of the data" says "train: 30 of 120"
run eval web.safetensors web --split-column splits3
check "eval: several splits in a column" complains "holds 3 splits"
run train tag web -o other.safetensors "${quick[@]}" --epochs 3 --split-column splits3:1
check "train: by a split column" exits_with 0
run eval other.safetensors web
check "eval: the model keeps which" says "test: 30 of 120"
run train tag web -o what.safetensors "${quick[@]}" --epochs 3 --split scaffold
check "train: no such draw" complains 'there is no split "scaffold" of input graph: it can be random, random:NUMBER'
check "train: nothing is left" [ ! -e what.safetensors ]
yes train | head -n 119 >words.txt
run train tag web -o what.safetensors "${quick[@]}" --split-file words.txt
check "train: a split file that is too short" complains "words.txt: has 119 lines"
{ yes train | head -n 100; yes test | head -n 20; } >words.txt
run train tag web -o file.safetensors "${quick[@]}" --epochs 3 --split-file words.txt
check "train: a split file" exits_with 0
run eval file.safetensors web
check "eval: the split file is missing" complains "use it here too, or --split all"
run eval file.safetensors web --split-file words.txt
check "eval: the split file" says "test: 20 of 120"
run train tag web -o note.safetensors --width 16 --heads 2 --epochs 1
check "train: says what it found" complains "web: 120 nodes, 120 edges, directed"
check "train: says what is learned from" complains "60 nodes of 120 for training, 30 for choosing the best model"
run train tag web -o note.safetensors --width 16 --heads 2 --epochs 1 --force --undirected --quiet
check "train: undirected" exits_with 0
run info note.safetensors --json
check "info: undirected" says '"undirected"'

# --- prediction ---

run predict web.safetensors web
check "predict: exit status" exits_with 0
check "predict: header" [ "$(head -n 1 out)" = $'node\tlabel\tprobability' ]
check "predict: a line a node" [ "$(wc -l <out)" = 121 ]
check "predict: node, label, probability" grep -qE $'^n7\t(low|high)\t[01]\.[0-9]{4}$' out
run predict web.safetensors web --json
check "predict: JSON" exits_with 0
mkdir more
{ printf 'node\tfeatures\n'; printf 'a\t0 2\nb\t1 3\nc\t1\n'; } >more/nodes.tsv
printf 'a\tb\nb\ta\n' >more/edges.tsv
run predict web.safetensors more
check "predict: another graph without labels" [ "$(wc -l <out)" = 4 ]

# --- encoders ---

run compare tag web --seeds 1 "${quick[@]}" --epochs 3
check "compare: exit status" exits_with 0
check "compare: encoders of rows without order" \
    [ "$(sed -n 's/^| \([a-z]*\) .*/\1/p' out | tr '\n' ' ')" = "encoder fc mean attention " ]
run train tag web -o what.safetensors "${quick[@]}" --encoder rnn
check "rnn: refused" complains "rnn and cnn use the order of rows"
run train tag web -o all.safetensors "${quick[@]}" --pattern all
check "pattern all: learns, too" exits_with 0
run train tag web -o what.safetensors "${quick[@]}" --pattern some
check "pattern: which there are" complains "edges, all"
run train tag a.tsv -o what.safetensors --pattern all
check "pattern: not of text" complains 'input text has no value "pattern"'

# --- what is wrong with files ---

mkdir bad
cp web/nodes.tsv bad
printf 'n0\tn1\nn0\tn999\n' >bad/edges.tsv
run train tag bad -o what.safetensors "${quick[@]}"
check "an edge to nobody" complains "edges.tsv:2"
check "an edge to nobody: exit status" exits_with 1
printf 'n1\tlow\ttrain\ttts\t1\n' >>bad/nodes.tsv
run train tag bad -o what.safetensors "${quick[@]}"
check "a node twice" complains "nodes.tsv:122"
printf 'node\tlabel\tsplit\n' >bad/nodes.tsv
run train tag bad -o what.safetensors "${quick[@]}"
check "no nodes" exits_with 1
rm bad/nodes.tsv
run train tag --input graph bad -o what.safetensors "${quick[@]}"
check "a file is missing" complains "nodes.tsv"
check "nothing is left of all that" [ ! -e what.safetensors ]

# --- splits are for every kind of input ---

{
    echo "text,label,part,folds"
    for i in $(seq 60); do
        case $((i % 3)) in 0) part=test fold=sv ;; 1) part=val fold=vt ;; *) part=train fold=ts ;; esac
        echo "red $i,warm,$part,$fold"
        echo "blue $i,cold,$part,$fold"
    done
} >lines.csv
run train classify lines.csv --column label --split-column part -o text.safetensors --width 16 --heads 2 --epochs 2
check "text: a column of parts" complains "40 examples (80 rows) for training, 40 for choosing the best model"
run eval text.safetensors lines.csv
check "text: eval takes the test part" says "test: 40 of 120"
run eval text.safetensors lines.csv --split-column folds:1
check "text: another split" says "test: 40 of 120"
run train classify lines.csv --column label --split random -o text.safetensors --width 16 --heads 2 --epochs 2 --force
check "text: drawn at random" complains "96 examples (192 rows) for training, 12 for choosing the best model"
sed 's/train,ts$/soon,ts/' lines.csv >odd.csv
run train classify odd.csv --column label --split-column part -o what.safetensors
check "text: an unknown part" complains 'odd.csv:4: "soon" is not train, val, test or none'
run train classify lines.csv --column label --split-column nobody -o what.safetensors
check "text: no such column" complains "has no column nobody"

finish
