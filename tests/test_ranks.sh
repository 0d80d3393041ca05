#!/bin/bash
# attn predict and eval under mpirun, 2 and 4 ranks: the bytes of one process, for every format; errors are said
# once, by rank 0, or by the rank that alone has them, with its number; nothing hangs (a watchdog); --scatter;
# standard input; threads.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
module=${BUILD_DIR:?}/libattn-mpi.so
if ! command -v mpirun >/dev/null || [ ! -e "$module" ]; then
    echo "skipped: there is no mpirun or no $module (Debian: openmpi-bin libopenmpi-dev)"
    exit 77
fi
cd "$folder" || exit 1
# Open MPI: more ranks than cores, also as root, wherever they may run. MPICH knows none of it, and needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
export TMPDIR=$folder ATTN_MPI=$module
# shellcheck source=tests/support/parted.sh
. "$SOURCE_DIR/tests/support/parted.sh"

# ranks N ARGUMENT...: attn under mpirun; leaves out, err (without what mpirun adds) and status; 124: it hangs.
ranks() {
    local count=$1
    shift
    timeout 100 mpirun -n "$count" "${via[@]}" "$program" "$@" >out 2>said
    status=$?
    grep -E '^attn|^  ' said | grep -vE '^  (Process name|Exit code):' >err
    check "it does not hang: $*" [ "$status" -ne 124 ]
}
via=()
lines_said() { [ "$(grep -c '^attn' err)" -eq "$1" ]; }

# --- predict ---
count=2
for case in "${cases[@]}"; do
    read -r model file flags <<<"$case"
    # shellcheck disable=SC2086
    "$program" predict "$model.safetensors" "$file" $flags >whole 2>whole_err
    count=$((6 - count)) # 2 and 4 by turns
    # shellcheck disable=SC2086
    ranks "$count" predict "$model.safetensors" "$file" $flags
    check "$case: $count ranks: exit status" exits_with 0
    check "$case: $count ranks: the same bytes" cmp -s out whole
    check "$case: $count ranks: the same notes" cmp -s err whole_err
done
"$program" predict senti.safetensors texts.csv >whole
ranks 3 predict senti.safetensors <texts.csv
check "standard input is a file" cmp -s out whole
ranks 3 predict senti.safetensors - < <(cat texts.csv)
check "standard input is a pipe" cmp -s out whole
ranks 3 predict senti.safetensors texts.csv -o answers.csv
check "-o: rank 0 writes the file" cmp -s answers.csv whole
check "-o: nothing else is printed" silent out
ranks 2 predict senti.safetensors texts.csv -o texts.csv
check "-o: not what is read" complains "texts.csv is what is read"
check "-o: said once" lines_said 1
ranks 2 predict senti.safetensors texts.csv -o nowhere/answers.csv
check "-o: no folder" complains "attn predict: cannot write nowhere/answers.csv: No such file or directory"
"$program" predict book.safetensors --prompt so --tokens 5 >whole
ranks 2 predict book.safetensors --prompt so --tokens 5
check "a prompt is answered once" cmp -s out whole

# --- eval ---
for case in "tagger train.conllu" "tagger train.conllu --json" "tagger train.conllu --raw" "splitter raw.conllu --raw" \
    "senti texts.csv" "senti texts.csv --json" "spell words.tsv" "book book.txt" "made made.csv" "web web" "rows rows.csv"; do
    read -r model file flags <<<"$case"
    # shellcheck disable=SC2086
    "$program" eval "$model.safetensors" "$file" $flags >whole 2>whole_err
    count=$((6 - count))
    # shellcheck disable=SC2086
    ranks "$count" eval "$model.safetensors" "$file" $flags
    check "eval $case: $count ranks: exit status" exits_with 0
    check "eval $case: $count ranks: the same bytes" cmp -s out whole
done
"$program" eval senti.safetensors texts.csv >whole
sed -i 's/ on texts.csv/ on standard input/' whole
ranks 2 eval senti.safetensors - --format table <texts.csv
check "eval: standard input" cmp -s out whole

# --- what is wrong for all is said once ---
ranks 4 predict tagger.safetensors lines.txt --flop
check "a wrong flag: exit status" exits_with 2
check "a wrong flag: said once" complains "attn predict: there is no flag --flop"
check "a wrong flag: and where to look" lines_said 2
ranks 4 eval tagger.safetensors train.conllu --beam 3
check "a flag that is not for this model" complains "attn eval: --beam is for models of task seq2seq"
check "a flag that is not for this model: said once" lines_said 1
ranks 4 predict nothing.safetensors lines.txt
check "no model: exit status" exits_with 1
check "no model: said once" lines_said 1
check "no model: by rank 0, as one process would" complains "attn predict: nothing.safetensors: cannot be opened"
ranks 4 predict tagger.safetensors nothing.txt
check "no file: said once" lines_said 1
check "no file" complains "attn predict: cannot read nothing.txt"
ranks 3 eval tagger.safetensors nothing.conllu
check "eval: no file: said once" lines_said 1
ranks 3 train tag nothing.conllu -o new.safetensors
check "train: no file: said once" lines_said 1
check "train: no file" complains "attn train: nothing.conllu: cannot be opened"
ranks 2 train tag train.conllu -o tagger.safetensors
check "train: the model is there: said once" lines_said 1
ranks 2 predict tagger.safetensors lines.txt --shard 1/2
check "--shard is not for ranks" complains "the ranks of a launcher share the file by themselves"
ranks 3 predict --help
check "help: exit status" exits_with 0
check "help: once" [ "$(grep -c "^attn predict MODEL" out)" -eq 1 ]

# A bad line: what stands before it is answered.
sed '500s/.*/bad line/' train.conllu >bad.conllu
"$program" predict tagger.safetensors bad.conllu >whole 2>whole_err
for count in 2 3 4; do
    ranks "$count" predict tagger.safetensors bad.conllu
    check "a bad line, $count ranks: exit status" exits_with 1
    check "a bad line, $count ranks: what stands before it" cmp -s out whole
    check "a bad line, $count ranks: where" cmp -s err whole_err
done
ranks 3 eval tagger.safetensors bad.conllu
check "eval: a bad line: said once" lines_said 1
ATTN_MPI=$folder/nothing.so ranks 3 eval tagger.safetensors train.conllu
check "no module: said once" lines_said 1
check "no module" complains "the module that joins them cannot be loaded"

# --- what is wrong for one rank ---
# shellcheck disable=SC2016
via=(bash -c 'if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = "${away:-2}" ]; then cd /; fi; exec "$@"' away)
ranks 4 eval "$PWD/tagger.safetensors" train.conllu
check "a rank without the data: exit status" exits_with 1
check "a rank without the data: which" complains "attn: rank 2 of 4: train.conllu: cannot be opened"
check "a rank without the data: what to do" complains "--scatter sends those of rank 0"
check "a rank without the data: nothing else" lines_said 2
ranks 4 train tag train.conllu -o new.safetensors --steps 5
check "train: a rank without the data: which" complains "attn: rank 2 of 4: train.conllu: cannot be opened"
check "train: a rank without the data: no model" [ ! -e new.safetensors ]
ranks 3 predict tagger.safetensors lines.txt
check "a rank without the model: which" complains "attn: rank 2 of 3: tagger.safetensors: cannot be opened"
"$program" predict tagger.safetensors lines.txt >whole 2>whole_err
ranks 3 predict "$PWD/tagger.safetensors" lines.txt
check "predict: the file is read by rank 0 alone" cmp -s out whole

# --scatter: rank 0 reads for all.
ranks 3 predict tagger.safetensors lines.txt --scatter
check "predict --scatter" cmp -s out whole
gzip -k train.conllu
for file in train.conllu train.conllu.gz; do
    "$program" eval tagger.safetensors $file >whole
    ranks 3 eval tagger.safetensors $file --scatter
    check "eval --scatter $file" cmp -s out whole
done
"$program" eval rows.safetensors rows.csv >whole
ranks 3 eval rows.safetensors rows.csv --scatter
check "eval --scatter: vectors" cmp -s out whole
ranks 3 eval web.safetensors web --scatter
check "--scatter: a folder" complains "web is a folder, and --scatter sends files"
check "--scatter: a folder: said once" lines_said 1
ranks 3 eval tagger.safetensors nothing.conllu --scatter
check "--scatter: no file" complains "attn eval: cannot open nothing.conllu: No such file or directory"
check "--scatter: no file: said once" lines_said 1
check "--scatter: nothing is left behind" [ -z "$(find . -name 'attn-*')" ]
via=()

# A rank that is killed ends the job, whatever the others wait for.
# shellcheck disable=SC2016
via=(bash -c 'if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ]; then (sleep 2; kill -9 $$) & fi; exec "$@"' killed)
ranks 3 predict tagger.safetensors < <(exec 2>/dev/null; echo the cat; exec sleep 20)
check "a killed rank: the job has failed" [ "$status" -ne 0 ]
check "a killed rank: and ended" [ "$status" -ne 124 ]
via=()
finish
