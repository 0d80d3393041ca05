/* tasks.c: the table of tasks. */
#include "model/tasks.h"

#include <stddef.h>

#include <attn/config.h>

static const at_task tasks[] = {
    {.name = "tag",
     .help = "a label per token, row or node: CoNLL-U, token TAB tag, nodes and edges, ...",
     .head = "class",
     .per_row = 1,
     .labelled = 1},
    {.name = "classify",
     .help = "a class per text, molecule or graph: TSV, CSV, __label__X text, SMILES, ...",
     .head = "class",
     .per_row = 0,
     .labelled = 1},
    {.name = "regress",
     .help = "a number per text, token, molecule, node, ...",
     .head = "number",
     .per_row = -1,
     .labelled = 1},
    {.name = "seq2seq",
     .help = "a sequence of its own length: source TAB target, or two files line by line",
     .head = "sequence",
     .format = "pairs",
     .other_format = "jsonl",
     .per_row = -1,
     .labelled = 1,
     .pairs = 1,
     .writes_text = 1,
     .chooses = 1,
     .hold_out = AT_HOLD_INPUTS},
    {.name = "lm",
     .help = "what comes next in running text",
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
