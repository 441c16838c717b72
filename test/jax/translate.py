"""Translates a program of tpsp to a function of JAX, operation by operation,
unsharded.

It reads the output of `tpsp-opt --inline --mlir-print-op-generic`. If the
program has subscripts, the caller may translate them (`place`). Dropouts are
left out.
"""

import ast
import math
import re
import subprocess

import jax
import jax.numpy as jnp

TYPE = re.compile(r"tensor<((?:\d+x)*)(\w+), #tpsp.idx<(.*?)>>")
OPERATION = re.compile(
    r'^\s*(?:(%[\w:, ]+) = )?"([\w.]+)"\((.*?)\)(?: <\{(.*)\}>)? : \((.*)\) -> (.*)$'
)
ATTRIBUTE = re.compile(r"(\w+)(?: = (\[.*?\]|\"[^\"]*\"|[^,]+))?(?:, |$)")


class Type:
    """A tensor's index names, shape, and axes per index; `placed` unless it has
    a `?`."""

    def __init__(self, match):
        self.shape = tuple(int(n) for n in match[1].split("x")[:-1])
        self.element = match[2]
        entries, _, self.pending = match[3].partition("|")
        parts = [p.strip() for p in entries.split(",") if p.strip()]
        self.placed = "?" not in parts
        parts = [p for p in parts if p != "?"]
        self.names = [p.split("@")[0] for p in parts]
        self.axes = [tuple(p.split("@")[1:]) for p in parts]

    def extent(self, name):
        return self.shape[self.names.index(name)]


def types(text):
    return [Type(match) for match in TYPE.finditer(text)]


def attributes(text):
    found = {}
    for name, value in ATTRIBUTE.findall(text or ""):
        value = re.sub(r" : \w+$", "", value)
        found[name] = ast.literal_eval(value) if value else True
    return found


def as_type(x, of, wanted):
    """Returns the tensor transposed to the indices of `wanted`; missing indices
    get extent 1."""
    order = [of.names.index(n) for n in wanted.names if n in of.names]
    shape = [of.extent(n) if n in of.names else 1 for n in wanted.names]
    return jnp.transpose(x, order).reshape(shape)


def einsum(xs, ts, result):
    letters = {}
    term = lambda t: "".join(
        letters.setdefault(n, chr(ord("a") + len(letters))) for n in t.names
    )
    equation = ",".join(map(term, ts)) + "->" + "".join(
        letters[n] for n in result.names if n in letters
    )
    value = jnp.einsum(equation, *xs)
    known = [n for n in result.names if n in letters]
    shape = [result.extent(n) if n in known else 1 for n in result.names]
    return jnp.broadcast_to(value.reshape(shape), result.shape)


def pointwise(function):
    def apply(xs, ts, result, a):
        value = function(*(as_type(x, t, result) for x, t in zip(xs, ts)))
        return jnp.broadcast_to(value, result.shape)

    return apply


def rms_norm(xs, ts, result, a):
    x, gain = (as_type(x, t, result) for x, t in zip(xs, ts))
    over = tuple(result.names.index(n) for n in ts[1].names)
    mean = jnp.mean(x * x, over, keepdims=True)
    return x / jnp.sqrt(mean + a.get("eps", 1e-5)) * gain


def layer_norm(xs, ts, result, a):
    x, gain, bias = (as_type(x, t, result) for x, t in zip(xs, ts))
    over = tuple(result.names.index(n) for n in ts[1].names)
    x = x - jnp.mean(x, over, keepdims=True)
    variance = jnp.mean(x * x, over, keepdims=True)
    return x / jnp.sqrt(variance + a.get("eps", 1e-5)) * gain + bias


def softmax(xs, ts, result, a):
    if len(xs) > 1:
        raise SystemExit("a softmax with a sink has no translation")
    y = jax.nn.softmax(xs[0] * a.get("scale", 1.0), ts[0].names.index(a["over"]))
    return as_type(y, ts[0], result)


def attention(xs, ts, result, a):
    (q, k, v), (tq, tk, tv) = xs, ts
    scores = Type(TYPE.match("tensor<f32, #tpsp.idx<>>"))
    scores.names = [n for n in tq.names if n != a["feature"]]
    scores.names += [n for n in tk.names if n not in tq.names]
    scores.shape = tuple(
        (tq if n in tq.names else tk).extent(n) for n in scores.names
    )
    x = einsum([q, k], [tq, tk], scores) * a.get("scale", 1.0)
    t = scores.names.index(a["key"])
    if a.get("causal"):
        s = scores.names.index(a["query"])
        iota = lambda dim: jax.lax.broadcasted_iota(jnp.int32, x.shape, dim)
        x = jnp.where(iota(t) <= iota(s), x, -jnp.inf)
    return einsum([jax.nn.softmax(x, t), v], [scores, tv], result)


def slowed(frequency, a):
    kept = 0
    if a.get("trained", 0):
        turns = a["trained"] * frequency / (2 * math.pi)
        scale = jnp.log if a.get("log_turns") else lambda x: x
        slow, fast = scale(a["slow_turns"]), scale(a["fast_turns"])
        kept = jnp.clip((scale(turns) - slow) / (fast - slow), 0, 1)
    return frequency * (kept + (1 - kept) / a.get("stretch", 1))


def rope(xs, ts, result, a):
    x, t = xs[0], ts[0]
    at, pairs = t.names.index(a["feature"]), t.extent(a["feature"]) // 2
    low, high = jnp.split(x, 2, at)
    iota = lambda name: jax.lax.broadcasted_iota(
        x.dtype, low.shape, t.names.index(name)
    )
    theta = jnp.exp(iota(a["feature"]) * (-math.log(a.get("theta", 1e4)) / pairs))
    theta = slowed(theta, a)
    angle = iota(a["position"]) * theta * (-1 if a.get("inverse") else 1)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    rotated = jnp.concatenate([low * cos - high * sin, low * sin + high * cos], at)
    return as_type(rotated, t, result)


def embedding(xs, ts, result, a):
    ids, table = xs
    at = ts[1].names.index(a["vocabulary"])
    rows = jnp.take(table, ids, axis=at)
    names = ts[1].names[:at] + ts[0].names + ts[1].names[at + 1 :]
    return jnp.transpose(rows, [names.index(n) for n in result.names])


def cross_entropy(xs, ts, result, a):
    logits, targets = xs
    at = ts[0].names.index(a["over"])
    rest = [n for n in ts[0].names if n != a["over"]]
    targets = jnp.transpose(targets, [ts[1].names.index(n) for n in rest])
    chosen = jnp.take_along_axis(logits, jnp.expand_dims(targets, at), at)
    loss = jax.nn.logsumexp(logits, at) - jnp.squeeze(chosen, at)
    return jnp.transpose(loss, [rest.index(n) for n in result.names])


def router(xs, ts, result, a):
    (x,), (t,) = xs, ts
    x = jnp.moveaxis(x, t.names.index(a["expert"]), -1)
    _, chosen = jax.lax.top_k(x, result.extent(a["choice"]))
    names = [n for n in t.names if n != a["expert"]] + [a["choice"]]
    return jnp.transpose(chosen, [names.index(n) for n in result.names])


def one_hot_einsum(xs, ts, result, a):
    hot, types_of = [], []
    count = len(a["indices"])
    for ids, t, index in zip(xs, ts, a["indices"]):
        whole = next((x for x in ts[count:] if index in x.names), result)
        hot.append(jax.nn.one_hot(ids, whole.extent(index), dtype=xs[-1].dtype))
        types_of.append(with_names(t, t.names + [index], hot[-1].shape))
    return einsum([*hot, *xs[count:]], [*types_of, *ts[count:]], result)


def with_names(t, names, shape):
    made = Type(TYPE.match("tensor<f32, #tpsp.idx<>>"))
    made.names, made.shape = list(names), tuple(shape)
    return made


def count_values(xs, ts, result, a):
    (ids,), (t,) = xs, ts
    extents = [result.extent(n) for n in a["of"]]
    hot = jax.nn.one_hot(ids, math.prod(extents), dtype=jnp.int32)
    counts = jnp.sum(hot, [t.names.index(n) for n in a["over"]])
    outer = [n for n in t.names if n not in a["over"]]
    names = outer + a["of"]
    counts = counts.reshape([t.extent(n) for n in outer] + extents)
    return jnp.transpose(counts, [names.index(n) for n in result.names])


def runs(xs, ts, result, a):
    (load,), (t,) = xs, ts
    ends = jnp.cumsum(jnp.moveaxis(load, t.names.index(a["of"]), -1), -1)
    row = jnp.arange(result.extent(a["along"]))
    which = jnp.sum(row[:, None] >= ends[..., None, :], -1)
    which = jnp.where(row < ends[..., -1:], which, -1).astype(jnp.int32)
    names = [n for n in t.names if n != a["of"]] + [a["along"]]
    return jnp.transpose(which, [names.index(n) for n in result.names])


def assignment(ids, t, a, shared, experts, slots, dtype, load=None):
    """Returns a tensor of 0 and 1 over the ids' indices, expert and slot: whether a
    token's choice has that slot of the expert. Choices are the slower index. With
    the type of a load, slots are rows of a block of experts, sorted by expert."""
    rivals = [a["choice"]] + [n for n in t.names if n not in [*shared, a["choice"]]]
    outer = [n for n in t.names if n not in rivals]
    names = outer + rivals
    ordered = jnp.transpose(ids, [t.names.index(n) for n in names])
    extents = [t.extent(n) for n in names]
    flat = ordered.reshape([*extents[: len(outer)], -1])
    chosen = jax.nn.one_hot(flat, experts, dtype=jnp.int32)
    earlier = jnp.sum((jnp.cumsum(chosen, -2) - chosen) * chosen, -1)
    place = [a["expert"]]
    if load:
        place = [n for n in load.names if n not in t.names and n != a["expert"]]
        blocked = chosen.reshape([*flat.shape, -1, load.extent(a["expert"])])
        counts = jnp.sum(blocked, -3, keepdims=True)
        before = jnp.cumsum(counts, -1) - counts
        earlier += jnp.sum(before * blocked, [-2, -1])
        chosen = jnp.sum(blocked, -1)
    hot = chosen[..., None] * jax.nn.one_hot(earlier, slots, dtype=jnp.int32)[..., None, :]
    hot = hot.astype(dtype).reshape([*extents, *([chosen.shape[-1]] if place else []), slots])
    return hot, with_names(t, [*names, *place, a["slot"]], hot.shape)


def number_of_experts(holder, ids, a):
    """Returns the number of experts: for a load the product of its indices
    besides those of ids, else the extent of the index of experts."""
    if a["slot"] in holder.names:
        return holder.extent(a["expert"])
    return math.prod(holder.extent(n) for n in holder.names if n not in ids.names)


def dispatch(xs, ts, result, a):
    (ids, *_, x), (ti, *loads, tx) = xs, ts
    shared = [n for n in ti.names if n in tx.names and n in result.names]
    load = loads[0] if loads else None
    hot, th = assignment(ids, ti, a, shared, number_of_experts(load or result, ti, a),
                         result.extent(a["slot"]), x.dtype, load)
    return einsum([hot, x], [th, tx], result)


def combine(xs, ts, result, a):
    (ids, *_, weights, v), (ti, *loads, tw, tv) = xs, ts
    shared = [n for n in ti.names if n in tv.names]
    load = loads[0] if loads else None
    hot, th = assignment(ids, ti, a, shared, number_of_experts(load or tv, ti, a),
                         tv.extent(a["slot"]), v.dtype, load)
    return einsum([hot, weights, v], [th, tw, tv], result)


def renamed(xs, ts, result, a):
    return xs[0].reshape(result.shape)


def mean(xs, ts, result, a):
    lost = math.prod(ts[0].shape) // max(math.prod(result.shape), 1)
    return einsum(xs, ts, result) / lost


def along(f):
    """Applies `f` to the first operand with the index first, the attributes,
    and the other operands broadcast over the result."""

    def translated(xs, ts, result, a):
        at = result.names.index(a["index"])
        moved = [
            jnp.moveaxis(jnp.broadcast_to(as_type(x, t, result), result.shape), at, 0)
            for x, t in zip(xs, ts)
        ]
        return jnp.moveaxis(f(a, *moved), 0, at)

    return translated


def scan(a, x, decay=None):
    decay = jnp.ones_like(x) if decay is None else decay
    step = lambda y, at: (at[0] * y + at[1],) * 2
    _, y = jax.lax.scan(step, jnp.zeros_like(x[0]), (decay, x), reverse="reverse" in a)
    return y


def delay(a, x):
    by = max(-len(x), min(a.get("by", 1), len(x)))
    zeros = jnp.zeros_like(x[: abs(by)])
    return jnp.concatenate([zeros, x[: len(x) - by]] if by > 0 else [x[-by:], zeros])


def causal_mask(xs, ts, result, a):
    x = as_type(xs[0], ts[0], result)
    query, key = (
        jax.lax.broadcasted_iota(int, result.shape, result.names.index(a[role]))
        for role in ("query", "key")
    )
    return jnp.where(key <= query, x, a["fill"])


OPERATIONS = {
    "add": pointwise(lambda *xs: sum(xs[1:], xs[0])),
    "sub": pointwise(jnp.subtract),
    "mul": pointwise(lambda *xs: math.prod(xs[1:], start=xs[0])),
    "div": pointwise(jnp.divide),
    "neg": pointwise(jnp.negative),
    "exp": pointwise(jnp.exp),
    "softplus": pointwise(jax.nn.softplus),
    "square": pointwise(jnp.square),
    "rsqrt": pointwise(jax.lax.rsqrt),
    "sigmoid": pointwise(jax.nn.sigmoid),
    "tanh": pointwise(jnp.tanh),
    "relu": pointwise(jax.nn.relu),
    "silu": pointwise(jax.nn.silu),
    "gelu": pointwise(lambda x: jax.nn.gelu(x, approximate=True)),
    "dropout": pointwise(lambda x: x),
    "broadcast": pointwise(lambda x: x),
    "reshard": pointwise(lambda x: x),
    "scale": lambda xs, ts, r, a: as_type(xs[0], ts[0], r) * a["factor"],
    "einsum": lambda xs, ts, r, a: einsum(xs, ts, r),
    "reduce": lambda xs, ts, r, a: einsum(xs, ts, r),
    "softmax": softmax,
    "causal_mask": causal_mask,
    "take": lambda xs, ts, r, a: jnp.take(xs[0], a["at"], ts[0].names.index(a["index"])),
    "scan": along(scan),
    "cumsum": along(scan),
    "delay": along(delay),
    "split": renamed,
    "merge": renamed,
    "rename": renamed,
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "attention": attention,
    "rope": rope,
    "embedding": embedding,
    "cross_entropy": cross_entropy,
    "mean": mean,
    "router": router,
    "one_hot_einsum": one_hot_einsum,
    "count_values": count_values,
    "runs": runs,
    "dispatch": dispatch,
    "combine": combine,
}


class Program:
    """`arguments` are (name, type) in order, `results` types, `mesh` sizes by
    axis, and `missing` the operations without a translation."""

    def __init__(self, tpsp_opt, path, *options):
        text = subprocess.run(
            [tpsp_opt, path, "--inline", "--symbol-dce", *options,
             "--mlir-print-op-generic"],
            check=True, capture_output=True, text=True,
        ).stdout
        self.operations = []
        self.mesh, self.has_dropout = {}, "dropout" in text
        for line in text.splitlines():
            self.read(line)
        if text.count('"func.func"') != 1:
            raise SystemExit(f"{path}: has several functions; one is translated")
        used = {name.removeprefix("tpsp.") for _, name, *_ in self.operations}
        self.missing = sorted(used - OPERATIONS.keys())

    def read(self, line):
        if '"tpsp.mesh"' in line:
            names = re.findall(r'"([^"]*)"', re.search(r"axis_names = \[(.*?)\]", line)[1])
            sizes = re.search(r"axis_sizes = array<i64: (.*?)>", line)[1].split(", ")
            self.mesh = dict(zip(names, map(int, sizes)))
        elif '"func.func"' in line:
            listed = re.search(r"arg_attrs = \[(.*?)\], function_type", line)
            each = re.findall(r"\{(.*?)\}", listed[1]) if listed else []
            named = [re.search(r'tpsp\.(?:name|param) = "([^"]*)"', e) for e in each]
            self.names = [match[1] if match else "" for match in named]
        elif line.strip().startswith("^bb0"):
            self.arguments = list(zip(self.names, types(line)))
        elif '"func.return"' in line:
            self.returned = re.findall(r"%\w+", line.split(":")[0])
            self.results = types(line)
        elif '"tpsp.' in line:
            made, name, operands, attrs, ins, outs = OPERATION.match(line).groups()
            self.operations.append(
                (made, name, re.findall(r"%\w+", operands), attributes(attrs),
                 types(ins), types(outs)[0])
            )

    def __call__(self, arrays, place=lambda x, type: x):
        """Evaluates the program on `arrays`, by name. `place` is applied to
        each value that the program places. Returns one result, or a tuple."""
        values = {
            f"%arg{i}": arrays[name] for i, (name, _) in enumerate(self.arguments)
        }
        for made, name, operands, attrs, ins, out in self.operations:
            function = OPERATIONS[name.removeprefix("tpsp.")]
            value = function([values[o] for o in operands], ins, out, attrs)
            values[made] = place(value, out) if out.placed and not out.pending else value
        results = tuple(values[name] for name in self.returned)
        return results[0] if len(results) == 1 else results
