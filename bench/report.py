"""The page docs/bench.md: what bench/compare.py measured, as tables.

Each table opens with its minimum: the shape at which libattn leads least.
"""

import onnx
import onnxruntime
import torch
import torch_geometric

import machine
from rivals import attn

DISTURBED = 0.05  # share of the machine that other processes used while a shape was measured

INTRODUCTION = """# Speed, measured

Written by `make bench` (`bench/run`): do not edit. There is one section for each CPU; a run
replaces the section of the CPU that it runs on. The last part of a section shows where whole programs spend their time.
`bench/profile BEFORE AFTER DATA` writes it: BEFORE and AFTER are folders with one build of `attn` each, DATA is the folder
with the data sets.

libattn and a rival take turns, round by round, on the same shapes and in the same process (in training, each in
a process of its own). A turn begins when the other's threads no longer spin. First some calls warm up; of the
calls after them the fastest counts. (A call of 0.25 s or more is a turn of its own, without warm-up.) A ratio is
the rival's best time over ours: above 1, libattn is faster. Fractions of the FMA peak are those of the best call.
They count 4 d operations per pair of query and key for a forward pass and 10 d for a backward pass; with a causal
mask only the pairs that are seen are counted. Everything is f32, 8 heads, batch 1.

How the rivals are set up. PyTorch: `scaled_dot_product_attention` on batch x heads x n x d under
`inference_mode`, which takes its flash kernel for the CPU; backward is `autograd.grad` of it, the call alone.
ONNX Runtime: MultiHeadAttention (full), keys and values in the faster of its two memory orders, and
GroupQueryAttention (causal) with one buffer for past and present; inputs and outputs bound, all graph
optimisations, spinning threads. libattn gets batch x heads x n x d (the rows of a head are contiguous), its fastest
memory order. oneDNN: the matmul
primitive, made once, with weights reordered once into the format that it chooses.

Columns of `attn bench --json`. `ms`: the best call; `median_ms`: the median of the calls. `gflops`, `peak_fraction`: the speed
of the best call, and the same as a fraction of the FMA peak. `rounds`: groups of calls, with a measurement of the FMA peak
before and after each; `discarded`: the rounds that do not count, because the machine was then more than 3 % slower than at its
best (if no round counts, the best call of all is shown). `naive_ms`: the same attention as separate calls of libattn, a
matrix product, a softmax and a matrix product for each head; `speedup`: `naive_ms` / `ms`. `bytes`: what a call has to read
and write; `copy_bytes_per_second`: the fastest copy of memory in the run, bytes read and written;
`bandwidth_fraction`: the rate at which a call reads and writes, as a fraction of that. `graph_ms`: the time to build the graph,
which is not part of `ms`. `extra_memory_bytes`: the memory that a call takes in addition to its tensors.
"""

MACHINE = """
{cpu}

{date}, {minutes:.0f} minutes, on

{hardware}

with {versions}. Instruction set of libattn: {isa}. FMA peak, measured in the same run: {peaks}. {disturbed}
"""


def versions(onednn):
    return {
        "libattn": machine.version_of(attn.library.attn_version().decode()),
        "PyTorch": torch.__version__,
        "PyTorch Geometric": torch_geometric.__version__,
        "ONNX Runtime": onnxruntime.__version__,
        "ONNX": onnx.__version__,
        "oneDNN": ".".join(map(str, onednn.onednn_gemm_version().contents)),
    }


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def spread(rows):
    """The widest range of the ratio from round to round."""
    widest = max(rows, key=lambda row: row["ratio_high"] / row["ratio_low"])
    return f"{widest['ratio_low']:.2f} .. {widest['ratio_high']:.2f}"


def minimum(rows, name):
    worst = min(rows, key=lambda row: row["ratio"])
    middle = min(rows, key=lambda row: row["ratio_median"])
    return (
        f"**Minimum ratio {worst['ratio']:.2f}** ({name(worst)}); by medians {middle['ratio_median']:.2f} "
        f"({name(middle)}).\n"
    )


def cell(row):
    return f"**{row['ratio']:.2f}** {row['peak_fraction']:.2f}/{row['rival_peak_fraction']:.2f}"


def attention_section(rows, rival, direction):
    rows = [
        row
        for row in rows
        if row["rival"] == rival and row["direction"] == direction and row["op"] == "attention"
    ]
    lengths = sorted({row["n"] for row in rows})
    kinds = sorted(
        {(row["pattern"], row["d"], row["threads"]) for row in rows},
        key=lambda kind: (kind[0] != "full", kind),
    )
    lines = []
    for pattern, d, threads in kinds:
        line = {
            row["n"]: row
            for row in rows
            if (row["pattern"], row["d"], row["threads"]) == (pattern, d, threads)
        }
        lines.append([pattern, d, threads, *(cell(line[n]) for n in lengths), spread(line.values())])
    top = minimum(rows, lambda row: f"{row['pattern']}, n {row['n']}, d {row['d']}, threads {row['threads']}")
    return (
        f"\n### Attention {direction} against {rival}\n\n{top}\nRatio, then fraction of peak: ours/theirs. "
        "The last column is the range of the ratio over the rounds, for the n of the row where this range is widest.\n\n"
        + table(["pattern", "d", "threads", *(f"n {n}" for n in lengths), "rounds"], lines)
    )


def product_section(rows):
    rows = [row for row in rows if row["op"] == "gemm"]
    kinds = sorted({(row["fan_in"], row["fan_out"]) for row in rows})
    lines = []
    for count, threads in sorted({(row["rows"], row["threads"]) for row in rows}):
        line = {
            (row["fan_in"], row["fan_out"]): row
            for row in rows
            if (row["rows"], row["threads"]) == (count, threads)
        }
        lines.append([count, threads, *(cell(line[kind]) for kind in kinds), spread(line.values())])
    top = minimum(
        rows, lambda row: f"{row['rows']} rows, {row['fan_in']} to {row['fan_out']}, threads {row['threads']}"
    )
    return (
        f"\n### Linear layer (GEMM, packed weights) against oneDNN\n\n{top}\nRatio, then fraction of peak: "
        "ours/theirs.\n\n" + table(["rows", "threads", *(f"{a} to {b}" for a, b in kinds), "rounds"], lines)
    )


def graph_section(rows, memory):
    """Graphs against PyTorch Geometric, additive scores against broadcasting, and the extra memory."""
    lines = [
        [
            row["graph"],
            row["op"],
            row["shape"],
            row["direction"],
            row["threads"],
            f"{row['ms']:.2f}",
            f"{row['rival_ms']:.2f}",
            f"**{row['ratio']:.1f}**",
            f"{row['ratio_low']:.1f} .. {row['ratio_high']:.1f}",
            row["form"],
        ]
        for row in rows
    ]
    sizes = [
        [
            row["graph"],
            row["op"],
            row["direction"],
            *(f"{row[name] / 2**20:.1f}" for name in ("extra_bytes", "rival_extra_bytes")),
            f"**{row['ratio']:.0f}**",
            *(f"{row[name] / 2**20:.1f}" for name in ("graph_bytes", "rival_graph_bytes")),
        ]
        for row in memory
    ]
    top = minimum(
        rows, lambda row: f"{row['op']}, {row['graph']}, {row['direction']}, threads {row['threads']}"
    )
    return (
        f"\n### Graphs against PyTorch Geometric, additive scores against PyTorch\n\n{top}\n"
        "Only the attention is timed: both sides get queries, keys and values that are projected already, "
        "and a graph that is made already. PyTorch Geometric runs under `inference_mode` forward, its edges "
        "sorted by target, in the form that is its fastest (last column); the package index has none of its "
        "compiled extensions. The additive score in PyTorch is one broadcast sum, tanh, and a matrix "
        "product.\n\n"
        + table(
            [
                "graph",
                "layer",
                "heads x d",
                "direction",
                "threads",
                "ms",
                "their ms",
                "ratio",
                "rounds",
                "their form",
            ],
            lines,
        )
        + "\nExtra memory in MiB, two threads: the peak of a call above what was there before, without its "
        "results; libattn's includes the log-sum-exp that backward needs. The graph is what is kept between "
        "calls: for libattn the adjacency in CSR form, its transpose and edge numbers; for PyTorch Geometric two "
        "numbers per edge.\n\n"
        + table(["graph", "layer", "direction", "ours", "theirs", "ratio", "our graph", "their graph"], sizes)
    )


def training_section(rows):
    """Whole training steps beside PyTorch's; made by bench/train.py."""
    lines = [
        [
            row["network"],
            f"{row['tokens']}",
            f"{row['tokens_per_second']:.0f}",
            f"{row['rival_tokens_per_second']:.0f}",
            f"{row['ratio']:.2f} ({row['ratio_low']:.2f}-{row['ratio_high']:.2f})",
            f"{row['peak_fraction']:.2f}",
            f"{row['memory'] / 2**20:.0f}",
            f"{row['rival_memory'] / 2**20:.0f}",
        ]
        for row in rows
    ]
    header = ["network", "tokens", "tokens/s", "PyTorch", "ratio", "of FMA peak", "MiB", "PyTorch MiB"]
    return (
        "\n### Training\n\nWhole steps (forward, backward, AdamW) of a tagger: 5,000 words, an encoder, 17 tags; batches of\n"
        "sentences with the lengths of UD English EWT in the order of their lengths. PyTorch: padded to the longest of\n"
        "the batch and masked, fused AdamW, eager and compiled, the better of the two. Two threads, best pass of several\n"
        "rounds; in parentheses the ratios of the rounds. Memory: peak resident memory, less what was resident\n"
        "after start (PyTorch: after import). Command: `bench/train.py`, part of `make bench`.\n\n"
        "`encoder` 4 x d256, 4 heads, feed-forward 1024, 64 sentences per step; `encoder-512` the same with 8 x 512 tokens;\n"
        "`small` 2 x d64, 4 heads, 16 sentences; `lstm` two directions, 2 x 256; `cnn` 4 x d256, width 5.\n\n"
        + table(header, lines)
    )


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def own_section(rows):
    """`attn bench --json`, a table for each series, with the columns that its rows have."""
    said = {"op", "series", "isa", "cpu", "peak_gflops", "worst_ms", "repetitions"}
    text = "\n### libattn against the limits of this machine\n\nFrom `attn bench --json`, in the same run.\n"
    for series in dict.fromkeys(row.get("series", row["op"]) for row in rows):
        chosen = [row for row in rows if row.get("series", row["op"]) == series]
        names = dict.fromkeys(name for row in chosen for name, value in row.items() if value is not None)
        columns = [name for name in names if name not in said]
        lines = [[shown(row.get(name)) for name in columns] for row in chosen]
        text += f"\n#### {chosen[0]['op']}: {series}\n\n" + table(columns, lines)
    return text


def disturbance(rows):
    """Whether the machine was ours alone."""
    disturbed = [row for row in rows if row["others"] > DISTURBED]
    most = max(row["others"] for row in rows)
    text = f"Other processes used at most {most:.0%} of the machine while a shape was measured."
    if disturbed:
        one = len(disturbed) == 1
        text += (
            f" They used more than {DISTURBED:.0%} while {len(disturbed)} of {len(rows)} shapes {'was' if one else 'were'} "
            f"measured, so {'its figure is' if one else 'their figures are'} not reliable."
        )
    return text


def title_of(results):
    return machine.title_of(results["hardware"], results["isa"])


def section(results):
    """What a run measured."""
    rows = results["rows"]
    text = MACHINE.format(
        cpu=title_of(results),
        date=results["date"],
        minutes=results["minutes"],
        disturbed=disturbance(rows + results["graph_rows"]),
        isa=results["isa"],
        hardware="\n".join("- " + line for line in results["hardware"]),
        versions=", ".join(f"{name} {version}" for name, version in results["versions"].items()),
        peaks=", ".join(
            f"{peak:.0f} GFLOP/s on {threads} thread{'s' * (threads > 1)}"
            for threads, peak in results["fma_peak"].items()
        ),
    )
    for rival, direction in (("PyTorch", "forward"), ("PyTorch", "backward"), ("ONNX Runtime", "forward")):
        text += attention_section(rows, rival, direction)
    text += product_section(rows)
    if results["graph_rows"]:
        text += graph_section(results["graph_rows"], results["graph_memory"])
    if results.get("training"):
        text += training_section(results["training"])
    if results["own"]:
        text += own_section(results["own"])
    return text


def page(results, before):
    """The page with the section of this CPU; those of others, and the profile of this one, stay as they are in
    the page before."""
    own = section(results).strip() + "\n"
    kept, found = [], False
    for text in machine.sections_of(before):
        if text.startswith(title_of(results) + "\n"):
            text, found = machine.with_profile(own, machine.profile_of(text)), True
        kept.append(text)
    if not found:
        kept.append(own)
    return "\n".join([INTRODUCTION, *kept])
