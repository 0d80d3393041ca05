#!/bin/bash
# Formats in and out: the same answers from a file, from standard input, in small pieces and from gzip; what
# comes in comes out with answers added; JSON Lines; several files; - for standard input.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# pieces FILE: its bytes, some at a time, cut within lines, with time to be seen between.
pieces() {
    local size at
    size=$(wc -c <"$1")
    for ((at = 0; at < size; at += 53)); do
        dd if="$1" bs=1 skip="$at" count=53 status=none
        sleep 0.002
    done
}
# same NAME MODEL FILE FLAG...: predict gives the same from everywhere; leaves the answers in out.
same() {
    local name=$1 model=$2 file=$3
    shift 3
    run predict "$model" "$file" "$@"
    check "$name: exit status" exits_with 0
    check "$name: nothing on stderr" silent err
    check "$name: there are answers" [ -s out ]
    cp out from_file
    "$program" predict "$model" "$@" <"$file" >out 2>err
    check "$name: the same from standard input" cmp -s out from_file
    "$program" predict "$model" - "$@" <"$file" >out 2>err
    check "$name: - is standard input" cmp -s out from_file
    pieces "$file" | "$program" predict "$model" "$@" >out 2>err
    check "$name: the same in small pieces" cmp -s out from_file
    gzip -c "$file" | "$program" predict "$model" "$@" >out 2>err
    check "$name: the same from gzip" cmp -s out from_file
    gzip -c "$file" >"$file.gz"
    run predict "$model" "$file.gz" "$@"
    check "$name: the same from a file of gzip" cmp -s out from_file
}
row() { [ "$(sed -n "$1p" out)" = "$2" ]; }

sentences 40 >train.conllu
train tagger tag train.conllu --steps 120
awk 'BEGIN { for (i = 0; i < 100; i++) print (i % 2 ? "good\ta fine film " : "bad\ta dull film ") i }' >texts.tsv
train classes classify texts.tsv --steps 100
tagger=$folder/tagger.safetensors
classes=$folder/classes.safetensors

# --- the same from everywhere -------------------------------------------------

printf 'a fine film\n\na dull, "dull" film\r\none\ta fine day' >lines.txt
same "lines" "$classes" lines.txt
check "lines: the answers alone" [ "$(wc -l <out)" -eq 4 ]
head -n 20 train.conllu >short.conllu
same "CoNLL-U" "$tagger" short.conllu
check "CoNLL-U: comments stay" says "# sent_id = 2"
printf 'the\tX\ncat\tY\n\n\na\tX\ndog\tY\n' >tokens.txt
same "columns" "$tagger" tokens.txt
check "columns: a column is added" is 'the\tX\tDET\ncat\tY\tNOUN\n\n\na\tX\tDET\ndog\tY\tNOUN\n'
same "columns as plain answers" "$tagger" tokens.txt --plain
check "columns: the answers alone" is 'the\tDET\ncat\tNOUN\n\na\tDET\ndog\tNOUN\n\n'
printf 'the\ncat\n\na\n' >words.txt
same "tokens without tags" "$tagger" words.txt --format columns
check "tokens without tags" is 'the\tDET\ncat\tNOUN\n\na\tDET\n'
printf 'bad\ta fine film\ngood\ta dull\tfilm\r\n' >plain.tsv
same "label TAB text" "$classes" plain.tsv
check "label TAB text: the label is not read" is 'bad\ta fine film\tgood\ngood\ta dull\tfilm\tbad\r\n'
printf 'id\tlabel\ttext\n7\tbad\ta fine film\n\n8\t\ta dull film\n' >named.txt
same "TSV with a header" "$classes" named.txt
check "TSV with a header" is 'id\tlabel\ttext\tpredicted_label\n7\tbad\ta fine film\tgood\n\n8\t\ta dull film\tbad\n'
printf 'text\na fine film\n' >one.tsv
same "TSV of one column" "$classes" one.tsv --format table
check "TSV of one column: the header gets no answer" is 'text\tpredicted_label\na fine film\tgood\n'
printf '"id","text",other\n1,"a fine, ""fine""\nfilm",  x \n2,a dull film,"y"\n' >quoted.csv
same "CSV with line breaks" "$classes" quoted.csv
check "CSV with line breaks: byte for byte" is '"id","text",other,predicted_label\n1,"a fine, ""fine""\nfilm",  x ,good\n2,a dull film,"y",bad\n'
printf '\357\273\277"text";label\r\n"a fine; film";bad\r\n' >semicolons.csv
same "CSV with semicolons, BOM and CRLF" "$classes" semicolons.csv
check "CSV with semicolons, BOM and CRLF" is '\357\273\277"text";label;predicted_label\r\n"a fine; film";bad;good\r\n'
printf 'phrase,n\na fine film,1\n' >unusual.csv
same "CSV with an unusual header" "$classes" unusual.csv --text-column phrase
check "CSV with an unusual header" is 'phrase,n,predicted_label\na fine film,1,good\n'
printf 'phrase\na fine film\n' >lone.txt
same "a table of one column" "$classes" lone.txt --text-column phrase
check "a table of one column" is 'phrase\tpredicted_label\na fine film\tgood\n'
printf 'text,label\n' >header.csv
same "CSV of a header alone" "$classes" header.csv
check "CSV of a header alone: it gets no answer" is 'text,label,predicted_label\n'
printf 'text,predicted_label\na fine film,x' >twice.csv
same "CSV that was answered before" "$classes" twice.csv
check "CSV that was answered before: another column" is 'text,predicted_label,predicted_label_2\na fine film,x,good\n'
same "CSV with --probs" "$classes" twice.csv --probs
check "CSV with --probs" grep -Eqx 'a fine film,x,good,[01]\.[0-9]{4}' out
awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "good,7,a fine film " : "bad,8,a dull film ") i }' >numbers.csv
train byNumber classify numbers.csv --steps 80 --column 1 --text-column 3 --format table
printf 'x,7,a fine film\ny,8,a dull film\n' >nameless.csv
same "CSV without a header" byNumber.safetensors nameless.csv --format table
check "CSV without a header" is 'x,7,a fine film,good\ny,8,a dull film,bad\n'
printf '__label__bad a fine film\n__label__good __label__x a dull film\na fine film\n' >marks.txt
same "fastText" "$classes" marks.txt
check "fastText: labels are not read" is 'good\nbad\ngood\n'
printf 'abc\tA B C\nbca\tB C A\ncab\tC A B\n' >pairs.tsv
train spell seq2seq pairs.tsv --steps 60 --anyway
same "pairs" spell.safetensors pairs.tsv
check "pairs: an answer a line" [ "$(wc -l <out)" -eq 3 ]
printf '{"id": 1, "text": "a fine film", "label": "bad", "n": 1.50}\n\n {"text":"a dull film","id":"\\u00e9"} \r\n{"text":""}' >objects.jsonl
same "JSON Lines" "$classes" objects.jsonl
check "JSON Lines: fields are added, all else stays" row 1 '{"id": 1, "text": "a fine film", "label": "bad", "n": 1.50,"predicted_label":"good"}'
check "JSON Lines: blank lines and line ends stay" row 3 "$(printf ' {"text":"a dull film","id":"\\u00e9","predicted_label":"bad"} \r')"
same "JSON Lines as JSON" "$classes" objects.jsonl --json
check "JSON Lines as JSON: line, id and text" says '{"line":3,"id":"é","text":"a dull film","outputs":{"label":"bad"},"spread":{"label":'
same "JSON Lines with --probs" "$classes" objects.jsonl --probs
check "JSON Lines with --probs" says '"predicted_label":"bad","probability_label":{"'
cp objects.jsonl objects.txt
same "JSON Lines by content" "$classes" objects.txt
same "CSV as JSON" "$classes" quoted.csv --json
check "CSV as JSON: line, id and text" says '{"line":4,"id":"2","text":"a dull film","outputs"'

# A table is answered row by row while the input is open.
coproc "$program" predict "$classes" 2>err
predictor=$COPROC_PID
printf 'id,text\n1,"a\nfine film"\n' >&"${COPROC[1]}"
answer=
for _ in 1 2 3; do
    IFS= read -r -t 20 line <&"${COPROC[0]}" || break
    answer="$answer$line|"
done
check "CSV: a row is answered while the input is open" [ "$answer" = 'id,text,predicted_label|1,"a|fine film",good|' ]
eval "exec ${COPROC[1]}>&-"
wait "$predictor"
check "CSV: the end of the input ends it" [ $? -eq 0 ]

# A bad row: what stands before it is answered, from everywhere.
printf 'id,text\n1,a fine film\n2,a,b\n3,x\n' >bad.csv
run predict "$classes" bad.csv
check "a bad row: exit status" exits_with 1
check "a bad row: its line" complains "bad.csv:3: 3 columns, the first row has 2"
check "a bad row: those before it" is 'id,text,predicted_label\n1,a fine film,good\n'
cp out from_file
pieces bad.csv | "$program" predict "$classes" >out 2>err
check "a bad row in pieces: its line" complains "standard input:3: 3 columns"
check "a bad row in pieces: those before it" cmp -s out from_file

for text in 'id,text\n1,x,y\n' 'id,text\n\n1,x\n\n \n2\n' '{"text":"x"}\n\n\n{"text"\n' '1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n# c\n\n\n1\n'; do
    # shellcheck disable=SC2059
    printf "$text" >stops.txt
    model=$classes
    [ "${text:0:2}" = '1\' ] && model=$tagger
    run predict "$model" stops.txt
    cp out from_file
    problem=$(sed 's/^.*stops.txt:/standard input:/' err)
    while IFS= read -r line; do printf '%s\n' "$line"; sleep 0.02; done <stops.txt | "$program" predict "$model" >out 2>err
    check "a bad line, $text: as much before it line by line" cmp -s out from_file
    check "a bad line, $text: the same error" complains "$problem"
    check "a bad line, $text: what stands before it" [ -s out ]
done
printf 'one\ta fine film\na dull film\n' >some.txt
run predict "$classes" some.txt
check "a TAB in the first line and none in the second: what to do" complains \
    "some.txt:2: 1 column, the first row has 2 (if lines are plain texts, set the format to lines)"
same "lines with a TAB" "$classes" some.txt --format lines
check "lines with a TAB" is 'good\nbad\n'

# --- JSON Lines to learn from ---------------------------------------------------

awk -F'\t' '{ printf "{\"label\": \"%s\", \"text\": \"%s\"}\n", $1, $2 }' texts.tsv >texts.jsonl
train objects classify texts.jsonl --steps 100
check "JSON Lines: the same model as from a table" cmp -s objects.safetensors classes.safetensors
run eval objects.safetensors texts.jsonl
check "JSON Lines: eval" says "100 examples"
run eval objects.safetensors - <texts.jsonl
check "JSON Lines: eval of standard input" says "on standard input: 100 examples"
for i in $(seq 20); do
    printf '{"id":%d,"tokens":["the","cat","likes","dogs"],"tags":["D","N","V","N"]}\n{"tokens":["a","dog"],"tags":["D","N"]}\n' "$i"
done >tags.jsonl
train tags tag tags.jsonl --steps 60
same "tokens of JSON Lines" tags.safetensors tags.jsonl
check "tokens of JSON Lines" row 1 '{"id":1,"tokens":["the","cat","likes","dogs"],"tags":["D","N","V","N"],"predicted_tags":["D","N","V","N"]}'
printf '{"text":"the cat"}\n' >raw.jsonl
same "texts to be tagged" tags.safetensors raw.jsonl --pretokenized
check "texts to be tagged: tokens, too" is '{"text":"the cat","tokens":["the","cat"],"predicted_tags":["D","N"]}\n'
for i in $(seq 30); do printf '{"text":"%s %d","colors":%s}\n' "$([ $((i % 2)) -eq 0 ] && echo red || echo blue)" "$i" \
    "$([ $((i % 2)) -eq 0 ] && echo '["red","warm"]' || echo '[]')"; done >lists.jsonl
train lists classify lists.jsonl --column colors --steps 120
printf '{"text":"red 4"}\n{"text":"blue 5"}\n' >ask.jsonl
same "lists of labels" lists.safetensors ask.jsonl
check "lists of labels" is '{"text":"red 4","predicted_colors":["red","warm"]}\n{"text":"blue 5","predicted_colors":[]}\n'
printf 'text,colors\nred 4,x\nblue 5,y\n' >ask.csv
same "several labels in a table" lists.safetensors ask.csv
check "several labels in a table: none is an empty field" row 3 'blue 5,y,'
for i in $(seq 20); do printf '{"text":"more %d","score":%d.5}\n{"text":"less","score":null}\n' "$i" "$i"; done >scores.jsonl
run train regress scores.jsonl -o n.safetensors --force --steps 2
check "a number that is null is missing" complains "scores.jsonl:2: the field score is missing or empty"
grep -v null scores.jsonl >full.jsonl
train numbers regress full.jsonl --steps 5
awk -F'\t' '{ printf "{\"source\":\"%s\",\"target\":\"%s\"}\n", $1, $2 }' pairs.tsv >pairs.jsonl
train spellObjects seq2seq pairs.jsonl --steps 60 --anyway
check "pairs of JSON Lines: the same model" cmp -s spell.safetensors spellObjects.safetensors
same "pairs of JSON Lines" spell.safetensors pairs.jsonl
check "pairs of JSON Lines" grep -Eq '^\{"source":"abc","target":"A B C","predicted_target":"[ABC ]*"\}$' out
run check pairs.jsonl --task seq2seq
check "pairs of JSON Lines: check" says "pairs.jsonl: 3 pairs"
run check pairs.jsonl
check "pairs of JSON Lines: check without a task" says "pairs.jsonl: 3 pairs"
run check texts.jsonl
check "JSON Lines: check" says "texts.jsonl: JSON objects, 100 texts"

# wrong STATUS-LESS TEXT LINE...: attn check says it of a file of these lines.
wrong() {
    local text=$1
    shift
    printf '%s\n' "$@" >wrong.jsonl
    run check wrong.jsonl --column label
    check "wrong JSON: $text" [ "$(cat out err | grep -cF -e "$text")" -ge 1 ]
    check "wrong JSON: $text: exit status" exits_with 1
}
good='{"text":"x","label":"y"}'
wrong "wrong.jsonl:2: not JSON: " "$good" '{"text":"x"'
wrong "wrong.jsonl:2: a line must be a JSON object" "$good" '[1]'
wrong "wrong.jsonl:2: the field text is not there, or no string" "$good" '{"text":7,"label":"y"}'
wrong "wrong.jsonl:2: the field label is not a label" "$good" '{"text":"x","label":{}}'
wrong "wrong.jsonl:3: the field label is missing or empty" "$good" "" '{"text":"x"}'
wrong "wrong.jsonl:2: a label with a line break in it" "$good" '{"text":"x","label":"a\nb"}'
wrong "wrong.jsonl: has no field label; its first object has the fields text" '{"text":"x"}'
printf '{"tokens":["a","b"],"tags":["X"]}\n' >uneven.jsonl
run check uneven.jsonl
check "tokens without tags: how many" complains "uneven.jsonl:1: 2 tokens, and 1 values in the field tags"

# --- labels of several lines, line ends --------------------------------------------

printf 'text,label\nx,a\ny,"b\nc"\nz,a\n' >broken.csv
run check broken.csv
check "a line break in a label: file and line" says "broken.csv:3: a label with a line break in it"
check "a line break in a label: exit status" exits_with 1
run check broken.csv --label-separator '\n' --anyway
check "a line break between labels: exit status" exits_with 0
check "a line break between labels" says "1 text with more than one label"
printf 'bad\ta dull film\rgood\ta fine film\r' >mac.tsv
run check mac.tsv
check "CR alone: exit status" exits_with 1
check "CR alone: what to do" complains "mac.tsv: has lines that end in CR alone: convert it (tr '\\r' '\\n' < OLD > NEW)"
"$program" predict "$classes" <mac.tsv >out 2>err
check "CR alone on standard input" complains "standard input: has lines that end in CR alone"

# --- several files --------------------------------------------------------------------

head -n 50 texts.tsv >a.tsv
tail -n +51 texts.tsv >b.tsv
small=(--width 16 --heads 2 --layers 1 --threads 2 --patience 0 --learning-rate 0.01 --quiet --steps 100)
run train classify a.tsv b.tsv --dev a.tsv b.tsv -o two.safetensors --force "${small[@]}"
check "two files: exit status" exits_with 0
check "two files are one set, as they would be in one file" cmp -s two.safetensors classes.safetensors
run train classify a.tsv b.tsv --dev a.tsv --dev b.tsv -o two.safetensors --force "${small[@]}"
check "--dev twice" cmp -s two.safetensors classes.safetensors
run train classify a.tsv - --dev texts.tsv -o two.safetensors --force "${small[@]}" <b.tsv
check "one of them is standard input" cmp -s two.safetensors classes.safetensors
gzip -c b.tsv | "$program" train classify a.tsv - --dev texts.tsv -o two.safetensors --force "${small[@]}" >out 2>err
check "standard input may be gzip" cmp -s two.safetensors classes.safetensors
run train classify - - -o two.safetensors --force <b.tsv
check "standard input twice: exit status" exits_with 2
check "standard input twice" complains "standard input (-) can be read once, and is given 2 times"
printf '1\tone\n2\ttwo\n' >n1.tsv
printf '3\tthree\nx\tfour\n' >n2.tsv
run train regress n1.tsv n2.tsv --dev n1.tsv -o n.safetensors --force --steps 1 --anyway
check "several files: the file and line of a bad value" complains 'n2.tsv:2: "x" is not a number'
run train regress n1.tsv n2.tsv -o n.safetensors --force --steps 1 --anyway
check "several files: also without development data" complains 'n2.tsv:2: "x" is not a number'
printf 'one\n' >>n2.tsv
run train regress n1.tsv n2.tsv -o n.safetensors --force --steps 1 --anyway
check "several files: the file and line of a bad row" complains 'n2.tsv:3: 1 column, the first row has 2'
printf 'stars,text\n1,x\n' >c1.csv
printf 'score,text\n1,x\n' >c2.csv
run train classify c1.csv c2.csv -o n.safetensors --force
check "several files: other columns" complains "c1.csv: the target is stars, in c2.csv it is score"
head -n 1 pairs.tsv >p1.tsv
tail -n +2 pairs.tsv >p2.tsv
run train seq2seq p1.tsv p2.tsv --dev p1.tsv p2.tsv -o two.safetensors --force "${small[@]}" --steps 60 --anyway
check "two files of pairs" cmp -s two.safetensors spell.safetensors
cut -f 1 pairs.tsv >s.txt
cut -f 2 pairs.tsv >t.txt
run train seq2seq s.txt t.txt --dev s.txt t.txt -o two.safetensors --force "${small[@]}" --steps 60 --anyway
check "sources and targets, line by line" cmp -s two.safetensors spell.safetensors
run train seq2seq - t.txt --dev pairs.tsv -o two.safetensors --force "${small[@]}" --steps 60 --anyway <s.txt
check "sources from standard input" cmp -s two.safetensors spell.safetensors

# --- - elsewhere, and where it is refused ------------------------------------------------

run check - <texts.tsv
check "check -" says "standard input: table (TSV or CSV), 100 texts"
run explain spell.safetensors - <s.txt
check "explain -: every line" [ "$(grep -c '→' out)" -eq 3 ]
run train classify texts.tsv -o -
check "-o -: exit status" exits_with 2
check "-o -: why" complains "the output must be a file, not standard output (-)"
run predict - lines.txt
check "a model from standard input: why" complains "a model must be a file"
run compare classify texts.tsv --test texts.tsv --svg -
check "--svg -: why" complains "the output must be a file, not standard output (-)"
run compare classify texts.tsv --test - --encoders fc --seeds 2 --width 8 --heads 2 --layers 1 --steps 2 --quiet --json <texts.tsv
check "compare: test data from standard input, for every run" exits_with 0

# --- CoNLL-U where none of several labels applies ------------------------------------------

# A grey thing is of any of five kinds: none of them is likely.
awk 'BEGIN { for (i = 0; i < 60; i++) { k = substr("CDEFG", 1 + i % 5, 1)
    print "1\tred\t_\tX\tA,B\tColor=Red|Kind=A,B\t_\t_\t_\t_\n2\tgrey\t_\tX\t" k "\tKind=" k "\t_\t_\t_\t_\n" } }' >several.conllu
train several tag several.conllu --column XPOS,FEATS:Kind --label-separator , --steps 100
run predict several.safetensors several.conllu
check "labels that are likely" row 1 '1	red	_	X	A,B	Color=Red|Kind=A,B	_	_	_	_'
check "no label is _, never an empty field, and no entry" row 2 '2	grey	_	X	_	_	_	_	_	_'
printf 'grey\n' >grey.txt
run predict several.safetensors grey.txt --format columns
check "no label in a column of its own is _" row 1 'grey	_	_'

# --- mistakes --------------------------------------------------------------------------------

run train --list-config
check "--list-config wants no task: exit status" exits_with 0
check "--list-config wants no task" says "| \`reader.format\` | auto |"
run train tga texts.tsv
check "a task that there is not: the nearest" complains "Did you mean tag?"
run predict "$classes" --formt x
check "a flag that there is not: the nearest" complains "did you mean --format?"
run predict "$classes" --json --plain
check "--json and --plain" exits_with 2
printf '0x10\tone\n2\ttwo\n' >hex.tsv
run train regress hex.tsv -o n.safetensors --force --steps 1 --anyway
check "0x10 is no number" complains 'hex.tsv:1: "0x10" is not a number'
printf '1e308\tone\n2\ttwo\n' >huge.tsv
run train regress huge.tsv -o n.safetensors --force --steps 1 --anyway
check "1e308 is too large" complains 'huge.tsv:1: 1e308 is too large: numbers go up to 3.4e+38'
run train classify texts.tsv -o n.safetensors --force --learning-rate 0x1p-3
check "0x1p-3 is no number" complains 'training.learning_rate is "0x1p-3"; it has to be a number'
run predict "$classes" --threads 0x1
check "0x1 is no number" exits_with 2
long=$(printf 'label%.0s' $(seq 1 40))
awk -v long="$long" 'BEGIN { for (i = 0; i < 20; i++) print (i % 2 ? long : "b") "\ttext " i }' >longLabels.tsv
train longLabels classify longLabels.tsv --steps 2
run eval longLabels.safetensors longLabels.tsv
check "eval: long labels are cut" [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' out)" -le 100 ]
check "eval: long labels: columns stand below each other" [ "$(grep -E '^(label|b) .*[0-9F]$' out | awk '{ print length($0) }' | sort -u | wc -l)" -eq 1 ]

finish
