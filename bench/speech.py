"""Features of speech: hours of 16 kHz recordings a second, one thread, against torchaudio's kaldi.fbank.

    bench/run speech [--minutes 1] [--rounds 15]

Log-mel energies of 25 ms windows every 10 ms with Kaldi's constants, 40 and 80 of them. Both sides are given
samples in memory and compute all frames in one call; they take turns, and the best of each counts. Then
ours once more in pieces of 100 ms, as a microphone gives them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torchaudio

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/peers"))
from private import build_program  # noqa: E402

RATE = 16000


def race(program, path, wave, bins, rounds, pieces):
    """Seconds of one computation: ours, ours in pieces, torchaudio's."""
    command = [program, f"bins={bins}", path, "speed"]
    runs = [command, [*command, str(pieces)]]
    ours = [
        subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for run in runs
    ]
    best = [float("inf")] * 3
    for _ in range(rounds):
        for i, process in enumerate(ours):
            process.stdin.write("go\n")
            process.stdin.flush()
            best[i] = min(best[i], float(process.stdout.readline()))
        start = time.perf_counter()
        torchaudio.compliance.kaldi.fbank(wave, num_mel_bins=bins, dither=0.0)
        best[2] = min(best[2], time.perf_counter() - start)
    for process in ours:
        process.stdin.close()
        process.wait()
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    samples = np.random.default_rng(1).standard_normal(int(60 * RATE * options.minutes)).astype(np.float32) * 0.1
    wave = torch.from_numpy(samples)[None]
    hours = options.minutes / 60
    with tempfile.TemporaryDirectory() as folder:
        program = build_program("frames", folder)
        path = f"{folder}/samples.f32"
        samples.tofile(path)
        for bins in (40, 80):
            whole, piecewise, theirs = race(program, path, wave, bins, options.rounds, RATE // 10)
            frames = samples.size // 160 - 2
            print(
                f"{bins} energies: libattn {hours / whole:.2f} hours a second ({1e6 * whole / frames:.2f} us a frame; "
                f"in pieces of 100 ms {hours / piecewise:.2f}), torchaudio {torchaudio.__version__} "
                f"{hours / theirs:.2f}: {theirs / whole:.1f} times as many"
            )
    print(f"instruction set: {os.environ.get('ATTN_ISA', 'the best')}; {options.minutes:g} min, best of {options.rounds}")


if __name__ == "__main__":
    main()
