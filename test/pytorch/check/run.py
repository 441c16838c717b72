"""Runs hand-written parallel programs, right and with mistakes, and judges their dumps.

    run.py [--tools build/bin] [--folder DIR [--made]] [--only WORD] [--bf16 all|autocast]

Each program of this folder runs on up to six gloo processes. tpsp_torch.record writes
what its ranks have to DIR/PROGRAM/right and DIR/PROGRAM/MISTAKE, beside model.mlir, its
model, and arguments.safetensors, its inputs, weights and cotangents. Then it is checked

- that the right form's dump equals the unsharded program's, by autograd on one process;
- that tpsp-run, with --grad, has the same gradients of the model, and verifies it;
- that each mistake is what mistakes.txt says;
- if the tools have tpsp-check, that it names it so, and has no finding for the right form;
- that recordings of right forms are not called wrong, nor those with a missing sum right.

With --bf16 only tpsp-check is asked: right forms must have no finding, and mistakes are named
but for those of bf16.txt.

The exit status is 77, which ctest reads as skipped, if PyTorch is not installed.
"""

import argparse
import concurrent.futures
import datetime
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

try:
    import numpy
    import torch
    import torch.distributed as dist
    import torch.multiprocessing
except ImportError:
    print("skipped: PyTorch or numpy is not installed (pip install torch numpy)")
    sys.exit(77)

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python"), str(HERE.parents[1] / "jax")]
import safetensors
from tpsp_torch.files import write_tensors

from harness import AUTOCAST, FLOAT, PROGRAMS, World, run_rank, unsharded

FAMILIES = ["tensor", "data", "sequence", "experts", "stages", "layers"]
PROCESSES = 6
TOLERANCE = 1e-4


def read_table():
    """Returns the lines of mistakes.txt: a list of expectations by (program, mistake)."""
    found = {}
    for line in (HERE / "mistakes.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        program, mistake, tensors, kind, axes, factor, source = line.split(None, 6)
        found.setdefault((program, mistake), []).append({
            "tensors": tensors.split(","), "kind": kind, "axes": [] if axes == "-" else axes.split(","),
            "factor": 1.0 if factor == "-" else float(factor), "source": source})
    return found


def serve(number, port, folder, jobs):
    """One process: runs all jobs in order."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=number, world_size=PROCESSES,
                            timeout=datetime.timedelta(seconds=300))
    world = World()
    for name, mistake in jobs:
        try:
            run_rank(PROGRAMS[name], mistake, folder / name / (mistake or "right"), world)
        except Exception:
            print(f"{name} ({mistake or 'right'}), process {number}:\n{traceback.format_exc()}", flush=True)
            os._exit(1)
    dist.destroy_process_group()


def make_dumps(folder, jobs):
    """Runs all jobs on processes that are forked once. Returns whether all ran."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("fork")
    processes = [context.Process(target=serve, args=(i, port, folder, jobs)) for i in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return all(process.exitcode == 0 for process in processes)


def write_program(folder, program):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.mlir").write_text(program.text.lstrip())
    numpy.save(folder / "learning_rate.npy", numpy.float32(0.1))
    write_tensors(folder / "arguments.safetensors", {name: torch.from_numpy(value) for name, value in program.values().items()}, {})


class Dump:
    """The files of all ranks: `ranks[k]` has the arrays by name, `places[k]` the coordinates."""

    def __init__(self, folder, program):
        self.axes = program.mesh
        self.ranks, self.words, self.places = [], [], []
        for k in range(program.size()):
            path = folder / f"rank{k}.safetensors"
            self.ranks.append(safetensors.load(path))
            data = path.read_bytes()
            words = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
            self.words.append(words)
            self.places.append({axis: int(n) for axis, n in (each.split("=") for each in words["tpsp.coords"].split(","))})

    def names(self):
        return sorted(set().union(*self.ranks))

    def part(self, name, k, whole):
        """Returns what rank k should have of `whole`, by the placement that it has written."""
        words = dict(each.split("=") for each in self.words[k].get(f"placement:{name}", "").split(",") if each)
        for axis, size in self.axes.items():
            if words.get(axis, "").startswith("Shard("):
                whole = numpy.array_split(whole, size, int(words[axis][6:-1]))[self.places[k][axis]]
        return whole

    def summed(self, name, axes):
        """Returns for each rank the sum over the ranks that differ from it along `axes` only."""
        fixed = [axis for axis in self.axes if axis not in axes]
        key = [tuple(place[axis] for axis in fixed) for place in self.places]
        return [sum(self.ranks[j][name] for j in range(len(key)) if key[j] == key[k] and name in self.ranks[j])
                for k in range(len(key))]


def near(a, b):
    return a.shape == b.shape and numpy.linalg.norm(a - b) <= TOLERANCE * numpy.linalg.norm(b) and bool(numpy.isfinite(a).all())


def is_right(dump, name, whole):
    holders = [k for k, rank in enumerate(dump.ranks) if name in rank]
    return all(near(dump.ranks[k][name], dump.part(name, k, whole)) for k in holders)


def is_as_said(dump, name, whole, expected):
    """Whether what the table says of a tensor is so."""
    kind = expected["kind"]
    holders = [k for k, rank in enumerate(dump.ranks) if name in rank]
    if kind == "absent":
        return all(f"absent:{name}" in words and not rank[name].any() for words, rank in zip(dump.words, dump.ranks))
    if not holders or is_right(dump, name, whole):
        return False
    if name == "norm":  # Sums of squares, some of them of copies.
        return True
    wanted = {k: dump.part(name, k, whole) for k in holders}
    if kind == "missing":
        sums = dump.summed(name, expected["axes"])
        return all(near(sums[k] * numpy.float32(expected["factor"]), wanted[k]) for k in holders)
    if kind == "factor":
        return all(near(dump.ranks[k][name], wanted[k] * numpy.float32(expected["factor"])) for k in holders)
    if kind == "shard":
        return all(any(near(dump.ranks[k][name], wanted[j]) for j in holders) for k in holders)
    return True


def judge_right(folder, program):
    """Returns what is wrong with the right form's dump."""
    reference, dump = unsharded(program), Dump(folder / "right", program)
    lacking = [name for name in reference if name.startswith("grad:") and not any(name in rank for rank in dump.ranks)]
    return [f"{name} is not in the dump" for name in lacking] + [
        f"{name} differs from the unsharded program's" for name in dump.names() if not is_right(dump, name, reference[name])]


def judge_mistake(folder, program, mistake, expectations):
    """Returns where a wrong form's dump is not what the table says."""
    reference, dump = unsharded(program), Dump(folder / mistake, program)
    found = []
    for expected in expectations:
        if expected["kind"] == "right":
            found += [f"{name} is wrong" for name in dump.names() if not is_right(dump, name, reference[name])]
            continue
        found += [f"{name} is not '{expected['kind']} {','.join(expected['axes'])}'" for name in expected["tensors"]
                  if not is_as_said(dump, name, reference[name], expected)]
    return found


def entries_over(folder, program, axes):
    """Returns how many collectives of all ranks' traces are over groups that differ along all of `axes`."""
    sizes, count = list(program.mesh.values()), 0
    dims = [list(program.mesh).index(axis) for axis in axes]
    for k in range(program.size()):
        for entry in json.loads((folder / f"trace{k}.json").read_text())["entries"]:
            places = numpy.stack(numpy.unravel_index(entry["ranks"], sizes))
            count += all(len(set(places[dim])) > 1 for dim in dims)
    return count


def judge_trace(folder, program, mistake, expectations):
    """Returns where a trace does not show what the table says: a reduction that is missing, or work that is not needed."""
    found = []
    for expected in expectations:
        axes = [axis for axis in expected["axes"] if axis in program.mesh] or list(program.mesh)
        right, wrong = (entries_over(folder / form, program, axes) for form in ("right", mistake))
        if expected["kind"] == "missing" and expected["tensors"] != ["norm"] and wrong >= right:
            found.append(f"the trace has {wrong} collectives over {','.join(axes)}, the right one {right}")
        if expected["kind"] == "right" and mistake in MORE_COLLECTIVES and wrong <= right:
            found.append(f"the trace has {wrong} collectives, no more than the right one")
    return found


# Mistakes whose numbers are right, and that issue more collectives than needed.
MORE_COLLECTIVES = {"three_gathers"}


def options_of(folder, program):
    """Returns what tools are told of a program: its arguments, update and micro-batches."""
    options = ["--inputs", folder / "arguments.safetensors", *program.update.split()]
    if program.update:
        options += ["--inputs", f"learning_rate={folder / 'learning_rate.npy'}"]
    if program.micro_batches > 1:
        options += ["--micro-batches", str(program.micro_batches)]
    return options


def judge_model(tools, folder, program):
    """Returns where tpsp-run's gradients of the model are not those of the unsharded program."""
    saved = folder / "all.safetensors"
    command = [tools / "tpsp-run", folder / "model.mlir", "--grad", "--verify", "--quiet", "--save-all", saved, *options_of(folder, program)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return [f"tpsp-run: {(ran.stderr or ran.stdout).strip()[:600]}"]
    reference, found = unsharded(program), safetensors.load(saved)
    pairs = [(name, f"g[{name[5:]}]") for name in reference if name.startswith("grad:")]
    pairs += [(name, name[4:]) for name in reference if name.startswith("act:") and name[4:] in found]
    return [f"tpsp-run's {other} differs" for name, other in pairs if other in found and not near(found[other], reference[name])] + [
        f"tpsp-run has no {other}" for _, other in pairs if other not in found and not program.update]


# What tpsp-check may call each kind of mistakes.txt. Of other kinds it has to find something wrong.
# These kinds are named without an axis.
WITHOUT_AXES = {"shard", "order", "rows"}
NAMED = {
    "missing": {"missing", "follows"}, "sliced": {"missing", "follows"}, "factor": {"factor", "follows"}, "shard": {"other shard", "other cut"},
    "order": {"other shard", "other cut", "follows"}, "zeros": {"follows"}, "parts": {"other axes"}, "term": {"term", "follows"}, "rows": {"rows"}, "copies": {"copies", "missing", "follows"},
}


def report_of(command):
    """Runs tpsp-check. Returns its report, or a failure's text."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        return "tpsp-check: no answer in 300 s"
    except ValueError:
        return ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"tpsp-check: status {ran.returncode}"


def ask_check(tool, folder, program, mistake, expectations):
    """Returns what tpsp-check makes of a dump: one of ANSWERS, or a failure's text."""
    options = ["--layers"] if program.layers else options_of(folder, program)
    # The dump of a run with autocast may have no tensor in bf16.
    options += ["--dtype", "bf16"] if AUTOCAST[0] else []
    report = report_of([tool, folder / "model.mlir", "--numbers", folder / (mistake or "right"), "--json", "-", *options])
    if isinstance(report, str):
        return report
    findings = [each for each in report["findings"] if each["kind"] != "not compared"]
    if findings:
        if all(is_named(expected, findings) for expected in expectations):
            return "named"
        return "listed" if all(is_listed(expected, findings) for expected in expectations) else "found"
    passed_over = {name for each in report["findings"] for name in each["tensors"]}
    return "not compared" if any(passed_over & set(expected["tensors"]) for expected in expectations) else "right"


ANSWERS = ["right", "named", "listed", "found", "not compared"]


def ask_trace(tool, folder, program, mistake):
    """Returns what tpsp-check makes of the recordings of a form: "right", "wrong", "cannot be told", or a failure's text."""
    traces = [folder / (mistake or "right") / f"trace{k}.json" for k in range(program.size())]
    report = report_of([tool, folder / "model.mlir", "--trace", *traces, "--json", "-", *options_of(folder, program)[2:]])
    return report if isinstance(report, str) else report["outcome"]


OUTCOMES = ["right", "cannot be told", "wrong"]


def is_named(expected, findings):
    """Whether a finding is of a tensor that the table lists, and of its kind and axes."""
    kinds = NAMED.get(expected["kind"])
    axes = [] if expected["kind"] in WITHOUT_AXES else [axis for axis in expected["axes"] if axis != "micro"]
    for finding in findings:
        words = re.findall(r"\w+", f"{finding['axes']} {finding['text']} {finding['collective']}")
        if kinds is None:
            return True
        # A tensor inside of the program is not in its results, and its collective names it.
        inside = any(each.startswith("act:") and each[4:] in words for each in expected["tensors"])
        is_about = inside or set(expected["tensors"]) & set(finding["tensors"])
        # What is said of a norm is over which ranks its squares are added up.
        is_order = expected["kind"] != "order" or finding["kind"] != "follows" or "order" in words
        is_kind = finding["kind"] in kinds and is_order or expected["tensors"] == ["norm"] and finding["kind"] == "other axes"
        if is_about and is_kind and all(axis in words for axis in axes):
            return True
    return False


def is_listed(expected, findings):
    """Whether it is among what the numbers do not exclude."""
    return expected["kind"] == "rows" and any(
        "right but for" in other for finding in findings for other in finding["alternatives"] if set(expected["tensors"]) & set(finding["tensors"]))


def judge_check(tool, folder, programs, mistakes):
    """Asks tpsp-check about all dumps; prints a line for each that it does not name. Returns its failures."""
    jobs = [(name, None, []) for name in programs] + [(name, mistake, expected) for (name, mistake), expected in mistakes.items()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: ask_check(tool, folder / job[0], programs[job[0]], *job[1:]), jobs))
    failures, counts = {}, dict.fromkeys(ANSWERS, 0)
    for (name, mistake, expected), answer in zip(jobs, answers):
        is_right_form = mistake is None or expected[0]["kind"] == "right"
        counts[answer] = counts.get(answer, 0) + 1
        wanted = "right" if is_right_form else "named"
        if answer != wanted:
            failures[f"{name} {mistake or 'right'} tpsp-check"] = [answer]
        if expected and answer in ("found", "not compared"):
            wanted = expected[0]
            print(f"{name} {mistake}: {answer}; wanted: {wanted['kind']} {','.join(wanted['axes'])} of {','.join(wanted['tensors'])}")
    print("tpsp-check: " + ", ".join(f"{counts[each]} {each}" for each in ANSWERS) + f", {len(failures)} failures")
    return failures


def read_fates():
    """Returns the answers of bf16.txt by (program, mistake)."""
    lines = [line.split(None, 4) for line in (HERE / "bf16.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {(program, mistake): (autocast if AUTOCAST[0] else everything).replace("-", " ") for program, mistake, everything, autocast, _ in lines}


def judge_bf16(tool, folder, programs, mistakes):
    """Asks tpsp-check about runs in bf16. Right forms have no finding, and mistakes are named but for those of bf16.txt."""
    fates = read_fates()
    jobs = [(name, None, []) for name in programs] + [(name, mistake, expected) for (name, mistake), expected in mistakes.items()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: ask_check(tool, folder / job[0], programs[job[0]], *job[1:]), jobs))
    counts, failures = {}, 0
    for (name, mistake, expected), answer in zip(jobs, answers):
        is_right_form = mistake is None or expected[0]["kind"] == "right"
        wanted = "right" if is_right_form else fates.get((name, mistake), "named")
        counts[is_right_form, answer] = counts.get((is_right_form, answer), 0) + 1
        if answer != wanted:
            failures += 1
            print(f"{name} {mistake or 'right'}: {answer}, not {wanted}")
    for is_right_form in (True, False):
        print(f"{'right' if is_right_form else 'wrong'} forms in bf16: " + ", ".join(
            f"{count} {answer}" for (of, answer), count in sorted(counts.items()) if of == is_right_form))
    return failures


def judge_recordings(tool, folder, programs, mistakes):
    """Asks tpsp-check about all recordings. A right form is never wrong, and a sum that is missing is never right. Returns its failures."""
    jobs = [(name, None, []) for name in programs] + [(name, mistake, expected) for (name, mistake), expected in mistakes.items()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: ask_trace(tool, folder / job[0], programs[job[0]], job[1]), jobs))
    failures, counts = {}, {True: dict.fromkeys(OUTCOMES, 0), False: dict.fromkeys(OUTCOMES, 0)}
    for (name, mistake, expected), answer in zip(jobs, answers):
        is_right_form = mistake is None or expected[0]["kind"] == "right"
        counts[is_right_form][answer] = counts[is_right_form].get(answer, 0) + 1
        kinds = {each["kind"] for each in expected if each["tensors"] != ["norm"]}
        is_false = answer == "wrong" if is_right_form else answer == "right" and "missing" in kinds
        if answer not in OUTCOMES or is_false:
            failures[f"{name} {mistake or 'right'} recording"] = [answer]
        if is_right_form and answer == "cannot be told":
            print(f"{name} {mistake or 'right'} recording: {answer}")
    for is_right_form, of in counts.items():
        print(f"recordings of {'right' if is_right_form else 'wrong'} forms: " + ", ".join(f"{of[each]} {each}" for each in OUTCOMES))
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = lambda text: Path(text).resolve()  # commands run in other folders
    parser.add_argument("--tools", type=path, help="the folder of tpsp-run, and of tpsp-check if there is one")
    parser.add_argument("--check", type=path, help="tpsp-check (default: that of the tools, if there is one)")
    parser.add_argument("--folder", type=Path, help="where dumps are kept (default: a temporary one)")
    parser.add_argument("--made", action="store_true", help="the folder has the dumps already")
    parser.add_argument("--only", default="", help="programs whose names have this word")
    parser.add_argument("--bf16", choices=["all", "autocast"], help="run in bf16, or with products in it, and hold what the check says against bf16.txt")
    options = parser.parse_args()
    for family in FAMILIES:
        if (HERE / f"{family}.py").exists():
            __import__(family)
    table = read_table()
    if options.bf16 == "all":
        FLOAT[0] = torch.bfloat16
    AUTOCAST[0] = options.bf16 == "autocast"
    with tempfile.TemporaryDirectory() as scratch:
        return check(options, options.folder or Path(scratch), table)


def check(options, folder, table):
    begin = time.time()
    torch.set_num_threads(1)
    chosen = {name: program for name, program in PROGRAMS.items() if options.only in name}
    mistakes = {key: value for key, value in table.items() if key[0] in chosen}
    unknown = [name for name, _ in table if name not in PROGRAMS]
    if unknown:
        print(f"mistakes.txt: '{unknown[0]}' is no program")
        return 1
    for name, program in chosen.items():
        write_program(folder / name, program)
    jobs = [(name, None) for name in chosen] + list(mistakes)
    if not options.made and not make_dumps(folder, jobs):
        print("not all programs ran")
        return 1
    made = time.time()
    if options.bf16:
        return 1 if judge_bf16(options.check or options.tools / "tpsp-check", folder, chosen, mistakes) else 0
    failures = {name: judge_right(folder / name, program) for name, program in chosen.items()}
    for (name, mistake), expected in mistakes.items():
        failures[f"{name} {mistake}"] = judge_mistake(folder / name, chosen[name], mistake, expected)
        failures[f"{name} {mistake} trace"] = judge_trace(folder / name, chosen[name], mistake, expected)
    if options.tools:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            judged = pool.map(lambda name: judge_model(options.tools, folder / name, chosen[name]), chosen)
            for name, found in zip(chosen, judged):
                failures[f"{name} model"] = found
    tool = options.check or (options.tools and options.tools / "tpsp-check")
    if tool and tool.exists():
        failures |= judge_check(tool, folder, chosen, mistakes)
        failures |= judge_recordings(tool, folder, chosen, mistakes)
    failures = {name: found for name, found in failures.items() if found}
    for name, found in failures.items():
        print(f"{name}: " + "; ".join(found))
    print(f"{len(chosen)} programs, {len(mistakes)} mistakes, {len(failures)} failures; dumps in {made - begin:.0f} s, "
          f"all in {time.time() - begin:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
