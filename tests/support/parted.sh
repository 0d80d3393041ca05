#!/bin/bash
# parted.sh: models and files whose answers are computed in parts, by --shard or by ranks; sourced by tests after
# script.sh, in their folder. cases: "MODEL FILE FLAG..." each, for attn predict. Models learn next to nothing:
# what counts is that every answer is the same.
cases=()

# tiny NAME TASK FILE FLAG...: a model of a few steps.
tiny() {
    local name=$1 task=$2 file=$3
    shift 3
    run train "$task" "$file" -o "$name.safetensors" --width 16 --heads 2 --layers 1 --threads 2 --steps 12 \
        --learning-rate 0.01 --quiet "$@"
    check "a model is trained: $name" exits_with 0
}

# --- tags ---
sentences 90 >train.conllu
tiny tagger tag train.conllu --dev train.conllu
awk 'BEGIN { for (i = 0; i < 401; i++) print i % 23 ? "the cat likes a tree and the birds like " i % 7 " dogs, house " i : "" }' |
    head -c -1 >lines.txt # the last line has no end
sed 's/$/\r/' lines.txt >crlf.txt
{ printf '\357\273\277\n\n'; cat train.conllu; printf '\n\n# end'; } >odd.conllu
awk -F'\t' '/^[0-9]+\t/ { print $2 "\t" $4 } /^$/' train.conllu >pairs.tsv
printf 'the cat' >one.txt
: >empty.txt
cases+=("tagger lines.txt" "tagger lines.txt --json" "tagger lines.txt --probs" "tagger crlf.txt"
    "tagger odd.conllu" "tagger odd.conllu --probs" "tagger odd.conllu --json" "tagger odd.conllu --plain"
    "tagger pairs.tsv" "tagger pairs.tsv --probs" "tagger one.txt" "tagger empty.txt"
    "tagger lines.txt --format paragraphs")
# One that learns to split raw text.
awk 'BEGIN {
    for (i = 1; i <= 60; i++) {
        print "# sent_id = s" i "\n# text = The cat don'"'"'t go " i "."
        print "1\tThe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t_\t_\t_\t_"
        print "3-4\tdon'"'"'t\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdo\t_\tAUX\t_\t_\t_\t_\t_\t_\n4\tn'"'"'t\t_\tPART\t_\t_\t_\t_\t_\t_"
        print "5\tgo\t_\tVERB\t_\t_\t_\t_\t_\t_\n6\t" i "\t_\tNUM\t_\t_\t_\t_\t_\tSpaceAfter=No\n7\t.\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n"
    }
}' >raw.conllu
tiny splitter tag raw.conllu --dev raw.conllu
sed -n 's/^# text = //p' raw.conllu >raw.txt
cases+=("splitter raw.txt" "splitter raw.txt --conllu" "splitter raw.txt --json")

# --- texts ---
awk 'BEGIN {
    print "id,text,label"
    for (i = 0; i < 151; i++)
        print i ",\"" (i % 2 ? "a good, fine" : "a bad\n\npoor") " \"\"film\"\"\nnumber " i % 13 "\"," (i % 2 ? "pos" : "neg")
}' >texts.csv
tiny senti classify texts.csv --dev texts.csv
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 97; i++) print "film " i "\t" (i % 2 ? "pos" : "neg") }' >texts.tsv
awk 'BEGIN { for (i = 0; i < 97; i++) print "{\"id\": " i ", \"text\": \"film " i "\", \"other\": [1, 2]}" }' >texts.jsonl
printf 'id,text,label\n' >header.csv
gzip -k texts.csv
cases+=("senti texts.csv" "senti texts.csv --probs" "senti texts.csv --plain" "senti texts.csv --json"
    "senti texts.csv.gz" "senti texts.tsv --probs" "senti texts.jsonl" "senti texts.jsonl --probs" "senti header.csv"
    "senti lines.txt")

# --- texts to texts ---
awk 'BEGIN { for (i = 0; i < 61; i++) print "ab" i "\tba" i }' >words.tsv
tiny spell seq2seq words.tsv --dev words.tsv
cut -f1 words.tsv >words.txt
cases+=("spell words.txt" "spell words.txt --n-best 2 --json" "spell words.tsv")
awk 'BEGIN { for (i = 0; i < 80; i++) print "so it goes, and so it went " i % 9 }' >book.txt
tiny book lm book.txt --dev book.txt
cases+=("book words.txt --tokens 4")

# --- other kinds ---
awk 'BEGIN {
    print "name,smiles,alcohol"
    for (i = 0; i < 41; i++) print "m" i "," substr("CCCCCCCCCC", 1, 1 + i % 7) (i % 2 ? "CO," 1 : "OC," 0)
}' >made.csv
tiny made classify made.csv --dev made.csv --input molecule
cut -d, -f2 made.csv | sed 1d >made.smi
cases+=("made made.csv --probs" "made made.smi")
mkdir web
awk 'BEGIN {
    print "node\tgraph\tlabel\tfeatures" >"web/nodes.tsv"
    for (i = 0; i < 77; i++) {
        print "n" i "\tg" int(i / 7) "\t" (i * 37 % 11 < 5 ? "low" : "high") "\t" i * 37 % 11 " " i % 5 >"web/nodes.tsv"
        if (i % 7) print "n" i - 1 "\tn" i >"web/edges.tsv"
    }
}'
tiny web tag web
cases+=("web web" "web web --probs" "web web --json")
awk 'BEGIN { print "sequence,x,noise,label"; for (i = 0; i < 90; i++) print "s" int(i / 3) "," i * 37 % 41 - 20 "," i % 7 "," (i * 37 % 41 > 20 ? "in" : "out") }' >rows.csv
tiny rows tag rows.csv --dev rows.csv --input vectors
cases+=("rows rows.csv" "rows rows.csv --json")
