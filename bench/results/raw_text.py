"""The raw text of a CoNLL-U file, a paragraph a line: raw_text.py FILE."""
import sys


def main():
    paragraph, text, forms, spaced = [], None, [], True
    marked = "SpaceAfter=No" in open(sys.argv[1], encoding="utf-8").read()
    skip = 0
    for line in open(sys.argv[1], encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("# newpar") or line.startswith("# newdoc"):
            if paragraph:
                print(" ".join(paragraph))
            paragraph = []
        elif line.startswith("# text = "):
            text = line[9:]
        elif line and line[0] != "#":
            fields = line.split("\t")
            if "-" in fields[0]:
                first, last = map(int, fields[0].split("-"))
                skip = last
            elif "." in fields[0] or int(fields[0]) <= skip:
                continue
            forms.append(fields[1] + ("" if not marked or "SpaceAfter=No" in fields[9] else " "))
        elif not line and forms:
            paragraph.append(text if text is not None else "".join(forms).strip())
            text, forms, skip = None, [], 0
            if not marked and len(paragraph) == 8:  # no paragraphs are marked, either: some sentences a line
                print("".join(paragraph))
                paragraph = []
    if paragraph:
        print(" ".join(paragraph))


if __name__ == "__main__":
    main()
