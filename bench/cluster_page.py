"""Fits the measurements of bench/cluster.py, prints constants and errors, and writes docs/cluster-step.svg and its section of docs/cluster.md."""
import math
import os
import sys
import textwrap

import cluster_model as model

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "results"))
from report import processor  # noqa: E402

BEGIN, END = "<!-- written by bench/cluster: begin -->", "<!-- written by bench/cluster: end -->"
TITLES = {"tagger": "Tagger", "lm": "Language model"}
LARGE = {"tagger": 10000, "lm": 10000}  # rows of a batch that stays as it is
EACH = {"tagger": 400, "lm": 2000}  # rows of every rank, of one that grows: the default batches
RANKS = [1 << i for i in range(11)]
HOST = 128  # ranks of one machine, at most
CURVES = [("shared memory", "#3b6ea5"), ("100 Gb/s", "#2e8b57"), ("10 Gb/s", "#c46a1b"), ("1 Gb/s", "#a33b6e")]


def fit(measured):
    """(transports, {name: Step}, together, wait), and in every point of the measurements what the model says of it."""
    cores, points = measured["cores"], measured["steps"]
    transports = {how: model.fit_transport([p for p in measured["exchange"] if p["how"] == how], cores) for how in ("shared", "tcp")}
    steps = model.fit_steps(measured["parameters"], points)
    together, wait = model.fit_together(steps, points, transports["shared"], cores)
    for p in points:
        way = dict(transports["tcp"], link=p["link"]) if p["link"] else transports["shared"]
        p["fitted"], p["fitted_exchange"] = steps[p["model"]].time(p["rows"], p["ranks"], way, cores=cores)
    return transports, steps, together, wait


def ways(transports):
    """The transports of the picture, in the order of CURVES. The time that a switch takes is assumed, not measured."""
    shared, tcp = transports["shared"], transports["tcp"]
    fast = dict(shared, start=shared["start"] + 5e-6, link=100e9 / 8)
    return [shared, fast, dict(tcp, start=tcp["start"] + 25e-6, link=10e9 / 8), dict(tcp, start=tcp["start"] + 25e-6, link=1e9 / 8)]


def strong(step, rows, way):
    alone = step.time(rows, 1, way)[0]
    return lambda ranks: alone / step.time(rows, ranks, way, ends=2)[0]


def weak(step, rows, way):
    alone = step.time(rows, 1, way)[0]
    pieces = model.default_shards(rows)
    return lambda ranks: ranks * alone / step.time(rows * ranks, ranks, way, shards=pieces * ranks, ends=2)[0]


def repetitions(measured):
    most = max(p["repeats"] for p in measured["steps"])
    return f"every step the fastest of up to {most} repetitions" if most > 1 else "every run measured once (`--quick`)"


# ---- the picture ----

STYLE = ("text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:13px;fill:#1f2328}"
         ".title{font-size:18px;font-weight:600}.about,.tick{font-size:12px;fill:#57606a}.head{font-weight:600}"
         ".x{text-anchor:middle}.y{text-anchor:end}.grid{stroke:#e4e8ec;stroke-width:1}.axis{stroke:#8c959f;stroke-width:1}"
         ".ideal{stroke:#8c959f;stroke-width:1.2;stroke-dasharray:2 4;fill:none}.curve{fill:none;stroke-width:2}"
         ".far{stroke-dasharray:7 4}.point{stroke:#fff;stroke-width:1.5}")


class Panel:
    """Speed-up over ranks, both in powers of two."""

    def __init__(self, x, y, wide, tall):
        self.x, self.y, self.wide, self.tall = x, y, wide, tall

    def at(self, ranks, speed):
        share = max(math.log2(max(speed, 1e-9)), -1.0)
        return self.x + self.wide * math.log2(ranks) / 10, self.y + self.tall * (1 - (share + 1) / 11)

    def frame(self, title, about):
        out = [f'<text x="{self.x}" y="{self.y - 26}" class="head">{title}</text>',
               f'<text x="{self.x}" y="{self.y - 9}" class="about">{about}</text>']
        for power in range(0, 11, 2):
            x, y = self.at(1 << power, 1 << power)
            out.append(f'<path d="M{x:.1f} {self.y} V{self.y + self.tall}" class="grid"/><path d="M{self.x} {y:.1f} h{self.wide}" class="grid"/>')
            out.append(f'<text x="{x:.1f}" y="{self.y + self.tall + 17}" class="tick x">{1 << power:,}</text>')
            out.append(f'<text x="{self.x - 7}" y="{y + 4:.1f}" class="tick y">{1 << power:,}</text>')
        out.append(f'<path d="M{self.x} {self.y} v{self.tall} h{self.wide}" class="axis" fill="none"/>')
        (x0, y0), (x1, y1) = self.at(1, 1), self.at(1024, 1024)
        return out + [f'<path d="M{x0:.1f} {y0:.1f} L{x1:.1f} {y1:.1f}" class="ideal"/>']

    def curve(self, speed, color, last):
        places = [self.at(r, speed(r)) for r in RANKS if r <= last]
        return f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}" class="curve" stroke="{color}"/>'

    def point(self, ranks, speed, color, simulated):
        x, y = self.at(ranks, speed)
        if simulated:
            return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" class="point" fill="{color}"/>'
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" class="point" fill="{color}"/>'


def measured_speeds(points, name, rows):
    """[(ranks, speed-up, bits a second of the link), ...] of one batch; ranks that have no core of their own are left out."""
    return speeds([p for p in points if p["model"] == name and p["batch"] == rows and p["ranks"] <= 2])


def grown_speeds(points, name, rows):
    """The same for a batch that grows with the ranks."""
    return speeds([p for p in points if p["model"] == name and p["batch"] == rows * p["ranks"] and p["ranks"] <= 2])


def speeds(some):
    alone = next(p["rows"] / p["seconds"] for p in some if p["ranks"] == 1)
    return [(p["ranks"], p["rows"] / p["seconds"] / alone, p["link"] * 8) for p in some]


def draw(path, transports, steps, points):
    width, height, panel_wide, panel_tall = 900, 800, 340, 240
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
           "<title>Speed-up of training over the number of ranks</title>", f"<style>{STYLE}</style>",
           f'<rect width="{width}" height="{height}" rx="6" fill="#fff"/>',
           '<text x="24" y="34" class="title">Speed-up of a training step over ranks of one thread</text>',
           '<text x="24" y="55" class="about">Lines are computed by the formula of this page. Marked points are measured: a circle on one machine, '
           'a square over a link that was simulated.</text>']
    for row, name in enumerate(TITLES):
        step, numbers = steps[name], sum(n for n, _ in steps[name].parameters)
        of = f"{TITLES[name]}, {numbers / 1e6:.1f} M parameters"
        for column, (make, rows, title, about, found) in enumerate((
                (strong, LARGE[name], "the same batch", f"{LARGE[name]:,} rows for all ranks, 64 shards", measured_speeds),
                (weak, EACH[name], "growing batch", f"{EACH[name]:,} rows for every rank", grown_speeds))):
            panel = Panel(72 + column * 440, 122 + row * 322, panel_wide, panel_tall)
            out += panel.frame(f"{of}: {title}", about)
            for (label, color), way in reversed(list(zip(CURVES, ways(transports)))):
                out.append(panel.curve(make(step, rows, way), color, HOST if label == "shared memory" else 1024))
            colors = {0: CURVES[0][1], 1e9: CURVES[3][1], 1e10: CURVES[2][1]}
            for ranks, speed, bits in sorted(found(points, name, rows), key=lambda x: -x[2]):
                out.append(panel.point(ranks, speed, colors[bits], bits > 0))
            out.append(f'<text x="{panel.x + panel_wide / 2}" y="{panel.y + panel_tall + 34}" class="tick x">ranks</text>')
    for i, (label, color) in enumerate(CURVES):
        x = 72 + i * 190
        out.append(f'<path d="M{x} 746 h26" class="curve" stroke="{color}"/><text x="{x + 34}" y="750">{label}</text>')
    out.append('<path d="M72 772 h26" class="ideal"/><text x="106" y="776" class="about">as many times as fast as there are ranks; '
               f'shared memory is drawn to {HOST} ranks; every rank has a core and a link to itself</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


# ---- the section ----

def error_of(points, key="seconds"):
    errors = [abs(p["fitted"] / p[key] - 1) for p in points]
    return f"{100 * sum(errors) / len(errors):.0f} % on average, {100 * max(errors):.0f} % at most" if errors else "nothing"


def place(p, cores):
    if p["link"]:
        return f"{p['link'] * 8 / 1e9:g} Gb/s, simulated"
    return "one machine" + (", oversubscribed" if p["ranks"] > cores else "")


def table(points, cores):
    lines = ["| network | rows per batch | ranks | where | rows/s | ms per step | predicted | exchange, % of the step | predicted | MB sent |",
             "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for p in sorted(points, key=lambda p: (p["model"] != "tagger", p["batch"], p["link"] > 0, -p["link"], p["ranks"])):
        share = [f"{100 * x / s:.0f} %" if p["ranks"] > 1 else "" for x, s in ((p["exchange"], p["seconds"]), (p["fitted_exchange"], p["fitted"]))]
        lines.append(f"| {TITLES[p['model']].lower()} | {p['batch']:,} | {p['ranks']} | {place(p, cores)} | {p['rows'] / p['seconds']:,.0f} | "
                     f"{1e3 * p['seconds']:.1f} | {1e3 * p['fitted']:.1f} | {share[0]} | {share[1]} | "
                     + (f"{p['sent'] / 1e6:.1f} |" if p["ranks"] > 1 else "|"))
    return lines


def told_update(step):
    """Whether the fit could tell the update of the parameters from the rest: a number of the parameters is read and written with
    two moments, which takes more than this, even though most rows of tables are left alone."""
    return step.update / sum(n for n, _ in step.parameters) > 0.3e-9


def constants(transports, steps, together, wait):
    lines = ["| constant | value |", "| --- | --- |"]
    for name, step in steps.items():
        numbers = sum(n for n, _ in step.parameters)
        lines.append(f"| {TITLES[name].lower()}: rows per second of a rank; update of all {numbers / 1e6:.1f} M parameters | "
                     f"{step.rate:,.0f}; " + (f"{1e3 * step.update:.1f} ms ({1e9 * step.update / numbers:.1f} ns each) |" if told_update(step)
                                               else "not separable from the rest in these runs |"))
        if step.table[0]:
            lines.append(f"| {TITLES[name].lower()}: numbers of the embedding table that are sent, for a batch of *rows* | {step.table[0]:,.0f} × *rows*^{step.table[1]:.2f}, "
                         f"at most {step.tables / 1e6:.1f} M |")
    for how, title in (("shared", "shared memory"), ("tcp", "TCP")):
        t = transports[how]
        lines.append(f"| {title}: time per phase; per message; per byte | {1e6 * t['start']:.0f} µs; {1e6 * t['message']:.1f} µs; {1e9 * t['byte']:.2f} ns"
                     + (", and its time on the link" if how == "tcp" else "") + " |")
    lines.append(f"| two ranks on two cores: slowdown against one rank; wait for the slower one, as a share of the time of its shards | {100 * (together - 1):.0f} %; {100 * wait:.0f} % |")
    return lines


def groups(measured):
    points, cores = measured["steps"], measured["cores"]
    for title, some in (("one rank", [p for p in points if p["ranks"] == 1]),
                        ("two ranks, one machine", [p for p in points if p["ranks"] == 2 and not p["link"]]),
                        ("more ranks than cores", [p for p in points if p["ranks"] > cores]),
                        ("two ranks, simulated links", [p for p in points if p["link"]]),
                        ("the exchange alone", measured["exchange"])):
        yield title, some


def advice(measured, transports, steps):
    tagger, lm = steps["tagger"], steps["lm"]
    way = ways(transports)
    half = {}
    for label, name, i in (("tagger10", "tagger", 2), ("lm10", "lm", 2), ("tagger1", "tagger", 3), ("lm1", "lm", 3)):
        speed = weak(steps[name], EACH[name], way[i])
        half[label] = max((r for r in RANKS if speed(r) >= r / 2), default=1)
    slow = [steps[n].time(EACH[n] * 2, 2, way[3])[0] / steps[n].time(EACH[n] * 2, 2, way[0])[0] for n in ("tagger", "lm")]
    pairs = [p for p in measured["exchange"] if p["ranks"] == 2]
    fast = [p["fast"] / p["seconds"] for p in pairs]
    rows = f" (the tagger: the time of {tagger.update * tagger.rate:,.0f} rows)" if told_update(tagger) else ""
    return [
        f"- **Rows for every worker.** Every worker (a thread, or a rank of one thread) needs a shard, and shards have 128 rows or more: with a "
        f"batch of less than 128 rows per worker some have no work. By default there are at most {model.MOST_SHARDS} shards; for more workers set "
        f"`training.shards` to their number. As every rank also updates the parameters itself{rows}, a batch of "
        f"several times as many rows per rank is faster, as long as the model still learns well from it.",
        "- **Threads first, then ranks.** The threads of a rank share the update of the parameters and exchange nothing; every rank "
        "repeats the update, and ranks exchange gradients. So use one rank per host (or socket) with all its cores as threads, and as many ranks as there are hosts.",
        f"- **What a slow link costs.** With two ranks and the default batch for each, a step over 1 Gb/s takes {slow[0]:.1f} × (tagger) and "
        f"{slow[1]:.1f} × (language model) as long as in shared memory. With the default batch for every rank, each rank keeps at least half of its "
        f"speed with up to {half['tagger1']} (tagger) and {half['lm1']} (language model) ranks at 1 Gb/s, "
        f"and with up to {half['tagger10']} and {half['lm10']} at 10 Gb/s. With larger batches or `training.accumulate` there are fewer exchanges.",
        f"- **`--fast-sum`** took {min(fast):.2f} to {max(fast):.2f} × the time of ordered sums in the exchanges of two ranks that were measured here"
        + (": it had no advantage." if min(fast) > 0.95 else "; whether it is faster depends on the MPI and its network: try it, and compare the rows/s."),
    ]


def section(measured, fitted):
    transports, steps, together, wait = fitted
    cores = measured["cores"]
    lines = [BEGIN, "",
             "A step takes the time that a rank needs for its shards, plus the part of the exchange that does not overlap with it, plus "
             "the update of the parameters:", "",
             "```", "t = ceil(shards / ranks) × rows / shards / rate + max(0, exchange - overlap) + update",
             "exchange = phases × (time_per_phase + (ranks - 1) × time_per_message) + bytes × (time_per_byte + 1 / bandwidth)",
             "bytes = (nodes + 1) × 4 × numbers × (ranks - 1) / ranks + control messages", "```", "",
             "Gradients are sent in buckets of 2^18 numbers (more with more than 16 ranks). Each bucket takes three or four phases. The "
             "ranks tell each other which parameters they have touched; for embedding tables a further phase tells which rows. Then "
             "they exchange slices, and finally they send out the sums. In each phase a rank sends a message to every other one (on "
             "one host it waits for all, and reads their memory). *numbers* is the number of gradient elements that are sent: all of them, "
             "but of an embedding table only the rows that occur in the batch. *nodes* is the number of sums that a rank sends: "
             "gradients are added along a fixed binary tree over the shards ([design.md](design.md#steps-in-shards)), and a rank "
             "sums those nodes of the tree whose shards are all its own. *nodes* is 1 if all shards have about the same work, and there are "
             "1, 2, 4, 8, ... times as many shards as ranks. Buckets are sent during the backward pass of a rank's last shard, which "
             "takes two thirds of that shard's time; this is *overlap*. Only the bucket with the embedding table is sent after it. The losses take "
             "one more phase. Every rank updates the parameters itself. *rate* is the rows per second of a rank, and *bandwidth* the bytes per "
             "second of the link, if there is one; the times per phase, message and byte are in the table of constants below.", "",
             f"Measured by `DATA=FOLDER bench/cluster` on {processor()}, {cores} cores, {measured['mpi'].replace('mpirun (', '').replace(')', '')}; "
             f"ranks of one thread; {repetitions(measured)}; load average at the beginning: "
             f"{measured['load']:.1f}. The tagger is the default model of `attn train tag` for UD English EWT, "
             "without the splitter. The language model is the default of `attn train lm --unit subwords` for the English "
             "text of Multi30k. **Simulated**: the links of 1 and 10 Gb/s are virtual interfaces between two network namespaces of "
             "the same machine, limited by `tc tbf`, without the latency of a switch; and there was no machine with more than "
             f"{cores} cores, so that *oversubscribed* ranks share cores, and **everything beyond two ranks in the picture is computed**.", "",
             "![Speed-up over ranks](cluster-step.svg)", "",
             "The picture adds 25 µs per phase to TCP (1 and 10 Gb/s). For 100 Gb/s it assumes a network without copies by the kernel: "
             "the values of shared memory and 5 µs more per phase. It also assumes a core and a link for every rank and a switch that is "
             "never full. For the time that ranks wait for slower ones, it uses the value measured with two ranks.", ""]
    lines += advice(measured, transports, steps) + ["", "The constants, fitted to the measurements:", ""]
    lines += constants(transports, steps, together, wait) + ["", "Measurements, and times predicted by the formula (errors: "
              + "; ".join(f"{title}: {error_of(some)}" for title, some in groups(measured)) + "):", ""]
    return lines + table(measured["steps"], cores) + ["", END]


def wrapped(lines):
    """Paragraphs and points in lines of a page's width; tables, pictures and what is printed as it is stay."""
    out, verbatim = [], False
    for line in lines:
        verbatim ^= line == "```"
        if verbatim or line[:1] in ("|", "!", "<", "`", ""):
            out.append(line)
        else:
            out += textwrap.wrap(line, 126, subsequent_indent="  " if line.startswith("- ") else "", break_long_words=False,
                                 break_on_hyphens=False)
    return out


def replace(path, lines):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if BEGIN in text:
        head, rest = text.split(BEGIN, 1)
        tail = rest.split(END, 1)[1]
    else:
        title = "## How long a step takes\n\n"
        head, rest = text.split(title, 1)
        head, tail = head + title, "\n\n## " + rest.split("\n## ", 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + "\n".join(wrapped(lines)) + tail)


def write(measured, pages):
    fitted = fit(measured)
    print("\n".join(constants(*fitted) + table(measured["steps"], measured["cores"])))
    for title, some in groups(measured):
        print(f"error of the model, {title}: {error_of(some)}")
    for p in measured["exchange"]:
        print(f"{p['how']} {p['link'] * 8 / 1e9:g} Gb/s, {p['ranks']} ranks, {p['numbers']:,} numbers: {1e3 * p['seconds']:.2f} ms, model {1e3 * p['fitted']:.2f} ms, fast {1e3 * p['fast']:.2f} ms")
    if pages:
        draw("docs/cluster-step.svg", *fitted[:2], measured["steps"])
        replace("docs/cluster.md", section(measured, fitted))
