"""Entities in BIO, IOB1, BIOES and arbitrary tags against seqeval's default mode.

Tag sequences are random: any tag may follow any other, so that entities begin with I- and E-, types change
inside of them, and B- follows I-. Answers are the truth with some of its tags replaced, or another random
sequence. Counts of every type, precision, recall and F1 must be those of seqeval; sets of valid BIOES are also
compared with its strict mode. Then the same of a model: its report, from the tags that it predicts.
"""

import json
import math
import random
import subprocess
import tempfile
import warnings
from pathlib import Path

import attn
from private import build_program
from seqeval.metrics import classification_report, f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOBES

CASES = 3000
LETTERS = {"bio": "BI", "bioes": "BIES", "bilou": "BILU", "bmes": "BMES"}
THEIRS = str.maketrans("LUM", "ESI")
TYPES = ["PER", "LOC", "A-B", "_", "x"]
passed = failed = 0


def check(what, right):
    global passed, failed
    if right:
        passed += 1
        return
    failed += 1
    if failed <= 20:
        print("failed: " + what)


def valid_bioes(generator, length, types):
    """A sequence that the scheme has."""
    tags = []
    while len(tags) < length:
        size, kind = generator.randint(1, 4), generator.choice(types)
        if generator.random() < 0.4:
            tags.append("O")
        elif size == 1:
            tags.append("S-" + kind)
        else:
            tags += ["B-" + kind] + ["I-" + kind] * (size - 2) + ["E-" + kind]
    return tags


def any_tags(generator, length, letters, types):
    return [
        "O" if generator.random() < 0.3 else f"{generator.choice(letters)}-{generator.choice(types)}"
        for _ in range(length)
    ]


def make_case(generator, number):
    """Pairs of sequences, and whether all of them are valid BIOES."""
    letters = generator.choice(list(LETTERS.values()))
    types = TYPES[: generator.randint(1, len(TYPES))]
    valid = number % 4 == 0
    noise = generator.choice((0, 0.1, 0.5, 1))
    pairs = []
    for _ in range(generator.choice((1, 2, 8))):
        length = generator.choice((0, 1, 2, 5, 20)) if not valid else generator.randint(1, 20)
        if valid:
            truth = valid_bioes(generator, length, types)
            answer = truth if generator.random() > noise else valid_bioes(generator, length, types)
            shorter = min(len(truth), len(answer))
            if shorter < max(len(truth), len(answer)):
                answer = list(truth)
        else:
            truth = any_tags(generator, length, letters, types)
            other = any_tags(generator, length, letters, types)
            answer = [b if generator.random() < noise else a for a, b in zip(truth, other, strict=True)]
        pairs.append((truth, answer))
    return pairs, valid


def theirs(tags):
    """The letters that seqeval knows: - in types and all else as they are."""
    return [tag if tag == "O" else tag[0].translate(THEIRS) + tag[1:] for tag in tags]


def ratio(part, whole):
    return part / whole if whole else 0.0


def compare(what, line, pairs, valid):
    counts = {name: tuple(map(int, numbers)) for name, *numbers in (part.split(" ") for part in line.split("\t"))}
    truth, answer = [theirs(a) for a, _ in pairs], [theirs(b) for _, b in pairs]
    right, said = set(get_entities(truth)), set(get_entities(answer))
    for kind in {kind for kind, *_ in right | said}:
        wanted = (
            sum(one[0] == kind for one in right),
            sum(one[0] == kind for one in said),
            sum(one[0] == kind for one in right & said),
        )
        check(f"{what}, {kind}: {counts.get(kind)}, seqeval {wanted}", counts.get(kind) == wanted)
    support, predicted, both = counts.pop("-")
    ours = (ratio(both, predicted), ratio(both, support), ratio(2 * both, predicted + support))
    modes = [{}] + ([{"mode": "strict", "scheme": IOBES}] if valid else [])
    for mode in modes:
        scores = [score(truth, answer, **mode) for score in (precision_score, recall_score, f1_score)]
        near = all(math.isclose(a, float(b), abs_tol=1e-12) for a, b in zip(ours, scores, strict=True))
        check(f"{what}, {mode}: {ours}, seqeval {scores}", near)


def compare_functions(folder):
    generator = random.Random(1)
    cases = [make_case(generator, i) for i in range(CASES)]
    text = "".join(
        "".join(f"{' '.join(a)}\t{' '.join(b)}\n" for a, b in pairs) + "\n" for pairs, _ in cases
    )
    program = build_program("entities", folder)
    lines = subprocess.run([program], input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    for i, (line, (pairs, valid)) in enumerate(zip(lines, cases, strict=True)):
        compare(f"case {i}", line, pairs, valid)


# ---- a model ----


def sentences(generator, count):
    """Words of names, places and others, which the tags follow from; some tags are wrong."""
    names, places, others = ["ann", "bob", "cy"], ["rome", "oslo", "new york"], ["sees", "in", "the", "and", "old"]
    for _ in range(count):
        rows = []
        for _ in range(generator.randint(1, 7)):
            kind = generator.choice(("PER", "LOC", "O", "O"))
            if kind == "O":
                rows.append((generator.choice(others), "O"))
                continue
            words = generator.choice(places).split() if kind == "LOC" else generator.choices(names, k=generator.randint(1, 3))
            rows += [(word, ("I-" if i else "B-") + kind) for i, word in enumerate(words)]
        yield [(word, tag if generator.random() > 0.05 else "O") for word, tag in rows]


def write(path, data):
    path.write_text("".join("".join(f"{w}\t{t}\n" for w, t in rows) + "\n" for rows in data), encoding="utf-8")


def compare_model(folder):
    generator = random.Random(2)
    folder = Path(folder)
    test = list(sentences(generator, 150))
    write(folder / "train.tsv", list(sentences(generator, 300)))
    write(folder / "test.tsv", test)
    program = attn.build_folder() / "attn"
    model = folder / "model.safetensors"
    subprocess.run(
        [program, "train", "tag", folder / "train.tsv", "--format", "columns", "-o", model, "--steps", "40", "--quiet"],
        check=True,
    )
    report = json.loads(
        subprocess.run([program, "eval", model, folder / "test.tsv", "--json"], check=True, capture_output=True).stdout
    )
    lines = subprocess.run([program, "predict", model, folder / "test.tsv"], check=True, capture_output=True, text=True)
    answer = [[line.split("\t")[-1] for line in block.split("\n")] for block in lines.stdout.strip().split("\n\n")]
    truth = [[tag for _, tag in rows] for rows in test]
    for name, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        ours, wanted = report["entity_" + name], float(score(truth, answer))
        check(f"a model's entity_{name}: {ours}, seqeval {wanted}", math.isclose(ours, wanted, abs_tol=1e-12))
    types = classification_report(truth, answer, output_dict=True)
    for one in report["entities"]:
        wanted = types[one["type"]]
        ours = [one["precision"], one["recall"], one["f1"], one["support"]]
        same = [float(wanted[name]) for name in ("precision", "recall", "f1-score", "support")]
        near = all(math.isclose(a, b, abs_tol=1e-12) for a, b in zip(ours, same, strict=True))
        check(f"a model's {one['type']}: {ours}, seqeval {same}", near)
    check("the model is neither perfect nor useless", 0.2 < report["entity_f1"] < 1)


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        compare_functions(folder)
        compare_model(folder)
    print(f"entities: {passed} comparisons with seqeval passed, {failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
