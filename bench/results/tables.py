"""What the pages of results share: the finished runs of a task, and figures as text."""
import json
import os
import statistics


def runs_of(folder, name):
    """One run a seed: FOLDER/NAME/SEED.json."""
    where = os.path.join(folder, name)
    runs = []
    for file in sorted(os.listdir(where)) if os.path.isdir(where) else []:
        if file.endswith(".json"):
            with open(os.path.join(where, file), encoding="utf-8") as opened:
                runs.append(json.load(opened))
    return runs


def percent(values):
    """The median; of several also the lowest and the highest."""
    values = [100 * value for value in values]
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def minutes(runs):
    return f"{statistics.median(run['processor'] for run in runs) / 60:.1f}"


def seeds(runs):
    return ", ".join(str(run["seed"]) for run in runs)
