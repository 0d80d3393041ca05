#!/bin/bash
# attn predict --live: samples through a pipe, in pieces of any size, as 16 bits or with a WAV header, give what
# the file gives; answers come before the end; an interrupt ends it well; what cannot be is said.
# shellcheck source=tests/support/script.sh
. "${SOURCE_DIR:?is the folder of the sources}/tests/support/script.sh"
cd "$folder" || exit 1

# number VALUE BYTES: its bytes, the lowest first.
number() {
    local value=$1 i
    for ((i = 0; i < $2; i++)); do
        # shellcheck disable=SC2059
        printf "\\$(printf %03o $((value >> 8 * i & 255)))"
    done
}

# header RATE BITS CHANNELS BYTES: what a WAV file begins with.
header() {
    local frame=$(($2 * $3 / 8))
    printf 'RIFF'
    number $((36 + $4)) 4
    printf 'WAVEfmt '
    number 16 4
    number 1 2
    number "$3" 2
    number "$1" 4
    number $(($1 * frame)) 4
    number $frame 2
    number "$2" 2
    printf 'LIST' # a part that says nothing
    number 3 4
    printf 'abc\0data'
    number "$4" 4
}

# tones BYTES HZ:SAMPLES...: at 8000 Hz, as unsigned 8 bits; 2 bytes: as 16 bits whose lower half is 0; 4: the same
# in two channels.
tones() {
    local bytes=$1 tone
    shift
    for tone in "$@"; do
        awk -v hz="${tone%:*}" -v count="${tone#*:}" 'BEGIN {
            for (i = 0; i < count; i++) print int(128.5 + 60 * sin(6.2831853 * hz * i / 8000))
        }'
    done | if [ "$bytes" = 1 ]; then
        awk '{ printf "%c", $1 }'
    else
        awk -v bytes="$bytes" '{
            value = ($1 + 128) % 256
            for (i = 0; i < bytes; i += 2) printf "%c%c", 0, value
        }'
    fi
}

mkdir sounds
for i in $(seq 0 11); do
    a=$((800 + i % 5 * 100)) b=$((1000 + i % 3 * 150))
    if ((i % 2)); then first=300 second=1800 names="L H"; else first=1800 second=300 names="H L"; fi
    { header 8000 8 1 $((a + b)); tones 1 $first:$a $second:$b; } >"sounds/$i.wav"
    printf '0 %d %s\n%d %d %s\n' $a "${names% *}" $a $((a + b)) "${names#* }" >"sounds/$i.phn"
done
run check sounds/1.wav
if complains "this attn was built without"; then
    echo "skipped: no recordings can be read"
    exit 0
fi
train tag tag sounds --input speech --epochs 20 --batch 300 --bins 20 --window 3 --normalize corpus
train full tag sounds --input speech --epochs 1 --batch 300 --bins 20 --window -1 --normalize corpus
parts="300:2000 1800:1500 300:2500 1800:3000 300:1200"
# shellcheck disable=SC2086
{
    tones 2 $parts >raw
    { header 8000 8 1 10200; tones 1 $parts; } >file.wav
    { header 8000 16 1 20400; cat raw; } >wide.wav
    { header 8000 16 1 0; cat raw; } >open.wav
    { header 8000 16 2 40800; tones 4 $parts; } >both.wav
}
# The samples of 16 bits whose lower half is 0 are those of 8 bits.
run predict tag.safetensors file.wav
check "a file: exit status" exits_with 0
check "a file: its tones" [ "$(cut -f 4 out | tr '\n' ' ')" = "L H L H L " ]
cut -f 2- out >whole

# same NAME: what came out is what the file gives, but for the name.
same() { check "$1" cmp -s <(cut -f 2- out) whole; }

run predict tag.safetensors --live <file.wav
check "live: exit status" exits_with 0
check "live: it says how long an answer takes" complains "predictions are up to 0."
same "live: a WAV file of 8 bits"
run predict tag.safetensors wide.wav
same "a file of 16 bits"
run predict tag.safetensors --live <raw
same "live: 16 bits without a header"
run predict tag.safetensors --live wide.wav
same "live: a WAV file of 16 bits, by name"
run predict tag.safetensors --live <open.wav
same "live: a WAV header that does not know how long it is"
run predict tag.safetensors --live <both.wav
same "live: two channels"
{ cat wide.wav; printf 'LIST\4\0\0\0abcd'; } >more.wav
run predict tag.safetensors --live <more.wav
same "live: what stands behind the samples is no sound"
for chunk in 1 5 1000; do
    run predict tag.safetensors --live --chunk $chunk <raw
    same "live: chunks of $chunk rows"
done
dd if=raw bs=37 status=none | "$program" predict tag.safetensors --live >out 2>err
same "live: small pieces"
{ head -c 5 wide.wav; sleep 0.1; tail -c +6 wide.wav | head -c 40; sleep 0.1; tail -c +46 wide.wav; } |
    "$program" predict tag.safetensors --live >out 2>err
same "live: a header in pieces"
{ cat raw; printf 'x'; } | "$program" predict tag.safetensors --live >out 2>err
same "live: half a sample at the end"

# Answers come before the end, and an interrupt ends the recording there.
mkfifo pipe
"$program" predict tag.safetensors --live <pipe >out 2>err &
process=$!
exec 3>pipe
head -c 14000 raw >&3
for _ in $(seq 100); do
    if [ -s out ]; then break; fi
    sleep 0.1
done
check "live: the first segment is there before the end" [ "$(head -n 1 out)" = "-	$(head -n 1 whole)" ]
kill -INT $process
wait $process
status=$?
exec 3>&-
check "live: an interrupt ends it well" exits_with 0
check "live: with the last segment" [ "$(tail -n 1 out | cut -f 3)" = "0.8750" ]
check "live: and those before it" [ "$(cut -f 4 out | tr '\n' ' ')" = "L H L H " ]

# Another rate, and what is printed.
run predict tag.safetensors --live --rate 16000 <raw
check "live: another rate: exit status" exits_with 0
check "live: another rate: half as long" [ "$(tail -n 1 out | cut -f 3)" = "0.6375" ]
run predict tag.safetensors --live --frames <raw
check "live: frames" [ "$(wc -l <out)" -eq $((1 + (10200 - 200) / 80)) ]
check "live: their times" [ "$(head -n 2 out | cut -f 2 | tr '\n' ' ')" = "0.0125 0.0225 " ]
run predict tag.safetensors --live --json <raw
check "live: JSON" [ "$(grep -cE '^\{"start":[0-9.]+,"end":[0-9.]+,"label":"[LH]","probability":[0-9.]+\}$' out)" -eq 5 ]
run predict tag.safetensors --live </dev/null
check "live: nothing: exit status" exits_with 0
check "live: nothing: nothing" silent out
head -c 2 raw | "$program" predict tag.safetensors --live >out 2>err
check "live: one sample is a recording" [ "$(cut -f 2,3 out)" = "0.0000	0.0001" ]

# What cannot be.
run predict full.safetensors --live <raw
check "live: full attention: exit status" exits_with 1
check "live: full attention: why" complains "attention sees a whole recording"
check "live: full attention: what to do" complains "train with a window (--window 15)"
run predict full.safetensors file.wav
check "a file: full attention reads it as a whole" exits_with 0
run predict tag.safetensors --live --plain <raw
check "live: --plain" exits_with 2
run predict tag.safetensors --chunk 5 file.wav
check "--chunk without --live" exits_with 2
printf 'fLaC....' | "$program" predict tag.safetensors --live >out 2>err
check "live: another format" complains "is not a WAV file"
head -c 30 wide.wav | "$program" predict tag.safetensors --live >out 2>err
check "live: a header that is cut" complains "a truncated WAV header"
head -c 8 wide.wav | "$program" predict tag.safetensors --live >out 2>err
check "live: a header that is cut early" complains "a truncated WAV header"
printf '\223NUMPY\1\0' | "$program" predict tag.safetensors --live >out 2>err
check "live: an array" complains "is not a WAV file"
{ header 8000 12 1 100; cat raw; } | "$program" predict tag.safetensors --live >out 2>err
check "live: odd bits" complains "neither whole numbers nor 32-bit floats: convert"
{ header 0 16 1 100; cat raw; } | "$program" predict tag.safetensors --live >out 2>err
check "live: no rate" complains "0 samples per second"
{ header 1000000000 16 1 100; cat raw; } | "$program" predict tag.safetensors --live >out 2>err
check "live: a rate that cannot be" complains "the rate is 1000000000 samples per second"
run predict tag.safetensors --live nowhere.wav
check "live: a file that is not there" complains "cannot open nowhere.wav: No such file"
"$program" predict tag.safetensors --live <&- >out 2>err
check "live: no standard input" complains "cannot read standard input: Bad file descriptor"
run predict tag.safetensors nowhere.wav
check "a file that is not there" complains "nowhere.wav: cannot be opened: No such file"
finish
