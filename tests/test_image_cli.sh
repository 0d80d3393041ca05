#!/bin/bash
# Images as a user meets them: IDX, arrays, folders and lists are checked, learned from, evaluated and predicted on.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

left=iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAEElEQVR42mP49YGLlQGVAABWhgfloHcnAgAAAABJRU5ErkJggg==
right=iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAEElEQVR42mPgYv31gQGVAABHrgflZVt45gAAAABJRU5ErkJggg==
wide=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAECAAAAACWpiEsAAAADklEQVR42mPghAIG3AwAFGQBIWRZZLYAAAAASUVORK5CYII=

# bytes NUMBER...: as they are.
# shellcheck disable=SC2059
bytes() { for byte in "$@"; do printf "\\x$(printf %02x "$byte")"; done; }

# pictures COUNT FIRST: 4 x 4 pixels each, bright on the left in every second one; the samples.
pictures() {
    for ((i = 0; i < $1; i++)); do
        for ((y = 0; y < 4; y++)); do
            a=$((180 + (i * 37 + y * 11 + $2) % 70)) b=$(((i * 13 + y * 5 + $2) % 60))
            if ((i % 2 == 0)); then echo "$a" "$a" "$b" "$b"; else echo "$b" "$b" "$a" "$a"; fi
        done
    done
}
# shellcheck disable=SC2046
idx() { { bytes 0 0 8 3 0 0 0 "$2" 0 0 0 4 0 0 0 4; bytes $(pictures "$2" "$3"); } >"$1"; }
labels() { { bytes 0 0 8 1 0 0 0 "$2"; for ((i = 0; i < $2; i++)); do bytes $((i % 2)); done; } >"$1"; }
# shellcheck disable=SC2046
npy() {
    local dict="{'descr': '|u1', 'fortran_order': False, 'shape': ($2, 4, 4), }"
    { bytes 147; printf 'NUMPY'; bytes 1 0 ${#dict} 0; printf '%s' "$dict"; bytes $(pictures "$2" "$3"); } >"$1"
}

idx train-images-idx3-ubyte 40 0
labels train-labels-idx1-ubyte 40
idx t10k-images-idx3-ubyte 10 3
labels t10k-labels-idx1-ubyte 10

# --- check ---

run check train-images-idx3-ubyte
check "check: exit status" exits_with 0
check "check: the kind follows from the name" says "train-images-idx3-ubyte: IDX, 40 pictures"
check "check: size" grep -qE 'height x width +4 x 4 +40 pictures' out
check "check: the classes" says "label: 2 classes"
run check t10k-images-idx3-ubyte t10k-labels-idx1-ubyte --input image --json
check "check: two files, JSON" says '"examples":10,"sizes":{"count":1,'
head -c 100 train-images-idx3-ubyte >cut-images-idx3-ubyte
run check cut-images-idx3-ubyte
check "check: cut off: exit status" exits_with 1
check "check: cut off" complains "has a header with 640 bytes of numbers, and 84 follow it: it is cut off"

# --- IDX ---

run train classify train-images-idx3-ubyte -o idx.safetensors --width 16 --heads 2 --layers 1 --threads 2 \
    --patience 0 --learning-rate 0.01 --epochs 20 --batch 64 --patch 2 --shift 1 --quiet
check "idx: trained" exits_with 0
run eval idx.safetensors t10k-images-idx3-ubyte
check "idx: eval" says "on t10k-images-idx3-ubyte: 10 examples"
check "idx: learned" grep -qE '^accuracy +1\.0000' out
run predict idx.safetensors t10k-images-idx3-ubyte
check "idx: number, label and probability" grep -qE $'^1\t1\t[01]\\.[0-9]{4}$' out
cut -f1,2 out >answers
gzip -k t10k-images-idx3-ubyte
run predict idx.safetensors t10k-images-idx3-ubyte.gz
check "idx: the same from gzip" cmp -s <(cut -f1,2 out) answers
"$program" predict idx.safetensors <t10k-images-idx3-ubyte >out 2>err
check "idx: the same from standard input" cmp -s <(cut -f1,2 out) answers
npy x.npy 10 3
run predict idx.safetensors x.npy
check "idx: the same from an array" cmp -s <(cut -f1,2 out) answers
run predict idx.safetensors x.npy --json
check "idx: JSON" says '{"line":1,"outputs":{"label":"0"},"probabilities":{"label":{'
run info idx.safetensors
check "idx: info" says "image"

# --- arrays: numbers and texts ---

npy train.npy 40 0
for ((i = 0; i < 40; i++)); do echo $((i % 2 * 10)); done >numbers.txt
for ((i = 0; i < 40; i++)); do if ((i % 2)); then echo "on the right"; else echo left; fi; done >texts.txt
small="--width 16 --heads 2 --layers 1 --threads 2 --patience 0 --learning-rate 0.01 --batch 64 --patch 2 --quiet"
# shellcheck disable=SC2086
run train regress --input image train.npy numbers.txt -o number.safetensors --epochs 30 $small
check "regress: trained" exits_with 0
run predict number.safetensors x.npy
check "regress: number TAB number" grep -qE $'^9\t[0-9.e-]+$' out
# shellcheck disable=SC2086
run train seq2seq --input image train.npy texts.txt -o text.safetensors --epochs 60 $small
check "seq2seq: trained" exits_with 0
run predict text.safetensors x.npy
check "seq2seq: texts of their own length" is \
    '0\tleft\n1\ton the right\n2\tleft\n3\ton the right\n4\tleft\n5\ton the right\n6\tleft\n7\ton the right\n8\tleft\n9\ton the right\n'
run explain text.safetensors x.npy
check "seq2seq: explain: exit status" exits_with 0
check "seq2seq: explain: the answers" says "→ on the right"
printf 'RIFF\44\0\0\0WAVEfmt ' >sound
run predict text.safetensors sound
check "seq2seq: a recording is no list" complains "sound: is not a known picture format"
# shellcheck disable=SC2086
run train tag --input image train.npy numbers.txt -o tag.safetensors $small
check "tag: exit status" exits_with 1
check "tag: refused" complains "task tag needs a target for each patch"
run train lm --input image train.npy -o lm.safetensors
check "lm: refused" complains "the patches of a picture are no symbols"
# shellcheck disable=SC2086
run train classify --input image train.npy numbers.txt --size 3x -o size.safetensors $small
check "size: refused" complains 'image.size is "3x"'

# --- PNG: folders, lists, one picture ---

mkdir -p pictures/left pictures/right
for i in 1 2 3 4 5 6; do
    base64 -d <<<"$left" >pictures/left/$i.png
    base64 -d <<<"$right" >pictures/right/$i.png
done
run check pictures
if complains "built without libpng"; then
    check "png: what is missing is said" exits_with 1
    finish
    exit
fi
check "png: a folder per label" says "pictures: a folder, 12 pictures"
check "png: duplicates" says "10 pictures repeat earlier ones"
# shellcheck disable=SC2086
run train classify pictures --dev pictures -o png.safetensors --epochs 40 $small
check "png: trained" exits_with 0
run eval png.safetensors pictures
check "png: learned" grep -qE '^accuracy +1\.0000' out
run predict png.safetensors pictures/right/1.png
check "png: one picture" grep -qE $'^pictures/right/1.png\tright\t[01]\\.[0-9]{4}$' out
"$program" predict png.safetensors <pictures/left/1.png >out 2>err
check "png: one picture from standard input" grep -qE $'^standard input\tleft\t' out
run predict png.safetensors pictures
check "png: a folder" [ "$(grep -c right/ out)" = 6 ]
printf 'path\tlabel\nleft/1.png\tleft\nno.png\tleft\nright/1.png\tright\n' >pictures/list.tsv
run eval png.safetensors pictures/list.tsv
check "list: exit status" exits_with 1
check "list: what cannot be opened, and where" complains "pictures/list.tsv:3: pictures/no.png: cannot be opened"
run predict png.safetensors pictures/list.tsv
check "list: what stands before is answered" grep -qE $'^left/1.png\tleft\t' out
check "list: and the error comes" complains "pictures/list.tsv:3: pictures/no.png: cannot be opened"
run predict png.safetensors --format list pictures/list.tsv
check "list: the same line by line" grep -qE $'^left/1.png\tleft\t' out
run check --input image pictures/list.tsv
check "list: check counts it" exits_with 1
check "list: check says it" says "pictures/no.png: cannot be opened"
# shellcheck disable=SC2086
run train classify pictures --dev pictures -o few.safetensors --epochs 1 $small --config <(echo '{"image": {"longest": 4}}')
check "png: few patches: trained" exits_with 0
base64 -d <<<"$wide" >wide.png
run predict few.safetensors wide.png
check "png: too large for a model, named once" complains "attn predict: wide.png: the picture has 8 patches of 2 x 2"
head -c 60 pictures/left/1.png >pictures/left/7.png
# shellcheck disable=SC2086
run train classify pictures -o bad.safetensors $small
check "png: a cut file: exit status" exits_with 1
check "png: a cut file" complains "pictures/left/7.png: is cut off"
# shellcheck disable=SC2086
run train classify pictures --dev pictures -o bad.safetensors $small --skip-bad --epochs 2
check "png: a cut file is left out" exits_with 0

# --- stopped and gone on with ---

# shellcheck disable=SC2086
run train classify train-images-idx3-ubyte -o whole.safetensors $small --steps 30 --erase 0.5 --keep-last
# shellcheck disable=SC2086
run train classify train-images-idx3-ubyte -o parts.safetensors $small --steps 30 --erase 0.5 --keep-last --resume
check "the same twice" cmp -s whole.safetensors parts.safetensors

finish
