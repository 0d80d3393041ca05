/* scene.c: the input as a person sees it, with the weights over it. */
#include "base/context.h"
#include "explain/drawing.h"

/* Weights that are of other rows than the scene's (a decoder's own) are drawn as a matrix. */
static int fits(const attn_explanation *explanation, const at_drawing *drawing) {
    const at_scene *scene = &explanation->scene;
    if (scene->kind == AT_SCENE_ROWS || scene->rows < 1 || scene->rows != explanation->rows.count) return 0;
    if (explanation->map_count > 0) return drawing->map && drawing->map->keys == scene->rows;
    return explanation->contributions != NULL;
}

attn_status at_draw_scene(const attn_explanation *explanation, const attn_drawing_options *options,
                          at_writer *writer) {
    at_drawing drawing;
    attn_status status = at_drawing_open(explanation->context, explanation, options, &drawing);
    if (status != ATTN_OK) return status;
    if (!fits(explanation, &drawing)) {
        at_canvas_destroy(drawing.canvas);
        return at_draw_matrices(explanation, options, writer);
    }
    switch (explanation->scene.kind) {
    case AT_SCENE_GRAPH: return at_scene_graph(&drawing, writer);
    case AT_SCENE_MOLECULE: return at_scene_molecule(&drawing, writer);
    case AT_SCENE_FRAMES: return at_scene_frames(&drawing, writer);
    case AT_SCENE_GRID: return at_scene_grid(&drawing, writer);
    case AT_SCENE_ROWS: break;
    }
    return at_drawing_close(&drawing, ATTN_UNSUPPORTED, NULL, "", writer);
}
