#!/bin/bash
# Plain vectors as a user meets them: arrays and tables are checked, learned from, evaluated and predicted on.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# npy FILE SHAPE BYTE...: an array of single bytes with a sign.
npy() {
    local file=$1 dict="{'descr': '|i1', 'fortran_order': False, 'shape': $2, }"
    shift 2
    # shellcheck disable=SC2059
    {
        printf '\x93NUMPY\x01\x00'
        printf "\\x$(printf %02x ${#dict})\\x00"
        printf '%s' "$dict"
        for byte in "$@"; do printf "\\x$(printf %02x $((byte & 255)))"; done
    } >"$file"
}

# A point is in or out by its first number; what comes out of the second says nothing.
awk 'BEGIN {
    for (i = 0; i < 120; i++) {
        x = (i * 37) % 41 - 20
        if (i % 4 == 0) n++
        print "s" n "," x "," (i * 13) % 7 "," (x > 0 ? "in" : "out")
    }
}' >body
{ echo "sequence,x,noise,label"; cat body; } >rows.csv
{ echo "x,noise,label"; cut -d, -f2- body; } >single.csv
awk -F, 'NR == 1 || $1 != before { before = $1; sign = $2 }
         { print $1 "," $2 "," $3 "," (sign > 0 ? "up" : "down") }' body >first
{ echo "sequence,x,noise,label"; cat first; } >sequences.csv

# --- check ---

run check rows.csv --input vectors
check "check: exit status" exits_with 0
check "check: what it is" says "rows.csv: a table, 30 sequences, 120 rows of 2 numbers"
check "check: the classes" says "label: 2 classes"
npy x.npy "(3, 2)" 15 1 -15 2 9 3
run check x.npy
check "check: the kind follows from the name" says "x.npy: an array of NumPy, 3 sequences, 3 rows of 2 numbers"
check "check: why it cannot be learned from" says "no targets: it can be used for prediction, not"
run check x.npy --json
check "check: JSON" says '"examples":3,"rows":3,"width":2'
echo hello >no.npy
run check no.npy
check "check: not an array: exit status" exits_with 1
check "check: not an array: says so" complains "no.npy: is named like a NumPy array but is not one: save"
npy cut.npy "(3, 2)" 1 2 3
run check cut.npy
check "check: cut off" complains "cut.npy: has 3 bytes of elements, but shape and type '|i1' need 6: the file is incomplete"

# --- an answer a row ---

train tag tag rows.csv --input vectors --epochs 60
run eval tag.safetensors rows.csv
check "tag: eval" says "on rows.csv: 30 examples"
check "tag: learned" grep -qE '^accuracy +(1\.0000|0\.9[5-9])' out
run predict tag.safetensors x.npy
check "tag: predict" is '0\tin\n1\tout\n2\tin\n\n'
"$program" predict tag.safetensors <x.npy >out 2>err
check "tag: an array from standard input" is '0\tin\n1\tout\n2\tin\n\n'
gzip -c x.npy | "$program" predict tag.safetensors - >out 2>err
check "tag: the same from gzip" is '0\tin\n1\tout\n2\tin\n\n'
run predict tag.safetensors rows.csv
cp out from_file
"$program" predict tag.safetensors <rows.csv >out 2>err
check "tag: a table from standard input" cmp -s out from_file
run predict tag.safetensors x.npy --json
check "tag: JSON" says '{"line":1,"units":["0","1","2"],"outputs":{"label":["in","out","in"]}}'
npy deep.npy "(3, 1, 2)" 15 1 -15 2 9 3
run predict tag.safetensors deep.npy
check "tag: three sequences" is '0\tin\n\n0\tout\n\n0\tin\n\n'
npy wide.npy "(2, 3)" 1 2 3 4 5 6
run predict tag.safetensors wide.npy
check "tag: other columns: exit status" exits_with 1
check "tag: other columns" complains "wide.npy: has rows of 3 numbers, the model was trained on rows of 2"
gzip -k x.npy
run predict tag.safetensors x.npy.gz
check "tag: gzip" is '0\tin\n1\tout\n2\tin\n\n'

# --- an answer a sequence ---

train single classify single.csv --input vectors --epochs 60
run predict single.safetensors x.npy
check "single rows: an answer each" is 'in\nout\nin\n'
train long classify sequences.csv --input vectors --epochs 5
run predict long.safetensors x.npy
check "long: a flat array does not say where sequences end" complains "x.npy: has no sequence boundaries, but"
npy one.npy "(1, 3, 2)" 15 1 -15 2 9 3
run predict long.safetensors one.npy
check "long: one answer" [ "$(wc -l <out)" -eq 1 ]
run train classify rows.csv --input vectors -o no.safetensors
check "contradiction: exit status" exits_with 1
check "contradiction: where" complains "this task needs one target per sequence"

# --- two files ---

cut -d, -f4 body >labels.txt
# shellcheck disable=SC2046
npy body.npy "(120, 2)" $(cut -d, -f2,3 body | tr ',\n' '  ')
run train classify body.npy labels.txt -o two.safetensors --steps 20 --quiet --width 16 --heads 2
check "two files: exit status" exits_with 0
run eval two.safetensors body.npy labels.txt
check "two files: eval" says "120 examples"
head -n 5 labels.txt >few.txt
run train classify body.npy few.txt -o no.safetensors
check "two files: too few targets" complains "few.txt: has 5 entries; there are 120 rows in 120 sequences"
run train classify body.npy -o no.safetensors
check "no targets" complains "body.npy: has no targets: give targets as a second file"

# --- what there is not ---

run train lm body.npy -o no.safetensors
check "lm: exit status" exits_with 1
check "lm: says why" complains "rows of input vectors are no symbols"
check "no model was written" [ ! -e no.safetensors ]
finish
