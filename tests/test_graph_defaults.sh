#!/bin/bash
# Defaults of graphs follow from the data: few labels or many, neighbours of the same class or of others; and what of
# them goes together with other patterns and encoders.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# graph FOLDER NODES HALVES: nodes on a ring, every fifth to choose by. With HALVES 1 each half of the ring is a class;
# with 0 neighbours are of different classes.
graph() {
    mkdir -p "$folder/$1"
    awk -v nodes="$2" -v halves="$3" -v to="$folder/$1" 'BEGIN {
        print "node\tlabel\tsplit\tfeatures" > (to "/nodes.tsv")
        print "from\tto" > (to "/edges.tsv")
        for (i = 0; i < nodes; i++) {
            label = halves ? i < nodes / 2 : i % 2
            printf "%d\t%s\t%s\t%d %d\n", i, label ? "a" : "b", i % 5 == 4 ? "val" : "train", label, 2 + i % 7 > (to "/nodes.tsv")
            print i "\t" (i + 1) % nodes > (to "/edges.tsv")
        }
    }'
}
graph alike 60 1
graph unlike 60 0
graph many 1500 1
learn() { # learn DATA ARGUMENTS...: and what the model says of itself in out
    run train tag --input graph "$folder/$1" "${@:2}" --steps 8 --threads 1 --force -o "$folder/model.safetensors"
    exits_with 0 || return 1
    run info "$folder/model.safetensors" --json
}
differ() { ! cmp -s "$1" "$2"; }
has() { grep -qE "\"$1\": \"?$2\"?,?$" "$folder/out"; }

check "few labels, alike: trains" learn alike
check "few labels: found" has few true
check "few labels: neighbours agree" has alike true
check "few labels: eight rounds" has layers 8
check "few labels: which keep a part" has initial 0.1
check "few labels: an activation" has activation relu
check "few labels, unlike: trains" learn unlike
check "unlike: found" has alike false
check "unlike: one layer" has layers 1
check "unlike: beside each other" has jump concat
check "unlike, all pairs: trains" learn unlike --pattern all
check "all pairs: heads with maps" has form shared
check "unlike, alone: trains" learn unlike --encoder fc
check "alone: nothing beside it" has jump none
check "many labels: trains" learn many
check "many labels: found" has few false
check "many labels: three layers" has layers 3
check "many labels, mean: trains" learn many --encoder mean
for activation in none relu elu; do
    echo "{\"graph\": {\"activation\": \"$activation\"}}" >"$folder/config.json"
    check "activation $activation: trains" learn alike --config "$folder/config.json"
    check "activation $activation: is kept" has activation "$activation"
    run eval "$folder/model.safetensors" "$folder/alike" --split val --json
    check "activation $activation: evaluates" exits_with 0
    grep log_loss "$folder/out" >"$folder/$activation"
done
check "activations differ" differ "$folder/none" "$folder/relu"
check "activations differ, too" differ "$folder/elu" "$folder/relu"
finish
