"""Labels per frame of a long recording: speech_cost.py ATTN DATA WINDOW MODEL prints seconds and memory as JSON.

The recording is the test utterances of speechocean762 one after another until there are ten minutes. One thread; the best of
three runs; the largest memory that the process had.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import wave

MINUTES = 10


def write_long(folder, path):
    files = sorted(glob.glob(os.path.join(folder, "speechocean762-adults", "**", "test", "*.wav"), recursive=True))
    pieces = []
    for file in files:
        with wave.open(file) as opened:
            rate = opened.getframerate()
            pieces.append(opened.readframes(opened.getnframes()))
    sound = b"".join(pieces)
    wanted = MINUTES * 60 * rate * 2
    with wave.open(path, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(rate)
        made.writeframes((sound * (wanted // len(sound) + 1))[:wanted])


def main():
    attn, data, window, model = sys.argv[1:]
    best, memory = float("inf"), 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "long.wav")
        write_long(data, path)
        for _ in range(3):
            began = time.perf_counter()
            process = subprocess.Popen([attn, "predict", model, path, "--threads", "1"], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                sys.exit(f"attn predict {model} failed with {process.returncode}")
            best = min(best, time.perf_counter() - began)
            memory = max(memory, usage.ru_maxrss * 1024)
    json.dump({"window": window, "minutes": MINUTES, "seconds": best, "memory": memory}, sys.stdout)
    print()


main()
