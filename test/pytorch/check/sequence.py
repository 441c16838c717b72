"""Sequences that are divided, by hand: context parallelism, Ulysses, rings, scans."""

import torch

from harness import _Map, program

ATTENTION = """
tpsp.program <s = 6, t = s, d = 4, h = {h}, k = 4> {{
mesh @mesh <cp = {cp} : data>
func @attend(%x: [s@cp, d], {more}param %wq, %wk, %wv: [h, k, d], param %wo: [d, h, k]) -> [s@cp, d] {{
  %q0 = einsum %wq, %x -> [s, h, k, ?]
  %k0 = einsum %wk, %x -> [s, h, k, ?]
  %v0 = einsum %wv, %x -> [s, h, k, ?]
{roped}
  %v = rename %v0 -> [t, h, k, ?]
  %o = attention %q, %k, %v{operands} {{query = "s", key = "t", feature = "k", scale = 0.5, causal}}
  %z = einsum %wo, %o -> [s@cp, d]
  return %z
}}
}}
"""
PLAIN = """  %q = scale %q0 {factor = 1}
  %k = rename %k0 -> [t, h, k, ?]"""
ROPED = """  %q = rope %q0 {position = "s", feature = "k", theta = 10000}
  %k1 = rope %k0 {position = "s", feature = "k", theta = 10000}
  %k = rename %k1 -> [t, h, k, ?]"""


def _attention(h=2, cp=3, roped=PLAIN, more="", operands=""):
    return ATTENTION.format(h=h, cp=cp, roped=roped, more=more, operands=operands)


def _projected(r, x):
    return [torch.einsum("hkd,sd->shk", r[name], x) for name in ("wq", "wk", "wv")]


def _weighted(q, k, v, queries, keys, hidden=None):
    """Causal attention, by the positions of queries and keys."""
    scores = torch.einsum("shk,thk->hst", q, k) * 0.5
    mask = queries[:, None] < keys[None]
    scores = scores.masked_fill(mask if hidden is None else mask | hidden, -torch.inf)
    return torch.einsum("hst,thk->shk", scores.softmax(-1), v)


def _positions(r, own):
    return torch.arange(own) + r.at("cp") * own


def _finish(r, o, forgotten=""):
    r.note("o", o, "cp=Shard(0)")
    r.backward(z=torch.einsum("dhk,shk->sd", r["wo"], o))
    r.reduce(" ".join(name for name in ("wq", "wk", "wv", "wo") if name not in forgotten.split()), "cp")


@program(_attention())
def cp_attention(r, mistake):
    q, k, v = _projected(r, r["x"])
    gather = r.gather_copies if mistake == "own_part" else r.gather
    k, v = gather(k, "cp", 0), gather(v, "cp", 0)
    queries = _positions(r, q.shape[0])
    if mistake == "local_positions":
        queries = queries - queries[0]
    _finish(r, _weighted(q, k, v, queries, torch.arange(6)), {"keys_not_summed": "wk wv", "output_not_summed": "wo"}.get(mistake, ""))


@program(_attention(cp=2, more="%document: i32[s@cp] {tpsp.below = 2}, ", operands=", %document, %past",
                    roped=PLAIN + "\n  %past = rename %document -> [t, ?]"))
def packed(r, mistake):
    """Several documents in a sequence."""
    q, k, v = _projected(r, r["x"])
    k, v = r.gather(k, "cp", 0), r.gather(v, "cp", 0)
    own, keys = r["document"], r.gathered(r["document"], "cp", 0)
    if mistake == "own_numbers":  # Every rank compares with its own documents alone.
        keys = torch.cat([own] * r.size("cp"))
    hidden = None if mistake == "causal_only" else own[:, None] != keys[None]
    o = _weighted(q, k, v, _positions(r, q.shape[0]), torch.arange(6), hidden)
    _finish(r, torch.nan_to_num(o))


@program(_attention(cp=2, roped=ROPED))
def rope(r, mistake):
    q, k, v = _projected(r, r["x"])
    queries = _positions(r, q.shape[0])
    angles = queries - queries[0] if mistake == "local_positions" else queries
    q, k = q if mistake == "queries_not_rotated" else _rotated(q, angles), _rotated(k, angles)
    k, v = r.gather(k, "cp", 0), r.gather(v, "cp", 0)
    _finish(r, _weighted(q, k, v, queries, torch.arange(6)), "wk" if mistake == "keys_not_summed" else "")


def _rotated(x, positions):
    half = x.shape[-1] // 2
    angle = positions[:, None].float() * 10000.0 ** (-torch.arange(half).float() / half)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    one, other = x[..., :half], x[..., half:]
    return torch.cat([one * cos - other * sin, other * cos + one * sin], -1).to(x.dtype)


@program(_attention(h=3))
def ulysses(r, mistake):
    """Heads are divided inside attention, positions outside."""
    q, k, v = (r.exchange(each, "cp", 1, 0) for each in _projected(r, r["x"]))
    o = _weighted(q, k, v, torch.arange(6), torch.arange(6))
    o = r.exchange(o, "cp", 0, 1)
    if mistake == "heads_in_other_order":
        o = o.flip(1)
    if mistake == "output_by_other_heads":
        o = o.roll(1, 1)
    _finish(r, o, "wq wk wv" if mistake == "projections_not_summed" else "")


@program(_attention(cp=3))
def ring(r, mistake):
    """Keys and values go around; results are rescaled as maxima rise."""
    q, k, v = _projected(r, r["x"])
    own, n = q.shape[0], r.size("cp")
    queries = _positions(r, own)
    top = q.new_full((q.shape[1], own, 1), -torch.inf)
    total, o = torch.zeros_like(top), q.new_zeros(q.shape[1], own, q.shape[2])
    back = 1 if mistake == "gradients_go_on" else -1
    for step in range(n):
        keys = (r.at("cp") - step) % n * own + torch.arange(own)
        scores = torch.einsum("shk,thk->hst", q, k) * 0.5
        scores = scores.masked_fill(queries[:, None] < keys[None], -torch.inf)
        new = torch.maximum(top, scores.amax(-1, keepdim=True)).detach()
        rescale = torch.nan_to_num((top - new).exp()) if step else torch.zeros_like(top)
        if mistake == "not_rescaled" and step:
            rescale = torch.ones_like(top)
        weights = (scores - new).exp()
        total, o = total * rescale + weights.sum(-1, keepdim=True), o * rescale + weights @ v.transpose(0, 1)
        top = new
        if step + 1 < n:
            k, v = r.turn(k, "cp", 1, back), r.turn(v, "cp", 1, back)
            if mistake == "values_detached":
                v = v.detach()
    _finish(r, (o / total).transpose(0, 1))


@program("""
tpsp.program <s = 12, d = 3, k = 3> {
mesh @mesh <cp = 3 : data>
func @convolution(%x: [s@cp, d], param %w: [k, d]) -> [s@cp, d] {
  %w0 = take %w {index = "k", at = 0}
  %w1 = take %w {index = "k", at = 1}
  %w2 = take %w {index = "k", at = 2}
  %x1 = delay %x {index = "s", by = 1}
  %x2 = delay %x {index = "s", by = 2}
  %y0 = mul %x, %w0
  %y1 = mul %x1, %w1
  %y2 = mul %x2, %w2
  %z = add %y0, %y1, %y2
  return %z
}
}
""")
def convolution(r, mistake):
    """A convolution whose taps reach into the shard before."""
    x, taps = r["x"], 3
    ends = x[1 - taps:]
    if mistake == "gradient_of_ends_lost":
        before = r.turned(ends, "cp")
    else:
        before = r.turn(ends, "cp")
    if mistake == "no_ends":
        before = before * 0
    elif r.at("cp") == 0 and mistake != "cyclic":
        before = before * 0
    if mistake == "one_short":  # One position of the two that are needed.
        before = torch.cat([before[:1] * 0, before[1:]])
    whole = torch.cat([before, x])
    z = sum(r["w"][i] * whole[taps - 1 - i : taps - 1 - i + x.shape[0]] for i in range(taps))
    r.backward(z=z)
    if mistake != "taps_not_summed":
        r.reduce("w", "cp")


@program("""
tpsp.program <b = 2, s = 12, d = 3> {
mesh @mesh <cp = 3 : data>
func @sums(%x: [b, s@cp, d], param %gain: [d]) -> [b, s@cp, d] {
  %n = mul %x, %gain
  %z = cumsum %n {index = "s"}
  return %z
}
}
""")
def running_sum(r, mistake):
    """A sum along the sequence, which each shard continues."""
    n = r["x"] * r["gain"]
    own, at, size = n.cumsum(1), r.at("cp"), r.size("cp")
    ends = own[:, -1:]
    all_ends = r.gathered(ends, "cp", 1) if mistake == "gradient_of_ends_lost" else r.gather(ends, "cp", 1)
    before = all_ends[:, :at + (mistake == "own_end_too")].sum(1, keepdim=True)
    if mistake == "previous_end_only":
        before = all_ends[:, max(at - 1, 0):at].sum(1, keepdim=True)
    r.backward(z=own if mistake == "not_continued" else own + before)
    r.reduce("gain", "cp", 1 / size if mistake == "mean" else 1.0)


@program("""
tpsp.program <s = 6, d = 4, e = 6> {
mesh @mesh <cp = 2 : data, tp = 3 : model>
func @mlp(%x: [s@cp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [s@cp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [s@cp, e@tp]
  %a = tanh %u
  %z = einsum %down, %a -> [s@cp, d]
  return %z
}
}
""")
def cp_tp(r, mistake):
    n = r["x"] * r["gain"]
    n = n if mistake == "no_backward_sum" else r.copy(n, "cp" if mistake == "backward_over_cp" else "tp")
    r.backward(z=r.sum(torch.tanh(n @ r["up"].T) @ r["down"].T, "tp"))
    r.reduce("up down", "tp" if mistake == "weights_over_tp" else "cp")
    r.reduce("gain", "cp tp" if mistake == "gain_over_both" else "cp")
