"""C programs of this folder that call private functions of libattn: linked with the static library."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build_program(name, folder):
    """tests/peers/NAME.c, compiled into `folder`; $BUILD is the library's build, by default build/release."""
    build = ROOT / os.environ.get("BUILD", "build/release")
    cache = (build / "CMakeCache.txt").read_text()
    libraries = re.findall(r"^ATTN_\w+_LIBRARY:FILEPATH=(/.*)$", cache, re.MULTILINE)
    program = Path(folder) / name
    command = ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", f"-I{ROOT}/src", f"-I{ROOT}/include"]
    command += ["-o", program, ROOT / f"tests/peers/{name}.c", build / "libattn.a", *libraries]
    subprocess.run([*command, "-lpthread", "-lm"], check=True)
    return program
