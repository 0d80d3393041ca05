"""libattn's tape, layers, losses and optimisers against PyTorch in double precision: values and gradients.

A Case is one piece of a network: what it is in libattn, and the same thing in
PyTorch (its module, or its functional form) as a function of the same numbers.
Ragged batches go to PyTorch padded and masked, packed, or sequence by sequence,
and only rows that are there are compared. The gradients of every input and
parameter are compared, by the rule of test_attention.py, on every instruction
set, with one thread and with two; the parts of packed weights one by one.

Optimisers are fed with the same gradients as PyTorch's, for some steps.

That every comparison can fail is checked, too: a change of 0.1 % in any one
input or parameter of a case, or of 1 % in a number that an optimiser goes by,
made on our side only, must be noticed.
"""

import itertools
import math
import sys

import numpy as np
import torch

import attn
import network
import network_attention
import network_operations
import network_optimizer
from network_case import Case, normal
from test_attention import Tally, contexts, disagreement


def draw(random, name, shape):
    """The value of a layer's parameter: gains around 1, weights that keep the size of what they map."""
    if name.endswith("gain"):
        return 1 + normal(random, *shape, size=0.2)
    return normal(random, *shape, size=0.5 if len(shape) == 1 else 1 / math.sqrt(np.prod(shape[1:])))


def complete(case, context):
    """Adds values for the parameters that the layers of the case have."""
    random = np.random.default_rng(case.seed)
    made = network.Network(context)
    case.build(made)
    for name, shape in made.shapes().items():
        if name not in case.parameters:
            case.parameters[name] = draw(random, name, shape)


def taken_apart(case, results):
    for name, rows in case.parts.items():
        whole, bounds = results.pop("d " + name), np.cumsum([0, *rows])
        if bounds[-1] != len(whole):
            raise ValueError(f"{name} has {len(whole)} rows, its parts {bounds[-1]}")
        for part, (start, end) in enumerate(itertools.pairwise(bounds)):
            results[f"d {name}, part {part}"] = whole[start:end]
    return results


def run_library(context, tape, case, d_output):
    made = network.Network(context)
    recording = case.build(made)
    present = made.shapes()
    for name, value in case.parameters.items():
        if name in present:
            made.set(name, value)
        else:
            made.add(name, value)
    tape.begin()
    variables = {name: tape.input(value) for name, value in case.inputs.items()}
    outcome = recording(tape, variables)
    output, further = outcome if isinstance(outcome, tuple) else (outcome, {})
    results = {"output": tape.value(output)}
    tape.backward(output, d_output)
    results.update({"d " + name: tape.gradient(variable) for name, variable in variables.items()})
    results.update({"d " + name: made.gradient(name) for name in case.parameters})
    results.update(further)
    return taken_apart(case, results)


def run_judge(case):
    """Values and gradients by name, and the gradient that was sent back."""
    leaves = {
        name: torch.from_numpy(value).double().requires_grad_()
        for name, value in {**case.inputs, **case.parameters}.items()
    }
    outcome = case.judge(leaves)
    output, further = outcome if isinstance(outcome, tuple) else (outcome, {})
    if output.dim() == 0:
        output = output.reshape(1, 1)
    d_output = normal(np.random.default_rng(case.seed + 1000), *output.shape)
    gradients = torch.autograd.grad(output, list(leaves.values()), torch.from_numpy(d_output).double())
    results = {"output": output.detach().numpy(), **further}
    for name, gradient in zip(leaves, gradients, strict=True):
        results["d " + name] = gradient.numpy()
    return taken_apart(case, results), d_output


def differences(ours, theirs):
    """By name, how far our tensors are from theirs; None where they agree.

    The gradient of a bias is a sum of the terms that, times an input of size 1, are summed to that of its
    weight: the size of the latter says how much rounding there is in one that is 0.
    """

    def term_size(name):
        weight = theirs.get(name.replace(".bias", ".weight"))
        return 0.0 if weight is None or ".bias" not in name else np.abs(weight).max()

    return {name: disagreement(ours[name], b, term_size(name)) for name, b in theirs.items()}


def check_case(tally, everyone, case):
    """everyone: contexts, each with a tape."""
    complete(case, everyone[0][0])
    theirs, d_output = run_judge(case)
    for context, tape in everyone:
        who = f"{context.isa}, {context.threads} threads; {case.text}"
        try:
            ours = run_library(context, tape, case, d_output)
        except attn.Error as error:
            tally.check(False, f"{error}; {who}")
            continue
        for name, problem in differences(ours, theirs).items():
            tally.check(problem is None, f"{name}: {problem}; {who}")


def check_noticed(tally, context, tape, case):
    """Every input and parameter by itself, changed a little in every number."""
    theirs, d_output = run_judge(case)
    random = np.random.default_rng(case.seed)
    for kind, name in [("inputs", n) for n in case.inputs] + [("parameters", n) for n in case.parameters]:
        values = getattr(case, kind)
        change = 1e-3 * np.abs(values[name]).max() * random.standard_normal(values[name].shape)
        other = Case(**{**vars(case), kind: {**values, name: (values[name] + change).astype(np.float32)}})
        ours = run_library(context, tape, other, d_output)
        noticed = any(problem is not None for problem in differences(ours, theirs).values())
        tally.check(noticed, f"a change of {name} was not noticed; {case.text}")


GROUPS = {
    "nn.MultiheadAttention, self, causal": network_attention.self_attention,
    "nn.MultiheadAttention, cross, kdim and vdim": network_attention.cross_attention,
    "grouped queries and rotary, against SDPA": network_attention.grouped_attention,
    "ALiBi, relative positions": network_attention.attention_positions,
    "rotary positions": network_attention.rotary_alone,
    "nn.TransformerEncoderLayer": network_attention.encoder_blocks,
    "encoders of two layers, positions": network_attention.encoders,
    "nn.TransformerDecoderLayer": network_attention.decoders,
    "feed-forward, gated": network_attention.feed_forward,
    "nn.RNN, nn.GRU, nn.LSTM": network_operations.recurrent,
    "nn.Conv1d": network_operations.convolutions,
    "nn.Conv2d": network_operations.grid_convolutions,
    "pooling, windows": network_operations.pools_and_windows,
    "nn.LayerNorm, nn.RMSNorm": network_operations.norms,
    "nn.Embedding, nn.EmbeddingBag": network_operations.embeddings,
    "activations, gates": network_operations.activations,
    "softmax, log-softmax": network_operations.softmaxes,
    "rows and columns": network_operations.rows_and_columns,
    "nn.CrossEntropyLoss": network_operations.cross_entropies,
    "binary cross-entropy, squared, absolute": network_operations.element_losses,
}


def check_optimizer(tally, noticed, everyone, case):
    theirs = network_optimizer.run_judge(case)
    for context, _ in everyone:
        who = f"{context.isa}, {context.threads} threads; {case.describe()}"
        try:
            ours = network_optimizer.run_library(context, case)
        except attn.Error as error:
            tally.check(False, f"{error}; {who}")
            continue
        tally.check(ours.keys() == theirs.keys(), f"{list(ours)} against {list(theirs)}; {who}")
        for name in ours.keys() & theirs.keys():
            problem = disagreement(ours[name], theirs[name])
            tally.check(problem is None, f"{name}: {problem}; {who}")
    for what, other in network_optimizer.changed(case):
        ours = network_optimizer.run_library(everyone[-1][0], other)
        found = any(disagreement(ours[name], b) is not None for name, b in theirs.items())
        noticed.check(found, f"a change of {what} was not noticed; {case.describe()}")


def main():
    torch.set_num_threads(1)  # the tensors are small
    everyone = [(context, network.Tape(context)) for context in contexts()]
    names = ", ".join(dict.fromkeys(context.isa for context, _ in everyone))
    print(
        f"libattn {attn.library.attn_version().decode()} ({names}; 1 and 2 threads), networks, "
        f"against PyTorch {torch.__version__} in double"
    )
    tally, noticed = Tally(), Tally()
    for name, cases in GROUPS.items():
        for case in cases():
            check_case(tally, everyone, case)
            check_noticed(noticed, *everyone[-1], case)
        tally.close_group(name)
    for case in network_optimizer.cases():
        check_optimizer(tally, noticed, everyone, case)
    tally.close_group("torch.optim.SGD, torch.optim.AdamW")
    noticed.close_group("small changes are noticed")
    passed, failed = tally.passed + noticed.passed, tally.failed + noticed.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
