"""Attention by PyTorch in double precision: what libattn's results are judged by.

A Case is one call of the operator; Inputs are its float32 arrays as [sequence]
[head, row, channel] lists of numpy arrays. Two judges, written independently:

    explicit   einsum, an explicit mask of who sees whom, softmax, autograd
    sdpa       torch.nn.functional.scaled_dot_product_attention with autograd

The first works sequence by sequence, the second on the padded batch.
"""

import math
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
import torch
import torch.nn.functional as F

UNLIMITED = -1


@dataclass
class Case:
    lengths: list = field(default_factory=lambda: [(64, 64)])  # (queries, keys) of every sequence
    heads: int = 2
    kv_heads: int = 2
    d_k: int = 64
    d_v: int = 64
    layout: str = "rows"  # rows: ragged 3-d; bnhd, bhnd: batched 4-d, in that memory order
    left: int = UNLIMITED
    right: int = UNLIMITED
    align_end: bool = False
    mask: Optional[tuple] = None  # per sequence?, per head? for a bit mask
    bias: Optional[tuple] = None  # over sequence, head, query, key: its own entry (True) or shared (False)
    bias_hides: bool = False  # some entries of the bias are -inf
    table: Optional[int] = None  # R of the bias by distance
    table_shared: bool = False  # over the heads
    alibi: bool = False
    softcap: float = 0.0
    scale: float = 0.0
    dropout: float = 0.0
    seed: int = 1

    @property
    def max_queries(self):
        return max(n for n, _ in self.lengths)

    @property
    def max_keys(self):
        return max(m for _, m in self.lengths)


@dataclass
class Inputs:
    query: list
    key: list
    value: list
    d_output: list
    mask: Optional[np.ndarray] = None
    bias: Optional[np.ndarray] = None
    table: Optional[np.ndarray] = None
    slopes: Optional[np.ndarray] = None


def make_inputs(case):
    random = np.random.default_rng(case.seed)

    def normal(*shape):
        return random.standard_normal(shape, dtype=np.float32)

    inputs = Inputs(
        query=[normal(case.heads, n, case.d_k) for n, _ in case.lengths],
        key=[normal(case.kv_heads, m, case.d_k) for _, m in case.lengths],
        value=[normal(case.kv_heads, m, case.d_v) for _, m in case.lengths],
        d_output=[normal(case.heads, n, case.d_v) for n, _ in case.lengths],
    )
    if case.mask:
        shape = (
            len(case.lengths) if case.mask[0] else 1,
            case.heads if case.mask[1] else 1,
            case.max_queries,
            case.max_keys,
        )
        inputs.mask = random.random(shape) < 0.6
        inputs.mask[:, :, case.max_queries // 2, :] = False  # one query that may see nothing
    if case.bias:
        extents = (len(case.lengths), case.heads, case.max_queries, case.max_keys)
        inputs.bias = normal(*[extent if own else 1 for extent, own in zip(extents, case.bias)])
        if case.bias_hides:
            inputs.bias[random.random(inputs.bias.shape) < 0.2] = -np.inf
    if case.table is not None:
        inputs.table = normal(1 if case.table_shared else case.heads, 2 * case.table + 1)
    if case.alibi:
        inputs.slopes = (2.0 ** -np.arange(1, case.heads + 1)).astype(np.float32)
    return inputs


def relative_positions(case, queries, keys):
    """j - i' for every query i and key j."""
    shift = keys - queries if case.align_end else 0
    return torch.arange(keys)[None, :] - (torch.arange(queries)[:, None] + shift)


def visible(case, inputs, sequence):
    """[1 or heads, queries, keys]: who sees whom, by reach and mask."""
    queries, keys = case.lengths[sequence]
    distance = relative_positions(case, queries, keys)
    seen = torch.ones(1, queries, keys, dtype=torch.bool)
    if case.left != UNLIMITED:
        seen = seen & (distance >= -case.left)
    if case.right != UNLIMITED:
        seen = seen & (distance <= case.right)
    if inputs.mask is not None:
        seen = seen & torch.from_numpy(inputs.mask[sequence if case.mask[0] else 0, :, :queries, :keys])
    return seen


def score_terms(case, sequence, leaves, slopes):
    """What is added to the scores: [1 or heads, 1 or queries, 1 or keys]. And where that is -inf."""
    queries, keys = case.lengths[sequence]
    distance = relative_positions(case, queries, keys)
    added = torch.zeros(1, 1, 1, dtype=torch.float64)
    hidden = torch.zeros(1, 1, 1, dtype=torch.bool)
    if "bias" in leaves:
        bias = leaves["bias"][sequence if case.bias[0] else 0]
        bias = bias[:, : queries if case.bias[2] else 1, : keys if case.bias[3] else 1]
        hidden = torch.isinf(bias.detach())
        added = added + torch.where(hidden, 0.0, bias)
    if "distance_bias" in leaves:
        entry = distance.clamp(-case.table, case.table) + case.table
        added = added + leaves["distance_bias"][:, entry]
    if slopes is not None:
        added = added - torch.from_numpy(slopes).double()[:, None, None] * distance.abs()
    return added, hidden


def make_leaves(inputs):
    """The double precision copies that gradients are asked for."""

    def leaf(array):
        return torch.from_numpy(array).double().requires_grad_()

    leaves = {name: [leaf(a) for a in getattr(inputs, name)] for name in ("query", "key", "value")}
    if inputs.bias is not None:
        leaves["bias"] = leaf(inputs.bias)
    if inputs.table is not None:
        leaves["distance_bias"] = leaf(inputs.table)
    return leaves


def shared_heads(case, key):
    """Key or value heads as many as query heads: query head h reads h // (heads / kv_heads)."""
    return key.repeat_interleave(case.heads // case.kv_heads, dim=0)


def explicit_sequence(case, inputs, sequence, leaves, keep):
    """Output, log-sum-exp, weights, scores of one sequence. keep: None, or what the dropout left."""
    query, key, value = (leaves[name][sequence] for name in ("query", "key", "value"))
    scale = case.scale or 1 / math.sqrt(case.d_k)
    scores = scale * torch.einsum("hid,hjd->hij", query, shared_heads(case, key))
    if case.softcap:
        scores = case.softcap * torch.tanh(scores / case.softcap)
    added, hidden = score_terms(case, sequence, leaves, inputs.slopes)
    scores = scores + added
    scores.retain_grad()
    seen = (visible(case, inputs, sequence) & ~hidden).expand(scores.shape)
    # The large negative number makes a row that may see nothing uniform, and the product makes it 0.
    weights = torch.softmax(torch.where(seen, scores, -1e300), dim=-1) * seen
    top = torch.where(seen, scores, -math.inf)
    log_sum_exp = torch.logsumexp(top, dim=-1) if top.shape[-1] else torch.full(top.shape[:-1], -math.inf)
    if keep is not None:
        weights = weights * keep / (1 - case.dropout)
    return torch.einsum("hij,hjd->hid", weights, shared_heads(case, value)), log_sum_exp, weights, scores


def collect(inputs, leaves, outputs):
    """Values and gradients by name; what is ragged is a list over the sequences."""
    total = sum(
        (output * torch.from_numpy(d_output).double()).sum()
        for output, d_output in zip(outputs, inputs.d_output, strict=True)
    )
    total.backward()
    results = {"output": [output.detach().numpy() for output in outputs]}
    for name, leaf in leaves.items():
        if isinstance(leaf, list):
            results["d " + name] = [
                (l.grad if l.grad is not None else torch.zeros_like(l)).numpy() for l in leaf
            ]
        else:
            gradient = leaf.grad if leaf.grad is not None else torch.zeros_like(leaf)
            results["d " + name] = torch.where(torch.isinf(leaf.detach()), 0.0, gradient).numpy()
    return results


def term_sizes(case, inputs, scores):
    """The length (root of the sum of squares) of the terms that the gradients of the biases are sums of.

    Whatever is added to all keys of a query alike changes nothing: such a gradient is 0, but as the sum of
    many terms that are not, and rounding grows with their length.
    """
    leaves = make_leaves(inputs)
    biases = {name: leaves[name] for name in ("bias", "distance_bias") if name in leaves}
    if not biases:
        return {}
    total = sum(
        (score_terms(case, b, leaves, None)[0] * score.grad.square()).sum() for b, score in enumerate(scores)
    )
    total.backward()
    return {"d " + name: leaf.grad.max().sqrt().item() for name, leaf in biases.items()}


def explicit(case, inputs, keep=None):
    """Values and gradients by name, and the sizes of the terms behind those of the biases."""
    leaves = make_leaves(inputs)
    parts = [
        explicit_sequence(case, inputs, b, leaves, keep[b] if keep else None)
        for b in range(len(case.lengths))
    ]
    outputs, log_sum_exps, weights, scores = zip(*parts, strict=True)
    results = collect(inputs, leaves, outputs)
    results["log-sum-exp"] = [part.detach().numpy() for part in log_sum_exps]
    results["weights"] = [part.detach().numpy() for part in weights]
    return results, term_sizes(case, inputs, scores)


def sdpa_can(case, inputs):
    """SDPA has no softcap, its dropout is its own, and rows that see nothing are not asked of it."""
    if case.softcap or case.dropout or case.bias_hides:
        return False
    return all(
        visible(case, inputs, b).any(-1).all() and min(case.lengths[b]) > 0 for b in range(len(case.lengths))
    )


def pad(parts, rows):
    """Sequences of [head, row, channel] behind each other, padded with zero rows."""
    return torch.stack([F.pad(part, (0, 0, 0, rows - part.shape[1])) for part in parts])


def sdpa(case, inputs):
    """The padded batch through scaled_dot_product_attention, padding hidden by its mask."""
    leaves = make_leaves(inputs)
    rows, columns = case.max_queries, case.max_keys
    query = pad(leaves["query"], rows)
    key, value = (
        pad([shared_heads(case, part) for part in leaves[name]], columns) for name in ("key", "value")
    )
    masks = []
    for b, (queries, keys) in enumerate(case.lengths):
        added, _ = score_terms(case, b, leaves, inputs.slopes)
        seen = visible(case, inputs, b)
        mask = torch.where(seen, added, -math.inf).expand(case.heads, queries, keys)
        mask = F.pad(mask, (0, columns - keys), value=-math.inf)
        masks.append(
            F.pad(mask, (0, 0, 0, rows - queries), value=0.0)
        )  # padded queries see all, and are cut off
    plain = not (
        inputs.bias is not None or inputs.table is not None or case.alibi or len(set(case.lengths)) > 1
    )
    scale = case.scale or None
    if plain and case.left == UNLIMITED and case.right == UNLIMITED:
        padded = F.scaled_dot_product_attention(query, key, value, scale=scale)
    elif plain and case.left == UNLIMITED and case.right == 0 and not case.align_end:
        padded = F.scaled_dot_product_attention(query, key, value, scale=scale, is_causal=True)
    else:
        padded = F.scaled_dot_product_attention(query, key, value, attn_mask=torch.stack(masks), scale=scale)
    return collect(inputs, leaves, [padded[b, :, :queries] for b, (queries, _) in enumerate(case.lengths)])
