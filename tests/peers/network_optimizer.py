"""Optimisers of libattn and of PyTorch, fed with the same gradients for some steps."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import network
from network_case import SEEDS, normal

STEPS = 20


@dataclass
class OptimizerCase:
    """kind and fields: of the optimiser's options. Parameters of every kind and several sizes."""

    kind: str
    fields: dict
    seed: int = 1
    parameters: dict = field(default_factory=dict)  # name: kind, value
    gradients: list = field(default_factory=list)  # of each step and pass: by name

    def __post_init__(self):
        random = np.random.default_rng(self.seed)
        for kind in network.KINDS if not self.parameters else ():
            shape = tuple(int(n) for n in random.integers(1, 40, 1 if kind in ("bias", "norm") else 2))
            self.parameters[f"a {kind}"] = (kind, normal(random, *shape))
        passes = STEPS * self.fields.get("accumulate", 1)
        self.gradients = self.gradients or [
            {name: normal(random, *value.shape) for name, (_, value) in self.parameters.items()}
            for _ in range(passes)
        ]

    def steps(self):
        """The gradients of every step, added up over its passes."""
        passes = self.fields.get("accumulate", 1)
        for start in range(0, len(self.gradients), passes):
            several = self.gradients[start : start + passes]
            yield {name: np.sum([g[name] for g in several], axis=0) for name in self.parameters}

    def describe(self):
        return f"{self.kind}, {self.fields}, seed {self.seed}"


def run_library(context, case):
    """Parameters, state and, if there is one, the average after the last step; rates and norms of all."""
    made = network.Network(context)
    for name, (kind, value) in case.parameters.items():
        made.add(name, value, kind)
    optimizer = network.Optimizer(made, case.kind, **case.fields)
    rates, norms = [], []
    for gradients in case.steps():
        for name, gradient in gradients.items():
            made.set_gradient(name, gradient)
        rates.append(optimizer.learning_rate)
        optimizer.step()
        norms.append(optimizer.gradient_norm)
    results = {name: made.value(name) for name in case.parameters}
    for name, value in optimizer.state().items():
        if not name.endswith((".steps", ".average")):
            results[name] = value
    if case.fields.get("average"):
        optimizer.swap_average()
        results.update({f"{name}, average": made.value(name) for name in case.parameters})
    return {**results, "learning rates": rates, "norms": norms}


def schedule(case, optimizer):
    """PyTorch's schedulers: the rise, then the fall."""
    fields = case.fields
    rise, total, floor = (fields.get(name, 0) for name in ("warmup_steps", "total_steps", "floor"))
    kind = fields.get("schedule", "constant")
    if kind == "linear":
        after = lr_scheduler.LinearLR(optimizer, 1.0, floor, total - rise)
    elif kind == "cosine":
        after = lr_scheduler.CosineAnnealingLR(optimizer, total - rise, floor * fields["learning_rate"])
    elif kind == "inverse_root":
        after = lr_scheduler.LambdaLR(optimizer, lambda s: max((rise / (rise + s + 1)) ** 0.5, floor))
    else:
        after = lr_scheduler.LambdaLR(optimizer, lambda s: 1.0)
    if not rise:
        return after
    before = lr_scheduler.LambdaLR(optimizer, lambda s: (s + 1) / rise)
    return lr_scheduler.SequentialLR(optimizer, [before, after], [rise])


def make_optimizer(case, leaves):
    fields = case.fields
    decay = fields.get("weight_decay", 0.01)
    groups = [
        {
            "params": [leaves[name]],
            "weight_decay": decay if kind == "weight" or fields.get("decay_all") else 0.0,
        }
        for name, (kind, _) in case.parameters.items()
    ]
    if case.kind == "sgd":
        momentum, nesterov = fields.get("momentum", 0.0), bool(fields.get("nesterov"))
        return torch.optim.SGD(groups, fields["learning_rate"], momentum=momentum, nesterov=nesterov)
    betas = fields.get("beta1", 0.9), fields.get("beta2", 0.999)
    return torch.optim.AdamW(groups, fields["learning_rate"], betas, fields.get("epsilon", 1e-8))


STATES = {"momentum": "momentum_buffer", "moment1": "exp_avg", "moment2": "exp_avg_sq"}


def run_judge(case):
    """The same by PyTorch, in double."""
    leaves = {
        name: torch.nn.Parameter(torch.from_numpy(value).double())
        for name, (_, value) in case.parameters.items()
    }
    model = torch.nn.ParameterList(leaves.values())
    optimizer = make_optimizer(case, leaves)
    scheduler = schedule(case, optimizer)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(case.fields.get("average", 0.5)))
    average.update_parameters(model)  # the first time copies
    rates, norms, clip = [], [], case.fields.get("clip_norm", 0.0)
    for gradients in case.steps():
        for name, leaf in leaves.items():
            leaf.grad = torch.from_numpy(gradients[name]).double() / case.fields.get("accumulate", 1)
        rates.append(optimizer.param_groups[0]["lr"])
        norms.append(torch.nn.utils.clip_grad_norm_(leaves.values(), clip or 1e30).item())
        optimizer.step()
        scheduler.step()
        average.update_parameters(model)
    results = {name: leaf.detach().numpy() for name, leaf in leaves.items()}
    for (name, leaf), (ours, theirs) in itertools.product(leaves.items(), STATES.items()):
        if torch.is_tensor(optimizer.state[leaf].get(theirs)):
            results[f"{name}.{ours}"] = optimizer.state[leaf][theirs].numpy()
    if case.fields.get("average"):
        for name, value in zip(leaves, average.module, strict=True):
            results[f"{name}, average"] = value.detach().numpy()
    return {**results, "learning rates": rates, "norms": norms}


def cases():
    plain = [
        ("sgd", {}),
        ("sgd", {"momentum": 0.9}),
        ("sgd", {"momentum": 0.8, "nesterov": 1}),
        ("sgd", {"momentum": 0.9, "weight_decay": 0.1, "decay_all": 1}),
        ("sgd", {"momentum": 0.9, "nesterov": 1, "weight_decay": 0.1}),
        ("adamw", {}),
        ("adamw", {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3}),
        ("adamw", {"weight_decay": 0.3}),
        ("adamw", {"weight_decay": 0.3, "decay_all": 1}),
    ]
    for seed, (kind, fields) in itertools.product(SEEDS, plain):
        for rate in (0.03, 0.003):
            yield OptimizerCase(kind, {"learning_rate": rate, "weight_decay": 0.0, **fields}, seed)
    further = [
        {"clip_norm": 5.0},
        {"accumulate": 3},
        {"average": 0.9},
        {"accumulate": 2, "clip_norm": 3.0, "average": 0.7},
    ]
    further += [
        {"schedule": name, "warmup_steps": rise, "total_steps": total, "floor": floor}
        for name, rise, total, floor in itertools.product(
            ("constant", "linear", "cosine"), (0, 5), (18, STEPS + 10), (0.0, 0.1)
        )
        if total >= STEPS or name != "cosine"  # past its end PyTorch's cosine rises again
    ]
    further += [{"schedule": "inverse_root", "warmup_steps": 4, "floor": floor} for floor in (0.0, 0.6)]
    for kind, fields in itertools.product(("sgd", "adamw"), further):
        yield OptimizerCase(kind, {"learning_rate": 0.03, "momentum": 0.5, **fields}, seed=len(fields))


def changed(case):
    """The case with one number of the options 1 % larger, or one gradient of 20 other; what was changed."""
    for name in ("learning_rate", "weight_decay", "momentum", "beta1", "beta2", "clip_norm", "average"):
        if case.fields.get(name) and not (name == "momentum" and case.kind == "adamw"):
            value = case.fields[name]
            other = 1 - 1.01 * (1 - value) if name in ("beta1", "beta2") else 1.01 * value
            yield name, OptimizerCase(
                case.kind, {**case.fields, name: other}, case.seed, case.parameters, case.gradients
            )
    if case.fields.get("nesterov"):
        fields = {**case.fields, "nesterov": 0}
        yield "nesterov", OptimizerCase(case.kind, fields, case.seed, case.parameters, case.gradients)
    for name in case.parameters:
        gradients = [dict(each) for each in case.gradients]
        gradients[7][name] = gradients[7][name] * np.float32(1.01)
        yield name, OptimizerCase(case.kind, case.fields, case.seed, case.parameters, gradients)
