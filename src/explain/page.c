/* page.c: an explanation as a page of HTML: one file that needs nothing else.
 *
 * The document is markup, style and script from src/explain/page, and between them the data as JSON in a
 * script element of its own, which the browser does not run. Names from the data stand nowhere else but in
 * the title, escaped; the script puts them into the page as text.
 */
#include "explain/page.h"

#include <attn/text.h>

#include "explain/embedded.h"

#include <string.h>

/* ---- text ---- */

/* In JSON < > & and the line ends of Unicode have a harmless form, too. */
static void put_json_glyph(at_writer *writer, const char *shown, int length) {
    if (length == 1 && (*shown == '<' || *shown == '>' || *shown == '&'))
        at_print(writer, "\\u%04x", *shown);
    else if (length == 3 && (memcmp(shown, "\xe2\x80\xa8", 3) == 0 || memcmp(shown, "\xe2\x80\xa9", 3) == 0))
        at_print(writer, "\\u202%c", shown[2] == '\xa8' ? '8' : '9');
    else
        at_put(writer, shown, (size_t)length);
}

void at_put_name(at_writer *writer, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    at_put_char(writer, '"');
    while (*text) put_json_glyph(writer, shown, attn_text_json_glyph(&text, shown));
    at_put_char(writer, '"');
}

void at_put_names(at_writer *writer, const at_strings *names) {
    at_put_char(writer, '[');
    for (int64_t i = 0; i < names->count; i++) {
        if (i) at_put_char(writer, ',');
        at_put_name(writer, at_string(names, i));
    }
    at_put_char(writer, ']');
}

void at_put_whole_numbers(at_writer *writer, const int64_t *numbers, int64_t count) {
    char digits[24];
    at_put_char(writer, '[');
    for (int64_t i = 0; i < count; i++) {
        uint64_t rest = numbers[i] < 0 ? 0 - (uint64_t)numbers[i] : (uint64_t)numbers[i];
        size_t place = sizeof digits;
        do digits[--place] = (char)('0' + rest % 10);
        while (rest /= 10);
        if (numbers[i] < 0) digits[--place] = '-';
        if (i) digits[--place] = ',';
        at_put(writer, digits + place, sizeof digits - place);
    }
    at_put_char(writer, ']');
}

static void put_numbers(at_writer *writer, const double *numbers, int64_t count) {
    at_put_char(writer, '[');
    for (int64_t i = 0; i < count; i++) {
        if (i) at_put_char(writer, ',');
        at_put_number(writer, numbers[i], 6);
    }
    at_put_char(writer, ']');
}

/* Text of HTML: the title alone needs it. Glyphs of JSON, so that it is UTF-8 without control characters. */
static void put_html(at_writer *writer, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text) {
        int length = attn_text_json_glyph(&text, shown);
        if (length == 1 && *shown == '<')
            at_print(writer, "&lt;");
        else if (length == 1 && *shown == '&')
            at_print(writer, "&amp;");
        else if (length == 2 && shown[0] == '\\')
            at_put_char(writer, shown[1] == '"' || shown[1] == '\\' ? shown[1] : ' ');
        else if (shown[0] != '\\')
            at_put(writer, shown, (size_t)length);
    }
}

/* ---- data ---- */

static void put_list(at_writer *writer, const char *name, const at_strings *names) {
    at_print(writer, ",\n\"%s\":", name);
    at_put_names(writer, names);
}

static void put_first(at_writer *writer, const char *name, const at_strings *names) {
    at_print(writer, ",\"%s\":", name);
    at_put_name(writer, names->count ? at_string(names, 0) : "");
}

static void put_question(const attn_explanation *explanation, const attn_drawing_options *options,
                         at_writer *writer) {
    at_print(writer, "{\"title\":");
    at_put_name(writer, options && options->title ? options->title : "");
    put_first(writer, "kind", &explanation->kind);
    put_first(writer, "task", &explanation->task);
    put_first(writer, "unit", &explanation->row_unit);
    put_first(writer, "target", &explanation->target);
    at_print(writer,
             ",\"example\":%lld,\"pieces\":%lld,\"first_row\":%lld,\"member\":%d,\"members\":%d,\"asked_"
             "row\":%lld",
             (long long)explanation->example, (long long)explanation->pieces,
             (long long)explanation->first_row, explanation->member, explanation->members,
             (long long)explanation->asked_row);
    if (options)
        at_print(
            writer,
            ",\"chosen\":{\"view\":%d,\"part\":%d,\"layer\":%lld,\"head\":%lld,\"row\":%lld,\"given\":%d}",
            (int)options->view, options->part, (long long)options->layer, (long long)options->head,
            (long long)options->row, options->title != NULL);
    at_print(writer, ",\"long\":%d,\"top\":%d", AT_PAGE_LONG, AT_PAGE_TOP);
    put_list(writer, "rows", &explanation->rows);
    put_list(writer, "written", &explanation->written);
    put_list(writer, "output", &explanation->output);
    put_list(writer, "answers", &explanation->answers);
    if (explanation->probabilities) {
        at_print(writer, ",\n\"probabilities\":");
        put_numbers(writer, explanation->probabilities, explanation->answers.count);
    }
    if (explanation->contributions) {
        at_print(writer, ",\n\"contributions\":");
        put_numbers(writer, explanation->contributions, explanation->rows.count);
    }
}

/* ---- the document ---- */

static const char opening[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"attn "
    "explain\">\n<title>";

attn_status at_write_page(const attn_explanation *explanation, const attn_drawing_options *options,
                          at_writer *writer) {
    const char *title = "What the prediction looks at";
    if (options && options->title)
        title = options->title;
    else if (explanation->answers.count == 1)
        title = at_string(&explanation->answers, 0);
    at_put(writer, opening, sizeof opening - 1);
    put_html(writer, title);
    at_print(writer, "</title>\n<style>\n");
    at_put(writer, at_page_style, at_page_style_length);
    at_print(writer, "</style>\n</head>\n");
    at_put(writer, at_page_markup, at_page_markup_length);
    at_print(writer, "<script type=\"application/json\" id=\"data\">\n");
    put_question(explanation, options, writer);
    attn_status status = at_put_maps(explanation, writer);
    if (!status) status = at_put_scene(explanation, options, writer);
    at_print(writer, "}\n</script>\n<script>\n");
    at_put(writer, at_page_script, at_page_script_length);
    at_print(writer, "</script>\n</body>\n</html>\n");
    return status ? status : writer->status;
}
