/* scaffold.c: the Bemis-Murcko scaffold of a molecule, as a text that is the same for the same graph.
 *
 * The scaffold is what is left when atoms with one neighbour are cut away again and again: rings and what
 * links them; and atoms with a double bond to those. Chirality and isotopes do not count. The text names
 * atoms and bonds in a canonical order: atoms are ranked by what is around them, farther and farther; where
 * atoms stay equal, one of them is put first and the others are ranked anew, and of all choices at the first
 * such place the one with the smallest text is taken. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/molecule/perceive.h"

#define ROUNDS_LARGE 16 /* of mixing in those */
#define EXACT_MOST 500  /* atoms; larger scaffolds have a hash of their ranks as their text */
#define CHOICES_MOST 12 /* equal atoms that are tried one after another */

typedef struct scaffold {
    const at_molecule *molecule;
    uint32_t *number;         /* [atoms of the molecule] in the scaffold; AT_NONE: cut away */
    uint32_t *atom;           /* [count] in the molecule */
    uint64_t *colour, *mixed; /* [count] what is known of an atom */
    uint64_t *label;          /* [count] of the atom itself */
    uint32_t *rank, *order;   /* [count] */
    uint64_t *bonds;          /* rank, rank and kind of every bond */
    int64_t count, bond_count;
} scaffold;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static unsigned bond_kind(const at_bond *bond) {
    return bond->aromatic ? AT_ORDER_AROMATIC : bond->dative ? 6u : bond->order;
}

/* ---- what belongs to it ---- */

/* Leaves go until there are none; what a fragment without rings has left is one atom. */
static void cut_leaves(scaffold *s, uint32_t *degree, uint32_t *queue) {
    const at_molecule *molecule = s->molecule;
    int64_t queued = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        degree[i] = molecule->atoms[i].degree;
        s->number[i] = 0;
        if (degree[i] <= 1) {
            queue[queued++] = (uint32_t)i;
            s->number[i] = AT_NONE;
        }
    }
    for (int64_t i = 0; i < queued; i++) {
        const at_atom *atom = &molecule->atoms[queue[i]];
        for (uint32_t j = 0; j < atom->degree; j++) {
            uint32_t other = molecule->links[atom->first_link + j].atom;
            if (s->number[other] == AT_NONE || --degree[other] > 1) continue;
            s->number[other] = AT_NONE;
            queue[queued++] = other;
        }
    }
}

/* Atoms with a double bond to it come back; the others leave hydrogens in their places. */
static void number_atoms(scaffold *s, uint32_t *back) {
    const at_molecule *molecule = s->molecule;
    int64_t backs = 0;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        int from = s->number[bond->from] != AT_NONE, to = s->number[bond->to] != AT_NONE;
        if (from != to && bond->order == 2 && !bond->aromatic) back[backs++] = from ? bond->to : bond->from;
    }
    for (int64_t i = 0; i < backs; i++) s->number[back[i]] = 0;
    s->count = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        if (s->number[i] == AT_NONE) continue;
        s->atom[s->count] = (uint32_t)i;
        s->number[i] = (uint32_t)s->count++;
    }
}

static void label_atoms(scaffold *s) {
    const at_molecule *molecule = s->molecule;
    for (int64_t i = 0; i < s->count; i++) {
        const at_atom *atom = &molecule->atoms[s->atom[i]];
        uint64_t hydrogens = atom->hydrogens, degree = 0;
        int lost = 0, kept = 0;
        for (uint32_t j = 0; j < atom->degree; j++) {
            at_link link = molecule->links[atom->first_link + j];
            int halves = at_bond_halves(&molecule->bonds[link.bond], s->atom[i]);
            if (s->number[link.atom] == AT_NONE) {
                lost += halves / 2;
                continue;
            }
            kept += halves / 2;
            degree++;
        }
        if (lost)
            hydrogens =
                (uint64_t)(atom->aromatic ? atom->hydrogens + lost : at_valence_hydrogens(atom, kept));
        s->label[i] = atom->element | (uint64_t)(uint8_t)atom->charge << 8 | (uint64_t)atom->aromatic << 16 |
                      (hydrogens & 0xff) << 24 | (degree & 0xff) << 32;
    }
}

/* ---- ranks ---- */

static int compare_words(const void *first, const void *second) {
    const uint64_t *a = first, *b = second;
    return *a < *b ? -1 : *a > *b;
}

/* How many different colours there are. */
static int64_t count_colours(scaffold *s) {
    int64_t colours = 0;
    memcpy(s->mixed, s->colour, (size_t)s->count * sizeof *s->mixed);
    qsort(s->mixed, (size_t)s->count, sizeof *s->mixed, compare_words);
    for (int64_t i = 0; i < s->count; i++) colours += i == 0 || s->mixed[i] != s->mixed[i - 1];
    return colours;
}

/* Mixes the colours of the neighbours in until no more of them are distinguished. */
static int64_t refine(scaffold *s) {
    const at_molecule *molecule = s->molecule;
    int large = s->count > EXACT_MOST;
    int64_t most = large ? ROUNDS_LARGE : s->count, colours = large ? 0 : count_colours(s);
    for (int64_t round = 0; round < most; round++) {
        for (int64_t i = 0; i < s->count; i++) {
            const at_atom *atom = &molecule->atoms[s->atom[i]];
            uint64_t sum = 0;
            for (uint32_t j = 0; j < atom->degree; j++) {
                at_link link = molecule->links[atom->first_link + j];
                if (s->number[link.atom] == AT_NONE) continue;
                sum += mix(s->colour[s->number[link.atom]] +
                           0x9e3779b97f4a7c15u * bond_kind(&molecule->bonds[link.bond]));
            }
            s->mixed[i] = mix(s->colour[i] * 3 + sum);
        }
        memcpy(s->colour, s->mixed, (size_t)s->count * sizeof *s->colour);
        if (large) continue;
        int64_t now = count_colours(s);
        if (now <= colours) break;
        colours = now;
    }
    return colours;
}

/* The smallest colour that several atoms have (mixed is sorted); its atoms are equal so far. */
static uint64_t tied_colour(const scaffold *s) {
    for (int64_t i = 1; i < s->count; i++) {
        if (s->mixed[i] == s->mixed[i - 1]) return s->mixed[i];
    }
    return 0;
}

/* Puts one atom of every tie first until there is none. */
static void break_ties(scaffold *s, int64_t colours) {
    while (colours < s->count) {
        uint64_t tied = tied_colour(s);
        int64_t i = 0;
        while (s->colour[i] != tied) i++;
        s->colour[i] = mix(tied + 1);
        colours = refine(s);
    }
}

/* ---- the text ---- */

static void write_text(scaffold *s, at_writer *text) {
    const at_molecule *molecule = s->molecule;
    for (int64_t i = 0; i < s->count; i++) { /* mixed is sorted: the rank of an atom is its place there */
        const uint64_t *place =
            bsearch(&s->colour[i], s->mixed, (size_t)s->count, sizeof *s->mixed, compare_words);
        s->rank[i] = (uint32_t)(place - s->mixed);
        s->order[s->rank[i]] = (uint32_t)i;
    }
    for (int64_t i = 0; i < s->count; i++) {
        const at_atom *atom = &molecule->atoms[s->atom[s->order[i]]];
        uint64_t label = s->label[s->order[i]];
        at_print(text, "%s%s", atom->aromatic ? "~" : "", at_elements[atom->element].symbol);
        if (label >> 24 & 0xff) at_print(text, "h%u", (unsigned)(label >> 24 & 0xff));
        if (atom->charge) at_print(text, "%+d", atom->charge);
    }
    s->bond_count = 0;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        if (s->number[bond->from] == AT_NONE || s->number[bond->to] == AT_NONE) continue;
        uint64_t first = s->rank[s->number[bond->from]], second = s->rank[s->number[bond->to]];
        if (first > second) {
            uint64_t swap = first;
            first = second;
            second = swap;
        }
        s->bonds[s->bond_count++] = first << 36 | second << 8 | bond_kind(bond);
    }
    qsort(s->bonds, (size_t)s->bond_count, sizeof *s->bonds, compare_words);
    for (int64_t i = 0; i < s->bond_count; i++)
        at_print(text, "%c%u%c%u", i ? ',' : ' ', (unsigned)(s->bonds[i] >> 36), "?-=#$:>"[s->bonds[i] & 7],
                 (unsigned)(s->bonds[i] >> 8 & 0xfffffff));
}

static void write_hash(const scaffold *s, at_writer *key) {
    uint64_t sum = (uint64_t)s->count;
    for (int64_t i = 0; i < s->count; i++) sum += mix(s->colour[i]);
    at_print(key, "#%016llx", (unsigned long long)mix(sum));
}

static int is_smaller(const at_writer *first, const at_writer *second) {
    if (first->count != second->count) return first->count < second->count;
    return memcmp(first->bytes, second->bytes, (size_t)first->count) < 0;
}

/* Each atom of the first tie is put first once; the smallest text is the key. */
static attn_status write_canonical(scaffold *s, uint64_t *saved, at_writer *key) {
    at_writer best = {.context = key->context}, text = {.context = key->context};
    memcpy(s->colour, s->label, (size_t)s->count * sizeof *s->colour);
    for (int64_t i = 0; i < s->count; i++) s->colour[i] = mix(s->colour[i] + 1);
    int64_t colours = refine(s);
    if (s->count > EXACT_MOST) {
        write_hash(s, key);
        return key->status;
    }
    uint64_t tied = colours < s->count ? tied_colour(s) : 0;
    memcpy(saved, s->colour, (size_t)s->count * sizeof *saved);
    int tried = 0;
    for (int64_t i = 0; i < s->count && tried < CHOICES_MOST; i++) {
        if (colours < s->count) {
            if (saved[i] != tied) continue;
            memcpy(s->colour, saved, (size_t)s->count * sizeof *saved);
            s->colour[i] = mix(tied + 1);
            break_ties(s, refine(s));
        }
        tried++;
        text.count = 0;
        write_text(s, &text);
        if (text.status != ATTN_OK) break;
        if (tried == 1 || is_smaller(&text, &best)) {
            at_writer swap = best;
            best = text;
            text = swap;
        }
        if (colours == s->count) break;
    }
    attn_status status = text.status != ATTN_OK ? text.status : best.status;
    if (status == ATTN_OK && best.count) at_put(key, best.bytes, (size_t)best.count);
    at_writer_free(&best);
    at_writer_free(&text);
    return status == ATTN_OK ? key->status : status;
}

attn_status at_molecule_scaffold(attn_context *context, const at_molecule *molecule, at_writer *key) {
    int64_t atoms = molecule->atom_count, bonds = molecule->bond_count;
    scaffold s = {.molecule = molecule};
    uint64_t *memory = at_allocate(context, 4 * atoms + bonds + 3 * atoms + 1, sizeof *memory, "a scaffold");
    if (!memory) return ATTN_OUT_OF_MEMORY;
    uint64_t *saved = memory + 3 * atoms;
    s.colour = memory;
    s.mixed = memory + atoms;
    s.label = memory + 2 * atoms;
    s.bonds = memory + 4 * atoms;
    s.number = (uint32_t *)(void *)(s.bonds + bonds);
    s.atom = s.number + atoms;
    s.rank = s.atom + atoms;
    s.order = s.rank + atoms;
    cut_leaves(&s, s.rank, s.order);
    number_atoms(&s, s.order + atoms);
    if (s.count) label_atoms(&s);
    attn_status status = s.count ? write_canonical(&s, saved, key) : ATTN_OK;
    at_release(context, memory);
    return status;
}
