/* page.c: all reports on one page that needs no other file: pictures inline, light and dark, no script. */
#include "report.h"

static const char page_style[] =
    ":root{color-scheme:light dark;--ink:#1f2328;--soft:#57606a;--paper:#fff;--card:#f6f8fa;--edge:#d8dee4;"
    "--holds:#116329;--where:#7d4e00;--not:#a40e26;--link:#0550ae}"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#a5b0bc;--paper:#0d1117;--card:#161b22;"
    "--edge:#30363d;--holds:#56d364;--where:#e3b341;--not:#ff7b72;--link:#79c0ff}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.55 system-ui,'DejaVu Sans',sans-serif}main{max-width:1080px;margin:0 auto;padding:16px}"
    "h1{font-size:1.7rem;margin:.4em 0}h2{font-size:1.35rem;margin:0 0 .3em}a{color:var(--link)}"
    "section{border-top:1px solid var(--edge);padding:24px 0}p{max-width:75ch;margin:.6em 0}"
    ".soft{color:var(--soft)}.figures{display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start}"
    ".figures svg{background:var(--card);border:1px solid var(--edge);border-radius:6px;width:100%;"
    "max-width:512px;height:auto;padding:8px}.scroll{overflow-x:auto;margin:.4em 0 .8em}"
    "table{border-collapse:collapse;font-size:.93rem;font-variant-numeric:tabular-nums}"
    ".caption{font-weight:600;margin:1em 0 .2em}"
    "th,td{border-bottom:1px solid var(--edge);padding:4px 14px 4px 0;text-align:left;white-space:nowrap}"
    "th{color:var(--soft);font-weight:600}.wrap td{white-space:normal;vertical-align:top}"
    ".holds{color:var(--holds)}.where{color:var(--where)}.not{color:var(--not)}.verdict{font-weight:600}"
    "@media (max-width:600px){nav table,nav tbody,nav tr,nav td{display:block;border:0;padding:0}nav "
    "thead{display:none}"
    "nav tr{border-bottom:1px solid var(--edge);padding:6px 0}}";

static const char *verdict_class(lab_verdict verdict) {
    return verdict == LAB_HOLDS ? "holds" : verdict == LAB_HOLDS_WHERE ? "where" : "not";
}

static void print_paragraph(FILE *file, const char *class_name, const char *text) {
    fprintf(file, "<p class=\"%s\">", class_name);
    lab_print_xml(file, text);
    fputs("</p>\n", file);
}

static void print_contents(FILE *file, const lab *reports, int count) {
    fputs("<nav aria-label=\"experiments\"><div class=\"scroll\"><table class=\"wrap\"><thead><tr>"
          "<th scope=\"col\">experiment</th><th scope=\"col\">claim</th><th scope=\"col\">verdict</th>"
          "</tr></thead><tbody>\n",
          file);
    for (int i = 0; i < count; i++) {
        const lab_experiment *experiment = reports[i].experiment;
        fprintf(file, "<tr><td><a href=\"#%s\">%s</a></td><td>", experiment->name, experiment->name);
        lab_print_xml(file, experiment->claim);
        if (reports[i].failed)
            fputs("</td><td class=\"not\">could not be run</td></tr>\n", file);
        else
            fprintf(file, "</td><td class=\"%s\">%s</td></tr>\n", verdict_class(reports[i].verdict),
                    reports[i].verdict == LAB_HOLDS_WHERE ? "holds in part"
                                                          : lab_verdict_text(reports[i].verdict));
    }
    fputs("</tbody></table></div></nav>\n", file);
}

static void print_table(FILE *file, const lab_table *table) {
    fputs("<p class=\"caption\">", file);
    lab_print_xml(file, table->title);
    fputs("</p><div class=\"scroll\" tabindex=\"0\"><table aria-label=\"", file);
    lab_print_xml(file, table->title);
    fputs("\"><thead><tr>", file);
    for (int c = 0; c < table->columns; c++) {
        fputs("<th scope=\"col\">", file);
        lab_print_xml(file, table->headings[c]);
        fputs("</th>", file);
    }
    fputs("</tr></thead><tbody>\n", file);
    for (int r = 0; r < table->rows; r++) {
        fputs("<tr>", file);
        for (int c = 0; c < table->columns; c++) {
            fputs("<td>", file);
            lab_print_xml(file, table->cells[r * table->columns + c]);
            fputs("</td>", file);
        }
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
}

/* Figures that follow each other are beside each other where there is room. */
static void print_items(FILE *file, const lab *report) {
    bool figures = false;
    for (int i = 0; i < report->items; i++) {
        const lab_item *item = &report->item[i];
        bool is_figure = item->kind == LAB_ITEM_CHART || item->kind == LAB_ITEM_MATRIX;
        if (is_figure != figures) fputs(is_figure ? "<div class=\"figures\">\n" : "</div>\n", file);
        figures = is_figure;
        if (is_figure) lab_print_figure(file, item);
        if (item->kind == LAB_ITEM_TABLE) print_table(file, item->table);
        if (item->kind == LAB_ITEM_NOTE) print_paragraph(file, "note", item->note);
    }
    if (figures) fputs("</div>\n", file);
}

static void print_section(FILE *file, const lab *report) {
    const lab_experiment *experiment = report->experiment;
    fprintf(file, "<section id=\"%s\"><h2>%s</h2>\n", experiment->name, experiment->name);
    print_paragraph(file, "claim", experiment->claim);
    print_paragraph(file, "soft", experiment->experiment);
    if (report->options->broken) {
        fputs("<p class=\"not\">A mistake is planted: ", file);
        lab_print_xml(file, experiment->mistake);
        fputs("</p>\n", file);
    }
    if (report->failed) {
        print_paragraph(file, "not", report->error);
    } else {
        print_items(file, report);
        fprintf(file, "<p><span class=\"verdict %s\">%s%s</span> <span>", verdict_class(report->verdict),
                lab_verdict_text(report->verdict), report->verdict == LAB_HOLDS_WHERE ? "" : ":");
        lab_print_xml(file, report->conclusion);
        fprintf(file, ".</span> <span class=\"soft\">(%.1f s)</span></p>\n", report->seconds);
    }
    fputs("</section>\n", file);
}

void lab_print_page(FILE *file, const lab *reports, int count, const char *machine) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
          "<meta name=\"generator\" content=\"attn lab\"><title>attn lab</title>\n<style>",
          file);
    fputs(page_style, file);
    lab_print_style(file);
    fputs("</style></head>\n<body><main><h1>What lectures claim of attention, measured</h1>\n<p "
          "class=\"soft\">",
          file);
    lab_print_xml(file, machine);
    fputs("</p>\n<p>Each experiment could have contradicted its claim. With several seeds, numbers are "
          "medians, "
          "with the lowest and the highest; dashed lines are theory.</p>\n",
          file);
    print_contents(file, reports, count);
    for (int i = 0; i < count; i++) print_section(file, &reports[i]);
    fputs("</main></body></html>\n", file);
}
