"""attn_tape_ctc against torch.nn.functional.ctc_loss in double precision: values and gradients.

Ragged sequences go to PyTorch padded. Our loss is the sum over sequences divided by all rows; targets that
do not fit count 0 (zero_infinity). Compared as test_network.py compares, and small changes must be noticed.
"""

import itertools
import sys

import numpy as np
import torch
import torch.nn.functional as F

import attn
import network
from network_case import SEEDS, Case, normal, sequences
from test_attention import Tally, contexts
from test_network import check_case, check_noticed


def draw_target(random, rows, symbols, blank, density):
    others = [symbol for symbol in range(symbols) if symbol != blank]
    return [int(random.choice(others)) for _ in range(random.integers(0, int(rows * density) + 1))]


def cases():
    kinds = itertools.product(SEEDS, (2, 5, 30, 200), (8, 60, 400), (0.2, 0.5, 1.0))
    for seed, symbols, longest, density in kinds:
        random = np.random.default_rng((seed, symbols, longest, int(density * 10)))
        lengths = [int(n) for n in random.integers(1, longest + 1, 4)] + [longest]
        blank = int(random.integers(0, symbols))
        targets = [draw_target(random, n, symbols, blank, density) for n in lengths]

        def judge(leaves, n=lengths, wanted=targets, empty=blank):
            padded = torch.nn.utils.rnn.pad_sequence(sequences(leaves["x"], n))
            flat = torch.tensor([symbol for target in wanted for symbol in target], dtype=torch.long)
            losses = F.ctc_loss(
                F.log_softmax(padded, 2),
                flat,
                torch.tensor(n),
                torch.tensor([len(target) for target in wanted]),
                blank=empty,
                reduction="none",
                zero_infinity=True,
            )
            return losses.sum() / sum(n)

        yield Case(
            f"ctc, {symbols} symbols, blank {blank}, rows {lengths}, targets of {[len(t) for t in targets]}",
            {"x": normal(random, sum(lengths), symbols, size=float(random.choice((0.5, 2, 8))))},
            lambda made, n=lengths, t=targets, b=blank: lambda tape, v: tape.ctc(v["x"], n, t, b),
            judge,
            seed=seed,
        )


def main():
    torch.set_num_threads(1)
    everyone = [(context, network.Tape(context)) for context in contexts()]
    names = ", ".join(dict.fromkeys(context.isa for context, _ in everyone))
    print(
        f"libattn {attn.library.attn_version().decode()} ({names}; 1 and 2 threads), ctc, "
        f"against PyTorch {torch.__version__} in double"
    )
    tally, noticed = Tally(), Tally()
    for case in cases():
        check_case(tally, everyone, case)
        check_noticed(noticed, *everyone[-1], case)
    tally.close_group("torch.nn.functional.ctc_loss")
    noticed.close_group("small changes are noticed")
    passed, failed = tally.passed + noticed.passed, tally.failed + noticed.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
