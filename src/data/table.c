/* table.c: the rows of a table, split into fields. */
#include "data/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/lines.h"

enum { PROBLEM_BYTES = sizeof((at_table *)0)->problem, LIST_BYTES = 161 };

void at_table_free(at_table *table) {
    at_bytes_free(table->context, &table->field);
    at_strings_free(table->context, &table->fields);
}

/* ---- rows ---- */

static attn_status bad(at_table *table, const char *problem) {
    snprintf(table->problem, PROBLEM_BYTES, "%s", problem);
    table->problem_line = table->begin;
    return ATTN_INVALID_ARGUMENT;
}

static attn_status check(at_table *table, const char *text, size_t length) {
    int64_t line = table->begin;
    if (at_is_text(text, length, &line, table->problem)) return ATTN_OK;
    table->problem_line = line;
    return ATTN_INVALID_ARGUMENT;
}

static attn_status split_line(at_table *table, const char *at, size_t length) {
    at_strings *fields = &table->fields;
    const char *end = at + length;
    for (;;) {
        const char *stop = memchr(at, table->delimiter, (size_t)(end - at));
        if (table->split_limit && fields->count + 1 == table->split_limit) stop = NULL;
        attn_status status = at_strings_add(table->context, fields, at, (size_t)((stop ? stop : end) - at));
        if (status != ATTN_OK || stop == NULL) return status;
        at = stop + 1;
    }
}

/* A quoted field, *at after its opening quote; on return after the closing one. Line ends inside are LF. */
static attn_status read_quoted(at_table *table, const char **at) {
    const char *end = table->end;
    table->field.count = 0;
    for (;;) {
        const char *quote = memchr(*at, '"', (size_t)(end - *at));
        if (quote == NULL) return bad(table, "a quoted field that does not end");
        for (const char *from = *at; from < quote;) { /* CRLF becomes LF */
            const char *stop = memchr(from, '\r', (size_t)(quote - from));
            size_t length = (size_t)((stop ? stop : quote) - from);
            int alone = stop && !(stop + 1 < end && stop[1] == '\n');
            attn_status status = at_bytes_append(table->context, &table->field, from, length + (size_t)alone);
            if (status != ATTN_OK) return status;
            from = stop ? stop + 1 : quote;
        }
        *at = quote + 1;
        if (*at == end || **at != '"') return ATTN_OK;
        attn_status status = at_bytes_append(table->context, &table->field, "\"", 1);
        if (status != ATTN_OK) return status;
        ++*at;
    }
}

/* The field at *at, which is then at its end. */
static attn_status split_field(at_table *table, const char **at) {
    const char *end = table->end, *stop = *at;
    if (*at < end && **at == '"') {
        ++*at;
        attn_status status = read_quoted(table, at);
        if (status == ATTN_OK && *at < end && **at == '\r' && (*at + 1 == end || (*at)[1] == '\n')) ++*at;
        if (status == ATTN_OK && *at < end && **at != table->delimiter && **at != '\n')
            status = bad(table,
                         "text after the closing quote of a field (a quote inside a field must be doubled)");
        if (status != ATTN_OK) return status;
        return at_strings_add(table->context, &table->fields, table->field.count ? table->field.data : "",
                              (size_t)table->field.count);
    }
    while (stop < end && *stop != table->delimiter && *stop != '\n') stop++;
    size_t length = (size_t)(stop - *at);
    if ((stop == end || *stop == '\n') && length > 0 && stop[-1] == '\r') length--;
    attn_status status = at_strings_add(table->context, &table->fields, *at, length);
    *at = stop;
    return status;
}

/* A row of quoted or plain fields; *at is at its begin, then after its end. */
static attn_status split_quoted(at_table *table, const char **at) {
    for (;;) {
        attn_status status = split_field(table, at);
        if (status != ATTN_OK) return status;
        if (table->width > 0 && table->fields.count > table->width) {
            char problem[PROBLEM_BYTES];
            snprintf(problem, sizeof problem, "more than %" PRId64 " columns, the header has %" PRId64,
                     table->width, table->width);
            return bad(table, problem);
        }
        if (*at == table->end || *(*at)++ == '\n') return ATTN_OK;
    }
}

attn_status at_table_row(at_table *table, int *more) {
    const char *begin = table->next, *at = begin;
    size_t left = (size_t)(table->end - begin);
    at_strings_clear(&table->fields);
    table->problem[0] = 0;
    table->begin = table->line;
    *more = left > 0;
    if (!*more) return ATTN_OK;
    const char *feed = memchr(begin, '\n', left);
    size_t length = feed ? (size_t)(feed - begin) : left;
    table->next = feed ? feed + 1 : table->end;
    table->line++;
    if (length > 0 && begin[length - 1] == '\r') length--;
    if (table->delimiter == '\t' || memchr(begin, '"', length) == NULL) {
        attn_status status = check(table, begin, length);
        return status == ATTN_OK ? split_line(table, begin, length) : status;
    }
    attn_status status = split_quoted(table, &at);
    if (status == ATTN_OK) status = check(table, begin, (size_t)(at - begin));
    if (status == ATTN_OK) {
        for (const char *p = table->next; p < at; p++) table->line += *p == '\n';
        table->next = at;
    } else if (table->problem[0] && at > table->next) {
        table->reread += at - table->next;
        if (table->reread > 16 * (int64_t)(table->end - table->limit) + (1 << 20)) {
            bad(table, "too many quoted fields that do not end: is this CSV?");
            table->problem_line = 0;
        }
    }
    return status;
}

/* ---- columns ---- */

int64_t at_find_column(const at_strings *names, const char *name, size_t length) {
    for (int64_t i = 0; i < names->count; i++) {
        if (at_string_length(names, i) == length && memcmp(at_string(names, i), name, length) == 0) return i;
    }
    for (int64_t i = 0; i < names->count; i++) {
        if (at_same_name(at_string(names, i), at_string_length(names, i), name, length)) return i;
    }
    return -1;
}

void at_list_columns(const at_strings *names, char *list) {
    size_t used = 0;
    int64_t i = 0;
    list[0] = 0;
    for (; i < names->count && used + 50 < LIST_BYTES; i++) {
        const char *column = at_string(names, i);
        used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%.*s", i ? ", " : "",
                                 at_clip(column, at_string_length(names, i), 40), column);
    }
    if (i < names->count) snprintf(list + used, AT_COLUMN_LIST - used, ", ...");
}
