"""Writes docs/results-images.md from the runs of bench/results/images: images_report.py FOLDER PAGE."""
import collections
import csv
import os
import sys

from report import processor
from tables import minutes, percent, runs_of, seeds

FOLDER, PAGE = sys.argv[1:]

NOTES = [
    "After two epochs `cnn` and `fc` are ahead: they use neighbours by design and have twice the parameters, while attention has to "
    "learn where to attend. The row without \"two epochs\" shows that after ten epochs it has learned this; the others were not "
    "trained that long here.",
    "Before every encoder there is a 3 x 3 convolution over the patches (`image.stem`).",
    "All predictions on the development part of the digits are right with any setting, so it cannot decide between settings. Their "
    "test part was used before with other defaults: 97.22 (patches of 4 pixels, one seed), 96.94 (96.11 to 96.94; one network), "
    "96.11 (95.00 to 96.39; one "
    "network, relative positions).",
]


def row(title, name):
    runs = runs_of(FOLDER, name)
    if not runs:
        return f"| {title} | not run | | | | |"
    return (f"| {title} | {percent([run['dev'] for run in runs])} | **{percent([run['test'] for run in runs])}** | {seeds(runs)} | "
            f"{minutes(runs)} | {runs[0]['parameters'] / 1000:.0f} k |")


def letters():
    with open(os.path.join(FOLDER, "data", "letters", "letters.tsv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    parts = collections.Counter(entry["split"] for entry in rows)
    families = collections.defaultdict(set)
    for entry in rows:
        families[entry["split"]].add(entry["family"])
    return ", ".join(f"{part} {parts[part]:,} pictures of {len(families[part])} families" for part in parts)


def main():
    head = "| | dev | test | seeds | minutes | parameters |\n| --- | --- | --- | --- | --- | --- |"
    text = ["# Results: pictures\n\n<!-- written by bench/results/images_report.py; do not edit -->\n",
            f"`bench/results/images` makes both sets and trains everything here from scratch; CPU: {processor()}, 2 cores. Accuracy in "
            "percent, the median over the seeds, in brackets the lowest and the highest; minutes are processor minutes (median). "
            "The model of a run is the best of its evaluations on the development part; the test part is used once, with that model.\n",
            "scikit-learn's digits: 8 x 8 pixels, the last 360 rows for testing, the 200 before them for development, 1,237 for "
            "training; `attn train "
            "classify --input image digits-train.npz --dev digits-dev.npz`. Letters: 26 capitals, 28 x 28 grey, drawn from Debian's fonts by "
            f"`bench/data/letters`, split by font family ({letters()}): the families of dev and test are unseen; `attn train classify "
            "--input image letters.tsv --encoder E`. In each layer of `cnn` and `fc` a patch sees a square of 5 x 5 patches "
            "(`encoder.width`), with attention all patches.\n",
            head, row("digits", "digits"), row("letters (attention)", "letters"),
            row("letters, two epochs, attention", "letters-attention"), row("letters, two epochs, cnn", "letters-cnn"),
            row("letters, two epochs, fc", "letters-fc"), row("letters, two epochs, rnn", "letters-rnn")]
    text += ["", *["- " + note for note in NOTES]]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


main()
