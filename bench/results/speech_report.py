"""Writes docs/results-speech.md and its drawing from the runs of bench/results/speech: speech_report.py FOLDER DOCS."""
import json
import os
import statistics
import sys

from report import processor
from tables import minutes, percent, runs_of, seeds

FOLDER, DOCS = sys.argv[1:]
TASKS = [
    ("digits", "FSDD, which digit", "accuracy", "`attn train classify --input speech fsdd-digits.tsv`"),
    ("speakers", "FSDD, which of 6 speakers", "accuracy", "`attn train classify --input speech fsdd-speakers.tsv`"),
    ("spelled", "FSDD, the digit spelled out, decoder", "exact match", "`attn train seq2seq --input speech fsdd-spelled.tsv`"),
    ("spelled-ctc", "FSDD, the digit spelled out, CTC", "exact match", "`attn train seq2seq --input speech fsdd-spelled.tsv --output ctc`"),
    ("audiomnist", "AudioMNIST at 8 kHz, which of 20 speakers", "accuracy", "`attn train classify --input speech audiomnist.tsv`"),
    ("phones", "speechocean762 adults, phone per frame", "accuracy", "`attn train tag --input speech phones.tsv`"),
    ("phones-rnn3", "the same, encoder rnn (no streams)", "accuracy", "`attn train tag --input speech phones.tsv --encoder rnn`"),
]
ENCODERS = [("phones-fc", "fc"), ("phones-rnn", "rnn (LSTM, both ways)"), ("phones-cnn", "cnn"), ("phones-window-5", "attention, window 5"),
            ("phones-window-15", "attention, window 15"), ("phones-window-50", "attention, window 50"),
            ("phones-window-full", "attention, full")]

NOTES = [
    "With ten minutes of training data, near frames matter most. Attention over the whole recording has to learn this and is worst; "
    "with a window it is much better; the LSTM, which goes from frame to frame, is best. Attention with a window works on streams, "
    "and is the default.",
    "Full attention reads long recordings in pieces of 3,000 rows (`speech.longest`): its time and memory are those of such pieces.",
    "The development part of the phones is 17 utterances: differences of a point mean little. Their test part was used twice for "
    "the default: with two layers and a window of 25, accuracy was 50.11 (dev 50.30).",
]


def costs():
    found = {}
    for window in ("5", "15", "50", "full"):
        path = os.path.join(FOLDER, f"cost-{window}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found[window] = json.load(file)
    return found


def draw(rows, path):
    """Accuracy over the window, and the seconds of ten minutes beside it: two panels, plain SVG."""
    width, height, left, bottom, top = 760, 300, 60, 250, 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
             '<title>Phones per frame: what a window costs and gives</title>', f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for panel, (title, values, unit) in enumerate(rows):
        if not values:
            continue
        x0 = left + panel * 360
        low = min(value for _, value in values) * (0.97 if panel == 0 else 0)
        high = max(value for _, value in values) * 1.03
        parts.append(f'<text x="{x0}" y="{top - 16}" font-weight="bold">{title}</text>')
        parts.append(f'<line x1="{x0}" y1="{bottom}" x2="{x0 + 280}" y2="{bottom}" stroke="#444"/>')
        step = 280 / len(values)
        for i, (name, value) in enumerate(values):
            tall = (value - low) / (high - low) * (bottom - top - 10) if high > low else 0
            x = x0 + i * step + step * 0.2
            parts.append(f'<rect x="{x:.1f}" y="{bottom - tall:.1f}" width="{step * 0.6:.1f}" height="{tall:.1f}" fill="#3b6ea5"/>')
            parts.append(f'<text x="{x + step * 0.3:.1f}" y="{bottom - tall - 5:.1f}" text-anchor="middle">{value:.3g}{unit}</text>')
            parts.append(f'<text x="{x + step * 0.3:.1f}" y="{bottom + 18}" text-anchor="middle">{name}</text>')
        parts.append(f'<text x="{x0 + 140}" y="{bottom + 38}" text-anchor="middle">window, frames to each side</text>')
    parts.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


def main():
    lines = ["# Results: speech", "", "<!-- written by bench/results/speech_report.py; do not edit -->", "",
             f"`DATA=FOLDER bench/results/speech` trains everything here from scratch; CPU: {processor()}, 2 cores. The model of a run is the "
             "best of its evaluations on the development part; the test part is used once, with that model. Figures are the median "
             "over the seeds, in brackets the lowest and the highest; minutes are processor minutes of a run (median). FSDD: takes 0 to 4 are the "
             "official test, takes 5 to 9 the development part. AudioMNIST: takes 0, 10, 20 train, 30 dev, 40 test. speechocean762: "
             "the adults, with the split of its files; no speaker is in two parts.", "",
             "| data | measure | dev | test | seeds | minutes | parameters |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, title, metric, _ in TASKS:
        runs = runs_of(FOLDER, name)
        if runs:
            lines.append(f"| {title} | {metric} | {percent([run['dev'] for run in runs])} | **{percent([run['test'] for run in runs])}** | "
                         f"{seeds(runs)} | {minutes(runs)} | {runs[0]['parameters'] / 1000:.0f} k |")
        else:
            lines.append(f"| {title} | {metric} | not run | | | | |")
    lines += ["", "Commands (with `--seed S`):", ""]
    lines += [f"- {title}: {command}" for _, title, _, command in TASKS]
    lines += ["", "## Phones: encoders and windows", "",
              "One network each (`output.members` 1), the rest as by default. A frame is 10 ms: a window of 15 sees 150 ms to each side in one "
              "layer, and there are three. The last two columns are for predicting a label for every frame of a recording of ten "
              "minutes with one thread: time, and peak memory of the process.", "",
              "| encoder | dev | test | seeds | training, minutes | 10 minutes of speech, seconds | memory, MiB |",
              "| --- | --- | --- | --- | --- | --- | --- |"]
    measured = costs()
    for name, title in ENCODERS:
        runs = runs_of(FOLDER, name)
        cost = measured.get(name.rsplit("-", 1)[-1])
        tail = f"{cost['seconds']:.1f} | {cost['memory'] / 2**20:.0f}" if cost else "|"
        if runs:
            lines.append(f"| {title} | {percent([run['dev'] for run in runs])} | {percent([run['test'] for run in runs])} | {seeds(runs)} | "
                         f"{minutes(runs)} | {tail} |")
        else:
            lines.append(f"| {title} | not run | | | | {tail} |")
    windows = [(window, runs_of(FOLDER, f"phones-window-{window}")) for window in ("5", "15", "50", "full")]
    draw([("test accuracy, %", [(window, 100 * statistics.median(run["test"] for run in runs)) for window, runs in windows if runs], ""),
          ("ten minutes of speech, seconds", [(window, cost["seconds"]) for window, cost in measured.items()], " s")],
         os.path.join(DOCS, "speech-windows.svg"))
    lines += ["", "![Accuracy and time by window](speech-windows.svg)", "", *["- " + note for note in NOTES]]
    with open(os.path.join(DOCS, "results-speech.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
