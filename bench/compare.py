"""The race: libattn against PyTorch, PyTorch Geometric, ONNX Runtime and oneDNN, on the same shapes.

Two racers in one process take turns, round by round. A turn waits until no thread of the
other spins any more, warms up, and keeps the best of its calls; the rounds give
the best, the median and the spread. Results must agree before anything counts.
Prints a line a shape, and writes build/bench.json and docs/bench.md.
DATA=<folder> in the environment: also on the real graph in DATA/facebook-pages.
"""

import argparse
import datetime
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import machine
import report
import rivals
import train
from rivals import ROOT, Attention, Product, attn

TURN = 0.03  # seconds of calls in a turn, at least one call
LONG_CALL = 0.25  # seconds from which one call is a turn, without warm-up
GRAPH_LAYERS = ("GATConv", "TransformerConv")


def settle():
    """Returns when the threads of this process have stopped spinning; after a second it gives up loudly."""
    for _ in range(200):
        start, busy = time.perf_counter(), time.process_time()
        time.sleep(0.003)
        if time.process_time() - busy < 0.1 * (time.perf_counter() - start):
            return
        time.sleep(0.002)
    raise RuntimeError("threads of this process never stop spinning: no fair measurement")


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def turn(racer, estimate):
    """The best of the calls in one turn, in seconds."""
    settle()
    racer.before()
    if estimate >= LONG_CALL:
        return timed(racer.call)
    for _ in range(max(2, int(0.3 * TURN / estimate))):
        racer.call()
    return min(timed(racer.call) for _ in range(max(3, int(TURN / estimate))))


def estimate(racer):
    """Seconds of one call, about; the first call, which allocates and makes ready, counts only if it must."""
    settle()
    racer.before()
    first = timed(racer.call)
    return first if first >= 1 else min(timed(racer.call) for _ in range(3))


def agree(ours, theirs):
    """Stops the race where the two did not compute the same thing."""
    for a, b in zip(ours.result(), theirs.result(), strict=True):
        difference, largest = np.abs(a - b).max(), np.abs(b).max()
        if not difference <= 1e-4 * largest:
            raise RuntimeError(
                f"attn and {theirs.name} disagree: {difference:.2e} where the largest is {largest:.2e}"
            )


def race(ours, theirs, budget):
    """Best and median seconds of each, and the spread of the rounds."""
    racers = (ours, theirs)
    estimates = [estimate(racer) for racer in racers]
    agree(ours, theirs)
    once = sum(max(1.3 * TURN, seconds) for seconds in estimates) + 0.05
    rounds = min(9, max(2 if max(estimates) >= 1 else 3, int(budget / once)))
    times = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            times[side].append(turn(racers[side], estimates[side]))
    ratios = [b / a for a, b in zip(*times)]
    return {
        "ms": 1e3 * min(times[0]),
        "ms_median": 1e3 * statistics.median(times[0]),
        "rival_ms": 1e3 * min(times[1]),
        "rival_ms_median": 1e3 * statistics.median(times[1]),
        "ratio": min(times[1]) / min(times[0]),
        "ratio_median": statistics.median(ratios),
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "rounds": rounds,
    }


class Others:
    """How much of the machine's cores other processes use, since the last look."""

    def __init__(self):
        self.cores = len(os.sched_getaffinity(0))
        self.last = self.clocks()

    @staticmethod
    def clocks():
        """Seconds: on the clock, busy on all cores, and used by this process."""
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _wait, irq, soft_irq, steal = map(int, file.readline().split()[1:9])
        busy = (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), busy, time.process_time()

    def share(self):
        before, self.last = self.last, self.clocks()
        elapsed, busy, own = (now - then for now, then in zip(self.last, before, strict=True))
        return max(0.0, (busy - own) / (elapsed * self.cores))


def graphs():
    """Name: a function that makes the graph. The real one only where DATA is given."""
    found = {"random": lambda: rivals.random_graph(100_000, 16, 8, 16)}
    if os.environ.get("DATA"):
        folder = Path(os.environ["DATA"]) / "facebook-pages"
        found["facebook-pages"] = lambda: rivals.read_graph(folder, 8, 8)
    return found


def memory_of_call(who, layer, graph, both):
    """Bytes above those before a call, at its peak, without its results; and those of the graph.

    libattn's are at least what its context holds and the log-sum-exp.
    """
    arrays, results = rivals.graph_arrays(layer, graph), 0
    if who == "attn":
        counting = attn.CountingAllocator()
        context = attn.Context(threads=2, allocator=counting)
        before = counting.held
        racer = rivals.attn_graph(context, layer, graph, arrays, both)
        graph_bytes = counting.held - before
        for array in racer.result():
            array.fill(1)  # pages that are there before
    else:
        racer = rivals.pyg_graph(layer, graph, arrays, both, 2, "edge_index")
        racer.before()
        graph_bytes = 2 * 8 * graph.edges
    rivals.reset_peak()
    before = rivals.resident("VmRSS")
    racer.call()
    extra = rivals.resident("VmHWM") - before
    if who == "attn":
        extra = max(extra, context.memory + both * 4 * graph.nodes * graph.heads)
    else:
        results = sum(array.nbytes for array in racer.result())
    return {"extra": extra - results, "graph": graph_bytes}


def memory_cases():
    return itertools.product(graphs(), GRAPH_LAYERS, (False, True))


def memory_of(who):
    """The memory of all calls; to be run in a process of its own, where malloc gives memory back."""
    made = {name: make() for name, make in graphs().items()}
    small = rivals.random_graph(100, 4, 8, 16)
    found = []
    for name, layer, both in memory_cases():
        memory_of_call(who, layer, small, both)  # what the first call of a kind allocates for good
        found.append(memory_of_call(who, layer, made[name], both))
    return found


class Bench:
    """Contexts, the peaks that were seen, and the rows so far."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.contexts = {threads: attn.Context(threads=threads) for threads in arguments.threads}
        self.peaks = dict.fromkeys(arguments.threads, 0.0)
        self.onednn = None if arguments.graph_only else rivals.load_onednn()
        self.rows = []
        self.graph_rows = []
        self.graph_memory = []
        self.others = Others()
        self.measure_peaks(0.5)

    def measure_peaks(self, seconds=0.1):
        for threads, context in self.contexts.items():
            settle()
            self.peaks[threads] = max(self.peaks[threads], context.fma_peak(seconds))

    def add(self, measured, operations, threads, **what):
        row = {
            **what,
            "threads": threads,
            **measured,
            "gflops": operations / measured["ms"] / 1e6,
            "rival_gflops": operations / measured["rival_ms"] / 1e6,
            "others": self.others.share(),
        }
        self.rows.append(row)
        peak = self.peaks[threads]
        label = " ".join(
            f"{name} {value}" if isinstance(value, int) else value for name, value in what.items()
        )
        print(
            f"{label} threads {threads}: {row['ms']:.3f} ms ({row['gflops'] / peak:.2f}), theirs "
            f"{row['rival_ms']:.3f} ms ({row['rival_gflops'] / peak:.2f}), ratio {row['ratio']:.2f} "
            f"[{row['ratio_low']:.2f} .. {row['ratio_high']:.2f}]"
            + (f" (disturbed: others use {row['others']:.0%})" if row["others"] > report.DISTURBED else ""),
            flush=True,
        )

    def attention(self, shape):
        """Forward and backward against PyTorch, forward against ONNX Runtime."""
        context, budget = self.contexts[shape.threads], self.arguments.budget
        query, key, value, d_output = (rivals.normal(shape.shape, seed) for seed in range(4))
        what = {
            "op": "attention",
            "pattern": "causal" if shape.causal else "full",
            "n": shape.n,
            "d": shape.d,
            "heads": shape.heads,
        }
        views = [array.transpose(0, 2, 1, 3) for array in (query, key, value)]
        measured = race(
            rivals.attn_forward(context, shape, *views),
            rivals.torch_forward(shape, query, key, value),
            budget,
        )
        self.add(
            measured, 4 * shape.d * shape.pairs, shape.threads, rival="PyTorch", direction="forward", **what
        )
        measured = race(
            rivals.attn_backward(context, shape, query, key, value, d_output),
            rivals.torch_backward(shape, query, key, value, d_output),
            budget,
        )
        self.add(
            measured, 10 * shape.d * shape.pairs, shape.threads, rival="PyTorch", direction="backward", **what
        )
        ours, theirs, order = self.onnx_racers(context, shape, views)
        measured = race(ours, theirs, budget)
        self.add(
            measured,
            4 * shape.d * shape.pairs,
            shape.threads,
            rival="ONNX Runtime",
            direction="forward",
            order=order,
            **what,
        )

    def onnx_racers(self, context, shape, views):
        """Each in the memory order that is its fastest: libattn heads apart, ONNX Runtime what it likes best."""
        ours = rivals.attn_forward(context, shape, *views)
        query, key, value = (np.ascontiguousarray(view) for view in views)  # rows of all heads
        if shape.causal:
            return ours, rivals.onnx_grouped_query(shape, query, key, value), "rows"
        apart = [np.ascontiguousarray(array.transpose(0, 2, 1, 3)) for array in (key, value)]
        candidates = {
            "rows": rivals.onnx_multi_head(shape, query, key, value, False),
            "heads": rivals.onnx_multi_head(shape, query, *apart, True),
        }
        seconds = {order: estimate(racer) for order, racer in candidates.items()}
        if max(seconds.values()) < LONG_CALL:
            seconds = {order: turn(racer, seconds[order]) for order, racer in candidates.items()}
        order = min(seconds, key=seconds.get)
        return ours, candidates[order], order

    def product(self, shape):
        x, weight = rivals.normal((shape.rows, shape.fan_in), 1), rivals.normal(
            (shape.fan_out, shape.fan_in), 2
        )
        ours = rivals.attn_product(self.contexts[shape.threads], shape, x, weight)
        theirs, release = rivals.onednn_product(self.onednn, shape, x, weight)
        measured = race(ours, theirs, self.arguments.budget)
        release()
        self.add(
            measured,
            shape.operations,
            shape.threads,
            rival="oneDNN",
            op="gemm",
            direction="forward",
            rows=shape.rows,
            fan_in=shape.fan_in,
            fan_out=shape.fan_out,
        )

    def add_graph(self, measured, threads, **what):
        row = {**what, "threads": threads, **measured, "others": self.others.share()}
        self.graph_rows.append(row)
        label = ", ".join(str(value) for value in what.values())
        print(
            f"{label}, threads {threads}: {row['ms']:.2f} ms, theirs {row['rival_ms']:.2f} ms, ratio "
            f"{row['ratio']:.2f} [{row['ratio_low']:.2f} .. {row['ratio_high']:.2f}]"
            + (f" (disturbed: others use {row['others']:.0%})" if row["others"] > report.DISTURBED else ""),
            flush=True,
        )

    def best_form(self, layer, graph, both, threads):
        """The form of the graph that PyTorch Geometric is fastest with, on a part of a large graph."""
        if graph.edges > 1_000_000:
            graph = rivals.random_graph(graph.nodes // 20, graph.edges // graph.nodes, graph.heads, graph.d)
        arrays = rivals.graph_arrays(layer, graph)
        seconds = {}
        for form in rivals.pyg_forms(graph):
            seconds[form] = estimate(rivals.pyg_graph(layer, graph, arrays, both, threads, form))
        return min(seconds, key=seconds.get)

    def graph(self, layer, graph, both, threads):
        """The attention of a layer of PyTorch Geometric."""
        arrays = rivals.graph_arrays(layer, graph)
        form = self.best_form(layer, graph, both, threads)
        measured = race(
            rivals.attn_graph(self.contexts[threads], layer, graph, arrays, both),
            rivals.pyg_graph(layer, graph, arrays, both, threads, form),
            self.arguments.budget,
        )
        self.add_graph(
            measured,
            threads,
            graph=graph.name,
            op=layer,
            shape=f"{graph.heads} x {graph.d}",
            direction="forward + backward" if both else "forward",
            form=form,
        )

    def additive(self, shape, both):
        """The additive score, against PyTorch with broadcasting."""
        arrays = [rivals.normal(shape.shape, seed) for seed in range(4)]
        arrays.append(rivals.normal((shape.heads, shape.d), 4) * np.float32(0.3))
        measured = race(
            rivals.attn_additive(self.contexts[shape.threads], shape, arrays, both),
            rivals.torch_additive(shape, arrays, both),
            self.arguments.budget,
        )
        self.add_graph(
            measured,
            shape.threads,
            graph=f"full, n {shape.n}",
            op="additive score",
            shape=f"{shape.heads} x {shape.d}",
            direction="forward + backward" if both else "forward",
            form="broadcasting",
        )

    def memory(self):
        """Extra memory of both, each in a process of its own, with malloc as it is by itself."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
        found = {}
        for who in ("attn", "rival"):
            command = [sys.executable, "-B", __file__, "--memory-of", who]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=plain)
            found[who] = json.loads(done.stdout.splitlines()[-1])
        for (graph, layer, both), ours, theirs in zip(memory_cases(), *found.values(), strict=True):
            row = {
                "graph": graph,
                "op": layer,
                "direction": "forward + backward" if both else "forward",
                "extra_bytes": ours["extra"],
                "rival_extra_bytes": theirs["extra"],
                "ratio": theirs["extra"] / ours["extra"],
                "graph_bytes": ours["graph"],
                "rival_graph_bytes": theirs["graph"],
            }
            self.graph_memory.append(row)
            print(
                f"{graph}, {layer}, {row['direction']}: extra memory {row['extra_bytes'] / 2**20:.1f} MiB, "
                f"theirs {row['rival_extra_bytes'] / 2**20:.1f} MiB, ratio {row['ratio']:.1f}; the graph "
                f"itself {row['graph_bytes'] / 2**20:.1f} and {row['rival_graph_bytes'] / 2**20:.1f} MiB",
                flush=True,
            )

    def run_graphs(self):
        made = {name: make() for name, make in graphs().items()}
        if len(made) == 1:
            print("the real graph was NOT measured: DATA=<folder with facebook-pages> is not given")
        for threads, graph, layer, both in itertools.product(
            self.arguments.threads, made.values(), GRAPH_LAYERS, (False, True)
        ):
            self.graph(layer, graph, both, threads)
        for threads, heads, both in itertools.product(self.arguments.threads, (1, 8), (False, True)):
            self.additive(rivals.Additive(512, 64, heads, threads), both)
        self.memory()

    def run(self):
        self.run_graphs()
        if self.arguments.graph_only:
            return
        products = ((768, 768), (768, 3072), (3072, 768))
        for threads, rows, (fan_in, fan_out) in itertools.product(
            self.arguments.threads, self.arguments.rows, products
        ):
            self.product(Product(rows, fan_in, fan_out, threads))
        for n in self.arguments.lengths:
            self.measure_peaks()
            for d, causal, threads in itertools.product((64, 128), (False, True), self.arguments.threads):
                self.attention(Attention(n, d, causal, threads))
        self.measure_peaks()
        for row in self.rows:
            row["peak_fraction"] = row["gflops"] / self.peaks[row["threads"]]
            row["rival_peak_fraction"] = row["rival_gflops"] / self.peaks[row["threads"]]


def own_bench():
    """The rows of `attn bench --json`, or nothing where the program has not been built."""
    program = attn.build_folder() / "attn"
    if not program.exists():
        return []
    settle()
    done = subprocess.run([program, "bench", "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def parse():
    parser = argparse.ArgumentParser(
        description="libattn against PyTorch, PyTorch Geometric, ONNX Runtime and oneDNN, in one run"
    )
    parser.add_argument(
        "--quick", action="store_true", help="four lengths and two threads only; the page is not written"
    )
    parser.add_argument(
        "--graph-only", action="store_true", help="graphs and additive scores only, two threads; no page"
    )
    parser.add_argument("--memory-of", choices=("attn", "rival"), help=argparse.SUPPRESS)
    parser.add_argument("--page", default=None, help="write the page here instead of docs/bench.md")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        parser.error("the race needs two cores")
    arguments.threads = [2] if arguments.quick or arguments.graph_only else [1, 2]
    arguments.lengths = (
        [64, 128, 512, 2048] if arguments.quick else [64, 128, 256, 512, 1024, 2048, 4096, 8192]
    )
    arguments.rows = [128, 512] if arguments.quick else [128, 256, 512]
    arguments.budget = 0.5 if arguments.quick else 0.9
    return arguments


def main():
    arguments = parse()
    if arguments.memory_of:
        print(json.dumps(memory_of(arguments.memory_of)))
        return 0
    start = time.perf_counter()
    bench = Bench(arguments)
    bench.run()
    if arguments.graph_only:
        print(report.graph_section(bench.graph_rows, bench.graph_memory))
        return 0
    results = {
        "date": datetime.date.today().isoformat(),
        "quick": arguments.quick,
        "hardware": machine.hardware(),
        "versions": report.versions(bench.onednn),
        "isa": bench.contexts[2].isa,
        "fma_peak": bench.peaks,
        "rows": bench.rows,
        "graph_rows": bench.graph_rows,
        "graph_memory": bench.graph_memory,
        "training": train.training(2 if arguments.quick else 3),
        "own": own_bench(),
        "minutes": (time.perf_counter() - start) / 60,
    }
    (ROOT / "build" / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
    page = Path(arguments.page or ROOT / "docs" / "bench.md")
    if arguments.page or not arguments.quick:
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        page.write_text(report.page(results, before), encoding="utf-8")
    print(report.section(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
