#!/bin/bash
# attn check as a user meets it: what it says of files of every format, of files with wrong lines, and its
# JSON. ATTN_PROGRAM is the program to test.
set -u
export LC_ALL=C
unset NO_COLOR COLORTERM ATTN_ISA ATTN_THREADS
program=${ATTN_PROGRAM:?is the path of the program attn}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
checks=0

# check WHAT COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    checks=$((checks + 1))
    if ! "$@"; then
        echo "FAILED: $what"
        head -c 3000 out | sed 's/^/  stdout: /'
        head -c 1000 err | sed 's/^/  stderr: /'
        failures=$((failures + 1))
    fi
}

# run STATUS ARGUMENT...: leaves out and err; the status must be this one.
run() {
    local expected=$1
    shift
    "$program" check "$@" >out 2>err
    local status=$?
    check "check $*: exit status is $status, not $expected" [ "$status" -eq "$expected" ]
}

says() { grep -qF -e "$1" out; }
says_not() { ! grep -qF -e "$1" out; }
line_is() { grep -qxF -e "$1" out; }
complains() { grep -qF -e "$1" err; }
no_control_characters() { ! tr -d '\n' <out | grep -q "[[:cntrl:]]"; }
at_most_80_columns() { awk '{ gsub(/[\200-\277]/, "") } length($0) > 80 { exit 1 }' out; }

# --- CoNLL-U ----------------------------------------------------------------

token() { printf '%s\t%s\t_\t%s\t_\t%s\t_\t_\t_\t%s\n' "$1" "$2" "$3" "${4:-_}" "${5:-_}"; }
{
    token 1 The DET && token 2 cat NOUN Number=Sing && token 3 sat VERB && echo
    token 1 Cats NOUN Number=Plur && token 2 sat VERB && echo
    token 1 The DET && token 2 cat NOUN Number=Sing && token 3 sat VERB && echo
    token 1 Cats PROPN && token 2 sat VERB && echo
} >a.conllu
run 0 a.conllu --anyway
check "conllu: first line" line_is "a.conllu: CoNLL-U, 4 sentences, 10 tokens"
check "conllu: lengths" grep -qE '^  tokens +2 +2\.5 +2\.5 +3$' out
check "conllu: classes" line_is "UPOS: 4 classes"
check "conllu: share" grep -qE '^  VERB +4 +40\.0 %' out
check "conllu: order" [ "$(grep -E '^  [A-Z]+ ' out | awk '{ print $1 }' | tr '\n' ' ')" = "VERB NOUN DET PROPN " ]
check "conllu: once" line_is "  1 class occurs once: PROPN"
check "conllu: duplicates" line_is "1 sentence repeats an earlier one"
check "conllu: contradictions" says "1 sentence with different targets in different places:"
check "conllu: where" line_is "  lines 5 and 12"
check "conllu: width" at_most_80_columns
check "conllu: nothing said on errors" [ ! -s err ]
run 0 a.conllu --column FEATS:Number --anyway
check "conllu: a feature" grep -qE '^  Sing +2 +20\.0 %' out
check "conllu: no such thing" grep -qE '^  _ +7 +70\.0 %' out
gzip -c a.conllu >b.conllu.gz
run 0 b.conllu.gz --anyway
check "gzip" line_is "b.conllu.gz: CoNLL-U, 4 sentences, 10 tokens"

# --- wrong lines ------------------------------------------------------------

{ token 1 a X && token 3 b X && echo && token 1 c X && echo && echo "1	x" && echo && token 1 d _; } >wrong.conllu
run 1 wrong.conllu
check "wrong: the rest" line_is "wrong.conllu: CoNLL-U, 1 sentence, 1 token"
check "wrong: how many" line_is "3 examples are wrong and left out:"
check "wrong: one" line_is "  wrong.conllu:2: ID 3 after word 1: IDs count up from 1 in each sentence"
check "wrong: two" line_is "  wrong.conllu:6: 2 columns, a token line has 10 (with TABs between)"
check "wrong: three" line_is "  wrong.conllu:8: word 1 has no UPOS"
run 0 wrong.conllu --skip-bad --anyway
check "skip-bad: says it still" line_is "3 examples are wrong and left out:"
{ printf 'label\ttext\nx\ty\n' && for i in $(seq 1 30); do echo "bad $i"; done; } >many.tsv
run 1 many.tsv
check "many: twenty" [ "$(grep -c '^  many.tsv:' out)" -eq 20 ]
check "many: the last of them" line_is "  many.tsv:22: 1 column, the first row has 2"
check "many: the rest" line_is "  and 10 more"

# --- tables -----------------------------------------------------------------

printf 'label,review\n1,good\n0,"bad, ""bad"""\n1,\n1,good\n0,good\n' >a.csv
run 0 a.csv --anyway
check "csv: first line" line_is "a.csv: table (TSV or CSV), 5 texts"
check "csv: characters" grep -qE '^  characters +0 +4\.0 +4\.4 +10$' out
check "csv: words" grep -qE '^  words \(by spaces\) +0 +1\.0 +1\.0 +2$' out
check "csv: numbers" line_is "  as numbers: least 0, mean 0.6, most 1"
check "csv: empty" line_is "1 text is empty"
check "csv: duplicates" line_is "1 text repeats an earlier one"
check "csv: contradictions" line_is "  lines 2 and 6"
{ echo "text,value,kind" && for i in $(seq 1 25); do echo "t$i,$i.5,$((i % 2))"; done; echo "u,,1"; } >several.csv
run 0 several.csv --column value,kind
check "several: measured" line_is "value: 25 different numbers"
check "several: numbers" line_is "  as numbers: least 1.5, mean 13.5, most 25.5"
check "several: missing" line_is "  1 text without a value"
check "several: the other" line_is "kind: 2 classes"
check "several: no classes for numbers" says_not "once"
{ for i in $(seq 1 30); do echo "class$i	text $i"; done; echo "class7	more"; } >classes.tsv
run 0 classes.tsv --anyway
check "classes: how many" line_is "label: 30 classes, the 20 most frequent"
check "classes: the first" grep -qE '^  class7 +2 +6\.5 %' out
check "classes: the rest" grep -qE '^  and 10 more +10 +32\.3 %$' out
check "classes: once" grep -qE '^  29 classes occur once: class1, class10, .*, \.\.\.$' out
check "classes: width" at_most_80_columns

# --- other formats, and text that is not trusted -----------------------------

printf '__label__a __label__b x\n__label__a y\n' >a.txt
run 0 a.txt --anyway
check "fastText: first line" line_is "a.txt: fastText lines, 2 texts"
check "fastText: shares are of texts" grep -qE '^  a +2 +100\.0 %' out
check "fastText: several" line_is "  1 text with more than one label"
printf 'a\tA\nb\tB\n\nc\tA\n' >a.conll
run 0 a.conll --anyway
check "columns: first line" line_is "a.conll: tokens with tags, 2 sequences, 3 tokens"
printf 'one\ntwo words\n' >plain.txt
run 0 plain.txt
check "lines: first line" line_is "plain.txt: lines of text, 2 texts"
check "lines: says so" says "no labels: attn train lm can use it as running text."
run 0 plain.txt --task lm
check "running text: first line" line_is "plain.txt: lines of text, 2 texts"
check "running text: nothing is missing" says_not "no labels"
run 0 plain.txt --task classify
check "lines: no classes" says "no labels: it can be used for prediction, not for training."
check "lines: width" at_most_80_columns
printf '\033[31mred\ttext\n%s\tx\n' "$(printf 'l%.0s' $(seq 1 300))" >escapes.tsv
run 0 escapes.tsv --anyway
check "escapes: shown" says '\x1b[31mred'
check "escapes: none raw" no_control_characters
check "escapes: long labels are cut" at_most_80_columns
printf 'label\ttext\n' >"$(printf 'odd\033name.tsv')"
run 1 "$(printf 'odd\033name.tsv')"
check "escapes: in file names" complains 'odd\x1bname.tsv: has no examples'

# --- pairs ------------------------------------------------------------------

long=$(printf 'word %.0s' $(seq 1 20))
{
    printf 'one cat\tune chatte\none dog\tun chien\n\none cat\tun chat\none dog\tun chien\n'
    printf 'caf\303\251\tcaf\303\251\nstop\t%s\n' "$long"
} >pairs.tsv
run 0 pairs.tsv --task seq2seq --anyway
check "pairs: first line" line_is "pairs.tsv: 6 pairs"
check "pairs: source characters" grep -qE '^  source characters +4 +7\.0 +6\.0 +7$' out
check "pairs: source words" grep -qE '^  source words +1 +2\.0 +1\.7 +2$' out
check "pairs: target characters" grep -qE '^  target characters +4 +8\.0 +22\.7 +99$' out
check "pairs: target words" grep -qE '^  target words +1 +2\.0 +4\.8 +20$' out
check "pairs: different ones of sources" grep -qE '^  sources +13 +4 +5 +2$' out
check "pairs: different ones of targets" grep -qE '^  targets +15 +2 +7 +4$' out
check "pairs: duplicates" line_is "1 pair repeats an earlier one"
check "pairs: sources" line_is "2 sources stand there more than once, 1 of them with different targets:"
check "pairs: where" line_is "  lines 1 and 4"
check "pairs: uneven" line_is "1 pair with one side over 3 times as long as the other lets expect:"
check "pairs: where it is uneven" line_is "  line 7"
check "pairs: no classes" says_not "class"
check "pairs: width" at_most_80_columns
cp out of_one
run 0 pairs.tsv --format pairs --anyway
check "pairs: by format" cmp -s out of_one
cut -f 1 pairs.tsv >a.en
cut -f 2 pairs.tsv | gzip >a.fr.gz
run 0 a.en a.fr.gz --anyway
check "two files: first line" line_is "a.en and a.fr.gz: 6 pairs"
check "two files: all the rest is the same" [ "$(tail -n +2 out)" = "$(tail -n +2 of_one)" ]
run 0 a.en a.fr.gz --task seq2seq --format pairs --anyway
check "two files: said" line_is "a.en and a.fr.gz: 6 pairs"
printf 'a\tA\nb\n\tC\nd\t\ne\tE\tF\ng\t\377\nh\tH\n' >bad.tsv
run 1 bad.tsv --task seq2seq
check "wrong pairs: the rest" line_is "bad.tsv: 2 pairs"
check "wrong pairs: how many" line_is "5 examples are wrong and left out:"
check "wrong pairs: no TAB" line_is "  bad.tsv:2: no TAB: a line is source TAB target"
check "wrong pairs: no source" line_is "  bad.tsv:3: the source is empty"
check "wrong pairs: no target" line_is "  bad.tsv:4: the target is empty"
check "wrong pairs: columns" line_is "  bad.tsv:5: 3 columns: name those of the source and the target"
check "wrong pairs: bytes" line_is "  bad.tsv:6: byte 3 (0xff) is not UTF-8: convert the file with iconv"
run 0 bad.tsv --task seq2seq --skip-bad --anyway
printf '1\ta\tA\n2\tb\tB\n' >three.tsv
run 1 three.tsv --task seq2seq
check "three columns" complains "three.tsv:1: 3 columns: name those of the source and the target"
run 0 three.tsv --task seq2seq --text-column 2 --column 3 --anyway
check "three columns: said" line_is "three.tsv: 2 pairs"
printf 'a\n\nc\n' >b.en
printf 'A\nB\n\n' >b.fr
run 1 b.en b.fr
check "wrong lines of two files: a source" line_is "  b.en:2: the source is empty, and its target is not"
check "wrong lines of two files: a target" line_is "  b.fr:3: the target is empty, and its source is not"
run 1 a.en b.fr
check "lines that are too many" complains \
    "attn check: a.en has 7 lines and b.fr 3: they must have the same number of lines"
run 0 a.en --task seq2seq
check "sources alone: first line" line_is "a.en: 7 sources"
check "sources alone: says so" says "no targets: it can be used for prediction, not for training."
check "sources alone: nothing of targets" says_not "target characters"
check "sources alone: empty" line_is "1 source is empty"
check "sources alone: twice" line_is "2 sources repeat earlier ones"
run 0 pairs.tsv --task seq2seq --json --anyway
check "pairs: json" line_is '{"file":"pairs.tsv","format":"pairs","labelled":true,"examples":6,"tokens":6,"lengths":{"characters":{"least":4,"median":7.0,"mean":6,"most":7},"words":{"least":1,"median":2.0,"mean":1.66666667,"most":2}},"target_lengths":{"characters":{"least":4,"median":8.0,"mean":22.6666667,"most":99},"words":{"least":1,"median":2.0,"mean":4.83333333,"most":20}},"symbols":{"characters":13,"characters_once":4,"words":5,"words_once":2},"target_symbols":{"characters":15,"characters_once":2,"words":7,"words_once":4},"repeated":2,"uneven":1,"columns":[],"empty":0,"duplicates":1,"contradictions":1,"findings":[{"kind":"few","text":"6 pairs for training: with fewer than 10, both the model and its metrics are due to chance. Add examples"}],"conflicts":0,"pieces":0,"cut":0,"overlap":{"dev":{"examples":0,"same":0,"alike":0},"test":{"examples":0,"same":0,"alike":0}},"wrong":0,"problems":[]}'
run 0 a.en a.fr.gz --json --anyway
check "two files: json" says '{"file":"a.en","targets":"a.fr.gz","format":"pairs"'

# --- tasks --------------------------------------------------------------------

run 0 a.csv --task tag
check "task: texts have no tags" says "tagging needs a tag"
run 0 a.csv --task classify --anyway
check "task: texts have labels" line_is "label: 2 classes"
run 2 a.en b.fr --task tag
check "task: two files" complains "one training file, not two"
run 2 a.csv --task seq2seq --format table
check "task: a format that has no pairs" complains "reader.format has to be pairs"
run 2 a.en a.fr.gz --format table
check "task: two files have a format of their own" complains "two files are read as pairs"
run 2 a.en a.fr.gz --column 2
check "task: two files have no columns" complains "have no columns"
run 2 a.csv --task seq2sec
check "task: no such one" complains "--task"

# --- failures ---------------------------------------------------------------

run 2
check "no file" complains "attn check: give a file: attn check FILE"
run 1 nothing.tsv
check "no such file" complains "attn check: nothing.tsv: cannot be opened: No such file or directory"
check "no such file: nothing else" [ ! -s out ]
: >empty.tsv
run 1 empty.tsv
check "empty" complains "attn check: empty.tsv: is empty"
run 1 a.csv --column stars
check "no such column" complains "a.csv: has no column stars; its first line names the columns label, review"
run 1 a.csv --text-column body
check "no such text column" complains "a.csv: has no column body"
run 2 a.csv --format tsv
check "no such format" complains "there is no --format tsv; it can be: auto, conllu, "
run 2 a.csv --input pictures
check "no such kind of input" complains "pictures"
run 0 a.csv --input text --anyway
check "a kind of input" line_is "a.csv: table (TSV or CSV), 5 texts"
run 0 --help
check "help" says "attn check FILE [TARGETS]"

# --- JSON -------------------------------------------------------------------

run 1 wrong.conllu --json
check "json: problems" says '"wrong":3,"problems":["wrong.conllu:2: ID 3 after word 1'
run 0 a.csv --json --anyway
check "json: one line" [ "$(wc -l <out)" -eq 1 ]
check "json: the whole" line_is '{"file":"a.csv","format":"table","labelled":true,"examples":5,"tokens":5,"lengths":{"characters":{"least":0,"median":4.0,"mean":4.4,"most":10},"words":{"least":0,"median":1.0,"mean":1,"most":2}},"columns":[{"name":"label","values":5,"missing":0,"several":0,"once":0,"distinct":2,"classes":[{"label":"1","count":3,"share":0.6},{"label":"0","count":2,"share":0.4}],"numbers":{"least":0,"mean":0.59999999999999998,"most":1}}],"empty":1,"duplicates":1,"contradictions":1,"findings":[{"kind":"few","text":"5 texts for training: with fewer than 10, both the model and its metrics are due to chance. Add examples"}],"conflicts":1,"pieces":0,"cut":0,"overlap":{"dev":{"examples":0,"same":0,"alike":0},"test":{"examples":0,"same":0,"alike":0}},"wrong":0,"problems":[]}'
run 0 plain.txt --json
check "json: without labels" says '"format":"lines","labelled":false'
run 0 a.conllu --json --anyway
check "json: tokens" says '"lengths":{"tokens":{"least":2,'
if command -v python3 >/dev/null; then
    for file in a.csv a.conllu a.txt plain.txt several.csv escapes.tsv "pairs.tsv --task seq2seq" "b.en b.fr"; do
        # shellcheck disable=SC2086
        run 0 $file --json --skip-bad --anyway
        check "json: $file parses" python3 -c 'import json, sys; json.load(open("out"))'
    done
fi

echo "$checks checks, $failures failures"
[ "$failures" -eq 0 ]
