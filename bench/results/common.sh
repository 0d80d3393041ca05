# common.sh: what the scripts of this folder share. Each of them trains a task with several seeds, measures the
# chosen model on the test data once, and leaves one JSON file a seed under build/results/TASK/. A seed that is
# there already is not run again; one that was interrupted goes on where it was.
#
#     DATA     the folder with the data sets
#     SEEDS    "1 2 3"
#     BUILD    build/release
#     RESULTS  build/results
set -euo pipefail
: "${DATA:?say where the data sets are: make results DATA=FOLDER}"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
attn=${BUILD:-$root/build/release}/attn
results=${RESULTS:-$root/build/results}
SEEDS=${SEEDS:-1 2 3}

need_files() { # need_files FILE...: of $DATA
    local file missing=0
    for file in "$@"; do
        if [ ! -e "$DATA/$file" ]; then
            echo "$(basename "$0"): $DATA/$file is missing" >&2
            missing=1
        fi
    done
    [ "$missing" -eq 0 ] || exit 3
}

# Processor seconds of all commands so far ($folder is where it may write): they say what a run takes where the clock
# also counts other work.
processor_seconds() {
    times >"$folder/times"
    tail -n 1 "$folder/times" | awk '{ gsub(/s/, ""); split($1, u, "m"); split($2, s, "m")
                                        printf "%d\n", 60 * (u[1] + s[1]) + u[2] + s[2] }'
}

# train_seeds TASK METRIC "EVAL ARGUMENTS" ARGUMENTS...: "attn train ARGUMENTS -o ... --seed S" for every seed. The
# dev figure is the one the model was chosen by; "attn eval MODEL EVAL ARGUMENTS" uses the test data once, with the
# chosen model.
train_seeds() {
    local task=$1 metric=$2 seed folder began took used shown word
    local -a test
    read -r -a test <<<"$3"
    shift 3
    for seed in $SEEDS; do
        folder=$results/$task/$seed
        if [ -e "$folder.json" ]; then
            echo "$task, seed $seed: cached"
            continue
        fi
        mkdir -p "$folder"
        echo "$task, seed $seed: attn train $*"
        processor_seconds >"$folder/before"
        began=$(date +%s)
        "$attn" train "$@" -o "$folder/model.safetensors" --seed "$seed" --resume
        took=$(($(date +%s) - began))
        processor_seconds >"$folder/after"
        used=$(($(cat "$folder/after") - $(cat "$folder/before")))
        "$attn" eval "$folder/model.safetensors" "${test[@]}" --json >"$folder/test.json"
        "$attn" info "$folder/model.safetensors" --json >"$folder/info.json"
        shown="attn train"
        for word in "$@"; do
            if [[ $word = *' '* ]]; then word="'$word'"; fi
            shown+=" $word"
        done
        shown+=" --seed $seed"
        shown=${shown//$DATA\//}
        shown=${shown//$results\//}
        shown=${shown//$root\//}
        python3 "$root/bench/results/record.py" "$task" "$seed" "$metric" "$took" "$used" "$folder" \
            "$shown" >"$folder.json.tmp"
        mv "$folder.json.tmp" "$folder.json"
    done
}
