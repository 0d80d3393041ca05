#!/bin/bash
# attn predict --shard I/N: the outputs of all parts, one after another, are that of one process, for every format,
# with fewer examples than parts, too; attn eval --shard scores its part.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1
# shellcheck source=tests/support/parted.sh
. "$SOURCE_DIR/tests/support/parted.sh"

# parts N MODEL FILE FLAG...: leaves what the N parts print in all, and how often one failed in status.
parts() {
    local count=$1 model=$2 i
    shift 2
    status=0
    for ((i = 1; i <= count; i++)); do
        "$program" predict "$model.safetensors" "$@" --shard "$i/$count" --threads 1 2>err || status=$((status + 1))
    done >all
}

for case in "${cases[@]}"; do
    read -r model file flags <<<"$case"
    # shellcheck disable=SC2086
    "$program" predict "$model.safetensors" "$file" $flags >whole 2>err
    check "$case: exit status" [ $? -eq 0 ]
    for count in 1 3 8; do
        # shellcheck disable=SC2086
        parts "$count" "$model" "$file" $flags
        check "$case: $count parts: none fails" exits_with 0
        check "$case: $count parts: the same bytes" cmp -s all whole
    done
done
parts 100 senti texts.csv
"$program" predict senti.safetensors texts.csv >whole
check "100 parts of 151 examples" cmp -s all whole
"$program" predict tagger.safetensors one.txt >whole 2>err
parts 9 tagger one.txt
check "one line, nine parts" cmp -s all whole
for i in 1 2 3; do "$program" predict senti.safetensors --shard $i/3 <texts.csv; done >all 2>err
"$program" predict senti.safetensors texts.csv >whole
check "standard input is a file" cmp -s all whole
for i in 1 2 3; do "$program" predict senti.safetensors --shard $i/3 < <(cat texts.csv); done >all 2>err
check "standard input is a pipe" cmp -s all whole

# Blank lines before the header: parts may begin anywhere in them.
{ printf '\n\n'; head -n 30 texts.csv; } >blank.csv
"$program" predict senti.safetensors blank.csv >whole
for count in 17 100 400; do
    parts "$count" senti blank.csv
    check "blank lines before the header, $count parts" cmp -s all whole
done
"$program" predict senti.safetensors texts.csv >whole

# -o FILE is standard output.
for i in 1 2 3; do
    run predict senti.safetensors texts.csv --shard $i/3 -o "part.$i"
    check "-o: exit status" exits_with 0
    check "-o: nothing else is printed" silent out
done
cat part.1 part.2 part.3 >all
check "-o: the same bytes" cmp -s all whole
run predict senti.safetensors texts.csv -o texts.csv
check "-o: not what is read: exit status" exits_with 1
check "-o: not what is read" complains "texts.csv is an input file: the output would overwrite it"
run predict senti.safetensors texts.csv -o /dev/full
check "-o: a full disk" exits_with 1

# Lines are counted from the beginning of the file.
sed '500s/.*/bad line/' train.conllu >bad.conllu
run predict tagger.safetensors bad.conllu --shard 1/4
check "a part before the bad line" exits_with 0
run predict tagger.safetensors bad.conllu --shard 3/4
check "the part with the bad line: exit status" exits_with 1
check "the part with the bad line: its number" complains "bad.conllu:500: 1 column"

for wrong in 0/3 4/3 3 3/ /3 1/0 -1/3 1/3x a/b ''; do
    run predict tagger.safetensors lines.txt --shard "$wrong"
    check "--shard '$wrong' is refused" exits_with 2
    check "--shard '$wrong': what it is" complains "--shard is 3/8 for the third of eight parts"
done
run predict book.safetensors --prompt so --shard 1/2
check "--shard and --prompt" complains "--shard selects a part of a file"

# --- eval ---
run eval senti.safetensors texts.csv --shard 2/4
check "eval: a part: exit status" exits_with 0
check "eval: says which" says "38 examples (part 2 of 4)"
all=0
for i in 1 2 3 4; do
    run eval senti.safetensors texts.csv --shard $i/4 --json
    check "eval --json: which part" says "{\"shard\": \"$i/4\", "
    all=$((all + $(sed 's/.*"examples":\([0-9]*\).*/\1/' out)))
done
check "eval: the parts are all examples" [ "$all" -eq 151 ]
run eval senti.safetensors texts.csv --shard 1/200
check "eval: a part without examples" complains "part 1 of 200 has no examples: there are 151"
sed '500s/.*/bad line/' train.conllu >bad.conllu
run eval tagger.safetensors bad.conllu --shard 2/3 --skip-bad
check "eval: --skip-bad" says "(part 2 of 3)"
finish
