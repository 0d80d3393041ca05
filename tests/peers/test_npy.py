"""Arrays as numpy writes them: attn check and attn predict find in .npy and .npz what numpy has in memory.

Every type of elements that docs/vectors.md names, in both byte orders, of two and three dimensions, stored and
compressed. An array of one row shows each of its numbers by itself: as the least and the most of its column. A model
of a linear map, a norm and pooling is small enough for numpy to answer, too, in double precision.
"""

import gzip
import io
import itertools
import json
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from safetensors import safe_open

PROGRAM = os.path.join(os.environ["BUILD"], "attn")
LARGEST = np.finfo(np.float32).max
INTEGERS = [order + kind + size for kind in "iu" for size in "1248" for order in ("|" if size == "1" else "<>")]
FLOATS = [order + size for size in ("f2", "f4", "f8") for order in "<>"]
TYPES = ["|b1", *INTEGERS, *FLOATS]
VERSIONS = ((1, 0), (2, 0), (3, 0))
CHECK, PREDICT, TARGETS, REFUSALS = "attn check", "attn predict", "targets", "refusals"
tally = {group: [0, 0] for group in (CHECK, PREDICT, TARGETS, REFUSALS)}


def check(group, what, right):
    tally[group][not right] += 1
    if not right and tally[group][1] <= 20:
        print(f"failed: {group}: {what}")
    return right


def run(*arguments, data=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=data, capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def described(group, what, *arguments):
    """What attn check says of a file; None if it refuses it, which is a failure."""
    status, text, error = run("check", *arguments, "--json")
    return json.loads(text) if check(group, f"{what}: status {status}: {error}", status == 0) else None


# ---- files ----


def npy(version):
    def write(path, array, **others):
        with open(path, "wb") as file:
            np.lib.format.write_array(file, array, version=version)

    return write


def npy_gz(path, array):
    with gzip.open(path, "wb") as file:
        np.save(file, array)


def savez_deflated_fast(path, **arrays):
    """As other programs write archives: no zip64 fields, sizes behind the data, a comment."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            bytes_ = io.BytesIO()
            np.save(bytes_, array)
            archive.writestr(name + ".npy", bytes_.getvalue())
        archive.comment = b"made by a test"


ARCHIVES = {"npz": np.savez, "compressed npz": np.savez_compressed, "zip": savez_deflated_fast}


def ways(folder, array):
    """The array in every kind of file: what it is, and its path."""
    for version in VERSIONS:
        path = folder / "a.npy"
        npy(version)(path, array)
        yield f"npy {version[0]}", path
    npy_gz(folder / "a.npy.gz", array)
    yield "npy.gz", folder / "a.npy.gz"
    for what, write in ARCHIVES.items():
        write(folder / "a.npz", rows=array)
        yield what, folder / "a.npz"
    np.savez(folder / "a.npz", array)
    yield "npz of one array without a name", folder / "a.npz"


# ---- numbers ----


def every_number(kind, random):
    """Numbers of a type that are worth a look: all of them where there are few."""
    dtype = np.dtype(kind)
    if dtype.itemsize <= 2 and dtype.kind != "b":
        numbers = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype.newbyteorder("="))
        return numbers[np.isfinite(numbers)].astype(dtype)
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        powers = [1 << bit for bit in range(8 * dtype.itemsize)]
        near = {p + d for p in powers for d in (-1, 0, 1)} | {p + p // 2**24 + d for p in powers for d in (-1, 0, 1)}
        near |= {-n for n in near} | {info.min, info.max, 0}
        numbers = [n for n in sorted(near) if info.min <= n <= info.max]
        drawn = random.integers(info.min, info.max, 2000, dtype=dtype.newbyteorder("="), endpoint=True)
        return np.concatenate([np.array(numbers, dtype.newbyteorder("=")), drawn]).astype(dtype)
    bits = random.integers(0, 1 << 32, 3000, dtype=np.uint32).view(np.float32)
    singles = bits[np.isfinite(bits)]
    small = np.float32([0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 0.1, 1 / 3, LARGEST, -LARGEST])
    singles = np.concatenate([singles, small])
    if dtype.itemsize == 4:
        return singles.astype(dtype)
    doubles = singles.astype(np.float64)
    between = (doubles[:-1] + np.nextafter(singles[:-1], np.float32(0)).astype(np.float64)) / 2
    drawn = random.standard_normal(2000) * 10.0 ** random.integers(-50, 38, 2000)
    around = [np.nextafter(between, side) for side in (-np.inf, np.inf)]
    tiny = [5e-324, -5e-324, 7e-46, 7.1e-46, 1e-300]
    every = np.concatenate([doubles, between, *around, drawn, tiny])
    return every[np.abs(every) <= LARGEST].astype(dtype)


def single(array):
    with np.errstate(all="ignore"):
        return array.astype(np.float32)


def check_every_number(folder, random):
    for kind in TYPES:
        numbers = every_number(kind, random)
        for what, path in ways(folder, numbers[np.newaxis]):
            what = f"{kind}, {what}"
            found = described(CHECK, what, path)
            if not found:
                continue
            least, most = (np.array([c[end] for c in found["vector"]], np.float32) for end in ("least", "most"))
            wanted = single(numbers)
            same = len(least) == len(wanted) and (least == wanted) & (most == wanted)
            wrong = np.flatnonzero(~np.asarray(same))
            text = ", ".join(f"{numbers[i]!r}: {least[i]!r}, numpy {wanted[i]!r}" for i in wrong[:3])
            check(CHECK, f"{what}: {len(wrong)} of {len(wanted)} numbers: {text}", np.all(same))


def some(kind, random, *shape):
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        return (random.standard_normal(shape) * 10).astype(dtype)
    low, high = (0, 1) if dtype.kind == "b" else (0 if dtype.kind == "u" else -100, 100)
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


def check_shape(what, found, array, lengths):
    """found: what attn check says of it; lengths: rows of every sequence."""
    rows = single(array).reshape(-1, array.shape[-1]).astype(np.float64)
    check(CHECK, f"{what}: rows x columns", (found["rows"], found["width"]) == rows.shape)
    check(CHECK, f"{what}: sequences", found["examples"] == len(lengths))
    said = found["lengths"]["rows"]
    wanted = min(lengths), float(np.mean(lengths)), max(lengths)
    check(CHECK, f"{what}: lengths {said}", np.allclose([said[k] for k in ("least", "mean", "most")], wanted))
    check(CHECK, f"{what}: empty", found["empty"] == sum(n == 0 for n in lengths))
    for name, values in (("least", rows.min(0)), ("most", rows.max(0))):
        check(CHECK, f"{what}: {name}", [c[name] for c in found["vector"]] == [float(f"{v:.9g}") for v in values])
    means = np.array([c["mean"] for c in found["vector"]])
    scale = np.abs(rows).max() + 1e-30
    check(CHECK, f"{what}: mean", np.abs(means - rows.mean(0)).max() <= 1e-8 * scale)


def check_shapes(folder, random):
    shapes = (1, 1), (7, 3), (200, 20), (4, 5, 3), (1, 9, 2), (6, 1, 4)
    for kind, shape in itertools.product(TYPES, shapes):
        array = some(kind, random, *shape)
        lengths = [shape[1]] * shape[0] if len(shape) == 3 else [1] * shape[0]
        for what, path in ways(folder, array):
            found = described(CHECK, f"{kind} {shape}, {what}", path, "--input", "vectors")
            if found:
                check_shape(f"{kind} {shape}, {what}", found, array, lengths)
    x = some("<f4", random, 40, 6)
    for what, array in (("a slice", x[::3, 1:4]), ("backwards", x[::-1]), ("one column", x[:, 2:3]),
                        ("one row, transposed", x[:1].T), ("a big slice", np.asfortranarray(x)[:, :1])):
        for where, path in ways(folder, array):
            found = described(CHECK, f"{what}, {where}", path)
            if found:
                check_shape(f"{what}, {where}", found, array, [1] * len(array))


def check_offsets(folder, random):
    lengths = [3, 0, 1, 20, 1]
    for kind, (what, write) in itertools.product(INTEGERS, ARCHIVES.items()):
        array = some("<f4", random, sum(lengths), 3)
        write(folder / "o.npz", rows=array, offsets=np.cumsum([0, *lengths]).astype(kind))
        found = described(CHECK, f"offsets {kind}, {what}", folder / "o.npz")
        if found:
            check_shape(f"offsets {kind}, {what}", found, array, lengths)


# ---- targets ----

LABELS = ["a", "é", "東京", "😀", "two words", "it's", "x" * 40, "ß"]


def classes(column):
    return {entry["label"]: entry["count"] for entry in column["classes"]}


def check_labels(folder, random):
    rows = some("<f4", random, 64, 2)
    chosen = [LABELS[i] for i in random.integers(0, len(LABELS), 64)]
    wanted = {label: chosen.count(label) for label in chosen}
    arrays = {order + "U": np.array(chosen).astype(order + "U40") for order in "<>"}
    arrays["S"] = np.array([label.encode() for label in chosen])
    for (kind, labels), (what, write) in itertools.product(arrays.items(), ARCHIVES.items()):
        write(folder / "t.npz", rows=rows, größe=labels)
        found = described(TARGETS, f"{kind}, {what}", folder / "t.npz")
        if found:
            column = found["columns"][0]
            check(TARGETS, f"{kind}, {what}: name {column['name']}", column["name"] == "größe")
            check(TARGETS, f"{kind}, {what}: {classes(column)}", classes(column) == wanted)
    for kind, labels in arrays.items():
        np.save(folder / "r.npy", rows)
        np.save(folder / "y.npy", labels)
        found = described(TARGETS, f"{kind}, a second file", folder / "r.npy", folder / "y.npy", "--input", "vectors")
        check(TARGETS, f"{kind}, a second file", found and classes(found["columns"][0]) == wanted)


def check_number_targets(folder, random):
    for kind, (what, write) in itertools.product(TYPES, ARCHIVES.items()):
        dtype = np.dtype(kind)
        numbers = every_number(kind, random)
        if dtype.kind == "f":
            numbers = numbers[np.argsort(np.abs(numbers.astype(np.float64)))]
        numbers = numbers[np.linspace(0, len(numbers) - 1, min(len(numbers), 300)).astype(int)]
        missing = 0
        if dtype.kind == "f":
            numbers[5:8], missing = np.nan, 3
        write(folder / "n.npz", rows=some("<f4", random, len(numbers), 2), y=numbers)
        found = described(TARGETS, f"{kind}, {what}", folder / "n.npz")
        if not found:
            continue
        column = found["columns"][0]
        said = classes(column)
        present = numbers[~np.isnan(numbers)] if dtype.kind == "f" else numbers
        native = dtype.newbyteorder("=").type
        wanted = {}
        for number in present:
            wanted[repr(native(number))] = wanted.get(repr(native(number)), 0) + 1
        read = {}
        for label, count in said.items():
            number = native(int(label)) if dtype.kind in "iub" else native(float(label))
            read[repr(number)] = read.get(repr(number), 0) + count
        check(TARGETS, f"{kind}, {what}: missing {column['missing']}", column["missing"] == missing)
        if column["distinct"] == len(said):  # all of them are told
            wrong = [label for label in wanted if read.get(label) != wanted[label]]
            check(TARGETS, f"{kind}, {what}: {wrong[:5]} are not in the file", read == wanted)
        else:
            wrong = [label for label in read if read[label] != wanted.get(label)]
            check(TARGETS, f"{kind}, {what}: {wrong[:5]} are not in the array", not wrong)
            check(TARGETS, f"{kind}, {what}: distinct {column['distinct']}", column["distinct"] == len(wanted))
        values = present.astype(np.float64)
        ends = column["numbers"]["least"], column["numbers"]["most"]
        precision = 1e-15 if kind[1:] not in ("f2", "f4") else 1e-7  # as few digits as tell them apart
        right = np.allclose(ends, (values.min(), values.max()), rtol=precision, atol=0)
        check(TARGETS, f"{kind}, {what}: from {ends[0]} to {ends[1]}", right)


def check_missing(folder, random):
    """An empty string is no class; targets of sequences beside offsets of every type."""
    labels = np.array(["eins", "", "dré我"])
    kinds = labels, np.char.encode(labels, "utf-8"), labels.astype(">U4")
    for offsets, targets, (what, write) in itertools.product(INTEGERS, kinds, ARCHIVES.items()):
        what = f"{targets.dtype}, offsets {offsets}, {what}"
        write(folder / "m.npz", rows=some("<f8", random, 9, 2), offsets=np.array([0, 4, 4, 9], offsets), label=targets)
        found = described(TARGETS, what, folder / "m.npz")
        if found:
            column = found["columns"][0]
            check(TARGETS, f"{what}: sequences", (found["examples"], found["empty"]) == (3, 1))
            check(TARGETS, f"{what}: {column}", column["missing"] == 1 and classes(column) == {"eins": 1, "dré我": 1})


def check_places(folder, random):
    """Targets of rows and of sequences, of arrays of three dimensions and with offsets."""
    x = some("<f4", random, 5, 4, 3)
    grid, each = random.integers(0, 3, (5, 4)), random.integers(0, 2, 5)
    for what, write in ARCHIVES.items():
        write(folder / "p.npz", rows=x, grid=grid, each=each)
        for task, name, array in (("tag", "grid", grid), ("classify", "each", each)):
            found = described(TARGETS, f"{what}, {name}", folder / "p.npz", "--task", task, "--column", name)
            wanted = {str(v): int(n) for v, n in zip(*np.unique(array, return_counts=True))}
            check(TARGETS, f"{what}, {name}", found and classes(found["columns"][0]) == wanted)
    y = some("<f8", random, 9, 3)
    np.save(folder / "r.npy", some(">f4", random, 9, 2))
    np.save(folder / "y.npy", y)
    found = described(TARGETS, "several columns", folder / "r.npy", folder / "y.npy")
    for c, column in enumerate(found["columns"] if found else []):
        read = sorted(float(label) for label in classes(column))
        check(TARGETS, f"column {c} of a second file", read == sorted(y[:, c].tolist()))
    check(TARGETS, "a target for each column of a second file", found and len(found["columns"]) == 3)


# ---- answers ----


def train(folder, name, arrays):
    np.savez(folder / "train.npz", **arrays)
    model = folder / (name + ".safetensors")
    status, _, error = run("train", "regress", folder / "train.npz", "--dev", folder / "train.npz", "-o", model,
                           "--column", "y", "--layers", "0", "--position", "none", "--steps", "60", "--quiet")
    check(PREDICT, f"training {name}: {error}", status == 0)
    return model


def answers_of_numpy(model, sequences):
    """The network in double precision: a linear map, a norm, the mean and the most of every sequence, a map."""
    with safe_open(model, framework="numpy") as file:
        t = {name: file.get_tensor(name).astype(np.float64) for name in file.keys() if "columns" not in name}
        output = json.loads(file.metadata()["attn.outputs"])["outputs"][0]
    answers = []
    for rows in sequences:
        x = (single(rows).astype(np.float64) - t["vectors.mean"]) / t["vectors.deviation"]
        x = x @ t["input.weight"].T + t["input.bias"]
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        x = x * t["input.norm.gain"] + t["input.norm.bias"]
        pooled = np.concatenate([x.mean(0), x.max(0)])
        answers.append(pooled @ t["output.0.weight"][0] + t["output.0.bias"][0])
    return np.array(answers) * output["deviation"] + output["mean"]


def predicted(what, model, path, data=None):
    """Of a file, or of what stands on standard input."""
    status, text, error = run("predict", model, *([] if data else [path]), "--json", data=data)
    if not check(PREDICT, f"{what}: status {status}: {error}", status == 0):
        return None
    return [json.loads(line)["outputs"]["y"] for line in text.splitlines()]


def check_answers(what, model, path, sequences, **how):
    ours = predicted(what, model, path, **how)
    if ours is None:
        return
    theirs = answers_of_numpy(model, sequences)
    if check(PREDICT, f"{what}: {len(ours)} answers", len(ours) == len(theirs)):
        worst = np.max(np.abs(ours - theirs) / (1 + np.abs(theirs)))
        check(PREDICT, f"{what}: up to {worst:.2g} apart", worst <= 1e-5)


def check_predict(folder, random):
    x = random.standard_normal((300, 4)) * 10
    rows = train(folder, "rows", {"rows": x, "y": np.tanh(x[:, 0]) + x[:, 1] / 10})
    x = x.reshape(60, 5, 4)
    sequences = train(folder, "sequences", {"rows": x, "y": x[:, :, 0].max(1) / 10 + x[:, 0, 1] / 5})
    for kind in TYPES:
        flat, deep = some(kind, random, 30, 4), some(kind, random, 8, 5, 4)
        for what, path in ways(folder, flat):
            check_answers(f"{kind}, {what}", rows, path, flat[:, np.newaxis])
        for what, path in ways(folder, deep):
            check_answers(f"{kind}, three dimensions, {what}", sequences, path, deep)
        for path in (folder / "a.npy", folder / "a.npz"):
            check_answers(f"{kind}, standard input, {path.suffix}", sequences, path, deep, data=path.read_bytes())
        lengths = [2, 7, 1]
        cut = some(kind, random, sum(lengths), 4)
        np.savez_compressed(folder / "o.npz", rows=cut, offsets=np.cumsum([0, *lengths]))
        parts = np.split(cut, np.cumsum(lengths)[:-1])
        check_answers(f"{kind}, offsets", sequences, folder / "o.npz", parts)


# ---- what is refused ----


def refused(what, path, *reasons):
    """With status 1, and one line that names the file and says why."""
    status, text, error = run("check", path, "--input", "vectors", "--json")
    check(REFUSALS, f"{what}: status {status}, {text[:100]!r}", status == 1 and text == "")
    named = error.startswith(f"attn check: {path}") and error.count("\n") == 1
    check(REFUSALS, f"{what}: {error!r}", named and all(reason in error for reason in reasons))


def check_refusals(folder, random):
    x = some("<f8", random, 6, 4)
    bad = {
        "complex": (x.astype("c16"), "complex"),
        "long double": (x.astype(np.longdouble), "astype"),
        "objects": (np.array([[1, "a"]], dtype=object), "Python objects"),
        "times": (np.zeros((2, 2), "M8[s]"), "times"),
        "raw bytes": (np.zeros((2, 2), "V3"), "raw bytes"),
        "a structured array": (np.zeros((3,), [("a", "f4"), ("b", "i4")]), "structured"),
        "strings": (np.array([["1", "2"]]), "strings"),
        "Fortran order": (np.asfortranarray(x), "ascontiguousarray"),
        "no dimension": (np.array(3.0), "dimension"),
        "one dimension": (x[0], "has 1 dimension"),
        "four dimensions": (x.reshape(1, 2, 3, 4), "dimensions"),
        "no rows": (x[:0], "no rows"),
        "no columns": (x[:, :0], "no columns"),
        "no sequences": (x.reshape(2, 3, 4)[:0], "no rows"),
    }
    for name, number, reason in (("NaN", np.nan, "not a number"), ("infinity", -np.inf, "infinite"),
                                 ("1e39", 1e39, "too large")):
        array = x.copy()
        array[4, 3] = number
        bad[name] = array, f"row 4, column 3 is {reason}"
    for what, (array, reason) in bad.items():
        np.save(folder / "b.npy", array, allow_pickle=True)
        refused(f"{what}, npy", folder / "b.npy", reason)
        for how, write in ARCHIVES.items():
            if array.dtype == object and write is savez_deflated_fast:
                continue
            write(folder / "b.npz", rows=array)
            refused(f"{what}, {how}", folder / "b.npz", reason)
    for offsets in ([0, 3], [1, 6], [0, 4, 3, 6], [0, 7], [0], [0.0, 6.0], [[0, 6]], [-1, 6]):
        np.savez(folder / "b.npz", rows=x, offsets=offsets)
        refused(f"offsets {offsets}", folder / "b.npz", "array offsets")
    for arrays in ({"a": x, "b": x}, {"y": x[0]}):
        np.savez(folder / "b.npz", **arrays)
        refused(f"arrays {list(arrays)}", folder / "b.npz")
    for name, write in (("cut.npy", lambda path: np.save(path, x)), ("cut.npz", lambda path: np.savez(path, rows=x)),
                        ("cut2.npz", lambda path: np.savez_compressed(path, rows=x))):
        path = folder / name
        write(path)
        whole = path.read_bytes()
        for length in range(0, len(whole), 7 if len(whole) < 1000 else 13):
            path.write_bytes(whole[:length])
            refused(f"{length} bytes of {name}", path)
        if path.suffix == ".npz":  # a byte of the data changed: the sum does not fit
            at = whole.index(b"NUMPY") + 130 if b"NUMPY" in whole else 90
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            refused(f"a byte of {name} changed", path)


def main():
    random = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in (check_every_number, check_shapes, check_offsets, check_labels, check_number_targets,
                     check_missing, check_places, check_predict, check_refusals):
            part(folder, random)
    for group, (passed, failed) in tally.items():
        print(f"{group:12} {passed:6} passed {failed:4} failed")
    passed, failed = (sum(counts) for counts in zip(*tally.values()))
    print(f"arrays of numpy {np.__version__}: {passed} passed, {failed} failed")
    return failed > 0 or passed == 0


raise SystemExit(main())
