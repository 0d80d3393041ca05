"""BLEU and chrF against sacrebleu, and lower case and white space against Python, on whose str it works.

Texts are made up: words with much punctuation, numbers, dashes, entities, letters of many scripts and white
space of many kinds; an answer is the right text with words left out, doubled, exchanged, or in another case.
DATA=<folder> in the environment: also the German sentences in DATA/multi30k with their words shuffled.
"""

import ctypes
import gzip
import os
import random
import unicodedata
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

import attn

TOLERANCE = 1e-9  # of a score in percent
passed = failed = 0


class Bleu(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("score", c_double),
        ("precisions", c_double * 4),
        ("brevity_penalty", c_double),
        ("answer_tokens", c_int64),
        ("right_tokens", c_int64),
    ]


for name, result in (("score_bleu", Bleu), ("score_chrf", c_double)):
    function = getattr(attn.library, "attn_" + name)
    texts = POINTER(c_char_p)
    function.restype, function.argtypes = c_int, [c_void_p, texts, texts, c_int64, c_int, POINTER(result)]
context = attn.Context(threads=1)


def score(name, result, answers, right, lowercase):
    lists = [
        (c_char_p * len(texts))(*(text.encode("utf-8", "surrogateescape") for text in texts))
        for texts in (answers, right)
    ]
    context.call("score_" + name, *lists, len(answers), int(lowercase), byref(result))
    return result


def check(what, right):
    global passed, failed
    if right:
        passed += 1
    else:
        failed += 1
        if failed <= 20:
            print("failed: " + what)


def near(what, ours, theirs):
    check(f"{what}: {ours!r}, sacrebleu {theirs!r}", abs(ours - theirs) <= TOLERANCE)


def compare(what, answers, right):
    for lowercase in (False, True):
        label = what + (", lower case" if lowercase else "")
        ours = score("bleu", Bleu(size=ctypes.sizeof(Bleu)), answers, right, lowercase)
        theirs = BLEU(lowercase=lowercase, force=True).corpus_score(answers, [right])
        near(label + ": BLEU", ours.score, theirs.score)
        near(label + ": brevity penalty", ours.brevity_penalty, theirs.bp)
        for n in range(4):
            near(f"{label}: precision {n + 1}", ours.precisions[n], theirs.precisions[n])
        tokens = (ours.answer_tokens, ours.right_tokens)
        check(
            f"{label}: tokens {tokens}, sacrebleu {(theirs.sys_len, theirs.ref_len)}",
            tokens == (theirs.sys_len, theirs.ref_len),
        )
        ours = score("chrf", c_double(), answers, right, lowercase).value
        near(label + ": chrF", ours, CHRF(lowercase=lowercase).corpus_score(answers, [right]).score)


WORDS = """a the two men dog ball red in on with eine der Mann Straße läuft über große Hunde ÜBUNG ÄÖÜ Ŝanĝo
É garçon naïve ΟΔΟΣ ΣΑΣ Σ ΆΣ. ὈΔΥΣΣΕΎΣ Σ' İstanbul DİYARBAKIR ıI ЖИЗНЬ Ёлка 東京 小犬。 がんばる ไทย नमस्ते
😀 👨‍👩‍👧 Ⅷ Ⓐ ﬁne Ǆ ǅ ẞ K Å 1 22 3.14 1,000 1.000,5 5-6 10- -3 .5 5. 1-2-3 ١٢ ４２ x-ray well-known
t-shirt - -- – — . , ... .. ,, .,. !? ?! ; : ' " '' don't rock'n'roll O'Neil's (so) [x] {y} <z>
a/b A&B #1 $5 5% 50%. x_y ~ ^ ` @me &quot; &amp; &lt; &gt; &amp;lt; &amp;quot; &amp;amp; &QUOT;
&Amp; & &; &quot <skipped> <SKIPPED> <skip<skipped>ped> &a<skipped>mp; u.s.a. U.S. e.g., 3,b a,3
a.3 3.b 3..3 3,,3 ,3 3, .a a. 2-a a-2 2-- 2-, 2-. 2.- .-2 2,-2 \u200b \u00ad \ufeff""".split()
SPACES = (
    [" "] * 30 + [""] * 5 + ["  ", "\t", "\n", "-\n", "\r", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0"]
)
SPACES += ["\u1680", "\u2003", "\u2028", "\u202f", "\u205f", "\u3000"]
LETTERS = list("aAbB0159.,-'\"&;<>()_ \n\t éÉΣσİ東😀\u3000\u0301") + ["&lt;", "&amp;"]


def sentence(generator, least, most):
    pieces = []
    for _ in range(generator.randint(least, most)):
        pieces += [generator.choice(WORDS), generator.choice(SPACES)]
    return "".join(pieces)


def changed(generator, text):
    """Words left out, doubled, exchanged, in another case."""
    words = text.split(" ")
    result = []
    for word in words:
        draw = generator.random()
        if draw < 0.1:
            continue
        result += [word] * (2 if draw > 0.95 else 1)
        if draw < 0.2:
            result[-1] = generator.choice(WORDS)
        elif draw < 0.3:
            result[-1] = generator.choice((str.upper, str.lower, str.title, str.swapcase))(word)
    if generator.random() < 0.3:
        generator.shuffle(result)
    first, last = generator.choices(["", "", "", " ", "\n"], k=2)
    return first + " ".join(result) + last


def made_up():
    generator = random.Random(6)
    for size, least, most in ((1, 0, 3), (1, 1, 12), (3, 0, 6), (20, 0, 15), (200, 3, 25)):
        for round_ in range(800 // (size + 10)):
            right = [sentence(generator, least, most) for _ in range(size)]
            answers = [changed(generator, text) for text in right]
            compare(f"{size} sentences, {round_}: {right[0]!r} {answers[0]!r}", answers, right)
    for round_ in range(250):
        pairs = ["".join(generator.choices(LETTERS, k=generator.randint(0, 20))) for _ in range(2)]
        for text in pairs:
            compare(f"characters, {text!r}", [text, "the end"], [changed(generator, text), "an end ."])
    right = [sentence(generator, 1, 20) for _ in range(50)]
    compare("identical", right, right)
    compare("upper case", [text.upper() for text in right], right)
    compare("empty answers", [""] * 50, right)
    compare("empty right texts", right, [""] * 50)
    compare("some empty answers", [text if i % 3 else "" for i, text in enumerate(right)], right)
    compare("nothing at all", [""], [""])
    compare("spaces only", [" \u3000\n"], ["\t"])
    compare("nothing in common", ["a b c d e"], ["f g h i j"])
    compare("one token", ["cat"] * 5, ["cat"] * 5)
    compare("one token a sentence but one", ["cat", "dog", "a b c d"], ["cat", "cat", "a x c d"])
    compare("long", *([" ".join(generator.choices(WORDS, k=20000))] for _ in range(2)))
    broken = ["a \udce2\udc82 b \udcff.", "\udcc3(\udca4 x\udc80", "ok \udcf0\udc9f\udc98,\udc80 1"]
    compare("not well-formed", broken, broken[::-1])


def code_points():
    """Lower case and white space of every code point: alone, between digits, and around a capital sigma,
    whose lower case depends on them. Those of Unicode 3.2, which any Python and any utf8proc knows.
    """
    plain = range(0x3400, 0xF900)  # ideographs, syllables: one of 500 will do
    codes = [
        chr(code)
        for code in range(1, 0x20000)
        if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs", "Co")
        and (code not in plain or code % 500 == 0)
    ]
    generator = random.Random(1)
    for pattern in ("{}", "1{}.2-{}", "xΣ{}y", "xΣ{}", "x{}Σ", "{}Σ"):
        texts = [pattern.replace("{}", code) for code in codes]
        lower = [text.lower() for text in texts]
        wrong = [
            text
            for text, wanted in zip(texts, lower, strict=True)
            if text.split() and score("chrf", c_double(), [text], [wanted], True).value < 100 - TOLERANCE
        ]
        check(f"lower case of {wrong[:10]}", not wrong)
        compare("code points as " + pattern, texts, generator.sample(lower, len(lower)))


def multi30k(folder):
    generator = random.Random(2)
    with gzip.open(folder / "test_2016_flickr.de.gz", "rt", encoding="utf-8") as file:
        right = file.read().splitlines()
    answers = [text.split(" ") for text in right]
    for words in answers:
        generator.shuffle(words)
    answers = [" ".join(words) for words in answers]
    compare("Multi30k, words shuffled", answers, right)
    compare("Multi30k, words changed", [changed(generator, text) for text in right], right)
    compare("Multi30k, sentences exchanged", right[1:] + right[:1], right)


made_up()
code_points()
if "DATA" in os.environ:
    multi30k(Path(os.environ["DATA"]) / "multi30k")
print(f"scores: {passed} passed, {failed} failed")
raise SystemExit(failed > 0 or passed == 0)
