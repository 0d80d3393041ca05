"""Draws the capital letters of fonts: 28 x 28 grey pictures, white on black, one family in one part of the data.

    letters.py OUT < folders of fonts, one per line

Every letter is drawn eight times as large, so that capitals are 20 of 28 pixels high, centred by its ink, made smaller
if it is wider than 26, and averaged down. A font counts if its 26 capitals are drawn, all different, with some ink in
them; of fonts that draw the same 26 pictures the first one counts.
"""

import hashlib
import re
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIDE, CAPITAL, WIDEST, SCALE = 28, 20, 26, 8

# What a name says of weight, width, slant or size: not a family of its own.
STYLES = re.compile(
    r"\b(thin|hairline|ultra|extra|light|extlt|ext|lt|book|regular|roman|medium|med|semi|demi|semibold|demibold|bold|"
    r"extrabold|black|heavy|fat|italic|oblique|upright|slanted|condensed|cond|semicondensed|narrow|extended|wide|compact|"
    r"expanded|semiexpanded|compressed|sc|smcp|caps|small|display|initials?|text|variable|vf|std|no\d+|win|cd|style|swash|"
    r"titling|outline|inline|wideline|shadow|digits|unslanted|classical|schoolbook|solid|"
    r"o|g|lf|osf|\d+(pt)?)\b",
    re.IGNORECASE,
)
# What tells relatives apart that were drawn together (DejaVu Sans, Serif and Sans Mono): one family here.
RELATIVES = re.compile(
    r"\b(sans|serif|mono|slab|script|caption|code|typewriter|width|bright|concrete|smallcaps|alta|[a-z]+font|z|v\d)\b",
    re.IGNORECASE,
)
# No letters, or letters on keys.
SKIPPED = re.compile(r"symbol|dingbat|math|keyboard|stix ?(nonuni|int|siz|var)", re.IGNORECASE)


def family_of(name):
    words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", name.replace("-", " ").replace("_", " "))
    words = " ".join(STYLES.sub(" ", words).split())
    return " ".join(RELATIVES.sub(" ", words).split()).lower() or words.lower() or name.lower()


def parts_of(families):
    """The part of every family: 60 of 100 families are in train, 20 in val, 20 in test, in the order of a hash."""
    order = sorted(families, key=lambda family: hashlib.sha256(family.encode()).digest())
    first, second = round(0.6 * len(order)), round(0.8 * len(order))
    return {family: "train" if i < first else "val" if i < second else "test" for i, family in enumerate(order)}


def draw(font, letter):
    """One letter, centred; None if there is no ink."""
    left, top, right, bottom = font.getbbox(letter)
    if right <= left or bottom <= top:
        return None
    glyph = Image.new("L", (right - left, bottom - top), 0)
    ImageDraw.Draw(glyph).text((-left, -top), letter, font=font, fill=255)
    box = glyph.getbbox()
    if not box:
        return None
    glyph = glyph.crop(box)
    largest = max(glyph.width, glyph.height)
    if largest > WIDEST * SCALE:
        factor = WIDEST * SCALE / largest
        glyph = glyph.resize((max(1, round(glyph.width * factor)), max(1, round(glyph.height * factor))), Image.BOX)
    canvas = Image.new("L", (SIDE * SCALE, SIDE * SCALE), 0)
    canvas.paste(glyph, ((canvas.width - glyph.width) // 2, (canvas.height - glyph.height) // 2))
    return canvas.resize((SIDE, SIDE), Image.BOX)


def pictures_of(path):
    """All 26, or None and why not."""
    try:
        probe = ImageFont.truetype(str(path), 200, layout_engine=ImageFont.Layout.BASIC)
        _, top, _, bottom = probe.getbbox("H")
    except OSError as error:
        return None, str(error)
    if bottom <= top:
        return None, "no H"
    size = round(200 * CAPITAL * SCALE / (bottom - top))
    font = ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
    pictures = [draw(font, letter) for letter in LETTERS]
    if any(picture is None or np.asarray(picture).sum() < 255 * 12 for picture in pictures):
        return None, "a letter without ink"
    if len({picture.tobytes() for picture in pictures}) < len(LETTERS):
        return None, "letters that are the same"
    return pictures, None


def main():
    out = Path(sys.argv[1])
    fonts = []
    for folder in sys.stdin.read().split("\n"):
        if folder:
            files = [p for p in Path(folder).rglob("*") if p.suffix.lower() in (".ttf", ".otf") and not p.is_symlink()]
            fonts += sorted(files, key=lambda p: (p.stem, p.suffix, str(p)))
    seen, names, families = set(), set(), {}
    for path in fonts:
        own, style = ImageFont.truetype(str(path), 20).getname()
        if SKIPPED.search(path.stem) or SKIPPED.search(own):
            continue
        pictures, reason = pictures_of(path)
        if reason:
            print(f"letters: {path.name}: {reason}", file=sys.stderr)
            continue
        key = b"".join(picture.tobytes() for picture in pictures)
        name = re.sub(r"[^A-Za-z0-9]+", "-", f"{own}-{style or 'Regular'}").strip("-")
        if key in seen or name in names:
            continue
        seen.add(key)
        names.add(name)
        families.setdefault(family_of(own), []).append((name, pictures))

    parts, lines = parts_of(families), []
    for family, members in families.items():
        for name, pictures in members:
            for letter, picture in zip(LETTERS, pictures):
                target = out / parts[family] / letter / f"{name}.png"
                target.parent.mkdir(parents=True, exist_ok=True)
                picture.save(target)
                lines.append(f"{target.relative_to(out)}\t{letter}\t{parts[family]}\t{family}")
    (out / "letters.tsv").write_text("\n".join(["path\tlabel\tsplit\tfamily"] + sorted(lines)) + "\n")
    for part in ("train", "val", "test"):
        counts = [len(members) for family, members in families.items() if parts[family] == part]
        print(f"{part}\t{len(counts)} families\t{sum(counts)} fonts\t{sum(counts) * len(LETTERS)} pictures")
    print(f"all\t{len(families)} families\t{len(names)} fonts\t{len(names) * len(LETTERS)} pictures")


if __name__ == "__main__":
    main()
