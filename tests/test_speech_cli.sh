#!/bin/bash
# Speech as a user meets it: lists, folders and single recordings are checked, learned from, evaluated and
# predicted on.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# number VALUE BYTES: its bytes, the lowest first.
number() {
    local value=$1 i
    for ((i = 0; i < $2; i++)); do
        # shellcheck disable=SC2059
        printf "\\$(printf %03o $((value >> 8 * i & 255)))"
    done
}

# wav FILE RATE HZ:SAMPLES...: tones one after another, of 8 bits.
wav() {
    local file=$1 rate=$2 tone count=0
    shift 2
    for tone in "$@"; do count=$((count + ${tone#*:})); done
    {
        printf 'RIFF'
        number $((36 + count)) 4
        printf 'WAVEfmt '
        number 16 4
        number 1 2
        number 1 2
        number "$rate" 4
        number "$rate" 4
        number 1 2
        number 8 2
        printf 'data'
        number "$count" 4
        for tone in "$@"; do
            awk -v hz="${tone%:*}" -v count="${tone#*:}" -v rate="$rate" 'BEGIN {
                for (i = 0; i < count; i++) printf "%c", int(128.5 + 60 * sin(6.2831853 * hz * i / rate))
            }'
        done
    } >"$file"
}

wav first.wav 8000 300:1000
run check first.wav
if complains "this attn was built without"; then
    echo "skipped: no recordings can be read"
    exit 0
fi

# Low and high tones: the class of a recording is its first, its segments are both, its text their letters.
mkdir -p sounds tree/low tree/high
printf 'path\tlabel\ttext\tlevel\n' >made.tsv
for i in $(seq 0 23); do
    a=$((800 + i % 5 * 100)) b=$((1000 + i % 3 * 150))
    if ((i % 2)); then
        wav "sounds/$i.wav" 8000 300:$a 1800:$b
        printf 'sounds/%d.wav\tlow\tlh\t1.5\n' "$i" >>made.tsv
        printf '0 %d L\n%d %d H\n' $a $a $((a + b)) >"sounds/$i.phn"
        cp "sounds/$i.wav" tree/low/
    else
        wav "sounds/$i.wav" 8000 1800:$a 300:$b
        printf 'sounds/%d.wav\thigh\thl\t-1\n' "$i" >>made.tsv
        printf '0 %d H\n%d %d L\n' $a $a $((a + b)) >"sounds/$i.phn"
        cp "sounds/$i.wav" tree/high/
    fi
done
sed 1d made.tsv | awk -F'\t' '{ path = $1; sub(/wav$/, "phn", path); print $1 "\t" path }' >segments.tsv

# --- check ---

run check made.tsv --input speech
check "check: exit status" exits_with 0
check "check: what it is" says "made.tsv: a list, 24 recordings, "
check "check: rate" says "rate: 8,000 Hz"
check "check: classes" says "label: 2 classes"
run check segments.tsv --input speech
check "check: segments" says ", 48 segments"
run check <(sed "s,^sounds,$folder/sounds," made.tsv) --input speech
check "check: a list from a pipe" says ": a list, 24 recordings, "
run check tree --input speech --json
check "check: a folder" says '"format":"folder","labelled":true,"examples":24'
run check tree
check "check: a folder of recordings is known by what is in it" says "tree: a folder, 24 recordings"
ln -s . tree/low/again
run check tree
check "check: folders without an end" complains "tree: has folders in folders, more than 8 deep, at low/again/"
rm tree/low/again
run check sounds/1.wav
check "check: a recording is known by its name" says "a recording, 1 recording, "
check "check: a recording has no targets" says "no targets"
{
    cat made.tsv
    printf 'sounds/none.wav\tlow\tx\t1\n'
    printf 'made.tsv\tlow\tx\t1\n'
} >bad.tsv
: >sounds/empty.wav
printf 'sounds/empty.wav\tlow\tx\t1\n' >>bad.tsv
head -c 30 sounds/1.wav >sounds/cut.wav
printf 'sounds/cut.wav\tlow\tx\t1\n' >>bad.tsv
head -c 900 sounds/1.wav >sounds/less.wav
printf 'sounds/less.wav\tlow\tx\t1\n' >>bad.tsv
printf '%0300d.wav\tlow\tx\t1\n' 0 >>bad.tsv
run check bad.tsv --input speech
check "check: bad files: exit status" exits_with 1
check "check: bad files: counted" says "6 examples are wrong and left out:"
check "check: a recording that is cut" says \
    "  bad.tsv:30: sounds/less.wav: has a header with 2050 bytes of samples, and 856 follow it: it is cut off"
check "check: a long name leaves room for the reason" says "000.wav: cannot be opened: File name too long"
check "check: a file that is not there" says "  bad.tsv:26: sounds/none.wav: cannot be opened: No such file"
check "check: a file that is no sound" says "  bad.tsv:27: made.tsv: cannot be read"
check "check: an empty file" says "  bad.tsv:28: sounds/empty.wav: is empty"
check "check: a file that is cut" says "  bad.tsv:29: sounds/cut.wav: cannot be read"
wav sounds/stretch.wav 8000 300:1000
printf 'sounds/1.wav\tsounds/1.phn\nsounds/2.wav\tover.phn\nsounds/3.wav\tback.phn\nsounds/4.wav\tpast.phn\n' >wrong.tsv
printf '0 500 L\n400 600 H\n' >over.phn
printf '500 400 L\n' >back.phn
printf '0 99999 L\n' >past.phn
run check wrong.tsv --input speech
check "check: segments that overlap" says "over.phn:2: a segment begins at 400, before that of line 1 ends (500)"
check "check: segments that run backwards" says "back.phn:1: a segment runs backwards, from 500 to 400"
check "check: segments past the end" says "past.phn:1: a segment ends at 99999, the recording has"
printf 'sounds/\33[31m.wav\tlow\n' >escape.tsv
run check escape.tsv --input speech
check "no escape reaches the terminal" [ "$(cat out err | grep -c "$(printf '\33')")" -eq 0 ]

# --- a class ---

run train classify bad.tsv --input speech -o no.safetensors --steps 1 --quiet
check "train: a bad file: exit status" exits_with 1
check "train: a bad file: where" complains "attn train: bad.tsv:26: sounds/none.wav: cannot be opened"
check "train: a bad file: no model" [ ! -e no.safetensors ]
run train classify bad.tsv --input speech -o some.safetensors --steps 1 --skip-bad
check "train: --skip-bad: exit status" exits_with 0
check "train: --skip-bad: says so" complains "6 bad"
train class classify made.tsv --input speech --epochs 30 --batch 300 --bins 20
run eval class.safetensors made.tsv
check "class: eval" says "accuracy             1.0000"
run eval class.safetensors tree
check "class: eval of a folder" says "accuracy             1.0000"
run predict class.safetensors sounds/1.wav
check "class: a recording" grep -qE "^sounds/1.wav	low	(1.0000|0.[5-9][0-9]*)$" out
cp out alone
printf 'sounds/1.wav\n' | "$program" predict class.safetensors >out
check "class: a list of paths from standard input" cmp -s out alone
"$program" predict class.safetensors <sounds/1.wav >out
check "class: a recording from standard input" [ "$(cut -f 2,3 out)" = "$(cut -f 2,3 alone)" ]
run predict class.safetensors made.tsv
check "class: a list" [ "$(cut -f 2 out | tr '\n' ' ')" = "$(sed 1d made.tsv | cut -f 2 | tr '\n' ' ')" ]
run predict class.safetensors tree
check "class: a folder" [ "$(grep -c '^tree/low/.*	low	' out)" -eq 12 ]
run predict class.safetensors sounds/1.wav --json
check "class: JSON" says '"id":"sounds/1.wav","outputs":{"label":"low"}'
printf 'sounds/1.wav\nsounds/none.wav\n' >half.tsv
run predict class.safetensors half.tsv
check "class: a bad file ends it" exits_with 1
check "class: what stands before it is answered" [ "$(cat out)" = "$(cat alone)" ]
check "class: a bad file is named" complains "half.tsv:2: sounds/none.wav: cannot be opened"
run predict class.safetensors sounds/1.wav --frames
check "class: --frames writes the class" says "sounds/1.wav	low	"

# What is no recording, and headers that no recording has.
printf '\211PNG\r\n\32\n\0\0\0\rIHDR' >picture
run predict class.safetensors picture
check "class: a picture is no list" complains "picture: cannot be read"
wav still.wav 8000 300:0
run predict class.safetensors still.wav
check "class: a name stands once in an error" complains "attn predict: still.wav: has no samples"
for rate in 0 1000000000; do
    wav rate.wav $rate 300:100
    run predict class.safetensors rate.wav
    check "class: a rate of $rate" complains "rate.wav: has a rate of $rate samples per second: it can be 100 to 1000000"
done
{ head -c 40 sounds/1.wav; number 2147483000 4; tail -c +45 sounds/1.wav; } >promise.wav
run predict class.safetensors promise.wav
check "class: 2 GB stand in headers of pipes" cmp -s <(cut -f 2- out) <(cut -f 2- alone)
run explain class.safetensors sounds/1.wav
check "class: explain: the answer" grep -qE '^sounds/1.wav → low   probability [01]\.[0-9]{4}$' out

# Another rate is resampled.
wav fine.wav 16000 300:2000 1800:2000
run predict class.safetensors fine.wav
check "class: another rate" says "fine.wav	low	"

# --- labels of frames ---

train tag tag segments.tsv --input speech --epochs 30 --batch 300 --bins 20
run eval tag.safetensors segments.tsv
check "tag: eval" grep -qE '^accuracy +(1.0000|0.9[0-9]+)  \([01]\.[0-9]{4}–[01]\.[0-9]{4}\)$' out
run predict tag.safetensors sounds/1.wav
check "tag: segments" [ "$(cut -f 4 out | tr '\n' ' ')" = "L H " ]
check "tag: from the beginning" grep -qE "^sounds/1.wav	0.0000	0.1[0-9]{3}	L	[01].[0-9]{4}$" out
run predict tag.safetensors sounds/1.wav --frames
check "tag: frames" [ "$(wc -l <out)" -eq $((1 + (2050 - 200) / 80)) ]
check "tag: their times" [ "$(head -n 2 out | cut -f 2 | tr '\n' ' ')" = "0.0125 0.0225 " ]
run predict tag.safetensors sounds/1.wav --json
check "tag: JSON" says '"outputs":{"label":[{"start":0.0000,"end":0.1'
run predict tag.safetensors sounds/1.wav --plain
check "tag: --plain" grep -qE '^0.0125	L' out

# --- texts and numbers ---

train text seq2seq made.tsv --input speech --epochs 60 --batch 100 --bins 20
run predict text.safetensors sounds/1.wav
check "text: path and text" is "sounds/1.wav\tlh\n"
run predict text.safetensors sounds/1.wav --n-best 2
check "text: the likeliest ones" grep -qE '^1	-?[0-9.]+	lh$' out
run explain text.safetensors sounds/1.wav
check "text: explain: exit status" exits_with 0
check "text: explain: name and answer" says "sounds/1.wav → lh"
run explain text.safetensors none.wav
check "text: explain: a file that is not there" complains "attn explain: none.wav: cannot be opened"
train number regress made.tsv --input speech --column level --epochs 30 --batch 300 --bins 20
run predict number.safetensors sounds/1.wav
check "number: path and number" grep -qE '^sounds/1.wav	1.[2-7]' out

# --- what it says of itself ---

run train seq2seq made.tsv --input speech --output ctx -o no.safetensors --quiet
check "train: a misspelt kind of output: exit status" exits_with 2
check "train: a misspelt kind of output" complains "two are given: the first is ctx"
check "train: the kinds of output" complains "ctc"

run train classify sounds/1.wav -o no.safetensors --quiet
check "train: one recording" complains "sounds/1.wav: is one recording without a target"
run train lm made.tsv --input speech -o no.safetensors --quiet
check "train: lm" complains "rows of input speech are no symbols"
run predict class.safetensors made.tsv --format folder
check "predict: a list is no folder" complains "made.tsv: is no folder, but the format (--format) is folder"
run info class.safetensors
check "info: the kind" says "speech"
check "the rate is in the model" grep -qaE 'rate[\\": ]+8000' class.safetensors
finish
