#!/bin/bash
# attn predict: lines, CoNLL-U, tables; tags, words, classes, labels, numbers; text that comes bit by bit, bad
# text, closed pipes.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# feed TEXT ARGUMENT...: attn predict with that on standard input (printf escapes understood).
feed() {
    local text=$1
    shift
    # shellcheck disable=SC2059
    printf "$text" | "$program" predict "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}
tagger=$folder/tagger.safetensors

# --- a tagger ---------------------------------------------------------------

sentences 120 >"$folder/train.conllu"
train tagger tag "$folder/train.conllu" --steps 120
feed 'the cat likes a dog.\n' "$tagger"
check "tags: one line a word" is 'the\tDET\ncat\tNOUN\nlikes\tVERB\na\tDET\ndog\tNOUN\n.\tPUNCT\n\n'
check "tags: exit status" exits_with 0
check "tags: by which rule the text was split" complains "attn predict: note: each line is read as one sentence"
check "tags: nothing else on stderr" [ "$(wc -l <"$folder/err")" -eq 1 ]
feed 'the cat\n\na dog' "$tagger"
check "an empty line is an empty text; the last line needs no end" is 'the\tDET\ncat\tNOUN\n\n\na\tDET\ndog\tNOUN\n\n'
feed 'the cat\r\na dog\r\n' "$tagger"
check "CRLF" is 'the\tDET\ncat\tNOUN\n\na\tDET\ndog\tNOUN\n\n'
feed '' "$tagger"
check "no text, no answer" silent out
check "no text: exit status" exits_with 0
feed 'the cat-dog\n' "$tagger" --pretokenized
check "--pretokenized splits at spaces only" [ "$(wc -l <"$folder/out")" -eq 3 ]
feed 'the cat\n' "$tagger" --probs
check "--probs: a column with the probability" grep -Eqx "the	DET	[01]\.[0-9]{4}" "$folder/out"
feed 'the cat\n' "$tagger" --json --probs
check "--json: units and tags" says '{"line":1,"text":"the cat","units":["the","cat"],"outputs":{"UPOS":["DET","NOUN"]},"probabilities":{"UPOS":[0.'
feed 'the cat\n' "$tagger" --format columns
check "--format is obeyed: two columns a line, and one is added" is 'the cat DET\n'

# Pieces of a file and single lines give the same answers.
awk 'BEGIN { for (i = 0; i < 6000; i++) print "the cat likes a tree and the birds like " i % 7 " dogs, house " i }' >"$folder/long.txt"
run predict "$tagger" "$folder/long.txt"
check "a long file: exit status" exits_with 0
cp "$folder/out" "$folder/answers"
check "a long file: an answer for each line" [ "$(grep -c '^$' "$folder/answers")" -eq 6000 ]
"$program" predict "$tagger" <"$folder/long.txt" >"$folder/out" 2>"$folder/err"
check "the same from standard input" cmp -s "$folder/out" "$folder/answers"
head -n 50 "$folder/long.txt" | while IFS= read -r line; do printf '%s\n' "$line"; done |
    "$program" predict "$tagger" --threads 1 >"$folder/out" 2>"$folder/err"
check "the same line by line" cmp -s "$folder/out" <(awk '/^$/ { if (++n == 50) { print; exit } } { print }' "$folder/answers")

# An answer comes before the next line does.
coproc "$program" predict "$tagger" 2>"$folder/err"
predictor=$COPROC_PID
printf 'the cat\n' >&"${COPROC[1]}"
answer=
for _ in 1 2 3; do
    IFS= read -r -t 20 line <&"${COPROC[0]}" || break
    answer="$answer$line|"
done
check "a line is answered while the input is open" [ "$answer" = "the	DET|cat	NOUN||" ]
eval "exec ${COPROC[1]}>&-"
wait "$predictor"
check "the end of the input ends it" [ $? -eq 0 ]

# A closed pipe is the reader's business.
"$program" predict "$tagger" "$folder/long.txt" 2>"$folder/err" | head -n 1 >"$folder/out"
check "head: nothing on stderr but the rule" [ "$(grep -cv "note: each line is read" "$folder/err")" -eq 0 ]
check "head: the first answer" is 'the\tDET\n'

# --- CoNLL-U in, CoNLL-U out --------------------------------------------------

blank_upos() { awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ { $4 = "_" } { print }'; }
blank_upos <"$folder/train.conllu" >"$folder/blank.conllu"
run predict "$tagger" "$folder/blank.conllu"
check "CoNLL-U: the column is filled" cmp -s "$folder/out" "$folder/train.conllu"
"$program" predict "$tagger" <"$folder/blank.conllu" >"$folder/out" 2>"$folder/err"
check "CoNLL-U from standard input is known as such" cmp -s "$folder/out" "$folder/train.conllu"
gzip -k "$folder/blank.conllu"
run predict "$tagger" "$folder/blank.conllu.gz"
check "CoNLL-U from gzip" cmp -s "$folder/out" "$folder/train.conllu"
"$program" predict "$tagger" <"$folder/blank.conllu.gz" >"$folder/out" 2>"$folder/err"
status=$?
check "gzip on standard input: exit status" exits_with 0
check "gzip on standard input: as the file" cmp -s "$folder/out" "$folder/train.conllu"
head -c 400 "$folder/blank.conllu.gz" | "$program" predict "$tagger" >"$folder/out" 2>"$folder/err"
check "gzip that is cut off" complains "standard input: the gzip data is cut off after 400 bytes"
{ printf '\357\273\277\n\n'; sed 's/$/\r/' "$folder/blank.conllu"; printf '\n\n# end'; } >"$folder/odd.conllu"
run predict "$tagger" "$folder/odd.conllu"
check "BOM, CRLF, more blank lines, comments at the end: all stays" cmp -s "$folder/out" \
    <({ printf '\357\273\277\n\n'; sed 's/$/\r/' "$folder/train.conllu"; printf '\n\n# end'; })
run predict "$tagger" "$folder/blank.conllu" --probs
check "CoNLL-U with --probs: in MISC" grep -Eq "^6	\.	\.	PUNCT	\.	_	_	_	_	SpaceAfter=No\|Prob=[01]\.[0-9]{4}$" "$folder/out"
run predict "$tagger" "$folder/blank.conllu" --json
check "CoNLL-U with --json: JSON" [ "$(grep -c '^{"line":[0-9]*3,"id":"[0-9]*","text":"the.*\.","units":\["the",' "$folder/out")" -eq 120 ]

train features tag "$folder/train.conllu" --steps 200 --column "FEATS:Number,UPOS,MISC:Key"
awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ { $4 = "_"; sub(/\|?Number=[A-Za-z]*/, "", $6); sub(/Key=Value/, "_", $10) }
    /^[0-9]+\t/ && $6 == "" { $6 = "_" } { print }' "$folder/train.conllu" >"$folder/bare.conllu"
# What it says of the bare tokens, put into the columns by hand.
awk -F'\t' '/^[0-9]+\t/ { print $2 } /^$/' "$folder/bare.conllu" >"$folder/tokens.txt"
"$program" predict "$folder/features.safetensors" --format columns <"$folder/tokens.txt" >"$folder/said" 2>"$folder/err"
check "several outputs: a column each" grep -Eqx "the	(_|Sing|Plur)	(DET|NOUN|VERB|PUNCT)	(_|Value)" <(head -n 1 "$folder/said")
check "several outputs: not all the same" [ "$(cut -f 2,3 "$folder/said" | sort -u | wc -l)" -gt 3 ]
awk -F'\t' -v OFS='\t' 'NR == FNR { if (NF) { number[++n] = $2; upos[n] = $3; key[n] = $4 } next }
    /^[0-9]+\t/ {
        $4 = upos[++m]
        if (number[m] != "_") {
            entry = "Number=" number[m]
            $6 = $6 == "_" ? entry : $6 < entry ? $6 "|" entry : entry "|" $6
        }
        if (key[m] != "_") $10 = ($10 == "_" ? "" : $10 "|") "Key=" key[m]
    }
    { print }' "$folder/said" "$folder/bare.conllu" >"$folder/by_hand.conllu"
run predict "$folder/features.safetensors" "$folder/bare.conllu"
check "FEATS:Key and MISC:Key: entries of their lists" cmp -s "$folder/out" "$folder/by_hand.conllu"
sed 's/Number=Sing/Number=Dual/; s/Key=Value/Key=Other/' "$folder/by_hand.conllu" >"$folder/other.conllu"
run predict "$folder/features.safetensors" "$folder/other.conllu"
check "entries that are there are replaced" cmp -s "$folder/out" "$folder/by_hand.conllu"
run predict "$folder/features.safetensors" "$folder/train.conllu"
sort "$folder/out" | uniq >"$folder/sorted"
check "entries that the model denies are taken out" cmp -s <(sort -u "$folder/by_hand.conllu") "$folder/sorted"

# --- words --------------------------------------------------------------------

# Text without spaces, as it is written in Chinese.
awk -F'\t' -v OFS='\t' '/^[0-9]+\t/ { $10 = "SpaceAfter=No" } { print }' "$folder/train.conllu" >"$folder/glued.conllu"
train words tag "$folder/glued.conllu" --unit chars --scheme bmes --steps 300
awk -F'\t' '/^[0-9]+\t/ { line = line " " $2 } /^$/ { print substr(line, 2); line = "" }' "$folder/glued.conllu" >"$folder/cut"
tr -d ' ' <"$folder/cut" | "$program" predict "$folder/words.safetensors" >"$folder/out" 2>"$folder/err"
check "bmes: a line of words for each text" [ "$(wc -l <"$folder/out")" -eq 120 ]
# The words are those of the labels, whatever they are: one begins at B and S, and after E and S.
tr -d ' ' <"$folder/cut" | "$program" predict "$folder/words.safetensors" --probs |
    awk -F'\t' 'NF == 0 { print line; line = ""; next }
        { line = line (line != "" && ($2 ~ /[BS]/ || before ~ /[ES]/) ? " " : "") $1; before = $2 }' >"$folder/joined"
check "bmes: words as the labels say" cmp -s "$folder/out" "$folder/joined"
check "bmes: something was learned" [ "$(cat "$folder/out" "$folder/cut" | sort | uniq -d | wc -l)" -gt 10 ]
feed 'the  cat.\n\n' "$folder/words.safetensors"
check "bmes: spaces in the text end words" grep -Eq '^the |^[a-z ]*e cat' "$folder/out"
check "bmes: an empty text" [ "$(wc -l <"$folder/out")/$(tail -n 1 "$folder/out")" = "2/" ]
feed 'thecat.\n' "$folder/words.safetensors" --probs
check "bmes with --probs: characters" grep -Eqx "c	[BMES]	[01]\.[0-9]{4}" "$folder/out"
feed 'thecat.\n' "$folder/words.safetensors" --json
check "bmes with --json: words" grep -Eqx \
    '\{"line":1,"text":"thecat\.","words":\[("[a-z.]+",?)+\],"units":\["t","h","e","c","a","t","\."\],"outputs":\{"bmes":\[("[BMES]",?){7}\]\}\}' "$folder/out"

# --- texts --------------------------------------------------------------------

awk 'BEGIN { for (i = 0; i < 100; i++) print (i % 2 ? "good\ta fine film " : "bad\ta dull film ") i }' >"$folder/texts.tsv"
train classes classify "$folder/texts.tsv" --steps 100
feed 'a fine film\na dull film\n\n' "$folder/classes.safetensors"
check "a class a line, also for an empty one" [ "$(head -n 2 "$folder/out" | tr '\n' ' ')/$(wc -l <"$folder/out")" = "good bad /3" ]
feed 'a dull film\n' "$folder/classes.safetensors" --probs
check "--probs: all labels, the likeliest first" grep -Eqx "bad=[01]\.[0-9]{4}	good=0\.[0-9]{4}" "$folder/out"
feed 'a dull film\n' "$folder/classes.safetensors" --json --probs
check "--json of a class" grep -Eq '^\{"line":1,"text":"a dull film","outputs":\{"label":"bad"\},"probabilities":\{"label":\{("(good|bad)":[0-9.e-]+,?){2}\}\},"spread":\{"label":[0-9.e-]+\}\}$' "$folder/out"
run predict "$folder/classes.safetensors" "$folder/texts.tsv"
check "a table: its rows, with one column more" cmp -s <(awk -F'\t' -v OFS='\t' '{ print $0, $1 }' "$folder/texts.tsv") "$folder/out"
run predict "$folder/classes.safetensors" "$folder/texts.tsv" --plain
check "--plain: the answers alone" cmp -s <(cut -f 1 "$folder/texts.tsv") "$folder/out"
{ echo text,label; sed 's/\(.*\)\t\(.*\)/"\2, they say",\1/' "$folder/texts.tsv"; } >"$folder/texts.csv"
run predict "$folder/classes.safetensors" "$folder/texts.csv"
check "CSV with a header" [ "$(head -n 1 "$folder/out")/$(wc -l <"$folder/out")" = "text,label,predicted_label/101" ]

awk 'BEGIN { for (i = 0; i < 120; i++) print (i % 2 ? "__label__red " : "") (i % 3 ? "__label__big " : "__label__tiny ") \
    (i % 2 ? "a red " : "a blue ") (i % 3 ? "house" : "mouse") }' >"$folder/labels.txt"
train labels classify "$folder/labels.txt" --steps 150
feed 'a red house\na blue mouse\n' "$folder/labels.safetensors"
check "several labels" grep -Eqx "red big|big red" <(head -n 1 "$folder/out")
check "labels: those that apply" [ "$(tail -n 1 "$folder/out")" = tiny ]
feed 'a blue mouse\n' "$folder/labels.safetensors" --json
check "--json of labels is a list" grep -Eqx '\{"line":1,"text":"a blue mouse","outputs":\{"label":\["tiny"\]\},"spread":\{"label":\[[0-9.e-]+\]\}\}' "$folder/out"

awk 'BEGIN { for (i = 0; i < 100; i++) { n = i % 5; printf "%d\t", n; for (j = 0; j < n; j++) printf "more "; print "words" } }' >"$folder/numbers.tsv"
train numbers regress "$folder/numbers.tsv" --steps 60
feed 'more words\n' "$folder/numbers.safetensors"
check "a number" grep -Eqx -- "-?[0-9.]+(e-[0-9]+)?" "$folder/out"

# --- bad text -----------------------------------------------------------------

feed 'the cat\na dog\nbad \377 byte\nthe end\n' "$tagger"
check "not UTF-8: exit status" exits_with 1
check "not UTF-8: line and byte" complains "standard input:3: byte 5 (0xff) is not UTF-8"
check "not UTF-8: what came before is answered" is 'the\tDET\ncat\tNOUN\n\na\tDET\ndog\tNOUN\n\n'
sed '99s/$/\tone more column/' "$folder/train.conllu" >"$folder/bad.conllu"
run predict "$tagger" "$folder/bad.conllu"
check "a bad line of CoNLL-U: exit status" exits_with 1
check "a bad line of CoNLL-U: its number" complains "bad.conllu:99: 11 columns"
check "a bad line of CoNLL-U: the sentences before it" cmp -s "$folder/out" <(head -n 90 "$folder/train.conllu")
gzip -k "$folder/bad.conllu"
run predict "$tagger" "$folder/bad.conllu.gz"
check "a bad line in gzip: exit status" exits_with 1
check "a bad line in gzip: its number" complains "bad.conllu.gz:99: 11 columns"
check "a bad line in gzip: the sentences before it" cmp -s "$folder/out" <(head -n 90 "$folder/train.conllu")
run predict "$tagger" "$folder/none.txt"
check "no such file: exit status" exits_with 1
check "no such file: why" complains "cannot read $folder/none.txt: No such file or directory"
run predict "$tagger" "$folder"
check "a folder: why" complains "Is a directory"
run predict "$folder/train.conllu" "$folder/long.txt"
check "not a model: exit status" exits_with 1
check "not a model: why" complains "train.conllu: not a safetensors file"
run predict
check "no model: exit status" exits_with 2
if [ -e /dev/full ]; then
    "$program" predict "$tagger" "$folder/long.txt" >/dev/full 2>"$folder/err"
    status=$?
    check "a full disk: exit status" exits_with 1
    check "a full disk: why" complains "No space left on device"
fi

finish
