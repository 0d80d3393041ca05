/* tsv_table.c: tables of nodes and graphs: which column is what; and the ids of nodes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"
#include "inputs/graph/tsv.h"

/* ---- lines ---- */

attn_status at_graph_table_next(at_graph_table *table, int *there) {
    const char *text;
    size_t length;
    do {
        *there = at_graph_line(&table->lines, &text, &length);
    } while (*there && at_graph_blank(text, length));
    if (!*there) return ATTN_OK;
    size_t good = at_unicode_check(text, length);
    if (good != length)
        return at_graph_bad(table->reader, &table->lines,
                            "byte %zu is not UTF-8: convert the file with iconv", good + 1);
    attn_status status = at_graph_split(table->reader->context, text, length, '\t', &table->fields);
    if (status == ATTN_OK && table->width && table->fields.count != table->width)
        return at_graph_bad(table->reader, &table->lines,
                            "%" PRId64 " columns, the first line names %" PRId64 ": TABs stand between them",
                            table->fields.count, table->width);
    return status;
}

attn_status at_graph_table_fail(const at_graph_table *table, const char *what, const char *name) {
    char list[160] = "";
    size_t used = 0;
    int64_t c = 0;
    for (; c < table->width && used + 40 < sizeof list; c++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.30s", c ? ", " : "",
                                 at_string(&table->names.strings, c));
    return at_origin_fail(&table->lines.origin, NULL, 0, "%s%.60s; its first line names the columns %s%s",
                          what, name, list, c < table->width ? ", ..." : "");
}

attn_status at_graph_table_part(at_graph_table *table, int *part) {
    char reason[200];
    *part = ATTN_PART_NONE;
    if (table->split < 0) return ATTN_OK;
    const at_graph_field *field = &table->fields.list[table->split];
    *part = at_split_field(field->text, field->length, table->split_number, reason);
    if (*part >= 0) return ATTN_OK;
    return at_graph_bad(table->reader, &table->lines, "column %.60s: %s",
                        at_string(&table->names.strings, table->split), reason);
}

/* ---- the first line ---- */

static int64_t find_column(const at_graph_table *table, const char *name, size_t length) {
    int64_t found = at_vocabulary_find(&table->names, name, length);
    for (int64_t c = 0; c < table->width && found < 0; c++) {
        const at_strings *names = &table->names.strings;
        if (at_string_length(names, c) == length && at_graph_same(name, length, at_string(names, c)))
            found = c;
    }
    return found;
}

/* The column with the first of these names that has no other role; -1: there is none. */
static int64_t find_usual(const at_graph_table *table, const char *const *names) {
    for (int i = 0; names[i]; i++) {
        int64_t c = find_column(table, names[i], strlen(names[i]));
        if (c >= 0 && table->roles[c] == AT_COLUMN_NUMBER) return c;
    }
    return -1;
}

static int64_t take_usual(at_graph_table *table, const char *name, int64_t role) {
    const char *const names[] = {name, NULL};
    int64_t c = find_usual(table, names);
    if (c >= 0) table->roles[c] = role;
    return c;
}

static attn_status read_names(at_graph_table *table) {
    const at_graph_lines *lines = &table->lines;
    float number;
    attn_status status = ATTN_OK;
    if (at_graph_number(table->fields.list[0].text, table->fields.list[0].length, &number))
        return at_origin_fail(&lines->origin, NULL, lines->line,
                              "the first line names the columns (node, label, split, features), and this one "
                              "begins with a number");
    for (int64_t c = 0, at; c < table->fields.count && status == ATTN_OK; c++) {
        const at_graph_field *field = &table->fields.list[c];
        if (field->length == 0)
            return at_origin_fail(&lines->origin, NULL, lines->line, "column %" PRId64 " has no name", c + 1);
        status = at_vocabulary_add(table->reader->context, &table->names, field->text, field->length, 1, &at);
        if (status == ATTN_OK && at != c)
            return at_origin_fail(&lines->origin, NULL, lines->line, "two columns are called %.60s",
                                  at_string(&table->names.strings, at));
    }
    table->width = table->fields.count;
    return status;
}

static attn_status add_target(at_graph_table *table, int64_t column) {
    const at_strings *names = &table->names.strings;
    table->roles[column] = table->targets.count;
    table->target_columns[table->targets.count] = column;
    return at_strings_add(table->reader->context, &table->targets, at_string(names, column),
                          at_string_length(names, column));
}

/* Those that are requested, as far as they are there; else the one with a usual name. */
static attn_status find_targets(at_graph_table *table) {
    static const char *const usual[] = {"label", "labels", "class", "target", "category", NULL};
    const at_strings *wanted = &table->reader->wanted;
    attn_status status = ATTN_OK;
    table->target_columns =
        at_allocate(table->reader->context, table->width, sizeof *table->target_columns, "columns");
    if (!table->target_columns) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < wanted->count && status == ATTN_OK; i++) {
        int64_t column = find_column(table, at_string(wanted, i), at_string_length(wanted, i));
        if (column >= 0 && table->roles[column] != AT_COLUMN_NUMBER)
            return at_graph_table_fail(table, "has one column for two things: ", at_string(wanted, i));
        if (column >= 0) status = add_target(table, column);
    }
    int64_t column = wanted->count ? -1 : find_usual(table, usual);
    return column >= 0 ? add_target(table, column) : status;
}

static attn_status find_split(at_graph_table *table) {
    const attn_reader_options *options = table->reader->options;
    const char *asked = options->split_column;
    size_t length;
    table->split_number = -1;
    if (asked && *asked) {
        attn_status status = at_split_column(table->reader->context, asked, &length, &table->split_number);
        if (status != ATTN_OK) return status;
        int64_t column = find_column(table, asked, length);
        if (column >= 0 && table->roles[column] != AT_COLUMN_NUMBER)
            return at_graph_table_fail(table, "has one column for two things: ", asked);
        if (column >= 0) table->roles[column] = AT_COLUMN_SPLIT;
        table->split = column;
        take_usual(table, "split", AT_COLUMN_UNUSED);
    } else {
        table->split = take_usual(table, "split", AT_COLUMN_SPLIT);
        if (!at_graph_uses_split(options)) table->split = -1;
    }
    return ATTN_OK;
}

static attn_status find_roles(at_graph_table *table, int nodes) {
    static const char *const ids[] = {"node", "id", NULL};
    for (int64_t c = 0; c < table->width; c++) table->roles[c] = AT_COLUMN_NUMBER;
    table->node = nodes ? find_usual(table, ids) : -1;
    if (table->node >= 0) table->roles[table->node] = AT_COLUMN_NODE;
    table->graph = take_usual(table, "graph", AT_COLUMN_GRAPH);
    table->features = nodes ? take_usual(table, "features", AT_COLUMN_FEATURES) : -1;
    attn_status status = find_targets(table);
    if (status == ATTN_OK) status = find_split(table);
    if (status != ATTN_OK) return status;
    take_usual(table, "label", AT_COLUMN_UNUSED); /* another one is learned: this is no feature either */
    if (nodes && table->node < 0) {
        if (table->roles[0] != AT_COLUMN_NUMBER)
            return at_graph_table_fail(table, "has no column node (or id), to which edges refer", "");
        table->node = 0;
        table->roles[0] = AT_COLUMN_NODE;
    }
    if (!nodes && table->graph < 0) return at_graph_table_fail(table, "has no column graph", "");
    return ATTN_OK;
}

attn_status at_graph_table_begin(at_graph_reader *reader, const at_graph_file *file, int64_t first_line,
                                 int nodes, at_graph_table *table) {
    int there;
    *table = (at_graph_table){.reader = reader, .lines = at_graph_begin(reader, file, first_line)};
    attn_status status = at_graph_table_next(table, &there);
    reader->bad = 0; /* without this line nothing can be read */
    if (status == ATTN_OK && !there) return at_origin_fail(&table->lines.origin, NULL, 0, "is empty");
    if (status == ATTN_OK) status = read_names(table);
    if (status != ATTN_OK) return status;
    table->roles = at_allocate(reader->context, table->width, sizeof *table->roles, "the columns of a table");
    return table->roles ? find_roles(table, nodes) : ATTN_OUT_OF_MEMORY;
}

void at_graph_table_free(at_graph_table *table) {
    if (!table->reader) return;
    attn_context *context = table->reader->context;
    at_release(context, table->fields.list);
    at_vocabulary_free(context, &table->names);
    at_release(context, table->roles);
    at_strings_free(context, &table->targets);
    at_release(context, table->target_columns);
    memset(table, 0, sizeof *table);
}

/* ---- ids ---- */

#define UPPER_HALF UINT64_C(0xffffffff00000000)

/* The number that text is, written as it usually is; -1: it is something else. */
static int64_t plain_number(const char *text, size_t length) {
    if (length == 0 || length > 10 || (length > 1 && *text == '0')) return -1;
    return at_graph_integer(text, length);
}

attn_status at_graph_ids_ready(attn_context *context, at_graph_ids *ids) {
    if (!ids->named) return ATTN_OK;
    ids->slot_count = 64;
    while (ids->slot_count < 2 * ids->count) ids->slot_count *= 2;
    ids->slots = at_allocate(context, ids->slot_count, sizeof *ids->slots, "the names of nodes");
    if (!ids->slots) return ATTN_OUT_OF_MEMORY;
    const at_strings *names = &ids->known.strings;
    for (int64_t i = 0; i < ids->count; i++) {
        uint64_t hash = at_hash(at_string(names, i), at_string_length(names, i), 0);
        uint64_t slot = hash & (uint64_t)(ids->slot_count - 1);
        while (ids->slots[slot]) slot = (slot + 1) & (uint64_t)(ids->slot_count - 1);
        ids->slots[slot] = (hash & UPPER_HALF) | (uint64_t)(i + 1);
    }
    return ATTN_OK;
}

void at_graph_ids_free(attn_context *context, at_graph_ids *ids) {
    at_vocabulary_free(context, &ids->known);
    at_release(context, ids->slots);
    ids->slots = NULL;
}

/* The next slot from `slot` on with that hash; a free one if there is none. */
static uint64_t next_slot(const at_graph_ids *ids, uint64_t slot, uint64_t hash) {
    uint64_t mask = (uint64_t)(ids->slot_count - 1);
    for (slot &= mask; ids->slots[slot]; slot = (slot + 1) & mask)
        if (((ids->slots[slot] ^ hash) & UPPER_HALF) == 0) break;
    return slot;
}

static int64_t number_in(const at_graph_ids *ids, uint64_t slot) {
    return (int64_t)(ids->slots[slot] & ~UPPER_HALF) - 1;
}

int64_t at_graph_id_likely(const at_graph_ids *ids, uint64_t hash) {
    return number_in(ids, next_slot(ids, hash, hash));
}

static int64_t find_name(const at_graph_ids *ids, const char *text, size_t length) {
    const at_strings *names = &ids->known.strings;
    uint64_t hash = at_hash(text, length, 0);
    for (uint64_t slot = next_slot(ids, hash, hash); ids->slots[slot];
         slot = next_slot(ids, slot + 1, hash)) {
        int64_t number = number_in(ids, slot);
        if (at_string_length(names, number) == length && !memcmp(at_string(names, number), text, length))
            return number;
    }
    return -1;
}

int64_t at_graph_id_find(const at_graph_ids *ids, const char *text, size_t length) {
    if (ids->slots) return find_name(ids, text, length);
    if (ids->named) return at_vocabulary_find(&ids->known, text, length);
    int64_t number = plain_number(text, length);
    return number < ids->count ? number : -1;
}

attn_status at_graph_id_add(attn_context *context, at_graph_ids *ids, const char *text, size_t length,
                            int64_t *number) {
    attn_status status = ATTN_OK;
    if (!ids->named && plain_number(text, length) == ids->count) {
        *number = ids->count++;
        return ATTN_OK;
    }
    for (int64_t i = 0; !ids->named && i < ids->count && status == ATTN_OK; i++) {
        char name[24];
        int digits = snprintf(name, sizeof name, "%" PRId64, i);
        status = at_vocabulary_add(context, &ids->known, name, (size_t)digits, 1, NULL);
    }
    ids->named = 1;
    if (status == ATTN_OK) status = at_vocabulary_add(context, &ids->known, text, length, 1, number);
    if (status == ATTN_OK) ids->count = ids->known.strings.count;
    return status;
}
