/* table.c: every weight with names, as a table (TSV) and as JSON.
 *
 * Numbers have nine digits: read as f32 they are the bits that the operator gave.
 */
#include <inttypes.h>
#include <math.h>

#include "explain/explain.h"

static void put_name(const at_strings *names, int64_t i, at_writer *writer) {
    at_put_text(writer, i < names->count ? at_string(names, i) : "");
}

static void put_map(const attn_explanation *explanation, const attn_map *map, at_writer *writer) {
    const at_strings *queries = at_query_names(explanation, map), *keys = at_key_names(explanation, map);
    for (int64_t h = 0; h < map->heads && writer->status == ATTN_OK; h++) {
        for (int64_t i = 0; i < map->queries; i++) {
            for (int64_t c = 0; c < attn_map_entries(map, i); c++) {
                int64_t key = attn_map_key(map, i, c), place = attn_map_place(map, h, i, c);
                if (key < 0) continue;
                at_print(writer, "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", attn_map_part_name(map->part),
                         map->layer + 1, h + 1, i + 1);
                put_name(queries, i, writer);
                at_print(writer, "\t%" PRId64 "\t", key + 1);
                put_name(keys, key, writer);
                at_print(writer, "\t%.9g", (double)map->weights[place]);
                if (map->gradients)
                    at_print(writer, "\t%.9g\n", (double)map->gradients[place]);
                else
                    at_put(writer, "\t\n", 2);
            }
        }
    }
}

attn_status at_write_table(const attn_explanation *explanation, at_writer *writer) {
    at_print(writer, "part\tlayer\thead\tquery\tquery_name\tkey\tkey_name\tweight\tgradient\n");
    for (int64_t m = 0; m < explanation->map_count; m++) put_map(explanation, &explanation->maps[m], writer);
    for (int64_t r = 0; explanation->contributions && r < explanation->rows.count; r++) {
        at_print(writer, "contribution\t\t\t\t");
        put_name(&explanation->target, 0, writer);
        at_print(writer, "\t%" PRId64 "\t", r + 1);
        put_name(&explanation->rows, r, writer);
        at_print(writer, "\t%.9g\t\n", explanation->contributions[r]);
    }
    return writer->status;
}

/* ---- JSON ---- */

static void put_list(const char *key, const at_strings *list, at_writer *writer) {
    at_print(writer, ",\"%s\":[", key);
    for (int64_t i = 0; i < list->count; i++) {
        if (i) at_put_char(writer, ',');
        at_put_json(writer, at_string(list, i));
    }
    at_put_char(writer, ']');
}

static void put_one(const char *key, const at_strings *list, at_writer *writer) {
    if (list->count == 0) return;
    at_print(writer, ",\"%s\":", key);
    at_put_json(writer, at_string(list, 0));
}

/* The entries of a query as [key, weight] pairs would be long: keys once for all heads, then the weights. */
static void put_json_map(const attn_map *map, at_writer *writer) {
    at_print(writer,
             "{\"part\":\"%s\",\"layer\":%" PRId64 ",\"heads\":%" PRId64 ",\"queries\":%" PRId64
             ",\"keys\":%" PRId64 ",\"key\":[",
             attn_map_part_name(map->part), map->layer + 1, map->heads, map->queries, map->keys);
    for (int64_t i = 0; i < map->queries; i++) {
        int some = 0;
        at_put(writer, i ? ",[" : "[", i ? 2 : 1);
        for (int64_t c = 0; c < attn_map_entries(map, i); c++)
            if (attn_map_key(map, i, c) >= 0)
                at_print(writer, some++ ? ",%" PRId64 : "%" PRId64, attn_map_key(map, i, c) + 1);
        at_put_char(writer, ']');
    }
    for (int what = 0; what < (map->gradients ? 2 : 1); what++) {
        const float *numbers = what ? map->gradients : map->weights;
        at_print(writer, "],\"%s\":[", what ? "gradient" : "weight");
        for (int64_t h = 0; h < map->heads; h++) {
            at_put(writer, h ? ",[" : "[", h ? 2 : 1);
            for (int64_t i = 0; i < map->queries; i++) {
                int some = 0;
                at_put(writer, i ? ",[" : "[", i ? 2 : 1);
                for (int64_t c = 0; c < attn_map_entries(map, i); c++) {
                    if (attn_map_key(map, i, c) < 0) continue;
                    if (some++) at_put_char(writer, ',');
                    at_put_number(writer, (double)numbers[attn_map_place(map, h, i, c)], 9);
                }
                at_put_char(writer, ']');
            }
            at_put_char(writer, ']');
        }
    }
    at_put(writer, "]}", 2);
}

attn_status at_write_json(const attn_explanation *explanation, at_writer *writer) {
    at_print(writer, "{\"example\":%" PRId64, explanation->example + 1);
    put_one("input", &explanation->kind, writer);
    put_one("task", &explanation->task, writer);
    at_print(writer, ",\"first_row\":%" PRId64 ",\"pieces\":%" PRId64, explanation->first_row + 1,
             explanation->pieces);
    put_list("rows", &explanation->rows, writer);
    if (explanation->written.count) {
        put_list("written", &explanation->written, writer);
        put_list("preceding", &explanation->preceding, writer);
    }
    put_list("answers", &explanation->answers, writer);
    at_print(writer, ",\"probabilities\":[");
    for (int64_t i = 0; i < explanation->answers.count; i++) {
        if (i) at_put_char(writer, ',');
        at_put_number(writer, explanation->probabilities[i], 7);
    }
    at_put_char(writer, ']');
    put_one("target", &explanation->target, writer);
    if (explanation->contributions) {
        at_print(writer, ",\"contributions\":[");
        for (int64_t r = 0; r < explanation->rows.count; r++) {
            if (r) at_put_char(writer, ',');
            at_put_number(writer, explanation->contributions[r], 9);
        }
        at_put_char(writer, ']');
    }
    at_print(writer, ",\"maps\":[");
    for (int64_t m = 0; m < explanation->map_count; m++) {
        if (m) at_put_char(writer, ',');
        put_json_map(&explanation->maps[m], writer);
    }
    at_print(writer, "]}\n");
    return writer->status;
}
