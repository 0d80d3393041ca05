"""Training on graphs: PyTorch Geometric's networks at their best, and attn on the same files.

    python bench/graphs.py cora PATH [--seeds 10]       GAT as published, 200 epochs, full batch
    python bench/graphs.py random [--layer GATConv]     a training step on a large random graph: time, memory
    python bench/graphs.py write PATH                   that random graph, as a folder of tables or as PATH.npz

PATH is a folder with nodes.tsv (header; node, label, split, and either one
column of numbers of features that are 1, or one column a feature) and
edges.tsv (source, target), or an .npz in the layout of the graph benchmarks
of Shchur et al. (adj_*, attr_*, labels, *_mask).

Every measurement is a process of its own, with two threads; variants take
turns, and the best of the rounds counts. Variants are the forms in which
PyTorch Geometric takes a graph, eager or compiled, with a malloc that keeps its
memory (faster) and, for the random graph, also with malloc as it is (smaller).
A variant that does not run here (SparseTensor needs torch_sparse, which is no
part of tests/peers/environment; a job may have nine tenths of the free memory)
is left out by name.
This file imports torch in those processes only: a process inherits the peak
memory of the one that starts it.

--attn 'COMMAND {data} {threads}' runs that on the same data, in turn: see attn_side.
"""

import argparse
import gzip
import itertools
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

THREADS = 2
SPLITS = ("train", "val", "test")
FORMS = ("edge_index", "EdgeIndex", "sparse_csr", "SparseTensor")
FEATURES = ("dense", "bag", "csr")
# No memory is given back, so that the pages of a large result are made once and not in every step.
KEEP = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges from source to target, sorted by target; features are an array or a scipy CSR matrix."""

    source: np.ndarray
    target: np.ndarray
    features: object
    labels: np.ndarray
    masks: dict

    @property
    def nodes(self):
        return len(self.labels)

    @property
    def edges(self):
        return len(self.source)

    @property
    def classes(self):
        return int(self.labels.max()) + 1


def sorted_graph(source, target, features, labels, masks):
    order = np.lexsort((source, target))
    return Graph(source[order], target[order], features, labels, masks)


def symmetric(graph):
    """Both directions of every edge, each once."""
    pairs = np.concatenate(
        [graph.source * graph.nodes + graph.target, graph.target * graph.nodes + graph.source]
    )
    source, target = np.divmod(np.unique(pairs), graph.nodes)
    return sorted_graph(source, target, graph.features, graph.labels, graph.masks)


def with_loops(graph):
    """A loop at every node, once and for all: GATConv would look for them in every step."""
    apart, nodes = graph.source != graph.target, np.arange(graph.nodes)
    source = np.concatenate([graph.source[apart], nodes])
    target = np.concatenate([graph.target[apart], nodes])
    return sorted_graph(source, target, graph.features, graph.labels, graph.masks)


def random_graph(nodes, degree, columns, classes):
    """Every node has as many edges to different other nodes, drawn uniformly; nobody is held out."""
    draw = np.random.default_rng(5)
    targets = draw.integers(0, nodes, (nodes, degree))
    while True:
        ordered = np.sort(targets, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(1)
        wrong = np.flatnonzero(twice | (targets == np.arange(nodes)[:, None]).any(1))
        if not len(wrong):
            break
        targets[wrong] = draw.integers(0, nodes, (len(wrong), degree))
    features = draw.standard_normal((nodes, columns), dtype=np.float32)
    labels = draw.integers(0, classes, nodes)
    masks = {split: np.full(nodes, split == "train") for split in SPLITS}
    return sorted_graph(np.repeat(np.arange(nodes), degree), targets.reshape(-1), features, labels, masks)


def open_text(folder, name):
    packed = folder / f"{name}.gz"
    return (
        gzip.open(packed, "rt", encoding="utf-8")
        if packed.exists()
        else open(folder / name, encoding="utf-8")
    )


def read_nodes(folder):
    """Features, labels and masks of nodes.tsv."""
    from scipy.sparse import csr_matrix

    with open_text(folder, "nodes.tsv") as file:
        header = file.readline().rstrip("\n").split("\t")
        rows = [line.rstrip("\n").split("\t") for line in file]
    labels = np.unique([row[1] for row in rows], return_inverse=True)[1]  # numbers or words, either will do
    splits = np.array([row[2] for row in rows])
    masks = {split: splits == split for split in SPLITS}
    if header[3] != "features":
        return np.array([row[3:] for row in rows], np.float32), labels, masks
    numbers = [np.array(row[3].split(), np.int64) for row in rows]
    offsets = np.cumsum([0, *map(len, numbers)])
    columns = np.concatenate(numbers)
    shape = (len(rows), int(columns.max()) + 1)
    return csr_matrix((np.ones(len(columns), np.float32), columns, offsets), shape), labels, masks


def read_edges(folder):
    """Pairs of edges.tsv, with or without a header."""
    with open_text(folder, "edges.tsv") as file:
        lines = file.read().split("\n")
    first = 0 if lines[0].split("\t")[0].isdigit() else 1
    return np.array("\t".join(filter(None, lines[first:])).split("\t"), np.int64).reshape(-1, 2).T


def read_npz(path):
    from scipy.sparse import csr_matrix

    with np.load(path) as file:
        stored = dict(file)
    matrices = {}
    for name in ("adj", "attr"):
        if f"{name}_data" in stored:
            parts = tuple(stored[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            matrices[name] = csr_matrix(parts, stored[f"{name}_shape"])
    source, target = (side.astype(np.int64) for side in matrices["adj"].nonzero())
    features = stored["attr_matrix"] if "attr_matrix" in stored else matrices["attr"].astype(np.float32)
    masks = {split: stored[f"{split}_mask"] for split in SPLITS}
    return sorted_graph(source, target, features, stored["labels"].astype(np.int64), masks)


def read(path):
    path = Path(path)
    if path.suffix == ".npz":
        return read_npz(path)
    return sorted_graph(*read_edges(path), *read_nodes(path))


def write_npz(graph, path):
    from scipy.sparse import csr_matrix, issparse

    shape = (graph.nodes, graph.nodes)
    adjacency = csr_matrix((np.ones(graph.edges, np.float32), (graph.source, graph.target)), shape)
    stored = {"adj": adjacency}
    arrays = {"labels": graph.labels, **{f"{split}_mask": mask for split, mask in graph.masks.items()}}
    if issparse(graph.features):
        stored["attr"] = graph.features
    else:
        arrays["attr_matrix"] = graph.features
    for name, matrix in stored.items():
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez(path, **arrays)


def write_tables(graph, folder):
    """Nine digits: read again, the numbers are the same."""
    from scipy.sparse import issparse

    folder.mkdir(parents=True, exist_ok=True)
    splits = np.full(graph.nodes, "none", object)
    for split, mask in graph.masks.items():
        splits[mask] = split
    sparse = issparse(graph.features)
    names = ["features"] if sparse else [f"f{i}" for i in range(graph.features.shape[1])]
    with open(folder / "nodes.tsv", "w", encoding="ascii") as file:
        file.write("\t".join(["node", "label", "split", *names]) + "\n")
        for node, (label, split) in enumerate(zip(graph.labels, splits, strict=True)):
            if sparse:
                row = " ".join(map(str, np.sort(graph.features[node].indices)))
            else:
                row = "\t".join([f"{number:.9g}" for number in graph.features[node].tolist()])
            file.write(f"{node}\t{label}\t{split}\t{row}\n")
    with open(folder / "edges.tsv", "w", encoding="ascii") as file:
        file.write("source\ttarget\n")
        order = np.lexsort((graph.target, graph.source))
        pairs = zip(graph.source[order].tolist(), graph.target[order].tolist(), strict=True)
        file.writelines(f"{source}\t{target}\n" for source, target in pairs)


def write(graph, path):
    path = Path(path)
    if path.suffix == ".npz":
        write_npz(graph, path)
    else:
        write_tables(graph, path)


def edges_in(form, graph):
    """The edges as PyTorch Geometric takes them, sorted by target in every form."""
    import torch

    source, target = map(torch.from_numpy, (graph.source, graph.target))
    size = (graph.nodes, graph.nodes)
    if form == "edge_index":
        return torch.stack([source, target])
    if form == "EdgeIndex":
        from torch_geometric import EdgeIndex

        return EdgeIndex(torch.stack([source, target]), sparse_size=size, sort_order="col").fill_cache_()
    if form == "SparseTensor":
        from torch_sparse import SparseTensor

        return SparseTensor(row=target, col=source, sparse_sizes=size, is_sorted=True)
    counted = torch.bincount(target, minlength=graph.nodes)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counted.cumsum(0)])
    return torch.sparse_csr_tensor(offsets, source, torch.ones(graph.edges), size)


def sparse_product(kind, features, fan_out, dropout):
    """A layer that takes the place of a GATConv's projection, where most features are 0 and stay 0 in a dropout."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    offsets, columns = (
        torch.from_numpy(part.astype(np.int64)) for part in (features.indptr, features.indices)
    )
    values, shape = torch.from_numpy(features.data), features.shape

    class Product(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(shape[1], fan_out))
            self.reset_parameters()

        def reset_parameters(self):
            nn.init.xavier_uniform_(self.weight)

        def forward(self, _x):
            kept = F.dropout(values, dropout, self.training)
            if kind == "bag":
                return F.embedding_bag(
                    columns,
                    self.weight,
                    offsets,
                    mode="sum",
                    per_sample_weights=kept,
                    include_last_offset=True,
                )
            return torch.sparse_csr_tensor(offsets, columns, kept, shape) @ self.weight

    return Product()


def published_gat(graph, features, output_heads, dropout=0.6):
    """8 heads of 8, ELU, then the classes; dropout of inputs and of weights. Its x, and the network."""
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch_geometric.nn import GATConv

    sums = np.maximum(np.asarray(graph.features.sum(1)).reshape(-1, 1), 1)
    normal = graph.features.multiply(1 / sums).tocsr()

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            common = {"dropout": dropout, "add_self_loops": False}
            self.first = GATConv(normal.shape[1], 8, heads=8, **common)
            self.second = GATConv(64, graph.classes, heads=output_heads, concat=False, **common)
            if features != "dense":
                self.first.lin = sparse_product(features, normal, 64, dropout)

        def reset_parameters(self):
            self.first.reset_parameters()
            self.second.reset_parameters()

        def forward(self, x, edges):
            if features == "dense":
                x = F.dropout(x, dropout, self.training)
            x = F.elu(self.first(x, edges))
            return self.second(F.dropout(x, dropout, self.training), edges)

    x = torch.from_numpy(normal.toarray()) if features == "dense" else torch.zeros(graph.nodes, 1)
    return x, Network()


def deep_gat(graph, layer, heads, d):
    """Two layers, heads side by side, ELU, and a linear layer to the classes."""
    import torch.nn.functional as F
    from torch import nn
    from torch_geometric import nn as layers

    def make(columns):
        if layer == "TransformerConv":
            return layers.TransformerConv(columns, d, heads=heads)
        return getattr(layers, layer)(columns, d, heads=heads, add_self_loops=False)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = make(graph.features.shape[1]), make(heads * d)
            self.classes = nn.Linear(heads * d, graph.classes)

        def forward(self, x, edges):
            x = F.elu(self.first(x, edges))
            return self.classes(F.elu(self.second(x, edges)))

    return Network()


def limit_memory():
    """A job that wants too much fails by itself, and takes no other process with it."""
    with open("/proc/meminfo", encoding="ascii") as file:
        free = next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    resource.setrlimit(resource.RLIMIT_DATA, (free * 9 // 10, resource.RLIM_INFINITY))


def prepared_torch(seed=1):
    """torch, with our threads, in a process that is a job."""
    import torch

    limit_memory()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(THREADS)
    torch.manual_seed(seed)
    return torch


class Published:
    """GAT as published: training of a full batch, epoch by epoch."""

    def __init__(self, job):
        self.torch = prepared_torch()
        graph = with_loops(symmetric(read(job["path"])))
        self.edges = edges_in(job["form"], graph)
        self.x, self.model = published_gat(graph, job["features"], job["output_heads"])
        self.call = self.torch.compile(self.model, dynamic=False) if job["compiled"] else self.model
        self.labels = self.torch.from_numpy(graph.labels)
        self.rows = {
            split: self.torch.from_numpy(np.flatnonzero(mask)) for split, mask in graph.masks.items()
        }

    def accuracy(self, logits, split):
        rows = self.rows[split]
        return float((logits[rows].argmax(1) == self.labels[rows]).float().mean())

    def train(self, seed, epochs, validate):
        """Seconds, and the test accuracy of the epoch that is the best in validation (the first of equals)."""
        torch, rows = self.torch, self.rows["train"]
        torch.manual_seed(seed)
        self.model.reset_parameters()
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.005, weight_decay=5e-4, fused=True)
        best, test = -1.0, None
        start = time.perf_counter()
        for _ in range(epochs):
            self.model.train()
            logits = self.call(self.x, self.edges)
            torch.nn.functional.cross_entropy(logits[rows], self.labels[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
            if validate:
                self.model.eval()
                with torch.no_grad():
                    logits = self.call(self.x, self.edges)
                accuracy = self.accuracy(logits, "val")
                if accuracy > best:
                    best, test = accuracy, self.accuracy(logits, "test")
        return time.perf_counter() - start, test


def cora_job(job):
    network = Published(job)
    for validate in (True, False):
        network.train(0, 5, validate)
    alone = [network.train(seed, job["epochs"], False)[0] for seed in job["seeds"]]
    runs = [network.train(seed, job["epochs"], True) for seed in job["seeds"]]
    return {
        "seconds": min(alone),
        "seconds_validated": min(seconds for seconds, _ in runs),
        "accuracy": [test for _, test in runs],
        "peak": resident("VmHWM"),
    }


def random_job(job):
    """Time of every step, and the memory of a process that makes data and network and does these steps alone."""
    graph = read(job["path"]) if job["path"] else random_graph(*job["graph"])
    if job["loops"]:
        graph = with_loops(graph)
    torch = prepared_torch()
    edges, x, labels = (
        edges_in(job["form"], graph),
        torch.from_numpy(graph.features),
        torch.from_numpy(graph.labels),
    )
    model = deep_gat(graph, job["layer"], job["heads"], job["d"])
    call = torch.compile(model, dynamic=False) if job["compiled"] else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, fused=True)
    seconds, losses, before = [], [], resident("VmRSS")
    for _ in range(job["steps"]):
        start = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(call(x, edges), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - start)
        losses.append(float(loss.detach()))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "losses": losses, "before": before, "peak": peak, "edges": graph.edges}


def resident(field):
    """Bytes of memory of this process: VmRSS now, VmHWM the most so far."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field))


def environment(keep):
    """With malloc as it is, or as it is fastest for large results."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    return {**plain, **KEEP} if keep else plain


def run_job(script, job):
    """A measurement in a process of its own; None, said on stderr, where the variant does not run here."""
    command = [sys.executable, "-B", str(script), "job", json.dumps(job)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(job.get("keep"))
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        print(f"  {describe(job)} does not run: {reason[:150]}", file=sys.stderr, flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def describe(job):
    parts = [job[name] for name in ("layer", "form", "features", "loader") if job.get(name)]
    parts += ["compiled" if job.get("compiled") else "eager"] + ["malloc keeps"] * bool(job.get("keep"))
    return ", ".join(parts)


def attn_side(command, **values):
    """Our side: runs a program and reads the last line of JSON that it prints.

    {data}, {threads}, {seed} and the like in the command are replaced by the
    values. The program's own peak of memory is added as "peak" (bytes), as
    the system tells it when the program ends, and its wall time as "wall".
    """
    words = [word.format(threads=THREADS, **values) for word in shlex.split(command)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        start = time.perf_counter()
        process = subprocess.Popen(words, stdout=output, env=environment(False))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        lines = [line for line in output.read().splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        raise RuntimeError(f"{words[0]} ends with status {process.returncode} and {len(lines)} lines of JSON")
    return {**json.loads(lines[-1]), "peak": 1024 * usage.ru_maxrss, "wall": wall}


def take_turns(script, jobs, rounds, key, ours=None):
    """All results of every variant by its description, and of our side; a variant that fails is asked once."""
    results, running = {}, list(jobs)
    for _ in range(rounds):
        if ours:
            results.setdefault("attn", []).append(ours())
        for job in list(running):
            result = run_job(script, job)
            if result is None:
                running.remove(job)
                continue
            results.setdefault(describe(job), []).append(result)
            print(f"  {describe(job):45} {key(result):9.3f} s", file=sys.stderr, flush=True)
    return results


def mebibytes(count):
    return f"{count / 2**20:,.0f} MiB"


def print_best(rows):
    for name, text in (("seconds", "fastest"), ("peak", "smallest")):
        if rows:
            print(f"{text}: {min(rows, key=lambda row: row[name])['variant']}", flush=True)


def cora(arguments):
    common = {"what": "cora", "path": str(arguments.path), "epochs": arguments.epochs, "keep": True}
    common["output_heads"] = arguments.output_heads
    jobs = [
        {**common, "form": form, "features": feature, "compiled": flag, "seeds": [0]}
        for form, feature, flag in itertools.product(arguments.forms, arguments.features, (False, True))
    ]
    ours = (lambda: attn_side(arguments.attn, data=arguments.path, seed=0)) if arguments.attn else None
    results = take_turns(__file__, jobs, arguments.rounds, lambda result: result["seconds"], ours)
    own = results.pop("attn", [])
    rows = []
    for feature in arguments.features:
        named = {
            describe(job): job for job in jobs if job["features"] == feature and describe(job) in results
        }
        if not named:
            continue
        name = min(named, key=lambda name: min(result["seconds"] for result in results[name]))
        scores = run_job(__file__, {**named[name], "seeds": list(range(arguments.seeds))})
        turns = results[name] + [scores]
        row = {
            "variant": name,
            "seconds": min(turn["seconds"] for turn in turns),
            "seconds_validated": min(turn["seconds_validated"] for turn in turns),
            "accuracy": float(np.mean(scores["accuracy"])),
            "deviation": float(np.std(scores["accuracy"])),
            "seeds": arguments.seeds,
            "peak": min(turn["peak"] for turn in turns),
        }
        rows.append(row)
        print(
            f"PyTorch Geometric, {name}: {arguments.epochs} epochs {row['seconds']:.2f} s, with validation "
            f"{row['seconds_validated']:.2f} s; test accuracy {100 * row['accuracy']:.2f} +- "
            f"{100 * row['deviation']:.2f} % over {arguments.seeds} seeds; peak memory {mebibytes(row['peak'])}",
            flush=True,
        )
    print_best(rows)
    return {"rivals": rows, "attn": own}


def random_steps(arguments):
    graph = [arguments.nodes, arguments.degree, arguments.columns, 8]
    common = {
        "what": "random",
        "path": None,
        "graph": graph,
        "layer": arguments.layer,
        "loops": arguments.loops,
    }
    common.update(heads=8, d=16, steps=arguments.steps)
    jobs = [
        {**common, "form": form, "compiled": flag, "keep": keep}
        for form, flag, keep in itertools.product(arguments.forms, (False, True), (False, True))
    ]
    ours = None
    if arguments.attn:
        data = arguments.data or Path(tempfile.gettempdir()) / "attn-random.npz"
        if not data.exists():
            sizes = ["--nodes", str(arguments.nodes), "--degree", str(arguments.degree)]
            sizes += ["--width", str(arguments.columns)]
            subprocess.run([sys.executable, "-B", __file__, "write", str(data), *sizes], check=True)
        ours = lambda: attn_side(arguments.attn, data=data)  # noqa: E731
    results = take_turns(__file__, jobs, arguments.rounds, lambda result: min(result["seconds"]), ours)
    own = results.pop("attn", [])
    rows = []
    for job in jobs:
        if describe(job) not in results:
            continue
        seconds = min(min(result["seconds"]) for result in results[describe(job)])
        small = run_job(__file__, {**job, "steps": 1})
        if small is None:
            continue
        row = {"variant": describe(job), "seconds": seconds, "loss": small["losses"][0]}
        row.update({name: small[name] for name in ("peak", "before", "edges")})
        rows.append(row)
        print(
            f"PyTorch Geometric, {row['variant']}: one step {seconds:.2f} s; peak memory of one step "
            f"{mebibytes(row['peak'])}, {mebibytes(row['before'])} before it",
            flush=True,
        )
    print_best(rows)
    return {"rivals": rows, "attn": own}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    size = argparse.ArgumentParser(add_help=False)
    size.add_argument("--nodes", type=int, default=200_000)
    size.add_argument("--degree", type=int, default=16, help="edges that leave a node")
    size.add_argument("--width", type=int, default=64, help="features of a node")
    race = argparse.ArgumentParser(add_help=False)
    race.add_argument("--rounds", type=int, default=3)
    race.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS, help="of the graph")
    race.add_argument("--attn", help="our command; {data}, {threads} and {seed} are replaced")
    race.add_argument("--json", type=Path, help="write the figures here")
    command = commands.add_parser("cora", parents=[race])
    command.add_argument("path", type=Path)
    command.add_argument("--epochs", type=int, default=200)
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument(
        "--features", nargs="+", choices=FEATURES, default=FEATURES, help="dense as published, or sparse"
    )
    command.add_argument("--output-heads", type=int, default=1, help="heads of the second layer, averaged")
    command = commands.add_parser("random", parents=[race, size])
    command.add_argument("--layer", choices=("GATConv", "GATv2Conv", "TransformerConv"), default="GATConv")
    command.add_argument("--steps", type=int, default=4, help="in a turn; the best counts")
    command.add_argument("--loops", action="store_true", help="add a loop at every node")
    command.add_argument("--data", type=Path, help="the graph's file for our command (written where missing)")
    command = commands.add_parser("write", parents=[size])
    command.add_argument("path", type=Path)
    command = commands.add_parser("job")
    command.add_argument("job", type=json.loads)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.what == "job":
        job = arguments.job
        print(json.dumps(cora_job(job) if job["what"] == "cora" else random_job(job)))
        return
    if arguments.what == "write":
        write(random_graph(arguments.nodes, arguments.degree, arguments.columns, 8), arguments.path)
        return
    figures = cora(arguments) if arguments.what == "cora" else random_steps(arguments)
    for result in figures["attn"]:
        print(f"attn: {json.dumps(result)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
