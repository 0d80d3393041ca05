"""The race of search: attn_predictor_search against the same network in PyTorch (translator.py).

    decode.py MODEL SOURCES [--beam 4] [--batch 64] [--threads 2] [--rounds 5] [--json FILE]

Both begin with sentences in memory and end with the symbols of the answers; attn also cuts the text into subwords and
joins the answer's. They take turns in one process; the best of the rounds counts. Answers must be the same, but for
rounding: with fewer than 98 of 100 the race is off.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import torch
from translator import Translator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "peers"))
import attn  # noqa: E402  (it stands beside the tests of the peers)


class ReaderOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("input", c_char_p),
        ("format", c_int),
        ("column", c_char_p),
        ("text_column", c_char_p),
        ("label_separator", ctypes.c_char),
        ("labelled", c_int),
        ("per_token", c_int),
        ("pairs", c_int),
        ("skip_bad", c_int),
        ("stop_at_bad", c_int),
        ("expanded_limit", c_int64),
    ]


class SearchOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("beam", c_int64),
        ("n_best", c_int64),
        ("length_penalty", c_double),
        ("longest", c_int64),
        ("alignment", c_int),
        ("lowercase", c_int),
    ]


def declare(library):
    for name, result, *arguments in (
        ("model_load", c_int, c_void_p, c_char_p, POINTER(c_void_p)),
        ("model_destroy", None, c_void_p),
        ("model_reader_options_sized", None, c_void_p, POINTER(ReaderOptions), c_size_t),
        ("dataset_read", c_int, c_void_p, c_char_p, POINTER(ReaderOptions), POINTER(c_void_p)),
        ("dataset_destroy", None, c_void_p),
        ("search_options_init_sized", None, POINTER(SearchOptions), c_size_t),
        ("predictor_create", c_int, c_void_p, c_void_p, POINTER(c_void_p)),
        ("predictor_destroy", None, c_void_p),
        ("predictor_error", c_char_p, c_void_p),
        ("predictor_search", c_int, c_void_p, c_void_p, POINTER(SearchOptions), POINTER(c_void_p)),
        ("prediction_destroy", None, c_void_p),
        ("prediction_examples", c_int64, c_void_p),
        ("prediction_symbols", c_int64, c_void_p, c_int64, c_int64),
        ("prediction_symbol", c_char_p, c_void_p, c_int64, c_int64, c_int64),
        ("prediction_ended", c_int, c_void_p, c_int64, c_int64),
        ("prediction_units", c_int64, c_void_p, c_int64),
        ("prediction_unit", c_char_p, c_void_p, c_int64, c_int64),
    ):
        function = getattr(library, "attn_" + name)
        function.restype, function.argtypes = result, arguments


class Ours:
    def __init__(self, model, sources, threads):
        self.library = attn.library
        declare(self.library)
        self.context = attn.Context(threads=threads)
        self.model, self.dataset, self.predictor = c_void_p(), c_void_p(), c_void_p()
        self.context.call("model_load", str(model).encode(), byref(self.model))
        reader = ReaderOptions()
        self.library.attn_model_reader_options_sized(self.model, byref(reader), ctypes.sizeof(reader))
        reader.labelled = 0
        self.context.call("dataset_read", str(sources).encode(), byref(reader), byref(self.dataset))
        status = self.library.attn_predictor_create(self.model, self.context.handle, byref(self.predictor))
        if status:
            raise attn.Error(status, self.library.attn_context_error(self.context.handle).decode())

    def search(self, beam):
        options, prediction = SearchOptions(), c_void_p()
        self.library.attn_search_options_init_sized(byref(options), ctypes.sizeof(options))
        options.beam = beam
        status = self.library.attn_predictor_search(
            self.predictor, self.dataset, byref(options), byref(prediction))
        if status:
            raise attn.Error(status, self.library.attn_predictor_error(self.predictor).decode())
        return prediction

    def time(self, beam):
        began = time.perf_counter()
        prediction = self.search(beam)
        took = time.perf_counter() - began
        self.library.attn_prediction_destroy(prediction)
        return took

    def read(self, beam, read):
        prediction = self.search(beam)
        examples = self.library.attn_prediction_examples(prediction)
        result = [read(prediction, example) for example in range(examples)]
        self.library.attn_prediction_destroy(prediction)
        return result

    def units(self):
        """The units of every source, as text."""
        library = self.library
        return self.read(1, lambda prediction, e: [
            library.attn_prediction_unit(prediction, e, i).decode()
            for i in range(library.attn_prediction_units(prediction, e))])

    def answers(self, beam):
        """For every source the symbols of the answer, as text, and whether it ended."""
        library = self.library
        return self.read(beam, lambda prediction, e: (
            [library.attn_prediction_symbol(prediction, e, 0, i).decode()
             for i in range(library.attn_prediction_symbols(prediction, e, 0))],
            bool(library.attn_prediction_ended(prediction, e, 0))))


def same_answers(ours, theirs, sources, beam, batch, names):
    """The part of the answers that are the same, the part of ours that ended, and theirs' rows."""
    mine = ours.answers(beam)
    said, ended, rows = theirs.translate(sources, beam, batch)
    other = [([names[symbol] for symbol in answer], end) for answer, end in zip(said, ended)]
    same = sum(a == b for a, b in zip(mine, other)) / len(mine)
    symbols = sum(len(answer) for answer, _ in mine)
    return same, sum(end for _, end in mine) / len(mine), rows, symbols / len(mine)


def settle():
    """Until the threads of whoever had the last turn have stopped spinning."""
    for _ in range(200):
        began, busy = time.perf_counter(), time.process_time()
        time.sleep(0.003)
        if time.process_time() - busy < 0.1 * (time.perf_counter() - began):
            return


def program_time(model, sources, beam, threads):
    """Seconds of `attn predict` from file to file, starting and loading included."""
    began = time.perf_counter()
    subprocess.run([attn.build_folder() / "attn", "predict", model, sources, "--beam", str(beam),
                    "--threads", str(threads)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def race(ours, theirs, sources, beam, arguments):
    times = {"attn": [], "torch": [], "torch_whole": []}
    for _ in range(arguments.rounds):
        settle()
        times["attn"].append(ours.time(beam))
        for name, shrink in (("torch", True), ("torch_whole", False)):
            settle()
            began = time.perf_counter()
            theirs.translate(sources, beam, arguments.batch, shrink)
            times[name].append(time.perf_counter() - began)
    return {name: min(seconds) for name, seconds in times.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    ours, theirs = Ours(arguments.model, arguments.sources, arguments.threads), Translator(arguments.model)
    known = {unit: number for number, unit in enumerate(theirs.units("text"))}
    sources = [[known.get(unit, 0) for unit in units] for units in ours.units()]
    if not all(sources):
        sys.exit("decode.py: a source is empty; take it out")
    names, failed = theirs.units("target"), False
    config = theirs.config
    result = {
        "task": "decoding", "sentences": len(sources), "threads": arguments.threads, "batch": arguments.batch,
        "torch": torch.__version__, "isa": ours.context.isa,
        "columns": theirs.columns, "heads": theirs.heads, "layers": theirs.layers,
        "decoder_layers": theirs.decoder_layers, "inner": config["encoder"]["inner"] or 4 * theirs.columns,
        "symbols": len(names), "races": [],
    }
    settle()
    peak = ours.context.fma_peak()
    for beam in sorted({1, arguments.beam}):
        same, ended, rows, length = same_answers(ours, theirs, sources, beam, arguments.batch, names)
        seconds = race(ours, theirs, sources, beam, arguments)
        settle()
        program = min(program_time(arguments.model, arguments.sources, beam, arguments.threads) for _ in range(3))
        entry = {
            "beam": beam, "same": same, "ended": ended, "mean_length": length, "rows": rows,
            "sentences_per_second": {name: len(sources) / took for name, took in seconds.items()},
            "program_seconds": program,
            "peak_fraction": 2 * rows * theirs.numbers() / seconds["attn"] / (1e9 * peak),
            "load": os.getloadavg()[0],
        }
        result["races"].append(entry)
        rates = entry["sentences_per_second"]
        print(f"beam {beam}: attn {rates['attn']:.0f} sentences/s; PyTorch {rates['torch_whole']:.0f} if done sentences "
              f"stay in the batch ({rates['attn'] / rates['torch_whole']:.2f}x), {rates['torch']:.0f} if they leave it "
              f"({rates['attn'] / rates['torch']:.2f}x); {100 * same:.1f} % "
              f"the same, {100 * ended:.1f} % ended, {length:.1f} symbols; products at "
              f"{100 * entry['peak_fraction']:.0f} % of the peak; attn predict {program:.2f} s; load "
              f"{entry['load']:.1f}", flush=True)
        failed = failed or same < 0.98
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if failed:
        sys.exit("decode.py: too many answers differ: this is no race")


main()
