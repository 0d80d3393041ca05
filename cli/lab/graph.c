/* graph.c: is it enough to look along the edges of a graph, and better than to look at everybody?
 *
 * Nodes of four communities with features that hardly tell which (a random vector a community, and three
 * times as much noise), ten of each labelled. Edges are drawn so that a given share stays within a community.
 * The same encoder is trained with every node alone, with full attention, with attention along the edges, and
 * with the plain mean along the edges. Then Zachary's karate club, where the features say nothing at all, and
 * the cost of the operator for growing graphs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* ---- a graph with communities ---- */

enum {
    COMMUNITIES = 4,
    FEATURES = 16,
    LABELLED = 10,
    DEGREE = 10,
    NOISE = 3,
    MOST_SEEDS = 32,
    MOST_SHARES = 8
};

bool lab_nodes_make(lab *report, lab_nodes *n, int64_t nodes, int64_t features, int64_t classes) {
    *n = (lab_nodes){.nodes = nodes, .features = features, .classes = classes, .offsets = {0, nodes}};
    n->vectors = calloc((size_t)(nodes * features), sizeof *n->vectors);
    n->train = calloc((size_t)nodes, sizeof *n->train);
    n->test = calloc((size_t)nodes, sizeof *n->test);
    if (n->vectors != NULL && n->train != NULL && n->test != NULL) return true;
    return lab_fail(report, "there is not enough memory for the graph");
}

/* Edges both ways, and one of each node to itself. Broken: the other end of each is any node. */
bool lab_nodes_connect(lab *report, lab_nodes *n, const int64_t (*edges)[2], int64_t count) {
    uint64_t seed = lab_options_of(report)->seed + 77;
    size_t all = (size_t)(2 * count + n->nodes);
    int64_t *row = calloc(all, sizeof *row), *column = calloc(all, sizeof *column), used = 0;
    bool done = row != NULL && column != NULL;
    attn_graph_destroy(n->edges);
    attn_graph_destroy(n->alone);
    n->edges = n->alone = NULL;
    for (int64_t i = 0; done && i < n->nodes; i++, used++) row[used] = column[used] = i;
    for (int64_t e = 0; done && e < count; e++, used += 2) {
        int64_t from = edges[e][0], to = edges[e][1];
        if (lab_options_of(report)->broken) to = lab_choice(&seed, n->nodes);
        row[used] = column[used + 1] = from;
        column[used] = row[used + 1] = to;
    }
    attn_context *context = lab_context_of(report);
    if (!done)
        lab_fail(report, "there is not enough memory for the graph");
    else
        done = lab_ok(report,
                      attn_graph_from_edges(context, n->nodes, n->nodes, used, row, column, &n->edges)) &&
               lab_ok(report,
                      attn_graph_from_edges(context, n->nodes, n->nodes, n->nodes, row, column, &n->alone));
    free(row);
    free(column);
    return done;
}

void lab_nodes_release(lab_nodes *n) {
    attn_graph_destroy(n->edges);
    attn_graph_destroy(n->alone);
    free(n->vectors);
    free(n->train);
    free(n->test);
    memset(n, 0, sizeof *n);
}

const char *const lab_sight_names[LAB_SIGHTS] = {"each node alone", "full attention", "attention along edges",
                                                 "mean along edges"};

bool lab_nodes_fit(lab *report, const lab_nodes *n, int sight, float dropout, int64_t steps, bool plain,
                   uint64_t seed, lab_fitted *fitted) {
    lab_problem problem = {.columns = n->features, .classes = n->classes};
    lab_network network;
    lab_network_init(&network);
    network.steps = steps;
    network.learning_rate = 5e-3;
    network.weight_decay = 0.01;
    network.encoder.columns = 16;
    network.encoder.block.inner = 32;
    network.encoder.position = ATTN_POSITION_NONE;
    network.encoder.dropout = dropout;
    if (plain) {
        network.encoder.block.inner = 0;
        network.encoder.block.residual = 0;
        network.encoder.block.norm = ATTN_NORM_NONE;
    }
    if (sight == LAB_MEAN) network.encoder.block.mixer.kind = ATTN_MIXER_MEAN;
    problem.train = (lab_examples){.sequences = 1,
                                   .offsets = n->offsets,
                                   .vectors = n->vectors,
                                   .labels = n->train,
                                   .graph = sight == LAB_ALONE  ? n->alone
                                            : sight == LAB_FULL ? NULL
                                                                : n->edges};
    problem.test = problem.train;
    problem.test.labels = n->test;
    return lab_fit(report, &problem, &network, seed, fitted);
}

/* Node i is of community i % 4; the first ten of each are labelled. */
static bool make_nodes(lab *report, lab_nodes *n, int64_t nodes, uint64_t *seed) {
    double centre[COMMUNITIES][FEATURES];
    if (!lab_nodes_make(report, n, nodes, FEATURES, COMMUNITIES)) return false;
    for (int i = 0; i < COMMUNITIES * FEATURES; i++) centre[i / FEATURES][i % FEATURES] = lab_normal(seed);
    for (int64_t i = 0; i < nodes; i++) {
        int32_t community = (int32_t)(i % COMMUNITIES);
        bool labelled = i < COMMUNITIES * LABELLED;
        n->train[i] = labelled ? community : -1;
        n->test[i] = labelled ? -1 : community;
        for (int f = 0; f < FEATURES; f++)
            n->vectors[i * FEATURES + f] = (float)(centre[community][f] + NOISE * lab_normal(seed));
    }
    return true;
}

static bool draw_edges(lab *report, lab_nodes *n, double share, uint64_t *seed) {
    int64_t count = n->nodes * DEGREE / 2;
    int64_t(*edges)[2] = calloc((size_t)count, sizeof *edges);
    if (edges == NULL) return lab_fail(report, "there is not enough memory for the graph");
    for (int64_t e = 0; e < count; e++) {
        bool inside = lab_uniform(seed) < share;
        int64_t from = lab_choice(seed, n->nodes), to;
        do to = lab_choice(seed, n->nodes);
        while (to == from || ((to - from) % COMMUNITIES == 0) != inside);
        edges[e][0] = from;
        edges[e][1] = to;
    }
    bool done = lab_nodes_connect(report, n, (const int64_t(*)[2])edges, count);
    free(edges);
    return done;
}

typedef struct measurement {
    int64_t nodes, seeds, shares;
    double share[MOST_SHARES];                            /* of edges within a community */
    double accuracy[LAB_SIGHTS][MOST_SHARES][MOST_SEEDS]; /* percent; alone and full: share 0 only */
    double karate[LAB_SIGHTS][MOST_SEEDS];
} measurement;

/* Alone and full attention do not look at the edges: once a seed is enough. */
static bool measure_seed(lab *report, measurement *m, int64_t run) {
    uint64_t first = lab_options_of(report)->seed + (uint64_t)run, seed = first * 1000;
    lab_nodes n = {0};
    bool done = make_nodes(report, &n, m->nodes, &seed);
    for (int64_t s = 0; s < m->shares && done; s++) {
        lab_progress(report, ((double)run + (double)s / (double)m->shares) / (double)m->seeds, "communities");
        done = draw_edges(report, &n, m->share[s], &seed);
        for (int sight = s == 0 ? 0 : LAB_EDGES; sight < LAB_SIGHTS && done; sight++) {
            lab_fitted fitted = {0};
            done = lab_nodes_fit(report, &n, sight, 0.3f, 100, false, first, &fitted);
            m->accuracy[sight][s][run] = 100 * fitted.accuracy;
        }
    }
    lab_nodes_release(&n);
    return done;
}

static double median(const measurement *m, int sight, int64_t share) {
    return lab_median(m->accuracy[sight][sight < LAB_EDGES ? 0 : share], m->seeds);
}

static void show_communities(lab *report, const measurement *m) {
    lab_table *table = lab_add_table(
        report,
        lab_cell(report, "%lld nodes, four communities, ten labels each: accuracy on the others, %%",
                 (long long)m->nodes),
        "edges within a community, %", lab_sight_names[0], lab_sight_names[1], lab_sight_names[2],
        lab_sight_names[3], NULL);
    lab_chart *chart = lab_add_chart(report, "Accuracy against the share of edges within a community",
                                     "edges within a community, %", LAB_LINEAR, "accuracy, %", LAB_LINEAR);
    int line[LAB_SIGHTS];
    for (int i = 0; i < LAB_SIGHTS; i++) line[i] = lab_line(chart, lab_sight_names[i], false);
    for (int64_t s = 0; s < m->shares; s++) {
        const char *cell[LAB_SIGHTS];
        for (int i = 0; i < LAB_SIGHTS; i++) {
            const double *numbers = m->accuracy[i][i < LAB_EDGES ? 0 : s];
            cell[i] = lab_cell_spread(report, numbers, m->seeds, "%.1f");
            lab_point_spread(chart, line[i], 100 * m->share[s], numbers, m->seeds);
        }
        lab_row(table, lab_cell(report, "%.0f", 100 * m->share[s]), cell[0], cell[1], cell[2], cell[3]);
    }
}

/* ---- Zachary's karate club (1977): who met whom outside, and whom they followed when it split ---- */

enum { MEMBERS = 34, MEETINGS = 78 };
static const signed char meetings[MEETINGS][2] = {
    {1, 2},   {1, 3},   {1, 4},   {1, 5},   {1, 6},   {1, 7},   {1, 8},   {1, 9},   {1, 11},  {1, 12},
    {1, 13},  {1, 14},  {1, 18},  {1, 20},  {1, 22},  {1, 32},  {2, 3},   {2, 4},   {2, 8},   {2, 14},
    {2, 18},  {2, 20},  {2, 22},  {2, 31},  {3, 4},   {3, 8},   {3, 9},   {3, 10},  {3, 14},  {3, 28},
    {3, 29},  {3, 33},  {4, 8},   {4, 13},  {4, 14},  {5, 7},   {5, 11},  {6, 7},   {6, 11},  {6, 17},
    {7, 17},  {9, 31},  {9, 33},  {9, 34},  {10, 34}, {14, 34}, {15, 33}, {15, 34}, {16, 33}, {16, 34},
    {19, 33}, {19, 34}, {20, 34}, {21, 33}, {21, 34}, {23, 33}, {23, 34}, {24, 26}, {24, 28}, {24, 30},
    {24, 33}, {24, 34}, {25, 26}, {25, 28}, {25, 32}, {26, 32}, {27, 30}, {27, 34}, {28, 34}, {29, 32},
    {29, 34}, {30, 33}, {30, 34}, {31, 33}, {31, 34}, {32, 33}, {32, 34}, {33, 34}};
static const signed char followed[MEMBERS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0,
                                              0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* A member's features are its number, one in 34: they say nothing of the others. Two labels: the instructor
 * (1) and the president (34). Layers are attention alone, as graph attention networks have them. */
static bool measure_karate(lab *report, measurement *m) {
    lab_nodes n = {0};
    int64_t edges[MEETINGS][2];
    bool done = lab_nodes_make(report, &n, MEMBERS, MEMBERS, 2);
    for (int e = 0; e < MEETINGS; e++)
        for (int i = 0; i < 2; i++) edges[e][i] = meetings[e][i] - 1;
    for (int i = 0; i < MEMBERS && done; i++) {
        bool known = i == 0 || i == MEMBERS - 1;
        n.vectors[i * MEMBERS + i] = 1;
        n.train[i] = known ? followed[i] : -1;
        n.test[i] = known ? -1 : followed[i];
    }
    done = done && lab_nodes_connect(report, &n, (const int64_t(*)[2])edges, MEETINGS);
    for (int sight = 0; sight < LAB_SIGHTS && done; sight++)
        for (int64_t run = 0; run < m->seeds && done; run++) {
            lab_fitted fitted = {0};
            done = lab_nodes_fit(report, &n, sight, 0.3f, 200, true,
                                 lab_options_of(report)->seed + (uint64_t)run, &fitted);
            m->karate[sight][run] = 32 * fitted.accuracy;
        }
    lab_nodes_release(&n);
    return done;
}

static void show_karate(lab *report, const measurement *m) {
    lab_table *table =
        lab_add_table(report, "Karate club: two of 34 members are known; how many of the other 32 are right",
                      "encoder", "members right", NULL);
    for (int i = 0; i < LAB_SIGHTS; i++)
        lab_row(table, lab_sight_names[i], lab_cell_spread(report, m->karate[i], m->seeds, "%.0f"));
}

/* ---- cost ---- */

enum { COST_SIZES = 5, COST_HEADS = 4, COST_CHANNELS = 8, TIMES = 5 };

static bool time_operator(lab *report, attn_context *context, const attn_graph *graph, int64_t nodes,
                          float *memory, double *milliseconds) {
    attn_tensor part[4];
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.graph = graph;
    for (int i = 0; i < 4; i++)
        part[i] = attn_tensor_rows(memory + i * nodes * COST_HEADS * COST_CHANNELS, nodes, COST_HEADS,
                                   COST_CHANNELS);
    *milliseconds = 1e9;
    for (int i = 0; i < TIMES; i++) {
        double begin = lab_seconds();
        if (attn_attention_forward(context, &pattern, NULL, &part[0], &part[1], &part[2], &part[3], NULL,
                                   NULL) != ATTN_OK)
            return lab_fail(report, "%s", attn_context_error(context));
        *milliseconds = fmin(*milliseconds, 1e3 * (lab_seconds() - begin));
    }
    return true;
}

/* One thread; a table, and how many times longer full attention takes on the largest graph. */
static bool measure_cost(lab *report, attn_context *context, float *memory, int sizes, double *times) {
    static const int64_t nodes[COST_SIZES] = {250, 500, 1000, 2000, 4000};
    lab_table *table = lab_add_table(
        report,
        lab_cell(report, "Cost of attention, %d edges per node (one layer forward, one thread)", DEGREE),
        "nodes", "edges", "pairs", "along edges, ms", "full, ms", "full takes", NULL);
    uint64_t seed = 3;
    for (int s = 0; s < sizes; s++) {
        lab_nodes n = {0};
        double along = 0, full = 0;
        bool done = lab_nodes_make(report, &n, nodes[s], 1, 1) && draw_edges(report, &n, 0.85, &seed) &&
                    time_operator(report, context, n.edges, nodes[s], memory, &along) &&
                    time_operator(report, context, NULL, nodes[s], memory, &full);
        if (done)
            lab_row(table, lab_cell(report, "%lld", (long long)nodes[s]),
                    lab_cell(report, "%lld", (long long)attn_graph_edges(n.edges)),
                    lab_cell(report, "%lld", (long long)(nodes[s] * nodes[s])),
                    lab_cell(report, "%.2f", along), lab_cell(report, "%.2f", full),
                    lab_cell(report, "%.1f x", full / along));
        lab_nodes_release(&n);
        if (!done) return false;
        *times = full / along;
    }
    return true;
}

static bool cost(lab *report, double *times) {
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK)
        return lab_fail(report, "%s", attn_last_create_error());
    size_t count = 4 * 4000 * COST_HEADS * COST_CHANNELS;
    float *memory = calloc(count, sizeof *memory);
    uint64_t seed = 4;
    for (size_t i = 0; memory != NULL && i < count; i++) memory[i] = (float)lab_normal(&seed);
    bool done = memory != NULL || lab_fail(report, "there is not enough memory");
    done =
        done && measure_cost(report, context, memory, lab_options_of(report)->quick ? 4 : COST_SIZES, times);
    free(memory);
    attn_context_destroy(context);
    return done;
}

/* ---- the verdict ---- */

/* Along the edges is better by `points` than both from this share on; -1: nowhere. */
static int64_t better_from(const measurement *m, double other, double points) {
    int64_t from = m->shares;
    while (from > 0 && median(m, LAB_EDGES, from - 1) >= other + points) from--;
    return from < m->shares ? from : -1;
}

static bool conclude(lab *report, const measurement *m, double times) {
    int64_t last = m->shares - 1;
    double alone = median(m, LAB_ALONE, 0), full = median(m, LAB_FULL, 0), other = fmax(alone, full);
    double edges = median(m, LAB_EDGES, last), mean = median(m, LAB_MEAN, last);
    double karate = lab_median(m->karate[LAB_EDGES], m->seeds);
    int64_t from = better_from(m, other, 3);
    lab_note(
        report,
        "Full attention is no better than none: %.1f %% against %.1f %%. With all edges within a community "
        "the plain mean along them has an accuracy of %.1f %%, attention of %.1f %%%s",
        full, alone, mean, edges,
        mean >= edges ? ": with few labels the edges help, not their weights." : ".");
    if (from < 0 || edges < other + 10 || karate < 26 || times < 4)
        return lab_conclude(
            report, LAB_DOES_NOT_HOLD,
            "with %.0f %% of the edges within a community attention along them has an accuracy of %.1f %%, "
            "the better of the others of %.1f %% (10 points less required); %.0f members of the karate club "
            "are right (26 required); full attention takes %.1f times as long (4 required)",
            100 * m->share[last], edges, other, karate, times);
    return lab_conclude(
        report, LAB_HOLDS_WHERE,
        "%s of the edges are within a community (3 points better than without edges; up to %.1f %%, full "
        "attention %.1f %%, each node alone %.1f %%), at 1/%.0f of the time; in the karate club %.0f of 32 "
        "are right",
        from == last ? "all" : lab_cell(report, "%.0f %% or more", 100 * m->share[from]), edges, full, alone,
        times, karate);
}

static bool run(lab *report) {
    static const double usual[] = {0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1}, quick[] = {0.25, 1};
    if (lab_options_of(report)->data != NULL) return lab_graph_on_papers(report);
    bool fast = lab_options_of(report)->quick;
    double times = 0;
    measurement *m = calloc(1, sizeof *m);
    if (m == NULL) return lab_fail(report, "there is not enough memory");
    m->nodes = fast ? 400 : 800;
    m->shares = fast ? 2 : MOST_SHARES;
    memcpy(m->share, fast ? quick : usual, (size_t)m->shares * sizeof m->share[0]);
    m->seeds = lab_seeds(report, 5, 2);
    if (m->seeds > MOST_SEEDS) m->seeds = MOST_SEEDS;
    bool done = true;
    for (int64_t i = 0; i < m->seeds && done; i++) done = measure_seed(report, m, i);
    done = done && measure_karate(report, m);
    if (done) {
        show_communities(report, m);
        show_karate(report, m);
        done = cost(report, &times) && conclude(report, m, times);
    }
    free(m);
    return done;
}

const lab_experiment lab_graph = {
    .name = "graph",
    .claim =
        "On a graph it is enough to attend along the edges: it is better than to attend to all nodes or to "
        "none, and cheaper.",
    .experiment =
        "Nodes of four communities have very noisy features and ten labels each; the share of edges within a "
        "community goes from none to all. The same encoder is trained with each node alone, with full "
        "attention, with attention along the edges, and with the plain mean along the edges. Then it "
        "predicts the factions of Zachary's karate club from two known members of 34, and the operator is "
        "timed. The claim holds only if attention along the edges is at least 10 points better than full "
        "attention and than each node alone when all edges are within communities, predicts at least 26 of "
        "the other 32 members correctly, and on the largest graph is at least 4 times as fast as full "
        "attention. The verdict then names the share of edges within a community from which on attention "
        "along "
        "the edges is at least 3 points better than full attention and than each node alone.",
    .mistake = "the edges are rewired: one end of each is a random node",
    .data = "cora/nodes.tsv and cora/edges.tsv: papers, their words and citations",
    .run = run,
};
