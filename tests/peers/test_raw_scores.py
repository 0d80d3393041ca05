"""Sentences, words and tags of raw text against conll18_ud_eval.py, the script of the CoNLL 2018 shared task.

Texts are made up: a right side, and an answer in which tokens are split and merged, sentences end elsewhere,
multi-word tokens come, go and have other words, tags change, spaces of many kinds stand inside forms, and
empty nodes, comments and wrong `# text` lines stand between. Counts and scores must be the same to the last
bit; where the texts differ, both must refuse them. DATA=<folder> in the environment: also the test data of the
treebanks in DATA/ud-*, against the same with such mistakes.
"""

import gzip
import importlib.util
import os
import random
import subprocess
import tempfile
import unicodedata
from importlib.metadata import files
from pathlib import Path

from private import build_program

CASES = 3000
passed = failed = 0

# Pieces that no token boundary cuts. Letters whose lower case is odd, marks that do not compose, a space of
# no width (which is no space for the script, and no character for the library).
PIECES = list("aabbcdAB.,'1İΣσςẞǄé愛がก😀") + ["\u212a", "x\u0332", "o\u200bo"]
SPACES = [" ", "\u00a0", "\u2009", "\u3000"]
WORDS = ["a", "b", "A", "ab", "İ", "i\u0307", "ΑΣ", "ας", "c", "de", "d e", "\u00a0a", "el", "x\u200b"]
FEATURES = ["Case=Nom", "Case=Acc", "Number=Sing", "Foreign=Yes", "Odd=Yes", "Typo=Yes", "Person[psor]=1"]


def load_script():
    """The script ships with stanza, whose other parts (and what those need) it does without."""
    path = next(file for file in files("stanza") if file.name == "conll18_ud_eval.py")
    spec = importlib.util.spec_from_file_location("conll18_ud_eval", path.locate())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tags(generator):
    features = generator.sample(FEATURES, generator.randrange(4))
    if generator.random() < 0.7:
        features.sort()
    return (
        generator.choice(["_", "a", "B", "b"]),
        generator.choice(["NOUN", "VERB", "X", "_"]),
        generator.choice(["N", "V", "_"]),
        "|".join(features) or "_",
    )


def make_words(generator, pieces):
    """The words of a multi-word token: its parts, or others."""
    if generator.random() < 0.4:
        return [generator.choice(WORDS) for _ in range(generator.randint(1, 4))]
    cuts = sorted(generator.sample(range(1, len(pieces)), min(len(pieces) - 1, generator.randrange(3))))
    parts = ["".join(pieces[i:j]) for i, j in zip([0, *cuts], [*cuts, len(pieces)], strict=True)]
    return [generator.choice((part, part, part.upper(), part.lower())) for part in parts]


class Side:
    """A segmentation of pieces: where tokens and sentences end, the words of multi-word tokens, tags."""

    def __init__(self):
        self.ends, self.stops, self.words, self.tags = set(), set(), {}, {}

    @staticmethod
    def random(generator, pieces, multiword):
        side = Side()
        side.ends = {i for i in range(1, len(pieces)) if generator.random() < 0.45} | {len(pieces)}
        side.stops = {i for i in side.ends if generator.random() < 0.15} | {len(pieces)}
        for begin, end in side.tokens():
            if generator.random() < multiword:
                side.words[(begin, end)] = make_words(generator, pieces[begin:end])
        return side

    def tokens(self):
        ends = sorted(self.ends)
        return list(zip([0, *ends], ends, strict=False))

    def changed(self, generator, pieces, noise, multiword):
        side = Side()
        side.ends = {end for end in self.ends if generator.random() > noise}
        side.ends |= {i for i in range(1, len(pieces)) if generator.random() < noise} | {len(pieces)}
        side.stops = {stop for stop in self.stops if stop in side.ends and generator.random() > noise}
        side.stops |= {end for end in side.ends if generator.random() < noise / 4} | {len(pieces)}
        for token in side.tokens():
            words = list(self.words.get(token, []))
            if words and generator.random() < noise:
                place = generator.randrange(len(words))
                words[place : place + generator.randrange(3)] = generator.choices(WORDS, k=generator.randrange(3))
            if generator.random() < noise * multiword:
                words = [] if words else make_words(generator, pieces[slice(*token)])
            if words:
                side.words[token] = words
        for key, value in self.tags.items():
            side.tags[key] = tags(generator) if generator.random() < noise else value
        return side

    def tags_of(self, generator, token, word):
        return self.tags.setdefault((*token, word), tags(generator))

    def conllu(self, generator, pieces):
        lines, first = [], True
        for token in self.tokens():
            if first:
                words, sentence, first = 0, [], False
            form = "".join(pieces[slice(*token)])
            if generator.random() < 0.05:
                place = generator.randrange(len(form))
                if place == 0 or not unicodedata.combining(form[place]):
                    form = form[:place] + generator.choice(SPACES) + form[place:]
            forms = self.words.get(token)
            misc = generator.choice(["_", "_", "SpaceAfter=No"])
            if forms:
                sentence.append([f"{words + 1}-{words + len(forms)}", form] + ["_"] * 7 + [misc])
            for i, word in enumerate(forms or [form]):
                lemma, upos, xpos, features = self.tags_of(generator, token, i)
                words += 1
                columns = [str(words), word, lemma, upos, xpos, features, "0" if words == 1 else "1"]
                sentence.append(columns + ["root" if words == 1 else "dep:x", "_", "_" if forms else misc])
                if generator.random() < 0.05:
                    sentence.append([f"{words}.1", generator.choice(WORDS)] + ["_"] * 8)
            if token[1] in self.stops:
                lines += self.comments(generator, sentence)
                lines += ["\t".join(columns) for columns in sentence] + [""]
                first = True
        return "\n".join(lines) + "\n"

    @staticmethod
    def comments(generator, sentence):
        """# text, right, with odd spaces, wrong or not there at all."""
        kind = generator.randrange(5)
        skipped, text = 0, ""
        for columns in sentence:
            if "-" in columns[0]:
                first, last = map(int, columns[0].split("-"))
                skipped = last - first + 1
            elif "." in columns[0]:
                continue
            elif skipped:
                skipped -= 1
                continue
            text += columns[1] + generator.choice(["", " ", "  ", "\u00a0"] if kind else ["?"])
        paragraph = ["# newpar"] if generator.random() < 0.1 else []
        return paragraph + ([f"# text = {text}"] if kind < 4 else [])


def read_treebank(path):
    """The pieces and the Side of a file."""
    side, pieces, multiword = Side(), [], 0
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines:
        columns = line.split("\t")
        if not line and pieces:
            side.stops.add(len(pieces))
        if len(columns) != 10 or "." in columns[0]:
            continue
        if multiword == 0:
            begin = len(pieces)
            for character in "".join(columns[1].split()):
                if unicodedata.combining(character) and len(pieces) > begin:
                    pieces[-1] += character
                else:
                    pieces.append(character)
            token, word = (begin, len(pieces)), 0
            side.ends.add(len(pieces))
        if "-" in columns[0]:
            first, last = map(int, columns[0].split("-"))
            multiword = last - first + 1
            side.words[token] = []
            continue
        if multiword:
            side.words[token].append(columns[1])
            multiword -= 1
        side.tags[(*token, word)] = tuple(columns[2:6])
        word += 1
    return pieces, side


def treebank_cases(generator, folder):
    paths = sorted(folder.glob("ud-*/*-ud-test.conllu.gz"))
    if not paths:
        raise SystemExit(f"there are no treebanks in {folder}")
    for path in paths:
        pieces, gold = read_treebank(path)
        right = gold.conllu(generator, pieces)
        for noise in (0, 0.02, 0.1):
            yield right, gold.changed(generator, pieces, noise, 0.2).conllu(generator, pieces)


def differing(generator, text):
    """The text with another character in one of its tokens."""
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if line and not line.startswith("#")]
    skipped, tokens = 0, []
    for i in places:
        number = lines[i].split("\t")[0]
        if "-" in number:
            first, last = map(int, number.split("-"))
            skipped = last - first + 1
            tokens.append(i)
        elif "." not in number and skipped:
            skipped -= 1
        elif "." not in number:
            tokens.append(i)
    place = generator.choice(tokens)
    columns = lines[place].split("\t")
    columns[1] = generator.choice([columns[1] + "z", "z" + columns[1], "z"])
    lines[place] = "\t".join(columns)
    return "\n".join(lines)


def make_cases(generator):
    """Pairs of texts."""
    yield ("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n",) * 2
    for case in range(CASES):
        pieces = generator.choices(PIECES, k=generator.choice((1, 3, 10, 40, 120)))
        multiword = generator.choice((0, 0.1, 0.3, 0.9))
        gold = Side.random(generator, pieces, multiword)
        right = gold.conllu(generator, pieces)
        noise = generator.choice((0, 0.05, 0.2, 0.5))
        answer = gold.changed(generator, pieces, noise, generator.choice((0, 1, 1))).conllu(generator, pieces)
        yield right, (differing(generator, answer) if case % 20 == 0 else answer)
    # One long region: multi-word tokens of both sides overlap all the way.
    pieces = generator.choices(PIECES, k=600)
    sides = []
    for shift in (0, 1):
        side = Side()
        side.ends = set(range(3 - shift, len(pieces), 3)) | {len(pieces)}
        side.stops = {len(pieces)}
        side.words = {token: make_words(generator, pieces[slice(*token)]) for token in side.tokens()}
        sides.append(side.conllu(generator, pieces))
    yield tuple(sides)


def judge(script, paths):
    try:
        sides = [script.load_conllu_file(path, {"multiple_roots_okay": 1}) for path in paths]
        return script.evaluate(*sides)
    except script.UDError as error:
        return str(error)


def numbers(score):
    aligned = score.correct if score.aligned_total is None else score.aligned_total
    accuracy = score.correct / aligned if aligned else 0.0
    counts = [score.correct, score.gold_total, score.system_total, aligned]
    return counts + [score.precision, score.recall, score.f1, accuracy]


def check(what, ours, theirs, texts):
    global passed, failed
    if ours == theirs:
        passed += 1
        return
    failed += 1
    if failed <= 5:
        print(f"failed: {what}\n  libattn: {ours}\n  script:  {theirs}")
        print("\n".join(f"  | {line}" for text in texts for line in text.split("\n")[:100]))


def main():
    script = load_script()
    cases = list(make_cases(random.Random(1)))
    if os.environ.get("DATA"):
        cases += treebank_cases(random.Random(2), Path(os.environ["DATA"]))
    refused = regions = 0
    with tempfile.TemporaryDirectory() as folder:
        program = build_program("raw_scores", folder)
        paths = []
        for i, texts in enumerate(cases):
            paths.append([f"{folder}/{i}.{side}.conllu" for side in ("gold", "system")])
            for path, text in zip(paths[-1], texts, strict=True):
                Path(path).write_text(text, encoding="utf-8")
        flat = [path for pair in paths for path in pair]
        outputs = [
            subprocess.run([program, columns, *flat], check=True, capture_output=True).stdout.decode().split("\n")
            for columns in ("UPOS,XPOS,FEATS", "LEMMA")
        ]
        for i, (texts, tagged, lemmas) in enumerate(zip(cases, *(lines[:-1] for lines in outputs), strict=True)):
            theirs = judge(script, paths[i])
            if isinstance(theirs, str) or tagged.startswith("error"):
                refused += 1
                what = f"case {i}: {tagged} / {theirs}"
                check(what, "error" in tagged and "the texts differ" in tagged, "differ" in str(theirs), texts)
                continue
            names = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags")
            wanted = [number for name in names for number in numbers(theirs[name])]
            check(f"case {i}", [float(number) for number in tagged.split()], wanted, texts)
            ours = [float(number) for number in lemmas.split()]
            check(f"case {i}, lemmas", ours[-8:], numbers(theirs["Lemmas"]), texts)
            regions += theirs["Words"].correct != theirs["Tokens"].correct
    if refused < CASES // 40 or regions < CASES // 4:
        raise SystemExit(f"the cases are no test: {refused} refused, {regions} with multi-word tokens")
    print(f"raw scores: {passed} comparisons with conll18_ud_eval.py passed, {failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
