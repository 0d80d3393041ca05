"""The time of a training step as a function of ranks: t = update + rows/rate + what of the exchange is not hidden.

A step has three parts. Every rank takes ceil(shards / ranks) shards through the network. The gradients are added up
over the ranks, bucket by bucket, as src/train/reduce.c does it. Then every rank updates all parameters. Times are
seconds, sizes bytes, numbers are of 4 bytes.
"""
import math

BUCKET, RANKS_OF_A_BUCKET = 1 << 18, 16  # src/train/reduce.c
SHARD_ROWS, MOST_SHARDS = 128, 64  # src/train/shards.c
FRAMED = 1514 / 1448  # bytes of Ethernet for one of a message
BACKWARD = 2 / 3  # of the time of a shard: two products back for one forward


def solve(rows, values):
    """The least squares solution with no negative number in it: what would be negative is left out."""
    count = len(rows[0])
    used = list(range(count))
    while True:
        a = [[sum(r[i] * r[j] for r in rows) for j in used] + [sum(r[i] * v for r, v in zip(rows, values))] for i in used]
        n = len(used)
        for i in range(n):
            best = max(range(i, n), key=lambda k: abs(a[k][i]))
            a[i], a[best] = a[best], a[i]
            for k in range(n):
                if k != i and a[i][i]:
                    share = a[k][i] / a[i][i]
                    a[k] = [x - share * y for x, y in zip(a[k], a[i])]
        found = [a[i][n] / a[i][i] if a[i][i] else 0.0 for i in range(n)]
        if min(found) >= 0:
            break
        del used[found.index(min(found))]
    whole = [0.0] * count
    for i, x in zip(used, found):
        whole[i] = x
    return whole


def relative(rows, values, whole=None):
    """Least squares of errors relative to `whole`, the values unless it is given."""
    whole = whole or values
    return solve([[x / w for x in r] for r, w in zip(rows, whole)], [v / w for v, w in zip(values, whole)])


# ---- what is exchanged ----

def default_shards(rows):
    shards = 1
    while 2 * shards <= MOST_SHARDS and rows >= 2 * shards * SHARD_ROWS:
        shards *= 2
    return shards


def nodes_of(shards, rank, ranks):
    """How many nodes of the tree a rank has: src/train/tree.c."""
    first, end, count = shards * rank // ranks, shards * (rank + 1) // ranks, 0
    while first < end:
        level = 0
        while first % (2 << level) == 0 and first + (1 << level) < shards and min(first + (2 << level), shards) <= end:
            level += 1
        first = min(first + (1 << level), shards)
        count += 1
    return count


def buckets_of(parameters, ranks):
    """[(numbers, parameters, rows of tables), ...] of the parameters [(numbers, rows of a table or 0), ...], from the last to the first."""
    limit = BUCKET * (1 + (ranks - 1) // RANKS_OF_A_BUCKET)
    buckets = []
    for numbers, rows in reversed(parameters):
        if not buckets or (buckets[-1][0] + numbers > limit and buckets[-1][0] > 0):
            buckets.append([0, 0, 0, 0])
        bucket = buckets[-1]
        bucket[0] += numbers
        bucket[1] += 1
        bucket[2] += rows
        bucket[3] += numbers if rows else 0
    return limit, buckets


def exchanges(parameters, table_numbers, ranks, shards):
    """Of every bucket: (phases, bytes). A phase is a call in which each rank sends a message to every other.

    Of tables table_numbers travel in all. A rank tells the others what its nodes have touched (and which rows of tables),
    gets a slice of all nodes' numbers, and hands out its sum.
    """
    limit, buckets = buckets_of(parameters, ranks)
    most = max(1, max(nodes_of(shards, r, ranks) for r in range(ranks)))
    found = []
    for numbers, count, rows, of_tables in buckets:
        travels = numbers - of_tables + (table_numbers if rows else 0)
        words = (rows + 63) // 64
        phases = 1 + (rows > 0) + 2 * math.ceil(travels / limit)
        heads = most * (count + 8 * words) * (ranks - 1)
        found.append((phases, heads + (most + 1) * 4 * travels * (ranks - 1) / ranks))
    return found


def exchange_seconds(transport, phases, size, ranks, over=1.0):
    """transport: start (of a phase), message, byte (work of the processor), link (bytes a second, or none)."""
    seconds = phases * (transport["start"] + (ranks - 1) * transport["message"] * over) + size * transport["byte"] * over
    return seconds + (size * FRAMED / transport["link"] if transport.get("link") else 0.0)


# ---- the step ----

class Step:
    """rate: rows a second of a rank; update: seconds of all parameters; together: how much longer both take while other
    cores work; wait: for the slowest rank, as a part of the time of the shards."""

    def __init__(self, parameters, rate, update, table, together, wait):
        self.parameters, self.rate, self.update, self.table = parameters, rate, update, table
        self.together, self.wait = together, wait
        self.tables = sum(n for n, rows in parameters if rows)

    def table_numbers(self, rows):
        factor, power = self.table
        return min(self.tables, factor * rows**power)

    def time(self, rows, ranks, transport, shards=0, cores=0, ends=1):
        """(seconds of a step, those of them that rank 0 is in the exchange). cores: of the machine that all ranks share; 0: enough.
        ends: small exchanges after it."""
        shards = shards or default_shards(rows)
        over = max(1.0, ranks / cores) if cores else 1.0
        together = self.together if ranks > 1 else 1.0
        of_shard = rows / shards / self.rate * together * (max(1.0, min(ranks, shards) / cores) if cores else 1.0)
        compute = math.ceil(shards / ranks) * of_shard
        update = self.update * together * over
        if ranks == 1:
            return compute + update, 0.0
        walk = of_shard * BACKWARD
        buckets = exchanges(self.parameters, self.table_numbers(rows), ranks, shards)
        walked = sum(size for _, size in buckets[:-1]) or 1.0
        now = done = 0.0
        for i, (phases, size) in enumerate(buckets):  # the last, with the tables, is complete at the end of the walk
            now = walk if i == len(buckets) - 1 else now + walk * size / walked
            done = max(done, now) + exchange_seconds(transport, phases, size, ranks, over)
        losses = exchange_seconds(transport, ends, ends * 264 * ranks, ranks, over)
        exposed = done - walk + losses + self.wait * compute
        idle = compute - shards // ranks * of_shard  # where the ranks do not get the same, rank 0 gets less
        return compute + exposed + update, exposed + idle


# ---- fitting ----

def fit_transport(points, cores):
    """points: {ranks, numbers, seconds, link}, of sums of numbers in parameters of 90,000. What a link takes is known."""
    rows, values, linked = [], [], []
    for p in points:
        over = max(1.0, p["ranks"] / cores)
        parameters = [(90000, 0)] * math.ceil(p["numbers"] / 90000)
        all_of = exchanges(parameters, 0, p["ranks"], p["ranks"])
        phases, size = sum(x for x, _ in all_of), sum(x for _, x in all_of)
        linked.append(size * FRAMED / p["link"] if p["link"] else 0.0)
        rows.append([phases, phases * (p["ranks"] - 1) * over, size * over])
        values.append(p["seconds"] - linked[-1])
    found = relative(rows, values, [p["seconds"] for p in points])
    for p, row, on_link in zip(points, rows, linked):
        p["fitted"] = on_link + sum(x * y for x, y in zip(row, found))
    return {"start": found[0], "message": found[1], "byte": found[2]}


def fit_table(parameters, points):
    """(factor, power): how many numbers of the tables travel for a batch of so many rows; from the bytes that two ranks sent."""
    dense = sum(n for n, rows in parameters if not rows)
    if all(not rows for _, rows in parameters):
        return 0.0, 1.0
    some = [(math.log(p["rows"]), math.log(max(1.0, p["sent"] / 4 - dense))) for p in points if p["ranks"] == 2 and not p["link"]]
    mean = [sum(x[i] for x in some) / len(some) for i in (0, 1)]
    power = sum((x - mean[0]) * (y - mean[1]) for x, y in some) / sum((x - mean[0]) ** 2 for x, _ in some)
    return math.exp(mean[1] - power * mean[0]), power


def fit_steps(parameters, points):
    """{model: Step} of one rank. A rate for each model; the update of a parameter takes the same time in all of them."""
    names, alone = list(parameters), [p for p in points if p["ranks"] == 1]
    counts = {name: sum(n for n, _ in parameters[name]) for name in names}
    rows = [[p["rows"] if p["model"] == name else 0.0 for name in names] + [counts[p["model"]]] for p in alone]
    found = relative(rows, [p["seconds"] for p in alone])
    return {name: Step(parameters[name], 1 / found[i], found[-1] * counts[name],
                       fit_table(parameters[name], [p for p in points if p["model"] == name]), 1.0, 0.0)
            for i, name in enumerate(names)}


def fit_together(steps, points, transport, cores):
    """What two ranks on two cores cost each other, and how long they wait for the slower one: the same for all models."""
    pairs = [p for p in points if p["ranks"] == 2 and not p["link"]]
    own, spent, waits, compute = [], [], [], []
    for p in pairs:
        step, shards = steps[p["model"]], default_shards(p["rows"])
        alone = math.ceil(shards / 2) / shards * p["rows"] / step.rate
        own.append([alone + step.update])
        spent.append(p["seconds"] - p["exchange"])
    together = max(1.0, relative(own, spent)[0])
    for step in steps.values():
        step.together = together
    for p in pairs:
        step, shards = steps[p["model"]], default_shards(p["rows"])
        seconds, exposed = step.time(p["rows"], 2, transport)
        compute.append([math.ceil(shards / 2) / shards * p["rows"] / step.rate * together / p["seconds"]])
        waits.append((p["exchange"] - exposed) / p["seconds"])
    wait = solve(compute, waits)[0]
    for step in steps.values():
        step.wait = wait
    return together, wait
