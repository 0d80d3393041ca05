"""TF-IDF and logistic regression of scikit-learn, tuned on development data: what a default model has to beat.

Functions take lists of texts and labels; classification.py calls them.
"""
import time

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

GRID = {"words": [("word", (1, 1)), ("word", (1, 2)), ("word", (1, 3))],
        "chars": [("char", (1, 2)), ("char", (1, 3))]}
STRENGTHS = (3.0, 10.0, 30.0)


def vectorizer(kind, grams):
    options = {"sublinear_tf": True, "ngram_range": grams, "analyzer": kind}
    if kind == "word":
        options["token_pattern"] = r"(?u)\S+"  # the texts are in tokens
    return TfidfVectorizer(**options)


def model(strength):
    return LogisticRegression(C=strength, solver="liblinear", max_iter=1000)


def tune(unit, train, dev):
    """The n-grams and the C that are best on dev: (accuracy on dev, kind, n-grams, C)."""
    best = None
    for kind, grams in GRID[unit]:
        features = vectorizer(kind, grams)
        x, held = features.fit_transform(train[0]), features.transform(dev[0])
        for strength in STRENGTHS:
            accuracy = model(strength).fit(x, train[1]).score(held, dev[1])
            if best is None or accuracy > best[0]:
                best = (accuracy, kind, grams, strength)
    return best


def test(choice, train, held):
    """The accuracy on the test data, and the processor seconds of training."""
    _, kind, grams, strength = choice
    began = time.process_time()
    features = vectorizer(kind, grams)
    fitted = model(strength).fit(features.fit_transform(train[0]), train[1])
    seconds = time.process_time() - began
    return fitted.score(features.transform(held[0]), held[1]), seconds
