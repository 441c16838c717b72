"""Runs `tpsp-run --calibrate --backend cuda` on doubles of CUDA's libraries and
checks that every field comes out and that the file simulates.

    check-calibration.py TPSP_RUN MODEL DEVICES

This does not test a GPU: the figures are a CPU's, for small sizes
(TPSP_CALIBRATE_QUICK)."""

import json
import os
import subprocess
import sys
import tempfile

tool, model, devices = sys.argv[1], sys.argv[2], int(sys.argv[3])
environment = dict(os.environ, TPSP_DOUBLE_DEVICES=str(devices),
                   TPSP_CALIBRATE_QUICK="1")


def run(*arguments):
    return subprocess.run([tool, *arguments], env=environment, timeout=3000,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)


def check(holds, what):
    if not holds:
        sys.exit(f"check-calibration: {what}")


def check_rates(rates, what):
    grid = len(rates["m"]), len(rates["n"]), len(rates["k"])
    figures = [rate for rows in rates["tflops"] for row in rows for rate in row]
    check(len(figures) == grid[0] * grid[1] * grid[2], f"{what}: {grid}")
    check(all(rate > 0 for rate in figures), f"{what}: {figures}")
    for layout in "nn", "nt", "tn":
        factors = [f for rows in rates[f"relative_{layout}"] for row in rows for f in row]
        check(len(factors) == len(figures) and min(factors) > 0, f"{what}: {layout}")
    check(rates["peak_tflops"] >= max(figures), f"{what}: peak")
    check(0 < rates["sustained_tflops"] <= rates["peak_tflops"],
          f"{what}: sustained")


def check_attention(attention):
    check(list(attention) == ["bf16"], f"attention: {list(attention)}")
    rates = attention["bf16"]
    check((rates["features"], rates["keys"]) == ([8, 16], [16, 32]), "attention")
    for way in ("forward", "backward"):
        for mask in ("", "_causal"):
            table = rates[f"{way}{mask}_tflops"]
            check([len(row) for row in table] == [2, 2], f"attention: {table}")
            check(all(rate > 0 for row in table for rate in row), "attention")


def check_collective(rates, groups):
    what = rates["kind"]
    check(rates["tier"] == "device-links", f"{what}: {rates['tier']}")
    check(rates["latency_us"] > 0 and rates["bus_gbs"] > 0, what)
    check(sorted(map(int, rates["measured_us"])) == groups,
          f"{what}: groups {list(rates['measured_us'])}, not {groups}")
    for table in rates["measured_us"].values():
        check([size for size, _ in table] == [4096, 16384, 65536], what)
        times = [time for _, time in table]
        check(times == sorted(times) and times[0] > 0, f"{what}: {times}")


def check_description(machine):
    check(machine["kind"] == "gpu", machine["kind"])
    check(f"{devices} x test double" in machine["basis"]["measured"], machine["basis"])
    check(machine["cores"] == 12 and machine["memory_bytes"] == 1 << 30,
          "cores, memory")
    check(machine["devices_per_node"] == devices and machine["nodes"] == 1,
          "devices")
    for key in "launch_us", "issue_us", "step_us":
        check(machine[key] > 0, f"{key} is {machine[key]}")
    kernel = machine["kernel"]
    for key in ("operations_gops", "transcendentals_gops", "cache_gbs",
                "scattered_gops", "item_us"):
        check(kernel[key] > 0, f"{key} is {kernel[key]}")
    sizes = [size for size, _ in machine["memory_gbs"]]
    check(sizes == sorted(sizes) and len(sizes) > 1, f"memory: {sizes}")
    check(all(rate > 0 for _, rate in machine["memory_gbs"]), "memory")
    check(sorted(machine["matmul"]) == ["bf16", "f32", "f64"],
          f"matmul: {list(machine['matmul'])}")
    for dtype, rates in machine["matmul"].items():
        check_rates(rates, f"matmul.{dtype}")
    check_attention(machine["attention"])
    check(0 <= machine["collective_cores"] < machine["cores"], "collective_cores")
    kinds = [rates["kind"] for rates in machine["collectives"]]
    check(len(kinds) == (5 if devices > 1 else 0), f"collectives: {kinds}")
    groups = [group for group in (2, 4) if group <= devices]
    if devices not in groups:
        groups.append(devices)
    for rates in machine["collectives"]:
        check_collective(rates, groups)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "machine.json")
    result = run("--calibrate", "--backend", "cuda", "--quiet", "-o", path)
    if devices == 0:
        check(result.returncode == 1 and "the NVIDIA driver sees no GPU" in
              result.stderr and not os.path.exists(path), result.stderr)
        sys.exit(0)
    check(result.returncode == 0, result.stderr)
    with open(path, encoding="utf-8") as file:
        check_description(json.load(file))
    step = ["--grad", "--dtype", "f16", "--simulate", "--hardware", path]
    ranks = 1 << (devices.bit_length() - 1)
    result = run(model, "--mesh", f"tp={ranks}", *step)
    check(result.returncode == 0 and "Predicted for these GPUs" in
          result.stdout, result.stdout + result.stderr)
    # For more ranks than devices the description has no links.
    result = run(model, "--mesh", f"tp={2 * ranks}", *step)
    check(result.returncode == 1 and f"has {devices} devices" in result.stderr,
          result.stderr)
