#!/bin/bash
# Models that answer with sequences, and those that continue a text, as a user meets them: predict, eval,
# explain, info. Letters become capitals with spaces between them, which a small network learns in seconds.
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

# json EXPRESSION: a Python expression of the objects `o`, one per line of standard output, is true.
json() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import json, sys
o = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
sys.exit(0 if eval(sys.argv[2]) else 1)' "$folder/out" "$1"
}

# on_terminal ARGUMENT...: the program with a terminal of 80 columns as its standard output.
on_terminal() {
    TERM=xterm python3 -c 'import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$program" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
}

# refuses TEXT ARGUMENT...: exit status 2, the text on stderr, nothing on stdout.
refuses() {
    local text=$1
    shift
    run "$@"
    check "attn $1 ${*:3}: exit status 2" exits_with 2
    check "attn $1 ${*:3}: says '$text'" complains "$text"
    check "attn $1 ${*:3}: nothing on stdout" silent out
}

letters() {
    awk -v count="$1" '
        function next_number() { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) }
        BEGIN {
            seed = 7
            for (i = 0; i < count; i++) {
                source = target = ""
                for (n = 2 + next_number() % 4; n > 0; n--) {
                    letter = substr("abcdef", 1 + next_number() % 6, 1)
                    source = source letter
                    target = target (target == "" ? "" : " ") toupper(letter)
                }
                print source "\t" target
            }
        }'
}

# learned: standard output is nearly all of the targets.
learned() {
    [ "$(wc -l <"$folder/out")" -eq 400 ] &&
        [ "$(paste "$folder/out" "$folder/targets.txt" | awk -F'\t' '$1 == $2' | wc -l)" -gt 380 ]
}

letters 400 >"$folder/pairs.tsv"
cut -f 1 "$folder/pairs.tsv" >"$folder/sources.txt"
cut -f 2 "$folder/pairs.tsv" >"$folder/targets.txt"
capitals=$folder/capitals.safetensors
echo '{"decoder": {"monotone": false}}' >"$folder/cross.json"
train capitals seq2seq "$folder/pairs.tsv" --width 32 --decoder-layers 1 --steps 250 --batch 2000 --dropout 0.1 --config "$folder/cross.json"
awk 'BEGIN { for (i = 0; i < 200; i++) print "the cat sat on the mat " i % 7 " and the dog ran." }' >"$folder/book.txt"
book=$folder/book.safetensors
train book lm "$folder/book.txt" --width 32 --steps 80
# Words that are wide, that have marks, that are many.
many="one two three four five six seven eight nine ten eleven twelve"
for _ in {1..20}; do printf '小 猫\tsmall cat\né x\tE X\n%s\tmany\n' "$many"; done >"$folder/odd.tsv"
train odd seq2seq "$folder/odd.tsv" --decoder-layers 1 --unit words --target-unit chars --steps 60

# --- the default decoder -----------------------------------------------------------

# described NAME TEXT: what attn info says of it
described() { "$program" info "$folder/$1.safetensors" | grep -q "$2"; }
train few seq2seq "$folder/pairs.tsv" --width 16 --steps 2 --batch 100
check "few pairs of letters and symbols: a monotone decoder" described few "monotone, predictions"
letters 1300 >"$folder/more.tsv"
train more seq2seq "$folder/more.tsv" --dev "$folder/pairs.tsv" --width 16 --steps 2 --batch 100
check "more pairs: cross-attention" described more "decoder .* layers, predictions"
train words seq2seq "$folder/pairs.tsv" --unit words --target-unit symbols --width 16 --steps 2 --batch 100
check "few pairs of words and symbols: cross-attention" described words "decoder .* layers, predictions"
# defaults_to_attention FLAG...: with few pairs, what is configured by default is not the monotone decoder's.
defaults_to_attention() {
    "$program" train seq2seq "$@" --target-unit symbols --list-config >"$folder/listed" &&
        grep -qF '| `decoder.monotone` | false |' "$folder/listed" && grep -qF '| `encoder.kind` | attention |' "$folder/listed"
}
check "few pairs of bytes and symbols: cross-attention" defaults_to_attention --unit bytes
check "CTC has no decoder: its encoder is that of always" defaults_to_attention --unit chars --output ctc

# --- predict: sequences ---------------------------------------------------------

feed 'abc\n\nfeed\tnot looked at\nbad' "$capitals"
check "an answer a line, an empty one for an empty line" is 'A B C\n\nF E E D\nB A D\n'
check "answers: exit status" exits_with 0
check "answers: nothing on stderr" silent err
feed 'abc\r\n bad \r\n' "$capitals"
check "CRLF, spaces around" is 'A B C\nB A D\n'
feed '' "$capitals"
check "no text, no answer" silent out
check "no text: exit status" exits_with 0

run predict "$capitals" "$folder/sources.txt"
check "a file: what was learned" learned
cp "$folder/out" "$folder/said.txt"
run predict "$capitals" "$folder/sources.txt" --beam 1 --threads 1
check "greedy search: the same here" learned
run predict "$capitals" "$folder/pairs.tsv" --beam 9 --length-penalty 0.5
check "pairs, a wide beam: the same here" learned
gzip -k "$folder/sources.txt"
run predict "$capitals" "$folder/sources.txt.gz"
check "gzip: the same answers" cmp -s "$folder/out" "$folder/said.txt"
head -n 20 "$folder/sources.txt" | while IFS= read -r line; do printf '%s\n' "$line"; done |
    "$program" predict "$capitals" --n-best 3 --alignment >"$folder/out" 2>"$folder/err"
cp "$folder/out" "$folder/answers"
run predict "$capitals" "$folder/sources.txt" --n-best 3 --alignment
check "line by line and at once: the same, with scores and alignment" cmp -s "$folder/answers" <(head -n 60 "$folder/out")

feed 'ab\n\ncd\n' "$capitals" --n-best 2
check "--n-best: rank, score, answer" grep -Eqx "1	-0\.[0-9]{4}	A B" <(head -n 1 "$folder/out")
check "--n-best: ranks; nothing has one answer" [ "$(cut -f 1 "$folder/out" | tr -d '\n')" = 12112 ]
check "--n-best: best first" [ "$(awk -F'\t' '$1 == 2 && $2 > before { n++ } { before = $2 } END { print n + 0 }' "$folder/out")" -eq 0 ]
feed 'ab\n' "$capitals" --n-best 7
check "--n-best widens the beam" [ "$(wc -l <"$folder/out")" -eq 7 ]
feed 'abc\n\n' "$capitals" --alignment
check "--alignment: a pair a symbol" is 'A B C\t0-0 1-1 2-2\n\t\n'
feed 'abc\n\n' "$capitals" --json
check "--json" json '(o[0]["source"], len(o)) == ("abc", 2) and o[0]["answers"][0]["text"] == "A B C" and o[0]["answers"][0]["ended"]'
check "--json: symbols and score" json 'o[0]["answers"][0]["symbols"] == ["A", "B", "C"] and -1 < o[0]["answers"][0]["log_probability"] < 0'
check "--json: no alignment unless asked for" json '"alignment" not in o[0]["answers"][0] and "units" not in o[0]'
check "--json: an empty text" json 'o[1] == {"line": 2, "source": "", "answers": [{"text": "", "log_probability": 0, "ended": True, "symbols": []}]}'
feed 'abc\n' "$capitals" --json --alignment --n-best 3
check "--json --n-best" json 'len(o[0]["answers"]) == 3'
check "--json --alignment: units, a row a symbol" json '(o[0]["units"] == ["a", "b", "c"] and
    all(len(a["alignment"]) == len(a["symbols"]) and all(len(r) == 3 and abs(sum(r) - 1) < 1e-2 for r in a["alignment"]) for a in o[0]["answers"]))'
feed 'abcdef\n' "$capitals" --longest 2 --beam 1 --json
check "--longest cuts" json 'o[0]["answers"][0]["text"] == "A B" and not o[0]["answers"][0]["ended"]'
feed 'zzz\n小猫\n' "$capitals"
check "unknown units: an answer all the same" [ "$(wc -l <"$folder/out")/$status" = 2/0 ]
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "a"; print "" }' >"$folder/long.txt"
run predict "$capitals" "$folder/long.txt" --alignment
check "5000 symbols: one answer, with a pair a symbol" [ "$(awk -F'\t' '{ print split($1, a, " ") == split($2, b, " ") }' "$folder/out")" = 1 ]
echo '{"text": {"longest": 4}}' >"$folder/short.json"
train short seq2seq "$folder/pairs.tsv" --config "$folder/short.json" --decoder-layers 1 --steps 30
feed 'abcdefgh\n' "$folder/short.safetensors" --json --alignment --longest 3 --beam 1
check "a source that is cut: nothing is seen beyond" json '(len(o[0]["answers"][0]["alignment"]) > 0 and
    all(len(r) == 8 and abs(sum(r[:4]) - 1) < 1e-2 and sum(r[4:]) == 0 for r in o[0]["answers"][0]["alignment"]))'

coproc "$program" predict "$capitals" 2>"$folder/err"
predictor=$COPROC_PID
printf 'fed\n' >&"${COPROC[1]}"
IFS= read -r -t 20 answer <&"${COPROC[0]}"
check "a line is answered while the input is open" [ "$answer" = "F E D" ]
eval "exec ${COPROC[1]}>&-"
wait "$predictor"

feed 'ab\ncd\ne\377f\ngh\n' "$capitals"
check "not UTF-8: exit status" exits_with 1
check "not UTF-8: line and byte" complains "standard input:3: byte 2 (0xff) is not UTF-8"
check "not UTF-8: what came before is answered" is 'A B\nC D\n'
feed 'ab\tA B\tmore\n' "$capitals"
check "three columns: exit status" exits_with 1
check "three columns: why" complains "standard input:1: 3 columns"
refuses "--probs is for models that label" predict "$capitals" --probs
refuses "--prompt is for models that continue text; this one is of task seq2seq" predict "$capitals" --prompt x
refuses "--seed is for models of task lm" predict "$capitals" --seed 2
run predict "$capitals" "$folder/sources.txt" --beam 2 --n-best 3
check "n-best over beam: exit status" exits_with 1
check "n-best over beam: why" complains "n_best at most the beam"
refuses "--beam -1: must be" predict "$capitals" --beam=-1

# --- predict: language models ---------------------------------------------------

run predict "$book" --prompt 'the cat' --tokens 60
check "a prompt: exit status" exits_with 0
check "a prompt goes on" grep -Eqx 'the cat sat on the mat [0-6] and the dog ran\.' <(head -n 1 "$folder/out")
cp "$folder/out" "$folder/first"
run predict "$book" --prompt 'the cat' --tokens 60 --seed 1 --temperature 1 --top-k 0
check "the same seed, the same text" cmp -s "$folder/out" "$folder/first"
for seed in 2 3 4 5 6; do "$program" predict "$book" --prompt 'the cat' --tokens 60 --seed "$seed"; done >"$folder/out" 2>"$folder/err"
check "other seeds, other texts" [ "$(grep '^the cat' "$folder/out" | sort -u | wc -l)" -gt 1 ]
run predict "$book" --prompt 'the cat' --tokens 60 --temperature 0 --seed 5
cp "$folder/out" "$folder/first"
run predict "$book" --prompt 'the cat' --tokens 60 --top-k 1
check "temperature 0 is the likeliest" cmp -s "$folder/out" "$folder/first"
run predict "$book" --prompt 'the end' --tokens 0
check "--tokens 0: the prompt" is 'the end\n'
run predict "$book" --prompt "$(printf 'the dog ran.\nthe')" --tokens 4 --temperature 0
check "a prompt of two lines" is 'the dog ran.\nthe cat\n'
run predict "$book" --prompt '' --tokens 3 --temperature 0
check "an empty prompt" is 'the\n'
run predict "$book" --prompt 'the ' --tokens 3 --temperature 0 --json
check "--json" is '{"prompt":"the ","text":"cat"}\n'
feed 'the dog ran\nthe c\n' "$book" --tokens 5 --temperature 0
check "a line a prompt, line ends as \\n" is 'the dog ran.\\nthe\nthe cat sa\n'
feed 'the dog ran\n\n' "$book" --tokens 5 --temperature 0 --json
check "prompts as JSON" json 'o == [{"line": 1, "prompt": "the dog ran", "text": ".\nthe"}, {"line": 2, "prompt": "", "text": "the c"}]'
feed 'the\n\377\n' "$book" --tokens 1
check "a prompt that is not UTF-8, in a file" complains "standard input:2: byte 1 (0xff)"
run predict "$book" --prompt "$(printf 'a\377')"
check "a prompt that is not UTF-8: exit status" exits_with 1
check "a prompt that is not UTF-8: why" complains "the prompt:1: byte 2 (0xff) is not UTF-8"
check "a prompt that is not UTF-8: nothing on stdout" silent out
refuses "--beam is for models of task seq2seq; this one is of task lm" predict "$book" --beam 2
refuses "--alignment is for models of task seq2seq" predict "$book" --alignment
refuses "not both" predict "$book" "$folder/book.txt" --prompt x
refuses "--temperature -1: must be" predict "$book" --temperature=-1

# --- eval -----------------------------------------------------------------------

# Its own answers are the right ones here, so that the numbers are known.
cp "$folder/said.txt" "$folder/targets.txt"
paste "$folder/sources.txt" "$folder/targets.txt" >"$folder/pairs.tsv"
run eval "$capitals" "$folder/pairs.tsv"
check "eval: exit status" exits_with 0
check "eval: how many" says "pairs.tsv: 400 examples"
check "eval: exact" grep -Eqx "exact_match +1\.0000  \(1\.0000–1\.0000\)" "$folder/out"
check "eval: errors" grep -Eqx "symbol_error_rate +0\.0000  \(0\.0000–0\.0000\)" "$folder/out"
sed -e 1,2d -e '/^(in brackets/d' -e 's/  (.*//' "$folder/out" >"$folder/values"
check "eval: aligned" [ "$(awk '{ print length($0) }' "$folder/values" | sort -u | wc -l)" -eq 1 ]
run eval "$capitals" "$folder/sources.txt" "$folder/targets.txt" --json
check "eval: two files, as JSON" json 'o[0]["exact_match"] == 1 and o[0]["bleu"] > 99.9 and o[0]["examples"] == 400'
run eval "$capitals" "$folder/sources.txt" "$folder/targets.txt" --json --beam 1 --length-penalty 0
check "eval: another search" json '0.9 < o[0]["exact_match"] <= 1'
tr '[:upper:]' '[:lower:]' <"$folder/targets.txt" >"$folder/lower.txt"
run eval "$capitals" "$folder/sources.txt" "$folder/lower.txt" --json
check "eval: other case is wrong" json 'o[0]["exact_match"] == 0 and o[0]["bleu"] < 1'
run eval "$capitals" "$folder/sources.txt" "$folder/lower.txt" --json --lowercase
check "eval --lowercase: bleu and chrf" json 'o[0]["exact_match"] == 0 and o[0]["bleu"] > 99.9 and o[0]["chrf"] > 99.9'
head -n 7 "$folder/targets.txt" >"$folder/few.txt"
run eval "$capitals" "$folder/sources.txt" "$folder/few.txt"
check "eval: files of other lengths: exit status" exits_with 1
check "eval: files of other lengths: both counts" complains "sources.txt has 400 lines and $folder/few.txt 7"
awk -F'\t' '{ print NR "\t" $2 "\t" $1 }' "$folder/pairs.tsv" >"$folder/three.tsv"
run eval "$capitals" "$folder/three.tsv"
check "eval: three columns: which?" complains "name those of the source and the target"
run eval "$capitals" "$folder/three.tsv" --text-column 3 --column 2 --json
check "eval: other columns" json 'o[0]["exact_match"] == 1'
run eval "$book" "$folder/book.txt"
check "eval lm: bits" grep -Eqx "bits_per_byte +0\.[0-9]{4}" "$folder/out"
check "eval lm: how many" says "book.txt: 200 examples"
check "eval lm: unknown units are counted" grep -Eqx "unknown_units +0" "$folder/out"
refuses "--beam is for models of task seq2seq" eval "$book" "$folder/book.txt" --beam 2
refuses "a second file is for models that learned from two" eval "$book" "$folder/book.txt" "$folder/book.txt"
refuses "--confusion is for models with classes" eval "$capitals" "$folder/pairs.tsv" --confusion

# --- explain --------------------------------------------------------------------

run explain "$capitals" fed '' ab
check "explain: exit status" exits_with 0
check "explain: the answer with its score" grep -Eqx "fed → F E D   log-probability -0\.[0-9]{4}" "$folder/out"
check "explain: units above" says "        │  f  e  d "
check "explain: a row a symbol" grep -Eqx "      F │ █+[^f]*│ f [01]\.[0-9]{2}" "$folder/out"
check "explain: which attention" says "attention: source, layer "
check "explain: contributions" grep -Eq "^      ± │ " "$folder/out"
check "explain: an empty text" says "(nothing) → (nothing)"
check "explain: several texts" says "ab → A B "
check "explain: what shades mean" says "░ from 0.05"
run explain "$capitals" "$(head -c 100 "$folder/long.txt")"
check "explain: what is too wide goes on below" [ "$(grep -c '^ *± │' "$folder/out")" -gt 1 ]
# shellcheck disable=SC2016
check "explain: at most 80 columns" awk '/│/ { gsub(/[\200-\277]/, "") } /│/ && length($0) > 80 { exit 1 }' "$folder/out"
run explain "$folder/odd.safetensors" "小 猫" "é x"
check "explain: words, wide letters" says "│  小  猫 "
check "explain: names of one width of cells" says "│  é  x "
run explain "$folder/odd.safetensors" "$many"
check "explain: long names are written downwards" says "│        t           s  e        l  w "
printf 'a b\nc d\n' >"$folder/spaced.txt"
run predict "$book" "$folder/spaced.txt" --format columns
check "prompts are lines: exit status" exits_with 1
check "prompts are lines: why" complains "running text is lines of text"
printf 'the\n\357\273\277\nBZh9\n' >"$folder/odd.txt"
run predict "$book" "$folder/odd.txt" --tokens 3
check "prompts: an answer a line, none twice" [ "$(wc -l <"$folder/out")" -le 3 ]
printf 'a\tX\n\nb\tY\n' >"$folder/tokens.tsv"
run eval "$book" "$folder/tokens.tsv" --format columns
check "eval: tokens are not running text" complains "running text is lines of text"
run explain "$book" word
check "explain: what comes next" grep -Eqx "word → .*   probability [01]\.[0-9]{4}" "$folder/out"
refuses "no text given" explain "$capitals"
run explain "$folder/pairs.tsv" word
check "explain: not a model: exit status" exits_with 1
run explain "$capitals" "$(printf 'a\377')"
check "explain: not UTF-8" complains "the text:1: byte 2 (0xff) is not UTF-8"

if command -v python3 >/dev/null; then
    on_terminal explain "$capitals" fed
    check "explain on a terminal: colours" grep -qF "$(printf '\033[38;5;')" "$folder/out"
    on_terminal explain "$capitals" "$(printf 'fed\033[31m')"
    check "explain on a terminal: what it might obey is escaped" says 'fed\x1b[31m →'
    on_terminal predict "$book" --prompt "$(printf 'the\033[31m\ncat')" --tokens 0
    check "a prompt on a terminal is escaped, line ends are not" cmp -s "$folder/out" <(printf 'the\\x1b[31m\r\ncat\r\n')
fi

# --- info -----------------------------------------------------------------------

run info "$capitals"
check "info: the task" grep -Eqx "task +seq2seq, a sequence per text" "$folder/out"
check "info: the sources" grep -Eqx "sources +chars, 7 in the vocabulary" "$folder/out"
check "info: the predictions" grep -Eqx "predictions +symbols, 7 in the vocabulary" "$folder/out"
check "info: the decoder" grep -Eqx "decoder +1 layer, predictions of at most [0-9]+ symbols" "$folder/out"
check "info: scores" grep -Eqx " +exact_match +[01]\.[0-9]{4}" "$folder/out"
run info "$book"
check "info: lm" grep -Eqx "task +lm, the next unit of running text" "$folder/out"
check "info: lm: scores" grep -Eqx " +bits_per_byte +0\.[0-9]{4}" "$folder/out"

finish
