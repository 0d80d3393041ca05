"""Writes docs/results-taggers.md from the runs of bench/results/taggers: taggers_report.py RESULTS-FOLDER PAGE."""
import json
import os
import sys

from tables import percent, runs_of, seeds

ROWS = [
    ("ewt", "UD English EWT 2.16, gold words"),
    ("gsd", "UD Chinese GSD 1.4, gold words"),
    ("few", "the first 1,500 sentences of EWT"),
]

HALVES = [
    ("half", "ewt", "The tagger of EWT with the network that splits raw text"),
    ("few-half", "few", "The tagger of 1,500 sentences"),
]


def row(title, runs):
    values = [[run[part] for run in runs] for part in ("dev", "test")]
    processor = max(run["processor"] for run in runs)
    return (f"| {title} | {percent(values[0])} | **{percent(values[1])}** | {seeds(runs)} | {processor} | "
            f"{runs[0]['parameters']:,} | {runs[0]['bytes'] / 1e6:.1f} |")


def main():
    folder, page = sys.argv[1:]
    lines = [
        "# Taggers", "",
        "<!-- written by bench/results/taggers_report.py; do not edit -->", "",
        "Accuracy of UPOS on gold words, with the defaults of `attn train tag` and one thread. The model is chosen by the",
        "development data, and the test data is used once. Figures are percents, the median over the seeds, in brackets the lowest",
        "and the highest. To repeat: `DATA=FOLDER bench/results/taggers`.", "",
        "| training data | dev | test | seeds | seconds of processor, at most | parameters | MB |",
        "| --- | --- | --- | --- | ---: | ---: | ---: |",
    ]
    commands = []
    for name, title in ROWS:
        runs = runs_of(folder, name)
        if not runs:
            print("no finished runs: " + name, file=sys.stderr)
            continue
        lines.append(row(title, runs))
        commands.append("- `" + runs[0]["command"].rsplit(" --seed", 1)[0] + " --seed S`")
    path = os.path.join(folder, "udpipe.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            rival = json.load(file)
        lines.append(f"| the same {rival['sentences']:,} sentences, UDPipe 1 | {percent([rival['dev']])} | "
                     f"**{percent([rival['test']])}** | | {rival['seconds']:.0f} | | {rival['bytes'] / 1e6:.1f} |")
        commands.append(f"- `bench/results/udpipe.py`: UDPipe 1, tagger options `{rival['options']}`, the default otherwise; "
                        "dev is its held-out data")
    for name, whole, title in HALVES:
        half = runs_of(folder, name)
        if not half:
            continue
        same = [run for run in runs_of(folder, whole) if run["seed"] == half[0]["seed"]]
        text = (f"{title}, stored with `--half`: {half[0]['bytes'] / 1e6:.1f} MB, "
                f"seed {half[0]['seed']}, dev {percent([half[0]['dev']])}, test {percent([half[0]['test']])}")
        if same:
            text += f"; in 32 bits the same seed has {percent([same[0]['dev']])} and {percent([same[0]['test']])}"
        lines += ["", text + "."]
        commands.append("- `" + half[0]["command"] + "`")
    lines += ["", "## Commands", "", *commands]
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
