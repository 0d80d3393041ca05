"""Runs of docs/results-classification.md: classification.py DATA RESULTS ATTN "SEEDS" [TASK...].

A run leaves RESULTS/NAME/SEED.json and is not made again. Test data is looked at by the model that its development
data chose, once. Processor seconds are those of the trainer alone, read when it says a score.
"""
import csv
import gzip
import json
import os
import random
import subprocess
import sys

import classification_linear as linear

DATA, RESULTS, ATTN, SEEDS = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4].split()
WANTED = sys.argv[5:] or ["sst2", "sst2-leaks", "sst2-autotune", "hotels", "hotels-autotune", "mr"]
FOLDS = 10
SEARCH = ["--autotune", "10m"]
TICKS = os.sysconf("SC_CLK_TCK")


def open_text(name):
    path = os.path.join(DATA, name)
    return gzip.open(path, "rt", encoding="utf-8", errors="replace") if name.endswith(".gz") else open(path, encoding="utf-8")


def write(path, texts, labels):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "label"])
        out.writerows(zip(texts, labels))


# ---- the data: (texts, labels) ----

def read_sst2(name):
    with open_text("sst2/" + name) as file:
        rows = [line.rstrip("\n").rsplit("\t", 1) for line in file][1:]
    return [row[0] for row in rows], [row[1] for row in rows]


def sentences_apart(texts, labels, part=10):
    """A tenth of the whole sentences, and all rows that no other sentence has: for tuning without leaks."""
    plain = [" " + " ".join(text.split()) + " " for text in texts]
    often = {}
    for text in plain:
        for word in set(text.split()):
            often[word] = often.get(word, 0) + 1
    sentences, index, parts = [], {}, {}
    for text in sorted(set(plain), key=lambda text: (-len(text.split()), text)):
        words = set(text.split())
        found = [s for s in index.get(min(words, key=lambda word: (often[word], word)), []) if text in sentences[s]]
        if found:
            parts[text] = found
            continue
        for word in words:
            index.setdefault(word, []).append(len(sentences))
        parts[text] = [len(sentences)]
        sentences.append(text)
    held = set(random.Random(0).sample(range(len(sentences)), len(sentences) // part))
    train, dev = ([], []), ([], [])
    for text, label in zip(plain, labels):
        whole = parts[text][0] < len(sentences) and sentences[parts[text][0]] == text
        if whole and parts[text][0] in held:
            side = dev
        elif all(s in held for s in parts[text]):
            continue
        else:
            side = train
        side[0].append(text.strip())
        side[1].append(label)
    return train, dev


def read_hotels():
    with open_text("chnsenticorp-htl/ChnSentiCorp_htl_all.csv.gz") as file:
        rows = list(csv.reader(file))[1:]
    parts = {"train": ([], []), "dev": ([], []), "test": ([], [])}
    for number, (label, text) in enumerate(rows, 1):
        part = parts[{8: "dev", 9: "test"}.get(number % 10, "train")]
        part[0].append(text)
        part[1].append(label)
    return parts


def read_mr():
    """Fold k: of either class the lines whose number mod 10 is k; its dev: a ninth of the others."""
    rows = []
    for label in ("pos", "neg"):
        with open_text(f"mr-polarity/rt-polarity.{label}.gz") as file:
            rows += [(line.strip(), label, number) for number, line in enumerate(file)]
    return rows


def mr_fold(rows, k):
    parts = {"train": ([], []), "dev": ([], []), "test": ([], [])}
    for text, label, number in rows:
        name = "test" if number % FOLDS == k else "dev" if number % FOLDS == (k + 1) % FOLDS else "train"
        parts[name][0].append(text)
        parts[name][1].append(label)
    return parts


# ---- runs ----

def processor(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def train(arguments, model):
    """The values as they came, each with the processor seconds until then; of a search, its runs instead."""
    command = [ATTN, "train", "classify", *arguments, "-o", model, "--json", "--quiet", "--force", "--threads", "1"]
    scores, searched = [], {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            used = processor(run.pid)
            said = json.loads(line)
            if "run" in said or "best" in said:
                searched[said.get("run", "best")] = said
            elif "value" in said:
                scores.append({"step": said["step"], "score": said["value"], "seconds": used})
        used = os.wait4(run.pid, 0)[2] if run.returncode is None else None
    kept = searched[searched["best"]["best"]]["flags"] if searched else None
    return scores, used.ru_utime + used.ru_stime, kept


def ask(*arguments):
    return json.loads(subprocess.run([ATTN, *arguments, "--json"], check=True, capture_output=True, text=True).stdout)


def answers(model, test):
    """(probability of the answer, whether it is right), of each text."""
    said = subprocess.run([ATTN, "predict", model, test, "--probs", "--json"], check=True, capture_output=True, text=True)
    found = [json.loads(line) for line in said.stdout.splitlines()]
    with open(test, encoding="utf-8", newline="") as file:
        labels = [row[1] for row in csv.reader(file)][1:]
    return [(max(one["probabilities"]["label"].values()), one["outputs"]["label"] == label) for one, label in zip(found, labels, strict=True)]


def keep(name, seed, make):
    path = os.path.join(RESULTS, name, f"{seed}.json")
    if os.path.exists(path):
        print(f"{name}, {seed}: cached")
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    found = make()
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(found, file)
    os.rename(path + ".tmp", path)
    print(f"{name}, {seed}: {found.get('test')}", flush=True)


def run(name, seed, arguments, test):
    def make():
        model = os.path.join(RESULTS, name, f"{seed}.safetensors")
        scores, seconds, kept = train([*arguments, "--seed", seed], model)
        info, found = ask("info", model), ask("eval", model, test)
        shown = " ".join(os.path.relpath(a, RESULTS) if a.startswith(RESULTS) else a.replace(DATA + "/", "") for a in arguments)
        result = {"command": f"attn train classify {shown} --seed {seed}", "dev": info["metrics"]["score"],
                  "dev_examples": info["metrics"].get("dev_examples"), "scores": scores, "seconds": seconds, "kept": kept,
                  "test": found["accuracy"], "calibration_error": found["calibration_error"],
                  "log_loss": found["log_loss"], "answers": answers(model, test),
                  "parameters": info["parameters"], "bytes": info["bytes"]}
        os.remove(model)
        return result
    keep(name, seed, make)


def compare(name, unit, parts, refit=None):
    """The linear model; refit: what the tuned one learns from, if that is more."""
    def make():
        choice = linear.tune(unit, parts["train"], parts["dev"])
        accuracy, seconds = linear.test(choice, refit or parts["train"], parts["test"])
        return {"dev": choice[0], "kind": choice[1], "grams": choice[2], "strength": choice[3], "test": accuracy,
                "seconds": seconds}
    keep(name + "-linear", "1", make)


def files_of(name, parts):
    folder = os.path.join(RESULTS, name)
    for part, (texts, labels) in parts.items():
        write(f"{folder}/{part}.csv", texts, labels)
    return [f"{folder}/train.csv", "--dev", f"{folder}/dev.csv"], f"{folder}/test.csv"


def main():
    if {"sst2", "sst2-leaks", "sst2-autotune"} & set(WANTED):
        everything, test = read_sst2("train.tsv.gz"), read_sst2("dev.tsv")
        held = os.path.join(RESULTS, "sst2", "test.csv")
        write(held, *test)
        whole = os.path.join(DATA, "sst2/train.tsv.gz")
        for seed in SEEDS if "sst2-autotune" in WANTED else []:
            run("sst2-autotune", seed, [whole, *SEARCH], held)
        for seed in SEEDS if "sst2" in WANTED else []:
            run("sst2", seed, [whole], held)
        if "sst2-leaks" in WANTED:
            run("sst2-leaks", SEEDS[0], [whole, "--hold-out-groups", "false"], held)
        apart, dev = sentences_apart(*everything)
        compare("sst2", "words", {"train": apart, "dev": dev, "test": test}, everything)
    if {"hotels", "hotels-autotune"} & set(WANTED):
        parts = read_hotels()
        arguments, test = files_of("hotels", parts)
        compare("hotels", "chars", parts)
        for seed in SEEDS if "hotels" in WANTED else []:
            run("hotels", seed, [*arguments, "--unit", "chars"], test)
        for seed in SEEDS if "hotels-autotune" in WANTED else []:
            run("hotels-autotune", seed, [*arguments, "--unit", "chars", *SEARCH], test)
    if "mr" in WANTED:
        rows = read_mr()
        for k in range(FOLDS):
            parts = mr_fold(rows, k)
            arguments, test = files_of(f"mr-{k}", parts)
            compare(f"mr-{k}", "words", parts)
            for seed in SEEDS:
                run(f"mr-{k}", seed, arguments, test)


if __name__ == "__main__":
    main()
