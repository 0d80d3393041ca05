"""One finished run as JSON: record.py TASK SEED METRIC SECONDS PROCESSOR-SECONDS FOLDER COMMAND."""
import json
import sys

task, seed, metric, seconds, processor, folder, command = sys.argv[1:]
with open(folder + "/test.json", encoding="utf-8") as file:
    test = json.load(file)
with open(folder + "/info.json", encoding="utf-8") as file:
    info = json.load(file)
if info["metrics"]["metric"] == "mean." + metric:  # of several columns
    dev, measured = info["metrics"]["score"], test["mean"][metric]
else:
    dev, measured = info["metrics"]["dev"][metric], test[metric]
json.dump({"task": task, "seed": int(seed), "metric": metric, "seconds": int(seconds), "processor": int(processor), "command": command,
           "dev": dev, "test": measured,
           "all_dev": info["metrics"]["dev"],
           "all_test": {name: value for name, value in test.items() if isinstance(value, (int, float))}, "steps": info["metrics"]["steps"],
           "step": info["metrics"]["step"], "parameters": info["parameters"], "bytes": info["bytes"]},
          sys.stdout, indent=1)
print()
