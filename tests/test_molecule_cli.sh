#!/bin/bash
# Molecules as a user meets them: tables and lines of SMILES are checked, learned from, evaluated and predicted
# on.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# Alcohols and ethers have the same atoms: what tells them apart is which of them are neighbours. `oxygen` counts,
# and is missing now and then.
awk 'BEGIN {
    print "name,smiles,alcohol,oxygen"
    for (i = 0; i < 90; i++) {
        chain = substr("CCCCCCCCCC", 1, 1 + i % 7)
        ring = i % 3 == 0 ? "c1ccccc1" : ""
        if (i % 2) { smiles = ring chain "CO"; alcohol = 1 } else { smiles = ring chain "OC"; alcohol = 0 }
        if (i % 5 == 0) smiles = "O=C" smiles
        print "m" i "," smiles "," alcohol "," (i % 4 == 3 ? "" : i % 5 == 0 ? 2 : 1)
    }
}' >made.csv
gzip -k made.csv

# --- check ---

run check made.csv --input molecule
check "check: exit status" exits_with 0
check "check: what it is" says "made.csv: a table, 90 molecules, "
check "check: elements" grep -qE '^  O +[0-9]+ +[0-9.]+ % +90$' out
check "check: targets" says "alcohol: 2 classes"
check "check: missing values" says "  22 molecules without a value"
check "check: rings" says "  30 molecules with rings"
run check made.csv.gz --input molecule --split scaffold --json
check "check: JSON" says '"split":{"train":'
check "check: JSON, scaffolds" says '"scaffolds":{"count":1,"largest":30}'
printf 'CCO ethanol\nC1CC\nCN\n' >bad.smi
run check bad.smi
check "bad SMILES: exit status" exits_with 1
check "bad SMILES: where" says "  bad.smi:2: position "
check "bad SMILES: shown" says "    C1CC"
check "bad SMILES: with a caret" grep -qE '^ +\^$' out
run check bad.smi --json
check "bad SMILES: JSON" says '"wrong":1,"problems":["bad.smi:2: position '
{ cat made.csv; echo 'm91,C(C,1,1'; } >one_bad.csv
run train classify one_bad.csv --input molecule -o no.safetensors --steps 1 --quiet
check "train: bad SMILES: exit status" exits_with 1
check "train: bad SMILES: where" complains "attn train: one_bad.csv:92: position 2: "
check "train: bad SMILES: shown" grep -qxF '  C(C' err
check "train: bad SMILES: with a caret" grep -qxF '   ^' err
run train classify one_bad.csv --input molecule -o no.safetensors --steps 1 --skip-bad
check "train: --skip-bad: exit status" exits_with 0
check "train: --skip-bad: says so" complains "one_bad.csv: 1 bad line"
check "train: says what it learns" complains "to be learned: alcohol, oxygen"
printf 'C\33[31mC\n' >escape.smi
run check escape.smi
check "no escape reaches the terminal" [ "$(cat out err | grep -c "$(printf '\33')")" -eq 0 ]

# --- a class ---

train class classify made.csv --input molecule --column alcohol --epochs 60
run eval class.safetensors made.csv
check "class: eval" says "on made.csv: 90 examples"
check "class: learned" grep -qE '^accuracy +(1\.0000|0\.9[5-9])' out
printf 'CCCCO\nCCCOC\n' | "$program" predict class.safetensors >out 2>err
check "class: lines from standard input" is '1\n0\n'
printf 'CCCCO butanol\n\nCCCOC\tan ether\n' >two.smi
run predict class.safetensors two.smi --json
check "class: JSON" says '{"line":1,"id":"butanol","text":"CCCCO","outputs":{"alcohol":"1"}'
check "class: JSON, the second" says '{"line":3,"id":"an ether","text":"CCCOC","outputs":{"alcohol":"0"}'
printf 'CCCCO\n' | "$program" predict class.safetensors --probs >out 2>err
check "class: probabilities" grep -qE '^1=0\.[0-9]{4}	0=0\.[0-9]{4}$' out
printf 'CCO\nC(\nCO\n' | "$program" predict class.safetensors >out 2>err
status=$?
check "class: a bad line: exit status" exits_with 1
check "class: a bad line: what stands before it is answered" [ "$(wc -l <out)" -eq 1 ]
check "class: a bad line: where" complains "standard input:2: position "
printf 'id;smiles\r\n"a;b";CCCCO\r\nc;CCCOC\r\n' >table.csv
run predict class.safetensors table.csv
check "class: a table gets a column" is 'id;smiles;predicted_alcohol\r\n"a;b";CCCCO;1\r\nc;CCCOC;0\r\n'
run predict class.safetensors table.csv --plain
check "class: the answers alone" is '1\n0\n'
printf 'smiles\nCCCCO\n' | "$program" predict class.safetensors >out 2>err
check "class: a table of one column" is 'smiles,predicted_alcohol\nCCCCO,1\n'

# --- several targets, splits ---

train both classify made.csv --input molecule --epochs 3
printf 'CCCCO\n' | "$program" predict both.safetensors >out 2>err
check "several: a column each" grep -qE '^[01]	[12]$' out
run predict both.safetensors table.csv
check "several: columns of a table" says 'id;smiles;predicted_alcohol;predicted_oxygen'
run train classify made.csv --input molecule --column alcohol --split scaffold -o split.safetensors --steps 5 \
    --width 16 --heads 2 --quiet
check "scaffold split: exit status" exits_with 0
run eval split.safetensors made.csv
check "scaffold split: the test molecules are evaluated" says "on made.csv: 30 examples"
run train regress made.csv --input molecule --column oxygen -o number.safetensors --steps 5 --width 16 \
    --heads 2 --pattern all --stereo --quiet
check "numbers: exit status" exits_with 0
printf 'CCCCO\n' | "$program" predict number.safetensors >out 2>err
check "numbers: a number" grep -qE '^-?[0-9.e-]+$' out

# --- what there is not ---

run train classify made.csv --input molecule --column nothing -o no2.safetensors
check "no such column" complains "made.csv: has no column nothing; its first line names the columns name, smiles"
run train classify two.smi -o no2.safetensors
check "no targets" complains "two.smi: lines of SMILES have no targets"
run train tag made.csv --input molecule -o no2.safetensors
check "a target for each atom" complains "task tag needs a target for each atom, and targets are those of molecules"
run train lm two.smi -o no2.safetensors
check "lm: exit status" exits_with 1
check "no model was written" [ ! -e no2.safetensors ]
finish
