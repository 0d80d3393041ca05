#!/bin/bash
# Fifty SIGKILLs at random moments of `attn train`, for tagging, classifying, pairs and running text. After each
# of them both model files, where they are there, open; and what --resume ends in is the same bytes as the files
# of a run that was never killed. ATTN_PROGRAM is the program to test; SEED chooses other moments, TASKS fewer
# tasks.
set -u
export LC_ALL=C
unset ATTN_ISA ATTN_THREADS
program=${ATTN_PROGRAM:?is the path of the program attn}
seed=${SEED:-1}
kills=${KILLS:-50}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
RANDOM=$seed
echo "seed $seed, $kills kills a task"

# Some thousand tokens: what a word is follows from itself, and for one of them from the word before.
tagged() {
    awk -v seed="$1" -v sentences="$2" 'BEGIN {
        srand(seed)
        for (s = 0; s < sentences; s++) {
            before = "O"
            for (t = 1 + int(12 * rand()); t > 0; t--) {
                word = int(40 * rand())
                tag = word == 0 ? before : "T" word % 5
                print "w" word "\t" tag
                before = tag
            }
            print ""
        }
    }'
}

# A text is of the class that its words are of.
classified() {
    awk -v seed="$1" -v texts="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < texts; i++) {
            class = int(3 * rand())
            printf "class%d\t", class
            for (t = 1 + int(15 * rand()); t > 0; t--)
                printf("%s%s", rand() < 0.3 ? "c" class int(4 * rand()) : "w" int(50 * rand()), (t > 1) ? " " : "\n")
        }
    }'
}

# Letters, and the same in capitals from back to front.
paired() {
    awk -v seed="$1" -v pairs="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < pairs; i++) {
            source = target = ""
            for (t = 1 + int(6 * rand()); t > 0; t--) {
                letter = 1 + int(5 * rand())
                source = source substr("abcde", letter, 1)
                target = substr("ABCDE", letter, 1) (target == "" ? "" : " ") target
            }
            print source "\t" target
        }
    }'
}

# Sentences of a few words, each followed by what often follows it.
written() {
    awk -v seed="$1" -v lines="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < lines; i++) {
            word = int(9 * rand())
            for (t = 2 + int(8 * rand()); t > 0; t--) {
                printf("%s%s", substr("the cat sat on a mat and ran off", 1 + 3 * word, 3), (t > 1) ? " " : ".\n")
                word = rand() < 0.8 ? (word + 1) % 9 : int(9 * rand())
            }
        }
    }'
}

fail() {
    echo "FAILED: $*"
    sed 's/^/  /' "$folder/err" | head -n 20
    exit 1
}

# opens FILE...: those that are there are models.
opens() {
    local file
    for file in "$@"; do
        if [ -e "$file" ] && ! "$program" info "$file" >"$folder/out" 2>"$folder/err"; then
            fail "$task: after kill $killed, $file does not open"
        fi
    done
}

# train NAME FLAG...: starts a run in the background and leaves its number in `running`.
train() {
    local name=$1
    shift
    "$program" train "$task" "$folder/train.txt" --dev "$folder/dev.txt" -o "$folder/$name.safetensors" \
        --epochs "$epochs" --patience 0 --width 32 --heads 2 --quiet --keep-last "$@" >"$folder/out" 2>"$folder/err" &
    running=$!
}

same() {
    cmp "$folder/whole.safetensors" "$folder/parts.safetensors" || fail "$task: $1: the models differ"
    cmp "$folder/whole.last.safetensors" "$folder/parts.last.safetensors" || fail "$task: $1: the .last files differ"
}

for task in ${TASKS:-tag classify seq2seq lm}; do
    case $task in
    tag) make=tagged train_count=600 dev_count=100 epochs=30 ;;
    classify) make=classified train_count=1000 dev_count=100 epochs=30 ;;
    seq2seq) make=paired train_count=600 dev_count=50 epochs=12 ;;
    lm) make=written train_count=400 dev_count=50 epochs=12 ;;
    esac
    "$make" 1 "$train_count" >"$folder/train.txt"
    "$make" 2 "$dev_count" >"$folder/dev.txt"
    rm -f "$folder"/*.safetensors*
    train whole
    wait "$running" || fail "$task: the run that is not killed"
    killed=0
    complete=0
    while [ "$killed" -lt "$kills" ]; do
        every=$((RANDOM % 2))
        train parts --resume --save-every "0.0$((5 * every))s" --threads $((1 + RANDOM % 2))
        sleep "0.$(printf '%03d' $((RANDOM % 500)))"
        if kill -KILL "$running" 2>"$folder/null"; then
            wait "$running" 2>"$folder/null"
            status=$?
        else
            wait "$running"
            status=$?
        fi
        if [ "$status" -eq 0 ]; then # it was done before: the next one starts anew
            same "after $killed kills"
            complete=$((complete + 1))
            rm -f "$folder"/parts.*
        elif [ "$status" -eq 137 ]; then
            killed=$((killed + 1))
            opens "$folder/parts.safetensors" "$folder/parts.last.safetensors"
        else
            fail "$task: a run ended with $status"
        fi
    done
    train parts --resume
    wait "$running" || fail "$task: the last run"
    same "at the end"
    [ "$(find "$folder" -name 'parts.*' | wc -l)" -eq 2 ] || fail "$task: killed runs have left files: $(ls "$folder")"
    echo "$task: $killed kills, $((complete + 1)) runs that came to their end, all with the same bytes"
done
