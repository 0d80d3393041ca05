"""Measures steps and exchanges under mpirun, fits bench/cluster_model.py to them, and writes the pages: see bench/cluster."""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cluster_page

BUILD = os.path.abspath(os.environ["BUILD"])
QUICK = "--quick" in sys.argv
REPEATS = 1 if QUICK else 3
WARM = 2  # steps at the beginning that do not count

# name, what it is called, batches: {rows: steps}
MODELS = {
    "tagger": ("tag ewt.conllu --dev ewt-dev.conllu", {400: 50, 800: 30, 3200: 12, 10000: 6}),
    "lm": ("lm train.en --dev val.en --unit subwords", {500: 40, 2000: 14, 4000: 8, 10000: 5}),
}
LINKS = [1e9, 10e9]  # bits a second
NAMES = ("attn-bench-a", "attn-bench-b")  # of namespaces
SMALL, MIDDLE, LARGE = 90000, 900000, 9000000  # numbers of an exchange


def run(words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more).stdout


def mpirun(ranks, *more):
    words = ["mpirun", "--bind-to", "none", "-x", "ATTN_MPI", "-n", str(ranks), *more]
    return words + (["--oversubscribe"] if ranks > os.cpu_count() else [])


# ---- a link between two namespaces ----

class Link:
    """Two network namespaces joined by a pair of virtual interfaces; tc limits how much passes."""

    def __init__(self, folder):
        self.agent = os.path.join(folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nshift\nexec unshare --uts -- ip netns exec %s sh -c "hostname %s; $*"\n' % (NAMES[1], NAMES[1]))
        os.chmod(self.agent, 0o755)
        self.made = []

    def __enter__(self):
        try:
            for name in NAMES:
                run(["ip", "netns", "add", name])
                self.made.append(name)
            run(["ip", "link", "add", "attn-va", "netns", NAMES[0], "type", "veth", "peer", "name", "attn-vb", "netns", NAMES[1]])
            for i, (name, device) in enumerate(zip(NAMES, ("attn-va", "attn-vb"))):
                run(["ip", "-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", device])
                run(["ip", "-n", name, "link", "set", "lo", "up"])
                run(["ip", "-n", name, "link", "set", device, "up"])
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"no simulated link: {error}", file=sys.stderr)
            self.__exit__()
            return None
        return self

    def __exit__(self, *_):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], check=False)
        self.made = []

    def limit(self, bits):
        for name, device in zip(NAMES, ("attn-va", "attn-vb")):
            run(["tc", "-n", name, "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{bits:.0f}bit",
                 "burst", "256k", "limit", "10mb"])

    def words(self, words):
        """words of mpirun for two ranks, one in each namespace."""
        net = "10.77.0.0/24"
        more = ["--host", "10.77.0.1,10.77.0.2", "--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1", "--mca", "btl",
                "self,tcp", "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net]
        return ["unshare", "--uts", "--", "ip", "netns", "exec", NAMES[0], "sh", "-c", f'hostname {NAMES[0]}; exec "$@"', "sh",
                *mpirun(2, *more), *words]


# ---- measuring ----

def exchange_once(ranks, numbers, how, link=None):
    words = [os.path.join(BUILD, "tests/mpi_ranks"), "speed", str(numbers)]
    tcp = ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "-x",
           "ATTN_EXCHANGE=messages"] if how == "tcp" else []
    text = run(link.words(words) if link else mpirun(ranks, *tcp) + words)
    found = {"in order": [], "fast": []}
    for kind, milliseconds in re.findall(r"ranks, (in order|fast): ([0-9.]+) ms, ", text):
        found[kind].append(float(milliseconds) / 1e3)
    return min(found["in order"]), min(found["fast"])


def exchange(ranks, numbers, how, bits=0, link=None):
    seconds, fast = exchange_once(ranks, numbers, how, link)
    where = f"{bits / 1e9:g} Gb/s" if bits else how
    print(f"exchange, {where}, ranks: {ranks}, {numbers} numbers: {1e3 * seconds:.2f} ms, fast {1e3 * fast:.2f} ms", flush=True)
    return {"ranks": ranks, "numbers": numbers, "how": how, "link": bits / 8, "seconds": seconds, "fast": fast}


def measure_exchange(link):
    points = []
    for how in ("shared", "tcp"):
        for ranks, numbers in ((2, SMALL), (2, MIDDLE), (2, LARGE), (4, SMALL), (4, MIDDLE), (8, SMALL)):
            if not QUICK or numbers < LARGE:
                points.append(exchange(ranks, numbers, how))
    for bits in LINKS if link else []:
        link.limit(bits)
        for numbers in (MIDDLE, 4 * MIDDLE):  # smaller ones fit into what tc lets pass at once
            points.append(exchange(2, numbers, "tcp", bits, link))
    return points


def steps_of(model, rows, ranks, folder, link=None, fast=False):
    """[(rows, seconds, of them in the exchange, bytes sent), ...] of the steps."""
    config = os.path.join(folder, "config.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"text": {"splitter": "none"}, "training": {"batch_units": rows}}, file)
    arguments, batches = MODELS[model]
    steps = batches[rows] if not QUICK else max(4, batches[rows] // 3)
    words = [os.path.join(BUILD, "attn"), "train", *arguments.split(), "-o", f"{model}.safetensors", "--force", "--threads", "1",
             "--steps", str(steps + WARM), "--config", config, "--json", "--quiet"] + (["--fast-sum"] if fast else [])
    text = run(link.words(words) if link else mpirun(ranks) + words, cwd=folder)
    lines = [json.loads(line) for line in text.splitlines() if '"rows"' in line]
    keys = ("rows", "seconds", "exchange_seconds", "exchange_bytes")
    return [tuple(b[k] - a[k] for k in keys) for a, b in zip(lines[WARM - 1:], lines[WARM:])]


def measure_steps(folder, link):
    """Steps are the same in every run: of each the fastest of the repetitions counts."""
    every = [(model, rows) for model in MODELS for rows in MODELS[model][1]]
    cases = [(*of, ranks, 0) for of in every for ranks in (1, 2)]
    linked = [(*of, 2, bits) for of in every for bits in LINKS if link and of not in (("tagger", 3200), ("lm", 500))]
    crowded = [(*of, 4, 0) for of in every]
    taken = {}
    for repeat in range(REPEATS):
        for case in cases + (linked if repeat < 2 else []) + (crowded if repeat < 1 else []):
            model, rows, ranks, bits = case
            if bits:
                link.limit(bits)
            steps = steps_of(model, rows, ranks, folder, link if bits else None)
            taken.setdefault(case, []).append(steps)
            rate = sum(s[0] for s in steps) / sum(s[1] for s in steps)
            where = f"{bits / 1e9:g} Gb/s" if bits else "one machine"
            print(f"{model}, {rows} rows, ranks: {ranks}, {where}: {rate:.0f} rows/s; load {os.getloadavg()[0]:.1f}", flush=True)
    points = []
    for (model, rows, ranks, bits), runs in taken.items():
        best = [min(same, key=lambda s: s[1]) for same in zip(*runs)]
        mean = [sum(s[i] for s in best) / len(best) for i in range(4)]
        points.append({"model": model, "batch": rows, "ranks": ranks, "link": bits / 8, "rows": mean[0], "seconds": mean[1],
                       "exchange": mean[2], "sent": mean[3], "repeats": len(runs)})
    return points


def parameters_of(path):
    """[(numbers, rows if it is a table of which rows travel), ...] in the order of the model."""
    with open(path, "rb") as file:
        head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    tied = any(name.startswith("symbols.") for name in head)  # then all of the table has a gradient
    found = []
    for name, about in sorted((x for x in head.items() if x[0] != "__metadata__"), key=lambda x: x[1]["data_offsets"][0]):
        if about["dtype"] == "F32":
            count = (about["data_offsets"][1] - about["data_offsets"][0]) // 4
            found.append((count, about["shape"][0] if name == "features" and not tied else 0))
    return found


def unpack(data, folder):
    for source, name, lines in (("ud-english-ewt/en_ewt-ud-train.conllu", "ewt.conllu", None),
                                ("ud-english-ewt/en_ewt-ud-dev.conllu", "ewt-dev.conllu", 300),
                                ("multi30k/train.en", "train.en", None), ("multi30k/val.en", "val.en", 100)):
        with gzip.open(os.path.join(data, source + ".gz"), "rt", encoding="utf-8") as file:
            text = file.readlines()[:lines]
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.writelines(text)


def measure():
    if "DATA" not in os.environ:
        sys.exit("bench/cluster: say where the data sets are: DATA=FOLDER bench/cluster")
    os.environ["ATTN_MPI"] = os.path.join(BUILD, "libattn-mpi.so")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        if os.geteuid() == 0:
            os.environ[name] = "1"
    folder = tempfile.mkdtemp(prefix="attn-cluster-")
    load = os.getloadavg()[0]
    try:
        unpack(os.environ["DATA"], folder)
        with Link(folder) as link:
            exchange = measure_exchange(link)
            steps = measure_steps(folder, link)
        parameters = {model: parameters_of(os.path.join(folder, f"{model}.safetensors")) for model in MODELS}
    finally:
        shutil.rmtree(folder)
    return {"cores": os.cpu_count(), "load": load, "mpi": run(["mpirun", "--version"]).splitlines()[0], "exchange": exchange,
            "steps": steps, "parameters": parameters}


def main():
    path = "build/cluster-quick.json" if QUICK else "build/cluster.json"
    if "--report" not in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(measure(), file, indent=1)
    with open(path, encoding="utf-8") as file:
        cluster_page.write(json.load(file), not QUICK)


if __name__ == "__main__":
    main()
