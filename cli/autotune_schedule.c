/* autotune_schedule.c: how the time of --autotune is divided: successive halving, by thirds, and an ensemble.
 *
 * Of the time that is left, a third, or what a whole run takes if that is more (but no more than half), is
 * kept for the whole run of the best candidate. The rest is divided evenly among the rounds; a round has a
 * third of the candidates of the one before, each with three times as long. There are as many rounds, and
 * candidates in the first, as give each of them half of a brief run. The time that an ensemble of the best
 * takes in the end is not part of this: it is set aside before.
 */
#include <math.h>

#include "autotune.h"

autotune_schedule autotune_plan(double left, double whole, double brief, int candidates) {
    static const int fewest[AUTOTUNE_ROUNDS] = {1, 2 * AUTOTUNE_KEPT, 2 * AUTOTUNE_KEPT * AUTOTUNE_KEPT};
    autotune_schedule plan = {.rounds = 0, .last = fmin(fmax(whole, left / 3), left / 2)};
    double searching = left - plan.last;
    int most = candidates < AUTOTUNE_MOST_RUNS ? candidates : AUTOTUNE_MOST_RUNS;
    for (int rounds = most > 0 ? AUTOTUNE_ROUNDS : 0; rounds > 0; rounds--) {
        double fit = brief > 0 ? searching / rounds / (brief / 2) : most;
        int runs = fit < 2 ? 2 : fit > most ? most : (int)fit;
        if (runs > most) runs = most;
        if (runs < fewest[rounds - 1]) continue;
        plan.rounds = rounds;
        for (int r = 0; r < rounds; r++, runs /= AUTOTUNE_KEPT) plan.runs[r] = runs;
        break;
    }
    return plan;
}

int autotune_members(double seconds, double prepared, double training, int networks) {
    double most = networks > 0 && training > 0 ? (seconds - prepared) / (training / networks) : 0;
    if (most > AUTOTUNE_MEMBERS) most = AUTOTUNE_MEMBERS;
    return most >= networks + 1 ? (int)most : 0;
}

bool autotune_better(double metric_value, double than, bool rises) {
    if (isnan(metric_value) || isnan(than)) return !isnan(metric_value);
    return rises ? metric_value > than : metric_value < than;
}

void autotune_curve_add(autotune_curve *curve, double done, double metric_value) {
    if (curve->count == AUTOTUNE_POINTS) return;
    curve->done[curve->count] = done;
    curve->metric_value[curve->count++] = metric_value;
}

/* NaN: there is none yet. */
static double best_until(const autotune_curve *curve, double done, bool rises) {
    double best = NAN;
    for (int i = 0; i < curve->count && curve->done[i] <= done; i++)
        if (autotune_better(curve->metric_value[i], best, rises)) best = curve->metric_value[i];
    return best;
}

bool autotune_hopeless(const autotune_curve *run, const autotune_curve *other, bool rises) {
    double done = run->count > 0 ? run->done[run->count - 1] : 0;
    if (done < 0.5 || done >= 1) return false;
    return autotune_better(best_until(other, done / 2, rises), best_until(run, done, rises), rises);
}
