"""Writes docs/results-classification.md from the finished runs: classification_report.py RESULTS PAGE."""
import json
import os
import platform
import random
import statistics
import sys

RESULTS, PAGE = sys.argv[1:]
BINS, DRAWS = 15, 1000
TITLES = {"sst2": "SST-2 (test: its development file, 872 sentences)",
          "hotels": "ChnSentiCorp hotels (rows mod 10: 8 dev, 9 test, 776 reviews)"}

# What defaults were chosen by: held-out training data.
TRIED = [
    ("SST-2: 2,000 whole sentences held out, with all phrases that no other sentence has; one network", [
        ("attention (the default before)", "81.80", "0.4146", 18),
        ("rnn (LSTM, both directions)", "83.15", "0.3956", 16),
        ("rnn, n-grams added to its logits (`--wide` before)", "82.95", "0.3892", 21),
        ("**rnn, n-grams with a loss of their own, the mean of the two**", "83.55", "0.3750", 21),
        ("TF-IDF and logistic regression", "82.35", "", None)]),
    ("The same 2,000, trained on 4,815 whole sentences alone (as many as small sets have)", [
        ("n-grams alone (`--encoder none`)", "79.85", "0.4349", 4),
        ("rnn, n-grams added to its logits", "79.75", "0.4397", 8),
        ("rnn, n-grams with a loss of their own", "79.40", "0.4478", 8),
        ("the same, more steps", "79.15", "0.4498", 14),
        ("the same, `text.wide_rate` 100", "79.95", "0.4424", 16),
        ("**two such networks**", "80.35", "0.4407", 25),
        ("TF-IDF and logistic regression", "79.00", "", None)]),
    ("Hotels, dev (776 reviews)", [
        ("attention (the default before, but one network)", "90.08", "0.2411", 24),
        ("attention, n-grams added to its logits", "90.34", "0.2385", 28),
        ("the same with 64 columns", "89.82", "0.2398", 17),
        ("rnn, n-grams with a loss of their own (dropout 0.5), one epoch", "89.56", "0.2505", 13),
        ("attention, 64 columns, n-grams with a loss of their own: dropout 0.2, rate 10", "90.08", "0.2452", 15),
        ("**the same, rate 40**", "90.72", "0.2288", 15),
        ("the same, rate 100", "90.98", "0.2323", 13),
        ("the same, rate 100, dropout of the encoder 0.3", "90.72", "0.2313", 15),
        ("n-grams alone, dropout 0.2, rate 10", "91.24", "0.2260", 7),
        ("TF-IDF and logistic regression", "91.24", "", None)]),
]


def runs_of(name):
    folder = os.path.join(RESULTS, name)
    found = {}
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if file.endswith(".json"):
            with open(os.path.join(folder, file), encoding="utf-8") as opened:
                found[file[:-5]] = json.load(opened)
    return found


def calibration_error(answers):
    """That of attn: sorted by probability, 15 bins of equal mass; equal probabilities are in the bin of their first."""
    answers = sorted(answers)
    gaps, bin_of, count = [0.0] * BINS, 0, len(answers)
    for i, (probability, right) in enumerate(answers):
        if i == 0 or probability != answers[i - 1][0]:
            bin_of = i * BINS // count
        gaps[bin_of] += right - probability
    return sum(abs(gap) for gap in gaps) / count


def perfect_error(answers):
    """The mean error of a model with the same probabilities that are exactly how often it is right."""
    draw = random.Random(0)
    return statistics.mean(calibration_error([(p, draw.random() < p) for p, _ in answers]) for _ in range(DRAWS))


def spread(values, digits=2):
    text = f"{statistics.median(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def accuracy_row(title, runs, rival):
    mine = [100 * run["test"] for run in runs.values()]
    seconds = statistics.median(run["seconds"] for run in runs.values())
    return (f"| {title} | **{spread(mine)}** | {100 * rival['test']:.2f} | {statistics.median(mine) - 100 * rival['test']:+.2f} | "
            f"{seconds:.0f} | {rival['seconds']:.1f} |")


def tuned(rival):
    low, high = rival["grams"]
    return f"{rival['kind']} {low}- to {high}-grams, C {rival['strength']:g}"


def main_tables():
    rows, errors, notes = [], [], []
    for name in ("sst2", "hotels"):
        runs, rival = runs_of(name), runs_of(name + "-linear")
        if not runs or not rival:
            notes.append(f"- {name}: not run.")
            continue
        rival = next(iter(rival.values()))
        rows.append(accuracy_row(TITLES[name], runs, rival))
        notes.append(f"- {name}: `{next(iter(runs.values()))['command'].rsplit(' ', 1)[0]} S`, S = {', '.join(runs)}; "
                     f"linear: {tuned(rival)}, {100 * rival['dev']:.2f} on its development data.")
        own = [(run["calibration_error"], perfect_error(run["answers"])) for run in runs.values()]
        errors.append(f"| {name} | {spread([e for e, _ in own], 4)} | {spread([p for _, p in own], 4)} | "
                      f"**{spread([e - p for e, p in own], 4)}** |")
    folds = [(runs_of(f"mr-{k}"), runs_of(f"mr-{k}-linear")) for k in range(10)]
    done = [(list(mine.values()), next(iter(rival.values()))) for mine, rival in folds if mine and rival]
    if len(done) == 10:
        by_seed = zip(*[[100 * run["test"] for run in mine] for mine, _ in done])
        mine = [statistics.mean(one) for one in by_seed]
        rival = statistics.mean(100 * rival["test"] for _, rival in done)
        seconds = statistics.mean(mine[0]["seconds"] for mine, _ in done)
        rows.append(f"| Movie review sentences (mr-polarity, 10-fold) | **{spread(mine)}** | {rival:.2f} | "
                    f"{statistics.median(mine) - rival:+.2f} | {seconds:.0f} | {statistics.mean(r['seconds'] for _, r in done):.1f} |")
        notes.append(f"- mr-polarity: fold k is the lines whose number mod 10 is k, of either class, the next fold is dev; "
                     f"{len(mine)} seed{'s' if len(mine) > 1 else ''} a fold.")
    else:
        notes.append(f"- mr-polarity: {len(done)} of 10 folds are run.")
    return rows, errors, notes


def hold_out():
    whole, leaks = runs_of("sst2"), runs_of("sst2-leaks")
    if not whole:
        return []
    lines = ["| held out | accuracy on the held-out texts | test |", "| --- | --- | --- |",
             f"| whole sentences, whose parts are not in the training data (default) | {spread([100 * r['dev'] for r in whole.values()])} | "
             f"{spread([100 * r['test'] for r in whole.values()])} |"]
    if leaks:
        lines.append("| rows one by one (`--hold-out-groups false`), seed " + ", ".join(leaks) + " | " +
                     f"{spread([100 * r['dev'] for r in leaks.values()])} | {spread([100 * r['test'] for r in leaks.values()])} |")
    else:
        lines.append("| rows one by one (`--hold-out-groups false`) | not run | |")
    return lines


def until_linear():
    runs, rival = runs_of("hotels"), runs_of("hotels-linear")
    if not runs or not rival:
        return ["Not run."]
    goal, found = next(iter(rival.values()))["dev"], []
    for run in runs.values():
        reached = [score["seconds"] for score in run["scores"] if score["score"] >= goal - 1e-6]
        found.append(f"{reached[0]:.1f} s" if reached else "never")
    return [f"The linear model has {100 * goal:.2f} on dev. Processor time until the default model has this accuracy, for seeds "
            f"{', '.join(runs)}: {', '.join(found)} (one thread, including reading; measured at each evaluation)."]


def searches():
    lines = ["| data | seed | defaults, dev | test | search, dev | test | what was kept |",
             "| --- | --- | ---: | ---: | ---: | ---: | --- |"]
    sums = []
    for name in ("sst2", "hotels"):
        plain, tuned_runs = runs_of(name), runs_of(name + "-autotune")
        both = [seed for seed in plain if seed in tuned_runs]
        for seed in both:
            a, b = plain[seed], tuned_runs[seed]
            lines.append(f"| {name} | {seed} | {100 * a['dev']:.2f} | {100 * a['test']:.2f} | {100 * b['dev']:.2f} | {100 * b['test']:.2f} | "
                         f"{'`' + b['kept'] + '`' if b['kept'] else 'the defaults'} |")
        if both:
            def middle(runs, what):
                return statistics.median(runs[seed][what] for seed in both)
            a, b = 100 * middle(plain, "test"), 100 * middle(tuned_runs, "test")
            sums.append(f"{name} {a:.2f} with the defaults and {b:.2f} after the search ({b - a:+.2f}), "
                        f"log loss {middle(plain, 'log_loss'):.4f} and {middle(tuned_runs, 'log_loss'):.4f}")
    if not sums:
        return ["Not run."]
    return [*lines, "", "Medians on the test data: accuracy of " + "; ".join(sums) + "."]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.processor())


def main():
    rows, errors, notes = main_tables()
    lines = ["# Results: classification", "", "<!-- written by bench/results/classification_report.py; do not edit -->", "",
             "`attn train classify` with its defaults against TF-IDF (sublinear) with logistic regression of scikit-learn, whose",
             "n-grams and C are tuned on development data. Test data was used once, by the chosen model. Medians over the",
             "seeds, in brackets the lowest and the highest. Seconds are those of the processor, one thread.", "",
             f"Machine: {processor()}. To repeat: `bench/results/classification DATA`.", "",
             "| data | attn | linear | difference | seconds | linear |", "| --- | --- | --- | --- | --- | --- |", *rows, "", *notes, "",
             "SST-2's linear model is tuned on a tenth of the whole sentences and the phrases that only they have, then trained on all rows;",
             "attn holds out a tenth and is trained on the rest.", "",
             "## Hold-out of SST-2, with and without leaks", "", *hold_out(), "",
             "## Calibration", "", "`calibration_error` on the test data, and the error that a perfectly calibrated model with the same probabilities",
             f"would have on as many examples: the mean of {DRAWS:,} draws of labels.", "",
             "| data | calibration error | of a perfectly calibrated model | difference |", "| --- | --- | --- | --- |", *errors, "",
             "## Seconds until the hotels' linear model is reached", "", *until_linear(), "",
             "## Ten minutes of search", "", "`--autotune 10m` with the commands above, against the defaults with the same seed; one thread.", "",
             *searches(), "",
             "## What was tried", "", "One seed, and one network unless stated otherwise, on data held out of the training data. On SST-2",
             "the number of networks (two; four before) was chosen for its cost. Seconds are processor seconds of training. The "
             "standard error of these accuracies is 0.8 to 1.1.", ""]
    for title, tried in TRIED:
        lines += [title + ":", "", "| what | accuracy | log loss | seconds |", "| --- | ---: | ---: | ---: |"]
        lines += [f"| {what} | {accuracy} | {loss} | {'' if seconds is None else seconds} |" for what, accuracy, loss, seconds in tried]
        lines.append("")
    lines += ["Some of these rows were measured after the test data of SST-2 had been used: in the second table those from \"the same, more",
              "steps\" on, in the third those with rate 100. They did not change the default for SST-2."]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
