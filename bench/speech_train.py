"""A training step of the phone model: `attn train tag --input speech` against the same network in PyTorch.

    bench/run speech_train LIST [--threads 1] [--rounds 3] [--window 25]

LIST is what `attn train tag --input speech` reads (path TAB file of segments). The network: rows of 7 x 120 numbers (40
log-mel energies with two slopes, 7 frames side by side), linear and norm, two blocks of attention (4 heads, 128 columns)
and feed-forward (256) with dropout 0.2, a window to each side, 40 labels, cross-entropy, AdamW; about 500 rows a step. Ours also
stacks, normalises and masks the frames in every step, has rotary positions, clips the gradient and averages the weights; the rival
does none of it, and gets its numbers ready in memory, padded to the longest utterance of the batch, with the window as a mask.
It runs eager and compiled, and the better counts. Of ours, the time of a run with many steps less that of one with few is taken, so
that reading, features and the evaluation at the end drop out. Both take turns; the best of each counts.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import tempfile
import time
import wave
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

ROOT = Path(__file__).resolve().parents[1]
COLUMNS, HEADS, INNER, LAYERS, LABELS, INPUTS, BUDGET = 128, 4, 256, 2, 40, 840, 500


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(COLUMNS), nn.LayerNorm(COLUMNS)
        self.input, self.output = nn.Linear(COLUMNS, 3 * COLUMNS), nn.Linear(COLUMNS, COLUMNS)
        self.up, self.down = nn.Linear(COLUMNS, INNER), nn.Linear(INNER, COLUMNS)
        self.drop = nn.Dropout(0.2)

    def forward(self, x, mask):
        batch, length, _ = x.shape
        qkv = self.input(self.norm1(x)).view(batch, length, 3, HEADS, COLUMNS // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.drop(self.output(seen.transpose(1, 2).reshape(batch, length, COLUMNS)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(INPUTS, COLUMNS), nn.LayerNorm(COLUMNS)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last, self.labels, self.drop = nn.LayerNorm(COLUMNS), nn.Linear(COLUMNS, LABELS), nn.Dropout(0.2)

    def forward(self, x, mask):
        x = self.drop(self.norm(self.first(x)))
        for block in self.blocks:
            x = block(x, mask)
        return self.labels(self.drop(self.last(x)))


def lengths_of(path):
    """Frames of every training utterance."""
    folder, lengths = Path(path).parent, []
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row.get("split", "train") == "train":
                with wave.open(str(folder / row["path"])) as sound:
                    rate = sound.getframerate()
                    lengths.append(max(1, 1 + (sound.getnframes() - rate // 40) // (rate // 100)))
    return lengths


def batches_of(lengths):
    """As the library plans: shuffled, sorted by length within buckets, up to BUDGET rows a step."""
    shuffled = list(lengths)
    random.Random(1).shuffle(shuffled)
    batches = []
    for i in range(0, len(shuffled), 64):
        batch = []
        for length in sorted(shuffled[i : i + 64], reverse=True):
            if batch and sum(batch) + length > BUDGET:
                batches.append(batch)
                batch = []
            batch.append(length)
        batches.append(batch)
    return batches


class Rival:
    def __init__(self, batches, window, compiled):
        torch.manual_seed(1)
        self.model = Network().train()
        self.call = torch.compile(self.model, dynamic=True) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.batches = []
        for lengths in batches:
            longest = max(lengths)
            there = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
            near = (torch.arange(longest)[:, None] - torch.arange(longest)[None]).abs() <= window
            labels = torch.randint(0, LABELS, (len(lengths), longest))
            labels[~there] = -100
            mask = (there[:, None, :] & near[None]) | torch.eye(longest, dtype=torch.bool)[None]  # a padded row sees itself
            self.batches.append((torch.randn(len(lengths), longest, INPUTS), mask[:, None], labels.flatten()))

    def epoch(self):
        start = time.perf_counter()
        for x, mask, labels in self.batches:
            F.cross_entropy(self.call(x, mask).reshape(-1, LABELS), labels).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return time.perf_counter() - start


def ours(program, path, window, threads, epochs):
    """Seconds of a whole run."""
    config = {"encoder": {"columns": COLUMNS, "heads": HEADS, "inner": INNER, "layers": LAYERS, "dropout": 0.2, "left": window,
                          "right": window},
              "speech": {"stem": 0, "stack": 7, "stride": 1, "deltas": 2}, "output": {"members": 1, "dropout": 0.2},
              "training": {"batch_units": BUDGET, "epochs": epochs, "evaluations": 1, "patience": 0, "least_steps": 1}}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        start = time.perf_counter()
        subprocess.run([program, "train", "tag", "--input", "speech", path, "--config", os.path.join(folder, "config.json"), "-o",
                        os.path.join(folder, "m.safetensors"), "--threads", str(threads), "--quiet", "--save-every", "10m"], check=True)
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window", type=int, default=25)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lengths = lengths_of(options.list)
    batches = batches_of(lengths)
    program = Path(os.environ.get("BUILD", ROOT / "build" / "release")) / "attn"
    rivals = {"eager": Rival(batches, options.window, False), "compiled": Rival(batches, options.window, True)}
    for rival in rivals.values():
        rival.epoch()
    best = {name: float("inf") for name in ("attn", *rivals)}
    for _ in range(options.rounds):
        few = ours(program, options.list, options.window, options.threads, 1)
        many = ours(program, options.list, options.window, options.threads, 6)
        best["attn"] = min(best["attn"], (many - few) / 5)
        for name, rival in rivals.items():
            best[name] = min(best[name], rival.epoch(), rival.epoch())
    rows = sum(lengths)
    print(f"{len(lengths)} utterances, {rows} rows, {len(batches)} steps of the rival, {options.threads} threads, window {options.window}")
    for name, seconds in best.items():
        print(f"{name:10} {seconds:.3f} s an epoch, {rows / seconds:,.0f} rows a second, {seconds / best['attn']:.2f} x")


main()
