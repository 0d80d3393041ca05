/* layout.c: coordinates of molecules as the library draws them, for test_layout.py, which builds it.
 *
 *     layout FILE            for each SMILES of FILE a line: atoms "element,x,y ...|" and bonds
 * "from,to,order
 *                            ...", or "error"
 *     layout FILE speed      for each line of standard input, lays out all of FILE and prints the seconds of
 *                            the layouts alone, and those of the slowest molecule
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <attn/attn.h>

#include "explain/layout.h"
#include "inputs/molecule/smiles.h"

typedef struct drawing {
    int64_t room, *from, *to;
    int8_t *order, *direction;
    double *x, *y;
} drawing;

static void *need(void *memory) {
    if (!memory) exit(2);
    return memory;
}

static void make_room(drawing *d, int64_t room) {
    if (room <= d->room) return;
    d->room = 2 * room;
    size_t count = (size_t)d->room;
    d->from = need(realloc(d->from, count * sizeof *d->from));
    d->to = need(realloc(d->to, count * sizeof *d->to));
    d->order = need(realloc(d->order, count));
    d->direction = need(realloc(d->direction, count));
    d->x = need(realloc(d->x, count * sizeof *d->x));
    d->y = need(realloc(d->y, count * sizeof *d->y));
}

static at_molecule_sketch sketch_of(const at_molecule *molecule, drawing *d) {
    make_room(d, molecule->atom_count + molecule->bond_count);
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        d->from[i] = bond->from;
        d->to[i] = bond->to;
        d->order[i] = (int8_t)(bond->aromatic ? 4 : bond->order > 3 ? 3 : bond->order);
        d->direction[i] = (int8_t)bond->direction;
    }
    at_molecule_sketch sketch = {molecule->atom_count, molecule->bond_count, d->from, d->to, d->order,
                                 d->direction};
    return sketch;
}

/* Of the processor: other work on the machine does not count. */
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_layout(const at_molecule *molecule, const drawing *d) {
    for (int64_t i = 0; i < molecule->atom_count; i++)
        printf("%d,%.6f,%.6f ", molecule->atoms[i].element, d->x[i], d->y[i]);
    printf("|");
    for (int64_t i = 0; i < molecule->bond_count; i++)
        printf("%" PRId64 ",%" PRId64 ",%d ", d->from[i], d->to[i], molecule->bonds[i].order);
    printf("\n");
}

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        text = size >= 0 ? malloc((size_t)size + 1) : NULL;
        *length = (size_t)size;
        if (text && fread(text, 1, *length, file) != *length) exit(2);
    }
    if (!text) exit(2);
    fclose(file);
    return text;
}

/* Every line of the text; returns the seconds of the layouts. */
static double walk_lines(attn_context *context, const char *text, size_t length, drawing *d, int print,
                         double *slowest) {
    at_molecule molecule = {.work = NULL};
    double total = 0;
    for (size_t place = 0; place < length;) {
        const char *end = memchr(text + place, '\n', length - place), *reason;
        size_t size = end ? (size_t)(end - text) - place : length - place, position;
        if (at_smiles_read(context, text + place, size, &molecule, &position, &reason) == ATTN_OK) {
            at_molecule_sketch sketch = sketch_of(&molecule, d);
            double start = seconds();
            if (at_layout_molecule(context, &sketch, d->x, d->y) != ATTN_OK) exit(3);
            double took = seconds() - start;
            total += took;
            if (took > *slowest) *slowest = took;
            if (print) print_layout(&molecule, d);
        } else if (print)
            printf("error\n");
        place += size + 1;
    }
    at_molecule_free(context, &molecule);
    return total;
}

int main(int count, char **arguments) {
    attn_context *context;
    size_t length = 0;
    drawing d = {.room = 0};
    double slowest = 0;
    if (count < 2 || attn_context_create(NULL, &context) != ATTN_OK) return 2;
    char *text = read_file(arguments[1], &length), line[16];
    if (count == 2) walk_lines(context, text, length, &d, 1, &slowest);
    while (count > 2 && fgets(line, sizeof line, stdin)) {
        slowest = 0;
        double took = walk_lines(context, text, length, &d, 0, &slowest);
        printf("%.9f %.9f\n", took, slowest);
        fflush(stdout);
    }
    attn_context_destroy(context);
    free(d.from);
    free(d.to);
    free(d.order);
    free(d.direction);
    free(d.x);
    free(d.y);
    free(text);
    return 0;
}
