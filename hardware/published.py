#!/usr/bin/env python3
"""Writes the descriptions of GPUs beside this file from published figures, and
from measured ones: those of `tpsp-run --calibrate --backend cuda` are in
measured/.

Every figure is of an isolated operation, with its source; what was derived
and not measured says so. `docs/Hardware.md` explains the keys.

    hardware/published.py        # rewrites a100-sxm.json, h100-sxm.json, ...
"""
import json
import pathlib

MIB = 1 << 20

# XLA's measured table for H100, bf16 x bf16 -> bf16, TFLOP/s, kernels only, no
# batch. A list for each m, in it one for each n, in it one for each k. One
# figure is not the published one: 256 x 256 x 4096 has 90.9 there, less time
# than for half of it; here it has what its neighbours have.
EXTENTS = [256, 512, 1024, 2048, 4096]
H100_BF16 = [
    [  # m = 256
        [6.7, 11.5, 18.9, 31.9, 50.0],
        [12.4, 23.0, 41.1, 63.9, 93.1],
        [23.7, 43.8, 75.1, 119.6, 177.1],
        [43.8, 83.1, 141.6, 222.6, 296.3],
        [82.6, 146.2, 237.6, 345.9, 418.4],
    ],
    [  # m = 512
        [12.3, 23.0, 41.5, 61.7, 92.8],
        [23.6, 43.6, 73.4, 116.3, 187.5],
        [45.7, 85.4, 146.5, 231.0, 300.9],
        [84.5, 147.5, 241.8, 342.8, 460.4],
        [141.3, 243.6, 381.3, 530.0, 661.6],
    ],
    [  # m = 1024
        [23.6, 43.7, 69.8, 116.1, 187.2],
        [45.5, 84.3, 144.0, 235.5, 312.1],
        [80.9, 149.1, 252.8, 359.8, 472.6],
        [144.3, 244.0, 384.0, 529.5, 665.7],
        [219.7, 347.7, 494.4, 639.1, 751.9],
    ],
    [  # m = 2048
        [45.3, 79.0, 142.8, 231.4, 333.9],
        [84.3, 150.1, 257.6, 354.1, 458.1],
        [145.6, 244.9, 386.8, 535.3, 663.6],
        [219.7, 348.6, 498.0, 641.0, 752.2],
        [303.3, 449.3, 596.5, 725.5, 752.3],
    ],
    [  # m = 4096
        [84.5, 144.9, 229.0, 314.3, 398.9],
        [141.9, 240.1, 377.5, 531.0, 662.0],
        [223.0, 354.6, 497.6, 643.7, 751.7],
        [308.2, 449.6, 604.6, 727.5, 759.4],
        [398.6, 551.8, 685.2, 735.6, 780.2],
    ],
]

# NCCL 2.27 on eight H200 with the switch's adders (NVLS), from ml-engineering
# (network/benchmarks/results/all-reduce-8xH200.md): payload in MiB to GB/s of
# it. An H100 has the same links.
NVLS_ALL_REDUCE = {
    1: 22.82, 2: 36.87, 4: 61.23, 8: 88.87, 16: 125.65, 32: 157.62, 64: 198.01,
    128: 229.67, 256: 249.23, 512: 257.31, 1024: 264.90, 2048: 268.10,
    4096: 270.34, 8192: 272.83, 16384: 275.58}
# nccl-tests there, 16 GiB on eight ranks without them: bus bandwidth, GB/s.
RING_BUS = {"all_reduce": 367.2, "all_gather": 361.4, "reduce_scatter": 362.9}

# XLA's measured H100 collectives inside one node, microseconds by total MiB,
# where NCCL's tests have no table. Groups of 4 and 2: two and four groups at
# once.
H100_ALL_REDUCE = {
    4: {8: 85.0, 16: 152.8, 32: 218.2, 64: 394.7, 128: 738.2, 256: 1420,
        1024: 5415, 2048: 10654},
}
H100_ALL_GATHER = {
    8: {1: 31.1, 2: 31.6, 4: 47.1, 8: 65.1, 16: 82.2, 32: 129.4, 64: 213.6, 128: 390.2,
        256: 729.3, 512: 1392, 1024: 2730, 2048: 5343},
    4: {8: 56.7, 16: 70.0, 32: 113.3, 64: 195.8, 128: 350.1, 256: 666.3,
        1024: 2473, 2048: 4847},
}
H100_REDUCE_SCATTER = {
    8: {1: 20.4, 2: 34.4, 4: 35.6, 8: 59.3, 16: 86.6, 32: 133.5, 64: 218.6,
        128: 411.5, 256: 771.1, 512: 1496, 1024: 2921, 2048: 5710},
    4: {8: 54.8, 16: 69.8, 32: 123.6, 64: 224.4, 128: 404.4, 256: 774.1,
        1024: 2892, 2048: 5604},
}
# Groups of two are published as bus bandwidth, GB/s.
H100_PAIR_BUS = {
    "all_reduce": {8: 115, 16: 166, 32: 179, 64: 203, 128: 216, 256: 227,
                   1024: 242, 2048: 250},
    "all_gather": {8: 104, 16: 139, 32: 174, 64: 208, 128: 227, 256: 244,
                   1024: 269, 2048: 275},
    "reduce_scatter": {8: 98, 16: 123, 32: 133, 64: 152, 128: 165, 256: 174,
                       1024: 195, 2048: 205},
}
# nccl-tests on eight A100, all-reduce, from ml-engineering. Between 8 and
# 16 MiB NCCL changes its algorithm and becomes slower.
A100_ALL_REDUCE = {
    8: {0.25: 61.38, 0.5: 80.4, 1: 101.9, 2: 101.4, 4: 101.5, 8: 133.5,
        16: 276.6, 32: 424.0, 64: 684.6, 128: 1327.6, 256: 2420.6, 512: 4218.4,
        1024: 8203.9, 2048: 16240, 4096: 32136, 8192: 64074, 16384: 127997},
}
# Derived: the ring's all-gather and reduce-scatter are half of its all-reduce;
# below 32 MiB, where the table has a tree, NCCL's own latency and bandwidth.
A100_HALF = {8: {4: 48, 8: 68, 16: 115, 32: 212, 64: 342.3, 128: 663.8,
                 256: 1210.3, 512: 2109.2, 1024: 4102, 2048: 8120, 4096: 16068,
                 8192: 32037, 16384: 63998.5}}


# Attention in one call, TFLOP/s, products under the mask only. NVIDIA's results
# of cuDNN 9.27 on an H200 and on an A100 (PCIe), in the cudnn-frontend
# repository (benchmark/attention_training, 2026-09-28): bf16, 64 heads of 128
# over 8 of keys, batch 2; of 256, 32 heads over 2, batch 1, causal only.
# Backward not deterministic. By keys, from 2048 on.
ATTENTION_KEYS = [512, 1024, 2048, 4096, 8192, 16384]
H200_ATTENTION_128 = {
    "forward": [660, 687, 701, 640], "forward_causal": [534, 616, 655, 633],
    "backward": [519, 576, 562, 549], "backward_causal": [402, 495, 526, 539],
}
H200_ATTENTION_256 = {"forward_causal": [482, 615, 689, 727],
                      "backward_causal": [277, 354, 393, 365]}
A100_ATTENTION_128 = {
    "forward": [191, 198, 186, 182], "forward_causal": [155, 174, 177, 173],
    "backward": [135, 144, 142, 144], "backward_causal": [109, 128, 136, 139],
}
# cuDNN on an H100 in the figures of FlashAttention-3 (arXiv:2407.08608), by
# keys from 512 on: all of heads of 64, and of 128 how much less than at 2048
# short rows reach.
H100_ATTENTION_64 = {"forward": [335, 373, 395, 408, 412, 413],
                     "backward": [266, 348, 395, 417, 432, 433]}
SHORT_ROWS = {
    "forward": [497 / 617, 574 / 617],
    "forward_causal": [315 / 484, 410 / 484],
    "backward": [305 / 465, 408 / 465],
}
# Derived: a mask costs short rows backward what it costs them forward.
SHORT_ROWS["backward_causal"] = [
    back * masked / unmasked for back, masked, unmasked in zip(
        SHORT_ROWS["backward"], SHORT_ROWS["forward_causal"],
        SHORT_ROWS["forward"])]


def with_short_rows(table):
    return {name: [round(share * rates[0]) for share in SHORT_ROWS[name]] + rates
            for name, rates in table.items()}


def completed(table, whole):
    """`table` with what it lacks of masked or unmasked rates, in the proportion
    in which `whole` has them. Derived, not measured."""
    result = dict(table)
    for way in ["forward", "backward"]:
        plain, masked = way, way + "_causal"
        for missing, there in [(plain, masked), (masked, plain)]:
            if missing not in table:
                result[missing] = [
                    round(rate * a / b) for rate, a, b in
                    zip(table[there], whole[missing], whole[there])]
    return result


# One H200, 2026-11-28 (benchmarks/results): what a block of 256 threads reads
# a second, by kernels of 2 and of 32 blocks; grouped products of
# Mixtral's shapes against products of cuBLASLt; attention with segments against
# the same without, b 4, s 8192. Other GPUs have the same factors.
H200_BLOCK = 30
H200_GROUPED = 0.47
H200_HIDDEN = {"relative_hidden_forward": 0.70, "relative_hidden_backward": 0.51}


def attention(tables):
    """Of a description, from {features: {name: rates}}."""
    names = ["forward", "forward_causal", "backward", "backward_causal"]
    return {"bf16": {
        "features": sorted(tables), "keys": ATTENTION_KEYS,
        **{name + "_tflops": [tables[f][name] for f in sorted(tables)]
           for name in names},
        **H200_HIDDEN}}


def h100_attention():
    whole = with_short_rows(H200_ATTENTION_128)
    return attention({
        64: completed(H100_ATTENTION_64, whole), 128: whole,
        256: completed(with_short_rows(H200_ATTENTION_256), whole)})


def bus_factor(kind, group):
    rounds = 2 if kind == "all_reduce" else 1
    return rounds * (group - 1) / group


def from_bus(kind, group, bus):
    """{MiB: GB/s} to {MiB: microseconds}."""
    return {size: round(size * MIB * bus_factor(kind, group) / rate / 1e3, 1)
            for size, rate in bus.items()}


def with_largest(kind, table):
    """A ring's table on eight ranks with what NCCL's test has at 16 GiB."""
    largest = from_bus(kind, 8, {16384: RING_BUS[kind]})
    return {**table, 8: {**table[8], **largest}}


def measured(groups):
    return {str(group): [[int(size * MIB), us] for size, us in table.items()]
            for group, table in sorted(groups.items())}


def collective(kind, algorithm, tier, latency, hop, bus, groups=None,
               only=False, inside_hop=None):
    entry = {"kind": kind, "algorithm": algorithm, "tier": tier,
             "latency_us": latency, "hop_us": hop}
    if inside_hop is not None:
        entry["inside_hop_us"] = inside_hop
    entry["bus_gbs"] = bus
    if only:
        entry["measured_groups_only"] = True
    if groups:
        entry["measured_us"] = measured(groups)
    return entry


# NCCL's protocols, from its tuning model: the latencies of a ring and of a tree
# (base, a hop on the network, a hop within a node, which also issues to the
# network), and the share of the wire that is data.
PROTOCOLS = {
    "LL": {"ring": (6.6, 2.7, 1.0), "tree": (6.8, 5.0, 0.6), "share": 0.5},
    "LL128": {"ring": (14.0, 4.0, 1.9), "tree": (14.0, 8.5, 1.25),
              "share": 0.92},
    "Simple": {"ring": (8.4, 14.0, 3.4), "tree": (8.4, 14.0, 4.0), "share": 1},
}


def infiniband(nic):
    """NCCL's tuning model between nodes, with what a device's adapter carries.
    The fastest protocol is taken, so a size has a ramp."""
    entries = []
    for protocol in PROTOCOLS.values():
        bus = round(nic * protocol["share"], 1)
        base, hop, inside = protocol["ring"]
        for kind in ["all_reduce", "all_gather", "reduce_scatter"]:
            entries.append(collective(kind, "ring", "infiniband", base, hop,
                                      bus, inside_hop=inside))
        base, hop, inside = protocol["tree"]
        entries.append(collective("all_reduce", "tree", "infiniband", base, hop,
                                  round(0.92 * bus, 1), inside_hop=inside))
    # Sends to all others are on their way at once.
    entries.append(collective("all_to_all", "ring", "infiniband", 6.6, 5.0, nic))
    entries.append(collective("permute", "ring", "infiniband", 8.4, 14.0, nic))
    return entries


def slower(grid, peak, overhead, clock):
    """Rates of a device whose tensor cores are `clock` times the H100's: what
    a kernel spends besides (`overhead`, in microseconds) stays, the rest is
    stretched. Derived, not measured."""
    def one(m, n, k, rate):
        flops = 2 * m * n * k
        work = max(flops / (rate * 1e6) - overhead, flops / (804.7 * 1e6))
        return round(min(flops / (overhead + work / clock) / 1e6, peak), 1)
    return over(grid, one)


def limited(grid, limit):
    """Rates of a type whose units reach `limit`. Derived, not measured."""
    return over(grid, lambda m, n, k, rate: round(
        1 / (1 / rate + 1 / limit), 1))


def over(grid, function):
    return [[[function(m, n, k, grid[a][b][c])
              for c, k in enumerate(EXTENTS)]
             for b, n in enumerate(EXTENTS)] for a, m in enumerate(EXTENTS)]


def matmul(peak, sustained, grid):
    return {"peak_tflops": peak, "sustained_tflops": sustained,
            "m": EXTENTS, "n": EXTENTS, "k": EXTENTS, "tflops": grid}


def sums(first, second):
    """A ring's all-reduce is its reduce-scatter and its all-gather."""
    return {group: {size: round(first[group][size] + second[group][size], 1)
                    for size in first[group] if size in second[group]}
            for group in first}


def h100():
    pair = {kind: from_bus(kind, 2, table)
            for kind, table in H100_PAIR_BUS.items()}
    nvlink = [
        # The switch's adders, of a whole node.
        collective("all_reduce", "in-network", "nvlink", 0, 25.0, 482,
                   {8: {size: round(size * MIB / rate / 1e3, 1)
                        for size, rate in NVLS_ALL_REDUCE.items()}}, only=True),
        # NCCL's LL protocol, first where latency decides: its latencies, and
        # what leads to the table's 1 MiB.
        collective("all_reduce", "tree", "nvlink", 6.8, 0.6, 60),
        collective("all_reduce", "ring", "nvlink", 6.6, 0.6, 367,
                   {2: pair["all_reduce"], 4: H100_ALL_REDUCE[4],
                    8: with_largest("all_reduce", sums(
                        H100_REDUCE_SCATTER, H100_ALL_GATHER))[8]}),
        collective("all_gather", "ring", "nvlink", 6.6, 0.6, 361,
                   {2: pair["all_gather"],
                    **with_largest("all_gather", H100_ALL_GATHER)}),
        collective("reduce_scatter", "ring", "nvlink", 6.6, 0.6, 363,
                   {2: pair["reduce_scatter"],
                    **with_largest("reduce_scatter", H100_REDUCE_SCATTER)}),
        # No table here: NCCL's constants, 18 links of 20.6 GB/s, at the
        # efficiency that A100's send and receive shows.
        collective("all_to_all", "ring", "nvlink", 8.4, 3.4, 320),
        collective("permute", "ring", "nvlink", 8.4, 3.4, 360),
    ]
    return {
        "name": "h100-sxm",
        "basis": {
            "published": "matmul bf16 (XLA), attention (NVIDIA, on H200), "
                         "collectives in a node (NCCL on H200; XLA)",
            "derived": "matmul f32 and f64, grouped products, blocks, attention "
                       "with segments (from the H200's), memory, collectives "
                       "between nodes (NCCL's tuning model)",
            "assumed": "sustained 700 TFLOP/s, all_to_all and permute, kernels, "
                       "cores of collectives"},
        "kind": "gpu", "cores": 132, "memory_bytes": 80 * 10**9,
        "devices_per_node": 8, "nodes": 1,
        "launch_us": 1.0, "issue_us": 2.5, "step_us": 0, "wake_us": 0,
        "handoff_us": 0,
        # 3.35 TB/s: 90 % of it for large sizes; a kernel's start and end cost
        # about 3 us.
        "memory_gbs": saturating(3350 * 0.9, 3.0),
        "kernel": {"operations_gops": 30000, "transcendentals_gops": 3800,
                   "cache_gbs": 12000, "scattered_gops": 100,
                   "start_us": 0, "item_us": 0, "block_gbs": H200_BLOCK},
        "matmul": {"bf16": {**matmul(989, 700, H100_BF16),
                            "relative_grouped": H200_GROUPED},
                   "f32": matmul(67, 50, limited(H100_BF16, 52)),
                   "f64": matmul(67, 50, limited(H100_BF16, 52))},
        "attention": h100_attention(),
        "tiers": {"inside_node": "nvlink", "between_nodes": "infiniband"},
        # One 400 Gbit/s adapter for each device.
        "collectives": nvlink + infiniband(46),
        # NCCL's channels, each of which holds an SM.
        "collective_cores": 20,
    }


def saturating(peak, start):
    """Rates by size of a memory of `peak` GB/s behind `start` microseconds."""
    table = []
    for power in range(8, 33, 4):
        size = 1 << power
        table.append([size, round(size / (start * 1e3 + size / peak), 1)])
    return table


def a100():
    nvlink = [
        collective("all_reduce", "ring", "nvlink", 6.6, 0.6, 234,
                   A100_ALL_REDUCE),
        collective("all_gather", "ring", "nvlink", 6.6, 0.6, 234, A100_HALF),
        collective("reduce_scatter", "ring", "nvlink", 6.6, 0.6, 234,
                   A100_HALF),
        # Eight ranks' send and receive, and the copy of a pair.
        collective("all_to_all", "ring", "nvlink", 8.4, 3.4, 192),
        collective("permute", "ring", "nvlink", 8.4, 3.4, 230),
    ]
    grid = slower(H100_BF16, peak=290, overhead=3.5, clock=312 / 989)
    return {
        "name": "a100-sxm",
        "basis": {
            "published": "attention (NVIDIA, on A100 PCIe), all_reduce and "
                         "copies in a node (nccl-tests)",
            "derived": "matmul (from the H100's), all_gather and "
                       "reduce_scatter (from all_reduce), memory, collectives "
                       "between nodes (NCCL's tuning model)",
            "assumed": "sustained 265 TFLOP/s, kernels, grouped products and "
                       "attention with segments (the H200's factors), cores of "
                       "collectives"},
        "kind": "gpu", "cores": 108, "memory_bytes": 80 * 10**9,
        "devices_per_node": 8, "nodes": 1,
        "launch_us": 1.5, "issue_us": 3.0, "step_us": 0, "wake_us": 0,
        "handoff_us": 0,
        "memory_gbs": saturating(2039 * 0.88, 3.0),
        "kernel": {"operations_gops": 9000, "transcendentals_gops": 2400,
                   "cache_gbs": 7000, "scattered_gops": 60,
                   "start_us": 0, "item_us": 0},
        "matmul": {"bf16": {**matmul(312, 265, grid),
                            "relative_grouped": H200_GROUPED},
                   "f32": matmul(19.5, 18, limited(grid, 18)),
                   "f64": matmul(19.5, 18, limited(grid, 18))},
        "attention": attention({128: with_short_rows(A100_ATTENTION_128)}),
        "tiers": {"inside_node": "nvlink", "between_nodes": "infiniband"},
        # One 200 Gbit/s adapter for each device.
        "collectives": nvlink + infiniband(23),
        "collective_cores": 20,
    }


# A calibration of 2026-11-26 waited for the device behind every call: what takes
# less than this, in microseconds, is in the noise of that.
SHORTEST = 10


LAYOUTS = ["relative_nn", "relative_nt", "relative_tn"]


def calibrated(grid, rates):
    """Of bf16: the calibration's rates and factors where a product takes long
    enough, and those of `grid` elsewhere."""
    def chosen(measured, otherwise):
        return [[[measured[i][j][l]
                  if 2e-6 * m * n * k / rates["tflops"][i][j][l] >= SHORTEST
                  else otherwise(i, j, l)
                  for l, k in enumerate(EXTENTS)]
                 for j, n in enumerate(EXTENTS)]
                for i, m in enumerate(EXTENTS)]

    made = matmul(989, rates["sustained_tflops"],
                  chosen(rates["tflops"], lambda i, j, l: grid[i][j][l]))
    for layout in LAYOUTS:
        made[layout] = chosen(rates[layout], lambda i, j, l: 1)
    return {**made, "relative_aligned": rates["relative_aligned"]}


def h200_attention(measured):
    """Of 256 features NVIDIA's figures, of fewer the calibration's."""
    published = h100_attention()["bf16"]
    rates = {"features": measured["features"] + [256], "keys": measured["keys"]}
    count = len(measured["keys"])
    for name in measured:
        if name.endswith("_tflops"):
            rates[name] = measured[name] + [published[name][-1][:count]]
    return {"bf16": {**rates, **H200_HIDDEN}}


def h200():
    path = pathlib.Path(__file__).parent / "measured" / "h200-sxm.json"
    measured = json.loads(path.read_text())
    large = [row for row in measured["memory_gbs"] if row[0] >= 8 * MIB]
    # 128 KiB take 0.35 us more than a launch, and less takes as long (2026-11-26).
    small = [[bytes, round(bytes / 350, 3)] for bytes in (256, 131072)]
    return {
        "base": "h100-sxm", "name": "h200-sxm",
        "basis": {
            "measured": "matmul bf16 from 10 us on, attention of 64 and 128 "
                        "features, kernels, memory of 128 KiB and from 8 MiB on, "
                        "sustained rates (one H200, 2026-11-26); blocks, grouped "
                        "products, attention with segments (2026-11-28)",
            "published": "smaller matmuls (XLA, on H100), attention of 256 "
                         "features (NVIDIA), collectives in a node (NCCL)",
            "derived": "rates by shape of matmul f32 and f64, "
                       "collectives between nodes (NCCL's tuning model)",
            "assumed": "launches, scattered elements, all_to_all and permute, cores of "
                       "collectives"},
        "memory_bytes": 141 * 10**9,
        "memory_gbs": small + large,
        # The calibration's loads from anywhere find no neighbour's sector, which
        # most of what is counted as scattered does.
        "kernel": {**measured["kernel"], "scattered_gops": 100,
                   "block_gbs": H200_BLOCK},
        "matmul": {"bf16": {**calibrated(H100_BF16, measured["matmul"]["bf16"]),
                            "relative_grouped": H200_GROUPED},
                   "f32": {**matmul(67, 52, limited(H100_BF16, 52)),
                           "relative_aligned": measured["matmul"]["f32"]["relative_aligned"]},
                   "f64": {**matmul(67, 63, limited(H100_BF16, 63)),
                           "relative_aligned": measured["matmul"]["f64"]["relative_aligned"]}},
        "attention": h200_attention(measured["attention"]["bf16"]),
    }


def rows(value, indent=0):
    """JSON with lists of numbers on one line."""
    space = " " * (indent + 1)
    if isinstance(value, dict):
        body = ",\n".join(f"{space}{json.dumps(key)}: {rows(entry, indent + 1)}"
                          for key, entry in value.items())
        return "{\n" + body + "\n" + " " * indent + "}"
    flat = json.dumps(value)
    if not isinstance(value, list) or len(flat) + indent < 100:
        return flat
    return "[\n" + ",\n".join(space + rows(entry, indent + 1)
                              for entry in value) + "\n" + " " * indent + "]"


def write(description):
    path = pathlib.Path(__file__).parent / (description["name"] + ".json")
    path.write_text(rows(description) + "\n")


def main():
    write(a100())
    write(h100())
    write(h200())
    for name in ["a100-sxm", "h100-sxm", "h200-sxm"]:
        write({"base": name, "name": name + "-2node", "nodes": 2})
        # As many as people train on: 16,384 devices.
        write({"base": name + "-2node", "name": name + "-cluster",
               "nodes": 2048})


if __name__ == "__main__":
    main()
