/* scene.c: the memory of a scene. */
#include "inputs/scene.h"

#include <string.h>

#include "base/memory.h"

void at_scene_free(at_scene *scene) {
    attn_context *context = scene->context;
    if (!context) return;
    void *const arrays[] = {scene->from,      scene->to,      scene->order,  scene->turn,
                            scene->turn_from, scene->turn_to, scene->charge, scene->hydrogens,
                            scene->spectrum,  scene->pixels};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) at_release(context, arrays[i]);
    at_strings_free(context, &scene->symbols);
    memset(scene, 0, sizeof *scene);
}

int64_t at_scene_spectra(const at_scene *scene) {
    return scene->rows * (scene->spectra > 1 ? scene->spectra : 1);
}
