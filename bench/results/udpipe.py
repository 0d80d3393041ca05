"""UDPipe 1 trained on CoNLL-U: udpipe.py TRAIN DEV TEST SENTENCES MODEL prints one JSON object.

Its tagger is trained on the first SENTENCES with its default options, but for lemmas, which are left out; dev is the held-out
data that it stops by. Accuracy of UPOS on gold words. Needs ufal.udpipe (pip).
"""
import gzip
import json
import os
import sys
import time

import ufal.udpipe as udpipe

OPTIONS = "use_lemma=0;provide_lemma=0"


def read(path, most=None):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        text = file.read()
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(text)
    sentences = udpipe.Sentences()
    error = udpipe.ProcessingError()
    while most is None or len(sentences) < most:
        sentence = udpipe.Sentence()
        if not reader.nextSentence(sentence, error):
            break
        sentences.append(sentence)
    if error.occurred():
        sys.exit(error.message)
    return sentences


def accuracy(model, sentences):
    right = words = 0
    for gold in sentences:
        own = udpipe.Sentence()
        for word in list(gold.words)[1:]:
            own.addWord(word.form)
        model.tag(own, model.DEFAULT)
        for word, answer in zip(list(gold.words)[1:], list(own.words)[1:]):
            right += word.upostag == answer.upostag
            words += 1
    return right / words


def main():
    train = read(sys.argv[1], int(sys.argv[4]))
    dev, test = read(sys.argv[2]), read(sys.argv[3])
    began = time.process_time()
    error = udpipe.ProcessingError()
    made = udpipe.Trainer.train("morphodita_parsito", train, dev, "none", OPTIONS, "none", error)
    if error.occurred():
        sys.exit(error.message)
    seconds = time.process_time() - began
    with open(sys.argv[5], "wb") as file:
        file.write(made if isinstance(made, bytes) else made.encode("utf-8", "surrogateescape"))
    model = udpipe.Model.load(sys.argv[5])
    json.dump({"options": OPTIONS, "sentences": len(train), "seconds": seconds, "bytes": os.path.getsize(sys.argv[5]),
               "dev": accuracy(model, dev), "test": accuracy(model, test)}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
