# shellcheck shell=bash
# links.sh: links of pages in Markdown that lead to no file or heading; sourced by tests. It writes what it needs to $folder.
: "${folder:?}"
pages() { find "$1" -name '*.md' -not -path "$1/build/*" -not -path "$1/tests/fuzz/*" | sort; }

anchors() { # FILE: the anchors of a page: its headings as GitHub names them, and <a id>
    awk '/^```/ { code = !code; next }
        code { next }
        /^#+ / { sub(/^#+ */, ""); line = tolower($0); gsub(/\[|\]\([^)]*\)/, "", line); gsub(/[^a-z0-9_ -]/, "", line); gsub(/ /, "-", line); print line }
        { while (match($0, /<a id="[^"]*"/)) { print substr($0, RSTART + 7, RLENGTH - 8); $0 = substr($0, RSTART + RLENGTH) } }' "$1"
}
links() { # FILE: the targets of its links, code left out
    awk '/^```/ { code = !code; next } !code' "$1" | sed 's/`[^`]*`//g' | grep -oE '\]\([^)[:space:]]+\)' | sed 's/^](//; s/)$//'
}
check_links() { # FOLDER
    local page target file anchor
    for page in $(pages "$1"); do
        anchors "$page" | sort -u >"$folder/anchors.$(echo "$page" | tr / _)"
    done
    for page in $(pages "$1"); do
        while read -r target; do
            case $target in http://* | https://* | mailto:*) continue ;; esac
            file=${target%%#*} anchor=
            [ "$target" = "$file" ] || anchor=${target#*#}
            file=$(dirname "$page")/$file
            [ "${target%%#*}" ] || file=$page
            if [ ! -e "$file" ]; then
                echo "${page#"$1"/}: $target is not there"
            elif [ -n "$anchor" ]; then
                file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
                grep -qxF -e "$anchor" "$folder/anchors.$(echo "$file" | tr / _)" || echo "${page#"$1"/}: $target has no such heading"
            fi
        done < <(links "$page")
    done
}
