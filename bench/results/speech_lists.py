"""Lists of recordings for bench/results/speech: speech_lists.py FOLDER UTTERANCES.

Every list is path TAB target TAB split with a header; paths are relative to FOLDER, where the lists stand.
"""
import csv
import glob
import os
import sys

FOLDER, UTTERANCES = sys.argv[1:]
WORDS = "zero one two three four five six seven eight nine".split()


def write(name, target, rows):
    path = os.path.join(FOLDER, name + ".tsv")
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(f"path\t{target}\tsplit\n")
        for row in rows:
            file.write("\t".join(row) + "\n")
    os.rename(path + ".tmp", path)


def recordings(name):
    files = sorted(glob.glob(os.path.join(FOLDER, name, "**", "*.wav"), recursive=True))
    return [os.path.relpath(file, FOLDER) for file in files]


def main():
    digits, speakers, spelled = [], [], []
    for path in recordings("fsdd"):
        digit, speaker, take = os.path.basename(path)[:-4].split("_")
        part = "test" if int(take) < 5 else "val" if int(take) < 10 else "train"
        digits.append((path, digit, part))
        speakers.append((path, speaker, part))
        spelled.append((path, WORDS[int(digit)], part))
    write("fsdd-digits", "label", digits)
    write("fsdd-speakers", "label", speakers)
    write("fsdd-spelled", "text", spelled)

    takes = {"40": "test", "30": "val"}
    write("audiomnist", "label", [(path, path.split(os.sep)[-2], takes.get(os.path.basename(path)[:-4].split("_")[2], "train"))
                                  for path in recordings("audiomnist-8k")])

    parts = {"dev": "val"}
    with open(UTTERANCES, encoding="utf-8", newline="") as file:
        split = {row["utt"]: row["split"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    write("phones", "labels", [(path, path[:-4] + ".phn", parts.get(split[os.path.basename(path)[:-4]], split[os.path.basename(path)[:-4]]))
                               for path in recordings("speechocean762-adults")])


main()
