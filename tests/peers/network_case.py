"""What the judges of networks share: a Case, and sequences of different lengths for PyTorch."""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import torch
from torch import nn

SEEDS = range(4)
DOUBLE = {"dtype": torch.float64}


@dataclass
class Case:
    """text: what it is. inputs: matrices, by name.

    build: makes the layers, and returns what records them: a function of the tape and the variables of the
    inputs that returns the result, and maybe a dictionary of further values.
    judge: a function of doubles, by the names of inputs and parameters, that returns the same of PyTorch.
    parameters: values by name; those of layers that are not named here are drawn.
    parts: by the name of a parameter, the rows of its parts, which are compared one by one.
    """

    text: str
    inputs: dict
    build: Callable
    judge: Callable
    parameters: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)
    seed: int = 1


def normal(random, *shape, size=1.0):
    return (random.standard_normal(shape) * size).astype(np.float32)


def some_lengths(random, longest=40, empty=True):
    """Of a few sequences; one has a single row, one has many, and one may be empty."""
    lengths = [1, int(random.integers(max(longest // 2, 2), longest + 1))]
    lengths += [int(n) for n in random.integers(1, longest + 1, random.integers(0, 4))]
    if empty and random.random() < 0.5:
        lengths.append(0)
    random.shuffle(lengths)
    return lengths


def sequences(x, lengths):
    return torch.split(x, lengths)


def pad(x, lengths, present=None):
    """[sequence, row, column] of the sequences that are present (by default those that have rows)."""
    parts = sequences(x, lengths)
    present = lengths if present is None else present
    return nn.utils.rnn.pad_sequence([part for part, n in zip(parts, present) if n], batch_first=True)


def padding(lengths, present=None):
    """[sequence, row]: True where a row is none of the sequence's."""
    present = lengths if present is None else present
    kept = torch.tensor([m for m, n in zip(lengths, present) if n])
    return torch.arange(max(m for m, n in zip(lengths, present) if n))[None, :] >= kept[:, None]


def cut(padded, lengths):
    """The inverse of pad."""
    kept = [n for n in lengths if n]
    return torch.cat([padded[b, :n] for b, n in enumerate(kept)])
