"""Makes biases for attention-hidden-keys.mlir and checks its results.

    hidden-keys.py make FOLDER LOW        writes the inputs; LOW: a low bias
    hidden-keys.py check FILE SCALE [causal] [tolerance]
                                          compares results and gradients

Computes attention by plain loops over lists. A key is hidden by its place, its
segment, its length or a bias of minus infinity. A bias is added in f32. A
sink is the score of one more key, whose value is zeros.
"""
import json, math, struct, sys

B, S, T, H, K = 4, 8, 8, 2, 4
HIDDEN = -math.inf


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def save(path, shape, numbers, code):
    header = f"{{'descr': '<{code}4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{len(numbers)}{code}", *numbers))


def make(folder, low):
    # Rows of scores: all hidden; all low; low but one hidden; hidden but one
    # low; and others.
    rows = [[HIDDEN] * T, [low] * T, [HIDDEN] + [low] * (T - 1), [low] + [HIDDEN] * (T - 1),
            [0.5] * T, [HIDDEN, low, 0.25, -0.5] * 2, [low, 1.0] * 4, [0.0] * 4 + [HIDDEN] * 4]
    bias = [x for h in range(H) for s in range(S) for x in rows[(s + 3 * h) % S]]
    save(f"{folder}/bias.npy", (H, S, T), bias, "f")
    # Left padding: the first keys of samples are hidden, low, or all hidden.
    padding = [HIDDEN] * 2 + [0.0] * 6 + [low] * 2 + [0.0] * 6 + [HIDDEN] * T + [0.0] * T
    save(f"{folder}/padding.npy", (B, T), padding, "f")
    save(f"{folder}/n.npy", (B,), [0, T, 3, 1], "i")
    save(f"{folder}/is.npy", (B, S), [0, 1, 2, 3] * 2 + [0] * S + [1] * S + [0, 1] * 4, "i")
    save(f"{folder}/it.npy", (B, T), [0, 1] * 4 + [0] * T + [0] * T + [1, 0] * 4, "i")


def load(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors, codes = {}, {"F32": ("f", 4), "I32": ("i", 4), "F64": ("d", 8)}
    for name, info in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + x for x in info["data_offsets"])
        if info["dtype"] == "BF16":
            halves = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
            tensors[name] = [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in halves]
        elif info["dtype"] == "F16":
            tensors[name] = list(struct.unpack(f"<{(end - begin) // 2}e", data[begin:end]))
        else:
            code, width = codes[info["dtype"]]
            tensors[name] = list(struct.unpack(f"<{(end - begin) // width}{code}", data[begin:end]))
    return tensors


def expected(t, scale, causal):
    """Returns the result and the gradients, by name."""
    out = {name: [0.0] * len(t[name[2:-1]]) if name.startswith("g[") else [0.0] * (B * S * H * K)
           for name in ["o"] + [f"g[{x}]" for x in ("q", "k", "v", "bias", "padding", "sink") if x in t]}
    at = lambda b, s, h: ((b * S + s) * H + h) * K
    rounded = f32 if "bias" in t or "padding" in t else float
    for b in range(B):
        for h in range(H):
            for s in range(S):
                q, g = at(b, s, h), t["g[o]"][at(b, s, h):at(b, s, h) + K]
                score = []
                for j in range(T):
                    x = rounded(scale * sum(t["q"][q + d] * t["k"][at(b, j, h) + d] for d in range(K)))
                    for name, place in ("bias", (h * S + s) * T + j), ("padding", b * T + j):
                        x = f32(x + t[name][place]) if name in t else x
                    seen = not (causal and j > s) and ("n" not in t or j < t["n"][b])
                    seen = seen and ("is" not in t or t["is"][b * S + s] == t["it"][b * T + j])
                    score.append(x if seen else HIDDEN)
                score.append(t["sink"][h] if "sink" in t else HIDDEN)
                most = max(score)
                weight = [0.0 if x == HIDDEN else math.exp(x - most) for x in score]
                weight = [x / (sum(weight) or 1) for x in weight]
                slope = [sum(g[d] * t["v"][at(b, j, h) + d] for d in range(K)) for j in range(T)]
                mean = sum(w * x for w, x in zip(weight, slope))
                if "sink" in t:
                    out["g[sink]"][h] -= weight[T] * mean
                for j in range(T):
                    k, dz = at(b, j, h), weight[j] * (slope[j] - mean)
                    for d in range(K):
                        out["o"][q + d] += weight[j] * t["v"][k + d]
                        out["g[v]"][k + d] += weight[j] * g[d]
                        out["g[q]"][q + d] += scale * dz * t["k"][k + d]
                        out["g[k]"][k + d] += scale * dz * t["q"][q + d]
                    for name, place in ("bias", (h * S + s) * T + j), ("padding", b * T + j):
                        if name in t:
                            out[f"g[{name}]"][place] += dz
    return out


def check(path, scale, causal, tolerance):
    tensors = load(path)
    names = expected(tensors, scale, causal)
    for name, right in names.items():
        for i, (x, y) in enumerate(zip(tensors[name], right)):
            if not abs(x - y) <= tolerance:  # also fails for NaN
                sys.exit(f"{path}: element {i} of {name} is {x}, and {y} is right")
    print(" ".join(names), "are right")


if sys.argv[1] == "make":
    make(sys.argv[2], float(sys.argv[3]))
else:
    numbers = [float(x) for x in sys.argv[3:] if x != "causal"]
    check(sys.argv[2], numbers[0], "causal" in sys.argv, (numbers + [2e-6])[1])
