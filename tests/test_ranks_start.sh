#!/bin/bash
# attn train under mpirun, from a model (--start, --more) that is not the same on all hosts, and where rank 0 fails alone
# while it measures (--time): clear errors, said once, and no hang (a watchdog); --scatter; the bytes of one process.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
module=${BUILD_DIR:?}/libattn-mpi.so
if ! command -v mpirun >/dev/null || [ ! -e "$module" ]; then
    echo "skipped: there is no mpirun or no $module (Debian: openmpi-bin libopenmpi-dev)"
    exit 77
fi
cd "$folder" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
export TMPDIR=$folder ATTN_MPI=$module

# hosts ARGUMENT...: two ranks, the first in the folder one, the second in the folder two, as on two hosts; the first
# has the arguments in `alone`, too.
alone=()
hosts() {
    timeout 100 mpirun -n 1 -wdir "$folder/one" "$program" train classify texts.tsv --threads 1 --quiet "${alone[@]}" "$@" : \
        -n 1 -wdir "$folder/two" "$program" train classify texts.tsv --threads 1 --quiet "$@" >out 2>said
    status=$?
    grep '^attn' said >err
    check "it does not hang: $*" [ "$status" -ne 124 ]
}
said_once() { [ "$(wc -l <err)" -eq 1 ]; }

mkdir one two
for i in $(seq 1 30); do printf 'pos\tgood fine film %d\nneg\tbad poor film %d\n' "$i" "$i"; done >texts.tsv
train first classify texts.tsv --steps 3 --seed 1
train second classify texts.tsv --steps 3 --seed 2
cp texts.tsv one && cp texts.tsv two
cp first.safetensors one/base.safetensors && cp second.safetensors two/base.safetensors

hosts -o new.safetensors --start base.safetensors --steps 3
check "--start: the models differ" complains "rank 1 has another model to start from than rank 0"
check "--start: said once" said_once
check "--start: nothing is written" [ ! -e one/new.safetensors ]
hosts -o new.safetensors --start base.safetensors --steps 3 --resume
check "--start --resume: nothing is resumed yet" complains "rank 1 has another model to start from than rank 0"
# A flag that only rank 0 has: each of these says that ranks send each other something.
for flag in "--start base.safetensors" "--dev texts.tsv" "--vectors base.vec" "--config base.json"; do
    for scatter in "" --scatter; do
        read -ra alone <<<"$flag"
        # shellcheck disable=SC2086
        hosts -o new.safetensors --steps 3 $scatter
        check "$flag in rank 0 $scatter: refused" complains "attn: rank 1 of 2: ${flag% *} is not given here, and "
        check "$flag in rank 0 $scatter: said once" said_once
    done
done
alone=(texts.tsv)
hosts -o new.safetensors --steps 3
check "a file in rank 0: refused" complains "the list of files is FILE here, and FILE FILE in rank 0"
alone=()
check "nothing is written" [ ! -e one/new.safetensors ]

(cd one && "$program" train classify texts.tsv -o alone.safetensors --start base.safetensors --steps 3 --quiet)
hosts -o new.safetensors --start base.safetensors --steps 3 --scatter
check "--start --scatter: exit status" exits_with 0
check "--start --scatter: the same bytes" cmp -s one/new.safetensors one/alone.safetensors

rm two/base.safetensors
cp one/base.safetensors one/more.safetensors && cp one/base.safetensors one/alone.safetensors
(cd one && "$program" train classify texts.tsv -o alone.safetensors --more 3steps --quiet)
hosts -o more.safetensors --more 3steps
check "--more: rank 1 has no model" complains "rank 1: more.safetensors: cannot be opened"
hosts -o more.safetensors --more 3steps --scatter
check "--more --scatter: exit status" exits_with 0
check "--more --scatter: the same bytes" cmp -s one/more.safetensors one/alone.safetensors
check "--more --scatter: rank 1 writes nothing" [ "$(ls two)" = texts.tsv ]

# A run that was stopped goes on from its .last file: the model is gone, and the other host has files of another run.
long=(--start base.safetensors --steps 500)
(cd one && exec "$program" train classify texts.tsv -o stopped.safetensors "${long[@]}" --save-every 0s --threads 1 --quiet) >out 2>err &
running=$!
for ((i = 0; i < 300; i++)); do
    [ -e one/stopped.last.safetensors ] && break
    sleep 0.1
done
kill -TERM "$running"
wait "$running"
check "a run is stopped" [ $? -eq 143 ]
mkdir three
mv one/base.safetensors base.safetensors
cp one/stopped.* texts.tsv three
cp second.safetensors two/base.safetensors
echo broken >two/stopped.last.safetensors
(cd three && "$program" train classify texts.tsv -o stopped.safetensors "${long[@]}" --resume --threads 1 --quiet)
hosts -o stopped.safetensors "${long[@]}" --resume --scatter
check "--resume --start --scatter: exit status" exits_with 0
check "--resume --start --scatter: the same bytes" cmp -s one/stopped.safetensors three/stopped.safetensors

mkdir -p one/timed.last.safetensors.measure/in-the-way
hosts -o timed.safetensors --time 3s
check "--time: rank 0 cannot write" complains "timed.last.safetensors.measure"
check "--time: said once" said_once

finish
