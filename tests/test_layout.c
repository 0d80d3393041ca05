/* test_layout.c: layouts of graphs and molecules: what a drawing must hold (lengths, angles, nothing on top
 * of anything else), the same bits on every run, and inputs that are empty, wrong, large or without memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explain/layout.h"
#include "inputs/molecule/smiles.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"

static double distance(const double *x, const double *y, int64_t a, int64_t b) {
    return sqrt((x[a] - x[b]) * (x[a] - x[b]) + (y[a] - y[b]) * (y[a] - y[b]));
}

/* ---- graphs ---- */

enum { NODES = 5000, EDGES = 50000 };
static int64_t from[EDGES], to[EDGES];
static double x[NODES], y[NODES], again_x[NODES], again_y[NODES];
static int64_t edge_count;

static void join(int64_t a, int64_t b) {
    assert_true(edge_count < EDGES);
    from[edge_count] = a;
    to[edge_count++] = b;
}

/* Finite, in the box, the longer side from 0 to 1 and the other centred. */
static void check_box(int64_t nodes) {
    double low_x = 2, low_y = 2, high_x = -1, high_y = -1;
    for (int64_t i = 0; i < nodes; i++) {
        assert_true(x[i] >= 0 && x[i] <= 1 && y[i] >= 0 && y[i] <= 1);
        low_x = fmin(low_x, x[i]);
        high_x = fmax(high_x, x[i]);
        low_y = fmin(low_y, y[i]);
        high_y = fmax(high_y, y[i]);
    }
    assert_true(fabs(low_x + high_x - 1) < 1e-9 && fabs(low_y + high_y - 1) < 1e-9);
    if (nodes > 1) assert_true(fabs(fmax(high_x - low_x, high_y - low_y) - 1) < 1e-9);
}

static void lay_out(int64_t nodes) {
    attn_context *context = test_best_context(1);
    assert_int_equal(at_layout_graph(context, nodes, edge_count, from, to, 7, x, y), ATTN_OK);
    assert_int_equal(at_layout_graph(context, nodes, edge_count, from, to, 7, again_x, again_y), ATTN_OK);
    assert_memory_equal(x, again_x, (size_t)nodes * sizeof *x);
    assert_memory_equal(y, again_y, (size_t)nodes * sizeof *y);
    check_box(nodes);
}

/* Mean distance of neighbours over that of all pairs. */
static double closeness(int64_t nodes) {
    double near = 0, all = 0;
    for (int64_t i = 0; i < edge_count; i++) near += distance(x, y, from[i], to[i]) / (double)edge_count;
    for (int64_t i = 0; i < nodes; i++)
        for (int64_t j = 0; j < i; j++) all += distance(x, y, i, j);
    return near / (all / (0.5 * (double)nodes * (double)(nodes - 1)));
}

static void edge_range(double *shortest, double *longest) {
    *shortest = INFINITY;
    *longest = 0;
    for (int64_t i = 0; i < edge_count; i++) {
        *shortest = fmin(*shortest, distance(x, y, from[i], to[i]));
        *longest = fmax(*longest, distance(x, y, from[i], to[i]));
    }
}

static int edges_crossing(void) {
    int count = 0;
    for (int64_t i = 0; i < edge_count; i++)
        for (int64_t j = 0; j < i; j++) {
            int64_t a = from[i], b = to[i], c = from[j], d = to[j];
            if (a == c || a == d || b == c || b == d) continue;
            double one = (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]);
            double two = (x[b] - x[a]) * (y[d] - y[a]) - (y[b] - y[a]) * (x[d] - x[a]);
            double three = (x[d] - x[c]) * (y[a] - y[c]) - (y[d] - y[c]) * (x[a] - x[c]);
            double four = (x[d] - x[c]) * (y[b] - y[c]) - (y[d] - y[c]) * (x[b] - x[c]);
            count += one * two < 0 && three * four < 0;
        }
    return count;
}

static void test_shapes(void **state) {
    (void)state;
    double shortest, longest;
    edge_count = 0; /* a path is straight */
    for (int64_t i = 0; i < 19; i++) join(i, i + 1);
    lay_out(20);
    assert_true(distance(x, y, 0, 19) > 0.99);
    edge_count = 0; /* a cycle is round */
    for (int64_t i = 0; i < 20; i++) join(i, (i + 1) % 20);
    lay_out(20);
    for (int64_t i = 0; i < 20; i++)
        assert_true(fabs(sqrt(pow(x[i] - 0.5, 2) + pow(y[i] - 0.5, 2)) - 0.5) < 0.02);
    edge_count = 0; /* the leaves of a star stand around it */
    for (int64_t i = 1; i < 15; i++) join(0, i);
    lay_out(15);
    edge_range(&shortest, &longest);
    assert_true(shortest > 0.8 * longest);
    edge_count = 0; /* a grid has right angles and no crossings */
    for (int64_t i = 0; i < 64; i++) {
        if (i % 8 < 7) join(i, i + 1);
        if (i < 56) join(i, i + 8);
    }
    lay_out(64);
    edge_range(&shortest, &longest);
    assert_true(shortest > 0.85 * longest && edges_crossing() == 0);
    assert_true(fabs(x[0] - x[7]) < 0.05 || fabs(y[0] - y[7]) < 0.05);
    edge_count = 0; /* a complete graph is a regular polygon */
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < i; j++) join(i, j);
    lay_out(8);
    for (int64_t i = 0; i < 8; i++) assert_true(fabs(distance(x, y, i, (i + 1) % 8) - 0.3827) < 0.001);
    edge_count = 0; /* a tree has no crossings */
    for (int64_t i = 1; i < 40; i++) join(i, (i - 1) / 3);
    lay_out(40);
    assert_int_equal(edges_crossing(), 0);
}

/* Zachary's karate club: its two sides stand apart. */
static void test_karate(void **state) {
    (void)state;
    static const char edges[] =
        "0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8 0 10 0 11 0 12 0 13 0 17 0 19 0 21 0 31 1 2 1 3 1 7 1 13 1 17 1 19 "
        "1 21 "
        "1 30 2 3 2 7 2 8 2 9 2 13 2 27 2 28 2 32 3 7 3 12 3 13 4 6 4 10 5 6 5 10 5 16 6 16 8 30 8 32 8 33 9 "
        "33 "
        "13 33 14 32 14 33 15 32 15 33 18 32 18 33 19 33 20 32 20 33 22 32 22 33 23 25 23 27 23 29 23 32 23 "
        "33 "
        "24 25 24 27 24 31 25 31 26 29 26 33 27 33 28 31 28 33 29 32 29 33 30 32 30 33 31 32 31 33 32 33";
    const char *next = edges;
    char *end;
    edge_count = 0;
    while (*next) {
        int64_t a = strtoll(next, &end, 10), b = strtoll(end, &end, 10);
        join(a, b);
        next = end;
    }
    assert_int_equal(edge_count, 78);
    lay_out(34);
    assert_true(closeness(34) < 0.75);
    for (int64_t i = 0; i < 34; i++)
        for (int64_t j = 0; j < i; j++) assert_true(distance(x, y, i, j) > 0.01);
    static const int first[] = {1, 3, 4, 5, 6, 7, 10, 11, 12, 16, 17, 21},
                     second[] = {14, 15, 18, 20, 22, 23, 26, 29};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        assert_true(distance(x, y, first[i], 0) < distance(x, y, first[i], 33));
    for (size_t i = 0; i < sizeof second / sizeof *second; i++)
        assert_true(distance(x, y, second[i], 33) < distance(x, y, second[i], 0));
}

static void test_components(void **state) {
    (void)state;
    edge_count = 0; /* a hexagon, a path and two nodes alone: nothing on top of anything else */
    for (int64_t i = 0; i < 6; i++) join(i, (i + 1) % 6);
    for (int64_t i = 6; i < 11; i++) join(i, i + 1);
    lay_out(14);
    assert_int_equal(edges_crossing(), 0);
    for (int64_t i = 0; i < 14; i++)
        for (int64_t j = 0; j < i; j++) assert_true(distance(x, y, i, j) > 0.1);
    edge_count = 0; /* no edges at all */
    lay_out(30);
    for (int64_t i = 0; i < 30; i++)
        for (int64_t j = 0; j < i; j++) assert_true(distance(x, y, i, j) > 0.1);
    join(0, 0); /* loops and repeated edges change nothing */
    join(0, 1);
    join(1, 0);
    join(0, 1);
    lay_out(2);
    assert_true(fabs(distance(x, y, 0, 1) - 1) < 1e-9);
    edge_count = 0;
    lay_out(1);
    assert_true(x[0] == 0.5 && y[0] == 0.5);
    assert_int_equal(at_layout_graph(test_best_context(1), 0, 0, NULL, NULL, 7, NULL, NULL), ATTN_OK);
}

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void test_large_graph(void **state) {
    (void)state;
    uint64_t random = 1;
    edge_count = 0; /* communities of 50 in a tree */
    for (int64_t i = 1; i < NODES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        join(i, i % 50 ? i - 1 - (int64_t)(random >> 33) % (i % 50) : i / 2);
    }
    while (edge_count < EDGES) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t group = (int64_t)(random >> 33) % (NODES / 50) * 50;
        join(group + (int64_t)(random >> 20) % 50 % 50, group + (int64_t)(random >> 8 & 0xfff) % 50);
    }
    double start = seconds();
    lay_out(NODES);
    assert_true(seconds() - start < 60); /* twice; about a second each without sanitizers */
    assert_true(closeness(NODES) < 0.3);
}

static void test_neighbourhood(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    int64_t chosen[10], count;
    edge_count = 0;
    join(5, 3);
    join(3, 1);
    join(5, 2);
    join(2, 2);
    join(4, 1);
    join(6, 7);
    assert_int_equal(at_neighbourhood(context, 8, edge_count, from, to, 5, 10, chosen, &count), ATTN_OK);
    static const int64_t whole[] = {5, 2, 3, 1, 4};
    assert_int_equal(count, 5);
    assert_memory_equal(chosen, whole, sizeof whole);
    assert_int_equal(at_neighbourhood(context, 8, edge_count, from, to, 5, 2, chosen, &count), ATTN_OK);
    assert_int_equal(count, 2);
    assert_memory_equal(chosen, whole, 2 * sizeof *whole);
    assert_int_equal(at_neighbourhood(context, 8, edge_count, from, to, 0, 3, chosen, &count), ATTN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(at_neighbourhood(context, 8, edge_count, from, to, 8, 3, chosen, &count),
                     ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context), "there is no node 8: the graph has 8");
    assert_int_equal(at_neighbourhood(context, 7, edge_count, from, to, 0, 3, chosen, &count),
                     ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context),
                        "edge 5 joins 6 and 7, but the graph has the nodes 0 to 6");
}

/* ---- molecules ---- */

static at_molecule molecule;
static int8_t order[EDGES], direction[EDGES];

static at_molecule_sketch read_molecule(const char *smiles) {
    size_t position;
    const char *reason;
    assert_int_equal(
        at_smiles_read(test_best_context(1), smiles, strlen(smiles), &molecule, &position, &reason), ATTN_OK);
    edge_count = 0;
    for (int64_t i = 0; i < molecule.bond_count; i++) {
        order[i] = (int8_t)(molecule.bonds[i].aromatic ? 4 : molecule.bonds[i].order);
        direction[i] = (int8_t)molecule.bonds[i].direction;
        join(molecule.bonds[i].from, molecule.bonds[i].to);
    }
    return (at_molecule_sketch){molecule.atom_count, molecule.bond_count, from, to, order, direction};
}

/* Lays it out twice; returns the number of atoms. */
static int64_t draw(const char *smiles) {
    at_molecule_sketch sketch = read_molecule(smiles);
    attn_context *context = test_best_context(1);
    assert_int_equal(at_layout_molecule(context, &sketch, x, y), ATTN_OK);
    assert_int_equal(at_layout_molecule(context, &sketch, again_x, again_y), ATTN_OK);
    assert_memory_equal(x, again_x, (size_t)sketch.atoms * sizeof *x);
    assert_memory_equal(y, again_y, (size_t)sketch.atoms * sizeof *y);
    double low_x = INFINITY, low_y = INFINITY, high_x = -INFINITY, high_y = -INFINITY;
    for (int64_t i = 0; i < sketch.atoms; i++) {
        low_x = fmin(low_x, x[i]);
        high_x = fmax(high_x, x[i]);
        low_y = fmin(low_y, y[i]);
        high_y = fmax(high_y, y[i]);
    }
    assert_true(fabs(low_x + high_x) < 1e-9); /* in the middle */
    assert_true(isfinite(low_y) && isfinite(high_y));
    return sketch.atoms;
}

static double angle_at(int64_t a, int64_t middle, int64_t b) {
    double ax = x[a] - x[middle], ay = y[a] - y[middle], bx = x[b] - x[middle], by = y[b] - y[middle];
    return fabs(atan2(ax * by - ay * bx, ax * bx + ay * by)) * 180 / 3.14159265358979;
}

static void check_angle(int64_t a, int64_t middle, int64_t b, double degrees) {
    assert_true(fabs(angle_at(a, middle, b) - degrees) < 0.01);
}

/* No two atoms nearer than `apart`, no atom nearer to a bond that is not its own, no bonds that cross. */
static void check_apart(const char *smiles, int64_t atoms, double apart, int crossings) {
    double nearest = INFINITY;
    for (int64_t i = 0; i < atoms; i++) {
        for (int64_t j = 0; j < i; j++) nearest = fmin(nearest, distance(x, y, i, j));
        for (int64_t e = 0; e < edge_count; e++) {
            int64_t a = from[e], b = to[e];
            if (a == i || b == i) continue;
            double dx = x[b] - x[a], dy = y[b] - y[a];
            double t = ((x[i] - x[a]) * dx + (y[i] - y[a]) * dy) / (dx * dx + dy * dy);
            if (t > 0 && t < 1)
                nearest =
                    fmin(nearest, fabs((x[i] - x[a]) * dy - (y[i] - y[a]) * dx) / sqrt(dx * dx + dy * dy));
        }
    }
    if (nearest < apart || edges_crossing() > crossings)
        fail_msg("%s: nearest %.3f, %d crossings", smiles, nearest, edges_crossing());
}

static void check_lengths(const char *smiles, double most) {
    double shortest, longest;
    edge_range(&shortest, &longest);
    if (shortest < 1 - most || longest > 1 + most)
        fail_msg("%s: bonds of %.3f to %.3f", smiles, shortest, longest);
}

static void test_angles(void **state) {
    (void)state;
    draw("CCCCCCCC"); /* a zigzag that lies flat */
    for (int64_t i = 1; i < 7; i++) check_angle(i - 1, i, i + 1, 120);
    for (int64_t i = 0; i + 3 < 8; i++) assert_true(distance(x, y, i, i + 3) > 2.6);
    assert_true(fabs(y[0] - y[2]) < 1e-6 && fabs(y[1] - y[7]) < 1e-6);
    draw("c1ccccc1"); /* on its corner */
    for (int64_t i = 0; i < 6; i++) check_angle(i, (i + 1) % 6, (i + 2) % 6, 120);
    check_lengths("benzene", 1e-6);
    int upright = 0;
    for (int64_t i = 0; i < 6; i++) upright += fabs(x[i] - x[(i + 1) % 6]) < 1e-6;
    assert_int_equal(upright, 2);
    draw("C1CCCC1");
    for (int64_t i = 0; i < 5; i++) check_angle(i, (i + 1) % 5, (i + 2) % 5, 108);
    draw("CC#CC"); /* straight */
    check_angle(0, 1, 2, 180);
    check_angle(1, 2, 3, 180);
    draw("CC=C=CC");
    check_angle(1, 2, 3, 180);
    check_angle(0, 1, 2, 120);
    draw("CC(C)C"); /* three ways and four */
    check_angle(0, 1, 2, 120);
    check_angle(2, 1, 3, 120);
    draw("FC(F)(F)F");
    assert_true(fabs(angle_at(0, 1, 2) - 90) < 0.01 || fabs(angle_at(0, 1, 3) - 90) < 0.01);
    draw("Cc1ccccc1"); /* outwards from the ring */
    check_angle(0, 1, 2, 120);
    check_angle(0, 1, 6, 120);
    draw("C1CCC2(CC1)CCCC2"); /* spiro: the two rings on both sides */
    check_angle(2, 3, 4, 120);
    check_angle(6, 3, 9, 108);
    assert_true(distance(x, y, 0, 7) > 3.4);
}

/* Whether the first and last of four atoms are on one side of the middle bond. */
static int is_cis(int64_t a, int64_t b, int64_t c, int64_t d) {
    double one = (x[c] - x[b]) * (y[a] - y[b]) - (y[c] - y[b]) * (x[a] - x[b]);
    double two = (x[c] - x[b]) * (y[d] - y[b]) - (y[c] - y[b]) * (x[d] - x[b]);
    return one * two > 0;
}

static void test_sides(void **state) {
    (void)state;
    static const struct {
        const char *smiles;
        int cis;
    } cases[] = {{"F/C=C/F", 0},   {"F/C=C\\F", 1},       {"F\\C=C\\F", 0},    {"F\\C=C/F", 1},
                 {"C(/F)=C/F", 1}, {"CCCC/C=C\\CCCC", 1}, {"CCCC/C=C/CCCC", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t atoms = draw(cases[i].smiles), bond = 0;
        while (molecule.bonds[bond].order != 2) bond++;
        int64_t b = from[bond], c = to[bond], a = -1, d = -1;
        for (int64_t e = 0; e < edge_count; e++) {
            if (!direction[e]) continue;
            int64_t inner = from[e] == b || from[e] == c ? from[e] : to[e],
                    outer = inner == from[e] ? to[e] : from[e];
            if (inner == b) a = outer;
            if (inner == c) d = outer;
        }
        assert_true(a >= 0 && d >= 0);
        assert_int_equal(is_cis(a, b, c, d), cases[i].cis);
        check_lengths(cases[i].smiles, 1e-6);
        check_apart(cases[i].smiles, atoms, 0.8, 0);
    }
    draw("CC(/C=C/C=C\\C(C)=O)=C\\C=C"); /* a crowd of them */
    assert_int_equal(is_cis(1, 2, 3, 4), 0);
    assert_int_equal(is_cis(3, 4, 5, 6), 1);
    draw("C/N=c1/sccn1C"); /* marked at an aromatic bond, and where clashes turn the chain */
    assert_int_equal(is_cis(0, 1, 2, 3), 0);
    draw("C/N=c1\\sccn1C");
    assert_int_equal(is_cis(0, 1, 2, 3), 1);
    draw("CCCCCC\\N=C1/C=CN(Cc2ccccc2)c3cc(Cl)ccc13");
    assert_int_equal(is_cis(5, 6, 7, 8), 1);
}

static void test_drugs(void **state) {
    (void)state;
    static const char *const drugs[] = {
        "CC(=O)Oc1ccccc1C(=O)O",
        "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
        "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
        "CC(=O)Nc1ccc(O)cc1",
        "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12",
        "CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O",
        "OC(=O)C1=CN(C2CC2)c2cc(N3CCNCC3)c(F)cc2C1=O",
        "CN1CCC(=C2c3ccccc3CCc3cccnc32)CC1",
        "CC(C)NCC(O)COc1cccc2ccccc12",
        "Clc1ccc(cc1)C(c1ccccc1)N1CCN(CCOCCO)CC1",
        "COc1cc2c(cc1OC)C(=O)C(CC1CCN(Cc3ccccc3)CC1)C2",
        "CCOC(=O)C1=C(COCCN)NC(C)=C(C(=O)OC)C1c1ccccc1Cl",
        "CC(C)c1c(C(=O)Nc2ccccc2)c(-c2ccccc2)c(-c2ccc(F)cc2)n1CCC(O)CC(O)CC(=O)O",
        "Cc1ccc(cc1Nc1nccc(n1)-c1cccnc1)NC(=O)c1ccc(CN2CCN(C)CC2)cc1",
        "CCCc1nn(C)c2c1nc([nH]c2=O)-c1cc(ccc1OCC)S(=O)(=O)N1CCN(C)CC1",
        "NC(=N)NCCCC(N)C(=O)NC(Cc1ccccc1)C(=O)NC(CO)C(=O)NC(CC(N)=O)C(=O)NC(CC(C)C)C(=O)O",
        "OCC1OC(OC2(CO)OC(CO)C(O)C2O)C(O)C(O)C1O",
        "OC(=O)CC(O)(CC(O)=O)C(O)=O",
        "FC(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(=O)O",
        "[Na+].[O-]S(=O)(=O)c1ccccc1.CCO",
        "CC(C)CCCC(C)C1CCC2C1(CCC3C2CC=C4C3(CCC(C4)O)C)C",
        "c1ccc(cc1)C(c1ccccc1)(c1ccccc1)c1ccccc1",
        "O=C1CN2CCOC2(c2ccccc2Cl)c2cc(Cl)ccc2N1"};
    for (size_t i = 0; i < sizeof drugs / sizeof *drugs; i++) {
        int64_t atoms = draw(drugs[i]);
        check_lengths(drugs[i], 1e-6);
        check_apart(drugs[i], atoms, 0.4, 0);
    }
}

/* Ring systems that are hard to draw, with how far bonds may be from 1 and how near atoms may come. */
static void test_hard_rings(void **state) {
    (void)state;
    static const struct {
        const char *smiles;
        double off, apart;
    } hard[] = {
        {"c1ccc2ccccc2c1", 1e-6, 0.9},                                 /* naphthalene */
        {"c1cc2ccc3cccc4ccc(c1)c2c34", 1e-6, 0.8},                     /* pyrene */
        {"c1cc2ccc3ccc4ccc5ccc6ccc1c7c2c3c4c5c67", 1e-6, 0.8},         /* coronene */
        {"c1ccc2c(c1)ccc1ccc3ccc4ccc5ccccc5c4c3c12", 0.25, 0.5},       /* a helicene */
        {"c1cc2cc3ccc(cc4ccc(cc5ccc(cc1n2)[nH]5)n4)[nH]3", 0.15, 0.5}, /* porphine */
        {"C1CC2CCC1C2", 0.3, 0.4},                                     /* norbornane */
        {"C1CC2CCC1CC2", 0.45, 0.4},                                   /* bicyclooctane */
        {"C1C2CC3CC1CC(C2)C3", 0.5, 0.4},                              /* adamantane */
        {"C12C3C4C1C5C2C3C45", 1.2, 0.4},                              /* cubane, as square in square */
        {"CC1(C)C2CCC1(C)C(=O)C2", 0.6, 0.4},                          /* camphor */
        {"C1CCC23CCCC2(C1)CCC3", 0.8, 0.4},                            /* a propellane */
        {"CN1CCC23C4C1CC5=C2C(=C(C=C5)O)OC3C(C=C4)O", 0.65, 0.4},      /* morphine */
        {"O=C1CC2OCC=C3CN4CCC56C4CC3C2C5N1c1ccccc61", 0.5, 0.4},       /* strychnine */
        {"C1Cc2ccc(cc2)CCc2ccc1cc2", 0.3, 0.5},                        /* a cyclophane */
        {"C1CCCCCCCCCCCCCCCCCCCCCCC1", 1e-6, 0.9},                     /* a macrocycle */
        {"CCC1OC(=O)C(C)C(OC2CC(C)(OC)C(O)C(C)O2)C(C)C(OC2OC(C)CC(C2O)N(C)C)C(C)(O)CC(C)C(=O)C(C)C(O)C1(C)O",
         0.01, 0.4}, /* erythromycin */
    };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        int64_t atoms = draw(hard[i].smiles);
        check_lengths(hard[i].smiles, hard[i].off);
        check_apart(hard[i].smiles, atoms, hard[i].apart, 0);
    }
    /* Sixty atoms of a ball in the plane are crowded: no crossings, but atoms come near. */
    const char *ball =
        "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1"
        "c6c6c%11c2c2c7c3c3c8c4c4c9c5c1c1c6c2c3c41";
    check_apart("C60", draw(ball), 0.2, 0);
}

/* Whatever the graph, coordinates are finite and it ends. */
static void test_odd_molecules(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    draw("[Na+]");
    assert_true(x[0] == 0 && y[0] == 0);
    draw("[Na+].[Cl-]");
    assert_true(fabs(distance(x, y, 0, 1) - 1.5) < 1e-9);
    draw("[H][H]");
    draw("[Fe]123456789C%10C1C2C3C4%10.C%115C6C7C8C9%11");
    at_molecule_sketch none = {0, 0, NULL, NULL, NULL, NULL};
    assert_int_equal(at_layout_molecule(context, &none, NULL, NULL), ATTN_OK);
    edge_count = 0; /* loops, repeated bonds, odd orders */
    join(0, 0);
    join(0, 1);
    join(1, 0);
    join(1, 2);
    memcpy(order, (int8_t[]){1, 1, 9, -3}, 4);
    at_molecule_sketch odd = {3, 4, from, to, order, NULL};
    assert_int_equal(at_layout_molecule(context, &odd, x, y), ATTN_OK);
    check_angle(0, 1, 2, 120);
    to[3] = 3;
    assert_int_equal(at_layout_molecule(context, &odd, x, y), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context),
                        "bond 3 joins 1 and 3, but the molecule has the atoms 0 to 2");
    memset(order, 1, sizeof order);
    edge_count = 0; /* a hub of 200, a complete graph, a grid of 20 x 20: none of them molecules */
    for (int64_t i = 1; i <= 200; i++) join(0, i);
    at_molecule_sketch graph = {201, edge_count, from, to, order, NULL};
    assert_int_equal(at_layout_molecule(context, &graph, x, y), ATTN_OK);
    for (int64_t i = 0; i <= 200; i++) assert_true(isfinite(x[i]) && isfinite(y[i]));
    edge_count = 0;
    for (int64_t i = 0; i < 40; i++)
        for (int64_t j = 0; j < i; j++) join(i, j);
    graph = (at_molecule_sketch){40, edge_count, from, to, order, NULL};
    assert_int_equal(at_layout_molecule(context, &graph, x, y), ATTN_OK);
    for (int64_t i = 0; i < 40; i++) assert_true(isfinite(x[i]) && isfinite(y[i]));
    edge_count = 0;
    for (int64_t i = 0; i < 400; i++) {
        if (i % 20 < 19) join(i, i + 1);
        if (i < 380) join(i, i + 20);
    }
    graph = (at_molecule_sketch){400, edge_count, from, to, order, NULL};
    assert_int_equal(at_layout_molecule(context, &graph, x, y), ATTN_OK);
    assert_int_equal(edges_crossing(), 0);
}

/* A peptide of 40 residues, a polymer and a random tree: seconds at most, whatever they are. */
static void test_large_molecules(void **state) {
    (void)state;
    static const char *const residues[] = {"NC(Cc1ccccc1)C(=O)", "NC(CCCNC(N)=N)C(=O)",        "N1CCCC1C(=O)",
                                           "NC(CC(C)C)C(=O)",    "NC(Cc1c[nH]c2ccccc12)C(=O)", "NCC(=O)",
                                           "NC(CCSC)C(=O)"};
    char text[2048] = "";
    for (int i = 0; i < 36; i++) strcat(text, residues[i % 7]);
    strcat(text, "O");
    double start = seconds();
    int64_t atoms = draw(text);
    assert_true(atoms > 300);
    check_apart("a peptide", atoms, 0.4, 0);
    memset(order, 1, sizeof order);
    edge_count = 0;
    uint64_t random = 5;
    for (int64_t i = 1; i < 3000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t reach = i < 4 ? i : 4;
        join(i, i - 1 - (int64_t)(random >> 33) % reach);
    }
    at_molecule_sketch tree = {3000, edge_count, from, to, order, NULL};
    assert_int_equal(at_layout_molecule(test_best_context(1), &tree, x, y), ATTN_OK);
    for (int64_t i = 0; i < 3000; i++) assert_true(isfinite(x[i]) && isfinite(y[i]));
    assert_true(seconds() - start < 60);
}

/* ---- memory ---- */

static void test_memory(void **state) {
    (void)state;
    at_molecule_sketch sketch = read_molecule("CN1CCC23C4C1CC5=C2C(=C(C=C5)O)OC3C(C=C4)O.CCC");
    counting_allocator counter = {.fail_at = 0};
    attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(&counter);
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    int64_t before = counter.live, refused = 0;
    for (int graph = 0; graph < 2; graph++)
        for (int64_t fail_at = 1;; fail_at++) {
            counter.fail_at = fail_at;
            attn_status status = graph
                                     ? at_layout_graph(context, sketch.atoms, sketch.bonds, from, to, 1, x, y)
                                     : at_layout_molecule(context, &sketch, x, y);
            counter.fail_at = 0;
            assert_int_equal(counter.live, before);
            if (status == ATTN_OK) break;
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            refused++;
        }
    assert_true(refused > 10);
    attn_context_destroy(context);
}

static int teardown(void **state) {
    at_molecule_free(test_best_context(1), &molecule);
    return test_contexts_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_karate),
        cmocka_unit_test(test_components),      cmocka_unit_test(test_large_graph),
        cmocka_unit_test(test_neighbourhood),   cmocka_unit_test(test_angles),
        cmocka_unit_test(test_sides),           cmocka_unit_test(test_drugs),
        cmocka_unit_test(test_hard_rings),      cmocka_unit_test(test_odd_molecules),
        cmocka_unit_test(test_large_molecules), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, teardown);
}
