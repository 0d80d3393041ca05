/* scene_grid.c: a picture; beside it the same with what a patch looks at over it; then what each patch
 * contributes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/drawing.h"

enum { SIDE = 240, GAP = 20, LABEL = 18 };

typedef struct board {
    at_drawing *drawing;
    const at_scene *scene;
    double unit;          /* of a pixel */
    double x, y;          /* of the next panel */
    double width, height; /* of a panel */
} board;

/* Where the patch of a row begins, in pixels: what sticks out does so on both sides. */
static int64_t patch_begin(int64_t number, int64_t count, int64_t patch, int64_t stride, int64_t side) {
    int64_t covered = (count - 1) * stride + patch;
    return number * stride - (covered > side ? (covered - side) / 2 : 0);
}

/* The row whose patch has a pixel nearest to its middle. */
static int64_t nearest(int64_t pixel, int64_t count, int64_t patch, int64_t stride, int64_t side) {
    int64_t begin = patch_begin(0, count, patch, stride, side) + (patch - stride) / 2;
    int64_t number = pixel < begin ? 0 : (pixel - begin) / stride;
    return number < 0 ? 0 : number < count ? number : count - 1;
}

static int64_t row_of_pixel(const at_scene *scene, int64_t y, int64_t x) {
    return nearest(y, scene->grid_height, scene->patch, scene->stride, scene->pixel_height) *
               scene->grid_width +
           nearest(x, scene->grid_width, scene->patch, scene->stride, scene->pixel_width);
}

static void begin_panel(const board *b, const char *label) {
    at_canvas *canvas = b->drawing->canvas;
    at_canvas_text(canvas, b->x, b->y - 6, 12, AT_ANCHOR_START, 0, at_canvas_ink(canvas), 0,
                   at_text_fit(canvas, 12, label, b->width + GAP - 6));
}

static void end_panel(board *b) {
    at_canvas_frame(b->drawing->canvas, b->x, b->y, b->width, b->height, at_canvas_faint(b->drawing->canvas),
                    0.75);
    at_drawing_use(b->drawing, b->x + b->width, b->y + b->height);
    b->x += b->width + GAP;
}

static void draw_pixels(const board *b, const unsigned char *rgb) {
    at_canvas_picture(b->drawing->canvas, b->x, b->y, b->width, b->height, rgb, b->scene->pixel_height,
                      b->scene->pixel_width);
}

/* The picture in grey, tinted by numbers of rows. */
static attn_status draw_tinted(board *b, const double *numbers, int is_signed, const char *label) {
    const at_scene *scene = b->scene;
    at_drawing *drawing = b->drawing;
    double most = at_most(numbers, scene->rows);
    int64_t pixels = scene->pixel_height * scene->pixel_width;
    unsigned char *rgb = at_allocate(drawing->context, pixels, 3, "a picture");
    if (!rgb) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < pixels; i++) {
        const unsigned char *from = scene->pixels + 3 * i;
        unsigned grey = (unsigned)(0.299 * from[0] + 0.587 * from[1] + 0.114 * from[2] + 0.5);
        int64_t row = row_of_pixel(scene, i / scene->pixel_width, i % scene->pixel_width);
        unsigned color = at_weights_color(drawing, row < scene->rows ? numbers[row] : 0, most, is_signed);
        at_put_rgb(rgb + 3 * i, at_canvas_mix(grey << 16 | grey << 8 | grey, color, 0.68));
    }
    begin_panel(b, label);
    draw_pixels(b, rgb);
    at_release(drawing->context, rgb);
    at_drawing_legend(drawing, b->x, b->y + b->height + 8, most, is_signed,
                      is_signed ? "gradient × input of a patch" : "attention weight");
    return ATTN_OK;
}

/* The frame around the patch that looks. */
static void mark(const board *b, int64_t row) {
    const at_scene *scene = b->scene;
    int64_t y = patch_begin(row / scene->grid_width, scene->grid_height, scene->patch, scene->stride,
                            scene->pixel_height);
    int64_t x = patch_begin(row % scene->grid_width, scene->grid_width, scene->patch, scene->stride,
                            scene->pixel_width);
    double top = fmax(0, (double)y), left = fmax(0, (double)x);
    double bottom = fmin((double)scene->pixel_height, (double)(y + scene->patch));
    double right = fmin((double)scene->pixel_width, (double)(x + scene->patch));
    at_canvas_frame(b->drawing->canvas, b->x + left * b->unit, b->y + top * b->unit, (right - left) * b->unit,
                    (bottom - top) * b->unit, 0xd55e00, 2.5);
}

static attn_status draw_weights(board *b) {
    at_drawing *drawing = b->drawing;
    at_weights weights;
    double *row;
    char label[64];
    attn_status status = at_weights_take(drawing, drawing->options->layer, drawing->options->head, &weights);
    if (status != ATTN_OK) return status;
    int64_t asked = drawing->options->row;
    int own = asked >= 0 && weights.queries == b->scene->rows;
    status = at_weights_row(&weights, asked, &row);
    if (status == ATTN_OK) {
        if (own)
            snprintf(label, sizeof label, "what the framed patch looks at");
        else if (asked >= 0)
            snprintf(label, sizeof label, "what row %" PRId64 " looks at", asked + 1);
        else
            snprintf(label, sizeof label, "what all patches look at, mean");
        status = draw_tinted(b, row, weights.is_signed, label);
        if (own) mark(b, asked);
        end_panel(b);
        at_release(drawing->context, row);
    }
    at_weights_free(&weights);
    return status;
}

static attn_status draw_contributions(board *b) {
    at_drawing *drawing = b->drawing;
    const attn_explanation *explanation = drawing->explanation;
    at_drawing_compose(drawing);
    at_drawing_add(drawing, "contribution to ");
    at_drawing_add_name(drawing,
                        explanation->target.count
                            ? at_text_fit(drawing->canvas, 12, at_string(&explanation->target, 0), 130)
                            : "the prediction");
    attn_status status = draw_tinted(b, explanation->contributions, 1, at_drawing_composed(drawing));
    end_panel(b);
    return status;
}

attn_status at_scene_grid(at_drawing *drawing, at_writer *writer) {
    const at_scene *scene = &drawing->explanation->scene;
    if (scene->pixel_height < 1 || scene->pixel_width < 1 || !scene->pixels || scene->grid_width < 1 ||
        scene->stride < 1)
        return at_drawing_close(drawing,
                                at_fail(drawing->context, ATTN_INVALID_ARGUMENT, "the picture is empty"),
                                NULL, "", writer);
    int64_t longer = scene->pixel_height > scene->pixel_width ? scene->pixel_height : scene->pixel_width;
    board b = {.drawing = drawing, .scene = scene, .x = AT_MARGIN, .y = AT_HEADING + LABEL};
    b.unit = longer <= SIDE ? floor((double)SIDE / (double)longer) : (double)SIDE / (double)longer;
    b.width = b.unit * (double)scene->pixel_width;
    b.height = b.unit * (double)scene->pixel_height;
    begin_panel(&b, "the picture");
    draw_pixels(&b, scene->pixels);
    if (drawing->options->row >= 0 && drawing->options->row < scene->rows && drawing->map &&
        drawing->map->queries == scene->rows)
        mark(&b, drawing->options->row);
    end_panel(&b);
    attn_status status = drawing->map ? draw_weights(&b) : ATTN_OK;
    if (status == ATTN_OK && drawing->explanation->contributions) status = draw_contributions(&b);
    return at_drawing_close(drawing, status, NULL,
                            "A picture, what attention looks at in it, and what its patches contribute.",
                            writer);
}
