#!/bin/bash
# What the tables of flags become: help on a screen, manual pages, completion for bash and zsh. Every flag of
# "--help all" is on its manual page and in both completions; pages render without a warning; the shells
# complete commands, flags, values and files.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"

commands=$("$program" help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v '^help$')
check "commands" [ "$(wc -w <<<"$commands")" -ge 9 ]

# --- the help ---------------------------------------------------------------

fits() { # LINES: the output has at most so many, of at most 80 characters
    awk -v most="$1" '{ gsub(/[\200-\277]/, "") } length($0) > 80 { print "too long: " $0; bad = 1 }
        END { if (NR > most) { print NR " lines"; bad = 1 } exit bad }' "$folder/out"
}
# The flags that stand in column INDENT of a file, sorted.
flags_in() { # FILE INDENT
    grep -oE "^ {$2}(-[a-z], )?--[a-z][a-z0-9-]*" "$1" | grep -oE -- '--[a-z0-9-]+' | grep -vx -- --help | sort -u
}

for words in --help help "help help" "help --help" "help -h"; do
    # shellcheck disable=SC2086
    run $words
    check "attn $words: exit status" exits_with 0
    check "attn $words: 80 columns" fits 50
    check "attn $words: nothing on stderr" silent err
done
for command in $commands; do
    run "$command" --help
    check "$command --help: exit status" exits_with 0
    check "$command --help: a screen of 50 lines x 80 columns" fits 50
    check "$command --help: an example" says "  attn $command"
    run "$command" --help all
    check "$command --help all: 80 columns" fits 1000
    flags_in "$folder/out" 2 >"$folder/flags.$command"
    check "$command --help all: flags" [ -s "$folder/flags.$command" ]
    cp "$folder/out" "$folder/all"
    run help "$command" all
    check "help $command all is $command --help all" cmp -s "$folder/out" "$folder/all"
done
# The flags that a screen shows are flags.
awk '/\.command = "/ { split($0, part, "\""); command = part[2] } /\.first =( "|$)/ { listed = 1 }
    listed { line = $0
        while (match(line, /"[^"]*"/)) { print command, substr(line, RSTART + 1, RLENGTH - 2); line = substr(line, RSTART + RLENGTH) }
        listed = line !~ /,$/ }' "$SOURCE_DIR"/cli/*.c >"$folder/screens"
check "the flags of screens are found" grep -q "^train .*output dev" "$folder/screens"
while read -r command names; do
    for name in $names; do
        check "$command --help: --$name is a flag" grep -qx -e "--$name" "$folder/flags.$command"
    done
done <"$folder/screens"
run train --help
sed -n '/^flags/,$p' "$folder/out" | grep -oE -- '^  (-[a-z], )?--[a-z]+' | head -3 | tr -d '\n' >"$folder/first"
check "train: the most useful flags come first" grep -qx -e '  -o, --output  --dev  --time' "$folder/first"
run eval --help
sed -n '/^flags/,$p' "$folder/out" | grep -oE -- '^  --[a-z-]+' | head -3 | tr -d '\n' >"$folder/first"
check "eval: the most useful flags come first" grep -qx -e '  --json  --raw  --per-class' "$folder/first"

# --- manual pages -----------------------------------------------------------

page() { # NAME ARGUMENT...: prints a page, and renders it
    local name=$1
    shift
    run help man "$@"
    check "$name: exit status" exits_with 0
    cp "$folder/out" "$folder/$name.1"
    LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$folder/$name.1" >"$folder/$name.txt" 2>"$folder/err"
    check "$name: rendered" [ -s "$folder/$name.txt" ]
    check "$name: without warnings" silent err
    check "$name: has its name" grep -qE "^ +$name - [a-z]" "$folder/$name.txt"
}
page attn
for command in $commands; do
    page "attn-$command" "$command"
    sed -n '/^OPTIONS/,/^EXAMPLES/p' "$folder/attn-$command.txt" >"$folder/options"
    flags_in "$folder/options" 7 >"$folder/listed"
    check "attn-$command: every flag" cmp "$folder/listed" "$folder/flags.$command"
    check "attn: mentions $command" grep -q "^ *$command" "$folder/attn.txt"
done
printf '.TH x 1\n.nosuchrequest\n' >"$folder/bad.1"
LC_ALL=C.UTF-8 man --warnings -l "$folder/bad.1" >"$folder/null" 2>"$folder/err"
check "the check of warnings can fail" [ -s "$folder/err" ]

# --- bash -------------------------------------------------------------------

run help bash
check "bash: exit status" exits_with 0
cp "$folder/out" "$folder/attn.bash"
# completes WORDS WORD...: what stands where the last word is completed
completes() {
    local expected=$1 found
    shift
    # shellcheck disable=SC2016
    found=$(bash -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _attn; echo "${COMPREPLY[*]}"' \
        bash "$folder/attn.bash" "$@")
    [ "$found" = "$expected" ] || { echo "  found: $found"; return 1; }
}
check "bash: a command" completes train attn trai
check "bash: a task" completes classify attn train clas
check "bash: a flag" completes "--resume" attn train tag --resu
check "bash: a value" completes "words" attn train --unit wor
check "bash: a value after =" completes "chars" attn train --unit = cha
check "bash: an encoder" completes "rnn" attn train --encoder rn
check "bash: a kind of input" completes "speech" attn train --input sp
check "bash: an experiment" completes "permute" attn lab perm
check "bash: files are left to bash" completes "" attn eval "$folder/fla"
check "bash: help of a command" completes "explain" attn help expl
for command in $commands; do
    # shellcheck disable=SC2016
    bash -c '. "$1"; COMP_WORDS=(attn "$2" --) COMP_CWORD=2; _attn; printf "%s\n" "${COMPREPLY[@]}"' bash \
        "$folder/attn.bash" "$command" | grep -vx -- --help | sort -u >"$folder/listed"
    check "bash: every flag of $command" cmp "$folder/listed" "$folder/flags.$command"
done

# --- zsh --------------------------------------------------------------------

run help zsh
check "zsh: exit status" exits_with 0
mkdir "$folder/functions"
cp "$folder/out" "$folder/functions/_attn"
for command in $commands; do
    sed -n "/^_attn_$command()/,/^}/p" "$folder/functions/_attn" | grep -oE -- "(--[a-z0-9-]+=?\[|,--[a-z0-9-]+=?\})" |
        grep -oE -- '--[a-z0-9-]+' | grep -vx -- --help | sort -u >"$folder/listed"
    check "zsh: every flag of $command" cmp "$folder/listed" "$folder/flags.$command"
done
cat >"$folder/complete.zsh" <<'END'
# An interactive zsh on a terminal of its own, which gets words and a tab; then what stands on the line.
zmodload zsh/zpty
zpty shell "zsh -f -i"
answer() { zpty -r -m shell seen "*$1*" }
zpty -w shell "PS1= PS2=; stty -echo; unsetopt beep zle_bracketed_paste 2>/dev/null; fpath=($1 \$fpath); cd $2"
zpty -w shell "autoload -U compinit; compinit -u -D; line() { print -r -- \"<<\$BUFFER>>\"; BUFFER=; }; zle -N line; bindkey '^X' line; print ready''now"
answer readynow
shift 2
for words; do
    zpty -w -n shell "$words"$'\t\x18'
    answer '>>'
    print -r -- "${${seen##*<<}%%>>*}"
done
zpty -d shell
END
touch "$folder/given.conllu"
mkdir "$folder/here"
touch "$folder/here/given.conllu"
timeout 120 zsh -f "$folder/complete.zsh" "$folder/functions" "$folder/here" \
    'attn trai' 'attn train clas' 'attn train tag --resu' 'attn train --unit wor' 'attn train --encoder=rn' \
    'attn lab perm' 'attn eval giv' 'attn help expl' >"$folder/lines" 2>"$folder/err"
cat >"$folder/expected" <<'END'
attn train 
attn train classify 
attn train tag --resume 
attn train --unit words 
attn train --encoder=rnn 
attn lab permute 
attn eval given.conllu 
attn help explain 
END
check "zsh: commands, tasks, flags, values, files" diff "$folder/expected" "$folder/lines"

finish
