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
    ("multi30k", "Multi30k English to German, test2016 (dev in mixed case, greedy)", "BLEU 13a, lower case",
     "tiny Transformer: 41.0 (subwords)"),
    ("captions", "Multi30k English captions, characters (test: Multi30k's val; dev: the last 1,000 training captions)", "bits per byte", ""),
]
SCALES = {"multi30k": 1, "captions": 1}  # others are shown as percents

# One row each, with a second measure of the same runs.
PAIRED = [
    ("cmudict", "CMUdict without stress, any listed pronunciation", "WER; PER", ("word_error_rate", "symbol_error_rate"),
     "Phonetisaurus: 33.9; Transformer: 30.2 (newest dictionary)"),
]

NOTES = [
    "CMUdict, SIGMORPHON, Multi30k and the captions were trained with `ATTN_THREADS=1`, two to four runs at a time, so their "
    "minutes are upper limits (except seed 3 of the captions, which took 2.5 minutes on two idle threads). Results do not depend on the number of threads.",
    "The taggers (UPOS) are those of [another page](results-taggers.md), trained with `ATTN_THREADS=1`. Their processor time, listed under "
    "[Commands](#commands), is less than half of the minutes: other programs were running.",
    "Seed 1 of Multi30k was trained "
    "with 18 epochs and a dropout of 0.1 before they became the defaults; the loss and BLEU after its first epoch are those "
    "of a run with the defaults in every digit.",
    "The test data of CMUdict and of Multi30k was used twice. The first time was with earlier defaults (dropout 0.15, CMUdict: "
    "batches of 500, 8 epochs; Multi30k: 15 epochs), which are worse on the development data. With them the figures on the test "
    "data were: CMUdict 31.47 (30.59 to 31.47) and 7.54 (7.35 to 7.60), Multi30k 38.68 (seed 1).",
    "Word segmentation, Multi30k, the captions, CMUdict, the comparison of encoders and the two sections on speed were measured "
    "with version 0.1, UPOS and SIGMORPHON with a development version after 0.1.",
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


def percent(values, scale=100):
    values = [scale * value for value in values]
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def describe(task, title, metric, reference, runs):
    minutes = max(run["seconds"] for run in runs) / 60
    scale = SCALES.get(task, 100)
    row = (f"| {title} | {metric} | {percent([run['dev'] for run in runs], scale)} | "
           f"**{percent([run['test'] for run in runs], scale)}** | {minutes:.1f} | {reference} |")
    detail = commands(task, runs)
    return row, detail


def commands(task, runs):
    seeds = ", ".join(str(run["seed"]) for run in runs)
    command = runs[0]["command"].rsplit(" --seed", 1)[0]
    return (f"- `bench/results/{task}`: `{command} --seed S`, S = {seeds}; {runs[0]['parameters']:,} parameters, "
            f"{runs[0]['bytes'] / 1e6:.1f} MB; steps: " + ", ".join(str(run["steps"]) for run in runs)
            + ("; processor minutes: " + ", ".join(f"{run['processor'] / 60:.1f}" for run in runs)
               if all("processor" in run for run in runs) else ""))


def describe_paired(task, title, measure, metrics, reference, runs):
    """Several measures of the same runs: "31.2 (30.9 to 31.5); 7.1 (7.0 to 7.2)"."""
    minutes = max(run["seconds"] for run in runs) / 60
    both = {part: "; ".join(percent([run["all_" + part][name] for run in runs]) for name in metrics)
            for part in ("dev", "test")}
    return (f"| {title} | {measure} | {both['dev']} | **{both['test']}** | {minutes:.1f} | {reference} |",
            commands(task, runs))


def describe_sigmorphon(folder):
    """The mean over the languages for each seed; the table of languages below."""
    where = os.path.join(folder, "sigmorphon")
    languages = {name: read_runs(where, name) for name in sorted(os.listdir(where) if os.path.isdir(where) else [])}
    languages = {name: runs for name, runs in languages.items() if runs}
    if not languages:
        return None
    seeds = sorted(set.intersection(*[{run["seed"] for run in runs} for runs in languages.values()]))
    if not seeds:
        return None

    def mean(part, seed):
        return statistics.mean(run[part] for runs in languages.values() for run in runs if run["seed"] == seed)

    minutes = max(run["seconds"] for runs in languages.values() for run in runs) / 60
    some = next(iter(languages.values()))
    row = (f"| SIGMORPHON 2020 letters to sounds, mean of {len(languages)} languages | WER | "
           f"{percent([mean('dev', seed) for seed in seeds])} | **{percent([mean('test', seed) for seed in seeds])}** | "
           f"{minutes:.1f} |  |")
    table = ["", "Word error rates of the languages, test, median of the seeds: " + ", ".join(
        f"{name} {100 * statistics.median(run['test'] for run in runs):.1f}" for name, runs in languages.items()) + "."]
    return row, commands("sigmorphon", some), table


# What the tables of the comparison say; to be looked at again when they change.
READINGS = {
    "ewt": "The encoders differ less than the seeds. `fc` sees five words per layer and attention all of them, with the same "
           "accuracy: a tag depends on near words, and the input already has most of this information (n-grams of letters, and "
           "the convolution over three words before the encoder).",
    "sst2": "The LSTM is best, by more than the difference between seeds, and attention is last. The likely reason: the data "
            "are 7,000 sentences and their phrases, and the order in which words (\"not\", \"but\") change the meaning of "
            "others matters. An LSTM processes words in order; attention has to learn the order. Every run has one network "
            "(`output.members` 1). Accuracy on dev is far above that on test because version 0.1 held out rows one by one: most are "
            "phrases of sentences that are also in the training data ([what is held out now](text.md#what-is-held-out)).",
    "cmudict": "The encoders differ by at most 0.5 points, as much as the seeds, and have another order on dev. The decoder, "
               "which has attention in all four, finds the letters of a sound. The encoder adds the neighbours of a letter, "
               "which the n-grams of the input and any of the four encoders provide.",
}


def describe_compare(folder):
    lines = []
    titles = {"ewt": "UD English EWT, UPOS", "sst2": "SST-2", "cmudict": "CMUdict, letters to sounds"}
    for name, title in titles.items():
        path = os.path.join(folder, "compare", name)
        if not os.path.exists(path + ".json"):
            continue
        with open(path + ".json", encoding="utf-8") as file:
            found = json.load(file)
        with open(path + ".command", encoding="utf-8") as file:
            command = file.read().strip()
        lines += ["", f"### {title}", "", f"`{command}`", "",
                  f"| encoder | dev {found['metric']} | test | parameters | tokens/s | minutes | peak memory |",
                  "| --- | --- | --- | ---: | ---: | ---: | ---: |"]
        for one in found["encoders"]:
            dev, test = ([run[part] for run in one["runs"] if part in run] for part in ("dev", "test"))
            lines.append(f"| {one['encoder']} | {percent(dev)} | {percent(test)} | {one['parameters']:,} | "
                         f"{one['tokens_per_second']:,.0f} | {one['minutes']:.1f} | "
                         f"{one['peak_memory_bytes'] / 1e6:.0f} MB |")
        lines += ["", READINGS[name], "", f"![{title}: test metrics of the four encoders](compare-{name}.svg)"]
    return ["", "## The encoders compared", "",
            "The same data, steps and width for each encoder, three seeds; [compare.md](compare.md) says what is the same. Training "
            "is short, so the metrics are worse than those above. The runs had one thread each, beside other work: tokens per "
            "second and minutes are worse than on an idle machine, and not by the same factor for all."]\
        + lines if lines else []


def describe_decoding(folder):
    path = os.path.join(folder, "decoding.json")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    lines = ["", "## Speed of search", "",
             f"`bench/results/decoding`: the translation model ({found['layers']} + {found['decoder_layers']} layers of "
             f"{found['columns']} columns, inner {found['inner']}, {found['symbols']:,} symbols) translates the "
             f"{found['sentences']:,} sentences of test2016, {found['threads']} threads. Figures are sentences per second, compared with the "
             f"same network in PyTorch {found['torch']} with a key/value cache and batches of {found['batch']}. In PyTorch, "
             f"finished sentences either stay in the batch until all are finished, as is usual, or leave it. Best of several "
             f"rounds, in which the programs take turns; the time of attn includes splitting text into subwords and joining them.", "",
             "| beam | attn | PyTorch, finished stay | | PyTorch, finished leave | | same translations | speed of the matrix products, % of the FMA peak |",
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for race in found["races"]:
        rate = race["sentences_per_second"]
        lines.append(f"| {race['beam']} | {rate['attn']:.0f} | {rate['torch_whole']:.0f} | "
                     f"**{rate['attn'] / rate['torch_whole']:.1f}x** | {rate['torch']:.0f} | "
                     f"**{rate['attn'] / rate['torch']:.1f}x** | {100 * race['same']:.1f} % | "
                     f"{100 * race['peak_fraction']:.0f} % |")
    return lines + ["", "`attn predict` of that file, including start and loading: " + ", ".join(
        f"{race['program_seconds']:.2f} s with beam {race['beam']}" for race in found["races"])
        + f". Load of the machine during the measurement: {max(race['load'] for race in found['races']):.1f}."]


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
    for task, title, measure, metrics, reference in PAIRED:
        runs = read_runs(folder, task)
        if not runs:
            missing.append(task)
            continue
        row, detail = describe_paired(task, title, measure, metrics, reference, runs)
        rows.append(row)
        details.append(detail)
    languages = []
    sigmorphon = describe_sigmorphon(folder)
    if sigmorphon:
        rows.append(sigmorphon[0])
        details.append(sigmorphon[1])
        languages = sigmorphon[2]
    else:
        missing.append("sigmorphon")
    lines = [
        "# Results", "",
        "<!-- written by bench/results/report.py; do not edit -->", "",
        "Results of `attn train` from scratch, with the default encoder (self-attention), without pretrained vectors, and with no",
        "other flags than the files, the unit or scheme, `--splitter none` for gold words, and the seed. The model is chosen on the",
        "development data; the test data is used once, with that model. Figures are the median over the seeds, in brackets the",
        "lowest and the highest; minutes are those of the slowest seed, for the whole command, on two threads unless a note below",
        "says otherwise. The seeds of each row are listed under [Commands](#commands).", "",
        f"Machine: {processor()}, {os.cpu_count()} cores. To repeat: `make results DATA=FOLDER`, which skips what is",
        "already under `build/results`.", "",
        "Other pages: [classification](results-classification.md), [raw text](results-raw.md), [graphs](results-graphs.md), "
        "[molecules](results-molecules.md), [speech](results-speech.md) with",
        "windowed and full attention, [pictures](results-images.md), [taggers](results-taggers.md), [letters to sounds from few",
        "examples](results-fewshot.md).", "",
        "| data | measure | dev | test | minutes | others, as published |", "| --- | --- | --- | --- | --- | --- |",
        *rows, *languages, "", *["- " + note for note in NOTES], "", "## Commands", "", *details,
    ]
    lines += describe_compare(folder)
    speed = os.path.join(folder, "speed.json")
    if os.path.exists(speed):
        with open(speed, encoding="utf-8") as file:
            run = json.load(file)
        lines += ["", "## Speed", "",
                  f"`bench/results/speed`: the English part-of-speech model tags {run['words']:,} words in "
                  f"{run['seconds']:.1f} s, {run['rate']:,} words per second: `attn predict` from a text file to a file, two "
                  "threads, including start and loading, best of three."]
    lines += describe_decoding(folder)
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    if missing:
        print("no finished runs: " + ", ".join(missing), file=sys.stderr)


if __name__ == "__main__":
    main()
