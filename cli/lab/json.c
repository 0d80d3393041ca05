/* json.c: a report as one JSON object: everything that the text and the pictures show. */
#include <math.h>

#include "report.h"

static void print_number(FILE *file, double number) {
    if (isfinite(number))
        fprintf(file, "%.9g", number);
    else
        fputs("null", file);
}

static void print_texts(FILE *file, char *const *texts, int64_t count) {
    fputc('[', file);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) fputs(", ", file);
        lab_print_json_text(file, texts[i]);
    }
    fputc(']', file);
}

static void print_table(FILE *file, const lab_table *table) {
    fputs("{\"kind\": \"table\", \"title\": ", file);
    lab_print_json_text(file, table->title);
    fputs(", \"headings\": ", file);
    print_texts(file, table->headings, table->columns);
    fputs(", \"rows\": [", file);
    for (int r = 0; r < table->rows; r++) {
        if (r > 0) fputs(", ", file);
        print_texts(file, table->cells + r * table->columns, table->columns);
    }
    fputs("]}", file);
}

static void print_points(FILE *file, const lab_chart_line *line) {
    for (int64_t p = 0; p < line->points; p++) {
        const lab_chart_point *point = &line->point[p];
        fputs(p > 0 ? ", {\"x\": " : "{\"x\": ", file);
        print_number(file, point->x);
        fputs(", \"y\": ", file);
        print_number(file, point->y);
        fputs(", \"lowest\": ", file);
        print_number(file, point->low);
        fputs(", \"highest\": ", file);
        print_number(file, point->high);
        fprintf(file, ", \"count\": %lld}", (long long)point->count);
    }
}

static void print_chart(FILE *file, const lab_chart *chart) {
    fputs("{\"kind\": \"chart\", \"title\": ", file);
    lab_print_json_text(file, chart->title);
    fputs(", \"x\": ", file);
    lab_print_json_text(file, chart->x);
    fputs(", \"y\": ", file);
    lab_print_json_text(file, chart->y);
    fputs(", \"lines\": [", file);
    for (int i = 0; i < chart->lines; i++) {
        fputs(i > 0 ? ", {\"name\": " : "{\"name\": ", file);
        lab_print_json_text(file, chart->line[i].name);
        fprintf(file, ", \"theory\": %s, \"points\": [", chart->line[i].dashed ? "true" : "false");
        print_points(file, &chart->line[i]);
        fputs("]}", file);
    }
    fputs("]}", file);
}

static void print_matrix(FILE *file, const lab_matrix *matrix) {
    fputs("{\"kind\": \"matrix\", \"title\": ", file);
    lab_print_json_text(file, matrix->title);
    if (matrix->row_names != NULL) {
        fputs(", \"row_names\": ", file);
        print_texts(file, matrix->row_names, matrix->rows);
    }
    if (matrix->column_names != NULL) {
        fputs(", \"column_names\": ", file);
        print_texts(file, matrix->column_names, matrix->columns);
    }
    fputs(", \"numbers\": [", file);
    for (int64_t r = 0; r < matrix->rows; r++) {
        fputs(r > 0 ? ", [" : "[", file);
        for (int64_t c = 0; c < matrix->columns; c++) {
            if (c > 0) fputs(", ", file);
            print_number(file, matrix->numbers[r * matrix->columns + c]);
        }
        fputc(']', file);
    }
    fputs("]}", file);
}

static void print_item(FILE *file, const lab_item *item) {
    switch (item->kind) {
    case LAB_ITEM_TABLE: print_table(file, item->table); break;
    case LAB_ITEM_CHART: print_chart(file, item->chart); break;
    case LAB_ITEM_MATRIX: print_matrix(file, item->matrix); break;
    case LAB_ITEM_NOTE:
        fputs("{\"kind\": \"note\", \"text\": ", file);
        lab_print_json_text(file, item->note);
        fputc('}', file);
        break;
    }
}

void lab_print_json(FILE *file, const lab *report) {
    const lab_experiment *experiment = report->experiment;
    fputs("{\"name\": ", file);
    lab_print_json_text(file, experiment->name);
    fputs(", \"claim\": ", file);
    lab_print_json_text(file, experiment->claim);
    fputs(", \"experiment\": ", file);
    lab_print_json_text(file, experiment->experiment);
    if (report->options->broken) {
        fputs(", \"planted\": ", file);
        lab_print_json_text(file, experiment->mistake);
    }
    fprintf(file, ", \"verdict\": \"%s\", \"because\": ", lab_verdict_text(report->verdict));
    lab_print_json_text(file, report->conclusion);
    fprintf(file, ", \"seconds\": %.3f, \"processor_seconds\": %.3f, \"found\": [", report->seconds,
            report->processor_seconds);
    for (int i = 0; i < report->items; i++) {
        fputs(i > 0 ? ",\n  " : "\n  ", file);
        print_item(file, &report->item[i]);
    }
    fputs("]}", file);
}
