#!/bin/bash
# Every experiment of attn lab, small: it runs, comes to a verdict, draws well-formed pictures and one page; and with
# its mistake planted it says that the claim does not hold.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1
python3 -c 'import json, xml.dom.minidom, html.parser' || exit 1

run lab
check "the list: exit status" exits_with 0
mapfile -t names < <(sed -n 's/^\([a-z][a-z]*\) \{2,\}.*/\1/p' out)
check "the list has experiments" [ "${#names[@]}" -ge 4 ]

run lab all --quick --json -o whole
check "all: exit status" exits_with 0
cp out whole.json
run lab all --quick --broken --json -o broken/
check "all, broken: exit status" exits_with 0
cp out broken.json

# verdict FILE NAME: what JSON says of one.
verdict() {
    python3 -c 'import json, sys
for one in json.load(open(sys.argv[1]))["experiments"]:
    if one["name"] == sys.argv[2]: print(one["verdict"])' "$1" "$2"
}
well_formed() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"; }
draws_nothing_odd() { ! grep -qiE '[" ,](nan|-?inf)' "$1"; }
# A planted mistake is seen only where the claim holds without it. Experiments that contradict their claim even small
# and whole are named here.
contradicting=" "
for name in "${names[@]}"; do
    found=$(verdict whole.json "$name")
    if [ "${contradicting/ $name /}" = "$contradicting" ]; then
        check "$name: holds" grep -qxE 'holds|holds where' <<<"$found"
    else
        check "$name: does not hold" [ "$found" = "does not hold" ]
    fi
    check "$name, broken: does not hold" [ "$(verdict broken.json "$name")" = "does not hold" ]
    check "$name: its picture is XML" well_formed "whole/$name.svg"
    check "$name, broken: its picture is XML" well_formed "broken/$name.svg"
    check "$name: no number that is none in the picture" draws_nothing_odd "whole/$name.svg"
    check "$name: on the page" grep -qF "<section id=\"$name\">" whole/index.html
    check "$name: in the contents" grep -qF "<a href=\"#$name\">" whole/index.html
done
check "nothing but pictures and the page" [ "$(find whole -type f | wc -l)" -eq $((${#names[@]} + 1)) ]

# The page stands alone: nothing is asked of a network, no script.
check "the page: no script" [ "$(grep -ci '<script' whole/index.html)" -eq 0 ]
check "the page: no address but that of SVG" \
    [ "$(grep -oE '(https?:)?//[a-z][^"]*' whole/index.html | sort -u)" = "http://www.w3.org/2000/svg" ]
check "the page: tags are closed" python3 -c '
import html.parser, sys
class Reader(html.parser.HTMLParser):
    open = []
    def handle_starttag(self, tag, attributes):
        if tag != "meta": self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
reader = Reader()
reader.feed(open(sys.argv[1], encoding="utf-8").read())
assert reader.open == []' whole/index.html

finish
