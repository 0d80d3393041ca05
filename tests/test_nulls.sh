#!/bin/bash
# Every public function, called with nothing: NULL for every pointer, 0 for every number; and once more with a
# context where it takes one. Each may refuse, none may crash. The calls are made from the headers, so that a
# new function is called without being named here.
set -euo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# calls CONTEXT: "NAME(ARGUMENTS)", a line a function.
calls() {
    cat "$SOURCE_DIR"/include/attn/*.h | sed 's:/\*.*\*/::' | awk -v context="$1" '
        /^ATTN_API/ { reading = 1; text = "" }
        reading { text = text " " $0 }
        reading && /;/ {
            reading = 0
            open = index(text, "(")
            name = substr(text, 1, open - 1)
            sub(/.*[ *]/, "", name)
            parameters = substr(text, open + 1)
            sub(/\).*/, "", parameters)
            count = split(parameters, list, ",")
            made = ""
            for (i = 1; i <= count; i++) {
                type = list[i]
                gsub(/^ +| +$/, "", type)
                if (type == "void") break
                value = "0"
                if (type ~ /[*\[]/) value = "NULL"
                else if (type ~ /^(const )?attn_[a-z_]+ /) { sub(/ [a-z_0-9]+$/, "", type); value = "(" type "){0}" }
                if (context && type ~ /^attn_context \*[a-z]/ && type !~ /\*\*/) value = "context"
                made = made (i > 1 ? ", " : "") value
            }
            if (context && made !~ /context/) next
            print name "(" made ")"
        }'
}

{
    cat <<'END'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <attn/attn.h>
#include <attn/machine.h>
static int failures, made;
/* 1 in the child, which makes the call and ends well. */
static int child(void) {
    fflush(stdout);
    return fork() == 0;
}
static void parent(const char *call) {
    int status = 0;
    made++;
    wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    printf("%s: ended with %d\n", call, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    failures++;
}
#define TRY(call) do { if (child()) { call; _exit(0); } parent(#call); } while (0)
int main(void) {
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK) return 2;
END
    { calls ""; calls 1 | grep -v '^attn_context_destroy('; } | sed 's/.*/    TRY(&);/'
    cat <<'END'
    attn_context_destroy(context);
    printf("%d calls with nothing, %d of them end badly\n", made, failures);
    return failures ? 1 : made < 200;
}
END
} >"$folder/calls.c"
"${CC:-cc}" -std=gnu11 -w -I"$SOURCE_DIR/include" "$folder/calls.c" "$BUILD_DIR/libattn.a" $LIBRARIES \
    -lm -pthread -o "$folder/calls"
"$folder/calls"
