"""Three measured rows calibrate the predictions of others: tpsp-plan --measured.

A row is a dictionary by the columns of the file of --measured. Its "seconds"
are the measured ones.
"""
import csv
import json
import subprocess

COLUMNS = ["model", "devices", "plan", "micro_batches", "rematerialize", "seconds", "bytes"]
HEADER = "rows predicted | before | three rows give | after | intervals that hold"


def fixed(count):
    """Returns the numbers of the rows that are given: first, middle and last."""
    return {0, (count - 1) // 2, count - 1}


def summary(errors):
    """Returns the mean and the largest error."""
    return f"{100 * sum(map(abs, errors)) / len(errors):.1f} %, at most {100 * max(errors, key=abs):+.0f} %"


def factors_of(text):
    """Returns the factors of time that were fitted."""
    words = [line.split() for line in text.splitlines() if " times " in line]
    return ", ".join(f"{line[0]} {line[2]}" for line in words) or "none"


def calibrated(rows, file, command):
    """Returns each row's measured, predicted and calibrated seconds, and the
    text. `command`: of tpsp-plan, without the file."""
    given = fixed(len(rows))
    with open(file, "w", newline="") as out:
        table = csv.DictWriter(out, COLUMNS, restval="", extrasaction="ignore")
        table.writeheader()
        for number, row in enumerate(rows):
            table.writerow(row if number in given else {**row, "seconds": "", "bytes": ""})
    done = subprocess.run([*command, "--measured", file, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    search = json.loads(done.stdout)["search"]
    return [run["seconds"] for run in search["runs"]], search["calibration"]


def cells(rows, file, command):
    """Returns the cells under HEADER."""
    predictions, text = calibrated(rows, file, command)
    others = [(row["seconds"], each) for number, (row, each) in enumerate(zip(rows, predictions))
              if number not in fixed(len(rows))]
    before, after = [[each[key] / seconds - 1 for seconds, each in others] for key in ("predicted", "calibrated")]
    held = sum(abs(seconds - each["calibrated"]) <= each["margin"] for seconds, each in others)
    return (f"{len(others)} | {summary(before)} | {factors_of(text)} | {summary(after)} | "
            f"{held} of {len(others)}")
