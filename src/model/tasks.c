/* tasks.c: the table of tasks, and the kinds of input that support them. */
#include "model/tasks.h"

#include <stddef.h>

#include <attn/config.h>

static const at_task tasks[] = {
    {.name = "tag",
     .help = "a label per token, row or node: CoNLL-U, token TAB tag, graphs, ...",
     .head = "class",
     .per_row = 1,
     .labelled = 1},
    {.name = "classify",
     .help = "a class per text, molecule, graph, ...: TSV, CSV, __label__X text",
     .head = "class",
     .per_row = 0,
     .labelled = 1,
     .counts = 1},
    {.name = "regress",
     .help = "a number per text, token, molecule, node, ...",
     .head = "number",
     .per_row = -1,
     .labelled = 1},
    {.name = "seq2seq",
     .help = "a sequence per source: source TAB target, or two files",
     .head = "sequence",
     .format = "pairs",
     .other_format = "jsonl",
     .per_row = -1,
     .labelled = 1,
     .pairs = 1,
     .writes_text = 1,
     .chooses = 1,
     .counts = 1,
     .hold_out = AT_HOLD_INPUTS},
    {.name = "lm",
     .help = "the next unit of running text",
     .head = "next",
     .format = "lines",
     .per_row = -1,
     .writes_text = 1,
     .running = 1,
     .hold_out = AT_HOLD_END},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

const char *const at_task_names[] = {"tag", "classify", "regress", "seq2seq", "lm", NULL};
_Static_assert(sizeof at_task_names / sizeof at_task_names[0] == TASKS + 1, "a name for each task");

const at_task *at_task_at(int index) { return index < 0 || index >= TASKS ? NULL : &tasks[index]; }

int attn_task_count(void) { return TASKS; }
const char *attn_task_name(int index) { return at_task_at(index) ? tasks[index].name : NULL; }
const char *attn_task_help(int index) { return at_task_at(index) ? tasks[index].help : NULL; }

/* The kind of input itself says what it cannot do (its `check`), and what it can may depend on its defaults:
 * so a configuration is made and asked. */
int attn_input_takes(const char *input, const char *task) {
    attn_context_options options;
    attn_context *context = NULL;
    attn_config *config = NULL;
    attn_reader_options reader;
    if (!input || !*input || !task) return 0;
    attn_context_options_init(&options);
    options.threads = 1;
    options.isa = "scalar"; /* nothing is computed, and the environment has no say */
    if (attn_context_create(&options, &context) != ATTN_OK) return 0;
    attn_status status = attn_config_create(context, &config);
    if (status == ATTN_OK) status = attn_config_set(config, "input", input);
    if (status == ATTN_OK) status = attn_config_set(config, "task", task);
    if (status == ATTN_OK) status = attn_config_reader(config, &reader);
    attn_config_destroy(config);
    attn_context_destroy(context);
    return status == ATTN_OK;
}
