"""Whole training steps: `attn bench train` against the same networks in PyTorch, on the same batches.

The networks and the sentences are those of cli/bench_train.c: an embedding of
5,000 words, an encoder, 17 tags, cross-entropy, AdamW. PyTorch gets what makes
it fastest: batches in the order of length and padded to their longest only,
fused AdamW, one product for query, key and value, scaled_dot_product_attention
with a mask only where there is padding, packed sequences for the LSTM, eager
and compiled (the better of the two counts). A pass goes over all batches; the
two take turns, and the best pass of each counts.

    python bench/train.py [--only encoder] [--rounds 3] [--json FILE]
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS, TAGS, THREADS = 5000, 17, 2
# How many of 512 sentences have 1, 2, 3, ... words: quantiles of UD English EWT (train).
HISTOGRAM = (
    [21, 26, 20, 15, 17, 18, 18, 17, 19, 19, 20, 20, 17, 18, 18, 16, 16, 15, 14, 15, 12, 13, 13, 10, 9]
    + [9, 7, 7, 8, 5, 6, 4, 5, 4, 3, 4, 3, 3, 3, 2, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1]
    + [1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
)
LENGTHS = [length for length, count in enumerate(HISTOGRAM, 1) for _ in range(count)]
SHAPES = {
    "encoder": {"kind": "attention", "columns": 256, "layers": 4, "heads": 4, "inner": 1024, "batch": 64},
    "encoder-512": {"kind": "attention", "columns": 256, "layers": 4, "heads": 4, "inner": 1024, "batch": 8},
    "small": {"kind": "attention", "columns": 64, "layers": 2, "heads": 4, "inner": 256, "batch": 16},
    "lstm": {"kind": "lstm", "columns": 256, "layers": 2, "batch": 64},
    "cnn": {"kind": "cnn", "columns": 256, "layers": 4, "batch": 64},
}


def batches_of(name):
    """The lengths of every batch."""
    size = SHAPES[name]["batch"]
    if name == "encoder-512":
        return [[512] * size]
    return [LENGTHS[i : i + size] for i in range(0, len(LENGTHS), size)]


def networks(torch):
    """The networks, as PyTorch writes them."""
    from torch import nn
    import torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self, columns, heads, inner):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(columns), nn.LayerNorm(columns)
            self.input, self.output = nn.Linear(columns, 3 * columns), nn.Linear(columns, columns)
            self.up, self.down = nn.Linear(columns, inner), nn.Linear(inner, columns)

        def forward(self, x, mask):
            batch, length, columns = x.shape
            qkv = self.input(self.norm1(x)).view(batch, length, 3, self.heads, columns // self.heads)
            query, key, value = qkv.permute(2, 0, 3, 1, 4)
            seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            x = x + self.output(seen.transpose(1, 2).reshape(batch, length, columns))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    def sinusoids(columns, longest=512):
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, columns, 2) * (-math.log(10000.0) / columns))
        code = torch.zeros(longest, columns)
        code[:, 0::2], code[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        return code

    class Attention(nn.Module):
        def __init__(self, columns, layers, heads, inner):
            super().__init__()
            self.words = nn.Embedding(WORDS, columns)
            self.blocks = nn.ModuleList(Block(columns, heads, inner) for _ in range(layers))
            self.norm, self.tags = nn.LayerNorm(columns), nn.Linear(columns, TAGS)
            self.register_buffer("positions", sinusoids(columns))

        def forward(self, words, mask, _lengths):
            x = self.words(words) + self.positions[: words.shape[1]]
            for block in self.blocks:
                x = block(x, mask)
            return self.tags(self.norm(x))

    class Recurrent(nn.Module):
        def __init__(self, columns, layers):
            super().__init__()
            self.words = nn.Embedding(WORDS, columns)
            self.lstm = nn.LSTM(columns, 256, layers, bidirectional=True)
            self.tags = nn.Linear(512, TAGS)

        def forward(self, words, _mask, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(
                self.words(words), lengths, batch_first=True, enforce_sorted=False
            )
            x, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            return self.tags(x)

    class Convolution(nn.Module):
        def __init__(self, columns, layers):
            super().__init__()
            self.words = nn.Embedding(WORDS, columns)
            self.layers = nn.ModuleList(nn.Conv1d(columns, columns, 5, padding=2) for _ in range(layers))
            self.tags = nn.Linear(columns, TAGS)

        def forward(self, words, mask, _lengths):
            x = self.words(words).transpose(1, 2)
            for layer in self.layers:
                if mask is not None:
                    x = x * mask
                x = F.relu(layer(x))
            return self.tags(x.transpose(1, 2))

    return {"attention": Attention, "lstm": Recurrent, "cnn": Convolution}


class Torch:
    """One network with its batches; pass_once trains on all of them."""

    def __init__(self, name, compiled):
        import torch

        warnings.filterwarnings("ignore")
        torch.set_num_threads(THREADS)
        torch.manual_seed(1)
        self.torch = torch
        shape = dict(SHAPES[name])
        kind, _ = shape.pop("kind"), shape.pop("batch")
        self.model = networks(torch)[kind](**shape)
        self.call = torch.compile(self.model, dynamic=True) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.batches = [self.batch(kind, lengths) for lengths in batches_of(name)]

    def batch(self, kind, lengths):
        torch = self.torch
        longest = max(lengths)
        words = torch.randint(0, WORDS, (len(lengths), longest))
        tags = torch.randint(0, TAGS, (len(lengths), longest))
        there = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
        tags[~there] = -100
        mask = None
        if not bool(there.all()):
            mask = there[:, None, None, :] if kind == "attention" else there[:, None, :].float()
        return words, mask, torch.tensor(lengths), tags.flatten()

    def pass_once(self):
        for words, mask, lengths, tags in self.batches:
            logits = self.call(words, mask, lengths)
            loss = self.torch.nn.functional.cross_entropy(logits.reshape(-1, TAGS), tags)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


def resident(field):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field))


def child(name, compiled, seconds):
    """In a process of its own, as attn bench is: the best pass, and the memory above that after import."""
    import torch  # noqa: F401

    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    before = resident("VmRSS:")
    network = Torch(name, compiled)
    for _ in range(2):
        network.pass_once()
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or best == math.inf:
        start = time.perf_counter()
        network.pass_once()
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"ms": 1e3 * best, "memory": resident("VmHWM:") - before}))


def plain_environment():
    """Without what bench/run sets so that malloc keeps memory: faster for PyTorch, and larger for both."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}


def torch_turn(name, compiled, seconds, environment=None):
    command = [sys.executable, "-B", __file__, "--child", name, "--seconds", str(seconds)]
    done = subprocess.run(
        command + ["--compiled"] * compiled, capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def attn_turn(name, seconds):
    program = Path(os.environ.get("BUILD", ROOT / "build" / "release")) / "attn"
    command = [program, "bench", "train", "--only", name, "--json"]
    done = subprocess.run(
        command + ["--threads", str(THREADS), "--seconds", str(seconds)],
        capture_output=True,
        text=True,
        check=True,
        env=plain_environment(),
    )
    return json.loads(done.stdout.splitlines()[-1])


def race(name, rounds, seconds):
    """The best pass of each over all rounds."""
    ours, eager, compiled = [], [], []
    for _ in range(rounds):
        ours.append(attn_turn(name, seconds))
        eager.append(torch_turn(name, False, seconds))
        try:
            compiled.append(torch_turn(name, True, seconds))
        except subprocess.CalledProcessError:
            pass  # what the compiler cannot do counts as eager
    frugal = torch_turn(name, False, 0.1, plain_environment())
    row = min(ours, key=lambda turn: turn["ms"])
    best = min(eager + compiled, key=lambda turn: turn["ms"])
    ratios = [
        min(b["ms"] for b in (eager[i : i + 1] + compiled[i : i + 1])) / ours[i]["ms"] for i in range(rounds)
    ]
    tokens = sum(map(sum, batches_of(name)))
    return {
        "network": name,
        "tokens": tokens,
        "steps": len(batches_of(name)),
        "ms": row["ms"],
        "tokens_per_second": 1e3 * tokens / row["ms"],
        "peak_fraction": row["peak_fraction"],
        "rival_ms": best["ms"],
        "rival_tokens_per_second": 1e3 * tokens / best["ms"],
        "rival_eager_ms": min(turn["ms"] for turn in eager),
        "rival_compiled_ms": min((turn["ms"] for turn in compiled), default=None),
        "ratio": best["ms"] / row["ms"],
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "memory": min(turn["extra_memory_bytes"] for turn in ours),
        "rival_memory": min(turn["memory"] for turn in eager + [frugal]),
    }


def training(rounds=3, seconds=3.0, only=None):
    rows = []
    for name in SHAPES:
        if only in (None, name):
            rows.append(race(name, rounds, seconds))
            row = rows[-1]
            print(
                f"{name:12} {row['ms']:9.2f} ms  {row['peak_fraction']:5.2f} of peak  "
                f"PyTorch {row['rival_ms']:9.2f} ms  {row['ratio']:5.2f} x  "
                f"memory {row['memory'] / row['rival_memory']:4.2f} x",
                flush=True,
            )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SHAPES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of passes in a turn")
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--child", choices=SHAPES, help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.compiled, arguments.seconds)
        return
    rows = training(arguments.rounds, arguments.seconds, arguments.only)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
