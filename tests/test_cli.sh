#!/bin/bash
# The program as a user meets it: help, mistakes, the built-in example, and the
# benchmark's JSON. ATTN_PROGRAM is the program to test.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

# Lines of at most 80 characters (UTF-8: bytes that do not continue one).
at_most_80_columns() {
    # shellcheck disable=SC2016
    awk '{ gsub(/[\200-\277]/, "") } length($0) > 80 { print "  too long: " $0; exit 1 }' "$folder/out"
}
no_control_characters() { ! tr -d '\n' <"$folder/$1" | grep -q "[[:cntrl:]]"; }

# --- help -------------------------------------------------------------------

run
check "bare: exit status" exits_with 0
check "bare: lists explain" says "  explain "
check "bare: lists bench" says "  bench "
check "bare: has an example" says "attn explain --steps"
cp "$folder/out" "$folder/bare"
run help
check "help is the bare text" cmp -s "$folder/out" "$folder/bare"
run --version
check "--version: exit status" exits_with 0
check "--version: a version" grep -Eqx 'attn [0-9]+\.[0-9]+\.[0-9]+' "$folder/out"
for command in explain bench eval predict info lab; do
    run help "$command"
    check "help $command: exit status" exits_with 0
    check "help $command: flags" says "--help"
    check "help $command: example" says "example"
    check "help $command: at most 80 columns" at_most_80_columns
    cp "$folder/out" "$folder/help"
    run "$command" --help
    check "$command --help is help $command" cmp -s "$folder/out" "$folder/help"
done

# --- messages of the library -------------------------------------------------

# The library names no flag of the program: cli/messages.c puts them into its messages.
# The sources without the places where a string goes on in the next line.
find "$SOURCE_DIR/src" -name '*.c' -print0 | xargs -0 cat | tr '\n' ' ' | sed 's/" *PRId64 *"//g; s/" *"//g' >"$folder/joined"
sed -n 's/^    {"\([^"]*\)", "[^"]*"},$/\1/p' "$SOURCE_DIR/cli/messages.c" >"$folder/phrases"
check "the phrases are found" [ -s "$folder/phrases" ]
while read -r phrase; do
    check "the library still says: $phrase" grep -qF -e "$phrase" "$folder/joined"
done <"$folder/phrases"

# --- mistakes ---------------------------------------------------------------

# mistake TEXT ARGUMENT...: exit status 2, the text on stderr, nothing on stdout.
mistake() {
    local text=$1
    shift
    run "$@"
    check "attn $*: exit status 2" exits_with 2
    check "attn $*: says '$text'" complains "$text"
    check "attn $*: nothing on stdout" silent out
}

mistake "did you mean explain?" explian
mistake "did you mean bench?" help bnch
mistake "there is no command zzzzzz" zzzzzz
mistake "did you mean --version?" --versoin
mistake "did you mean --causal?" explain --steps --casual
mistake "did you mean --threads?" bench --thread 2
mistake "--threads 0: must be a whole number from 1 to 1024" bench --threads 0
mistake "--threads 2x: must be" bench --threads=2x
mistake "--threads needs a value" bench --threads
mistake "--threads needs a value" bench --threads --json
mistake "--seconds nan: must be a number" bench --seconds nan
mistake "--seed 99999999999999999999: must be" bench --seed 99999999999999999999
mistake "--window -1: must be" explain --steps --window -1
mistake "--scale 0: must be" explain --steps --scale 0
mistake "--color blue: must be auto, always or never" explain --steps --color=blue
mistake "--json yes: this flag takes no value" bench --json=yes
mistake "--quick and --full: one of the two" bench --quick --full
mistake "did you mean attention?" bench atention
mistake "too many: gemm" bench attention gemm
mistake "is a part of attention" bench gemm --only decode
mistake "is a part of attention, not of graph" bench graph --only decode
mistake "is a part of graph, not of attention" bench attention --only hub
mistake "did you mean graph?" bench grap
mistake "attn explain --steps" explain
mistake "no text given: attn explain missing.safetensors TEXT" explain missing.safetensors
mistake "no text given: attn explain --steps missing.safetensors TEXT" explain --steps missing.safetensors
mistake "belong to --steps without a model" explain --steps missing.safetensors word --scale 1
mistake "-o with --steps is for a model" explain --steps -o steps.html
mistake "did you mean --layer?" explain missing.safetensors word --lyer 1
mistake "--layer 0: must be a whole number" explain missing.safetensors word --layer 0
mistake "--view heat: must be weights, rollout or gradient" explain missing.safetensors word --view heat
mistake "rollout is over all heads" explain missing.safetensors word --view rollout --head 1
mistake "-o x.gif: its ending selects the format" explain missing.safetensors word -o x.gif
mistake "-o must be a file" explain missing.safetensors word -o -
mistake "-o is for one example" explain missing.safetensors a b -o x.svg
mistake "--example or --id" explain missing.safetensors a --example 1 --id b
mistake "need --positions" explain missing.safetensors a --length 3
mistake "--positions writes .svg" explain --positions -o x.html
mistake "--positions takes a model, or nothing" explain --positions a b
mistake "--steps or --positions" explain --positions --steps
mistake "--json prints the explanation" explain missing.safetensors a --json -o x.json
mistake "--window belong to --steps" explain missing.safetensors word --causal
mistake "there is no flag -x" explain -x

# What a user typed is shown escaped, never obeyed by the terminal.
nasty=$(printf 'a\033[31m\007b\302\233c\377')
for arguments in "$nasty" "explain $nasty" "explain --$nasty" "bench --threads $nasty" "bench $nasty"; do
    # shellcheck disable=SC2086
    run $arguments
    check "control characters in an argument: exit status 2" exits_with 2
    check "control characters in an argument are escaped" complains '\x1b[31m\x07b\x9bc\xff'
    check "control characters in an argument do not get out" no_control_characters err
done
ATTN_ISA=$nasty run explain --steps
check "an unknown instruction set: exit status 1" exits_with 1
check "an unknown instruction set is named, escaped" complains '\x1b[31m'
run bench --isa avx9
check "--isa avx9: exit status 1" exits_with 1
check "--isa avx9: named" complains "avx9"

if [ -w /dev/full ]; then
    "$program" >/dev/full 2>"$folder/err"
    status=$?
    check "a full disk: exit status 1" exits_with 1
    check "a full disk: said" complains "cannot write the output"
fi

# --- explain ----------------------------------------------------------------

# numbers_of LABEL NTH: the numbers of the n-th table row that starts with LABEL.
numbers_of() {
    awk -v label="$1" -v nth="$2" 'index($0, "  " label " ") == 1 && index($0, "│") && ++seen == nth {
        sub(/.*│/, ""); $1 = $1; print }' "$folder/out"
}

# softmax SCALE SCORE...: by its definition, to 3 digits.
softmax() {
    awk 'BEGIN { for (i = 2; i < ARGC; i++) total += exp(ARGV[1] * ARGV[i])
        for (i = 2; i < ARGC; i++) printf "%s%.3f", (i > 2 ? " " : ""), exp(ARGV[1] * ARGV[i]) / total
        print "" }' "$@"
}

same() { [ "$1" = "$2" ] || { echo "  '$1' is not '$2'"; false; }; }

# Display width of every line: Chinese characters (lead bytes e4 .. e9) take two
# cells, other characters one. Lines of a table (neighbours with │) are equal.
tables_align() {
    awk 'BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i }
        function width(line,    i, c, cells) {
            for (i = 1; i <= length(line); i++) {
                c = code[substr(line, i, 1)]
                if (c >= 128 && c < 192) continue
                cells += c >= 228 && c <= 233 ? 2 : 1
            }
            return cells
        }
        index($0, "│") { if (expected && width($0) != expected) { print "  uneven: " $0; bad = 1 }
                         expected = width($0); lines++; next }
        { expected = 0 }
        END { exit bad || lines < 30 }' "$folder/out"
}

run explain --steps
check "explain: exit status" exits_with 0
check "explain: nothing on stderr" silent err
check "explain: no escape codes in a pipe" no_control_characters out
check "explain: the first word's scores" same "$(numbers_of 'q·k' 1)" "7 5 4 9 11"
check "explain: scaled by 1/2" same "$(numbers_of 'q·k ÷ √4' 1)" "3.50 2.50 2.00 4.50 5.50"
for word in 1 2 3 4 5; do
    # The word's scores are in every second row that begins with q·k.
    # shellcheck disable=SC2046
    check "explain: weights of word $word" same "$(numbers_of softmax $word)" \
        "$(softmax 0.5 $(numbers_of 'q·k' $((2 * word - 1))))"
done
check "explain: it looks at the kitten" says '它 "it" looks most at 小猫 "kitten"'
check "explain: shades" says "███0.632"
check "explain: tables align" tables_align
check "explain: at most 80 columns" at_most_80_columns
cp "$folder/out" "$folder/steps"

NO_COLOR=1 run explain --steps --color=always
check "--color=always: escape codes" grep -q "$(printf '\033\\[38;5;')" "$folder/out"
check "--color=always: the palette" grep -q "$(printf '48;5;')" "$folder/out"
sed "s/$(printf '\033')\[[0-9;]*m//g" "$folder/out" >"$folder/bleached" && mv "$folder/bleached" "$folder/out"
check "--color=always: tables align" tables_align
COLORTERM=truecolor run explain --steps --color always
check "--color=always: 24 bits" grep -q "$(printf '48;2;')" "$folder/out"
run explain --steps --color=never
check "--color=never is what a pipe gets" cmp -s "$folder/out" "$folder/steps"

run explain --steps --scale 1
# shellcheck disable=SC2046
check "--scale 1: plain dot product" same "$(numbers_of softmax 1)" "$(softmax 1 7 5 4 9 11)"
run explain --steps --causal
check "--causal: the first word sees itself" same "$(numbers_of softmax 1)" "1.000 · · · ·"
check "--causal: the last word sees all" same "$(numbers_of softmax 5 | grep -c '·')" "0"
check "--causal: tables align" tables_align
run explain --steps --window 1
check "--window 1: the first word" same "$(numbers_of softmax 1)" "$(softmax 0.5 7 5) · · ·"
check "--window 1: the third word" same "$(numbers_of 'q·k' 5 | awk '{ print $1, $5 }')" "· ·"
run explain --steps --window 1 --causal
check "--window 1 --causal: the first word" same "$(numbers_of softmax 1)" "1.000 · · · ·"

# --- bench ------------------------------------------------------------------

# Every line is one flat JSON object.
text='"([^"\\]|\\.)*"'
number='-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?'
pair="\"[a-z_]+\":($text|$number|null)"
is_json() { [ -s "$folder/out" ] && ! grep -Evq "^\{$pair(,$pair)*\}\$" "$folder/out"; }

# every_line_has KEY...
every_line_has() {
    local key
    for key in "$@"; do
        if grep -qv "\"$key\":" "$folder/out"; then
            echo "  a line lacks $key"
            return 1
        fi
    done
}

# Speeds follow from the times and the work, and fractions from the peak.
speeds_hold() {
    awk 'function value(key,    rest) {
            rest = $0
            if (!sub(".*\"" key "\":", "", rest)) return ""
            sub(/[,}].*/, "", rest)
            gsub(/"/, "", rest)
            return rest
        }
        function near(a, b) { return a > 0.999 * b && a < 1.001 * b }
        {
            n = value("n"); pairs = n * n
            if (value("pattern") == "causal") pairs = n * (n + 1) / 2
            if (value("queries") == 1) pairs = n
            work = (value("direction") == "forward" ? 4 : 10) * value("d") * value("heads") * pairs
            if (value("op") == "gemm") work = 2 * value("m") * value("n") * value("k")
            if (!near(value("gflops") * value("ms") * 1e6, work)) { print "  work: " $0; bad = 1 }
            off = value("gflops") / value("peak_gflops") - value("peak_fraction")
            if (off > 1e-4 || off < -1e-4) { print "  peak: " $0; bad = 1 }
            if (value("median_ms") + 0 < value("ms") + 0) { print "  median: " $0; bad = 1 }
        }
        END { exit bad || NR == 0 }' "$folder/out"
}

lines() { same "$(grep -c "$1" "$folder/out")" "$2"; }

run bench attention --json --longest 128 --seconds 0.001 --threads 1
check "bench attention: exit status" exits_with 0
check "bench attention: nothing on stderr" silent err
check "bench attention: JSON" is_json
check "bench attention: keys" every_line_has op direction pattern n d heads threads ms gflops peak_fraction isa median_ms
check "bench attention: speeds" speeds_hold
check "bench attention: forward" lines '"direction":"forward".*"series":"grid"' 4
check "bench attention: backward" lines '"direction":"backward".*"series":"grid"' 4
check "bench attention: causal" lines '"pattern":"causal"' 4
check "bench attention: rounds beside the peak" lines '"series":"grid".*"rounds":[1-9]' 8
check "bench attention: short sequences" lines '"n":[0-9]*,.*"naive_ms":[0-9].*"speedup":[0-9]' 7
check "bench attention: one thread" lines '"threads":1,' 15

run bench gemm --quick --json --seconds 0.001
check "bench --quick: all threads only" lines '"op":"gemm"' 9

run bench attention --only decode --json --seconds 0.001 --threads 2
check "bench decode: exit status" exits_with 0
check "bench decode: JSON" is_json
check "bench decode: keys" every_line_has op direction pattern n d heads threads ms bytes_per_second bandwidth_fraction
check "bench decode: speeds" speeds_hold
check "bench decode: one query, 8192 keys" lines '"n":8192,"queries":1,"keys":8192' 1

run bench gemm --json --seconds 0.001 --threads 2
check "bench gemm: exit status" exits_with 0
check "bench gemm: JSON" is_json
check "bench gemm: keys" every_line_has op direction m n k threads ms gflops peak_fraction isa
check "bench gemm: speeds" speeds_hold
check "bench gemm: shapes" lines '"op":"gemm"' 54
check "bench gemm: gradients of weights" lines '"direction":"d_weight"' 18

# Of graphs: bytes follow from the edges, fractions of the copy bandwidth from bytes and times.
graph_bytes_hold() {
    awk 'function value(key,    rest) {
            rest = $0
            if (!sub(".*\"" key "\":", "", rest)) return ""
            sub(/[,}].*/, "", rest)
            gsub(/"/, "", rest)
            return rest
        }
        function near(a, b) { return a > 0.999 * b && a < 1.001 * b }
        value("pattern") == "graph" {
            rows = value("queries"); columns = value("keys"); edges = value("edges")
            gat = value("score") == "gat"; numbers = 4 * value("heads"); vector = numbers * value("d")
            edge = 4 + vector + (gat ? numbers : vector)
            forward = edges * edge + rows * (8 + 2 * vector + numbers)
            if (gat) forward += rows * numbers + columns * (vector + numbers)
            backward = 2 * edges * (edge + numbers) + rows * (8 + 4 * vector + numbers) + columns * (8 + 4 * vector)
            bytes = value("direction") == "forward" ? forward : \
                value("direction") == "backward" ? backward : forward + backward
            if (value("bytes") != bytes) { print "  bytes: " $0; bad = 1 }
            if (!near(value("bytes_per_second") * value("ms"), 1e3 * bytes)) { print "  speed: " $0; bad = 1 }
            off = value("bytes_per_second") / value("copy_bytes_per_second") - value("bandwidth_fraction")
            if (off > 1e-4 || off < -1e-4) { print "  fraction: " $0; bad = 1 }
            seen++
        }
        END { exit bad || seen == 0 }' "$folder/out"
}

run bench graph --json --nodes 500 --seconds 0.001 --threads 2
check "bench graph: exit status" exits_with 0
check "bench graph: nothing on stderr" silent err
check "bench graph: JSON" is_json
check "bench graph: a training step" \
    grep -qE '"series":"step".*"rows":1000,.*"peak_memory_bytes":[1-9]' "$folder/out"
sed -i '/"series":"step"/d' "$folder/out"
check "bench graph: keys" every_line_has op direction pattern series score n d heads threads ms gflops extra_memory_bytes
check "bench graph: edges" lines '"edges":8000,.*"bytes":[0-9]*,.*"bandwidth_fraction":[0-9]' 6
check "bench graph: one node with all neighbours" lines '"queries":1,"keys":5000,.*"edges":5000,' 6
check "bench graph: additive score" lines '"score":"additive","n":512,' 6
check "bench graph: the two together" lines '"direction":"forward+backward"' 6
check "bench graph: bytes" graph_bytes_hold
ATTN_THREADS=2 run bench graph --only random --nodes 100 --seconds 0.001
check "bench graph --only random: exit status" exits_with 0
check "bench graph --only random: at most 80 columns" at_most_80_columns

ATTN_THREADS=2 run bench --only short --seconds 0.001
check "bench: exit status" exits_with 0
check "bench: names the peak" says "GFLOP/s FMA peak"
check "bench: both numbers of threads" says "2 threads"
check "bench: at most 80 columns" at_most_80_columns
ATTN_THREADS=2 run bench --only short --seconds 0.001 --quiet
check "bench --quiet: no heading" same "$(grep -c 'FMA peak' "$folder/out")" "0"

finish
