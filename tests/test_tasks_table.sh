#!/bin/bash
# Which kinds of input can have which tasks: the table in the help, which the library makes, and the one in
# README.md, which has examples instead of "yes", are the same grid.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# The table of a Markdown file whose first cell is `--input`: a line "KIND TASK yes" or "KIND TASK -" a cell.
from_readme() {
    awk -F'|' '
        /^\| `--input` \|/ { for (i = 3; i < NF; i++) task[i] = $i; columns = NF; reading = 1; next }
        !/^\|/ { reading = 0 }
        !reading || /^\| ---/ { next }
        NF != columns { print "a row of " NF - 2 " cells, not " columns - 2 }
        { for (i = 3; i < NF; i++) print $2, task[i], $i ~ /^ *(–|-)? *$/ ? "-" : "yes" }' "$1" |
        tr -d '`' | tr -s ' ' | sed 's/^ //'
}

from_help() {
    awk '
        $1 == "--input" && $2 != "KIND" { for (i = 2; i <= NF; i++) task[i] = $i; columns = NF; reading = 1; next }
        NF == 0 { reading = 0 }
        reading { for (i = 2; i <= columns; i++) print $1, task[i], $i }' "$1"
}

run help train
check "help: exit status" exits_with 0
check "help: at most 80 columns" [ "$(awk 'length($0) > 80' out | wc -l)" -eq 0 ]
from_help out | sort >help
from_readme "$SOURCE_DIR/README.md" | sort >readme
check "help: some cells are there" grep -q " yes$" help
check "help: some are not" grep -q " -$" help
check "help: a cell is yes or -" [ "$(grep -cvE '^[a-z0-9]+ [a-z0-9]+ (yes|-)$' help)" -eq 0 ]
diff readme help >differences
check "README.md and the library say the same" [ ! -s differences ]
[ ! -s differences ] || cat differences

# The library means it: what is no cell is refused before any file is read, and what is one is configured.
while read -r kind task said; do
    run train "$task" --input "$kind" --dump-config nothing
    [ "$said" = yes ] && check "$task of $kind: a configuration" says "\"task\": \"$task\""
    run train "$task" --input "$kind" nothing -o no.safetensors
    check "$task of $kind: no file" exits_with 1
    if [ "$said" = yes ]; then
        check "$task of $kind: the file is what is wrong" complains "nothing"
    else
        check "$task of $kind: refused" complains "task $task"
    fi
done <help

finish
