"""Frames of speech against torchaudio's kaldi.fbank and kaldi.mfcc, and librosa's melspectrogram and mfcc.

The judges compute in double precision. Logarithms of energies agree to 1e-4 wherever an energy is above
1e-5 of the loudest one of its frame (50 dB): below, float32 transforms, theirs as well as ours, lose digits, and
1e-2 is asked for. Cepstra, which are sums of all logarithms of a frame, and slopes: 1e-4 of the largest.
"""

import itertools
import subprocess
import sys
import tempfile

import librosa
import numpy as np
import torch
import torchaudio
from private import build_program

kaldi = torchaudio.compliance.kaldi
WINDOWS = {"povey": 0, "hanning": 1, "hamming": 2, "rectangular": 3}
DB = 10 / np.log(10)
FAINT = 1e-5


def recording(rate, seconds, seed):
    """A voice that changes its pitch and its vowels, with pauses, hiss and an offset: 16-bit samples."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(rate * seconds)) / rate
    phase = 2 * np.pi * np.cumsum(120 + 40 * np.sin(2 * np.pi * 0.9 * t)) / rate
    voice = sum(
        np.sin(h * phase) * np.exp(-((h * 140 - 600 - 300 * np.sin(5 * t)) ** 2) / 4e5) for h in range(1, 30)
    )
    voice *= np.sin(2 * np.pi * 1.3 * t) > -0.3
    signal = 0.1 * voice + 0.003 * rng.standard_normal(t.size) + 0.01
    return (np.round(32768 * np.clip(signal, -1, 0.999)) / 32768).astype(np.float32)


class Judged:
    def __init__(self, program, folder):
        self.program, self.path = program, f"{folder}/samples.f32"
        self.count, self.worst, self.faint, self.failed = 0, 0.0, 0.0, 0

    def ours(self, samples, options, pieces=None):
        samples.tofile(self.path)
        command = [self.program, *(f"{name}={value}" for name, value in options.items()), self.path]
        if pieces:
            command += ["pieces", str(pieces)]
        output = subprocess.run(command, check=True, capture_output=True).stdout
        return np.frombuffer(output, np.float32)

    def compare(self, name, samples, options, theirs, energies=None):
        """energies: None, or those whose logarithms are compared, to tell which of them are faint."""
        ours = self.ours(samples, options)
        self.count += 1
        if ours.size != theirs.size:
            print(f"{name}: {ours.size} numbers, not {theirs.size}")
            self.failed += 1
            return
        error = np.abs(ours.reshape(theirs.shape) - theirs)
        if energies is None:
            error /= max(1.0, np.abs(theirs).max())
            faint = np.zeros(theirs.shape, bool)
        else:
            faint = energies < FAINT * energies.max(axis=1, keepdims=True)
        worst = error[~faint].max(initial=0)
        worst_faint = error[faint].max(initial=0)
        self.worst, self.faint = max(self.worst, worst), max(self.faint, worst_faint)
        if not (worst <= 1e-4 and worst_faint <= 1e-2):
            print(f"{name}: {worst:.2e} apart ({worst_faint:.2e} where faint)")
            self.failed += 1


def kaldi_options(rate, window, bins, preemphasis, **more):
    ours = {
        "rate": rate,
        "window": WINDOWS[window],
        "bins": bins,
        "preemphasis": preemphasis,
    }
    theirs = {
        "sample_frequency": float(rate),
        "window_type": window,
        "num_mel_bins": bins,
        "preemphasis_coefficient": preemphasis,
        "dither": 0.0,
    }
    names = {
        "low_hz": "low_freq",
        "high_hz": "high_freq",
        "remove_mean": "remove_dc_offset",
        "window_ms": "frame_length",
        "shift_ms": "frame_shift",
        "cepstra": "num_ceps",
        "lifter": "cepstral_lifter",
    }
    for name, value in more.items():
        ours[name] = value
        theirs[names[name]] = bool(value) if name == "remove_mean" else value
    return ours, theirs


def judge_fbank(judged, samples, ours, theirs, use_power=True):
    wave = torch.from_numpy(samples).double()[None] * 32768
    ours = {**ours, "magnitude": int(not use_power)}
    judge = kaldi.fbank(wave, use_power=use_power, **theirs).numpy()
    judged.compare(f"fbank {theirs}", samples, ours, judge, np.exp(judge))


def judge_kaldi(judged):
    for rate, bins, window in itertools.product((8000, 16000, 44100), (23, 40, 80), WINDOWS):
        samples = recording(rate, 1.5, rate + bins)
        for preemphasis in (0.97, 0.0):
            judge_fbank(judged, samples, *kaldi_options(rate, window, bins, preemphasis))
    samples = recording(16000, 1.5, 5)
    for more in (
        {"remove_mean": 0},
        {"low_hz": 0.0, "high_hz": 7600.0},
        {"low_hz": 100.0, "high_hz": -400.0},
        {"window_ms": 32.0, "shift_ms": 8.0},
        {"window_ms": 20.0, "shift_ms": 30.0},
    ):
        judge_fbank(judged, samples, *kaldi_options(16000, "povey", 40, 0.97, **more))
    judge_fbank(judged, samples, *kaldi_options(16000, "hamming", 40, 0.97), use_power=False)
    wave = torch.from_numpy(samples).double()[None] * 32768
    for bins, cepstra, lifter in itertools.product((23, 40), (13, 20), (0.0, 22.0)):
        ours, theirs = kaldi_options(16000, "povey", bins, 0.97, cepstra=cepstra, lifter=lifter)
        judge = kaldi.mfcc(wave, **theirs)
        judged.compare(f"mfcc {theirs}", samples, {**ours, "features": 1}, judge.numpy())
        for reach in (2, 4):
            parts = [judge]
            for _ in range(2):
                slopes = torchaudio.functional.compute_deltas(parts[-1].T[None], 2 * reach + 1)[0].T
                parts.append(slopes)
            options = {**ours, "features": 1, "deltas": 2, "delta_reach": reach}
            judged.compare(f"deltas {reach} {theirs}", samples, options, torch.cat(parts, 1).numpy())


def judge_librosa(judged):
    grid = itertools.product((8000, 16000, 44100), (23, 40, 80), (False, True), (None, "slaney"), (False, True))
    for rate, bins, htk, norm, center in grid:
        samples = recording(rate, 1.5, rate + bins + 1)
        window, hop = int(rate * 0.025), int(rate * 0.01)
        size = 1 << (window - 1).bit_length()
        for name, power in (("hann", 2.0), ("hamming", 1.0)):
            y = samples.astype(np.float64)
            if not center:  # librosa's frames are as long as the transform, ours begin with the window
                y = np.pad(y, ((size - window) // 2, (size - window + 1) // 2))
            options = dict(sr=rate, n_fft=size, hop_length=hop, win_length=window, window=name, center=center)
            mel = dict(n_mels=bins, fmin=20.0, fmax=rate / 2, htk=htk, norm=norm, power=power, dtype=np.float64)
            energies = librosa.feature.melspectrogram(y=y, pad_mode="reflect", **options, **mel).T
            ours = {
                "rate": rate,
                "bins": bins,
                "window": 1 if name == "hann" else 2,
                "periodic": 1,
                "preemphasis": 0,
                "remove_mean": 0,
                "scale_samples": 1,
                "scale": int(not htk),
                "ramps_in_hz": 1,
                "area": int(norm == "slaney"),
                "magnitude": int(power == 1.0),
                "floor": 1e-10,
                "centered": int(center),
            }
            judge = np.log(np.maximum(energies, 1e-10))
            judged.compare(f"melspectrogram {options} {mel}", samples, ours, judge, energies)
            cepstra = librosa.feature.mfcc(S=DB * judge.T, n_mfcc=13).T / DB
            slopes = librosa.feature.delta(cepstra, width=5, axis=0, mode="nearest")
            ours |= {"features": 1, "cepstra": 13, "lifter": 0, "deltas": 1}
            judged.compare(f"librosa mfcc {options} {mel}", samples, ours, np.hstack([cepstra, slopes]))


def check_pieces(judged):
    samples = recording(16000, 0.5, 9)
    for options in ({}, {"features": 1, "deltas": 2}, {"centered": 1, "deltas": 1}):
        whole = judged.ours(samples, options)
        for piece in (1, 160, 999):
            if judged.ours(samples, options, piece).tobytes() != whole.tobytes():
                print(f"pieces of {piece} with {options}: not the bits of the whole")
                judged.failed += 1


def main():
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        judged = Judged(build_program("frames", folder), folder)
        judge_kaldi(judged)
        judge_librosa(judged)
        check_pieces(judged)
    print(
        f"frames: {judged.count} cases against torchaudio {torchaudio.__version__} and librosa "
        f"{librosa.__version__}, at most {judged.worst:.1e} apart ({judged.faint:.1e} where faint), "
        f"{judged.failed} failed"
    )
    return 1 if judged.failed else 0


if __name__ == "__main__":
    sys.exit(main())
