"""libattn against PyTorch in double precision: values and all gradients, over a grid.

Every case runs on every instruction set that the machine has, with one thread
and with two, and every tensor that comes out must satisfy

    max |a - b| <= 1e-5 max |b|

with b PyTorch's; where b is 0 throughout, 1e-5 absolutely, or of the size of
the terms whose sum is 0 (judge.term_sizes). One line a group; exit status 1 if anything failed.
"""

import itertools
import sys
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

import attn
import judge
from judge import UNLIMITED, Case

TOLERANCE = 1e-5
PATTERNS = {
    "full": (UNLIMITED, UNLIMITED),
    "causal": (UNLIMITED, 0),
    "window": (5, 5),
    "left window": (16, 0),
    "right only": (0, UNLIMITED),
}


def contexts():
    """One context for every instruction set of this machine and one or two threads."""
    found = []
    for isa in ("scalar", "neon", "avx2", "avx512", "avx512x2"):
        try:
            found += [attn.Context(threads=threads, isa=isa) for threads in (1, 2)]
        except attn.Error as error:
            if error.status != attn.UNSUPPORTED:
                raise
    if not any(context.isa == "scalar" for context in found):
        sys.exit("the library has no scalar kernels")
    return found


class Tally:
    """Counts what passed and failed, group by group."""

    def __init__(self):
        self.passed = self.failed = 0
        self.group_passed = self.group_failed = 0

    def check(self, good, text):
        if good:
            self.group_passed += 1
        else:
            self.group_failed += 1
            print(f"  FAILED {text}")

    def close_group(self, name):
        print(f"{name:<44} {self.group_passed:>6} passed {self.group_failed:>4} failed", flush=True)
        self.passed += self.group_passed
        self.failed += self.group_failed
        self.group_passed = self.group_failed = 0


def flat(value):
    if isinstance(value, list):
        return np.concatenate([np.asarray(part, np.float64).ravel() for part in value])
    return np.asarray(value, np.float64).ravel()


def disagreement(ours, theirs, term_size=0.0):
    """None, or in words how far our tensor is from theirs. term_size: of the terms that a 0 is the sum of."""
    a, b = flat(ours), flat(theirs)
    if a.shape != b.shape:
        return f"{a.size} elements against {b.size}"
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite]):
        return "other places are not finite"
    if not finite.any():
        return None
    largest, size = np.abs(b[finite]).max(), max(1.0, term_size)
    # What double rounding leaves of a true 0 counts as 0.
    bound = TOLERANCE * (largest if largest > 1e-12 * size else size)
    error = np.abs(a[finite] - b[finite]).max()
    return None if error <= bound else f"error {error:.2e} over {bound:.2e}"


def arrange(case, parts, rows, fill):
    """[sequence][head, row, channel] as the array of the case's layout; rows past a length hold `fill`."""
    if case.layout == "rows":
        return np.ascontiguousarray(np.concatenate(parts, axis=1).transpose(1, 0, 2))
    heads, _, channels = parts[0].shape
    memory = np.full((len(parts), heads, rows, channels), fill, np.float32)
    if case.layout == "bnhd":
        memory = np.full((len(parts), rows, heads, channels), fill, np.float32).transpose(0, 2, 1, 3)
    for b, part in enumerate(parts):
        memory[b, :, : part.shape[1]] = part
    return memory.transpose(0, 2, 1, 3)


def take_apart(case, array, lengths):
    """The inverse of arrange."""
    if case.layout == "rows":
        bounds = np.cumsum([0, *lengths])
        return [array[start:end].swapaxes(0, 1) for start, end in zip(bounds[:-1], bounds[1:])]
    return [array[b, :length].swapaxes(0, 1) for b, length in enumerate(lengths)]


def make_pattern(case, inputs):
    arguments = {"left": case.left, "right": case.right, "align": int(case.align_end), "mask": inputs.mask}
    queries, keys = zip(*case.lengths)
    if case.layout == "rows":
        if len(queries) > 1 or queries != keys:
            arguments["query_offsets"] = np.cumsum([0, *queries])
        if queries != keys:
            arguments["key_offsets"] = np.cumsum([0, *keys])
    else:
        if len(set(queries)) > 1:
            arguments["query_lengths"] = queries
        if len(set(keys)) > 1:
            arguments["key_lengths"] = keys
    return attn.pattern(**arguments)


def dense_weights(context, case, pattern, query, key, weights):
    """The weights as [sequence][head, query, key], also where the library keeps a band."""
    dense = []
    for b, (queries, keys) in enumerate(case.lengths):
        layout = context.weights_layout(query, key, b, pattern)
        full = np.zeros((case.heads, queries, keys))
        size = case.heads * queries * layout.width
        band = weights[layout.offset : layout.offset + size].reshape(case.heads, queries, layout.width)
        for i, c in itertools.product(range(queries), range(layout.width)) if layout.key_step else ():
            j = layout.first_key + i * layout.key_step + c
            if 0 <= j < keys:
                full[:, i, j] = band[:, i, c]
        dense.append(full if layout.key_step else band)
    return dense


def run_library(context, case, inputs):
    """Values and gradients by name, as the judges give them."""
    pattern = make_pattern(case, inputs)
    options = attn.options(
        scale=case.scale,
        softcap=case.softcap,
        alibi_slopes=inputs.slopes,
        bias=inputs.bias,
        distance_bias=inputs.table,
        dropout=case.dropout,
        seed=case.seed,
    )
    rows, columns = case.max_queries, case.max_keys
    query, d_output = (arrange(case, parts, rows, np.nan) for parts in (inputs.query, inputs.d_output))
    key, value = (arrange(case, parts, columns, np.nan) for parts in (inputs.key, inputs.value))
    output = np.full_like(d_output, np.nan)
    log_sum_exp = np.full(output.shape[:-1], np.nan, np.float32)
    weights = np.full(max(context.weights_count(query, key, pattern), 1), np.nan, np.float32)
    context.forward(
        query,
        key,
        value,
        output,
        pattern,
        options,
        log_sum_exp,
        weights[: context.weights_count(query, key, pattern)],
    )
    gradients = {
        "query": np.full_like(query, np.nan),
        "key": np.full_like(key, np.nan),
        "value": np.full_like(value, np.nan),
    }
    if inputs.bias is not None:
        gradients["bias"] = np.full_like(inputs.bias, np.nan)
    if inputs.table is not None:
        gradients["distance_bias"] = np.full_like(inputs.table, np.nan)
    context.backward(query, key, value, output, log_sum_exp, d_output, gradients, pattern, options)
    queries, keys = zip(*case.lengths)
    results = {
        "output": take_apart(case, output, queries),
        "log-sum-exp": [part[..., 0] for part in take_apart(case, log_sum_exp[..., None], queries)],
        "weights": dense_weights(context, case, pattern, query, key, weights),
        "d query": take_apart(case, gradients["query"], queries),
        "d key": take_apart(case, gradients["key"], keys),
        "d value": take_apart(case, gradients["value"], keys),
    }
    results.update({"d " + name: gradients[name] for name in ("bias", "distance_bias") if name in gradients})
    return results


def describe(case):
    return ", ".join(
        f"{name} {value}" for name, value in vars(case).items() if value != getattr(Case(), name)
    )


def compare(tally, case, who, ours, theirs, sizes, judge_name):
    for name, b in theirs.items():
        problem = disagreement(ours[name], b, sizes.get(name, 0.0))
        tally.check(problem is None, f"{name} against {judge_name}: {problem}; {who}; {describe(case)}")


def check_kept(tally, case, plain, kept):
    """Dropout drops what it should: about the share that was asked for, of the weights that there are."""
    present = flat(plain["weights"]) > 1e-30
    share = 1 - flat(kept)[present].mean()
    slack = 6 * np.sqrt(case.dropout * (1 - case.dropout) / present.sum())
    tally.check(abs(share - case.dropout) <= slack, f"dropped {share:.3f} of the weights; {describe(case)}")


def check_case(tally, everyone, case):
    inputs = judge.make_inputs(case)
    judges = {}
    judges["PyTorch"], sizes = judge.explicit(case, inputs)
    if judge.sdpa_can(case, inputs):
        judges["PyTorch's SDPA, padded"] = judge.sdpa(case, inputs)
    kept = None
    for context in everyone:
        who = f"{context.isa}, {context.threads} threads"
        try:
            ours = run_library(context, case, inputs)
        except attn.Error as error:
            tally.check(False, f"{error}; {who}; {describe(case)}")
            continue
        if case.dropout and kept is None:
            kept = [weights != 0 for weights in ours["weights"]]
            check_kept(tally, case, judges["PyTorch"], kept)
            judges["PyTorch"], sizes = judge.explicit(case, inputs, [torch.from_numpy(keep) for keep in kept])
        for name, theirs in judges.items():
            compare(tally, case, who, ours, theirs, sizes, name)


def lengths():
    for n, d, pattern in itertools.product((1, 7, 64, 129, 300), (8, 64, 100), PATTERNS.values()):
        yield Case(lengths=[(n, n)], d_k=d, d_v=d, left=pattern[0], right=pattern[1])


def cross():
    for pair, align_end, pattern in itertools.product(
        ((1, 300), (7, 64), (64, 7), (129, 300), (300, 129), (5, 0)), (False, True), PATTERNS.values()
    ):
        yield Case(lengths=[pair], d_k=32, d_v=32, left=pattern[0], right=pattern[1], align_end=align_end)


def channels():
    for d_k, d_v, pattern in itertools.product((8, 64, 100, 1, 512), (8, 24, 100, 3), ("full", "causal")):
        yield Case(
            lengths=[(65, 65)], d_k=d_k, d_v=d_v, left=PATTERNS[pattern][0], right=PATTERNS[pattern][1]
        )


def heads():
    for (query_heads, kv_heads), n, layout in itertools.product(
        ((1, 1), (8, 8), (8, 2), (6, 3), (8, 1)), (7, 129), ("rows", "bhnd", "bnhd")
    ):
        yield Case(
            lengths=[(n, n)], heads=query_heads, kv_heads=kv_heads, d_k=32, d_v=32, layout=layout, right=0
        )


def masks():
    for mask, n, pattern in itertools.product(
        itertools.product((False, True), repeat=2), (7, 129), ("full", "causal", "window")
    ):
        yield Case(
            lengths=[(n, n), (n - 3, n - 3)],
            d_k=32,
            d_v=32,
            mask=mask,
            left=PATTERNS[pattern][0],
            right=PATTERNS[pattern][1],
        )


def biases():
    for bias, hides in itertools.product(itertools.product((False, True), repeat=4), (False, True)):
        for pattern in ("full", "causal"):
            yield Case(
                lengths=[(70, 70), (33, 33)],
                d_k=32,
                d_v=32,
                bias=bias,
                bias_hides=hides,
                left=PATTERNS[pattern][0],
                right=PATTERNS[pattern][1],
            )


def tables():
    for radius, shared, pattern, align_end in itertools.product(
        (0, 4, 200), (False, True), ("full", "causal", "window"), (False, True)
    ):
        yield Case(
            lengths=[(70, 91), (33, 20)],
            d_k=32,
            d_v=32,
            table=radius,
            table_shared=shared,
            align_end=align_end,
            left=PATTERNS[pattern][0],
            right=PATTERNS[pattern][1],
        )


def score_options():
    for n, pattern in itertools.product((7, 129), ("full", "causal", "window")):
        case = Case(
            lengths=[(n, n)], heads=4, d_k=64, d_v=64, left=PATTERNS[pattern][0], right=PATTERNS[pattern][1]
        )
        yield replace(case, alibi=True)
        yield replace(case, alibi=True, align_end=True, lengths=[(n, n + 20)])
        yield replace(case, softcap=2.0)
        yield replace(case, softcap=30.0, scale=1.0)
        yield replace(case, scale=1.0)
        yield replace(case, scale=0.03)


def ragged():
    alike = [(5, 5), (0, 0), (1, 1), (129, 129), (64, 64), (31, 31)]
    pairs = [(5, 9), (0, 3), (7, 1), (100, 129), (64, 20)]
    for layout, pattern, align_end in itertools.product(
        ("rows", "bhnd", "bnhd"), PATTERNS.values(), (False, True)
    ):
        for sequences in (alike, pairs, [(40, 40)] * 3):
            yield Case(
                lengths=sequences,
                d_k=40,
                d_v=40,
                layout=layout,
                left=pattern[0],
                right=pattern[1],
                align_end=align_end,
            )


def dropouts():
    for probability, n, pattern in itertools.product((0.1, 0.5), (64, 129), ("full", "causal", "window")):
        yield Case(
            lengths=[(n, n), (33, 33)],
            d_k=32,
            d_v=32,
            dropout=probability,
            left=PATTERNS[pattern][0],
            right=PATTERNS[pattern][1],
            seed=n,
        )


def combinations(count=80):
    """Everything with everything, drawn at random from a fixed seed."""
    random = np.random.default_rng(7)

    def maybe(probability=0.5):
        return random.random() < probability

    for seed in range(count):
        kv_heads, group = int(random.integers(1, 4)), int(random.integers(1, 4))
        lengths = [(int(n), int(m)) for n, m in random.integers(0, 90, (random.integers(1, 5), 2))]
        if maybe():
            lengths = [(n, n) for n, _ in lengths]
        lengths.append((int(random.integers(1, 150)),) * 2)
        left, right = (int(random.integers(0, 60)) if maybe() else UNLIMITED for _ in range(2))
        yield Case(
            lengths=lengths,
            heads=kv_heads * group,
            kv_heads=kv_heads,
            d_k=int(random.integers(1, 130)),
            d_v=int(random.integers(1, 130)),
            layout=str(random.choice(("rows", "bhnd", "bnhd"))),
            left=left,
            right=right,
            align_end=maybe(),
            mask=(maybe(), maybe()) if maybe() else None,
            bias=tuple(maybe() for _ in range(4)) if maybe() else None,
            bias_hides=maybe(0.3),
            table=int(random.integers(0, 100)) if maybe() else None,
            table_shared=maybe(),
            alibi=maybe(0.3),
            softcap=5.0 if maybe(0.3) else 0.0,
            scale=0.2 if maybe(0.3) else 0.0,
            dropout=0.25 if maybe(0.3) else 0.0,
            seed=seed,
        )


ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": F.elu,
}


def judge_linear(x, weight, bias, activation, d_output):
    leaves = {"d input": x, "d weight": weight, "d bias": bias}
    leaves = {
        name: torch.from_numpy(np.ascontiguousarray(a)).double().requires_grad_()
        for name, a in leaves.items()
    }
    pre_activation = F.linear(*leaves.values())
    output = ACTIVATIONS[activation](pre_activation)
    output.backward(torch.from_numpy(d_output).double())
    return {
        "output": output.detach().numpy(),
        "pre-activation": pre_activation.detach().numpy(),
        **{name: leaf.grad.numpy() for name, leaf in leaves.items()},
    }


def linear_library(context, x, weight, bias, activation, d_output):
    ours = {
        "output": np.full_like(d_output, np.nan),
        "pre-activation": np.full_like(d_output, np.nan),
        "d input": np.full_like(x, np.nan),
        "d weight": np.full_like(weight, np.nan),
        "d bias": np.full_like(bias, np.nan),
    }
    context.matmul_forward(x, context.pack(weight), bias, activation, ours["output"], ours["pre-activation"])
    context.matmul_backward(
        d_output,
        ours["pre-activation"],
        activation,
        x,
        context.pack(weight, transposed=True),
        ours["d input"],
        ours["d weight"],
        ours["d bias"],
    )
    return ours


def check_linear(tally, everyone):
    random = np.random.default_rng(3)
    shapes = ((1, 8, 8), (7, 64, 100), (64, 100, 7), (129, 1, 33), (130, 300, 64), (300, 64, 257))
    for (rows, fan_in, fan_out), activation, strided in itertools.product(shapes, ACTIVATIONS, (False, True)):
        x = random.standard_normal((rows, fan_in + 5), dtype=np.float32)
        x = x[:, :fan_in] if strided else np.ascontiguousarray(x[:, :fan_in])
        weight = random.standard_normal((fan_out, fan_in), dtype=np.float32) / np.float32(np.sqrt(fan_in))
        bias = random.standard_normal(fan_out, dtype=np.float32)
        d_output = random.standard_normal((rows, fan_out), dtype=np.float32)
        theirs = judge_linear(x, weight, bias, activation, d_output)
        for context in everyone:
            who = f"{rows} x {fan_in} -> {fan_out}, {activation}, {context.isa}, {context.threads} threads"
            try:
                ours = linear_library(context, x, weight, bias, activation, d_output)
            except attn.Error as error:
                tally.check(False, f"{error}; {who}")
                continue
            for name, b in theirs.items():
                problem = disagreement(ours[name], b)
                tally.check(problem is None, f"{name}: {problem}; {who}")


def check_softmax(tally, everyone):
    random = np.random.default_rng(4)
    for rows, columns in itertools.product((1, 7, 64), (1, 7, 64, 129, 1000)):
        x = random.standard_normal((rows, columns), dtype=np.float32) * 10
        theirs = torch.softmax(torch.from_numpy(x).double(), dim=-1).numpy()
        for context in everyone:
            ours = np.full_like(x, np.nan)
            context.softmax(x, ours)
            problem = disagreement(ours, theirs)
            tally.check(
                problem is None, f"{problem}; {rows} x {columns}, {context.isa}, {context.threads} threads"
            )


GROUPS = {
    "lengths x channels x patterns": lengths,
    "cross attention, both alignments": cross,
    "channels, d_v != d_k": channels,
    "multi-head, grouped, multi-query; layouts": heads,
    "bit masks": masks,
    "bias, every broadcast": biases,
    "bias by distance": tables,
    "ALiBi, softcap, scale": score_options,
    "ragged and padded batches": ragged,
    "dropout": dropouts,
    "everything with everything": combinations,
}


def main():
    torch.set_num_threads(1)  # the tensors are small
    everyone = contexts()
    names = ", ".join(dict.fromkeys(context.isa for context in everyone))
    print(
        f"libattn {attn.library.attn_version().decode()} ({names}; 1 and 2 threads) "
        f"against PyTorch {torch.__version__} in double"
    )
    tally = Tally()
    for name, cases in GROUPS.items():
        for case in cases():
            check_case(tally, everyone, case)
        tally.close_group(name)
    check_linear(tally, everyone)
    tally.close_group("linear, every activation")
    check_softmax(tally, everyone)
    tally.close_group("softmax")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
