"""The sequence-to-sequence network of an attn model file in PyTorch, with a key/value cache and beam search.

It is the network of docs/format.md with the default choices of the task (attention, sinusoidal positions, pre-norm
blocks with layer norms, gelu); a file with others is refused. Search follows src/heads/search.c, so that both give
the same answers but for rounding, and is written to be fast: sentences of a batch are padded, keys and values of the
source are computed once and shared by the beams of a sentence, those of the answer are reordered by one copy a layer,
and sentences that are done leave the batch (shrink=True; else they go on until all of them are done).
"""

import json
import math

import torch
import torch.nn.functional as F
from safetensors import safe_open

NEEDED = {
    ("encoder", "kind"): "attention",
    ("encoder", "mix"): "",
    ("encoder", "position"): "sinusoidal",
    ("encoder", "activation"): "gelu",
    ("encoder", "gated"): False,
    ("encoder", "norm"): "layer",
    ("encoder", "norm_first"): True,
    ("encoder", "final_norm"): True,
    ("encoder", "residual"): True,
    ("encoder", "causal"): False,
    ("encoder", "form"): "standard",
    ("encoder", "score"): "dot",
    ("encoder", "weights"): "softmax",
    ("encoder", "average_weights"): False,
    ("encoder", "scale"): 0,
    ("encoder", "softcap"): 0,
    ("encoder", "kv_heads"): 0,
    ("encoder", "left"): -1,
    ("encoder", "right"): -1,
    ("text", "buckets"): 0,
    ("text", "embedding_rate"): 1,
    ("output", "members"): 1,
}


def sinusoids(rows, columns):
    place = torch.arange(rows, dtype=torch.float64)[:, None]
    channel = torch.arange(columns, dtype=torch.float64)
    angle = place * 10000.0 ** (-(channel - channel % 2) / columns)
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos()).float()


class Translator:
    def __init__(self, path):
        with safe_open(path, "pt") as file:
            self.config = json.loads(file.metadata()["attn.config"])
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}
        if self.config["task"] != "seq2seq":
            raise ValueError(f"{path}: its task is {self.config['task']}, not seq2seq")
        for (part, name), value in NEEDED.items():
            if self.config[part][name] != value:
                raise ValueError(f"{path}: {part}.{name} is {self.config[part][name]}; here it must be {value}")
        self.columns, self.heads = self.config["encoder"]["columns"], self.config["encoder"]["heads"]
        self.layers = self.config["encoder"]["layers"]
        self.decoder_layers = self.config["decoder"]["layers"]
        self.head_width = self.columns // self.heads
        self.limit = self.config["target"]["longest"] or 1000
        self.positions = sinusoids(1100, self.columns)
        self.source_table = self.tensors["features"]
        self.target_table = self.tensors.get("target.symbols", self.source_table)
        self.symbol_table = self.tensors.get("symbols.weight", self.target_table)
        self.symbol_bias = self.tensors["symbols.bias"]
        self.stem = self.config["text"]["stem"]
        if self.stem:
            if self.stem % 2 == 0:
                raise ValueError(f"{path}: text.stem is {self.stem}; here it must be odd")
            self.stem_weight = self.tensors["stem.weight"].permute(0, 2, 1).contiguous()

    def units(self, side):
        """The vocabulary of `text` or `target`; a shared one is text's."""
        name = f"{side}.units" if f"{side}.units.bytes" in self.tensors else "text.units"
        joined = self.tensors[name + ".bytes"].numpy().tobytes()
        offsets = self.tensors[name + ".offsets"].tolist()
        return [joined[a:b].decode() for a, b in zip(offsets, offsets[1:])]

    def numbers(self):
        """Multiply-adds of a row in the decoder's products, attention left out."""
        names = [name for name in self.tensors if name.startswith("decoder.") and name.endswith(".weight")]
        products = sum(self.tensors[name].numel() for name in names if "source" not in name)
        return products + self.symbol_table.numel()

    def linear(self, name, x):
        return F.linear(x, self.tensors[name + ".weight"], self.tensors.get(name + ".bias"))

    def norm(self, name, x):
        return F.layer_norm(x, (self.columns,), self.tensors[name + ".gain"], self.tensors[name + ".bias"], 1e-5)

    def split(self, x):
        """batch x rows x columns -> batch x heads x rows x channels"""
        return x.unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)

    def feed(self, name, x):
        return self.linear(name + ".output", F.gelu(self.linear(name + ".input", x)))

    def encode(self, ids, mask):
        """ids: batch x rows, mask: batch x 1 x 1 x rows or None -> keys and values for each block of the decoder"""
        x = self.norm("input.norm", F.embedding(ids, self.source_table))
        if self.stem:  # a convolution, which sees 0 beyond the end
            inside = x if mask is None else x * mask[:, 0, 0, :, None]
            y = F.conv1d(inside.transpose(1, 2), self.stem_weight, self.tensors["stem.bias"], padding="same")
            x = x + F.gelu(y).transpose(1, 2)
        x = x + self.positions[: ids.shape[1]]
        for layer in range(self.layers):
            name = f"encoder.{layer}"
            query, key, value = self.linear(
                name + ".attention.input", self.norm(name + ".norm.0", x)
            ).chunk(3, -1)
            y = F.scaled_dot_product_attention(*map(self.split, (query, key, value)), attn_mask=mask)
            x = x + self.linear(name + ".attention.output", y.transpose(1, 2).flatten(2))
            x = x + self.feed(name + ".feed", self.norm(name + ".norm.1", x))
        x = self.norm("encoder.norm", x)
        cross = []
        for layer in range(self.decoder_layers):
            key, value = self.linear(f"decoder.{layer}.cross.source", x).chunk(2, -1)
            cross.append([self.split(key).contiguous(), self.split(value).contiguous()])
        return cross

    def step(self, symbols, length, cache, cross, mask):
        """symbols: sentences x beams; the next row of every beam -> scores of all symbols, sentences x beams x symbols

        cache: for each block keys and values, rows x heads x length x channels, replaced by longer ones."""
        sentences, beams = symbols.shape
        x = self.norm("target.norm", F.embedding(symbols.view(-1), self.target_table)) + self.positions[length]
        for layer in range(self.decoder_layers):
            name = f"decoder.{layer}"
            new = self.linear(name + ".self.input", self.norm(name + ".norm.0", x))
            query, key, value = new.view(-1, 3, self.heads, 1, self.head_width).unbind(1)
            if length > 0:
                key = torch.cat((cache[layer][0], key), 2)
                value = torch.cat((cache[layer][1], value), 2)
            cache[layer] = [key, value]
            y = F.scaled_dot_product_attention(query, key, value)
            x = x + self.linear(name + ".self.output", y.flatten(1))
            query = self.linear(name + ".cross.query", self.norm(name + ".norm.1", x))
            query = self.split(query.view(sentences, beams, -1))
            y = F.scaled_dot_product_attention(query, *cross[layer], attn_mask=mask)
            x = x + self.linear(name + ".cross.output", y.transpose(1, 2).flatten(2).flatten(0, 1))
            x = x + self.feed(name + ".feed", self.norm(name + ".norm.2", x))
        x = self.norm("decoder.norm", x)
        return F.linear(x, self.symbol_table, self.symbol_bias).view(sentences, beams, -1)

    def search(self, sources, beam, penalty=1.0, shrink=True):
        """sources: lists of units -> a list of symbols, and whether it ended, for each; rows that were computed"""
        count, longest = len(sources), max(map(len, sources))
        ids = torch.zeros(count, longest, dtype=torch.int64)
        mask = torch.zeros(count, 1, 1, longest, dtype=torch.bool)
        for i, source in enumerate(sources):
            ids[i, : len(source)] = torch.tensor(source)
            mask[i, :, :, : len(source)] = True
        if mask.all():
            mask = None
        cross, cache = self.encode(ids, mask), [None] * self.decoder_layers
        alive = torch.arange(count)  # the sentences that are still searched for
        symbols = torch.zeros(count, 1, dtype=torch.int64)
        sums = torch.zeros(count, 1)
        done = torch.zeros(count, dtype=torch.bool)
        found = torch.zeros(count, dtype=torch.int64)
        best = torch.full((count,), -math.inf)
        best_at = torch.zeros(count, 2, dtype=torch.int64)  # of the best answer: length, and beam of its last symbol
        history, rows = [], 0
        for length in range(self.limit + 1):
            rows += symbols.numel()
            scores = F.log_softmax(self.step(symbols, length, cache, cross, mask), -1) + sums[:, :, None]
            vocabulary = scores.shape[2]
            top, place = scores.flatten(1).topk(2 * beam, 1)
            parent, symbol = place // vocabulary, place % vocabulary
            ends = symbol == 0
            # an end among the `beam` best is an answer
            counted = ends[:, :beam] & ~done[:, None]
            answer, which = top[:, :beam].masked_fill(~counted, -math.inf).max(1)
            answer = answer / (length + 1) ** penalty
            found[alive] += counted.sum(1)
            better = answer > best[alive]
            best[alive] = torch.where(better, answer, best[alive])
            at = torch.stack((torch.full_like(which, length), parent.gather(1, which[:, None])[:, 0]), 1)
            best_at[alive] = torch.where(better[:, None], at, best_at[alive])
            if length == self.limit:  # what does not end now is cut, and counts where nothing ended
                best_at[alive[found[alive] == 0]] = torch.tensor([self.limit, 0])
                break
            # the first `beam` that go on
            order = ends.to(torch.int8).argsort(dim=1, stable=True)[:, :beam]
            sums, symbols, parent = top.gather(1, order), symbol.gather(1, order), parent.gather(1, order)
            history.append((alive, symbols, parent))
            hope = torch.where(found[alive] < beam, self.limit + 1, length + 1)
            done = done | (found[alive] > 0) & (sums[:, 0] / hope**penalty <= best[alive])
            if done.all():
                break
            beams_before = 1 if length == 0 else beam
            base = torch.arange(len(alive))[:, None] * beams_before + parent
            if shrink and done.any():
                keep = (~done).nonzero()[:, 0]
                alive, sums, symbols, base = alive[keep], sums[keep], symbols[keep], base[keep]
                done = done[keep]
                mask = None if mask is None else mask[keep]
                cross = [[part.index_select(0, keep) for part in block] for block in cross]
            rows_from = base.flatten()
            cache = [[part.index_select(0, rows_from) for part in block] for block in cache]
        return self.spell(count, best_at, history), found.gt(0).tolist(), rows

    def spell(self, count, best_at, history):
        """From the last symbol of every answer back to its first."""
        steps = [(dict(zip(alive.tolist(), range(len(alive)))), symbols.tolist(), parent.tolist())
                 for alive, symbols, parent in history]
        answers = []
        for i in range(count):
            length, row = best_at[i].tolist()
            answer = []
            for places, symbols, parent in reversed(steps[:length]):
                answer.append(symbols[places[i]][row])
                row = parent[places[i]][row]
            answers.append(answer[::-1])
        return answers

    def translate(self, sources, beam, batch=64, shrink=True):
        """All sources, longest first; the answers in the order of the sources, whether they ended, rows computed."""
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        answers, ended, rows = [None] * len(sources), [None] * len(sources), 0
        with torch.inference_mode():
            for first in range(0, len(order), batch):
                part = order[first : first + batch]
                said, how, count = self.search([sources[i] for i in part], beam, shrink=shrink)
                rows += count
                for i, symbols, end in zip(part, said, how):
                    answers[i], ended[i] = symbols, end
        return answers, ended, rows
