"""Cases of attention layers, blocks, encoders and decoders, and PyTorch's modules for them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import attn
import network
from network_case import DOUBLE, SEEDS, Case, cut, normal, pad, padding, sequences, some_lengths
from test_attention import ACTIVATIONS

# ---- attention ----


def causal_mask(queries, keys=None):
    """True where a key may not be seen."""
    return torch.ones(queries, keys or queries, dtype=torch.bool).triu(1)


def attention_parameters(leaves, name, prefix=""):
    """The parameters of nn.MultiheadAttention from those of the layer `name`."""
    given = {}
    if f"{name}.input.weight" in leaves:
        given["in_proj_weight"] = leaves[f"{name}.input.weight"]
        bias = leaves.get(f"{name}.input.bias")
    else:
        query, source = leaves[f"{name}.query.weight"], leaves[f"{name}.source.weight"]
        if query.shape[1] == source.shape[1]:
            given["in_proj_weight"] = torch.cat([query, source])
        else:
            given["q_proj_weight"] = query
            given["k_proj_weight"], given["v_proj_weight"] = source.chunk(2)
        bias = None
        if f"{name}.query.bias" in leaves:
            bias = torch.cat([leaves[f"{name}.query.bias"], leaves[f"{name}.source.bias"]])
    given["out_proj.weight"] = leaves[f"{name}.output.weight"]
    if bias is not None:
        given["in_proj_bias"], given["out_proj.bias"] = bias, leaves[f"{name}.output.bias"]
    return {prefix + part: value for part, value in given.items()}


def attention_parts(name, columns, source=False, with_bias=True):
    """W_q, W_k, W_v and their biases, one by one: the gradient of the key's bias is 0."""
    whole = f"{name}.source" if source else f"{name}.input"
    parts = {f"{whole}.weight": [columns] * (2 if source else 3)}
    if with_bias:
        parts[f"{whole}.bias"] = parts[f"{whole}.weight"]
    return parts


def judge_multihead(leaves, columns, heads, lengths, source_lengths=None, causal=False, added=None):
    """nn.MultiheadAttention, padded. added: a function of queries and keys, [heads, queries, keys]."""
    x = pad(leaves["x"], lengths)
    source, key_lengths = x, lengths
    if source_lengths is not None:
        source, key_lengths = pad(leaves["source"], source_lengths, present=lengths), source_lengths
    module = nn.MultiheadAttention(
        columns,
        heads,
        bias="layer.output.bias" in leaves,
        kdim=source.shape[-1],
        vdim=source.shape[-1],
        batch_first=True,
        **DOUBLE,
    )
    hidden = padding(key_lengths, present=lengths)
    mask = causal_mask(x.shape[1], source.shape[1]) if causal else None
    if added is not None:
        mask = added(x.shape[1], source.shape[1]).masked_fill(
            mask if causal else torch.tensor(False), -math.inf
        )
        mask = mask.repeat(len(x), 1, 1)
        hidden = torch.zeros(hidden.shape, **DOUBLE).masked_fill(hidden, -math.inf)
    arguments = (x, source, source)
    how = {"key_padding_mask": hidden, "attn_mask": mask, "average_attn_weights": False}
    parameters = attention_parameters(leaves, "layer")
    output, _ = functional_call(module, parameters, arguments, {**how, "need_weights": False}, strict=True)
    with torch.no_grad():
        _, weights = functional_call(module, parameters, arguments, {**how, "need_weights": True})
    pairs = [(n, m) for n, m in zip(lengths, key_lengths) if n]
    weights = [weights[b, :, :n, :m].numpy() for b, (n, m) in enumerate(pairs)]
    return cut(output, lengths), {"weights": weights}


def build_multihead(lengths, source_lengths=None, **fields):
    def build(made):
        layer = made.create("multihead", "layer", network.options("multihead", **fields))

        def recording(tape, variables):
            key_lengths = lengths if source_lengths is None else source_lengths
            count = fields["heads"] * sum(n * m for n, m in zip(lengths, key_lengths))
            weights = np.full(count, np.nan, np.float32)
            where = network.places(lengths, variables.get("source"), source_lengths, weights=weights)
            return tape.apply("multihead", layer, variables["x"], where), {"weights": weights}

        return recording

    return build


def random_heads(random):
    heads = int(random.integers(1, 6))
    return heads, heads * int(random.choice((1, 3, 8, 10, 16, 20)))


def self_attention():
    for seed, causal, with_bias in itertools.product(SEEDS, (False, True), (True, False)):
        random = np.random.default_rng(seed)
        lengths, (heads, columns) = some_lengths(random), random_heads(random)
        fields = {"columns": columns, "heads": heads, "with_bias": int(with_bias)}
        fields["right"] = 0 if causal else attn.UNLIMITED
        yield Case(
            f"self-attention, {lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns)},
            build_multihead(lengths, **fields),
            lambda leaves, c=columns, h=heads, n=lengths, right=causal: judge_multihead(
                leaves, c, h, n, causal=right
            ),
            parts=attention_parts("layer", columns, with_bias=with_bias),
            seed=seed,
        )


def cross_attention():
    for seed, other, with_bias in itertools.product(SEEDS, (False, True), (True, False)):
        random = np.random.default_rng(seed)
        lengths, (heads, columns) = some_lengths(random), random_heads(random)
        source_lengths = [int(n) for n in random.integers(1, 50, len(lengths))]
        wide = columns + int(random.integers(1, 20)) if other else columns
        fields = {"columns": columns, "source_columns": wide, "heads": heads, "with_bias": int(with_bias)}
        yield Case(
            f"cross-attention, {lengths} on {source_lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns), "source": normal(random, sum(source_lengths), wide)},
            build_multihead(lengths, source_lengths, **fields),
            lambda leaves, c=columns, h=heads, n=lengths, m=source_lengths: judge_multihead(
                leaves, c, h, n, m
            ),
            parts=attention_parts("layer", columns, source=True, with_bias=with_bias),
            seed=seed,
        )


def rotated(x, positions, base):
    """[..., row, channel] in halves: the first half of the channels turns with the second."""
    half = x.shape[-1] // 2
    frequency = base ** (-2 * torch.arange(half, **DOUBLE) / x.shape[-1])
    angle = positions.double()[:, None] * frequency
    first, second = x[..., :half], x[..., half:]
    return torch.cat(
        [first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], dim=-1
    )


def judge_grouped(leaves, heads, kv_heads, lengths, causal, rotary=None):
    """Sequence by sequence through scaled_dot_product_attention. rotary: the base of the positions."""
    weight, bias = leaves["layer.input.weight"], leaves["layer.input.bias"]
    width = weight.shape[0] // (heads + 2 * kv_heads)
    results = []
    for x in sequences(leaves["x"], lengths):
        every = F.linear(x, weight, bias).unflatten(1, (-1, width)).transpose(0, 1)
        query, key, value = every.split([heads, kv_heads, kv_heads])
        if rotary:
            query, key = (rotated(part, torch.arange(len(x)), rotary) for part in (query, key))
        if len(x):
            mixed = F.scaled_dot_product_attention(
                query[None], key[None], value[None], is_causal=causal, enable_gqa=True
            )
            results.append(mixed[0].transpose(0, 1).flatten(1))
    return F.linear(torch.cat(results), leaves["layer.output.weight"], leaves["layer.output.bias"])


def grouped_attention():
    for seed, causal, rotary in itertools.product(SEEDS, (False, True), (None, 10000.0, 500.0)):
        random = np.random.default_rng(seed)
        kv_heads, width = int(random.integers(1, 4)), int(random.choice((2, 8, 10, 16, 32)))
        heads = kv_heads * int(random.integers(1, 4))
        lengths, columns = some_lengths(random), heads * width
        fields = {"columns": columns, "heads": heads, "kv_heads": kv_heads}
        fields["right"] = 0 if causal else attn.UNLIMITED
        if rotary:
            fields.update(position="rotary", rotary_base=rotary)

        def build(made, n=lengths, f=fields):
            layer = made.create("multihead", "layer", network.options("multihead", **f))
            return lambda tape, v: tape.apply("multihead", layer, v["x"], network.places(n))

        parts = [heads * width, kv_heads * width, kv_heads * width]
        yield Case(
            f"grouped queries, {lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns)},
            build,
            lambda leaves, h=heads, k=kv_heads, n=lengths, right=causal, base=rotary: judge_grouped(
                leaves, h, k, n, right, base
            ),
            parts={"layer.input.weight": parts, "layer.input.bias": parts},
            seed=seed,
        )


def alibi(heads):
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)], **DOUBLE)

    def added(queries, keys):
        distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
        return -slopes[:, None, None] * distance.abs()

    return added


def bucket(distance, buckets, farthest):
    """T5's, in whole numbers: the steps past the exact ones are where powers of the distance pass others."""
    half, exact = buckets // 2, buckets // 4
    side, n = (half if distance > 0 else 0), abs(distance)
    if n < exact:
        return side + n
    steps = half - exact
    ratio = Fraction(n, exact) ** steps
    passed = [m for m in range(steps) if ratio >= Fraction(farthest, exact) ** m]
    return side + exact + passed[-1]


def relative(table, buckets, farthest):
    def added(queries, keys):
        distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
        if not buckets:
            return table[:, distance.clamp(-farthest, farthest) + farthest]
        entry = [[bucket(int(d), buckets, farthest) for d in row] for row in distance]
        return table[:, torch.tensor(entry)]

    return added


def attention_positions():
    kinds = [("alibi", 0, 0)]
    kinds += [("relative", b, far) for b, far in ((0, 5), (0, 64), (32, 128), (8, 16), (16, 60), (12, 40))]
    for seed, causal, (position, buckets, farthest) in itertools.product(SEEDS[:2], (False, True), kinds):
        random = np.random.default_rng(seed)
        lengths, (heads, columns) = some_lengths(random, longest=150), random_heads(random)
        fields = {"columns": columns, "heads": heads, "position": position}
        fields.update(buckets=buckets, farthest=farthest, right=0 if causal else attn.UNLIMITED)
        parameters = {}
        if position == "relative":
            parameters["layer.relative"] = normal(random, heads, buckets or 2 * farthest + 1)

        def judge(leaves, c=columns, h=heads, n=lengths, right=causal, b=buckets, far=farthest):
            table = leaves.get("layer.relative")
            added = alibi(h) if table is None else relative(table, b, far)
            return judge_multihead(leaves, c, h, n, causal=right, added=added)

        yield Case(
            f"positions in attention, {lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns)},
            build_multihead(lengths, **fields),
            judge,
            parameters,
            parts=attention_parts("layer", columns),
            seed=seed,
        )


def rotary_alone():
    for seed, base, far in itertools.product(SEEDS, (10000.0, 100.0), (False, True)):
        random = np.random.default_rng(seed)
        heads, width = int(random.integers(1, 5)), 2 * int(random.integers(1, 40))
        lengths = some_lengths(random, longest=100)
        first = random.integers(0, 5000, len(lengths)) if far else None

        def judge(leaves, h=heads, n=lengths, start=first, b=base):
            parts = []
            for s, x in enumerate(sequences(leaves["x"], n)):
                positions = torch.arange(len(x)) + (0 if start is None else int(start[s]))
                split = x.unflatten(1, (h, -1)).transpose(0, 1)
                parts.append(rotated(split, positions, b).transpose(0, 1).flatten(1))
            return torch.cat(parts)

        yield Case(
            f"rotary, {heads} heads of {width}, {lengths} from {first}, base {base}",
            {"x": normal(random, sum(lengths), heads * width)},
            lambda made, h=heads, n=lengths, start=first, b=base: (
                lambda tape, v: tape.rotary(v["x"], h, n, start, b)
            ),
            judge,
            seed=seed,
        )


# ---- blocks ----


def renamed(leaves, pairs):
    """Weights (or gains) and biases of PyTorch's modules from ours, by pairs of names: theirs, ours."""
    given = {}
    for theirs, ours in pairs.items():
        for their_part, our_parts in (("weight", ("weight", "gain")), ("bias", ("bias",))):
            for part in our_parts:
                if f"{ours}.{part}" in leaves:
                    given[f"{theirs}.{their_part}"] = leaves[f"{ours}.{part}"]
    return given


def encoder_layer(leaves, name, x, lengths, heads, activation, norm_first, causal):
    """nn.TransformerEncoderLayer on a padded x, by the parameters of the block `name`."""
    module = nn.TransformerEncoderLayer(
        x.shape[-1],
        heads,
        len(leaves[f"{name}.feed.input.bias"]),
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm_first,
        **DOUBLE,
    )
    names = {"linear1": "feed.input", "linear2": "feed.output", "norm1": "norm.0", "norm2": "norm.1"}
    parameters = {
        **attention_parameters(leaves, f"{name}.attention", "self_attn."),
        **renamed(leaves, {theirs: f"{name}.{ours}" for theirs, ours in names.items()}),
    }
    masks = {"src_key_padding_mask": padding(lengths)}
    if causal:
        masks.update(src_mask=causal_mask(x.shape[1]), is_causal=True)
    return functional_call(module, parameters, x, masks, strict=True)


def block_fields(columns, heads, inner, activation, norm_first, causal):
    return {
        "mixer": {"columns": columns, "causal": int(causal), "attention": {"heads": heads}},
        "inner": inner,
        "activation": activation,
        "norm_first": int(norm_first),
    }


def encoder_blocks():
    for seed, activation, norm_first, causal in itertools.product(
        SEEDS, ("relu", "gelu"), (True, False), (False, True)
    ):
        random = np.random.default_rng(seed)
        lengths, (heads, columns) = some_lengths(random), random_heads(random)
        columns = max(columns, 3 * heads)
        inner = int(random.integers(8, 80))
        fields = block_fields(columns, heads, inner, activation, norm_first, causal)

        def build(made, n=lengths, f=fields):
            block = made.create("block", "block", network.options("block", **f))
            return lambda tape, v: tape.apply("block", block, v["x"], network.places(n))

        def judge(leaves, n=lengths, h=heads, act=activation, first=norm_first, right=causal):
            x = pad(leaves["x"], n)
            return cut(encoder_layer(leaves, "block", x, n, h, act, first, right), n)

        yield Case(
            f"encoder block, {lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns)},
            build,
            judge,
            parts=attention_parts("block.attention", columns),
            seed=seed,
        )


def sinusoids(lengths, columns):
    """Of every row: sines in the even columns, cosines in the odd ones."""
    t = torch.cat([torch.arange(n) for n in lengths]).double()[:, None]
    frequency = 10000.0 ** (-torch.arange(0, columns, 2, **DOUBLE) / columns)
    return torch.stack([(t * frequency).sin(), (t * frequency).cos()], dim=-1).flatten(1)[:, :columns]


def encoders():
    """Blocks behind an input map, with positions, and the last norm of pre-norm ones.

    Two blocks: with every more the rows become more alike, and what rounding does to the gradients of
    queries and keys grows past the rule, in PyTorch's own float32 as here.
    """
    for seed, norm_first, position in itertools.product(
        SEEDS[:2], (True, False), ("none", "sinusoidal", "learned")
    ):
        random = np.random.default_rng(seed)
        lengths, (heads, columns) = some_lengths(random), random_heads(random)
        columns, layers = max(columns, 3 * heads), 2
        fields = {"columns": columns, "input_columns": columns + 3, "layers": layers, "position": position}
        fields["block"] = block_fields(columns, heads, 2 * columns, "gelu", norm_first, False)
        fields["longest"] = 64

        def build(made, n=lengths, f=fields):
            encoder = made.create("encoder", "encoder", network.options("encoder", **f))
            return lambda tape, v: tape.apply("encoder", encoder, v["x"], network.places(n))

        def judge(leaves, n=lengths, h=heads, c=columns, first=norm_first, kind=position, count=layers):
            x = F.linear(leaves["x"], leaves["encoder.input.weight"], leaves["encoder.input.bias"])
            if kind == "sinusoidal":
                x = x + sinusoids(n, c)
            elif kind == "learned":
                x = x + torch.cat([leaves["encoder.position.table"][:m] for m in n])
            x = pad(x, n)
            for layer in range(count):
                x = encoder_layer(leaves, f"encoder.{layer}", x, n, h, "gelu", first, False)
            if first:
                x = F.layer_norm(x, [c], leaves["encoder.norm.gain"], leaves["encoder.norm.bias"])
            return cut(x, n)

        parts = [attention_parts(f"encoder.{layer}.attention", columns) for layer in range(layers)]
        yield Case(
            f"encoder, {lengths}, {fields}",
            {"x": normal(random, sum(lengths), columns + 3)},
            build,
            judge,
            parts={name: rows for each in parts for name, rows in each.items()},
            seed=seed,
        )


def decoder_layer(leaves, name, x, source, lengths, source_lengths, heads, activation, norm_first):
    """nn.TransformerDecoderLayer on padded x and source."""
    module = nn.TransformerDecoderLayer(
        x.shape[-1],
        heads,
        len(leaves[f"{name}.feed.input.bias"]),
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm_first,
        **DOUBLE,
    )
    names = {"linear1": "feed.input", "linear2": "feed.output"}
    names.update(norm1="norm.0", norm2="norm.1", norm3="norm.2")
    parameters = {
        **attention_parameters(leaves, f"{name}.self", "self_attn."),
        **attention_parameters(leaves, f"{name}.cross", "multihead_attn."),
        **renamed(leaves, {theirs: f"{name}.{ours}" for theirs, ours in names.items()}),
    }
    masks = {
        "tgt_mask": causal_mask(x.shape[1]),
        "tgt_is_causal": True,
        "tgt_key_padding_mask": padding(lengths),
        "memory_key_padding_mask": padding(source_lengths, present=lengths),
    }
    return functional_call(module, parameters, (x, source), masks, strict=True)


def decoders():
    """Of one layer; the last norm of pre-norm ones."""
    for seed, activation, norm_first in itertools.product(SEEDS, ("relu", "gelu"), (True, False)):
        random = np.random.default_rng(seed)
        lengths, (heads, columns) = some_lengths(random), random_heads(random)
        columns = max(columns, 3 * heads)
        source_lengths = [int(n) for n in random.integers(1, 40, len(lengths))]
        fields = {"columns": columns, "source_columns": columns, "heads": heads, "layers": 1}
        fields.update(inner=int(random.integers(8, 80)), activation=activation, norm_first=int(norm_first))
        fields["position"] = "none"

        def build(made, n=lengths, m=source_lengths, f=fields):
            decoder = made.create("decoder", "decoder", network.options("decoder", **f))
            return lambda tape, v: tape.apply("decoder", decoder, v["x"], network.places(n, v["source"], m))

        def judge(leaves, n=lengths, m=source_lengths, h=heads, f=fields, first=norm_first):
            x, source = pad(leaves["x"], n), pad(leaves["source"], m, present=n)
            x = decoder_layer(leaves, "decoder.0", x, source, n, m, h, f["activation"], first)
            if first:
                width = x.shape[-1:]
                x = F.layer_norm(x, width, leaves["decoder.norm.gain"], leaves["decoder.norm.bias"])
            return cut(x, n)

        parts = attention_parts("decoder.0.self", columns)
        parts.update(attention_parts("decoder.0.cross", columns, source=True))
        yield Case(
            f"decoder, {lengths} on {source_lengths}, {fields}",
            {
                "x": normal(random, sum(lengths), columns),
                "source": normal(random, sum(source_lengths), columns),
            },
            build,
            judge,
            parts=parts,
            seed=seed,
        )


def feed_forward():
    for seed, activation, gated in itertools.product(SEEDS[:2], ACTIVATIONS, (False, True)):
        random = np.random.default_rng(seed)
        rows, columns, inner = (int(n) for n in random.integers(1, 70, 3))

        def build(made, c=columns, i=inner, act=activation, g=gated):
            number = attn.ACTIVATIONS.index(act)
            layer = made.create("feedforward", "feed", c, i, number, int(g), int(not g), 1.0)
            return lambda tape, v: tape.apply("feedforward", layer, v["x"])

        def judge(leaves, act=activation, g=gated):
            first = F.linear(leaves["x"], leaves["feed.input.weight"], leaves.get("feed.input.bias"))
            if g:
                gate, value = first.chunk(2, dim=-1)
                first = ACTIVATIONS[act](gate) * value
            else:
                first = ACTIVATIONS[act](first)
            return F.linear(first, leaves["feed.output.weight"], leaves.get("feed.output.bias"))

        yield Case(
            f"feed-forward, {rows} x {columns}, inner {inner}, {activation}, gated {gated}",
            {"x": normal(random, rows, columns)},
            build,
            judge,
            parts={"feed.input.weight": [inner] * 2} if gated else {},
            seed=seed,
        )
