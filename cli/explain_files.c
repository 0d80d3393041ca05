/* explain_files.c: drawings, tables and pages in files (see explain.h). */
#define _POSIX_C_SOURCE 200809L /* access */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "explain.h"

int explain_format_of(const char *path) {
    static const char *const endings[] = {".svg", ".png", ".html", ".tsv", ".json"};
    static const attn_drawing_format formats[] = {ATTN_DRAWING_SVG, ATTN_DRAWING_PNG, ATTN_DRAWING_HTML,
                                                  ATTN_DRAWING_TSV, ATTN_DRAWING_JSON};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t tail = strlen(endings[i]);
        if (length > tail && strcasecmp(path + length - tail, endings[i]) == 0) return (int)formats[i];
    }
    return -1;
}

int explain_check_file(const char *path, bool force) {
    struct stat found;
    if (strcmp(path, "-") == 0) {
        fputs("attn explain: -o must be a file, not standard output (-); --json prints JSON\n", stderr);
        return EXIT_MISUSED;
    }
    if (stat(path, &found) != 0) return EXIT_DONE;
    if (S_ISDIR(found.st_mode))
        arguments_complain("explain", "-o ", path, " is a folder", NULL);
    else if (!force && S_ISREG(found.st_mode))
        arguments_complain("explain", "", path, " exists already: --force replaces it", NULL);
    else
        return EXIT_DONE;
    return EXIT_FAILED;
}

int explain_write_file(const char *path, const char *bytes, size_t length) {
    char after[160];
    FILE *file = fopen(path, "wb");
    bool whole = file != NULL && fwrite(bytes, 1, length, file) == length;
    int reason = errno;
    if (file != NULL && fclose(file) != 0 && whole) {
        whole = false;
        reason = errno;
    }
    if (whole) return EXIT_DONE;
    snprintf(after, sizeof after, ": %s", strerror(reason));
    arguments_complain("explain", "cannot write ", path, after, NULL);
    return EXIT_FAILED;
}
