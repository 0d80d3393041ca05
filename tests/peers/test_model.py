"""Model files as the safetensors library sees them: it opens what attn writes and finds what docs/format.md says;
what it writes itself from the same tensors, attn opens and answers with the same probabilities."""
import json
import os
import subprocess
import tempfile

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

PROGRAM = os.path.join(os.environ["BUILD"], "attn")
TAGS = "the\tDET\ncat\tNOUN\nsat\tVERB\n\na\tDET\ndog\tNOUN\nran\tVERB\n\n"
TEXTS = "good\ta fine day\nbad\tan awful day\ngood\tfine words\nbad\tawful words\n"
passed = failed = 0


def check(what, right):
    global passed, failed
    if right:
        passed += 1
    else:
        failed += 1
        print("failed: " + what)


def run(*arguments, text=""):
    return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, check=True).stdout


def strings(tensors, name):
    """A list of strings as bytes and offsets."""
    data, offsets = tensors[name + ".bytes"].tobytes(), tensors[name + ".offsets"]
    return [data[a:b].decode() for a, b in zip(offsets[:-1], offsets[1:])]


def check_file(name, path, task):
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        tensors = {key: file.get_tensor(key) for key in file.keys()}
    config, outputs = json.loads(metadata["attn.config"]), json.loads(metadata["attn.outputs"])
    check(name + ": format", metadata["attn.format"] == "1")
    check(name + ": task", config["task"] == task)
    check(name + ": scores", "score" in json.loads(metadata["attn.scores"]))
    units, columns = strings(tensors, "text.units"), config["encoder"]["columns"]
    check(name + ": unit 0 is the unknown one", units[0] == "" and len(set(units)) == len(units))
    check(name + ": table of features",
          tensors["features"].shape == (len(units) + config["text"]["buckets"], columns))
    labels = outputs["outputs"][0]["labels"]
    check(name + ": output", tensors["output.0.bias"].shape == (len(labels),))
    for key, tensor in tensors.items():
        kind = numpy.uint8 if key.endswith(".bytes") else numpy.int64 if key.endswith(".offsets") else numpy.float32
        check(f"{name}: {key}", tensor.dtype == kind and (kind != numpy.float32 or numpy.isfinite(tensor).all()))
    return metadata, tensors


def check_model(folder, name, task, data, text, flags):
    source, path = os.path.join(folder, "data.tsv"), os.path.join(folder, name + ".safetensors")
    with open(source, "w", encoding="utf-8") as file:
        file.write(data)
    run("train", task, source, "--dev", source, "-o", path, "--steps", "40", "--quiet", *flags)
    metadata, tensors = check_file(name, path, task)
    again = os.path.join(folder, name + "-again.safetensors")
    save_file(tensors, again, metadata)
    answers = [run("predict", model, "--probs", "--json", text=text) for model in (path, again)]
    check(name + ": written by safetensors, the same answers", answers[0] == answers[1] and answers[0] != "")
    with safe_open(path.replace(".safetensors", ".last.safetensors"), framework="numpy") as file:
        state = [key for key in file.keys() if key.startswith("optimizer.")]
        check(name + ": the .last file has the optimiser", len(state) > 0 and "attn.training" in file.metadata())


with tempfile.TemporaryDirectory() as temporary:
    check_model(temporary, "tagger", "tag", TAGS, "the dog sat\n", [])
    check_model(temporary, "crf", "tag", TAGS, "the dog sat\n", ["--crf", "--encoder", "rnn"])
    check_model(temporary, "words", "tag", TAGS, "thecat\n", ["--unit", "chars", "--scheme", "bmes"])
    check_model(temporary, "classifier", "classify", TEXTS, "a fine word\n", ["--unit", "subwords"])
print(f"models: {passed} passed, {failed} failed")
raise SystemExit(failed > 0 or passed == 0)
