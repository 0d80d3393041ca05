/* smiles_scan.c: the graph that a SMILES writes down, in one pass over its bytes. Branches and open rings are
 * kept in arrays, so that neither depth nor number is limited by the stack. */
#include <string.h>

#include "base/memory.h"
#include "inputs/molecule/perceive.h"

typedef struct scanner {
    attn_context *context;
    const char *text;
    size_t place, end;
    at_molecule *molecule;
    struct at_smiles_work *work;
    size_t *position;
    uint32_t previous;  /* the atom that the next one is bonded to; AT_NONE: to none */
    uint32_t *branches; /* pairs: the atom before a branch, and where it was opened */
    int64_t depth;
    uint8_t order, direction; /* of the bond symbol before the next atom or ring number; order 0: none */
    uint8_t has_symbol;
    size_t symbol_place;
} scanner;

#define REFUSE(scanner, where, ...)                                                                          \
    at_molecule_refuse((scanner)->molecule, (scanner)->position, where, __VA_ARGS__)

static int is_digit(char byte) { return byte >= '0' && byte <= '9'; }
static int is_lower(char byte) { return byte >= 'a' && byte <= 'z'; }
static int is_upper(char byte) { return byte >= 'A' && byte <= 'Z'; }
static char peek(const scanner *s, size_t ahead) {
    return s->place + ahead < s->end ? s->text[s->place + ahead] : 0;
}

static uint8_t default_order(const at_molecule *molecule, const at_bond *bond) {
    if (bond->order_read) return bond->order_read;
    return molecule->atoms[bond->from].aromatic_read && molecule->atoms[bond->to].aromatic_read
               ? AT_ORDER_AROMATIC
               : 1;
}

static void add_bond(scanner *s, uint32_t from, uint32_t to, uint8_t order, uint8_t direction, size_t where) {
    at_molecule *molecule = s->molecule;
    at_bond *bond = &molecule->bonds[molecule->bond_count];
    *bond = (at_bond){.from = from, .to = to, .order_read = order, .direction = direction};
    bond->order = default_order(molecule, bond);
    if (bond->order == AT_ORDER_AROMATIC) s->work->aromatics = 1;
    s->work->bond_position[molecule->bond_count++] = (uint32_t)where;
}

/* Elements whose groups are written in several ways are doubtful: N, P, Cl, Br, I. */
static void note_element(struct at_smiles_work *work, uint8_t element) {
    if (element == 7 || element == 15 || element == 17 || element == 35 || element == 53) work->doubtful = 1;
    if (element == 1) work->hydrogens = 1;
    if (element == 0) work->wildcards = 1;
    if (at_elements[element].flags & AT_ELEMENT_METAL) work->metals = 1;
}

/* An atom with its element, place and aromaticity, bonded to the one before. */
static at_atom *add_atom(scanner *s, uint8_t element, int aromatic, size_t where) {
    at_molecule *molecule = s->molecule;
    uint32_t number = (uint32_t)molecule->atom_count++;
    at_atom *atom = &molecule->atoms[number];
    *atom = (at_atom){.element = element, .aromatic_read = (uint8_t)aromatic, .position = (uint32_t)where};
    if (aromatic) s->work->aromatics = 1;
    note_element(s->work, element);
    if (s->previous != AT_NONE)
        add_bond(s, s->previous, number, s->order, s->direction, s->has_symbol ? s->symbol_place : where);
    s->previous = number;
    s->order = s->direction = s->has_symbol = 0;
    return atom;
}

/* ---- brackets ---- */

/* A number of up to `digits` digits at the place; -1: there is none, -2: it has more. */
static int64_t read_number(scanner *s, int digits) {
    if (!is_digit(peek(s, 0))) return -1;
    int64_t number = 0;
    for (int i = 0; is_digit(peek(s, 0)); i++) {
        if (i == digits) return -2;
        number = 10 * number + (s->text[s->place++] - '0');
    }
    return number;
}

static int find_element(char first, char second) {
    for (int i = 1; i < AT_ELEMENTS; i++) {
        if (at_elements[i].symbol[0] == first && at_elements[i].symbol[1] == second) return i;
    }
    return -1;
}

/* The symbol in a bracket: an element, one in lower case that may be aromatic, or *. */
static attn_status read_symbol(scanner *s, int *element, int *aromatic) {
    char first = peek(s, 0), second = peek(s, 1);
    *aromatic = 0;
    if (first == '*') {
        *element = 0;
        s->place++;
        return ATTN_OK;
    }
    if (is_upper(first)) {
        if (is_lower(second) && (*element = find_element(first, second)) > 0) {
            s->place += 2;
            return ATTN_OK;
        }
        if ((*element = find_element(first, 0)) > 0 && !is_lower(second)) {
            s->place++;
            return ATTN_OK;
        }
        if (is_lower(second)) return REFUSE(s, s->place, "there is no element %c%c", first, second);
        return REFUSE(s, s->place, "there is no element %c", first);
    }
    static const struct {
        char symbol[3];
        uint8_t element;
    } names[] = {{"se", 34}, {"as", 33}, {"te", 52}, {"si", 14}, {"b", 5},
                 {"c", 6},   {"n", 7},   {"o", 8},   {"p", 15},  {"s", 16}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].symbol);
        if (s->end - s->place < length || memcmp(s->text + s->place, names[i].symbol, length) != 0) continue;
        if (length == 1 && is_lower(second)) break;
        *element = names[i].element;
        *aromatic = 1;
        s->place += length;
        return ATTN_OK;
    }
    if (is_lower(first))
        return REFUSE(s, s->place,
                      "a symbol in lower case is an aromatic b, c, n, o, p, s, se, as, te or si; other "
                      "elements begin with a capital");
    return REFUSE(s, s->place, "the symbol of an element is missing in the bracket");
}

static attn_status read_chirality(scanner *s, at_atom *atom) {
    static const struct {
        char name[3];
        uint8_t kind, most;
    } classes[] = {{"TH", AT_CHIRAL_TH, 2},
                   {"AL", AT_CHIRAL_AL, 2},
                   {"SP", AT_CHIRAL_SP, 3},
                   {"TB", AT_CHIRAL_TB, 20},
                   {"OH", AT_CHIRAL_OH, 30}};
    size_t where = s->place++;
    if (peek(s, 0) == '@') {
        s->place++;
        atom->chirality = AT_CHIRAL_RIGHT;
        return ATTN_OK;
    }
    atom->chirality = AT_CHIRAL_LEFT;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (peek(s, 0) != classes[i].name[0] || peek(s, 1) != classes[i].name[1]) continue;
        s->place += 2;
        int64_t number = read_number(s, 2);
        if (number < 1 || number > classes[i].most)
            return REFUSE(s, where, "@%s needs a number from 1 to %d", classes[i].name, classes[i].most);
        atom->chirality = classes[i].kind;
        atom->chirality_number = (uint8_t)number;
        return ATTN_OK;
    }
    return ATTN_OK;
}

static attn_status read_charge(scanner *s, at_atom *atom) {
    char sign = peek(s, 0);
    size_t where = s->place++;
    int64_t number = 1;
    if (peek(s, 0) == sign) {
        s->place++;
        number = 2;
    } else if (is_digit(peek(s, 0))) {
        number = read_number(s, 2);
        if (number < 0) return REFUSE(s, where, "a charge has one or two digits");
    }
    if (peek(s, 0) == '+' || peek(s, 0) == '-')
        return REFUSE(s, s->place, "a charge of more than 2 is written with a number: %c3", sign);
    atom->charge = (int8_t)(sign == '+' ? number : -number);
    return ATTN_OK;
}

/* [isotope symbol chirality H charge :class] */
static attn_status read_bracket(scanner *s) {
    size_t where = s->place++;
    int64_t isotope = read_number(s, 5);
    if (isotope == -2 || isotope > UINT16_MAX)
        return REFUSE(s, where + 1, "an isotope is a number of up to %d", UINT16_MAX);
    int element = 0, aromatic = 0;
    if (s->place == s->end) return REFUSE(s, where, "the bracket is never closed");
    attn_status status = read_symbol(s, &element, &aromatic);
    if (status != ATTN_OK) return status;
    at_atom *atom = add_atom(s, (uint8_t)element, aromatic, where);
    atom->in_bracket = 1;
    atom->isotope = isotope > 0 ? (uint16_t)isotope : 0;
    if (peek(s, 0) == '@') status = read_chirality(s, atom);
    if (status != ATTN_OK) return status;
    if (peek(s, 0) == 'H') {
        s->place++;
        int64_t hydrogens = read_number(s, 2);
        if (hydrogens == -2) return REFUSE(s, s->place, "an atom has no more than 99 hydrogens");
        atom->hydrogens = atom->hydrogens_read = (uint8_t)(hydrogens == -1 ? 1 : hydrogens);
    }
    if (peek(s, 0) == '+' || peek(s, 0) == '-') status = read_charge(s, atom);
    if (status != ATTN_OK) return status;
    if (peek(s, 0) == ':') {
        s->place++;
        int64_t map = read_number(s, 9);
        if (map < 0) return REFUSE(s, s->place, "an atom class is : and a number of up to 9 digits");
        atom->map = (uint32_t)map;
    }
    if (s->place == s->end) return REFUSE(s, where, "the bracket is never closed");
    if (peek(s, 0) != ']')
        return REFUSE(s, s->place,
                      "a bracket has isotope, element, @, H, charge and :class, in this order; this is none");
    s->place++;
    return ATTN_OK;
}

/* ---- rings ---- */

static attn_status ring_slot(scanner *s, uint32_t number, uint32_t **slot) {
    struct at_smiles_work *work = s->work;
    if (number < AT_RING_NUMBERS) {
        *slot = &work->slots[number];
        return ATTN_OK;
    }
    if (!work->more_slots) {
        work->more_slots =
            at_allocate(s->context, AT_RING_NUMBERS_MOST, sizeof *work->more_slots, "the rings of a SMILES");
        if (!work->more_slots) return ATTN_OUT_OF_MEMORY;
    }
    *slot = &work->more_slots[number];
    return ATTN_OK;
}

static attn_status close_ring(scanner *s, uint32_t *slot, size_t where) {
    static const char *const symbols[] = {"", "-", "=", "#", "$", ":"};
    at_open_ring *open = &s->work->open[*slot - 1];
    if (open->atom == s->previous)
        return REFUSE(s, where, "ring number %u bonds an atom to itself", (unsigned)open->number);
    if (open->order_read && s->order && open->order_read != s->order)
        return REFUSE(s, where, "ring number %u is opened with a bond %s and closed with %s",
                      (unsigned)open->number, symbols[open->order_read], symbols[s->order]);
    uint8_t order = open->order_read ? open->order_read : s->order;
    uint8_t direction = open->direction;
    if (!direction && s->direction) direction = (uint8_t)(3 - s->direction); /* seen from the other end */
    add_bond(s, open->atom, s->previous, order, direction, where);
    open->atom = AT_NONE;
    *slot = 0;
    s->work->ring_closures++;
    return ATTN_OK;
}

static attn_status read_ring_number(scanner *s, int64_t *number) {
    size_t where = s->place;
    if (peek(s, 0) != '%') {
        *number = s->text[s->place++] - '0';
        return ATTN_OK;
    }
    s->place++;
    if (peek(s, 0) == '(') {
        s->place++;
        *number = read_number(s, 5);
        if (*number < 0 || peek(s, 0) != ')') return REFUSE(s, where, "%%( has up to five digits and a )");
        s->place++;
        return ATTN_OK;
    }
    if (!is_digit(peek(s, 0)) || !is_digit(peek(s, 1)))
        return REFUSE(s, where, "%% is followed by a ring number of two digits");
    *number = 10 * (s->text[s->place] - '0') + (s->text[s->place + 1] - '0');
    s->place += 2;
    return ATTN_OK;
}

static attn_status read_ring(scanner *s) {
    size_t where = s->place;
    int64_t number = 0;
    size_t before = s->has_symbol ? s->symbol_place : where;
    if (s->previous == AT_NONE) return REFUSE(s, where, "a ring number follows an atom; there is none here");
    if (s->text[before - 1] == '(')
        return REFUSE(s, where, "a ring number stands before the branch: C1(C)CC1");
    attn_status status = read_ring_number(s, &number);
    if (status != ATTN_OK) return status;
    uint32_t *slot;
    status = ring_slot(s, (uint32_t)number, &slot);
    if (status != ATTN_OK) return status;
    if (*slot) {
        status = close_ring(s, slot, where);
    } else {
        struct at_smiles_work *work = s->work;
        work->open[work->open_count++] =
            (at_open_ring){s->previous, (uint32_t)where, (uint32_t)number, s->order, s->direction};
        *slot = (uint32_t)work->open_count;
    }
    s->order = s->direction = s->has_symbol = 0;
    return status;
}

/* ---- everything else ---- */

static attn_status open_branch(scanner *s) {
    if (s->has_symbol) return REFUSE(s, s->symbol_place, "a bond symbol stands inside of the branch: C(=O)");
    if (s->previous == AT_NONE) return REFUSE(s, s->place, "a branch follows an atom; there is none here");
    size_t last = s->place;
    if (last && s->text[last - 1] == '(') return REFUSE(s, last, "a branch begins with an atom or a bond");
    s->branches[2 * s->depth] = s->previous;
    s->branches[2 * s->depth + 1] = (uint32_t)s->place++;
    s->depth++;
    return ATTN_OK;
}

static attn_status close_branch(scanner *s) {
    if (s->depth == 0) return REFUSE(s, s->place, "there is no branch that this closes");
    if (s->has_symbol) return REFUSE(s, s->symbol_place, "an atom is missing after the bond symbol");
    if (s->text[s->place - 1] == '(') return REFUSE(s, s->place - 1, "the branch is empty");
    if (s->previous == AT_NONE) return REFUSE(s, s->place - 1, "an atom is missing after the dot");
    s->depth--;
    s->previous = s->branches[2 * s->depth];
    s->place++;
    return ATTN_OK;
}

static attn_status read_bond(scanner *s, uint8_t order, uint8_t direction) {
    if (s->has_symbol) return REFUSE(s, s->place, "two bond symbols in a row");
    if (s->previous == AT_NONE)
        return REFUSE(s, s->place, "a bond symbol follows an atom; there is none here");
    if (order == 1 && s->text[s->place] == '-' && peek(s, 1) == '>')
        return REFUSE(s, s->place, "dative bonds are not supported; write a single bond");
    s->order = order;
    s->direction = direction;
    s->has_symbol = 1;
    s->symbol_place = s->place++;
    return ATTN_OK;
}

static attn_status read_dot(scanner *s) {
    if (s->has_symbol) return REFUSE(s, s->symbol_place, "an atom is missing after the bond symbol");
    if (s->previous == AT_NONE)
        return REFUSE(s, s->place, "a dot stands between atoms; there is none before it");
    s->previous = AT_NONE;
    s->place++;
    return ATTN_OK;
}

static attn_status refuse_byte(scanner *s) {
    unsigned char byte = (unsigned char)s->text[s->place];
    if (byte == ' ' || (byte >= '\t' && byte <= '\r'))
        return REFUSE(s, s->place, "white space: a name must be in a separate column");
    if (byte == ']') return REFUSE(s, s->place, "there is no bracket that this closes");
    if (byte == '~') return REFUSE(s, s->place, "~ (any bond) belongs to patterns, not to molecules");
    if (is_upper((char)byte)) {
        char second = is_lower(peek(s, 1)) ? peek(s, 1) : 0;
        int known = find_element((char)byte, second);
        if (known > 0)
            return REFUSE(s, s->place, "%s stands in brackets: [%s]", at_elements[known].symbol,
                          at_elements[known].symbol);
        return REFUSE(s, s->place, "there is no element %c", byte);
    }
    if (is_lower((char)byte))
        return REFUSE(s, s->place, "%c is not an aromatic atom; those without brackets are b c n o p s",
                      byte);
    if (byte > ' ' && byte < 127) return REFUSE(s, s->place, "%c has no meaning in a SMILES", byte);
    return REFUSE(s, s->place, "byte 0x%02x has no meaning in a SMILES", byte);
}

/* The atoms that need no brackets: 1 + their number; * is 255, and what is aromatic has 128 added. */
static const uint8_t plain_atoms[128] = {
    ['B'] = 6,   ['C'] = 7,   ['N'] = 8,   ['O'] = 9,   ['F'] = 10,  ['P'] = 16,  ['S'] = 17, ['I'] = 54,
    ['b'] = 134, ['c'] = 135, ['n'] = 136, ['o'] = 137, ['p'] = 144, ['s'] = 145, ['*'] = 255};

/* An atom without brackets; *read = 0: there is none. */
static attn_status read_plain(scanner *s, int *read) {
    unsigned char byte = (unsigned char)s->text[s->place];
    uint8_t code = byte < 128 ? plain_atoms[byte] : 0;
    *read = code != 0;
    if (!code) return ATTN_OK;
    size_t where = s->place++;
    if (byte == 'C' && peek(s, 0) == 'l') {
        s->place++;
        code = 18;
    } else if (byte == 'B' && peek(s, 0) == 'r') {
        s->place++;
        code = 36;
    }
    add_atom(s, code == 255 ? 0 : (uint8_t)((code & 127) - 1), code != 255 && code >= 128, where);
    return ATTN_OK;
}

static attn_status scan_one(scanner *s) {
    int read;
    attn_status status = read_plain(s, &read);
    if (read) return status;
    switch (s->text[s->place]) {
    case '[': return read_bracket(s);
    case '(': return open_branch(s);
    case ')': return close_branch(s);
    case '.': return read_dot(s);
    case '-': return read_bond(s, 1, 0);
    case '=': return read_bond(s, 2, 0);
    case '#': return read_bond(s, 3, 0);
    case '$': return read_bond(s, 4, 0);
    case ':': return read_bond(s, AT_ORDER_AROMATIC, 0);
    case '/': return read_bond(s, 0, 1);
    case '\\': return read_bond(s, 0, 2);
    case '%': return read_ring(s);
    default: return is_digit(s->text[s->place]) ? read_ring(s) : refuse_byte(s);
    }
}

static attn_status check_end(scanner *s) {
    const struct at_smiles_work *work = s->work;
    if (s->molecule->atom_count == 0) return REFUSE(s, s->end, "the SMILES is empty");
    if (s->has_symbol) return REFUSE(s, s->symbol_place, "an atom is missing after the bond symbol");
    if (s->depth) return REFUSE(s, s->branches[2 * s->depth - 1], "the branch is never closed");
    if (s->previous == AT_NONE) return REFUSE(s, s->end - 1, "an atom is missing after the dot");
    for (int64_t i = 0; i < work->open_count; i++) {
        if (work->open[i].atom != AT_NONE)
            return REFUSE(s, work->open[i].position, "ring number %u is opened and never closed",
                          (unsigned)work->open[i].number);
    }
    return ATTN_OK;
}

/* Two bonds between the same atoms: only ring bonds can be the second. */
static attn_status check_double_bonds(scanner *s) {
    at_molecule *molecule = s->molecule;
    uint32_t *seen = s->work->scratch[0]; /* of a neighbour: 1 + the atom that saw it last */
    memset(seen, 0, (size_t)molecule->atom_count * sizeof *seen);
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        const at_link *links = molecule->links + molecule->atoms[i].first_link;
        for (uint32_t j = 0; j < molecule->atoms[i].degree; j++) {
            if (seen[links[j].atom] == (uint32_t)i + 1)
                return REFUSE(s, s->work->bond_position[links[j].bond],
                              "this ring bonds two atoms that are bonded already");
            seen[links[j].atom] = (uint32_t)i + 1;
        }
    }
    return ATTN_OK;
}

/* Ring numbers that an error left open are none in the next SMILES. */
static void clear_slots(struct at_smiles_work *work) {
    for (int64_t i = 0; i < work->open_count; i++) {
        uint32_t number = work->open[i].number;
        if (work->open[i].atom == AT_NONE) continue;
        *(number < AT_RING_NUMBERS ? &work->slots[number] : &work->more_slots[number]) = 0;
    }
    work->open_count = 0;
}

attn_status at_smiles_scan(attn_context *context, const char *text, size_t begin, size_t end,
                           at_molecule *molecule, size_t *position) {
    struct at_smiles_work *work = molecule->work;
    scanner s = {.context = context,
                 .text = text,
                 .place = begin,
                 .end = end,
                 .molecule = molecule,
                 .work = work,
                 .position = position,
                 .previous = AT_NONE,
                 .branches = (uint32_t *)(void *)molecule->links}; /* which come when all is read */
    work->wildcards = work->hydrogens = work->metals = work->aromatics = work->doubtful = 0;
    work->ring_closures = 0;
    attn_status status = ATTN_OK;
    while (status == ATTN_OK && s.place < end) status = scan_one(&s);
    if (status == ATTN_OK) status = check_end(&s);
    clear_slots(work);
    if (status != ATTN_OK) return status;
    at_molecule_link(molecule);
    return work->ring_closures ? check_double_bonds(&s) : ATTN_OK;
}
