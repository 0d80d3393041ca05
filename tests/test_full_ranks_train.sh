#!/bin/bash
# attn train under mpirun, all combinations: the same bytes for threads 1, 2, 7 and ranks 1, 2, 4, for every task and
# some kinds of input; ranks and launchers that are killed at random moments, where every run resumes what the one
# before has left, with another number of ranks and threads; runs with --start and --more that are stopped and resumed
# after their model has gone. SEED chooses other moments.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
# shellcheck source=tests/support/rank_training.sh
. "$SOURCE_DIR/tests/support/rank_training.sh"
RANDOM=${SEED:-1}

# --- the same bytes ---
all="0r2t 0r7t"
for count in 1 2 4; do
    for threads in 1 2 7; do all+=" ${count}r${threads}t"; done
done
awk 'BEGIN {
    print "name,smiles,alcohol"
    for (i = 0; i < 81; i++) print "m" i "," substr("CCCCCCCCCC", 1, 1 + i % 7) (i % 2 ? "CO," 1 : "OC," 0)
}' >molecules.csv
mkdir web
awk 'BEGIN {
    print "node\tgraph\tlabel\tfeatures" >"web/nodes.tsv"
    for (i = 0; i < 210; i++) {
        print "n" i "\tg" int(i / 7) "\t" (i * 37 % 11 < 5 ? "low" : "high") "\t" i * 37 % 11 " " i % 5 >"web/nodes.tsv"
        if (i % 7) print "n" i - 1 "\tn" i >"web/edges.tsv"
    }
}'
echo '{"training": {"accumulate": 3, "shards": 3}, "output": {"members": 2}}' >ensemble.json
compare tag "$all" tag tag.conllu --dev tag.conllu --steps 12
compare "an ensemble" "$all" tag tag.conllu --steps 6 --config ensemble.json
compare classify "$all" classify classify.tsv --steps 12 --config shards.json
compare lm "$all" lm lm.txt --steps 8
compare seq2seq "$all" seq2seq seq2seq.tsv --steps 8 --config shards.json
compare vectors "$all" tag rows.csv --input vectors --steps 12
compare molecules "$all" classify molecules.csv --input molecule --steps 8 --config shards.json
compare graphs "$all" tag web --steps 8
compare rnn "$all" tag tag.conllu --encoder rnn --steps 8
for encoder in cnn fc mean; do
    compare "$encoder" "0r7t 2r2t 4r1t" classify classify.tsv --encoder "$encoder" --steps 8
done

# --- killed at any moment ---
long=(train tag tag.conllu "${small[@]}" --steps 600 --save-every 0.05s)
alone "${long[@]}" -o whole.safetensors --threads 1
kills=0
for ((round = 0; round < 12; round++)); do
    begin $((2 + RANDOM % 3)) part "${long[@]}" --resume --threads $((1 + RANDOM % 2))
    sleep "0.$(printf '%03d' $((RANDOM % 900)))"
    victims=(pid.launcher pid.0 pid.1)
    victim=${victims[RANDOM % 3]}
    signals=(KILL KILL TERM INT USR1)
    [ "$victim" = pid.launcher ] && signal=${signals[RANDOM % 5]} || signal=KILL
    [ ! -e "$victim" ] || kill "-$signal" "$(cat "$victim")" 2>null
    finished "round $round: SIG$signal for $victim"
    gone "round $round"
    [ "$status" -eq 0 ] || kills=$((kills + 1))
    for file in part.safetensors part.last.safetensors; do
        [ ! -e "$file" ] || check "round $round: $file opens" "$program" info "$file" >null 2>&1
    done
done
check "some were killed: $kills" [ "$kills" -gt 2 ]
alone "${long[@]}" -o part.safetensors --resume --threads 7
check "after kills: exit status" exits_with 0
same "after $kills kills" whole part
tidy "after kills" part

# --- stopped, while what they began from has gone ---
alone train tag tag.conllu "${small[@]}" --steps 20 -o first.safetensors
for how in start more; do
    for name in whole part; do
        rm -f "$name".*
        cp first.safetensors "$name.safetensors"
    done
    cp first.safetensors begin.safetensors
    case $how in
    start)
        rm whole.* part.*
        long=(train tag tag.conllu --start begin.safetensors --steps 400 --patience 0 --keep-last)
        ;;
    more) long=(train tag tag.conllu --more 400steps --patience 0 --keep-last) ;;
    esac
    alone "${long[@]}" -o whole.safetensors --threads 2
    check "--$how: exit status" exits_with 0
    begin 2 part "${long[@]}" --threads 1 --save-every 0s
    kill -USR1 "$(cat pid.launcher)"
    finished "--$how: SIGUSR1"
    gone "--$how: SIGUSR1"
    rm -f begin.safetensors
    ranks 3 "${long[@]}" -o part.safetensors --resume --threads 1
    check "--$how: resumed: exit status" exits_with 0
    check "--$how: it was resumed" grep -q "^resumed after step [1-9]" said
    same "--$how: resumed" whole part
done
finish
