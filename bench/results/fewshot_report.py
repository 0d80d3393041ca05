"""Writes docs/results-fewshot.md from the runs of bench/results/fewshot: fewshot_report.py RESULTS-FOLDER PAGE.

A method's figure is the median over its seeds of the mean over languages; a language's is the median over the seeds.
"""
import json
import os
import statistics
import sys

from tables import runs_of

METHODS = [("default", "attn, the defaults"), ("attention", "attn, cross-attention as in version 0.1")]


def rates_of(folder):
    """{language: {seed: word error rate}} of the languages with finished runs, and one command."""
    rates, command = {}, None
    for language in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        for run in runs_of(folder, language):
            rates.setdefault(language, {})[run["seed"]] = run["test"]
            command = command or run["command"]
    return rates, command


def macro(rates):
    """The mean over languages for each seed that all of them have."""
    seeds = sorted(set.intersection(*(set(of) for of in rates.values())))
    return seeds, [statistics.mean(of[seed] for of in rates.values()) for seed in seeds]


def figure(values):
    values = [100 * value for value in values]
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f} to {max(values):.2f})"


def section(results, pairs):
    """The tables of one size of training set, and the commands."""
    rows, columns, commands, middles = [], [], [], {}
    for method, title in METHODS:
        rates, command = rates_of(os.path.join(results, f"fewshot-{pairs}-{method}"))
        if not rates:
            continue
        seeds, means = macro(rates)
        if not means:
            print(f"no seed is finished in all languages: {pairs} pairs, {method}", file=sys.stderr)
            continue
        middles[method] = statistics.median(means)
        rows.append((title, figure(means), ", ".join(map(str, seeds)), middles[method]))
        columns.append((title, {language: statistics.median(of.values()) for language, of in rates.items()}))
        commands.append("- `" + command.rsplit(" --seed", 1)[0] + " --seed S`, and so in the other languages")
    path = os.path.join(results, "fewshot-data", pairs, "phonetisaurus.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            rates = json.load(file)
        mean = statistics.mean(rates.values())
        rows.append(("Phonetisaurus", figure([mean]), "", mean))
        columns.append(("Phonetisaurus", rates))
        commands.append("- `bench/results/fewshot_phonetisaurus.py`: Phonetisaurus; Korean is decomposed into jamo for it")
    if "default" not in middles:
        return []
    ours = middles["default"]
    lines = [f"## {int(pairs):,} pairs of each language", "",
             "| | macro WER | seeds | WER of attn's defaults, relative to this row |", "| --- | --- | --- | ---: |"]
    for title, text, seeds, middle in rows:
        against = "" if middle == ours else f"{100 * (ours - middle) / middle:+.1f} %"
        lines.append(f"| {title} | {text} | {seeds} | {against} |")
    languages = sorted(columns[0][1])
    lines += ["", "| | " + " | ".join(languages) + " |", "| --- |" + " ---: |" * len(languages)]
    for title, rates in columns:
        lines.append(f"| {title} | " + " | ".join(f"{100 * rates[l]:.1f}" if l in rates else "" for l in languages) + " |")
    return lines + ["", *commands, ""]


def main(results, page):
    lines = [
        "# Results: letters to sounds from few examples", "",
        "<!-- written by bench/results/fewshot_report.py; do not edit -->", "",
        "Word error rates (WER, percent) on the test data of SIGMORPHON 2020, 15 languages, when only the first pairs of each",
        "training file are used. The model is chosen by the development data and looks at the test data once. The macro WER is the",
        "mean over the languages: the median over the seeds, in brackets the lowest and the highest. One thread. To repeat:",
        "`DATA=FOLDER PHONETISAURUS=PROGRAM bench/results/fewshot` (`PAIRS=3600` for another size).", "",
        "Cross-attention as in version 0.1: this version with the defaults of the released version 0.1, which are cross-attention,",
        "characters that are not decomposed, and one network (`bench/results/fewshot_attention.json`).", ""]
    folder = os.path.join(results, "fewshot-data")
    for pairs in sorted(os.listdir(folder), key=int):
        lines += section(results, pairs)
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
