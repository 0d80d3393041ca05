#!/bin/bash
# Every public function, called with nothing: NULL for every pointer, 0 for every number; and once more with a
# context where it takes one. Each may refuse, none may crash. The calls are made from the headers, so that a
# new function is called without being named here. And what a function that is asked for a value returns for NULL
# follows the rule in attn/core.h, or its comment names the exception, and it is in the list below.
set -euo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# calls CONTEXT VALUES: "NAME(ARGUMENTS)", one line per function; or, with VALUES, those that return a value, as
# "TEXT(NAME, NAME(ARGUMENTS));" by the type of the value.
calls() {
    cat "$SOURCE_DIR"/include/attn/*.h | sed 's:/\*.*\*/::' |
        sed 's/^static inline \(.*)\) {$/ATTN_API \1;/' |
        sed 's/^ATTN_INIT(\(.*\))$/ATTN_API void \1_init(\1 *to);/' | awk -v context="$1" -v values="${2:-}" '
        /^ATTN_API/ { reading = 1; text = "" }
        reading { text = text " " $0 }
        reading && /;/ {
            reading = 0
            open = index(text, "(")
            name = substr(text, 1, open - 1)
            result = name
            sub(/.*[ *]/, "", name)
            sub(/^ *ATTN_API /, "", result)
            sub(/[a-z_0-9]+$/, "", result)
            sort = result ~ /char \*$/ ? "TEXT" : result ~ /\*$/ ? "POINTER" : result ~ /^(double|float) / ? "FLOATING" : result ~ /^(int|int64_t|uint64_t|size_t|char) / ? "INTEGER" : ""
            pointers = 0
            parameters = substr(text, open + 1)
            sub(/\).*/, "", parameters)
            count = split(parameters, list, ",")
            made = ""
            for (i = 1; i <= count; i++) {
                type = list[i]
                gsub(/^ +| +$/, "", type)
                if (type == "void") break
                value = "0"
                if (type ~ /[*\[]/) { value = "NULL"; pointers++ }
                else if (type ~ /^(const )?attn_[a-z_]+ /) { sub(/ [a-z_0-9]+$/, "", type); value = "(" type "){0}" }
                if (context && type ~ /^attn_context \*[a-z]/ && type !~ /\*\*/) value = "context"
                made = made (i > 1 ? ", " : "") value
            }
            if (context && made !~ /context/) next
            if (!values) print name "(" made ")"
            else if (sort != "" && pointers) print sort "(" name ", " name "(" made "));"
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

# What is returned for NULL: NULL, 0, NaN. These are the exceptions.
cat >"$folder/exceptions" <<'END'
attn_config_get ""
attn_context_error "context is NULL"
attn_context_isa ""
attn_exchange_ranks 1
attn_exchange_seconds 0
attn_input_encoders "fc,cnn,rnn,attention"
attn_input_example "text"
attn_input_find_format -1
attn_input_format "auto"
attn_input_of_file "text"
attn_input_row "unit"
attn_map_key -1
attn_map_weight 0
attn_metric_rises -1
attn_model_metrics "{}"
attn_model_scores "{}"
attn_optimizer_gradient_norm 0
attn_optimizer_learning_rate 0
attn_parameter_frozen 1
attn_parameter_name ""
attn_parameters_error "parameters is NULL"
attn_part_find -1
attn_prediction_class -1
attn_predictor_error "predictor is NULL"
attn_reader_files 1
attn_reader_pieces -1
attn_report_metric_rises 1
attn_report_positive -1
attn_schedule_factor 0
attn_tape_error "tape is NULL"
END
{
    cat <<'END'
#include <stdio.h>
#include <attn/attn.h>
#define TEXT(name, call) do { const char *value = call; if (value) printf("%s \"%s\"\n", #name, value); } while (0)
#define POINTER(name, call) do { if (call) printf("%s a pointer\n", #name); } while (0)
#define FLOATING(name, call) do { double value = call; if (value == value) printf("%s %g\n", #name, value); } while (0)
#define INTEGER(name, call) do { long long value = (long long)call; if (value) printf("%s %lld\n", #name, value); } while (0)
int main(void) {
END
    calls "" values
    echo '    return 0; }'
} >"$folder/values.c"
[ "$(grep -c '^[A-Z]*(attn_' "$folder/values.c")" -ge 150 ]
"${CC:-cc}" -std=gnu11 -w -I"$SOURCE_DIR/include" "$folder/values.c" "$BUILD_DIR/libattn.a" $LIBRARIES \
    -lm -pthread -o "$folder/values"
"$folder/values" | sort >"$folder/returned"
sort "$folder/exceptions" | diff - "$folder/returned" ||
    { echo "these functions return something else for NULL than attn/core.h and this test say (>: what they return)"; exit 1; }
echo "$(grep -c '^[A-Z]*(attn_' "$folder/values.c") values for NULL, $(wc -l <"$folder/exceptions") of them exceptions"
