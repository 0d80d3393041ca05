"""What a page says of the machine that it was measured on, and the section of docs/bench.md that is its own."""

import os
import platform
from pathlib import Path

PROFILE_BEGIN = "<!-- written by bench/profile: begin -->"
PROFILE_END = "<!-- written by bench/profile: end -->"


def cache_sizes():
    """Level, type and size of the first core's caches, as the kernel tells them."""
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def hardware():
    """The machine, one fact a line."""
    information = dict(
        line.split(":", 1)
        for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        if ":" in line
    )
    information = {name.strip(): text.strip() for name, text in information.items()}
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    virtual = " (a virtual machine)" if "hypervisor" in information.get("flags", "") else ""
    name = information.get("model name", platform.machine())
    family = (
        f", family {information['cpu family']} model {information['model']}"
        if "cpu family" in information
        else ""
    )
    return [
        f"{name}{family}",
        f"{len(os.sched_getaffinity(0))} cores{virtual}",
        f"caches {cache_sizes() or 'unknown'}",
        f"{memory:.0f} GiB of memory",
        f"Linux {platform.release().split('-')[0]}",
    ]


def version_of(number):
    """A version as a page names it: the sources of a release have its number, and so have those that follow it."""
    changes = (Path(__file__).resolve().parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    return f"(after {number}, not released yet)" if "\n## [Unreleased]" in changes else number


def title_of(machine, isa):
    """The heading of a CPU's section: its name, family and model, and what of its instructions were used: a
    virtual machine may hide some."""
    return f"## {machine[0]}, {isa}"


def sections_of(page):
    """The sections of a page, one a CPU."""
    return ["## " + text.strip() + "\n" for text in page.split("\n## ")[1:]]


def profile_of(section):
    """The part of a section that bench/profile wrote; empty if it has none."""
    begin, end = section.find(PROFILE_BEGIN), section.find(PROFILE_END)
    return section[begin : end + len(PROFILE_END)] if 0 <= begin < end else ""


def with_profile(section, profile):
    """A section with that profile, at its end, in place of what it had."""
    before = profile_of(section)
    rest = section.replace(before, "").rstrip() if before else section.rstrip()
    return f"{rest}\n\n{profile}\n" if profile else rest + "\n"
