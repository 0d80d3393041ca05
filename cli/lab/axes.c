/* axes.c: from the points of a chart to axes that hold them, with round ticks. */
#include <math.h>
#include <stdlib.h>

#include "report.h"

double lab_ruler_place(const lab_ruler *scale, double number) {
    if (scale->kind == LAB_LINEAR) return (number - scale->low) / (scale->high - scale->low);
    if (!(number > 0)) return NAN;
    return log(number / scale->low) / log(scale->high / scale->low);
}

static void add_tick(lab_ruler *scale, double number) {
    if (scale->ticks < LAB_TICKS) scale->tick[scale->ticks++] = number;
}

static void linear_ticks(lab_ruler *scale, double low, double high) {
    double span = high - low;
    if (!(span > 1e-9 * fabs(high))) span = high != 0 ? 0.1 * fabs(high) : 1;
    double power = pow(10, floor(log10(span / 5))), times = span / 5 / power;
    double every = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
    scale->low = floor(low / every + 1e-6) * every;
    scale->high = ceil(high / every - 1e-6) * every;
    if (!(scale->high > scale->low)) scale->low = scale->high - every;
    for (int64_t i = 0; i <= llround((scale->high - scale->low) / every); i++) {
        double tick = scale->low + (double)i * every;
        add_tick(scale, fabs(tick) < 1e-9 * every ? 0 : tick);
    }
}

/* Decades, or 1 2 5 where there are few of them. */
static void logarithmic_ticks(lab_ruler *scale, double low, double high) {
    scale->low = low;
    scale->high = high > low * 1.01 ? high : low * 2;
    double decades = log10(scale->high / scale->low);
    int every = decades > 10 ? (int)ceil(decades / 8) : 1;
    for (int power = (int)floor(log10(low)); power <= (int)ceil(log10(high)); power++) {
        static const double parts[] = {1, 2, 5};
        if (power % every != 0) continue;
        for (int i = 0; i < (decades < 3 ? 3 : 1); i++) {
            double tick = parts[i] * pow(10, power);
            if (tick >= scale->low * 0.999 && tick <= scale->high * 1.001) add_tick(scale, tick);
        }
    }
}

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Where the measurements stand is what one wants to read under a logarithmic axis, if they are few. */
static void ticks_at_points(const lab_chart *chart, lab_ruler *scale) {
    double seen[10];
    int count = 0;
    for (int i = 0; i < chart->lines; i++) {
        for (int64_t p = 0; p < chart->line[i].points; p++) {
            double x = chart->line[i].point[p].x;
            int known = 0;
            while (known < count && fabs(seen[known] - x) > 1e-9 * fabs(x)) known++;
            if (known < count) continue;
            if (count == 9) return;
            seen[count++] = x;
        }
    }
    qsort(seen, (size_t)count, sizeof seen[0], by_size);
    for (int i = 1; i < count; i++) /* too near for two labels */
        if (log(seen[i] / seen[i - 1]) < 0.08 * log(scale->high / scale->low)) return;
    scale->ticks = 0;
    for (int i = 0; i < count; i++) add_tick(scale, seen[i]);
}

static void widen(double number, lab_axis kind, double *low, double *high) {
    if (!isfinite(number) || (kind == LAB_LOGARITHMIC && !(number > 0))) return;
    if (!(number >= *low)) *low = number;
    if (!(number <= *high)) *high = number;
}

static void make_scale(lab_ruler *scale, lab_axis kind, double low, double high, bool margin) {
    *scale = (lab_ruler){.kind = kind};
    if (kind == LAB_LINEAR) {
        if (margin && low > 0 && low < 0.35 * high) low = 0; /* lengths are compared from 0 */
        linear_ticks(scale, low, high);
        return;
    }
    if (margin) {
        low /= 1.15;
        high *= 1.15;
    }
    logarithmic_ticks(scale, low, high);
}

bool lab_chart_rulers(const lab_chart *chart, lab_ruler *x, lab_ruler *y) {
    double low[2] = {NAN, NAN}, high[2] = {NAN, NAN};
    for (int i = 0; i < chart->lines; i++) {
        for (int64_t p = 0; p < chart->line[i].points; p++) {
            const lab_chart_point *point = &chart->line[i].point[p];
            widen(point->x, chart->x_axis, &low[0], &high[0]);
            widen(point->y, chart->y_axis, &low[1], &high[1]);
            widen(point->low, chart->y_axis, &low[1], &high[1]);
            widen(point->high, chart->y_axis, &low[1], &high[1]);
        }
    }
    if (isnan(low[0]) || isnan(low[1])) return false;
    make_scale(x, chart->x_axis, low[0], high[0], false);
    make_scale(y, chart->y_axis, low[1], high[1], true);
    if (chart->x_axis == LAB_LOGARITHMIC) ticks_at_points(chart, x);
    return true;
}
