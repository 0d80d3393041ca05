"""Writes docs/results.md from the finished runs: report.py RESULTS-FOLDER PAGE.

Every figure is that of a file under the results folder; the page says the command, the seeds, the minutes and
the spread. Figures of others are from their papers and are named as such.
"""
import json
import os
import platform
import statistics
import sys

TASKS = [
    ("ewt-upos", "UD English EWT 2.16, UPOS, gold words", "accuracy",
     "UDPipe 1: 94.4; BiLSTM on words alone: 92.1"),
    ("gsd-words", "UD Chinese GSD 1.4, word segmentation", "word F1", "UDPipe 1: 90.3"),
    ("gsd-upos", "UD Chinese GSD 1.4, UPOS, gold words", "accuracy", "UDPipe 1: 92.2"),
    ("sst2", "SST-2 (test: its development file)", "accuracy",
     "CNN from random vectors: 82.7; linear on n-grams: 81.4"),
    ("hotels", "ChnSentiCorp hotels (rows mod 10: 8 dev, 9 test)", "accuracy",
     "logistic regression on character bigrams: 89.1"),
]

NOTES = [
    "The test data of SST-2 and of the hotels was looked at a second time: with one network, before `output.members` 4 "
    "became the default of classification (chosen on held-out training rows and on dev), the medians were 82.11 (81.88 "
    "to 82.80) and 89.18 (88.92 to 90.21).",
    "The rows held out of SST-2 are phrases whose sentences are in the training rows: their score is far above that of "
    "whole new sentences. Defaults were chosen on 1,200 whole sentences of the training file, with all phrases of theirs "
    "left out of training.",
]


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def read_runs(folder, task):
    runs = []
    where = os.path.join(folder, task)
    for name in sorted(os.listdir(where)) if os.path.isdir(where) else []:
        if name.endswith(".json"):
            with open(os.path.join(where, name), encoding="utf-8") as file:
                runs.append(json.load(file))
    return runs


def percent(values):
    values = [100 * value for value in values]
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def describe(task, title, metric, reference, runs):
    seeds = ", ".join(str(run["seed"]) for run in runs)
    minutes = max(run["seconds"] for run in runs) / 60
    row = (f"| {title} | {metric} | {percent([run['dev'] for run in runs])} | "
           f"**{percent([run['test'] for run in runs])}** | {minutes:.1f} | {reference} |")
    command = runs[0]["command"].rsplit(" --seed", 1)[0]
    detail = (f"- `bench/results/{task}`: `{command} --seed S`, S = {seeds}; "
              f"{runs[0]['parameters']:,} parameters, {runs[0]['bytes'] / 1e6:.1f} MB; steps: "
              + ", ".join(str(run["steps"]) for run in runs))
    return row, detail


def main():
    folder, page = sys.argv[1:]
    rows, details, missing = [], [], []
    for task, title, metric, reference in TASKS:
        runs = read_runs(folder, task)
        if not runs:
            missing.append(task)
            continue
        row, detail = describe(task, title, metric, reference, runs)
        rows.append(row)
        details.append(detail)
    lines = [
        "# Results", "",
        "<!-- written by bench/results/report.py; do not edit -->", "",
        "What `attn train` reaches from scratch, with the default encoder (self-attention), no outside vectors and no",
        "flags but the files, the unit and the seed. The model is chosen by the development data; the test data",
        "is looked at once, with that model. Figures are the median over the seeds, in brackets the lowest and the highest;",
        "minutes are those of the slowest seed, the whole command on two threads.", "",
        f"Machine: {processor()}, {os.cpu_count()} cores. Again: `make results DATA=FOLDER`, which skips what is",
        "already under `build/results`.", "",
        "| data | measure | dev | test | minutes | others, as published |", "| --- | --- | --- | --- | --- | --- |",
        *rows, "", *["- " + note for note in NOTES], "", "## Commands", "", *details,
    ]
    speed = os.path.join(folder, "speed.json")
    if os.path.exists(speed):
        with open(speed, encoding="utf-8") as file:
            run = json.load(file)
        lines += ["", "## Speed", "",
                  f"`bench/results/speed`: the English part-of-speech model tags {run['words']:,} words in "
                  f"{run['seconds']:.1f} s, {run['rate']:,} words a second: `attn predict` from a text file to a file, two "
                  "threads, starting and loading included, best of three."]
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    if missing:
        print("no finished runs: " + ", ".join(missing), file=sys.stderr)


main()
