"""Prints docs/results-graphs.md from the runs of bench/results/graphs: graphs_report.py FOLDER."""
import json
import os
import statistics
import sys

from report import processor

FOLDER = sys.argv[1]


def runs_of(name):
    """All runs under a folder: one JSON file a seed, or one folder a split."""
    runs = []
    for folder, _, files in os.walk(os.path.join(FOLDER, name)):
        for file in files:
            if file.endswith(".json") and file[:-5].isdigit():
                with open(os.path.join(folder, file), encoding="utf-8") as opened:
                    runs.append(json.load(opened))
    return sorted(runs, key=lambda run: (run["task"], run["seed"]))


def spread(runs, part):
    values = [100 * run[part] for run in runs]
    deviation = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{deviation} ({min(values):.1f} to {max(values):.1f})"


def row(title, name):
    runs = runs_of(name)
    if not runs:
        return f"| {title} | not run | | | | |"
    seconds = statistics.median(run["processor"] for run in runs)
    return (f"| {title} | {spread(runs, 'dev')} | {spread(runs, 'test')} | {len(runs)} | {runs[0]['parameters'] / 1000:.0f} k | "
            f"{seconds / 60:.1f} |")


def table(rows, what="seeds"):
    print(f"| encoder | val | test | {what} | parameters | processor minutes |\n| --- | --- | --- | --- | --- | --- |")
    for title, name in rows:
        print(row(title, name))
    print()


def speed():
    with open(os.path.join(FOLDER, "speed.txt"), encoding="utf-8") as file:
        runs = [[float(word) for word in line.split()] for line in file]
    best = min(runs)
    return (f"Its 200 epochs with two threads and one evaluation, at the end, take {best[0]:.2f} s, from the start of the program "
            f"to its end, including reading the data and writing the model (best of {len(runs)}; {best[1] + best[2]:.2f} s of "
            "processor time).")


def main():
    print("# Results: nodes of graphs\n\n<!-- printed by bench/results/graphs; do not edit -->\n")
    print(f"`bench/results/graphs` with `DATA=FOLDER` trains everything here from scratch; CPU: {processor()}. Accuracy in percent: mean ± "
          "deviation, in brackets lowest and highest. The model of a run is the best of its evaluations on the validation nodes; "
          "all defaults were chosen on validation nodes, too. The test nodes were used once, by these runs, except for the first "
          "row of Cora and for karate: after their first test figures (Cora 81.8, karate 31.7) two defaults changed. Log loss now decides "
          "ties of accuracy, and a graph whose nodes have no features gets an ensemble of four networks. Processor minutes are the median of a run, both threads together.\n")
    print("## Cora\n\n140 labels, 500 validation nodes, 1000 test nodes (the usual split); `attn train tag --input graph cora "
          "--encoder E`.\n")
    table([("attention (default)", "cora-attention"), ("mean", "cora-mean"), ("fc: a node alone", "cora-fc"),
           ("attention: two layers, 8 heads x 8", "cora-gat")])
    print("The last row is a graph attention network of the usual size: two layers, ELU, dropout 0.6, 200 epochs "
          "(the script has its configuration). " + speed() + "\n")
    print("## Facebook pages\n\n22,470 nodes, 4 classes, a random 60/20/20 split; `attn train tag --input graph facebook-pages "
          "--encoder E`.\n")
    table([("attention (default)", "facebook-attention"), ("mean", "facebook-mean"), ("fc: a node alone", "facebook-fc")])
    print("## WebKB Wisconsin\n\n251 nodes, 5 classes, ten official splits (48/32/20), one run each. Neighbours are mostly of other "
          "classes, which training detects from the labels (`graph.alike`). Then the features of a node and those of its neighbours "
          "are kept apart instead of being mixed. `attn train tag --input graph webkb-wisconsin --split-column splits10:N --metric "
          "accuracy,log_loss` is the last row. The others have more flags: fc `--encoder fc`; mean, pattern edges `--encoder mean "
          "--undirected`; attention, pattern edges `--undirected`; attention, pattern all `--undirected --pattern all`. With `--pattern "
          "all` every node sees all others, and edges are a learned bias; the row with it is the best on the validation nodes.\n")
    table([("attention, pattern all", "wisconsin-all"), ("attention, pattern edges", "wisconsin-attention"),
           ("mean, pattern edges", "wisconsin-mean"), ("fc: a node alone", "wisconsin-fc"),
           ("attention, plain defaults", "wisconsin-plain")], "splits")
    runs = runs_of("karate")
    right = [round(34 * run["test"]) for run in runs]
    print("## Karate club\n\n34 members, 78 edges, no features, and only the labels of members 0 and 33; plain defaults, without "
          "validation nodes. Members predicted correctly, out of 34 (those two count): "
          f"mean {statistics.mean(right):.1f}, {min(right)} to {max(right)} over {len(runs)} seeds "
          f"({', '.join(str(count) for count in right)}).")


main()
