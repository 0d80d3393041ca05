"""Phonetisaurus on small training sets: fewshot_phonetisaurus.py SIGMORPHON-FOLDER TRAINING-FOLDER PROGRAM.

Trains on TRAINING-FOLDER/LANGUAGE_train.tsv, prints the word error rate on test and writes it to
TRAINING-FOLDER/phonetisaurus.json. Korean is given to it in jamo (NFD): its aligner takes at most two sounds for a
letter, and has no model for whole syllables. Spaces inside words (Vietnamese) become SPACE, as its lexicon has none.
"""
import json
import os
import subprocess
import sys
import unicodedata


SPACE = "\u2581"


def read_pairs(path, language):
    with open(path, encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
    return [((unicodedata.normalize("NFD", word) if language == "kor" else word).replace(" ", SPACE), sounds)
            for word, sounds in pairs]


def error_rate(data, folder, program, language):
    lexicon, model = (os.path.join(folder, language + end) for end in (".lexicon", ".fst"))
    with open(lexicon, "w", encoding="utf-8") as file:
        for word, sounds in read_pairs(os.path.join(folder, language + "_train.tsv"), language):
            file.write(f"{word} {sounds}\n")
    subprocess.run([program, "train", "--model", model, lexicon], check=True, capture_output=True)
    test = read_pairs(os.path.join(data, "test", language + "_test.tsv"), language)
    run = subprocess.run([program, "predict", "--model", model], input="".join(word + "\n" for word, _ in test),
                         check=True, capture_output=True, encoding="utf-8")
    said = {}
    for line in run.stdout.splitlines():
        word, _, sounds = line.partition(" ")
        said.setdefault(word, sounds.strip())
    return sum(said.get(word) != sounds for word, sounds in test) / len(test)


def main(data, folder, program):
    rates = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith("_train.tsv"):
            language = name[:-len("_train.tsv")]
            rates[language] = error_rate(data, folder, program, language)
            print(f"phonetisaurus {language} {100 * rates[language]:.2f}", flush=True)
    with open(os.path.join(folder, "phonetisaurus.json"), "w", encoding="utf-8") as file:
        json.dump(rates, file)


if __name__ == "__main__":
    main(*sys.argv[1:4])
