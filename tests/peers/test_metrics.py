"""ROC-AUC, PR-AUC, log loss and errors of numbers against scikit-learn.

Cases are made up: sets of all sizes from one example on, scores with many ties or with none, of float32 and
of double, close to each other and far apart, probabilities of 0 and 1 and next to them, and any share of
examples without a truth, which scikit-learn is not shown. Then the same metrics of a trained model's report,
from the probabilities and numbers that it predicts.
"""

import ctypes
import json
import math
import subprocess
import tempfile
import warnings
from ctypes import POINTER, byref, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np
from sklearn import metrics

import attn

TOLERANCE = 1e-9
passed = failed = 0


class Ranking(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("roc_auc", c_double),
        ("pr_auc", c_double),
        ("positives", c_int64),
        ("negatives", c_int64),
    ]


class Numbers(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("compared", c_int64),
        ("mean_squared_error", c_double),
        ("rmse", c_double),
        ("mean_absolute_error", c_double),
        ("correlation", c_double),
        ("r2", c_double),
    ]


doubles, classes = POINTER(c_double), POINTER(c_int32)
for name, *arguments in (
    ("ranking", classes, doubles, c_int64, POINTER(Ranking)),
    ("log_loss", classes, doubles, c_int64, c_int64, doubles),
    ("numbers", doubles, doubles, c_int64, POINTER(Numbers)),
):
    function = getattr(attn.library, "attn_metric_" + name)
    function.restype, function.argtypes = c_int, [c_void_p, *arguments]
context = attn.Context(threads=1)


def pointer(array, kind):
    return array.ctypes.data_as(POINTER(kind))


def check(what, right):
    global passed, failed
    if right:
        passed += 1
    else:
        failed += 1
        if failed <= 20:
            print("failed: " + what)


def near(what, ours, theirs):
    """Relatively, where a number is larger than 1: errors of numbers have a unit."""
    both_none = math.isnan(ours) and math.isnan(theirs)
    check(
        f"{what}: {ours!r}, scikit-learn {theirs!r}",
        both_none or abs(ours - theirs) <= TOLERANCE * max(1.0, abs(theirs)),
    )


# ---- the functions ----


def compare_ranking(what, truth, scores):
    truth, scores = np.ascontiguousarray(truth, np.int32), np.ascontiguousarray(scores, np.float64)
    ours = Ranking(size=ctypes.sizeof(Ranking))
    context.call("score_ranking", pointer(truth, c_int32), pointer(scores, c_double), len(truth), byref(ours))
    there = truth >= 0
    seen, ranked = truth[there] > 0, scores[there]
    check(what + ": counts", (ours.positives, ours.negatives) == (seen.sum(), (~seen).sum()))
    one_class = seen.all() or not seen.any()
    near(what + ": ROC-AUC", ours.roc_auc, math.nan if one_class else metrics.roc_auc_score(seen, ranked))
    theirs = math.nan if one_class else metrics.average_precision_score(seen, ranked)
    near(what + ": PR-AUC", ours.pr_auc, theirs)


def compare_log_loss(what, truth, probabilities):
    truth = np.ascontiguousarray(truth, np.int32)
    probabilities = np.ascontiguousarray(probabilities, np.float64)
    ours, there = c_double(), truth >= 0
    count = probabilities.shape[1]
    context.call(
        "score_log_loss",
        pointer(truth, c_int32),
        pointer(probabilities, c_double),
        len(truth),
        count,
        byref(ours),
    )
    theirs = math.nan
    if there.any():
        theirs = metrics.log_loss(truth[there], probabilities[there], labels=np.arange(count))
    near(what + ": log loss", ours.value, theirs)


def compare_numbers(what, truth, answers):
    truth, answers = np.ascontiguousarray(truth, np.float64), np.ascontiguousarray(answers, np.float64)
    ours = Numbers(size=ctypes.sizeof(Numbers))
    context.call(
        "score_numbers", pointer(truth, c_double), pointer(answers, c_double), len(truth), byref(ours)
    )
    there = ~np.isnan(truth)
    right, said = truth[there], answers[there]
    check(what + ": count", ours.compared == len(right))
    if len(right) == 0:
        return
    near(what + ": MSE", ours.mean_squared_error, metrics.mean_squared_error(right, said))
    near(what + ": RMSE", ours.rmse, metrics.root_mean_squared_error(right, said))
    near(what + ": MAE", ours.mean_absolute_error, metrics.mean_absolute_error(right, said))
    near(what + ": R2", ours.r2, metrics.r2_score(right, said))


# ---- cases ----


def random_scores(random, count):
    kind = random.integers(6)
    if kind == 0:  # few values: many ties
        return random.integers(0, random.integers(1, 6), count) / 7.0
    if kind == 1:  # as a network has them
        return (1 / (1 + np.exp(-random.normal(0, 4, count).astype(np.float32)))).astype(np.float32)
    if kind == 2:  # almost certain: ties at 0 and 1
        return (1 / (1 + np.exp(-random.normal(0, 60, count)))).astype(np.float32)
    if kind == 3:  # neighbouring doubles
        return 0.5 + random.integers(0, 4, count) * 2.0**-53
    if kind == 4:  # any size, and the smallest numbers there are
        return random.normal(0, 1, count) * 10.0 ** random.integers(-320, 300, count)
    return random.normal(0, 1, count)


def random_size(random):
    return int(random.choice([random.integers(1, 5), random.integers(1, 40), random.integers(1, 700)]))


def rankings(random):
    for round_ in range(3000):
        count = random_size(random)
        truth = (random.random(count) < random.random()).astype(np.int32)
        truth[random.random(count) < random.choice([0, 0.3, 0.9])] = -1
        scores = random_scores(random, count)
        if random.random() < 0.5:
            scores = scores + truth * random.random()
        compare_ranking(f"ranking {round_}", truth, scores)
    for scores in ([0.5, 0.5], [0.1, 0.9], [0.9, 0.1], [0.0, -0.0]):
        for truth in ([0, 1], [1, 0], [1, 1], [0, 0], [-1, 1], [-1, -1]):
            compare_ranking(f"two examples {scores} {truth}", truth, scores)
    try:
        compare_ranking("a NaN", [0, 1], [math.nan, 1])
        check("a NaN is refused", False)
    except attn.Error:
        check("a NaN is refused", True)


def log_losses(random):
    for round_ in range(3000):
        count, width = random_size(random), int(random.integers(2, 9))
        logits = random.normal(0, random.choice([0.1, 1, 10, 100, 1000]), (count, width))
        with np.errstate(under="ignore"):
            odds = np.exp(logits - logits.max(1, keepdims=True))
        probabilities = odds / odds.sum(1, keepdims=True)
        if random.random() < 0.3:
            probabilities = probabilities.astype(np.float32).astype(np.float64)
        truth = random.integers(0, width, count)
        truth[random.random(count) < random.choice([0, 0.3, 0.9])] = -1
        compare_log_loss(f"probabilities {round_}", truth, probabilities)
    eps = 2.0**-52
    for p in (0, 5e-324, eps / 2, eps, 2 * eps, 1e-15, 0.5, 1 - eps, 1 - eps / 2, 1):
        for truth in ([0], [1], [0, 1], [-1, 1]):
            compare_log_loss(f"probability {p} of {truth}", truth, [[1 - p, p]] * len(truth))


def numbers(random):
    for round_ in range(3000):
        count = random_size(random)
        scale, shift = 10.0 ** random.integers(-3, 4), random.choice([0, 1, -50, 1000])
        truth = (random.normal(0, 1, count) + shift) * scale
        if random.random() < 0.2:
            truth = np.round(truth)
        answers = truth + random.normal(0, random.choice([0, 0.01, 1, 10]), count) * scale
        if random.random() < 0.2:
            answers = answers.astype(np.float32).astype(np.float64)
        truth[random.random(count) < random.choice([0, 0.3, 0.9])] = math.nan
        compare_numbers(f"numbers {round_}", truth, answers)
    for truth in ([1], [2, 2], [2, 2, 2], [0, 0, 0, 0], [1, 2], [math.nan, 3, 4], [math.nan]):
        for error in (0, 1, -0.5):
            compare_numbers(f"numbers {truth} + {error}", truth, np.array(truth) + error)


# ---- a model's report ----


def program(*arguments):
    finished = subprocess.run(
        [attn.build_folder() / "attn", *arguments], capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise SystemExit(f"attn {' '.join(arguments)}: {finished.stderr}")
    return finished.stdout


SMALL = "--width 8 --heads 2 --layers 1 --steps 20 --threads 1 --quiet --force".split()


def reports(random, folder):
    """Three columns of a table with gaps: two of two classes, one of three; and one of numbers."""
    words = "red green blue round square small large new old".split()
    lines = ["text,active,toxic,kind,size"]
    for _ in range(300):
        text = random.choice(words, 4)
        active = "yes" if ("red" in text) != (random.random() < 0.2) else "no"
        toxic = str(int(("old" in text) != (random.random() < 0.3)))
        kind = "abc"[int("blue" in text) + int("new" in text)]
        gaps = random.random(3) < 0.3
        row = [" ".join(text)] + [
            "" if gap else v for gap, v in zip(gaps, (active, toxic, kind), strict=True)
        ]
        lines.append(",".join([*row, f"{len(set(text)) + random.normal():.4f}"]))
    table = folder / "table.csv"
    table.write_text("\n".join(lines) + "\n")
    truth = [line.split(",") for line in lines[1:]]
    names = ["active", "toxic", "kind"]
    model = str(folder / "m.safetensors")
    program("train", "classify", str(table), "--column", ",".join(names), "--text-column", "text",
            "-o", model, *SMALL)  # fmt: skip
    report = json.loads(program("eval", model, str(table), "--json"))
    said = [
        json.loads(line) for line in program("predict", model, str(table), "--json", "--probs").splitlines()
    ]
    means = {}
    for column, (name, positive) in enumerate(zip(names, ("yes", "1", None), strict=True)):
        own = report if column == 0 else report["outputs"][name]
        labels = sorted(said[0]["probabilities"][name])
        rows = [
            (row[column + 1], answer["probabilities"][name]) for row, answer in zip(truth, said, strict=True)
        ]
        rows = [row for row in rows if row[0]]
        matrix = np.array([[p[label] for label in labels] for _, p in rows])
        theirs = {"log_loss": metrics.log_loss([row[0] for row in rows], matrix, labels=labels)}
        if positive:
            seen = [row[0] == positive for row in rows]
            scores = matrix[:, labels.index(positive)]
            theirs["roc_auc"] = metrics.roc_auc_score(seen, scores)
            theirs["pr_auc"] = metrics.average_precision_score(seen, scores)
        else:
            check("three classes have no areas", "roc_auc" not in own and "pr_auc" not in own)
        for metric, value in theirs.items():  # probabilities are written with six digits: ties may come of it
            check(
                f"report: {name} {metric}: {own[metric]!r}, scikit-learn {value!r}",
                abs(own[metric] - value) < 1e-4,
            )
            means.setdefault(metric, []).append(own[metric])
    for metric, values in means.items():
        near("report: mean " + metric, report["mean"][metric], sum(values) / len(values))
    program("train", "regress", str(table), "--column", "size", "--text-column", "text", "-o", model, *SMALL)
    report = json.loads(program("eval", model, str(table), "--json"))
    said = [
        json.loads(line)["outputs"]["size"]
        for line in program("predict", model, str(table), "--json").splitlines()
    ]
    right = [float(np.float32(row[4])) for row in truth]
    for name, function in (
        ("mean_squared_error", metrics.mean_squared_error),
        ("rmse", metrics.root_mean_squared_error),
        ("mean_absolute_error", metrics.mean_absolute_error),
        ("r2", metrics.r2_score),
    ):
        theirs = function(right, said)  # of answers with seven digits
        check(f"report: {name}: {report[name]!r}, scikit-learn {theirs!r}", abs(report[name] - theirs) < 1e-5)


warnings.simplefilter("ignore")  # of sets that are too small for what is asked
generator = np.random.default_rng(11)
rankings(generator)
log_losses(generator)
numbers(generator)
with tempfile.TemporaryDirectory() as place:
    reports(generator, Path(place))
print(f"metrics: {passed} passed, {failed} failed")
raise SystemExit(failed > 0 or passed == 0)
