"""Cases of operations on the tape: recurrent networks, convolutions, rows, losses; and PyTorch's for them."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import network
from network_case import DOUBLE, SEEDS, Case, cut, normal, pad, sequences, some_lengths
from test_attention import ACTIVATIONS

# ---- recurrent networks and convolutions ----

GATES = {"tanh": 1, "gru": 3, "lstm": 4}
MODULES = {"tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
RECURRENT_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # PyTorch's, in our order


def recurrent():
    for seed, kind, directions, layers in itertools.product(SEEDS, MODULES, (1, 2), (1, 3)):
        random = np.random.default_rng(seed)
        lengths = some_lengths(random)
        columns, hidden = (int(n) for n in random.integers(1, 50, 2))
        parameters, names = {}, []
        for layer in range(layers):
            names.append([])
            for suffix in ("", "_reverse")[:directions]:
                names[-1].append([f"{name}_l{layer}{suffix}" for name in RECURRENT_NAMES])
                rows, width = GATES[kind] * hidden, hidden * directions if layer else columns
                for name, shape in zip(names[-1][-1], ((rows, width), (rows, hidden), (rows,), (rows,))):
                    parameters[name] = normal(random, *shape, size=0.7 / math.sqrt(hidden))

        def build(made, n=lengths, k=kind, every=names):
            def recording(tape, variables):
                x = variables["x"]
                for layer in every:
                    x = tape.recurrent(x, n, k, [[made.find(name) for name in way] for way in layer])
                return x

            return recording

        def judge(leaves, n=lengths, k=kind, d=directions, count=layers, width=columns, h=hidden):
            module = MODULES[k](width, h, count, bidirectional=d == 2, batch_first=True, **DOUBLE)
            weights = {name: leaf for name, leaf in leaves.items() if name != "x"}
            kept = [m for m in n if m]
            packed = pack_padded_sequence(
                pad(leaves["x"], n), torch.tensor(kept), batch_first=True, enforce_sorted=False
            )
            result, _ = functional_call(module, weights, (packed,), strict=True)
            padded, _ = pad_packed_sequence(result, batch_first=True)
            return cut(padded, n)

        yield Case(
            f"{kind}, {directions} directions, {layers} layers, {columns} -> {hidden}, {lengths}",
            {"x": normal(random, sum(lengths), columns)},
            build,
            judge,
            parameters,
            parts={name: [hidden] * GATES[kind] for name in parameters},
            seed=seed,
        )


def convolutions():
    for seed, width, dilation, causal in itertools.product(
        SEEDS[:2], (1, 2, 3, 5, 8), (1, 2, 5), (False, True)
    ):
        random = np.random.default_rng((seed, width, dilation, causal))
        lengths = some_lengths(random)
        columns, out = (int(n) for n in random.integers(1, 50, 2))
        activation = str(random.choice(list(ACTIVATIONS)))
        fields = {"width": width, "dilation": dilation, "causal": int(causal), "activation": activation}
        parameters = {
            "weight": normal(random, out, width, columns, size=1 / math.sqrt(width * columns)),
            "bias": normal(random, out, size=0.5),
        }

        def build(made, n=lengths, f=fields):
            return lambda tape, v: tape.convolution(v["x"], n, made.find("weight"), made.find("bias"), **f)

        def judge(leaves, n=lengths, w=width, d=dilation, right=causal, act=activation, c=columns, o=out):
            module = nn.Conv1d(c, o, w, dilation=d, **DOUBLE)
            parameters = {"weight": leaves["weight"].transpose(1, 2), "bias": leaves["bias"]}
            reach = (w - 1) * d
            left = reach if right else w // 2 * d
            results = []
            for x in sequences(leaves["x"], n):
                if len(x):
                    around = F.pad(x.T[None], (left, reach - left))
                    results.append(functional_call(module, parameters, around, strict=True)[0].T)
            return ACTIVATIONS[act](torch.cat(results))

        yield Case(
            f"convolution, {columns} -> {out}, {lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns)},
            build,
            judge,
            parameters,
            seed=seed,
        )


def grid_convolutions():
    for seed, width, dilation in itertools.product(SEEDS[:2], (1, 2, 3, 5), (1, 2)):
        random = np.random.default_rng((seed, width, dilation))
        sizes = [(1, 1), (1, 9), (7, 1), (0, 4)] + [tuple(map(int, n)) for n in random.integers(1, 13, (3, 2))]
        lengths = [h * w for h, w in sizes]
        columns, out = (int(n) for n in random.integers(1, 50, 2))
        activation = str(random.choice(list(ACTIVATIONS)))
        fields = {"width": width, "dilation": dilation, "activation": activation}
        parameters = {
            "weight": normal(random, out, width * width, columns, size=1 / (width * math.sqrt(columns))),
            "bias": normal(random, out, size=0.5),
        }

        def build(made, n=sizes, f=fields):
            return lambda tape, v: tape.convolution_grid(
                v["x"], n, made.find("weight"), made.find("bias"), **f
            )

        def judge(leaves, n=sizes, w=width, d=dilation, act=activation, c=columns, o=out):
            module = nn.Conv2d(c, o, w, dilation=d, **DOUBLE)
            weight = leaves["weight"].reshape(o, w, w, c).permute(0, 3, 1, 2)
            before, after = w // 2 * d, (w - 1 - w // 2) * d
            results = []
            for x, (height, across) in zip(sequences(leaves["x"], [h * v for h, v in n]), n):
                if len(x):
                    around = F.pad(x.T.reshape(1, c, height, across), (before, after, before, after))
                    seen = functional_call(
                        module, {"weight": weight, "bias": leaves["bias"]}, around, strict=True
                    )
                    results.append(seen.reshape(o, -1).T)
            return ACTIVATIONS[act](torch.cat(results))

        yield Case(
            f"convolution over grids, {columns} -> {out}, {sizes}, {fields}",
            {"x": normal(random, sum(lengths), columns)},
            build,
            judge,
            parameters,
            seed=seed,
        )


def pools_and_windows():
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        lengths = some_lengths(random)
        heads = int(random.integers(1, 5))
        columns = heads * int(random.integers(1, 20))
        rows = sum(lengths)
        x = normal(random, rows, columns)

        def pooled(function, n=lengths, c=columns):
            def judge(leaves):
                zero = leaves["x"].new_zeros(c)
                return torch.stack([function(p) if len(p) else zero for p in sequences(leaves["x"], n)])

            return judge

        kinds = {"mean": lambda p: p.mean(0), "max": lambda p: p.max(0).values, "first": lambda p: p[0]}
        for kind, function in kinds.items():
            yield Case(
                f"pool {kind}, {lengths}, {columns} columns",
                {"x": x},
                lambda made, n=lengths, k=kind: lambda tape, v: tape.pool(v["x"], n, k),
                pooled(function),
                seed=seed,
            )

        def judge_attention(leaves, n=lengths, h=heads, c=columns):
            results = []
            for p, scores in zip(sequences(leaves["x"], n), sequences(leaves["scores"], n)):
                weights = torch.softmax(scores, dim=0)
                results.append(torch.einsum("ih,ihd->hd", weights, p.unflatten(1, (h, c // h))).flatten())
            return torch.stack(results)

        yield Case(
            f"attention pooling, {lengths}, {heads} heads, {columns} columns",
            {"x": x, "scores": normal(random, rows, heads)},
            lambda made, n=lengths: lambda tape, v: tape.pool_attention(v["x"], v["scores"], n),
            judge_attention,
            seed=seed,
        )
        left, right = (int(n) for n in random.integers(0, 5, 2))

        def judge_window(leaves, n=lengths, before=left, after=right):
            results = []
            for p in sequences(leaves["x"], n):
                around = F.pad(p, (0, 0, before, after))
                results.append(torch.cat([around[s : s + len(p)] for s in range(before + after + 1)], dim=1))
            return torch.cat(results)

        yield Case(
            f"window {left}, {right}, {lengths}, {columns} columns",
            {"x": x},
            lambda made, n=lengths, a=left, b=right: lambda tape, v: tape.window(v["x"], n, a, b),
            judge_window,
            seed=seed,
        )


# ---- rows ----


def norms():
    for seed, columns, gain, bias, shift in itertools.product(
        SEEDS[:2], (3, 7, 16, 33, 64, 100, 257), (False, True), (False, True), (0.0, 5.0)
    ):
        random = np.random.default_rng((seed, columns))
        rows = int(random.integers(1, 70))
        epsilon = float(np.float32(random.choice((1e-5, 1e-3))))
        x = normal(random, rows, columns) + np.float32(shift)
        values = {"gain": 1 + normal(random, columns, size=0.3), "bias": normal(random, columns)}
        parameters = {name: values[name] for name, wanted in (("gain", gain), ("bias", bias)) if wanted}
        text = f"{rows} x {columns}, {list(parameters)}, epsilon {epsilon}, shift {shift}"

        def handles(made, present=tuple(parameters)):
            return [made.find(name) if name in present else None for name in ("gain", "bias")]

        yield Case(
            f"layer norm, {text}",
            {"x": x},
            lambda made, h=handles, e=epsilon: lambda tape, v: tape.layer_norm(v["x"], *h(made), e),
            lambda leaves, c=columns, e=epsilon: F.layer_norm(
                leaves["x"], [c], leaves.get("gain"), leaves.get("bias"), e
            ),
            dict(parameters),
            seed=seed,
        )
        if not bias:
            yield Case(
                f"RMS norm, {text}",
                {"x": x},
                lambda made, h=handles, e=epsilon: lambda tape, v: tape.rms_norm(v["x"], h(made)[0], e),
                lambda leaves, c=columns, e=epsilon: F.rms_norm(leaves["x"], [c], leaves.get("gain"), e),
                dict(parameters),
                seed=seed,
            )


def embeddings():
    """An id of -1 is one more row of the table, which is 0."""

    def with_zero(table):
        return torch.cat([table, table.new_zeros(1, table.shape[1])])

    for seed, missing in itertools.product(SEEDS, (False, True)):
        random = np.random.default_rng(seed)
        entries, columns, count = (int(n) for n in random.integers(1, 100, 3))
        ids = random.integers(-1 if missing else 0, entries, count)
        indices = torch.from_numpy(np.where(ids < 0, entries, ids))
        table = normal(random, entries, columns)
        yield Case(
            f"embedding, {entries} x {columns}, {count} ids, missing {missing}",
            {},
            lambda made, i=ids: lambda tape, v: tape.embedding(made.find("table"), i),
            lambda leaves, i=indices: F.embedding(i, with_zero(leaves["table"])),
            {"table": table},
            seed=seed,
        )
        lengths = some_lengths(random)
        ids = random.integers(-1 if missing else 0, entries, sum(lengths))
        indices = torch.from_numpy(np.where(ids < 0, entries, ids))
        for kind in network.BAGS:
            yield Case(
                f"embedding bag, {kind}, {entries} x {columns}, {lengths}, missing {missing}",
                {},
                lambda made, i=ids, n=lengths, k=kind: (
                    lambda tape, v: tape.embedding_bag(made.find("table"), i, n, k)
                ),
                lambda leaves, i=indices, n=lengths, k=kind: F.embedding_bag(
                    i,
                    with_zero(leaves["table"]),
                    torch.from_numpy(network.offsets_of(n)),
                    mode=k,
                    include_last_offset=True,
                ),
                {"table": table},
                seed=seed,
            )


def activations():
    for seed, name, size in itertools.product(SEEDS[:2], ACTIVATIONS, (1.0, 5.0)):
        random = np.random.default_rng(seed)
        rows, columns = (int(n) for n in random.integers(1, 100, 2))
        shape = f"{rows} x {columns}, size {size}"
        yield Case(
            f"{name}, {shape}",
            {"x": normal(random, rows, columns, size=size)},
            lambda made, a=name: lambda tape, v: tape.activation(v["x"], a),
            lambda leaves, a=name: ACTIVATIONS[a](leaves["x"]) * 1.0,
            seed=seed,
        )
        yield Case(
            f"gate {name}, {shape}",
            {"gate": normal(random, rows, columns, size=size), "value": normal(random, rows, columns)},
            lambda made, a=name: lambda tape, v: tape.gate(v["gate"], v["value"], a),
            lambda leaves, a=name: ACTIVATIONS[a](leaves["gate"]) * leaves["value"],
            seed=seed,
        )


def softmaxes():
    for seed, columns, size in itertools.product(SEEDS[:2], (2, 7, 16, 33, 100, 1000), (1.0, 10.0)):
        random = np.random.default_rng(seed)
        rows = int(random.integers(1, 50))
        for name, function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
            yield Case(
                f"{name}, {rows} x {columns}, size {size}",
                {"x": normal(random, rows, columns, size=size)},
                lambda made, f=name: lambda tape, v: getattr(tape, f)(v["x"]),
                lambda leaves, f=function: f(leaves["x"], dim=-1),
                seed=seed,
            )


def rows_and_columns():
    """Sums, products, columns and rows put elsewhere, in one small program."""
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        rows, columns, count = (int(n) for n in random.integers(2, 60, 3))
        first = int(random.integers(0, columns))
        width = int(random.integers(1, columns + 1 - first))
        taken, put = random.integers(-1, rows, count), random.integers(-1, rows, count)

        def build(made, i=taken, j=put, n=rows, at=first, w=width):
            def recording(tape, v):
                moved = tape.scatter(tape.gather(v["x"], i), j, n)
                mixed = tape.record("tape_add", tape.record("tape_multiply", moved, v["y"]), v["row"])
                mixed = tape.record("tape_scale", mixed, 0.75)
                return tape.concat([tape.slice(mixed, at, w), v["x"], tape.slice(mixed, at, w)])

            return recording

        def judge(leaves, i=taken, j=put, n=rows, at=first, w=width):
            x = leaves["x"]
            gathered = torch.cat([x, x.new_zeros(1, x.shape[1])])[torch.from_numpy(i)]
            target = torch.from_numpy(np.where(j < 0, n, j))
            moved = x.new_zeros(n + 1, x.shape[1]).index_add(0, target, gathered)[:n]
            mixed = 0.75 * (moved * leaves["y"] + leaves["row"])
            return torch.cat([mixed[:, at : at + w], x, mixed[:, at : at + w]], dim=1)

        yield Case(
            f"rows and columns, {rows} x {columns}, {count} rows moved, {width} columns",
            {
                "x": normal(random, rows, columns),
                "y": normal(random, rows, columns),
                "row": normal(random, 1, columns),
            },
            build,
            judge,
            seed=seed,
        )


# ---- losses ----


def cross_entropies():
    for seed, smoothing, weighted, ignored in itertools.product(
        SEEDS, (0.0, 0.1, 0.5), (False, True), (None, -1, 2, -100)
    ):
        random = np.random.default_rng(seed)
        rows, classes = int(random.integers(2, 80)), int(random.choice((3, 7, 16, 100, 1000)))
        labels = random.integers(0, classes, rows)
        if ignored is not None:
            labels[1:][random.random(rows - 1) < 0.4] = ignored
            labels[0] = 0
        weights = (random.random(classes) + 0.1).astype(np.float32) if weighted else None
        how = {"smoothing": smoothing, "class_weights": weights}
        how["ignored"] = -1 if ignored is None else ignored

        def judge(leaves, y=labels, w=weights, s=float(np.float32(smoothing)), skip=how["ignored"]):
            module = nn.CrossEntropyLoss(
                weight=None if w is None else torch.from_numpy(w).double(),
                ignore_index=skip,
                label_smoothing=s,
            )
            return module(leaves["x"], torch.from_numpy(y))

        yield Case(
            f"cross-entropy, {rows} x {classes}, {smoothing=}, {weighted=}, {ignored=}",
            {"x": normal(random, rows, classes, size=2)},
            lambda made, y=labels, h=how: lambda tape, v: tape.cross_entropy(v["x"], y, **h),
            judge,
            seed=seed,
        )


ELEMENT_LOSSES = {
    "binary_cross_entropy": nn.BCEWithLogitsLoss(),
    "squared_error": nn.MSELoss(),
    "absolute_error": nn.L1Loss(),
}


def element_losses():
    for seed, kind, missing in itertools.product(SEEDS, ELEMENT_LOSSES, (False, True)):
        random = np.random.default_rng(seed)
        rows, columns = (int(n) for n in random.integers(2, 60, 2))
        targets = normal(random, rows, columns)
        if kind == "binary_cross_entropy":
            targets = random.choice(np.float32([0, 1, 0.25]), (rows, columns))
        if missing:
            targets[random.random((rows, columns)) < 0.3] = np.nan

        def judge(leaves, k=kind, t=targets):
            there = torch.from_numpy(~np.isnan(t))
            return ELEMENT_LOSSES[k](leaves["x"][there], torch.from_numpy(t).double()[there])

        yield Case(
            f"{kind}, {rows} x {columns}, missing {missing}",
            {"x": normal(random, rows, columns, size=2)},
            lambda made, k=kind, t=targets: lambda tape, v: tape.element_loss(k, v["x"], t),
            judge,
            seed=seed,
        )
