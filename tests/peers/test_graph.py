"""libattn on graphs against PyTorch Geometric in double precision, and its scores against PyTorch.

GATConv, GATv2Conv and TransformerConv, each as a whole layer, with values and
the gradients of every input and parameter: PyTorch Geometric's own forward
pass, and the same layer with its linear maps in PyTorch and libattn in place
of scores, softmax and sums. Then every score and weighting on positions
against its definition written with broadcasting, and on graphs with edge
features against its definition edge by edge. By the rule of test_attention.py,
on every instruction set, with one thread and with two.

Inputs and weights are drawn on a coarse binary grid, so that float32 holds the
projections, and what LeakyReLU bends at 0, without rounding: both sides then
stand on the same side of the bend. (Not for ReLU as a weighting, which bends
at the score itself: a grid would put scores on the bend.)

DATA=<folder> in the environment: also on the real graph in DATA/cora.
"""

import itertools
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric
from torch_geometric.nn import GATConv, GATv2Conv, TransformerConv
from torch_geometric.utils import add_self_loops, remove_self_loops

import attn
from test_attention import Tally, contexts, disagreement

GRID = 16  # numbers are multiples of 1 / GRID
LOOP_FEATURE = 0.5  # of the self-loops that are added; a mean would not be on the grid


def on_grid(random, shape, size):
    """Normal numbers of the standard deviation `size`, on the grid, in double."""
    return torch.from_numpy(np.round(random.standard_normal(shape) * size * GRID) / GRID)


class Operator(torch.autograd.Function):
    """libattn as a function of double tensors, which are rounded to float32 on the way in.

    how: "context", "pattern", and the options that are no tensors; "results" receives the weights and the
    gradient of the keys. names: of the tensors: query, key, value, then fields of the options.
    """

    @staticmethod
    def forward(state, how, names, *tensors):
        arrays = {
            name: np.ascontiguousarray(tensor.detach().numpy(), np.float32)
            for name, tensor in zip(names, tensors, strict=True)
        }
        inputs = [arrays[name] for name in ("query", "key", "value")]
        plain = {name: value for name, value in how.items() if name not in ("context", "pattern", "results")}
        options = attn.options(**plain, **{name: arrays[name] for name in names[3:]})
        output = np.full((*inputs[0].shape[:2], inputs[2].shape[2]), np.nan, np.float32)
        log_sum_exp = np.full(output.shape[:2], np.nan, np.float32)
        context, pattern = how["context"], how["pattern"]
        weights = np.full(context.weights_count(*inputs[:2], pattern), np.nan, np.float32)
        context.forward(*inputs, output, pattern, options, log_sum_exp, weights if weights.size else None)
        state.saved = how, names, arrays, options, output, log_sum_exp
        how["results"]["weights"] = weights
        return torch.from_numpy(output).double()

    @staticmethod
    def backward(state, d_output):
        how, names, arrays, options, output, log_sum_exp = state.saved
        gradients = {name: np.full_like(array, np.nan) for name, array in arrays.items()}
        how["context"].backward(
            *(arrays[name] for name in ("query", "key", "value")),
            output,
            log_sum_exp,
            np.ascontiguousarray(d_output.numpy(), np.float32),
            gradients,
            how["pattern"],
            options,
        )
        how["results"]["d key"] = gradients["key"]
        return None, None, *(torch.from_numpy(gradients[name]).double() for name in names)


def operate(how, **tensors):
    """query, key, value, then what the options call by the same names; None is left out."""
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    return Operator.apply(how, tuple(given), *given.values())


def both_sides(x):
    """Sources and targets."""
    return x if isinstance(x, tuple) else (x, x)


def edge_vectors(conv, edge_attr):
    return None if edge_attr is None else conv.lin_edge(edge_attr).view(-1, conv.heads, conv.out_channels)


def our_gat(conv, how, x, edge_attr):
    shape = (-1, conv.heads, conv.out_channels)
    if conv.lin is not None:
        source = target = conv.lin(x).view(shape)
    else:
        source, target = conv.lin_src(x[0]).view(shape), conv.lin_dst(x[1]).view(shape)
    edges = edge_vectors(conv, edge_attr)
    output = operate(
        {**how, "score": "gat", "leaky_slope": conv.negative_slope},
        query=target,
        key=source,
        value=source,
        score_vector=conv.att_dst[0],
        key_score_vector=conv.att_src[0],
        edge_bias=None if edges is None else (edges * conv.att_edge).sum(-1),
    )
    return output.flatten(1) + conv.bias


def our_gatv2(conv, how, x, edge_attr):
    shape = (-1, conv.heads, conv.out_channels)
    source, target = both_sides(x)
    left = conv.lin_l(source).view(shape)
    output = operate(
        {**how, "score": "gatv2", "leaky_slope": conv.negative_slope},
        query=conv.lin_r(target).view(shape),
        key=left,
        value=left,
        score_vector=conv.att[0],
        edge_key=edge_vectors(conv, edge_attr),
    )
    return output.flatten(1) + conv.bias


def our_transformer(conv, how, x, edge_attr):
    shape = (-1, conv.heads, conv.out_channels)
    source, target = both_sides(x)
    edges = edge_vectors(conv, edge_attr)
    output = operate(
        how,
        query=conv.lin_query(target).view(shape),
        key=conv.lin_key(source).view(shape),
        value=conv.lin_value(source).view(shape),
        edge_key=edges,
        edge_value=edges,
    )
    return output.flatten(1) + conv.lin_skip(target)


LAYERS = {
    "GATConv": (GATConv, our_gat),
    "GATv2Conv": (GATv2Conv, our_gatv2),
    "TransformerConv": (TransformerConv, our_transformer),
}


@dataclass
class Edges:
    """source and target of every edge; rows of libattn are targets, columns are sources."""

    index: torch.Tensor
    sources: int
    targets: int


def random_edges(seed, sources, targets, count):
    """Some nodes without edges, some edges twice, some self-loops."""
    random = np.random.default_rng(seed)
    source, target = random.integers(0, sources, count), random.integers(0, targets, count)
    index = np.stack([source, target])[:, target % 5 != 3]
    doubled = index[:, : count // 8]
    loops = np.tile(random.integers(0, min(sources, targets), count // 10), (2, 1))
    index = np.concatenate([index, doubled, loops], axis=1)
    return Edges(torch.from_numpy(random.permutation(index, axis=1)), sources, targets)


@dataclass
class LayerCase:
    layer: str
    edges: Edges
    heads: int
    channels: int
    edge_dim: Optional[int] = None
    self_loops: bool = False  # PyTorch Geometric's; libattn gets them by attn_graph_add_self_loops
    x: Optional[torch.Tensor] = None  # None: drawn
    seed: int = 1
    name: str = "random"

    def describe(self):
        return (
            f"{self.layer}, {self.name} graph, {self.edges.sources} to {self.edges.targets} nodes, "
            f"{self.edges.index.shape[1]} edges, {self.heads} x {self.channels}, edge features "
            f"{self.edge_dim or 0}{', self-loops' if self.self_loops else ''}, seed {self.seed}"
        )


@dataclass
class Layer:
    """A layer of PyTorch Geometric with its inputs, all on the grid."""

    conv: torch.nn.Module
    inputs: list  # x, or sources and targets; then the edge features
    d_output: torch.Tensor
    leaves: dict = field(default_factory=dict)

    @property
    def x(self):
        return self.inputs[0] if len(self.inputs) == 2 else tuple(self.inputs[:2])

    @property
    def edge_attr(self):
        return self.inputs[-1]


def make_layer(case):
    random = np.random.default_rng(case.seed)
    edges, bipartite = case.edges, case.edges.sources != case.edges.targets
    features = 6 if case.x is None else case.x.shape[1]
    arguments = {"add_self_loops": case.self_loops, "fill_value": LOOP_FEATURE}
    if case.layer == "TransformerConv":
        arguments = {}
    conv = LAYERS[case.layer][0](
        (features, features) if bipartite else features,
        case.channels,
        heads=case.heads,
        edge_dim=case.edge_dim,
        **arguments,
    ).double()
    for parameter in conv.parameters():
        parameter.data = on_grid(random, tuple(parameter.shape), 0.3)
    if case.x is not None:
        inputs = [case.x.clone()]
    else:
        inputs = [on_grid(random, (count, features), 1) for count in (edges.sources, edges.targets)]
        inputs = inputs if bipartite else inputs[:1]
    inputs.append(on_grid(random, (edges.index.shape[1], case.edge_dim), 1) if case.edge_dim else None)
    d_output = random.standard_normal((edges.targets, case.heads * case.channels), dtype=np.float32)
    layer = Layer(conv, inputs, torch.from_numpy(d_output).double())
    names = ["edge_attr"] if len(inputs) < 2 else [*("x", "x_target")[: len(inputs) - 1], "edge_attr"]
    for name, tensor in zip(names, inputs, strict=True):
        if tensor is not None:
            layer.leaves[name] = tensor.requires_grad_()
    layer.leaves.update(conv.named_parameters())
    return layer


def gradients(layer, output):
    """The gradients of all leaves, by name."""
    found = torch.autograd.grad(output, list(layer.leaves.values()), layer.d_output, allow_unused=True)
    return {
        "d " + name: (torch.zeros_like(leaf) if gradient is None else gradient).numpy()
        for (name, leaf), gradient in zip(layer.leaves.items(), found, strict=True)
    }


def judge_layer(case, layer):
    """By PyTorch Geometric."""
    output, (_, weights) = layer.conv(
        layer.x, case.edges.index, layer.edge_attr, return_attention_weights=True
    )
    return {
        "output": output.detach().numpy(),
        "weights": weights.detach().numpy(),
        **gradients(layer, output),
    }


def our_graph(tally, context, case, edge_attr):
    """libattn's graph of the case, with its edge features: with self-loops, those of PyTorch Geometric."""
    edges = case.edges
    if not case.self_loops:
        return context.graph(edges.targets, edges.sources, edges.index[1], edges.index[0]), edge_attr
    index, edge_attr = remove_self_loops(edges.index, edge_attr)
    graph = context.with_self_loops(context.graph(edges.targets, edges.sources, index[1], index[0]))
    index, edge_attr = add_self_loops(index, edge_attr, fill_value=LOOP_FEATURE, num_nodes=edges.targets)
    row_of, column_of = graph.edge_list()
    tally.check(
        np.array_equal(row_of, index[1]) and np.array_equal(column_of, index[0]),
        f"edges after attn_graph_add_self_loops; {case.describe()}",
    )
    return graph, edge_attr


def run_layer(tally, context, case, layer):
    """By libattn: the same names as judge_layer's; and the sizes of terms that sum to 0."""
    graph, edge_attr = our_graph(tally, context, case, layer.edge_attr)
    how = {"context": context, "pattern": attn.pattern(graph=graph), "results": {}}
    output = LAYERS[case.layer][1](layer.conv, how, layer.x, edge_attr)
    results = {
        "output": output.detach().numpy(),
        "weights": how["results"]["weights"],
        **gradients(layer, output),
    }
    return results, zero_sum_sizes(case, how["results"]["d key"])


def zero_sum_sizes(case, d_key):
    """The sizes (roots of the sums of squares) of the terms that true zeros are sums of.

    A constant added to all keys moves all scores of a query alike: the gradient of TransformerConv's bias of
    the keys is 0, as the sum of the keys' gradients over all nodes.
    """
    if case.layer != "TransformerConv":
        return {}
    return {"d lin_key.bias": float(np.sqrt(np.square(d_key, dtype=np.float64).sum(0).max()))}


def check_layer(tally, everyone, case):
    layer = make_layer(case)
    theirs = judge_layer(case, layer)
    for context in everyone:
        who = f"{context.isa}, {context.threads} threads; {case.describe()}"
        try:
            ours, sizes = run_layer(tally, context, case, layer)
        except attn.Error as error:
            tally.check(False, f"{error}; {who}")
            continue
        for name, b in theirs.items():
            problem = disagreement(ours[name], b, sizes.get(name, 0.0))
            tally.check(problem is None, f"{name}: {problem}; {who}")


SHAPES = ((1, 8), (2, 16), (8, 8), (3, 5), (4, 64), (1, 1), (2, 100))


def layer_cases(layer):
    """Random graphs over heads and channels, with and without edge features and self-loops, and bipartite."""
    loops = (False,) if layer == "TransformerConv" else (False, True)
    for seed, ((heads, channels), edge_dim, self_loops) in enumerate(
        itertools.product(SHAPES, (None, 3), loops)
    ):
        nodes, count = ((40, 150), (120, 1500), (300, 900))[seed % 3]
        edges = random_edges(seed, nodes, nodes, count)
        yield LayerCase(layer, edges, heads, channels, edge_dim, self_loops, seed=seed)
    for seed, edge_dim in ((90, None), (91, 3)):
        yield LayerCase(layer, random_edges(seed, 50, 31, 200), 2, 16, edge_dim, seed=seed)


def read_graph(folder):
    """The edges of DATA/<name> both ways, and its binary features."""
    pairs = np.loadtxt(folder / "edges.tsv", dtype=np.int64, delimiter="\t")
    with open(folder / "nodes.tsv", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    sets = [[int(number) for number in line[3].split()] for line in lines]
    x = torch.zeros(len(sets), 1 + max(max(numbers, default=0) for numbers in sets), dtype=torch.float64)
    for node, numbers in enumerate(sets):
        x[int(lines[node][0]), numbers] = 1
    index = torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
    return Edges(index, len(sets), len(sets)), x


def check_real(tally, everyone, folder):
    edges, x = read_graph(folder / "cora")
    for (layer, shape), edge_dim in itertools.product(
        {"GATConv": (8, 8), "GATv2Conv": (8, 8), "TransformerConv": (4, 16)}.items(), (None, 3)
    ):
        for self_loops in (False, True)[: 1 if layer == "TransformerConv" else 2]:
            check_layer(
                tally, everyone, LayerCase(layer, edges, *shape, edge_dim, self_loops, x=x, name="cora")
            )


@dataclass
class ScoreCase:
    """A score and a weighting, on positions or on a graph."""

    score: str
    weighting: str = "softmax"
    average: bool = False
    queries: int = 33
    keys: int = 33
    heads: int = 2
    kv_heads: int = 2
    d_k: int = 16
    d_v: int = 16
    left: int = attn.UNLIMITED
    right: int = attn.UNLIMITED
    bias: bool = False
    edges: Optional[Edges] = None  # a graph, with all edge features that the score has
    seed: int = 1

    def describe(self):
        default = ScoreCase("")
        return ", ".join(
            f"{name} {value if name != 'edges' else value.index.shape[1]}"
            for name, value in vars(self).items()
            if name == "score" or value != getattr(default, name)
        )


def make_score_leaves(case):
    random = np.random.default_rng(case.seed)

    def draw(shape, size):
        if case.weighting != "relu":
            return on_grid(random, shape, size)
        return torch.from_numpy(random.standard_normal(shape, dtype=np.float32)).double() * size

    leaves = {
        "query": draw((case.queries, case.heads, case.d_k), 1),
        "key": draw((case.keys, case.kv_heads, case.d_k), 1),
        "value": draw((case.keys, case.kv_heads, case.d_v), 1),
    }
    if case.score in ("additive", "gat", "gatv2"):
        leaves["score_vector"] = draw((case.heads, case.d_k), 0.5)
    if case.score == "gat":
        leaves["key_score_vector"] = draw((case.heads, case.d_k), 0.5)
    if case.bias:
        leaves["bias"] = draw((1, case.heads, case.queries, case.keys), 1)
    if case.edges is not None:
        count = case.edges.index.shape[1]
        leaves["edge_bias"] = draw((count, case.heads), 1)
        leaves["edge_value"] = draw((count, case.heads, case.d_v), 1)
        if case.score in ("dot", "additive", "gatv2"):
            leaves["edge_key"] = draw((count, case.heads, case.d_k), 1)
    d_output = random.standard_normal((case.queries, case.heads, case.d_v), dtype=np.float32)
    return {name: leaf.requires_grad_() for name, leaf in leaves.items()}, torch.from_numpy(d_output).double()


def scores_of(case, query, key, leaves, inside=0.0):
    """query and key broadcast against each other, channels last; inside: added inside GAT's LeakyReLU."""
    a, b = leaves.get("score_vector"), leaves.get("key_score_vector")
    if case.score == "dot":
        return (query * key).sum(-1) / np.sqrt(case.d_k)
    if case.score == "additive":
        return (a * torch.tanh(query + key)).sum(-1)
    if case.score == "gatv2":
        return (a * F.leaky_relu(query + key, 0.2)).sum(-1)
    if case.score == "gat":
        return F.leaky_relu((a * query).sum(-1) + (b * key).sum(-1) + inside, 0.2)
    return (0 * query * key).sum(-1)


def other_weights(case, scores, seen_count):
    """Those that need no softmax."""
    weights = {"relu": torch.relu, "sigmoid": torch.sigmoid, "raw": lambda s: s}[case.weighting](scores)
    return weights / seen_count if case.average else weights


def judge_positions(case, leaves):
    """Output and weights by the definition: [query, key, head] arrays, broadcasting."""
    group = case.heads // case.kv_heads
    key, value = (leaves[name].repeat_interleave(group, dim=1) for name in ("key", "value"))
    scores = scores_of(case, leaves["query"][:, None], key[None], leaves)
    if case.bias:
        scores = scores + leaves["bias"][0].permute(1, 2, 0)
    distance = torch.arange(case.keys)[None, :] - torch.arange(case.queries)[:, None]
    seen = torch.ones_like(distance, dtype=torch.bool)
    if case.left != attn.UNLIMITED:
        seen &= distance >= -case.left
    if case.right != attn.UNLIMITED:
        seen &= distance <= case.right
    seen = seen[..., None]
    if case.weighting == "softmax":
        weights = torch.softmax(torch.where(seen, scores, -1e300), dim=1) * seen
    else:
        weights = other_weights(case, scores, seen.sum(1, keepdim=True).clamp(min=1)) * seen
    return torch.einsum("ijh,jhd->ihd", weights, value), weights


def judge_edges(case, leaves):
    """The same edge by edge, with edge features."""
    source, target = case.edges.index
    group = case.heads // case.kv_heads
    query, (key, value) = (
        leaves["query"][target],
        (leaves[name].repeat_interleave(group, dim=1)[source] for name in ("key", "value")),
    )
    if "edge_key" in leaves:
        key = key + leaves["edge_key"]
    inside = leaves["edge_bias"] if case.score == "gat" else 0.0
    scores = scores_of(case, query, key, leaves, inside)
    if case.score != "gat":
        scores = scores + leaves["edge_bias"]
    rows = target[:, None].expand(scores.shape)
    zeros = torch.zeros(case.queries, case.heads, dtype=torch.float64)
    if case.weighting == "softmax":
        top = zeros.scatter_reduce(0, rows, scores.detach(), "amax", include_self=False)
        powers = torch.exp(scores - top[target])
        weights = powers / zeros.index_add(0, target, powers)[target]
    else:
        count = torch.bincount(target, minlength=case.queries)[target][:, None]
        weights = other_weights(case, scores, count)
    summed = torch.zeros(case.queries, case.heads, case.d_v, dtype=torch.float64)
    return summed.index_add(0, target, weights[..., None] * (value + leaves["edge_value"])), weights


def run_score(context, case, leaves):
    if case.edges is not None:
        index = case.edges.index
        pattern = attn.pattern(graph=context.graph(case.queries, case.keys, index[1], index[0]))
    else:
        pattern = attn.pattern(left=case.left, right=case.right)
    how = {
        "context": context,
        "pattern": pattern,
        "results": {},
        "score": case.score,
        "weighting": case.weighting,
        "average": case.average,
    }
    return operate(how, **leaves), how["results"]["weights"]


def flat_weights(case, weights):
    """The judge's in the order of the library's; None where the library keeps a band."""
    if case.edges is not None:
        return weights.detach().numpy().ravel()
    if case.left != attn.UNLIMITED and case.right != attn.UNLIMITED:
        return None
    return weights.detach().permute(2, 0, 1).numpy().ravel()


def score_results(case, leaves, d_output, output, weights):
    found = torch.autograd.grad(output, list(leaves.values()), d_output, allow_unused=True)
    results = {
        "d " + name: (torch.zeros_like(leaf) if gradient is None else gradient).numpy()
        for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
    }
    if weights is not None:
        results["weights"] = weights
    return {"output": output.detach().numpy(), **results}


def check_score(tally, everyone, case):
    leaves, d_output = make_score_leaves(case)
    output, weights = (judge_positions if case.edges is None else judge_edges)(case, leaves)
    theirs = score_results(case, leaves, d_output, output, flat_weights(case, weights))
    for context in everyone:
        who = f"{context.isa}, {context.threads} threads; {case.describe()}"
        try:
            ours = score_results(case, leaves, d_output, *run_score(context, case, leaves))
        except attn.Error as error:
            tally.check(False, f"{error}; {who}")
            continue
        for name, b in theirs.items():
            problem = disagreement(ours[name], b)
            tally.check(problem is None, f"{name}: {problem}; {who}")


def additive_cases():
    for n, d, (left, right) in itertools.product(
        (1, 7, 64, 129), (1, 8, 64, 100), ((-1, -1), (-1, 0), (5, 5))
    ):
        yield ScoreCase("additive", queries=n, keys=n, d_k=d, d_v=d, left=left, right=right, seed=n + d)
    for (queries, keys), (heads, kv_heads) in itertools.product(((5, 40), (40, 5)), ((8, 8), (6, 2))):
        yield ScoreCase("additive", queries=queries, keys=keys, heads=heads, kv_heads=kv_heads, d_v=24)


def weighting_cases():
    for score, weighting, average, bias, right in itertools.product(
        attn.SCORES, attn.WEIGHTINGS, (False, True), (False, True), (-1, 0)
    ):
        if (average and weighting == "softmax") or (score == "none" and not bias):
            continue
        yield ScoreCase(score, weighting, average, bias=bias, right=right)


def edge_feature_cases():
    for seed, (score, weighting, (heads, kv_heads)) in enumerate(
        itertools.product(attn.SCORES, attn.WEIGHTINGS, ((2, 2), (4, 2)))
    ):
        yield ScoreCase(
            score,
            weighting,
            average=weighting != "softmax",
            queries=60,
            keys=45,
            heads=heads,
            kv_heads=kv_heads,
            d_v=12,
            edges=random_edges(seed, 45, 60, 400),
            seed=seed,
        )


def main():
    torch.set_num_threads(1)  # the tensors are small
    everyone = contexts()
    names = ", ".join(dict.fromkeys(context.isa for context in everyone))
    print(
        f"libattn {attn.library.attn_version().decode()} ({names}; 1 and 2 threads) on graphs against "
        f"PyTorch Geometric {torch_geometric.__version__} in double"
    )
    tally = Tally()
    for layer in LAYERS:
        for case in layer_cases(layer):
            check_layer(tally, everyone, case)
        tally.close_group(f"{layer}, random graphs")
    if os.environ.get("DATA"):
        check_real(tally, everyone, Path(os.environ["DATA"]))
        tally.close_group("all three, the real graph cora")
    else:
        print("the real graph was NOT tested: DATA=<folder with cora> is not given")
    for name, cases in {
        "additive score, positions": additive_cases,
        "scores x weightings, positions": weighting_cases,
        "scores x weightings, graphs, edge features": edge_feature_cases,
    }.items():
        for case in cases():
            check_score(tally, everyone, case)
        tally.close_group(name)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
