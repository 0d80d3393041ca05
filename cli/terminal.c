/* terminal.c: colour in the terminal (see terminal.h). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* isatty */
#endif

#include "terminal.h"

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
    enum { USUAL = 80, NARROWEST = 20, WIDEST = 10000 };
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    if (isatty(STDOUT_FILENO) || !is_set("COLUMNS")) return USUAL;
    long columns = strtol(getenv("COLUMNS"), NULL, 10);
    return columns >= NARROWEST && columns <= WIDEST ? (int)columns : USUAL;
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

/* Between `count` colours that are at even distances; place: 0 .. 1. */
static rgb mix(const rgb *stops, int count, double place) {
    place = place <= 0 ? 0 : place >= 1 ? count - 1 : place * (count - 1);
    int below = place >= count - 1 ? count - 2 : (int)place;
    double part = place - below;
    const rgb *a = &stops[below], *b = &stops[below + 1];
    return (rgb){a->red + part * (b->red - a->red), a->green + part * (b->green - a->green),
                 a->blue + part * (b->blue - a->blue)};
}

/* A colour, and the one of the palette that stands for it: those are chosen by hand, for the nearest ones do
 * not grow brighter evenly. */
typedef struct fill {
    rgb color;
    int index;
} fill;

static int step_of(const int *steps, int count, double place) {
    int step = (int)(place * count);
    return steps[step < 0 ? 0 : step >= count ? count - 1 : step];
}

/* Dark violet over green to yellow: brightness rises evenly with the heat, so
 * that the order is seen without colour vision too. */
static fill heat_fill(double heat) {
    static const rgb stops[5] = {{50, 18, 78}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    static const int steps[10] = {17, 18, 24, 30, 36, 71, 113, 149, 191, 227};
    return (fill){mix(stops, 5, heat), step_of(steps, 10, heat)};
}

/* Blue over grey to red-brown. */
static fill signed_fill(double number) {
    static const rgb stops[3] = {{33, 102, 172}, {235, 235, 235}, {178, 24, 43}};
    static const int steps[9] = {25, 67, 110, 153, 254, 224, 174, 167, 124};
    double place = (number + 1) / 2;
    return (fill){mix(stops, 3, place), step_of(steps, 9, place)};
}

/* Ink (38) or background (48) of what follows. */
static void set_color(terminal_color color, int which, fill wanted) {
    if (color == TERMINAL_TRUE_COLOR)
        printf("\033[%d;2;%d;%d;%dm", which, (int)wanted.color.red, (int)wanted.color.green,
               (int)wanted.color.blue);
    else
        printf("\033[%d;5;%dm", which, wanted.index);
}

static void print_filled(terminal_color color, fill wanted, const char *text) {
    const rgb *shown = &wanted.color;
    double brightness = 0.299 * shown->red + 0.587 * shown->green + 0.114 * shown->blue;
    printf("\033[38;5;%dm", brightness > 125 ? 16 : 231); /* black and white of the palette */
    set_color(color, 48, wanted);
    printf("%s\033[0m", text);
}

void terminal_heat(terminal_color color, double heat, const char *text) {
    print_filled(color, heat_fill(heat), text);
}

void terminal_signed(terminal_color color, double number, const char *text) {
    print_filled(color, signed_fill(number), text);
}

void terminal_halves(terminal_color color, bool is_signed, double above, double below) {
    set_color(color, 38, is_signed ? signed_fill(above) : heat_fill(above));
    set_color(color, 48, is_signed ? signed_fill(below) : heat_fill(below));
    fputs("▀\033[0m", stdout);
}

const char *terminal_shade(double heat) {
    static const char *const shades[5] = {" ", "░", "▒", "▓", "█"};
    int level = 0;
    while (level < 4 && heat >= terminal_shade_from[level]) level++;
    return shades[level];
}
