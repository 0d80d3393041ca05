#!/bin/bash
# attn explain as a user meets it: answers as predict gives them, heat maps, lists, segments and pictures in the
# terminal, files in every format, for tags, classes, numbers, sequences and running text of all kinds of input.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

no_control_characters() { ! tr -d '\n' <"$folder/$1" | grep -q "[[:cntrl:]]"; }

# misuse TEXT ARGUMENT...: exit status 2, the text on stderr, nothing on stdout.
misuse() {
    local text=$1
    shift
    run "$@"
    check "attn $*: exit status 2" exits_with 2
    check "attn $*: says '$text'" complains "$text"
    check "attn $*: nothing on stdout" silent out
}

# on_terminal COLUMNS ARGUMENT...: the program has a terminal of so many columns.
on_terminal() {
    local columns=$1
    shift
    TERM=xterm-256color python3 -c 'import fcntl, os, pty, struct, sys, termios
process, terminal = pty.fork()
if process == 0:
    size = struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0)
    fcntl.ioctl(1, termios.TIOCSWINSZ, size)
    os.execv(sys.argv[2], sys.argv[2:])
while True:
    try: piece = os.read(terminal, 65536)
    except OSError: break
    if not piece: break
    os.write(1, piece)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))' "$columns" "$program" "$@" >out 2>err </dev/null
    status=$?
}

# Display width of lines in a table (those with │): Chinese characters (lead bytes e4 .. e9) have two cells, marks
# that combine (lead byte cc) none. Neighbours are equal; none is wider than $1.
tables_align() {
    awk -v most="$1" 'BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i }
        function width(line,    i, c, cells) {
            for (i = 1; i <= length(line); i++) {
                c = code[substr(line, i, 1)]
                if (c >= 128 && c < 192) continue
                if (c == 204) continue
                cells += c >= 228 && c <= 233 ? 2 : 1
            }
            return cells
        }
        index($0, "│") {
            lines++
            at = width(substr($0, 1, index($0, "│") - 1))
            if (expected && at != expected) { print "  uneven: " $0; bad = 1 }
            if (width($0) > most) { print "  too wide: " $0; bad = 1 }
            expected = at
            next
        }
        { expected = 0 }
        END { exit bad || lines < 2 }' out
}

# rows_sum_to_one FILE: the weights of every query of every head.
rows_sum_to_one() {
    awk -F '\t' 'NR > 1 && $1 != "contribution" { sum[$1, $2, $3, $4] += $8; n++ }
        END {
            for (key in sum) if (sum[key] < 0.99999 || sum[key] > 1.00001) { print "  " key ": " sum[key]; exit 1 }
            exit n == 0
        }' "$1"
}

# answers: those of the JSON in out, one per line.
answers() { sed -n 's/.*"answers":\["\([^]]*\)"\].*/\1/p' out | sed 's/","/\n/g'; }
same() { [ "$1" = "$2" ] || { echo "  '$1' is not '$2'"; false; }; }

# formats NAME MODEL INPUT...: an explanation as every file.
formats() {
    local name=$1 model=$2 ending
    shift 2
    run explain "$model" "$@" -o "$name.svg" -o "$name.html" -o "$name.tsv" -o "$name.json"
    check "$name: files: exit status" exits_with 0
    for ending in svg html tsv json; do check "$name.$ending is there" [ -s "$name.$ending" ]; done
    check "$name.svg" grep -q '<svg' "$name.svg"
    check "$name.html" grep -qi '<!doctype html>' "$name.html"
    check "$name.json: an object" grep -q '^{"example":1,' "$name.json"
    check "$name.svg, $name.html: nothing from a network" \
        [ "$(cat "$name.svg" "$name.html" | grep -cE '(src|href)="?https?:')" -eq 0 ]
    if command -v xmllint >/dev/null; then check "$name.svg: XML" xmllint --noout "$name.svg"; fi
    if command -v python3 >/dev/null; then
        check "$name.json: JSON" python3 -m json.tool "$name.json" /dev/null
    fi
}

# small ...: flags of models that are quickly trained.
small=(--width 16 --heads 2 --threads 2 --patience 0 --learning-rate 0.01 --quiet)
made() { # made NAME TASK ARGUMENT...
    local name=$1
    shift
    run train "$@" -o "$name.safetensors" "${small[@]}"
    check "a model is trained: $name" exits_with 0
}

# --- tags ------------------------------------------------------------------------------

sentences 60 >s.conllu
made tag tag s.conllu --dev s.conllu --layers 2 --epochs 8
sentence="the cat likes a dog ."
run predict tag.safetensors --plain <<<"$sentence"
tags=$(cut -f 2 out | sed '/^$/d')
run explain tag.safetensors "$sentence" --json
check "tag: JSON: exit status" exits_with 0
check "tag: the answers of predict" same "$(answers)" "$tags"
run explain tag.safetensors "$sentence"
check "tag: exit status" exits_with 0
check "tag: words with tags" says "the/DET  cat/NOUN  likes/VERB  a/DET  dog/NOUN  ./PUNCT"
check "tag: which attention" says "attention: encoder, layer 2 of 2, mean of 2 heads"
check "tag: no escape codes in a pipe" no_control_characters out
check "tag: columns by name" grep -qE '│ +the +cat +likes +a +dog +\. ' out
check "tag: a row for every word" [ "$(grep -cE '^ *(the|cat|likes|a|dog|\.) │' out)" -eq 6 ]
check "tag: contributions" grep -qE '^ *± │ ' out
check "tag: to what" says "contribution to the predicted labels"
check "tag: a legend" grep -qE '░ from [0-9.]+ ' out
check "tag: aligned" tables_align 80
formats tag tag.safetensors "$sentence"
check "tag.tsv: every weight" [ "$(grep -c '^encoder' tag.tsv)" -eq $((2 * 2 * 6 * 6)) ]
check "tag.tsv: contributions" [ "$(grep -c '^contribution' tag.tsv)" -eq 6 ]
check "tag.tsv: rows sum to 1" rows_sum_to_one tag.tsv
check "tag.tsv: names" grep -qP '^encoder\t1\t2\t2\tcat\t3\tlikes\t' tag.tsv
run explain tag.safetensors "$sentence" --top 2
check "--top: two of each" grep -qE '^  cat +NOUN +0\.[0-9]{2} +[+-][0-9.]+( +[a-z.]+ 0\.[0-9]{2,4}){2}$' out
# What --top says is what the table says: the strongest of the last layer, the mean of its heads.
strongest=$(awk -F '\t' '$1 == "encoder" && $2 == 2 && $5 == "cat" { sum[$7] += $8 / 2 }
    END { for (k in sum) if (sum[k] > best) { best = sum[k]; name = k } printf "%s %.2f", name, best }' tag.tsv)
check "--top: the strongest" grep -qE "^  cat .*   $strongest " out
run explain tag.safetensors "the cat likes the dog ." --top 6
check "--top: names that several rows have" grep -qE '^  the#4 ' out
check "--top: and so what is looked at" grep -qE '  the#1 0\.[0-9]+' out
run explain tag.safetensors "the cat likes the dog ." --row the
check "--row: a name that several rows have" complains "2 rows have this name; the first is row 1"
run explain tag.safetensors "$sentence" --layer 1 --head 2
check "--layer, --head" says "attention: encoder, layer 1 of 2, head 2 of 2"
cp out first
run explain tag.safetensors "$sentence" --layer 1 --head 1
check "another head is another map" [ "$(cmp -s out first; echo $?)" -eq 1 ]
run explain tag.safetensors "$sentence" --view rollout
check "--view rollout" says "attention rollout up to: encoder, layer 2 of 2"
run explain tag.safetensors "$sentence" --view gradient
check "--view gradient" says "weight × gradient: encoder, layer 2 of 2"
run explain tag.safetensors "$sentence" --view gradient --head 1
check "--view gradient, one head: signs" grep -qE '│.*[+-][░▒▓█]' out
run explain tag.safetensors "$sentence" --row dog
check "--row by name" says " ›  dog │"
check "--row: what contributions are to" says "contribution to NOUN"
cp out by_name
run explain tag.safetensors "$sentence" --row 5
check "--row by number" cmp -s out by_name
run explain tag.safetensors "$sentence" --row dog --label VERB
check "--label" says "contribution to VERB"
run explain tag.safetensors --file s.conllu --example 7
check "--file: exit status" exits_with 0
check "--file: its words" says "the/DET"
run explain tag.safetensors --file s.conllu --id 7
check "--id: exit status" exits_with 0
cp out by_id
run explain tag.safetensors --file s.conllu --example 7
check "--id is that example" cmp -s out by_id
run explain tag.safetensors --file s.conllu
check "a file: some of it" [ "$(grep -c '^attention' out)" -eq 5 ]
check "a file: says so" complains "the first 5 of 60 examples; --example N chooses one"
printf '%s\n%s\n' "$sentence" "a dog likes a cat ." >two.txt
run explain tag.safetensors - <two.txt
check "-: every line" [ "$(grep -c '^attention' out)" -eq 2 ]
run explain tag.safetensors - -o first.tsv <two.txt
check "-o: the first line of standard input" grep -qP '^contribution\t.*\t2\tcat\t' first.tsv
check "-o: and not the others" complains "the first line of standard input; -o is for one example"
printf '\n%s\n' "$sentence" >blank.txt
run explain tag.safetensors - <blank.txt
check "an empty line: exit status" exits_with 0
check "an empty line" says "(nothing) → (nothing)"
check "an empty line: and what follows" says "the/DET  cat/NOUN"
run explain tag.safetensors "" -o nothing.html
check "nothing to draw: exit status" exits_with 1
check "nothing to draw: no file" [ ! -e nothing.html ]
misuse "-o twice.svg is given twice" explain tag.safetensors a -o twice.svg -o twice.svg
misuse "--grid and --dark are for drawings" explain tag.safetensors a --grid
misuse "--grid draws all heads: leave out --head" explain tag.safetensors a --grid --head 1 -o x.svg
misuse "--steps shows one attention" explain --steps tag.safetensors a --view rollout
misuse "--layer 7: the encoder has attention in layers 1 and 2 only" explain tag.safetensors "$sentence" --layer 7
misuse "--head 3: layer 2 of the encoder has 2 heads" explain tag.safetensors "$sentence" --head 3
misuse "--part source: this model has no such attention; it has encoder" explain tag.safetensors a --part source
misuse "--view rollout needs --part encoder or decoder" explain tag.safetensors a --view rollout --part pool
misuse "--row 9: there are 6 rows" explain tag.safetensors "$sentence" --row 9
misuse "--row dogs: no row has this name" explain tag.safetensors "$sentence" --row dogs
misuse "did you mean NOUN?" explain tag.safetensors "$sentence" --label NOUM
misuse "--output X: there is none; the model has" explain tag.safetensors "$sentence" --output X
misuse "--member 2: the model has 1 network" explain tag.safetensors "$sentence" --member 2
misuse "--example 99: s.conllu has 60" explain tag.safetensors --file s.conllu --example 99
misuse "--id none: no example has this id" explain tag.safetensors --file s.conllu --id none
run explain tag.safetensors --file none.conllu
check "a file that is not there: exit status" exits_with 1
check "a file that is not there" complains "none.conllu: cannot be opened"
run explain tag.safetensors "$sentence" -o tag.svg
check "files are not replaced: exit status" exits_with 1
check "files are not replaced" complains "tag.svg exists already: --force replaces it"
run explain tag.safetensors "$sentence" -o tag.svg --force --title 'A <b>title</b> & more'
check "--force: exit status" exits_with 0
check "--title is escaped" grep -qF 'A &lt;b&gt;title&lt;/b&gt; &amp; more' tag.svg
run explain tag.safetensors "$sentence" -o grid.svg --grid --dark
check "--grid --dark: exit status" exits_with 0
run explain tag.safetensors "$sentence" -o none/tag.svg
check "a folder that is not there" complains "cannot write none/tag.svg"
# Fonts that fontconfig has loaded stay loaded.
LSAN_OPTIONS=detect_leaks=0 run explain tag.safetensors "$sentence" -o tag.png
if complains "without"; then
    echo "skipped: no PNG in this build"
else
    check "PNG: exit status" exits_with 0
    check "PNG: is one" [ "$(head -c 4 tag.png | tail -c 3)" = PNG ]
fi

# --- wide, combining and hostile words -------------------------------------------------------------------

run explain tag.safetensors "看 小猫 likes $(printf 'e\314\201t\314\202') dog ." --pretokenized
check "wide characters: exit status" exits_with 0
check "wide characters: aligned" tables_align 80
run explain tag.safetensors "看 小猫 likes $(printf 'q\314\201t\314\202') dog ." --pretokenized --top 1
check "wide characters in a list" says "小猫"
COLUMNS=40 run explain tag.safetensors "看 小猫 likes a verylongwordindeed dog 可爱 ." --pretokenized
check "40 columns: aligned, none wider" tables_align 40
check "names downwards" grep -qE '│ .* y ' out
many="$(yes "$sentence" | head -n 9 | tr '\n' ' ')"
COLUMNS=60 run explain tag.safetensors "$many" --pretokenized
check "54 words: folded into blocks" [ "$(grep -c '^ *± │' out)" -gt 1 ]
check "54 words: none wider" tables_align 60
run explain tag.safetensors "$many $many $many" --pretokenized
check "162 words: not all of them" says "the first 60 of 162 rows"
check "162 words: how to see all" says "-o x.html"
check "162 words: a list" [ "$(wc -l <out)" -lt 110 ]
hostile="$(printf 'the\033[31m c\342\200\256at a<script>alert(1)</script> x\302\205y \360\237\230\200 .')"
run explain tag.safetensors "$hostile" --pretokenized
check "hostile words: exit status" exits_with 0
check "hostile words: escaped" says 'the\x1b[31m'
check "hostile words: no control characters" no_control_characters out
check "hostile words: no override" [ "$(grep -c "$(printf '\342\200\256')" out)" -eq 0 ]
formats hostile tag.safetensors "$hostile" --pretokenized
check "hostile.svg: no script" [ "$(grep -c '<script>alert' hostile.svg)" -eq 0 ]
check "hostile.html: no script of the text" [ "$(grep -c '<script>alert' hostile.html)" -eq 0 ]
for ((i = 0; i < 40; i++)); do printf 'is\033[31mred\tthe red dog\nis <b> blue\ta blue cat\n'; done >labels.tsv
made labels classify labels.tsv --dev labels.tsv --layers 1 --epochs 1
run explain labels.safetensors "the red dog" --label "is[31mred"
check "hostile labels: said what there is" complains 'the model has is\x1b[31mred, is <b> blue'
check "hostile labels: no control characters in errors" no_control_characters err
leftward="the $(printf '\327\251\327\234\327\225\327\235') likes ."
run explain tag.safetensors "$leftward" --pretokenized
check "right to left in a pipe: no isolates" [ "$(grep -c "$(printf '\342\201\250')" out)" -eq 0 ]
if command -v python3 >/dev/null; then
    on_terminal 80 explain tag.safetensors "$leftward" --pretokenized
    check "right to left on a terminal: isolated" grep -qF "$(printf '\342\201\250\327\251\327\234\327\225\327\235\342\201\251')" out
    on_terminal 80 explain tag.safetensors "$sentence"
    check "a terminal: colours" grep -qF "$(printf '\033[48;5;')" out
    NO_COLOR=1 on_terminal 80 explain tag.safetensors "$sentence"
    check "NO_COLOR" [ "$(grep -c "$(printf '\033')" out)" -eq 0 ]
    COLORTERM=truecolor on_terminal 80 explain tag.safetensors "$sentence"
    check "a terminal: true colours" grep -qF "$(printf '\033[48;2;')" out
    NO_COLOR=1 on_terminal 30 explain tag.safetensors "$sentence"
    tr -d '\r' <out >clean && mv clean out
    check "a terminal of 30 columns" tables_align 30
    on_terminal 80 explain tag.safetensors "$hostile" --pretokenized
    check "a terminal: hostile words" says 'the\x1b[31m'
fi

# --- encoders without attention, several outputs, an ensemble ---------------------------------------------------

for encoder in rnn cnn fc; do
    made "$encoder" tag s.conllu --dev s.conllu --layers 1 --epochs 6 --encoder "$encoder"
    run explain "$encoder.safetensors" "$sentence"
    check "$encoder: exit status" exits_with 0
    check "$encoder: bars" [ "$(grep -cE '│ *[+-][0-9.]+' out)" -eq 6 ]
    check "$encoder: aligned" tables_align 80
    misuse "this model has no attention" explain "$encoder.safetensors" "$sentence" --layer 1
    run explain "$encoder.safetensors" "$sentence" -o "$encoder.svg" -o "$encoder.tsv" -o "$encoder.html"
    check "$encoder: files" exits_with 0
    check "$encoder: the table has contributions" [ "$(grep -c '^contribution' "$encoder.tsv")" -eq 6 ]
    run predict "$encoder.safetensors" --plain <<<"$sentence"
    tags=$(cut -f 2 out | sed '/^$/d')
    run explain "$encoder.safetensors" "$sentence" --json
    check "$encoder: the answers of predict" same "$(answers)" "$tags"
done
made two tag s.conllu --dev s.conllu --layers 1 --epochs 4 --column UPOS,XPOS
run explain two.safetensors "$sentence" --output XPOS
check "--output" says "likes/VBZ"
check "--output: which, of how many" says "XPOS, output 2 of 2: --output NAME chooses"

awk 'BEGIN {
    split("good fine great", g); split("bad poor dull", b)
    for (i = 0; i < 60; i++)
        print (i % 2 ? "positive" : "negative") "\tThe film was " (i % 2 ? g[1 + i % 3] : b[1 + i % 3]) " and " i % 7 " hours long"
}' >c.tsv
echo '{"output": {"members": 2}}' >members.json
made class classify c.tsv --dev c.tsv --layers 1 --epochs 8 --config members.json
text="The film was great and long"
run predict class.safetensors <<<"$text"
answer=$(cat out)
run explain class.safetensors "$text"
check "class: the answer of predict" grep -qE "^$text → $answer   probability 0\.[0-9]{4}$" out
check "class: aligned" tables_align 80
formats class class.safetensors "$text"
check "class.tsv: rows sum to 1" rows_sum_to_one class.tsv
run explain class.safetensors "$text" --part pool
check "class: what the pooled vector looks at" says "attention: pool, "
run explain class.safetensors "$text" --member 1 -o one.tsv
run explain class.safetensors "$text" --member 2 -o other.tsv
run explain class.safetensors "$text"
check "the mean of the members: said" grep -qE '^attention: encoder, .* 2 heads, mean of 2 networks$' out
run explain class.safetensors "$text" --member 2
check "one member: said" grep -qE '^attention: encoder, .* 2 heads, network 2 of 2$' out
check "members differ" [ "$(cmp -s one.tsv other.tsv; echo $?)" -eq 1 ]
# The mean of both is what is shown of all.
mean_of_members() {
    paste one.tsv other.tsv class.tsv | awk -F '\t' 'NR > 1 && $1 == "encoder" {
        d = ($8 + $17) / 2 - $26
        if (d > 1e-6 || d < -1e-6) { print "  " $0; exit 1 }
        n++
    } END { exit n == 0 }'
}
check "the mean of the members" mean_of_members
misuse "--member 3: the model has 2 networks" explain class.safetensors "$text" --member 3
run explain class.safetensors "$many $many $many $many"
check "a long text is not repeated whole" grep -qE '… → (positive|negative)   probability' out
run explain class.safetensors ""
check "an empty text: exit status" exits_with 0
check "an empty text" says "(nothing) → "

# Layers of several kinds: the first with attention, and the one attention that a pooled rnn has.
echo '{"encoder": {"mix": "cnn,attention", "layers": 2}}' >mix.json
made mix classify c.tsv --dev c.tsv --config mix.json --epochs 1
run explain mix.safetensors "$text"
check "mix: which layer" says "attention: encoder, layer 2, mean of 2 heads"
run explain --steps mix.safetensors "$text"
check "mix: --steps are of the layer with attention" says "Self-attention of the encoder, layer 2, head 1 of 2"
made pooled classify c.tsv --dev c.tsv --encoder rnn --layers 1 --epochs 1
misuse "--steps needs queries and keys, which pooling does not have" explain --steps pooled.safetensors "$text"
misuse "this model has attention in pool only" explain pooled.safetensors "$text" --view rollout

awk 'BEGIN { for (i = 0; i < 60; i++) { n = 1 + i % 5; s = ""; for (j = 0; j < n; j++) s = s " x"; print n "\tcount" s } }' >r.tsv
made number regress r.tsv --dev r.tsv --layers 1 --epochs 8
run predict number.safetensors <<<"count x x"
answer=$(cat out)
run explain number.safetensors "count x x"
check "number: the answer of predict" grep -qx "count x x → $answer" out
run predict number.safetensors <<<""
answer=$(cat out)
run explain number.safetensors ""
check "number: that of an empty text" grep -qx "(nothing) → $answer" out

# --- sequences and running text -----------------------------------------------------------------------------------

awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { a = b = ""; n = 1 + i % 4
    for (j = 0; j < n; j++) { c = substr("abcdefgh", 1 + (i * 7 + j * 3) % 8, 1); a = a c; b = b (j ? " " : "") toupper(c) }
    print a "\t" b } }' >p.tsv
echo '{"decoder": {"monotone": false}}' >cross.json
made sequence seq2seq p.tsv --dev p.tsv --layers 1 --epochs 10 --config cross.json
run predict sequence.safetensors <<<"bad"
answer=$(cat out)
run explain sequence.safetensors bad
check "sequence: the answer of predict" grep -qE "^bad → $answer   log-probability -[0-9.]+" out
check "sequence: its source" says "attention: source, layer "
for part in encoder decoder source; do
    run explain sequence.safetensors bad --part $part
    check "sequence: $part" says "attention: $part, layer "
    check "sequence: $part: aligned" tables_align 80
done
formats sequence sequence.safetensors bad
check "sequence.tsv: rows sum to 1" rows_sum_to_one sequence.tsv
run explain sequence.safetensors bad --row 1
check "sequence: --row is a symbol" exits_with 0
run explain sequence.safetensors bad --beam 1
check "sequence: --beam" exits_with 0

for ((i = 0; i < 40; i++)); do echo "the cat saw the dog and the dog saw the cat"; done >book.txt
made book lm book.txt --dev book.txt --layers 1 --epochs 3
run explain book.safetensors "the cat"
check "running text: what is next" grep -qE '^the cat → .*   probability [01]\.[0-9]{4}$' out
check "running text: aligned" tables_align 80
formats book book.safetensors "the cat"
check "book.tsv: rows sum to 1" rows_sum_to_one book.tsv
run explain book.safetensors ""
check "running text: what is first" grep -qE '^\(nothing\) → .   probability [01]\.[0-9]{4}$' out
misuse "--beam is for models of task seq2seq" explain book.safetensors "the cat" --beam 2

# --- vectors, graphs, molecules -------------------------------------------------------------------------------------

awk 'BEGIN {
    print "sequence,x,noise,label"
    for (i = 0; i < 120; i++) { x = (i * 37) % 41 - 20; print "s" int(i / 4) "," x "," (i * 13) % 7 "," (x > 0 ? "in" : "out") }
}' >rows.csv
made rows tag rows.csv --input vectors --layers 1 --epochs 5
run explain rows.safetensors rows.csv --example 3
check "vectors: exit status" exits_with 0
check "vectors: which" says "rows.csv, example 3"
check "vectors: answers" grep -qE '^0/(in|out)  1/(in|out)' out
formats rows rows.safetensors rows.csv --example 3
check "rows.tsv: rows sum to 1" rows_sum_to_one rows.tsv
run explain rows.safetensors none.npy
check "vectors: no such file" complains "none.npy: cannot be opened"
misuse "--row 9: there is no such row; they are called 0 to 3" explain rows.safetensors rows.csv --example 1 --row 9

mkdir web
awk 'BEGIN {
    print "node\tlabel\tfeatures" >"web/nodes.tsv"
    for (i = 0; i < 80; i++) {
        from = (i * 7 + 13) % 80
        print "n" i "\t" (from * 37 % 11 < 5 ? "low" : "high") "\t" (i * 37 % 11 < 5 ? 0 : 1) " " 2 + i % 5 >"web/nodes.tsv"
        print "n" from "\tn" i >"web/edges.tsv"
        print "n" (i * 5 + 1) % 80 "\tn" i >"web/edges.tsv"
    }
}'
made web tag web --layers 1 --epochs 20
run explain web.safetensors web
check "graph: exit status" exits_with 0
check "graph: a node with its answer and edges" grep -qE '^  n0 +(low|high) +0\.[0-9]{2} +[+-][0-9.e-]+ +n[0-9]+ [01]\.[0-9]{2,4}' out
check "graph: not all of it" says "the first 60 of 80 rows"
run explain web.safetensors web --row n7
check "graph: --row" [ "$(grep -c '^  n7 ' out)" -eq 1 ]
check "graph: --row: nothing else" [ "$(grep -c '^  n[0-9]' out)" -eq 1 ]
formats web web.safetensors web --row n7
check "web.tsv: rows sum to 1" rows_sum_to_one web.tsv
misuse "--row n99: no row has this name" explain web.safetensors web --row n99

awk 'BEGIN {
    print "name,smiles,alcohol"
    for (i = 0; i < 60; i++) print "m" i "," (i % 3 ? "" : "c1ccccc1") substr("CCCCCCCC", 1, 1 + i % 7) (i % 2 ? "CO" : "OC") "," i % 2
}' >molecules.csv
made molecule classify molecules.csv --input molecule --column alcohol --layers 1 --epochs 4
echo "CCOc1ccccc1" >one.smi
run explain molecule.safetensors one.smi
check "molecule: a file" exits_with 0
tail -n +2 out >from_file
run explain molecule.safetensors CCOc1ccccc1
check "molecule: as it is written" exits_with 0
check "molecule: atoms" grep -qE '^  O3 +[+-]' out
tail -n +2 out >written
check "molecule: the same both ways" cmp -s written from_file
run explain molecule.safetensors C
check "molecule: of one atom" grep -qE '^C → [01]   probability ' out
misuse "INPUT is empty" explain molecule.safetensors ""
run explain molecule.safetensors "C(C"
check "molecule: what is wrong: exit status" exits_with 1
check "molecule: no file, and what is wrong" complains "there is no file C(C"
check "molecule: where" complains "the molecule:1: position 2"
formats molecule molecule.safetensors CCOc1ccccc1
check "molecule.tsv: rows sum to 1" rows_sum_to_one molecule.tsv

# --- pictures and speech --------------------------------------------------------------------------------------------

# shellcheck disable=SC2059
bytes() { for byte in "$@"; do printf "\\x$(printf %02x "$byte")"; done; }
dict="{'descr': '|u1', 'fortran_order': False, 'shape': (30, 4, 8), }"
{
    bytes 147
    printf 'NUMPY'
    bytes 1 0 ${#dict} 0
    printf '%s' "$dict"
    # shellcheck disable=SC2046
    bytes $(awk 'BEGIN { for (i = 0; i < 30; i++) for (y = 0; y < 4; y++) for (x = 0; x < 8; x++)
        print (x < 4) == (i % 2 == 0) ? 180 + (i * 37 + y * 11 + x) % 70 : (i * 13 + y * 5 + x) % 60 }')
} >pictures.npy
awk 'BEGIN { for (i = 0; i < 30; i++) print i % 2 ? "right" : "left" }' >pictures.txt
made picture classify --input image pictures.npy pictures.txt --layers 1 --epochs 5 --patch 2
run explain picture.safetensors pictures.npy --example 2
check "picture: exit status" exits_with 0
check "picture: the answer" grep -qE '^pictures.npy, example 2 → (left|right)   probability 0\.[0-9]{4}$' out
check "picture: two rows of patches, weights and contributions" [ "$(grep -cE '^ +[04] │' out)" -eq 4 ]
check "picture: the most" says "most: "
run explain picture.safetensors pictures.npy --example 2 --color always
check "picture: half blocks" grep -qF "▀" out
run explain picture.safetensors pictures.npy --example 2 --matrix
check "picture: --matrix" grep -qE '^ *7 │' out
run explain picture.safetensors pictures.npy --example 2 --row 3
check "picture: what a patch looked at" says "what 3 looked at"
formats picture picture.safetensors pictures.npy --example 2
check "picture.tsv: rows sum to 1" rows_sum_to_one picture.tsv

# wav FILE HZ:SAMPLES...: tones one after another, of 8 bits.
wav() {
    local file=$1 tone count=0
    shift
    for tone in "$@"; do count=$((count + ${tone#*:})); done
    {
        printf 'RIFF'
        bytes $(((36 + count) & 255)) $(((36 + count) >> 8 & 255)) 0 0
        printf 'WAVEfmt '
        bytes 16 0 0 0 1 0 1 0 64 31 0 0 64 31 0 0 1 0 8 0
        printf 'data'
        bytes $((count & 255)) $((count >> 8 & 255)) 0 0
        for tone in "$@"; do
            awk -v hz="${tone%:*}" -v count="${tone#*:}" 'BEGIN {
                for (i = 0; i < count; i++) printf "%c", int(128.5 + 60 * sin(6.2831853 * hz * i / 8000)) }'
        done
    } >"$file"
}
mkdir sounds
wav sounds/0.wav 300:1000
run check sounds/0.wav
if complains "this attn was built without"; then
    echo "skipped: no recordings can be read"
else
    printf 'path\tlabel\n' >sounds.tsv
    for ((i = 0; i < 12; i++)); do
        a=$((3000 + i % 5 * 100)) b=$((3000 + i % 3 * 150))
        if ((i % 2)); then low=L high=H tones=("300:$a" "1800:$b"); else low=H high=L tones=("1800:$a" "300:$b"); fi
        wav sounds/$i.wav "${tones[@]}"
        printf '0 %d %s\n%d %d %s\n' $a $low $a $((a + b)) $high >sounds/$i.phn
        printf 'sounds/%d.wav\t%s\n' $i $low >>sounds.tsv
    done
    made segments tag sounds --input speech --layers 1 --epochs 5
    run explain segments.safetensors sounds/1.wav
    check "speech: exit status" exits_with 0
    check "speech: segments with times" grep -qE '^ +0\.[0-9]+ – 0\.[0-9]+ +[LH] +[01]\.[0-9]{2} ' out
    check "speech: what they looked at" grep -qE '^ +0\.[0-9]+ – 0\.[0-9]+ .*   0\.[0-9]{4} 0\.[0-9]{3}' out
    # shellcheck disable=SC2016
    check "speech: at most 80 columns" awk '{ gsub(/[\200-\277]/, "") } length($0) > 80 { exit 1 }' out
    formats segments segments.safetensors sounds/1.wav
    check "segments.tsv: rows sum to 1" rows_sum_to_one segments.tsv
    made heard classify sounds.tsv --input speech --column label --layers 1 --epochs 3
    run explain heard.safetensors sounds/1.wav
    check "speech: a class" grep -qE '^sounds/1.wav → [LH]   probability' out
    check "speech: a map over time" grep -qE '^ +0\.[0-9]+ +0\.[0-9]+' out
    check "speech: aligned" tables_align 80
fi

# --- steps and positions ----------------------------------------------------------------------------------------------

run explain --steps
check "--steps without a model" says '它 "it" looks most at 小猫 "kitten"'
run explain --steps tag.safetensors "$sentence" --row 3 --layer 1 --head 2
check "--steps: exit status" exits_with 0
check "--steps: the word" says "likes"
check "--steps: no control characters" no_control_characters out
run explain --steps tag.safetensors "$sentence" --row likes --layer 1 --head 2
check "--steps: by name" exits_with 0
run explain --steps tag.safetensors "$sentence" --row 3 -o steps.html
check "--steps: a page" grep -qi '<!doctype html>' steps.html
misuse "--steps prints text, or writes one page" explain --steps tag.safetensors "$sentence" -o steps.svg
misuse "this model has no attention" explain --steps rnn.safetensors "$sentence"
misuse "--head 3" explain --steps tag.safetensors "$sentence" --head 3
run explain --positions
check "--positions: exit status" exits_with 0
check "--positions: positions.svg" grep -q '<svg' positions.svg
run explain --positions tag.safetensors -o learned.svg
check "--positions of a model" exits_with 0
run explain --positions -o positions.tsv --length 7 --width 4
check "--positions: a table" [ -s positions.tsv ]
made distances tag s.conllu --dev s.conllu --layers 2 --epochs 1 --position relative
for layer in 1 2; do
    run explain --positions distances.safetensors --layer $layer -o "layer$layer.tsv"
    check "--positions --layer $layer" exits_with 0
done
check "--positions: layers differ" [ "$(cmp -s layer1.tsv layer2.tsv; echo $?)" -eq 1 ]

finish
