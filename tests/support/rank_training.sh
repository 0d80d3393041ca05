#!/bin/bash
# rank_training.sh: what the tests of training by ranks share; sourced by them after script.sh. Small files of several
# kinds in $folder, and attn under a launcher with a watchdog. MPIRUN is another launcher (mpirun.mpich).
launcher=${MPIRUN:-mpirun}
module=${BUILD_DIR:?}/libattn-mpi.so
if ! command -v "$launcher" >/dev/null || [ ! -e "$module" ]; then
    echo "skipped: there is no $launcher or no $module (Debian: openmpi-bin libopenmpi-dev)"
    exit 77
fi
cd "${folder:?}" || exit 1
# Open MPI: more ranks than cores, also as root, wherever they may run.
# MPICH knows none of it, and needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
export TMPDIR=$folder ATTN_MPI=$module
# shellcheck disable=SC2016
rank='${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}' # for what ranks run

# --- files ---
sentences 90 >tag.conllu
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 120; i++) print (i % 2 ? "a good fine" : "a bad poor") " film " i % 13 " x" i * 7 % 11 "\t" (i % 2 ? "pos" : "neg") }' >classify.tsv
awk 'BEGIN { for (i = 0; i < 60; i++) print "so it goes " i % 9 ", and so it went " i * 5 % 7 }' >lm.txt
awk 'BEGIN { for (i = 0; i < 80; i++) print "ab" i "c\tc" i "ba" }' >seq2seq.tsv
awk 'BEGIN { print "sequence,x,noise,label"; for (i = 0; i < 240; i++) print "s" int(i / 3) "," i * 37 % 41 - 20 "," i % 7 "," (i * 37 % 41 > 20 ? "in" : "out") }' >rows.csv
echo '{"training": {"shards": 5}}' >shards.json
# shellcheck disable=SC2034
small=(--width 16 --heads 2 --layers 1 --patience 0 --learning-rate 0.01 --keep-last)

# --- runs ---
via=()
# ranks COUNT ARGUMENT...: attn under the launcher; leaves out, err (without what the launcher adds), said (with it)
# and status; 124: it hangs.
ranks() {
    local count=$1
    shift
    timeout -k 5 100 "$launcher" -n "$count" "${via[@]}" "${program:?}" "$@" >out 2>said
    ended "$*"
}
ended() {
    status=$?
    grep -E '^attn' said >err
    check "it does not hang: $1" [ "$status" -ne 124 ] # nor 137, where the watchdog had to use force
}
# alone ARGUMENT...: the same without a launcher.
alone() {
    timeout -k 5 100 "$program" "$@" >out 2>said
    ended "$*"
}
lines_said() { [ "$(grep -c '^attn' err)" -eq "$1" ]; }

# begin COUNT NAME ARGUMENT...: a run in the background whose model is NAME; returns when it is under way. Pids of
# ranks are in pid.RANK, that of the launcher is in pid.launcher.
begin() {
    local count=$1 name=$2
    shift 2
    rm -f pid.*
    # shellcheck disable=SC2016
    timeout -k 5 100 sh -c 'echo $$ >pid.launcher; exec "$@"' launcher "$launcher" -n "$count" "${via[@]}" sh -c \
        "echo \$\$ >pid.$rank; exec \"\$@\"" rank "$program" "$@" -o "$name.safetensors" >out 2>said &
    running=$!
    for ((i = 0; i < 300; i++)); do
        [ -e "$name.last.safetensors" ] && break
        sleep 0.1
    done
    sleep 0.4
}
# finished WHAT: waits for it.
finished() {
    wait "$running" 2>"$folder/null"
    ended "$1"
}
# gone WHAT: all ranks have ended, or do so within 20 seconds.
gone() {
    local file state left
    for ((i = 0; i < 200; i++)); do
        left=0
        for file in pid.[0-9]*; do
            state=$(sed 's/.*) //' "/proc/$(cat "$file")/stat" 2>"$folder/null" | cut -c1)
            case $state in '' | Z | X) ;; *) left=1 ;; esac
        done
        [ "$left" -eq 0 ] && break
        sleep 0.1
    done
    check "$1: no rank is left" [ "$left" -eq 0 ]
}

# same WHAT NAME OTHER: the files of two runs.
same() {
    check "$1: the same model" cmp -s "$2.safetensors" "$3.safetensors"
    check "$1: the same .last file" cmp -s "$2.last.safetensors" "$3.last.safetensors"
}
# compare NAME RUNS TASK FILE FLAG...: what one thread makes, and RUNS: "2r1t 0r7t" is 2 ranks of a thread each, and 7
# threads without a launcher.
compare() {
    local name=$1 runs=$2 run
    shift 2
    alone train "${small[@]}" "$@" -o one.safetensors --force --threads 1
    check "$name: exit status" exits_with 0
    for run in $runs; do
        case $run in
        0*) alone train "${small[@]}" "$@" -o other.safetensors --force --threads "${run:2:1}" ;;
        *) ranks "${run:0:1}" train "${small[@]}" "$@" -o other.safetensors --force --threads "${run:2:1}" ;;
        esac
        check "$name, $run: exit status" exits_with 0
        same "$name, $run" one other
    done
}
# tidy WHAT NAME: files that are there open, nothing else is left (a lock that no process holds is no obstacle).
tidy() {
    local file others
    for file in "$2.safetensors" "$2.last.safetensors"; do
        [ ! -e "$file" ] || check "$1: $file opens" "$program" info "$file" >"$folder/null" 2>&1
    done
    others=$(find . -name "*$2.*" ! -name "$2.safetensors" ! -name "$2.last.safetensors" ! -name "$2.safetensors.lock")
    check "$1: nothing else is left: $others" [ -z "$others" ]
}
