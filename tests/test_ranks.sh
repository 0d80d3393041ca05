#!/bin/bash
# attn predict and eval under mpirun, 2 and 4 ranks: the bytes of one process, for every format; errors are said
# once, by rank 0, or by the rank that alone has them, with its number; ranks with another model, other data or flags
# are refused; nothing hangs (a watchdog); --scatter; standard input; threads.
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
check "-o: not what is read" complains "texts.csv is an input file: the output"
check "-o: said once" lines_said 1
ranks 2 predict senti.safetensors texts.csv -o nowhere/answers.csv
check "-o: no folder" complains "attn predict: cannot write nowhere/answers.csv: No such file or directory"
# A full disk shows, however little there is to be written, and so does why.
for file in header.csv texts.csv rows.csv; do
    model=senti
    [ "$file" != rows.csv ] || model=rows # which is not read in rounds
    ranks 3 predict "$model.safetensors" "$file" -o /dev/full
    check "-o: a full disk, $file: exit status" exits_with 1
    check "-o: a full disk, $file: says why" complains "cannot write the output: No space left on device"
    check "-o: a full disk, $file: said once" lines_said 1
done
# What is piped is answered as it comes, before the end of a line that has only begun.
mkfifo typed
timeout 100 mpirun -n 3 "$program" predict senti.safetensors --plain <typed >out 2>said &
running=$!
exec 3>typed
printf 'a good film\na bad' >&3
for ((i = 0; i < 300; i++)); do
    [ -s out ] && break
    sleep 0.1
done
check "a pipe: the first line is answered at once" [ "$(wc -l <out)" -eq 1 ]
printf ' film\n' >&3
exec 3>&-
wait "$running"
check "a pipe: exit status" [ $? -eq 0 ]
check "a pipe: all lines are answered" [ "$(wc -l <out)" -eq 2 ]
# Blank lines before the header: more than a piece of them.
{ printf '%5000s' '' | tr ' ' '\n'; cat texts.csv; } >blank.csv
"$program" predict senti.safetensors blank.csv >whole
ranks 3 predict senti.safetensors blank.csv
check "blank lines before the header" cmp -s out whole
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
check "--shard is not for ranks" complains "the ranks of a launcher share the file already: leave out"
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

# --- two hosts that have other files ---
# hosts ARGUMENT... : ARGUMENT...: a rank in the folder one and a rank in the folder two, with arguments of its own.
hosts() {
    local -a first=()
    while [ "$1" != : ]; do
        first+=("$1")
        shift
    done
    shift
    timeout 100 mpirun -n 1 -wdir "$folder/one" "$program" "${first[@]}" : \
        -n 1 -wdir "$folder/two" "$program" "$@" >out 2>said
    status=$?
    grep '^attn' said >err
    check "it does not hang: ${first[*]} : $*" [ "$status" -ne 124 ]
}
# refused WHAT TEXT: the job has failed, for this reason, said once, and has printed nothing.
refused() {
    check "$1: exit status" [ "$status" -ne 0 ]
    check "$1: says why" complains "$2"
    check "$1: said once" lines_said 1
    check "$1: nothing is printed" silent out
}
tiny another classify texts.csv --dev texts.csv --seed 2
mkdir one two
for name in one two; do cp -r senti.safetensors rows.safetensors web.safetensors texts.csv texts.tsv rows.csv web $name; done
cp another.safetensors two/senti.safetensors
sent="copy the file of rank 0 to all hosts, or use --scatter"
hosts eval senti.safetensors texts.tsv : eval senti.safetensors texts.tsv
refused "eval: another model" "attn eval: rank 1 has another model than rank 0: $sent"
hosts predict senti.safetensors texts.tsv : predict senti.safetensors texts.tsv
refused "predict: another model" "attn predict: rank 1 has another model than rank 0: $sent"
"$program" predict senti.safetensors texts.tsv >whole
hosts predict senti.safetensors texts.tsv --scatter : predict senti.safetensors texts.tsv --scatter
check "predict --scatter: the model of rank 0" cmp -s out whole
cp senti.safetensors two
{ head -n 1 texts.tsv; sed 1d texts.tsv | tac; } >two/texts.tsv
hosts eval senti.safetensors texts.tsv : eval senti.safetensors texts.tsv
refused "eval: another order" "attn eval: rank 1 has other examples than rank 0: copy the files of rank 0"
head -n 50 texts.tsv >two/texts.tsv
hosts eval senti.safetensors texts.tsv : eval senti.safetensors texts.tsv
refused "eval: a shorter file" "attn eval: rank 1 has other examples than rank 0"
sed '$s/,[a-z]*$/,other/' rows.csv >two/rows.csv
hosts eval rows.safetensors rows.csv : eval rows.safetensors rows.csv
refused "eval: another label" "attn eval: rank 1 has other examples than rank 0"
head -n 60 rows.csv >two/rows.csv
hosts predict rows.safetensors rows.csv : predict rows.safetensors rows.csv
refused "predict: other rows" "attn predict: rank 1 has other examples than rank 0"
sed -i 's/\bn76\b/last/' two/web/nodes.tsv two/web/edges.tsv
hosts predict web.safetensors web : predict web.safetensors web
refused "predict: another name" "attn predict: rank 1 has other examples than rank 0"
if [ "$(uname -m)" = x86_64 ]; then # the plain one, which every CPU has
    # shellcheck disable=SC2016
    via=(bash -c 'if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ]; then export ATTN_ISA=scalar; fi; exec "$@"' other)
    for command in eval predict; do
        ranks 2 "$command" senti.safetensors texts.tsv
        refused "$command: another CPU" "attn $command: rank 1 has another version of attn, or kind of CPU, than rank 0"
    done
    via=()
fi
same="give all ranks the same flags"
hosts predict senti.safetensors texts.csv --probs : predict senti.safetensors texts.csv
refused "--probs in rank 0" "attn: rank 1 of 2: --probs is not given here, and on in rank 0: $same"
hosts predict spell.safetensors words.tsv : predict spell.safetensors words.tsv --n-best 2
refused "--n-best in rank 1" "attn: rank 1 of 2: --n-best is 2 here, and not given in rank 0: $same"
hosts eval senti.safetensors texts.csv : eval senti.safetensors texts.csv --split-file parts.txt
refused "--split-file in rank 1" "attn: rank 1 of 2: --split-file is given here, and not given in rank 0: $same"
hosts predict senti.safetensors texts.csv : predict senti.safetensors
refused "a file in rank 0" "attn: rank 1 of 2: the list of files is FILE here, and FILE FILE in rank 0: $same"
hosts eval senti.safetensors texts.csv : eval senti.safetensors -
refused "standard input in rank 1" "attn: rank 1 of 2: the list of files is FILE - here, and FILE FILE in rank 0: $same"
hosts eval senti.safetensors texts.csv : predict senti.safetensors texts.csv
refused "another command" "attn: rank 1 of 2: the command is predict here, and eval in rank 0: $same"
"$program" eval senti.safetensors texts.csv >whole
cp texts.csv two/copy.csv
hosts eval senti.safetensors texts.csv --threads 1 : eval ../senti.safetensors copy.csv --threads 2
check "names and threads may differ: exit status" exits_with 0
check "names and threads may differ: the same bytes" cmp -s out whole

# A rank that has no memory for its answers: it is the second such file of a rank, after that of the flags.
cat >refuse.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
FILE *open_memstream(char **text, size_t *length) {
    static int calls;
    FILE *(*next)(char **, size_t *) = (FILE * (*)(char **, size_t *)) dlsym(RTLD_NEXT, "open_memstream");
    if (++calls < 2) return next(text, length);
    errno = ENOMEM;
    return NULL;
}
END
if ${CC:-cc} -shared -fPIC -o refuse.so refuse.c -ldl 2>null; then
    # shellcheck disable=SC2016
    via=(bash -c 'if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ]; then export LD_PRELOAD=$PWD/refuse.so; fi; exec "$@"' refuse)
    export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
    for case in "rows rows.csv" "rows rows.csv --scatter" "senti texts.csv"; do
        read -r model file flags <<<"$case"
        # shellcheck disable=SC2086
        ranks 3 predict "$model.safetensors" "$file" $flags
        check "no memory, $case: exit status" exits_with 1
        check "no memory, $case: said" complains "out of memory"
        check "no memory, $case: said once" lines_said 1
    done
    via=()
fi

# A rank that is killed ends the job, whatever the others wait for.
# shellcheck disable=SC2016
via=(bash -c 'if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ]; then (sleep 2; kill -9 $$) & fi; exec "$@"' killed)
ranks 3 predict tagger.safetensors < <(exec 2>/dev/null; echo the cat; exec sleep 20)
check "a killed rank: the job has failed" [ "$status" -ne 0 ]
check "a killed rank: and ended" [ "$status" -ne 124 ]
via=()
finish
