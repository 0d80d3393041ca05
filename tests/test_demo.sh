#!/bin/bash
# test_demo.sh: the demo, on a small dictionary that is made here, and without one.
. "$(dirname "$0")/support/script.sh"
source_folder=${SOURCE_DIR:?is the folder of the sources}

# Words of three to five syllables, each syllable spelled and said in one way; every tenth word stands there twice.
awk 'BEGIN {
    split("ba be ko lu mi ra su ti", spelled, " ")
    split("b aa,b eh,k ow,l uw,m iy,r aa,s uw,t iy", said, ",")
    print "MNCL"
    for (w = 0; w < 1500; w++) {
        word = ""; sounds = ""
        rest = w * 7 + 512
        for (s = 0; s < 3 + w % 3; s++) {
            k = rest % 8 + 1; rest = int(rest / 8) + s * 5 + w
            word = word spelled[k]; sounds = sounds " ((" said[k] ") " s % 2 ")"
        }
        line = "(\"" word "\" nil (" substr(sounds, 2) "))"
        print line
        if (w % 10 == 0) print line
    }
    print "(\"b2b\" nil (((b iy) 1)))"
}' | sort >"$folder/dictionary.out"

BUILD=$(dirname "$program") DEMO=$folder/demo TIME=4s "$source_folder/tools/demo" "$folder/dictionary.out" \
    >"$folder/out" 2>"$folder/err"
status=$?
check "a small dictionary: exit status" exits_with 0
check "a small dictionary: what is learned from" says "pronunciations for training"
check "a small dictionary: ten words" [ "$(wc -l <"$folder/demo/said.txt")" -eq 10 ]
check "a small dictionary: beside the references" says "dictionary"
check "a small dictionary: error rate" says "% of the sounds are wrong (phone error rate)"
check "a small dictionary: the picture" says "░ from 0."
check "a word is in one part only" [ -z "$(cut -f 1 "$folder/demo/train.tsv" | sort -u | comm -12 - <(cut -f 1 "$folder/demo/test.tsv" | sort -u))" ]
check "no word with digits" [ -z "$(grep -h b2b "$folder"/demo/*.tsv)" ]

BUILD=$(dirname "$program") DEMO=$folder/demo "$source_folder/tools/demo" "$folder/not-there" >"$folder/out" 2>"$folder/err"
status=$?
check "no dictionary: exit status" exits_with 0
check "no dictionary: says what is missing" says "festlex-cmu"
check "no dictionary: the steps instead" says "softmax"
finish
