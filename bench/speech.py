"""Features of speech: hours of 16 kHz recordings a second, one thread, against torchaudio's kaldi.fbank.

    bench/run speech [--minutes 1] [--rounds 15]
    bench/run speech --live MODEL RECORDING.wav [--chunk N]

Log-mel energies of 25 ms windows every 10 ms with Kaldi's constants, 40 and 80 of them. Both sides are given
samples in memory and compute all frames in one call; they take turns, and the best of each counts. Then
ours once more in pieces of 100 ms, as a microphone gives them.

--live: processor seconds that `attn predict MODEL --live` takes for a second of speech, on one thread; the
best of three.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path

import numpy as np
import torch
import torchaudio

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/peers"))
from private import build_program  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
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


def measure_live(model, recording, chunk):
    program = ROOT / os.environ.get("BUILD", "build/release") / "attn"
    with wave.open(recording) as file:
        seconds = file.getnframes() / file.getframerate()
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(recording, "rb") as file:
            command = [program, "predict", model, "--live", "--threads", "1", "--chunk", str(chunk)]
            run = subprocess.run(command, stdin=file, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used / seconds)
    print(run.stderr.decode().strip())
    print(f"{seconds:.0f} s of speech: {best:.4f} processor seconds a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--live", nargs=2, metavar=("MODEL", "RECORDING"))
    parser.add_argument("--chunk", type=int, default=0)
    options = parser.parse_args()
    if options.live:
        measure_live(*options.live, options.chunk)
        return
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
