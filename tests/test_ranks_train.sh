#!/bin/bash
# attn train under mpirun: the same bytes of the model and of the .last file for threads 1, 2, 7 and ranks 1, 2, 4
# (pairwise; test_full_ranks_train.sh has all combinations), also resumed with others, with --more, --start, --time,
# ensembles; and faults: a rank or the launcher killed, signals, a full disk, ranks with other data, flags or CPUs,
# without memory. Every one ends with a message that names the rank, nothing hangs (a watchdog), and what is there
# resumes.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
# shellcheck source=tests/support/rank_training.sh
. "$SOURCE_DIR/tests/support/rank_training.sh"

# --- the same bytes ---

compare tag "0r2t 0r7t 1r1t 2r1t 4r2t" tag tag.conllu --dev tag.conllu --steps 12
compare classify "0r7t 2r2t" classify classify.tsv --steps 12 --config shards.json
compare lm "0r2t 4r1t" lm lm.txt --steps 8
compare seq2seq "0r7t 2r1t" seq2seq seq2seq.tsv --steps 10 --config shards.json
# Defaults that follow from the number of examples: every rank has to find them itself.
awk 'BEGIN { for (i = 0; i < 20100; i++) print "ab" i "c\tc" i "ba" }' >many.tsv
compare "many examples" "2r1t" seq2seq many.tsv --dev seq2seq.tsv --steps 2
compare vectors "4r1t" tag rows.csv --input vectors --steps 12
echo '{"training": {"accumulate": 3}, "output": {"members": 2}}' >ensemble.json
compare "an ensemble, accumulated" "0r7t 4r1t" tag tag.conllu --steps 8 --config ensemble.json
echo '{"training": {"evaluations": 1000}}' >often.json
compare patience "3r1t" classify classify.tsv --epochs 200 --patience 2 --learning-rate 0.0001 --config often.json
check "patience: it ended early" grep -aqF 'end\":\"patience' other.safetensors

# More steps for a model, and another one that starts from it.
for count in 1 2; do
    cp one.safetensors "more$count.safetensors"
done
alone train classify classify.tsv -o more1.safetensors --more 6steps --keep-last --threads 1 --patience 0
ranks 2 train classify classify.tsv -o more2.safetensors --more 6steps --keep-last --threads 1 --patience 0
check "--more: exit status" exits_with 0
same "--more" more1 more2
alone train classify classify.tsv -o start1.safetensors --start one.safetensors --steps 6 --keep-last --threads 2
ranks 3 train classify classify.tsv -o start2.safetensors --start one.safetensors --steps 6 --keep-last --threads 1
check "--start: exit status" exits_with 0
same "--start" start1 start2

# Time decides: rank 0's clock, for all.
ranks 3 train tag tag.conllu -o timed.safetensors "${small[@]}" --time 2s --patience 0
check "--time: exit status" exits_with 0
check "--time: how many steps" grep -q "the time given is enough for" said
ranks 2 train tag tag.conllu -o fast.safetensors "${small[@]}" --steps 12 --fast-sum
check "--fast-sum: exit status" exits_with 0
check "--fast-sum: says what it costs" grep -q "bits of the model depend on the number of ranks" said
ranks 2 train tag tag.conllu -o fast.safetensors "${small[@]}" --steps 12 --fast-sum --resume
check "--fast-sum: resumes" exits_with 0

# --- stopped, and resumed with others ---
# Long enough to be still running when the signal comes, a second late: three seconds or more, however fast the machine.
began=$(date +%s%N)
alone train tag tag.conllu "${small[@]}" --steps 600 -o whole.safetensors --threads 1
took=$((($(date +%s%N) - began) / 1000000 + 1))
rm whole.*
long=(train tag tag.conllu "${small[@]}" --steps $((600 * (1 + 3000 / took))))
alone "${long[@]}" -o whole.safetensors --threads 1
# resumes WHAT: the run of before goes on, by one process or by three, to the same end.
resumes() {
    if [ "${turn:=1}" -eq 1 ]; then
        alone "${long[@]}" -o part.safetensors --resume --threads 7
    else
        ranks 3 "${long[@]}" -o part.safetensors --resume --threads 1
    fi
    turn=$((1 - turn))
    check "$1: resumed: exit status" exits_with 0
    check "$1: it was resumed" grep -q "^resumed after step [1-9]" said
    same "$1: resumed" whole part
    rm -f part.*
}
# SIGUSR1 is forwarded by the launcher; after the others it leaves ranks a second, or kills them: what was saved is
# there then.
for signal in USR1 INT TERM; do
    begin 2 part "${long[@]}" --threads 1 --save-every 0s
    kill "-$signal" "$(cat pid.launcher)"
    finished "SIG$signal"
    [ "$launcher" != mpirun ] || check "SIG$signal: exit status" [ "$status" -ne 0 ] # MPICH's own is sometimes 0
    gone "SIG$signal"
    [ "$signal" != USR1 ] || check "SIG$signal: says so" grep -q "^stopped after step [1-9].*--resume" said
    [ "$signal" != USR1 ] || tidy "SIG$signal" part
    check "SIG$signal: there is a .last file" "$program" info part.last.safetensors >null 2>&1
    resumes "SIG$signal"
done

# --- killed ---
begin 3 part "${long[@]}" --threads 1 --save-every 0s
kill -KILL "$(cat pid.1)"
finished "a rank is killed"
check "a rank is killed: exit status" [ "$status" -ne 0 ]
[ "$launcher" != mpirun ] || check "a rank is killed: which" grep -q "rank 1 .*signal 9" said
gone "a rank is killed"
resumes "a rank is killed"
begin 2 part "${long[@]}" --threads 1 --save-every 0s
kill -KILL "$(cat pid.launcher)"
finished "the launcher is killed"
gone "the launcher is killed"
resumes "the launcher is killed"

# --- wrong for all: said once ---
ranks 4 train tag tag.conllu "${small[@]}" -o whole.safetensors --steps 600
check "the model is there: exit status" exits_with 1
check "the model is there: said once" lines_said 1
check "the model is there: says so" complains "attn train: whole.safetensors: exists already"
printf '{"training": {"optimizer": "sgd", "clip_norm": 0, "warmup": 0}}' >sgd.json
ranks 2 train tag tag.conllu "${small[@]}" -o new.safetensors --steps 40 --learning-rate 1000 --config sgd.json
check "diverged: exit status" exits_with 1
check "diverged: said once" lines_said 1
check "diverged: says so" complains "attn train: training diverged"
tidy "diverged" new
rm -f new.*

# --- wrong for one rank ---
# only RANK COMMAND: from now on, a rank runs this before the program, with its arguments as "$@".
only() { via=(bash -c "if [ \"$rank\" = $1 ]; then $2; fi; exec \"\$@\"" via); }
# refused WHAT TEXT: the job has failed, for this reason, and has written nothing.
refused() {
    check "$1: exit status" [ "$status" -ne 0 ]
    check "$1: says why, once" [ "$(grep -cF "$2" err)" -eq 1 ]
    check "$1: no model" [ ! -e new.safetensors ]
    check "$1: no .last file" [ ! -e new.last.safetensors ]
    tidy "$1" new
}
new=(train tag tag.conllu "${small[@]}" -o new.safetensors --steps 20)
mkdir other
sentences 91 >other/tag.conllu
# shellcheck disable=SC2016
only 1 'set -- "${@/tag.conllu/other/tag.conllu}"'
ranks 3 "${new[@]}"
refused "other data" "rank 1 has other training data, development data or vectors than rank 0"
sed 's/dog/fog/' tag.conllu >other/tag.conllu
ranks 2 "${new[@]}"
refused "one word differs" "rank 1 has other training data, development data or vectors than rank 0"
rm other/tag.conllu
ranks 3 "${new[@]}"
refused "no data" "attn: rank 1 of 3: other/tag.conllu: cannot be opened"
only 1 'set -- "$@" --seed 2'
ranks 2 "${new[@]}"
refused "another seed" "attn: rank 1 of 2: --seed is 2 here, and not given in rank 0"
# shellcheck disable=SC2016
only 2 'set -- "${@/16/32}"'
ranks 3 "${new[@]}"
refused "another configuration" "attn: rank 2 of 3: --width is 32 here, and 16 in rank 0"
if [ "$(uname -m)" = x86_64 ]; then # the plain one, which every CPU has
    only 1 'export ATTN_ISA=scalar'
    ranks 2 "${new[@]}"
    refused "another CPU" "rank 1 has another version of attn, or kind of CPU, than rank 0"
fi
# A step that one rank has no memory for; MPI's own fits in. (AddressSanitizer's does not.)
if (ulimit -v 330000 && exec "$program" --version) >null 2>&1; then
    sentences 5000 >large.conllu
    echo '{"training": {"batch_units": 30000, "shards": 2}}' >large.json
    large=(train tag large.conllu --dev tag.conllu "${small[@]}" -o new.safetensors --steps 2 --width 64 --config large.json --threads 1)
    only 1 "ulimit -v 330000"
    ranks 2 "${large[@]}"
    check "no memory: exit status" [ "$status" -ne 0 ]
    check "no memory: says which rank" grep -q "rank 1.*no memory" err
    check "no memory: said once" lines_said 1
    check "no memory: no model" [ ! -e new.safetensors ]
    tidy "no memory" new
    via=()
    ranks 2 "${large[@]}" --resume
    check "no memory: resumed with more" exits_with 0
    tidy "no memory, resumed" new
fi

# --- a full disk, of rank 0 ---
cp whole.safetensors part.safetensors
cp whole.last.safetensors part.last.safetensors
only 0 "ulimit -f 5000" # a .last file has 6 MB; MPI writes some to shared memory
ranks 2 "${long[@]}" -o part.safetensors --seed 2 --force
check "a full disk: exit status" exits_with 1
check "a full disk: said once" lines_said 1
check "a full disk: says so" complains "part.last.safetensors"
same "a full disk: files of before" whole part
tidy "a full disk" part
check "a full disk: no lock" [ ! -e part.safetensors.lock ]
finish
