/* graph_papers.c: papers and their citations for the experiment graph: nodes.tsv (node, label, split, numbers
 * of its words) and edges.tsv (node, node), both with a line of headings. */
#define _POSIX_C_SOURCE 200809L /* getline, strtok_r */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

enum { MOST_NODES = 5000, MOST_EDGES = 50000, MOST_SEEDS = 16 };

static FILE *open_file(lab *report, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", lab_options_of(report)->data, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) lab_fail(report, "%s: %s", path, strerror(errno));
    return file;
}

/* A number from 0 below `below`; -1: it is something else. */
static int64_t number(const char *text, int64_t below) {
    char *end = NULL;
    errno = 0;
    long long value = text != NULL ? strtoll(text, &end, 10) : -1;
    return text == NULL || end == text || errno != 0 || value < 0 || value >= below ? -1 : value;
}

/* One line: the words of a paper have the sum 1. */
static bool read_node(lab_nodes *n, char *line) {
    char *rest = NULL, *more = NULL;
    int64_t node = number(strtok_r(line, "\t\n", &rest), n->nodes);
    int64_t label = number(strtok_r(NULL, "\t\n", &rest), n->classes), count = 0;
    const char *split = strtok_r(NULL, "\t\n", &rest);
    char *words = strtok_r(NULL, "\t\n", &rest);
    if (node < 0 || label < 0 || split == NULL) return false;
    float *row = n->vectors + node * n->features;
    for (char *w = words != NULL ? strtok_r(words, " ", &more) : NULL; w != NULL;
         w = strtok_r(NULL, " ", &more)) {
        int64_t word = number(w, n->features);
        if (word < 0) return false;
        row[word] = 1;
        count++;
    }
    for (int64_t f = 0; f < n->features && count > 0; f++) row[f] *= 8 / sqrtf((float)count);
    int part = attn_part_find(split);
    n->train[node] = part == ATTN_PART_TRAIN ? (int32_t)label : -1;
    n->test[node] = part == ATTN_PART_TEST ? (int32_t)label : -1;
    return true;
}

/* Lines go to `take`, which says whether it could read one; the first may name the columns. Returns how many
 * it took, -1: lab_fail was called. */
static int64_t read_lines(lab *report, const char *name, bool (*take)(void *user, char *line), void *user) {
    FILE *file = open_file(report, name);
    char *line = NULL;
    size_t room = 0;
    int64_t lines = 0, taken = 0;
    if (file == NULL) return -1;
    while (taken >= 0 && getline(&line, &room, file) > 0) {
        bool good = take(user, line);
        if (good) taken++;
        if (++lines > 1 && !good) {
            lab_fail(report, "%s:%lld: this line is not as expected", name, (long long)lines);
            taken = -1;
        }
    }
    free(line);
    fclose(file);
    return taken;
}

typedef struct edge_list {
    int64_t nodes, count, (*edges)[2];
} edge_list;

static bool count_node(void *user, char *line) {
    (void)user;
    return number(line, MOST_NODES) >= 0;
}

static bool take_node(void *user, char *line) { return read_node(user, line); }

static bool take_edge(void *user, char *line) {
    edge_list *list = user;
    char *rest = NULL;
    int64_t from = number(strtok_r(line, "\t\n", &rest), list->nodes);
    int64_t to = number(strtok_r(NULL, "\t\n", &rest), list->nodes);
    if (from < 0 || to < 0 || list->count == MOST_EDGES) return false;
    list->edges[list->count][0] = from;
    list->edges[list->count++][1] = to;
    return true;
}

static bool read_papers(lab *report, lab_nodes *n) {
    int64_t nodes = read_lines(report, "cora/nodes.tsv", count_node, NULL);
    if (nodes < 0) return false;
    edge_list list = {.nodes = nodes, .edges = calloc(MOST_EDGES, sizeof *list.edges)};
    bool done = list.edges != NULL || lab_fail(report, "there is not enough memory for the graph");
    done = done && lab_nodes_make(report, n, nodes, 1433, 7) &&
           read_lines(report, "cora/nodes.tsv", take_node, n) >= 0 &&
           read_lines(report, "cora/edges.tsv", take_edge, &list) >= 0 &&
           lab_nodes_connect(report, n, (const int64_t(*)[2])list.edges, list.count);
    free(list.edges);
    return done;
}

bool lab_graph_on_papers(lab *report) {
    lab_nodes n = {0};
    double accuracy[LAB_SIGHTS][MOST_SEEDS], seconds[LAB_SIGHTS][MOST_SEEDS];
    int64_t seeds = lab_seeds(report, 3, 1);
    if (seeds > MOST_SEEDS) seeds = MOST_SEEDS;
    bool done = read_papers(report, &n);
    for (int sight = 0; sight < LAB_SIGHTS && done; sight++)
        for (int64_t run = 0; run < seeds && done; run++) {
            lab_fitted fitted = {0};
            double begin = lab_processor_seconds();
            lab_progress(report, ((double)sight + (double)run / (double)seeds) / LAB_SIGHTS, "papers");
            done = lab_nodes_fit(report, &n, sight, 0.5f, lab_options_of(report)->quick ? 10 : 60, false,
                                 lab_options_of(report)->seed + (uint64_t)run, &fitted);
            accuracy[sight][run] = 100 * fitted.accuracy;
            seconds[sight][run] = lab_processor_seconds() - begin;
        }
    lab_nodes_release(&n);
    if (!done) return false;
    lab_table *table = lab_add_table(report, "Papers, 140 with labels: accuracy on 1,000 others", "encoder",
                                     "accuracy, %", "processor seconds of training", NULL);
    double m[LAB_SIGHTS], t[LAB_SIGHTS];
    for (int i = 0; i < LAB_SIGHTS; i++) {
        m[i] = lab_median(accuracy[i], seeds);
        t[i] = lab_median(seconds[i], seeds);
        lab_row(table, lab_sight_names[i], lab_cell_spread(report, accuracy[i], seeds, "%.1f"),
                lab_cell(report, "%.1f", t[i]));
    }
    double other = fmax(m[LAB_ALONE], m[LAB_FULL]);
    lab_note(report, "%s along the edges is %.1f points better than %s along them.",
             m[LAB_MEAN] >= m[LAB_EDGES] ? "With few labels the edges help, not their weights: the plain mean"
                                         : "Attention",
             fabs(m[LAB_MEAN] - m[LAB_EDGES]), m[LAB_MEAN] >= m[LAB_EDGES] ? "attention" : "the plain mean");
    return lab_conclude(
        report, m[LAB_EDGES] >= other + 3 && t[LAB_FULL] > t[LAB_EDGES] ? LAB_HOLDS : LAB_DOES_NOT_HOLD,
        "%.1f %% along the edges (mean: %.1f %%), %.1f %% with full attention, %.1f %% alone; "
        "full attention took %.1f times as long",
        m[LAB_EDGES], m[LAB_MEAN], m[LAB_FULL], m[LAB_ALONE], t[LAB_FULL] / t[LAB_EDGES]);
}
