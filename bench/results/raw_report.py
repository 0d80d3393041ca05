"""Writes docs/results-raw.md from the runs of bench/results/raw: raw_report.py FOLDER PAGE."""
import json
import os
import statistics
import sys

from report import processor

NAMES = [
    ("ewt", "UD English EWT 2.16", "UDPipe 1 on UD 2.3: words 99.1, sentences 77.1, UPOS 93.5"),
    ("gsd", "UD Chinese GSD 1.4", "UDPipe 1: words 90.3, UPOS 84.2"),
]
NOTE = {
    "gsd": "The file marks neither spaces nor paragraphs: words and sentences are joined without spaces, and the whole file is one "
           "paragraph. The test data was used twice: a splitter with a wider feed-forward and stem was slower (0.50 of the speed on "
           "gold words, 0.46 with two threads) and worse on dev (words 91.75); on test it had words 92.47 (92.33 to 92.49) and UPOS "
           "86.74 (86.50 to 86.88).",
}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def spread(values):
    values = [100 * value for value in values]
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def runs_of(folder):
    seeds = sorted(name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, "done")))
    return seeds, [{part: json.loads(read(folder, seed, part + ".json"))
                    for part in ("dev.gold", "dev.raw", "test.gold", "test.raw", "info")}
                   | {"seconds": int(read(folder, seed, "seconds"))} for seed in seeds]


def table(title, others, seeds, runs):
    rows = [("words, F1", "raw", "word_f1"), ("sentences, F1", "raw", "sentence_f1"), ("UPOS, F1 on aligned words", "raw", "tag_f1"),
            ("UPOS, accuracy on gold words", "gold", "accuracy")]
    lines = [f"## {title}", "", f"Seeds {', '.join(seeds)}; {max(run['seconds'] for run in runs) / 60:.1f} minutes for the slowest "
             f"of them, beside other work; {runs[0]['info']['parameters']:,} parameters and "
             f"{runs[0]['info']['splitter_parameters']:,} of the splitter, "
             f"{runs[0]['info']['bytes'] / 1e6:.1f} MB. As published, {others}.", "",
             "| | dev | test |", "| --- | --- | --- |"]
    for name, kind, metric in rows:
        lines.append(f"| {name} | {spread([run['dev.' + kind][metric] for run in runs])} | "
                     f"**{spread([run['test.' + kind][metric] for run in runs])}** |")
    return lines


def speed(folder):
    best = {}
    for line in read(folder, "speed").splitlines():
        threads, kind, nanoseconds = line.split()
        key = (threads, kind)
        best[key] = min(best.get(key, float("inf")), int(nanoseconds) / 1e9)
    words = int(read(folder, "words"))
    lines = ["", "| threads | gold words, words per second | raw text, words per second | ratio |", "| ---: | ---: | ---: | ---: |"]
    for threads in sorted({key[0] for key in best}):
        gold, raw = best[threads, "gold"], best[threads, "raw"]
        lines.append(f"| {threads} | {words / gold:,.0f} | {words / raw:,.0f} | {gold / raw:.2f} |")
    return lines + ["", f"`attn predict` of the training file ({words:,} words), including start and loading; the best of several rounds, in turns."]


def older(runs):
    """A note for models of before files left out the empty rows of tables: such a file has all 32 bits of every parameter."""
    info = runs[0]["info"]
    if info["bytes"] < 4 * (info["parameters"] + info["splitter_parameters"]):
        return []
    return ["", "Measured with a development version after 0.1. Since then two things have changed: training divides batches into "
            "[shards](design.md#steps-in-shards), so it no longer gives the same bits, and files leave out the empty rows of "
            "embedding tables. [Taggers](results-taggers.md) has the accuracy on gold words and "
            "the size of files of the present version."]


def main():
    folder, page = sys.argv[1:]
    lines = ["# Results from raw text", "", "<!-- written by bench/results/raw_report.py; do not edit -->", "",
             "Taggers trained with `attn train tag TRAIN --dev DEV --seed S` and no other flags, evaluated from raw text with `attn eval "
             "--raw` (the CoNLL 2018 definition) and on gold words. The same model does both. The model is chosen by the tagger's "
             "accuracy on dev; the test data is used once, unless a note below says otherwise. Figures are percents, the median "
             "over the seeds, in brackets the lowest and the "
             "highest.", "", f"Machine: {processor()}, 2 cores. To repeat: `DATA=FOLDER bench/results/raw`.", ""]
    for name, title, others in NAMES:
        where = os.path.join(folder, name)
        if not os.path.isdir(where):
            continue
        seeds, runs = runs_of(where)
        if not runs:
            continue
        lines += table(title, others, seeds, runs) + older(runs)
        if name in NOTE:
            lines += ["", NOTE[name]]
        if os.path.exists(os.path.join(where, "speed")):
            lines += speed(where)
        lines.append("")
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
