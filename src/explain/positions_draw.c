/* positions_draw.c: tables of positions as heat maps, biases by distance as lines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/positions.h"

enum { LEFT = 62, WIDE = 560, HIGH = 300, GAP = 26 };

typedef struct chart {
    double x, y, width, height; /* of the plane */
    double x0, x1, y0, y1;      /* the numbers at its left and right edges, at its top and bottom */
} chart;

static double chart_x(const chart *c, double number) {
    return c->x + (number - c->x0) / (c->x1 - c->x0) * c->width;
}
static double chart_y(const chart *c, double number) {
    return c->y + (number - c->y0) / (c->y1 - c->y0) * c->height;
}

/* Numbers along both axes; shift: cells are named at their middle. */
static void draw_axes(at_drawing *drawing, const chart *c, double shift, const char *across,
                      const char *down) {
    at_canvas *canvas = drawing->canvas;
    unsigned faint = at_canvas_faint(canvas);
    char number[AT_NUMBER];
    int decimals;
    double step =
        fmax(at_nice_step(fabs(c->x1 - c->x0), c->width > 200 ? 10 : 5, &decimals), shift > 0 ? 1 : 0);
    for (double tick = ceil(c->x0 / step - 1e-9) * step; tick <= c->x1 - shift; tick += step) {
        double x = chart_x(c, tick + shift);
        at_canvas_line(canvas, x, c->y + c->height, x, c->y + c->height + 4, 0.75, faint, 1);
        at_canvas_text(canvas, x, c->y + c->height + 16, 11, AT_ANCHOR_MIDDLE, 0, faint, 0,
                       at_number_fixed(number, tick, decimals));
    }
    double low = fmin(c->y0, c->y1), high = fmax(c->y0, c->y1);
    step = fmax(at_nice_step(high - low, 8, &decimals), shift > 0 ? 1 : 0);
    for (double tick = ceil(low / step - 1e-9) * step; tick <= high - shift + 1e-9 * step; tick += step) {
        double y = chart_y(c, tick + shift);
        at_canvas_line(canvas, c->x - 4, y, c->x, y, 0.75, faint, 1);
        at_canvas_text(canvas, c->x - 7, y + 4, 11, AT_ANCHOR_END, 0, faint, 0,
                       at_number_fixed(number, tick, decimals));
    }
    at_canvas_text(canvas, c->x + c->width / 2, c->y + c->height + 32, 12, AT_ANCHOR_MIDDLE, 0,
                   at_canvas_ink(canvas), 0, across);
    at_canvas_text(canvas, c->x - 44, c->y + c->height / 2, 12, AT_ANCHOR_MIDDLE, -90, at_canvas_ink(canvas),
                   0, down);
    at_canvas_frame(canvas, c->x, c->y, c->width, c->height, faint, 0.75);
    at_drawing_use(drawing, c->x + c->width + 8, c->y + c->height + 36);
}

static attn_status draw_map(at_drawing *drawing, const at_positions *found, int number, chart *c,
                            double most) {
    const at_position_table *table = &found->tables[number];
    int64_t count = table->rows * table->columns;
    unsigned char *rgb = at_allocate(drawing->context, count, 3, "positions");
    if (!rgb) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++)
        at_put_rgb(rgb + 3 * i, at_canvas_signed(drawing->canvas, table->numbers[i] / most));
    at_canvas_picture(drawing->canvas, c->x, c->y, c->width, c->height, rgb, table->rows, table->columns);
    at_release(drawing->context, rgb);
    c->x0 = (double)table->first_column, c->x1 = c->x0 + (double)table->columns;
    c->y0 = (double)table->first_row, c->y1 = c->y0 + (double)table->rows;
    draw_axes(drawing, c, 0.5, found->across, found->down);
    at_canvas_text(drawing->canvas, c->x, c->y - 6, 12, AT_ANCHOR_START, 0, at_canvas_ink(drawing->canvas), 0,
                   table->name);
    return ATTN_OK;
}

/* The side of a cell: whole units where there is room for them. */
static double side(double room, int64_t cells) {
    double unit = room / (double)(cells > 0 ? cells : 1);
    return (unit >= 1 ? floor(fmin(unit, 16)) : unit) * (double)cells;
}

static attn_status draw_maps(at_drawing *drawing, const at_positions *found) {
    double most = 0;
    for (int t = 0; t < found->count; t++)
        most =
            fmax(most, at_most(found->tables[t].numbers, found->tables[t].rows * found->tables[t].columns));
    int together = found->count > 4 ? 4 : found->count;
    chart c = {.y = AT_HEADING + 18};
    attn_status status = ATTN_OK;
    for (int t = 0; t < found->count && status == ATTN_OK; t++) {
        const at_position_table *table = &found->tables[t];
        c.width = side(together == 1 ? WIDE : together == 2 ? WIDE / 2.0 : 150, table->columns);
        c.height = side(together > 2 ? 150 : table->rows > 128 ? 512 : 400, table->rows);
        if (together == 2 && c.width < 80) c.width = 80;
        c.x = t % together == 0 ? LEFT : c.x;
        status = draw_map(drawing, found, t, &c, most);
        c.x += c.width + LEFT;
        if (t % together == together - 1) c.y += c.height + 36 + GAP;
    }
    at_drawing_legend(drawing, LEFT, drawing->bottom + 12, most, 1, found->label);
    return status;
}

/* ---- lines ---- */

static attn_status draw_line(at_drawing *drawing, const chart *c, const at_position_table *table,
                             int64_t head) {
    double *points = at_allocate(drawing->context, 2 * table->columns, sizeof *points, "positions");
    if (!points) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < table->columns; i++) {
        points[2 * i] = chart_x(c, (double)(table->first_column + i));
        points[2 * i + 1] = chart_y(c, table->numbers[head * table->columns + i]);
    }
    unsigned color = at_canvas_category(head);
    if (at_canvas_background(drawing->canvas) != 0xffffff) color = at_canvas_mix(color, 0xffffff, 0.3);
    at_canvas_polyline(drawing->canvas, points, table->columns, 1.5, color);
    at_release(drawing->context, points);
    char name[32];
    snprintf(name, sizeof name, "head %" PRId64, head + 1);
    double x = c->x + c->width + 14, y = c->y + 10 + 17 * (double)head;
    at_canvas_line(drawing->canvas, x, y, x + 18, y, 2, color, 1);
    at_canvas_text(drawing->canvas, x + 24, y + 4, 11, AT_ANCHOR_START, 0, at_canvas_ink(drawing->canvas), 0,
                   name);
    at_drawing_use(drawing, x + 24 + at_text_width(11, name), y + 8);
    return ATTN_OK;
}

static attn_status draw_lines(at_drawing *drawing, const at_positions *found) {
    const at_position_table *table = &found->tables[0];
    double low = 0, high = 0;
    for (int64_t i = 0; i < table->rows * table->columns; i++) {
        low = fmin(low, table->numbers[i]);
        high = fmax(high, table->numbers[i]);
    }
    if (!(high > low)) low = -1, high = 1;
    double room = 0.05 * (high - low);
    chart c = {LEFT + 10,
               AT_HEADING + 8,
               WIDE - 80,
               HIGH,
               (double)table->first_column,
               -(double)table->first_column,
               high + room,
               low - room};
    attn_status status = ATTN_OK;
    double zero = chart_y(&c, 0), middle = chart_x(&c, 0);
    at_canvas_line(drawing->canvas, c.x, zero, c.x + c.width, zero, 0.75, at_canvas_rule(drawing->canvas), 1);
    at_canvas_line(drawing->canvas, middle, c.y, middle, c.y + c.height, 0.75,
                   at_canvas_rule(drawing->canvas), 1);
    for (int64_t h = 0; h < table->rows && status == ATTN_OK; h++) status = draw_line(drawing, &c, table, h);
    draw_axes(drawing, &c, 0, "distance: key − query", "bias of the score");
    return status;
}

attn_status at_positions_draw(const at_positions *found, const attn_drawing_options *options,
                              at_writer *writer) {
    at_drawing drawing;
    attn_drawing_options titled = *options;
    if (!titled.title) titled.title = found->title;
    attn_status status = at_drawing_open(found->context, NULL, &titled, &drawing);
    if (status != ATTN_OK) return status;
    char subtitle[96];
    const at_position_table *table = &found->tables[0];
    snprintf(subtitle, sizeof subtitle, "%" PRId64 " %s", table->rows, found->lines ? "heads" : found->down);
    if (!found->lines)
        snprintf(subtitle, sizeof subtitle, "%" PRId64 " × %" PRId64 ": %s × %s", table->rows, table->columns,
                 found->down, found->across);
    status = found->lines ? draw_lines(&drawing, found) : draw_maps(&drawing, found);
    return at_drawing_close(&drawing, status, subtitle, "Numbers that tell a model where a row stands.",
                            writer);
}
