#!/bin/bash
# attn lab as a user meets it, with two cheap experiments: text, pictures, forms, files that are there, mistakes.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1
has_line() { grep -qE -e "$1" "$folder/out"; }

run lab
check "the list: exit status" exits_with 0
check "the list: an experiment with its claim" has_line '^permute +Without positions '
run lab --help
check "help: exit status" exits_with 0
check "help: --broken" says "--broken"
run help
check "attn help lists it" says "lab"

# --- one experiment -----------------------------------------------------------

run lab permute --quick
check "permute: exit status" exits_with 0
check "permute: the claim" has_line '^claim +Without positions'
check "permute: the experiment" has_line '^experiment +Encoders'
check "permute: a table" has_line '^  attention, no positions +[0-9.]+e-0[78] '
check "permute: holds" has_line '^verdict: holds: in 3 networks'
check "permute: says where it is drawn" says "drawn in permute.svg"
check "permute: a picture" grep -q '<title>attn lab: permute</title>' permute.svg
check "permute: light and dark" grep -q 'prefers-color-scheme:dark' permute.svg
check "permute: nothing else is left" [ "$(find . -newer "$folder/out" -name '*.part' | wc -l)" -eq 0 ]
cp out first
run lab permute --quick -o again.svg
check "again: the same numbers" cmp -s <(grep -v 's of processor time\|drawn in' first) \
    <(grep -v 's of processor time\|drawn in' out)
check "again: the same picture" cmp -s permute.svg again.svg
run lab permute --quick --threads 1 -o one.svg
check "one thread: the same picture" cmp -s permute.svg one.svg
run lab permute --quick --seed 2 -o two.svg
check "another seed: another picture" eval '! cmp -s permute.svg two.svg'
run lab permute --quick --seeds 1
check "one seed: no range" has_line '^  attention, no positions +[0-9.]+e-0[78] +[0-9]'
run lab permute --quick --broken
check "broken: exit status" exits_with 0
check "broken: what is planted" has_line '^planted +sinusoidal positions are left on'
check "broken: does not hold" has_line '^verdict: does not hold: '
run lab scale --quick --seeds 1 --threads 2
check "scale: exit status" exits_with 0
check "scale: holds" has_line '^verdict: holds: the variance of q.k grows as d_k'
check "scale: charts" has_line '^ +c  plain, median query$'

# --- forms --------------------------------------------------------------------

run lab permute --quick --json -o json.svg
check "--json: exit status" exits_with 0
if python3 -c 'import json, xml.dom.minidom' 2>null; then
    check "--json: the verdict" python3 -c 'import json, sys
what = json.load(open(sys.argv[1]))
assert (what["name"], what["verdict"]) == ("permute", "holds"), what
assert [one["kind"] for one in what["found"]] == ["table", "matrix", "note"]
assert len(what["found"][1]["numbers"]) == len(what["found"][1]["row_names"]) == 12' out
    for picture in permute scale two; do
        check "$picture.svg is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' $picture.svg
    done
fi
rm -f permute.svg
run lab permute --quick --markdown
check "--markdown: a heading" has_line '^## permute$'
check "--markdown: a table" has_line '^\| attention, no positions \| '
check "--markdown: the verdict" has_line '^\*\*Verdict: holds:\*\* '
check "--markdown: no picture" [ ! -e permute.svg ]

# --- files that are there -----------------------------------------------------

echo "my own drawing" >mine.svg
run lab permute --quick -o mine.svg
check "another's file: exit status" exits_with 1
check "another's file: says so" complains "mine.svg exists and was not written by the lab: --force replaces it"
check "another's file: as it was" [ "$(cat mine.svg)" = "my own drawing" ]
check "another's file: nothing was run" silent out
run lab permute --quick -o mine.svg --force
check "--force: exit status" exits_with 0
check "--force: replaced" grep -q '<svg' mine.svg
run lab permute --quick -o mine.svg
check "its own picture is replaced" exits_with 0
run lab permute --quick -o /dev/null
check "a device is written to" exits_with 0
check "a device stays one" [ -c /dev/null ]
run lab permute --quick -o none/there.svg
check "no such folder: exit status" exits_with 1
check "no such folder: says so" complains "cannot write none/there.svg"
: >a-file
run lab all --quick -o a-file
check "all into a file: exit status" exits_with 1
check "all into a file: says so" complains "cannot write to a-file: Not a directory"
if [ -w /dev/full ]; then
    run lab permute --quick -o /dev/full
    check "a full disk: exit status" exits_with 1
    check "a full disk: says so" complains "cannot write /dev/full: No space left on device"
fi

# --- mistakes -----------------------------------------------------------------

# mistake TEXT ARGUMENT...
mistake() {
    local text=$1
    shift
    run lab "$@"
    check "attn lab $*: exit status" exits_with 2
    check "attn lab $*: says '$text'" complains "$text"
    check "attn lab $*: nothing on stdout" silent out
}
mistake "there is no experiment permut; did you mean permute?" permut
mistake "there is no experiment al; did you mean all?" al
mistake "there is no flag --brocken; did you mean --broken?" permute --brocken
mistake "permute reads no files: it has no --data" permute --data .
mistake "--seeds 0: must be" permute --seeds 0
mistake "not both" permute --json --markdown
mistake "not standard output" permute -o -
mistake 'there is no experiment \x1b[31m' $'\x1b[31m'

finish
