/* explain.c: the command `attn explain`: one attention, every step of it. */
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "steps.h"
#include "terminal.h"

static int explain_nothing(const argument_list *list) {
    if (list->positional_count > 0) {
        arguments_complain("explain", "there is no model to read at ", list->positional[0],
                           ": this version explains the built-in example only", NULL);
    }
    fputs("attn explain shows one attention step by step. Without a model, --steps shows the\n"
          "built-in example, five words with every number of their attention:\n\n"
          "  attn explain --steps\n",
          stderr);
    return EXIT_MISUSED;
}

int command_explain(int count, char **arguments) {
    bool show_steps = false;
    int color = TERMINAL_AUTO;
    const char *model[1] = {NULL};
    step_options options = {.window = -1};
    const argument_flag flags[] = {
        argument_switch("steps", &show_steps, "print every step with its numbers"),
        argument_number("scale", &options.scale, "S", NULL, 1e-3, 1e3,
                        "times S instead of ÷ √d_k; 1: the plain dot product"),
        argument_switch("causal", &options.causal, "a word sees itself and the words before it"),
        argument_integer("window", &options.window, "R", NULL, 0, 1000000,
                         "a word sees the words at most R away"),
        argument_choice("color", &color, NULL, "auto", terminal_color_choices, "colour in the heat map"),
    };
    argument_list list = {
        .command = "explain",
        .usage = "--steps [flags]",
        .about = "Prints one self-attention step by step: the words as vectors, their queries,\n"
                 "keys and values, and word by word the scores, the softmax weights and the\n"
                 "weighted sum; then the weights as a heat map. The sentence is built in:\n"
                 "看 小猫 它 好 可爱 (look, the kitten, it is so cute).\n",
        .examples = "  attn explain --steps\n"
                    "  attn explain --steps --scale 1      without the division by √d_k\n"
                    "  attn explain --steps --causal       no word looks ahead\n",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = model,
        .positional_limit = 1,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (!show_steps || list.positional_count > 0) return explain_nothing(&list);
    steps shown;
    if (!steps_compute(&options, &shown)) return EXIT_FAILED;
    steps_print(&options, &shown, terminal_color_of_output((terminal_choice)color));
    return EXIT_DONE;
}
