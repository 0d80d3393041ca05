/* terminal.c: colour in the terminal (see terminal.h). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* isatty */
#endif

#include "terminal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char *const terminal_color_choices[] = {"auto", "always", "never", NULL};
const double terminal_shade_from[4] = {0.05, 0.2, 0.4, 0.6};

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && *value != '\0';
}

terminal_color terminal_color_of_output(terminal_choice choice) {
    const char *kind = getenv("TERM");
    if (choice == TERMINAL_NEVER) return TERMINAL_PLAIN;
    if (choice == TERMINAL_AUTO) {
        if (!isatty(STDOUT_FILENO) || is_set("NO_COLOR")) return TERMINAL_PLAIN;
        if (kind == NULL || *kind == '\0' || strcmp(kind, "dumb") == 0) return TERMINAL_PLAIN;
    }
    const char *depth = getenv("COLORTERM");
    bool true_color = depth != NULL && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0);
    return true_color ? TERMINAL_TRUE_COLOR : TERMINAL_PALETTE;
}

int terminal_width(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

void terminal_heading(terminal_color color, const char *text) {
    printf(color == TERMINAL_PLAIN ? "%s" : "\033[1m%s\033[0m", text);
}

void terminal_remark(terminal_color color, const char *text) {
    printf(color == TERMINAL_PLAIN ? "%s" : "\033[2m%s\033[0m", text);
}

typedef struct rgb {
    double red, green, blue;
} rgb;

/* Dark violet over green to yellow: brightness rises evenly with the heat, so
 * that the order is seen without colour vision too. */
static rgb heat_color(double heat) {
    static const rgb stops[5] = {{50, 18, 78}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    double place = heat <= 0 ? 0 : heat >= 1 ? 4 : heat * 4;
    int below = place >= 4 ? 3 : (int)place;
    double part = place - below;
    const rgb *a = &stops[below], *b = &stops[below + 1];
    rgb mix = {a->red + part * (b->red - a->red), a->green + part * (b->green - a->green),
               a->blue + part * (b->blue - a->blue)};
    return mix;
}

/* The nearest of the six levels 0, 95, 135, ... 255 of the palette's cube. */
static int cube_level(double channel) {
    static const double levels[6] = {0, 95, 135, 175, 215, 255};
    int level = 0;
    while (level < 5 && channel > (levels[level] + levels[level + 1]) / 2) level++;
    return level;
}

void terminal_heat(terminal_color color, double heat, const char *text) {
    rgb fill = heat_color(heat);
    double brightness = 0.299 * fill.red + 0.587 * fill.green + 0.114 * fill.blue;
    int ink = brightness > 125 ? 16 : 231; /* black and white of the palette */
    if (color == TERMINAL_TRUE_COLOR) {
        printf("\033[38;5;%d;48;2;%d;%d;%dm", ink, (int)fill.red, (int)fill.green, (int)fill.blue);
    } else {
        int index = 16 + 36 * cube_level(fill.red) + 6 * cube_level(fill.green) + cube_level(fill.blue);
        printf("\033[38;5;%d;48;5;%dm", ink, index);
    }
    printf("%s\033[0m", text);
}

const char *terminal_shade(double heat) {
    static const char *const shades[5] = {" ", "░", "▒", "▓", "█"};
    int level = 0;
    while (level < 4 && heat >= terminal_shade_from[level]) level++;
    return shades[level];
}
