/* test_smiles.c: molecules from SMILES: graphs, hydrogens, rings and aromaticity; what is refused, where and
 * why; inputs made to take long; and scaffolds. The graphs expected here were written by RDKit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inputs/molecule/perceive.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"

static at_molecule molecule; /* used again and again, as readers do */

static int compare_bonds(const void *first, const void *second) {
    const at_bond *a = first, *b = second;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Atoms: ~ aromatic, symbol, h hydrogens, charge, i isotope, ^ radicals, o in a ring. Bonds by their atoms.
 */
static const char *describe(const at_molecule *shown) {
    static char text[4096];
    at_bond bonds[128];
    char *end = text;
    for (int64_t i = 0; i < shown->atom_count; i++) {
        const at_atom *atom = &shown->atoms[i];
        end += sprintf(end, "%s%s%s", i ? " " : "", atom->aromatic ? "~" : "",
                       at_elements[atom->element].symbol);
        if (atom->hydrogens) end += sprintf(end, "h%d", atom->hydrogens);
        if (atom->charge) end += sprintf(end, "%+d", atom->charge);
        if (atom->isotope) end += sprintf(end, "i%d", atom->isotope);
        if (atom->radicals) end += sprintf(end, "^%d", atom->radicals);
        if (atom->in_ring) end += sprintf(end, "o");
    }
    assert_true(shown->bond_count <= 128);
    for (int64_t i = 0; i < shown->bond_count; i++) {
        bonds[i] = shown->bonds[i];
        if (bonds[i].from < bonds[i].to) continue;
        bonds[i].from = shown->bonds[i].to;
        bonds[i].to = shown->bonds[i].from;
    }
    qsort(bonds, (size_t)shown->bond_count, sizeof *bonds, compare_bonds);
    if (shown->bond_count) end += sprintf(end, " |");
    for (int64_t i = 0; i < shown->bond_count; i++)
        end += sprintf(end, " %u%c%u", (unsigned)bonds[i].from,
                       bonds[i].aromatic ? ':'
                       : bonds[i].dative ? '>'
                                         : " -=#$"[bonds[i].order],
                       (unsigned)bonds[i].to);
    return text;
}

static attn_status read_smiles(const char *text, size_t length, size_t *position, const char **reason) {
    return at_smiles_read(test_best_context(1), text, length, &molecule, position, reason);
}

static void read_good(const char *smiles) {
    size_t position;
    const char *reason;
    if (read_smiles(smiles, strlen(smiles), &position, &reason) == ATTN_OK) return;
    fail_msg("%s is refused at byte %zu: %s", smiles, position, reason);
}

static const struct {
    const char *smiles, *expected;
} graphs[] = {
    {"C", "Ch4"},
    {"CC", "Ch3 Ch3 | 0-1"},
    {"C=C", "Ch2 Ch2 | 0=1"},
    {"C#C", "Ch1 Ch1 | 0#1"},
    {"C$C", "C C | 0$1"},
    {"CO", "Ch3 Oh1 | 0-1"},
    {"C[NH3+]", "Ch3 Nh3+1 | 0-1"},
    {"[CH3-]", "Ch3-1"},
    {"[CH3]", "Ch3^1"},
    {"[O]", "O^2"},
    {"[13CH4]", "Ch4i13"},
    {"[Fe+2]", "Fe+2"},
    {"[Na+].[Cl-]", "Na+1 Cl-1"},
    {"*", "*"},
    {"C*", "Ch3 * | 0-1"},
    {"BrC(Cl)(F)I", "Br C Cl F I | 0-1 1-2 1-3 1-4"},
    {"B(O)O", "Bh1 Oh1 Oh1 | 0-1 0-2"},
    {"CS(=O)(=O)O", "Ch3 S O O Oh1 | 0-1 1=2 1=3 1-4"},
    {"CP(=O)(O)O", "Ch3 P O Oh1 Oh1 | 0-1 1=2 1-3 1-4"},
    {"S(F)(F)(F)(F)(F)F", "S F F F F F F | 0-1 0-2 0-3 0-4 0-5 0-6"},
    {"c1ccccc1", "~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:5 1:2 2:3 3:4 4:5"},
    {"C1=CC=CC=C1", "~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:5 1:2 2:3 3:4 4:5"},
    {"C1CCCCC1", "Ch2o Ch2o Ch2o Ch2o Ch2o Ch2o | 0-1 0-5 1-2 2-3 3-4 4-5"},
    {"c1ccncc1", "~Ch1o ~Ch1o ~Ch1o ~No ~Ch1o ~Ch1o | 0:1 0:5 1:2 2:3 3:4 4:5"},
    {"c1cc[nH]c1", "~Ch1o ~Ch1o ~Ch1o ~Nh1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"C1=CNC=C1", "~Ch1o ~Ch1o ~Nh1o ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"o1cccc1", "~Oo ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"C1=CSC=C1", "~Ch1o ~Ch1o ~So ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"[se]1cccc1", "~Seo ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"c1ccccc1c1ccccc1", "~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Co ~Co ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:5 "
                         "1:2 2:3 3:4 4:5 5-6 6:7 6:11 7:8 8:9 9:10 10:11"},
    {"c1ccc2ccccc2c1", "~Ch1o ~Ch1o ~Ch1o ~Co ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Co ~Ch1o | 0:1 0:9 1:2 2:3 3:4 "
                       "3:8 4:5 5:6 6:7 7:8 8:9"},
    {"C1=CC2=CC=CC2=CC=C1", "~Ch1o ~Ch1o ~Co ~Ch1o ~Ch1o ~Ch1o ~Co ~Ch1o ~Ch1o ~Ch1o | 0:1 0:9 1:2 2:3 "
                            "2-6 3:4 4:5 5:6 6:7 7:8 8:9"},
    {"O=C1C=CC=CC=C1", "O ~Co ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0=1 1:2 1:7 2:3 3:4 4:5 5:6 6:7"},
    {"C=C1C=CC=CC=C1", "Ch2 Co Ch1o Ch1o Ch1o Ch1o Ch1o Ch1o | 0=1 1-2 1-7 2=3 3-4 4=5 5-6 6=7"},
    {"C1=CC=C[CH+]C=C1", "~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1+1o ~Ch1o ~Ch1o | 0:1 0:6 1:2 2:3 3:4 4:5 5:6"},
    {"[CH-]1C=CC=C1", "~Ch1-1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"C1=C[CH+]1", "~Ch1o ~Ch1o ~Ch1+1o | 0:1 0:2 1:2"},
    {"C1=CC=C1", "Ch1o Ch1o Ch1o Ch1o | 0=1 0-3 1-2 2=3"},
    {"C1=CC=CC=CC=C1", "Ch1o Ch1o Ch1o Ch1o Ch1o Ch1o Ch1o Ch1o | 0=1 0-7 1-2 2=3 3-4 4=5 5-6 6=7"},
    {"O=c1cc[nH]cc1", "O ~Co ~Ch1o ~Ch1o ~Nh1o ~Ch1o ~Ch1o | 0=1 1:2 1:6 2:3 3:4 4:5 5:6"},
    {"O=C1C=CC(=O)C=C1", "O Co Ch1o Ch1o Co O Ch1o Ch1o | 0=1 1-2 1-7 2=3 3-4 4=5 4-6 6=7"},
    {"C[n+]1ccccc1", "Ch3 ~N+1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0-1 1:2 1:6 2:3 3:4 4:5 5:6"},
    {"O=n1ccccc1", "O-1 ~N+1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0-1 1:2 1:6 2:3 3:4 4:5 5:6"},
    {"b1ccccc1", "~Bo ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:5 1:2 2:3 3:4 4:5"},
    {"p1ccccc1", "~Po ~Ch1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:5 1:2 2:3 3:4 4:5"},
    {"C1=CS(=O)C=C1", "Ch1o Ch1o So O Ch1o Ch1o | 0=1 0-5 1-2 2=3 2-4 4=5"},
    {"CN(=O)=O", "Ch3 N+1 O-1 O | 0-1 1-2 1=3"},
    {"C[N+](=O)[O-]", "Ch3 N+1 O O-1 | 0-1 1=2 1-3"},
    {"CN=N#N", "Ch3 N N+1 N-1 | 0-1 1=2 2=3"},
    {"OCl(=O)(=O)=O", "Oh1 Cl+3 O-1 O-1 O-1 | 0-1 1-2 1-3 1-4"},
    {"CP(=O)=CC", "Ch3 P+1 O-1 Ch1 Ch3 | 0-1 1-2 1=3 3-4"},
    {"[H]C([H])([H])[H]", "Ch4"},
    {"[H][H]", "H H | 0-1"},
    {"[H+]", "H+1"},
    {"[2H]C", "Hi2 Ch3 | 0-1"},
    {"[H]*", "H * | 0-1"},
    {"[H]/C=C/F", "H Ch1 Ch1 F | 0-1 1=2 2-3"},
    {"[H]n1cccc1", "~Nh1o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"C12CC1C2", "Ch1o Ch2o Ch1o Ch2o | 0-1 0-2 0-3 1-2 2-3"},
    {"C1CC12CC2", "Ch2o Ch2o Co Ch2o Ch2o | 0-1 0-2 1-2 2-3 2-4 3-4"},
    {"C%10CC%10", "Ch2o Ch2o Ch2o | 0-1 0-2 1-2"},
    {"C%(123)CC%(123)", "Ch2o Ch2o Ch2o | 0-1 0-2 1-2"},
    {"C=1CCC1", "Ch1o Ch2o Ch2o Ch1o | 0-1 0=3 1-2 2-3"},
    {"C1CCC=1", "Ch1o Ch2o Ch2o Ch1o | 0-1 0=3 1-2 2-3"},
    {"C1.C1", "Ch3 Ch3 | 0-1"},
    {"C(C.C)C", "Ch2 Ch3 Ch4 Ch3 | 0-1 0-3"},
    {"[NH3][Pt]Cl", "Nh3 Pt Cl | 0>1 1-2"},
    {"Cn1c(=O)c2c(ncn2C)n(C)c1=O", "Ch3 ~No ~Co O ~Co ~Co ~No ~Ch1o ~No Ch3 ~No Ch3 ~Co O | 0-1 1:2 1:12 "
                                   "2=3 2:4 4:5 4:8 5:6 5:10 6:7 7:8 8-9 10-11 10:12 12=13"},
    {"*1cccc1", "~*o ~Ch1o ~Ch1o ~Ch1o ~Ch1o | 0:1 0:4 1:2 2:3 3:4"},
    {"c1cc*cc1", "~Ch1o ~Ch1o ~Ch1o ~*o ~Ch1o ~Ch1o | 0:1 0:5 1:2 2:3 3:4 4:5"},
    {"CC(C)(C)[N+]#[C-]", "Ch3 C Ch3 Ch3 N+1 C-1 | 0-1 1-2 1-3 1-4 4#5"},
    {"C[S+](C)[O-]", "Ch3 S+1 Ch3 O-1 | 0-1 1-2 1-3"},
    {"[BH4-]", "Bh4-1"},
    {"[SiH4]", "Sih4"},
    {"CI(C)C", "Ch3 I Ch3 Ch3 | 0-1 1-2 1-3"},
    {"[Cu]", "Cu^1"},
    {"F/C=C/F", "F Ch1 Ch1 F | 0-1 1=2 2-3"},
    {"C1=Cc2cccc3cccc1c23", "Ch1o Ch1o ~Co ~Ch1o ~Ch1o ~Ch1o ~Co ~Ch1o ~Ch1o ~Ch1o ~Co ~Co | 0=1 0-10 "
                            "1-2 2:3 2:11 3:4 4:5 5:6 6:7 6:11 7:8 8:9 9:10 10:11"},
};

static void test_graphs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        read_good(graphs[i].smiles);
        if (strcmp(describe(&molecule), graphs[i].expected) != 0)
            fail_msg("%s: %s\n  expected %s", graphs[i].smiles, describe(&molecule), graphs[i].expected);
    }
}

/* Pairs of SMILES that are one molecule, with its atoms in the same order. */
static void test_one_graph(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"c1ccccc1", "C1=CC=CC=C1"},
        {"c1ccccc1C", "C1:C:C:C:C:C1C"},
        {"C[N+]([O-])=O", "CN(=O)=O"},
        {"CN=[N+]=[N-]", "CN=N#N"},
        {"O[Cl+3]([O-])([O-])[O-]", "OCl(=O)(=O)=O"},
        {"[CH3][CH2][OH]", "CCO"},
        {"CCO", "CC([H])([H])O[H]"},
        {"c1c[nH]cc1", "C1=CNC=C1"},
        {"Oc1ncccc1", "OC1=NC=CC=C1"},
        {" CC\t", "CC"},
        {"C1CC1", "C%01CC1"},
        {"C-C", "CC"},
        {"c1ccccc1-c1ccccc1", "c1ccccc1c1ccccc1"},
        {"[O-][n+]1ccccc1", "O=n1ccccc1"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char first[4096];
        read_good(pairs[i][0]);
        strcpy(first, describe(&molecule));
        read_good(pairs[i][1]);
        if (strcmp(first, describe(&molecule)) != 0)
            fail_msg("%s and %s: %s, %s", pairs[i][0], pairs[i][1], first, describe(&molecule));
    }
}

/* What is kept as it was written. */
static void test_written(void **state) {
    (void)state;
    read_good("C[13C@@H-2:42]");
    const at_atom *atom = &molecule.atoms[1];
    assert_int_equal(atom->isotope, 13);
    assert_int_equal(atom->chirality, AT_CHIRAL_RIGHT);
    assert_int_equal(atom->hydrogens_read, 1);
    assert_int_equal(atom->charge, -2);
    assert_int_equal(atom->map, 42);
    assert_int_equal(atom->position, 1);
    assert_int_equal(atom->in_bracket, 1);
    assert_int_equal(molecule.atoms[0].in_bracket, 0);
    read_good("N[Co@OH26](F)(Cl)(Br)(I)S");
    assert_int_equal(molecule.atoms[1].chirality, AT_CHIRAL_OH);
    assert_int_equal(molecule.atoms[1].chirality_number, 26);
    read_good("[S++].[S--].[S+15]");
    assert_int_equal(molecule.atoms[0].charge, 2);
    assert_int_equal(molecule.atoms[1].charge, -2);
    assert_int_equal(molecule.atoms[2].charge, 15);
    assert_int_equal(molecule.fragments, 3);
    read_good("C1CC=1");
    assert_int_equal(molecule.bonds[2].order_read, 2);
    assert_int_equal(molecule.bonds[2].from, 0);
    assert_int_equal(molecule.bonds[2].to, 2);
    read_good("c1ccccc1");
    assert_int_equal(molecule.atoms[0].aromatic_read, 1);
    int doubles = 0;
    for (int i = 0; i < 6; i++) doubles += molecule.bonds[i].order == 2;
    assert_int_equal(doubles, 3);
    static const char *const elements[] = {"H", "He", "Og", "U", "Cn", "Sc", "Sn", "Nh", "Ts"};
    static const int numbers[] = {1, 2, 118, 92, 112, 21, 50, 113, 117};
    for (int i = 0; i < 9; i++) {
        char smiles[8];
        sprintf(smiles, "[%s]", elements[i]);
        read_good(smiles);
        assert_int_equal(molecule.atoms[0].element, numbers[i]);
    }
}

static void test_stereo(void **state) {
    (void)state;
    static const struct {
        const char *smiles;
        int bond, stereo;
    } cases[] = {{"F/C=C/F", 1, 2},   {"F\\C=C\\F", 1, 2}, {"F/C=C\\F", 1, 1}, {"C(\\F)=C/F", 1, 2},
                 {"C(/F)=C/F", 1, 1}, {"FC=CF", 1, 0},     {"F/C=CF", 1, 0},   {"F/C=C/1.F1", 1, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_good(cases[i].smiles);
        if (molecule.bonds[cases[i].bond].stereo != cases[i].stereo)
            fail_msg("%s: %d", cases[i].smiles, molecule.bonds[cases[i].bond].stereo);
    }
    read_good("C=CC=O"); /* conjugated, and what that makes of the atoms */
    for (int i = 0; i < 3; i++) assert_int_equal(molecule.bonds[i].conjugated, 1);
    for (int i = 0; i < 4; i++) assert_int_equal(molecule.atoms[i].hybridization, 2);
    read_good("CC#N");
    assert_int_equal(molecule.atoms[0].hybridization, 3);
    assert_int_equal(molecule.atoms[1].hybridization, 1);
}

static const struct {
    const char *smiles;
    size_t position;
    const char *reason; /* a part of it */
} refusals[] = {{"", 0, "empty"},
                {"  ", 0, "empty"},
                {"CC1CC", 2, "ring number 1 is opened and never closed"},
                {"C%12C%(345)C%12", 5, "ring number 345"},
                {"CC(C", 2, "branch is never closed"},
                {"CC)C", 2, "no branch that this closes"},
                {"CC()C", 2, "branch is empty"},
                {"C((C))C", 2, "begins with an atom"},
                {"(C)C", 0, "follows an atom"},
                {"CC(=)C", 3, "missing after the bond"},
                {"CC=", 2, "missing after the bond"},
                {"=C", 0, "follows an atom"},
                {"C==C", 2, "two bond symbols"},
                {"C=(C)", 1, "inside of the branch"},
                {"C.", 1, "after the dot"},
                {".C", 0, "between atoms"},
                {"C..C", 2, "between atoms"},
                {"C[NH3", 1, "never closed"},
                {"C[", 1, "never closed"},
                {"CC]", 2, "no bracket"},
                {"C[Zz]", 2, "no element Zz"},
                {"C[J]", 2, "no element J"},
                {"C[al]", 2, "lower case"},
                {"C[]", 2, "missing in the bracket"},
                {"CNaC", 2, "a is not an aromatic atom"},
                {"CSi", 2, "i is not an aromatic atom"},
                {"CLiC", 1, "Li stands in brackets: [Li]"},
                {"CD", 1, "no element D"},
                {"[C+++]", 4, "+3"},
                {"[C@TB21]", 2, "1 to 20"},
                {"[CH3C]", 4, "in this order"},
                {"[CH3:x]", 5, "atom class"},
                {"[70000C]", 1, "isotope"},
                {"C11", 2, "to itself"},
                {"C1C1", 3, "bonded already"},
                {"C12CC12", 6, "bonded already"},
                {"C=1CC-1", 6, "opened with a bond = and closed with -"},
                {"C%1", 1, "two digits"},
                {"C%(12C", 1, "up to five digits"},
                {"1CC1", 0, "follows an atom"},
                {"C(1CC1)", 2, "before the branch"},
                {"CC(C)(C)(C)C", 1, "C has a valence of 5 (neighbours: 5, hydrogens: 0"},
                {"C=O=C", 2, "O has a valence of 4"},
                {"CN(C)(C)C", 1, "N has a valence of 4"},
                {"C[NH4+]", 1, "N+ has a valence of 5"},
                {"CS(C)(C)(C)(C)(C)C", 1, "allows up to 6"},
                {"F=C", 0, "F has a valence of 2"},
                {"c1ccccc1c", 8, "must be in a ring"},
                {"C:C", 1, "must be in a ring"},
                {"c1cccc1", 5, "[nH]"},
                {"n1cccc1", 5, "[nH]"},
                {"C C", 1, "white space"},
                {"C~C", 1, "any bond"},
                {"C->[Fe]", 1, "dative"},
                {"C!", 1, "! has no meaning"},
                {"C\xC3\xA9", 1, "byte 0xc3"}};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        size_t position = 99;
        const char *reason = NULL;
        attn_status status = read_smiles(refusals[i].smiles, strlen(refusals[i].smiles), &position, &reason);
        if (status != ATTN_INVALID_ARGUMENT) fail_msg("%s is read", refusals[i].smiles);
        if (position != refusals[i].position || !strstr(reason, refusals[i].reason))
            fail_msg("%s: byte %zu: %s", refusals[i].smiles, position, reason);
        assert_int_equal(molecule.atom_count, 0);
    }
    read_good("C1CC1"); /* what was left open before does no harm */
}

/* ---- inputs made to take long ---- */

static char *repeat(const char *piece, int64_t times, const char *end) {
    size_t length = strlen(piece);
    char *text = malloc(length * (size_t)times + strlen(end) + 1);
    assert_non_null(text);
    for (int64_t i = 0; i < times; i++) memcpy(text + (size_t)i * length, piece, length);
    strcpy(text + length * (size_t)times, end);
    return text;
}

static void check_bomb(char *text, attn_status expected, int64_t atoms) {
    size_t position;
    const char *reason;
    clock_t start = clock();
    attn_status status = read_smiles(text, strlen(text), &position, &reason);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status != expected) fail_msg("%.40s...: %s", text, reason);
    assert_int_equal(molecule.atom_count, atoms);
    if (seconds > 20) fail_msg("%.40s... took %.1f s", text, seconds); /* 0.1 to 0.7 s without sanitizers */
    free(text);
}

/* n atoms in a row with random bonds between them, `open` ring numbers at most. */
static char *tangle(const char *symbol, int64_t atoms, uint64_t seed) {
    char *text = malloc((size_t)atoms * 24), *end = text;
    int64_t open[1000], count = 0, next = 0;
    assert_non_null(text);
    for (int64_t i = 0; i < atoms; i++) {
        end += sprintf(end, "%s", symbol);
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (count && (seed >> 33) % 2) {
            int64_t which = (int64_t)((seed >> 40) % (uint64_t)count);
            if (open[which] >> 32 < i - 1) {
                end += sprintf(end, "%%(%d)", (int)(open[which] & 0xffffffff));
                open[which] = open[--count];
                continue;
            }
        }
        if (count == 1000 || atoms - i < 2500) continue;
        end += sprintf(end, "%%(%d)", (int)next);
        open[count++] = i << 32 | next;
        next = (next + 1) % 100000;
    }
    while (count) end += sprintf(end, ".%s%%(%d)", symbol, (int)(open[--count] & 0xffffffff));
    return text;
}

static void test_bombs(void **state) {
    (void)state;
    int64_t n = 100000;
    char *closing = repeat(")", n, "");
    check_bomb(repeat("C(C", n, closing), ATTN_OK, 2 * n);
    free(closing);
    check_bomb(repeat("C(", n, ""), ATTN_INVALID_ARGUMENT, 0);
    check_bomb(repeat("C", 10 * n, ""), ATTN_OK, 10 * n);
    check_bomb(repeat("c1ccccc1", n, ""), ATTN_OK, 6 * n);
    check_bomb(repeat("c1cc1", n, ""), ATTN_INVALID_ARGUMENT, 0);
    check_bomb(repeat("C.", n, "C"), ATTN_OK, n + 1);
    check_bomb(repeat("[H]", n, ""), ATTN_INVALID_ARGUMENT, 0);
    char *many = malloc(9 * 10000 + 1), *end = many;
    assert_non_null(many);
    for (int i = 0; i < 10000; i++) end += sprintf(end, "C%%(%d)", 10000 + i);
    check_bomb(many, ATTN_INVALID_ARGUMENT, 0);
    size_t position;
    const char *reason;
    for (int i = 0; i < 3; i++) {
        char *text = tangle(i == 1 ? "c" : i == 2 ? "*" : "C", 50000, (uint64_t)i + 1);
        clock_t start = clock();
        read_smiles(text, strlen(text), &position, &reason);
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
        free(text);
    }
}

/* ---- scaffolds ---- */

static void write_scaffold(const char *smiles, at_writer *key) {
    read_good(smiles);
    key->count = 0;
    if (key->bytes) key->bytes[0] = 0;
    assert_int_equal(at_molecule_scaffold(key->context, &molecule, key), ATTN_OK);
}

static void test_scaffolds(void **state) {
    (void)state;
    static const struct {
        const char *first, *second;
        int same;
    } cases[] = {{"Cc1ccccc1", "OC(=O)C1=CC=CC=C1", 1},
                 {"c1ccccc1", "C1CCCCC1", 0},
                 {"CCC", "C", 1},
                 {"c1ccccc1CCc1ccccc1", "Clc1ccccc1CC(C)c1ccc(F)cc1", 1},
                 {"c1ccccc1CCc1ccccc1", "c1ccccc1CCCc1ccccc1", 0},
                 {"O=C1CCCCC1", "C1CCCCC1", 0},
                 {"O=C1CCCCC1C", "CC1CCCC(=O)C1", 1},
                 {"Cn1cccc1", "c1cc[nH]c1", 1},
                 {"C[C@H]1CCCO1", "C[C@@H]1CCCO1", 1},
                 {"C1CC2CCCC2C1", "C1CCC2CCC2C1", 0},
                 {"C1CCC2CCCCC2C1", "C1CCC(C1)C1CCCC1", 0},
                 {"c1ccncc1.Cl", "Cc1ccncc1.[Na+]", 1},
                 {"C12C3C4C1C5C2C3C45", "OC12C3C4C1C5C2C3C45", 1},
                 {"c1ccc2c(c1)CCC2", "C1Cc2ccc(N)cc2C1", 1}};
    at_writer keys[2] = {{.context = test_best_context(1)}, {.context = test_best_context(1)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_scaffold(cases[i].first, &keys[0]);
        write_scaffold(cases[i].second, &keys[1]);
        int same =
            keys[0].count == keys[1].count && (!keys[0].count || strcmp(keys[0].bytes, keys[1].bytes) == 0);
        if (same != cases[i].same)
            fail_msg("%s, %s: %s, %s", cases[i].first, cases[i].second, keys[0].bytes, keys[1].bytes);
    }
    write_scaffold("CCO", &keys[0]);
    assert_int_equal(keys[0].count, 0);
    for (int i = 0; i < 2; i++) at_writer_free(&keys[i]);
}

/* Memory is taken once; and where there is none, that is said and nothing is lost. */
static void test_memory(void **state) {
    (void)state;
    counting_allocator counter = {.fail_at = 0};
    attn_allocator allocator = counting_allocator_functions(&counter);
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = allocator;
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    const char *smiles = "c1ccc2c(c1)C%(1000)CC%(1000)C2", *reason;
    at_molecule fresh = {.work = NULL};
    size_t position;
    int64_t before = counter.live, fail_at = 1;
    for (;; fail_at++) {
        counter.fail_at = fail_at;
        attn_status status = at_smiles_read(context, smiles, strlen(smiles), &fresh, &position, &reason);
        counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_int_equal(fresh.atom_count, 0);
        at_molecule_free(context, &fresh);
        assert_int_equal(counter.live, before);
    }
    assert_true(fail_at > 3);
    int64_t allocations = counter.allocations;
    for (int i = 0; i < 10; i++)
        assert_int_equal(at_smiles_read(context, smiles, strlen(smiles), &fresh, &position, &reason),
                         ATTN_OK);
    assert_int_equal(counter.allocations, allocations);
    at_molecule_free(context, &fresh);
    at_molecule_free(context, &fresh);
    assert_int_equal(counter.live, before);
    attn_context_destroy(context);
}

static int teardown(void **state) {
    at_molecule_free(test_best_context(1), &molecule);
    return test_contexts_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs),    cmocka_unit_test(test_one_graph), cmocka_unit_test(test_written),
        cmocka_unit_test(test_stereo),    cmocka_unit_test(test_refusals),  cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_scaffolds), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, teardown);
}
