"""Tensor and sequence parallelism by hand."""

import torch
from torch.nn.functional import silu

from harness import _Map, program


@program("""
tpsp.program <b = 2, s = 4, d = 6, e = 9> {
mesh @mesh <tp = 3 : model>
func @mlp(%x: [b, s, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b, s, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = silu %u
  %z = einsum %down, %a -> [b, s, d]
  return %z
}
}
""")
def mlp_tp(r, mistake):
    n = r["x"] * r["gain"]
    inner = n if mistake == "no_backward_sum" else r.copy(n, "tp")
    partial = silu(inner @ r["up"].T) @ r["down"].T
    if mistake == "no_forward_sum":
        z = partial
    elif mistake == "sum_twice":
        z = r.sum_twice(partial, "tp")
    else:
        z = r.sum(partial, "tp")
    r.backward(z=z)


@program("""
tpsp.program <b = 2, s = 6, d = 4, e = 6> {
mesh @mesh <tp = 3 : model>
func @mlp(%x: [b, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = silu %u
  %z = einsum %down, %a -> [b, s@tp, d]
  return %z
}
}
""")
def mlp_sp(r, mistake):
    n = r["x"] * r["gain"]
    whole = r.gather_copies(n, "tp", 1) if mistake == "own_part" else r.gather(n, "tp", 1)
    partial = silu(whole @ r["up"].T) @ r["down"].T
    z = r.cut(r.sum(partial, "tp"), "tp", 1) if mistake == "all_reduce" else r.scatter(partial, "tp", 1)
    r.backward(z=z)
    if mistake != "no_gain_sum":
        r.reduce("gain", "tp")


@program("""
tpsp.program <b = 4, s = 6, d = 4, e = 6> {
mesh @mesh <dp = 2 : data, tp = 3 : model>
func @mlp(%x: [b@dp, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b@dp, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = silu %u
  %z = einsum %down, %a -> [b@dp, s@tp, d]
  return %z
}
}
""")
def mlp_sp_dp(r, mistake):
    n = r.gather(r["x"] * r["gain"], "tp", 1)
    r.backward(z=r.scatter(silu(n @ r["up"].T) @ r["down"].T, "tp", 1))
    axes = {"gain_over_dp": "dp", "gain_over_tp": "tp"}.get(mistake, "dp tp")
    r.reduce("gain", axes, {"gain_mean": 1 / 6}.get(mistake, 1.0))
    if mistake != "weights_over_tp":
        r.reduce("up down", "dp")
    else:
        r.reduce("up down", "tp")
    if mistake == "weights_twice":
        r.reduce("up down", "dp")


@program("""
tpsp.program <b = 2, s = 4, d = 6, e = 8> {
mesh @mesh <tp = 2 : model>
func @mlp(%x: [b, s@tp, d], param %gain, %shift: [d], param %up: [e@tp, d], param %down: [d, e@tp], param %bias: [d]) -> [b, s@tp, d] {
  %n = layer_norm %x, %gain, %shift
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = silu %u
  %y = einsum %down, %a -> [b, s@tp, d]
  %w = add %y, %bias
  %z = add %x, %w
  return %z
}
}
""")
def layer_norm_sp(r, mistake):
    x, d = r["x"], r["x"].shape[-1]
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    if mistake == "lanes":  # A block of 8 for rows of 6: two lanes hold minus the mean.
        variance = variance + (8 - d) / d * x.mean(-1, keepdim=True).square()
    n = centred * torch.rsqrt(variance + 1e-5) * r["gain"] + r["shift"]
    r.note("n", n, r.placements["x"])
    if mistake == "kernel_outside_autograd":
        n = n.detach()
    a = silu(r.gather(n, "tp", 1) @ r["up"].T) if n.requires_grad else silu(r.gathered(n, "tp", 1) @ r["up"].T)
    r.backward(z=x + (r.scatter(a @ r["down"].T, "tp", 1) + r["bias"]))
    if mistake not in ("no_norm_sum", "kernel_outside_autograd"):
        r.reduce("gain shift", "tp")
    if mistake != "no_bias_sum":
        r.reduce("bias", "tp")


@program("""
tpsp.program <s = 4, d = 5, e = 6> {
mesh @mesh <tp = 3 : model>
func @row(%v: [s, e@tp], param %w: [d, e@tp], param %b: [d]) -> [s, d] {
  %y = einsum %w, %v -> [s, d]
  %z = add %y, %b
  return %z
}
}
""")
def bias_row(r, mistake):
    partial = r["v"] @ r["w"].T
    if mistake == "bias_everywhere":
        z = r.sum(partial + r["b"], "tp")
    elif mistake == "bias_divided":
        z = r.sum(partial + r["b"] / r.size("tp"), "tp")
    elif mistake == "summands_lost":  # Zeros the sum elsewhere, in place of the bias.
        z = r.sum((partial if r.at("tp") == 0 else 0 * partial) + r["b"], "tp")
    else:
        z = r.sum(partial, "tp") + r["b"]
    r.backward(z=z)
    if mistake == "bias_summed":
        r.reduce("b", "tp")


@program("""
tpsp.program <b = 2, s = 4, d = 8, e = 6> {
mesh @mesh <tp = 4 : model>
func @row(%x: [b, s, d@tp], param %gain: [d@tp], param %w: [e, d@tp]) -> [b, s, e] {
  %n = mul %x, %gain
  %z = einsum %w, %n -> [b, s, e]
  return %z
}
}
""")
def row_linear(r, mistake):
    x = r["x"]
    if mistake == "gradient_of_rank_0":
        x = _Map.apply(x, torch.clone, lambda g: r.gathered(g, "tp", 2).chunk(r.size("tp"), 2)[0].clone())
    if mistake == "gradient_of_next":
        x = _Map.apply(x, torch.clone, lambda g: r.turned(g, "tp"))
    r.backward(z=r.sum((x * r["gain"]) @ r["w"].T, "tp"))


def _looked_up(r, table, ids, axes, masked=True):
    """Rows of a table whose vocabulary is divided: this rank's summand."""
    own = table.shape[0]
    local = ids.long() - r.at(axes) * own
    inside = (local >= 0) & (local < own)
    rows = table[local.clamp(0, own - 1)]
    return rows * inside[..., None] if masked else rows


@program("""
tpsp.program <b = 2, s = 6, v = 12, d = 4> {
mesh @mesh <tp = 3 : model>
func @embed(%ids: i32[b, s] {tpsp.below = 12}, param %table: [v@tp, d]) -> [b, s, d] {
  %z = embedding %ids, %table {vocabulary = "v"}
  return %z
}
}
""")
def vocab_embedding(r, mistake):
    ids = r["ids"]
    if mistake == "own_ids":  # No seed: every rank draws its own tokens.
        ids = ids.roll(r.at("tp"), 1)
    z = _looked_up(r, r["table"], ids, "tp", mistake != "not_masked")
    r.backward(z=z if mistake == "no_sum" else r.sum(z, "tp"))


@program("""
tpsp.program <b = 2, s = 6, v = 12, d = 4> {
mesh @mesh <tp = 3 : model>
func @embed(%ids: i32[b, s] {tpsp.below = 12}, param %table: [v@tp, d], param %positions: [s@tp, d]) -> [b, s@tp, d] {
  %x = embedding %ids, %table {vocabulary = "v"} -> [b, s@tp, d]
  %z = add %x, %positions
  return %z
}
}
""")
def vocab_embedding_sp(r, mistake):
    summand = _looked_up(r, r["table"], r["ids"], "tp")
    n = r.size("tp")
    if mistake == "sliced_gradient":  # The gradient is cut before it is gathered.
        x = _Map.apply(summand, lambda t: r.scattered(t, "tp", 1), lambda g: torch.cat([g if i == r.at("tp") else 0 * g for i in range(n)], 1))
    else:
        x = r.scatter(summand, "tp", 1)
    positions = r["positions"]
    if mistake == "positions_of_rank_0":
        positions = positions + (r.gathered(positions, "tp", 0).chunk(n)[0] - positions).detach()
    r.backward(z=x + positions)


@program("""
tpsp.program <b = 2, s = 4, d = 4, v = 12> {
mesh @mesh <tp = 3 : model>
func @loss(%x: [b, s, d], %labels: i32[b, s] {tpsp.below = 12}, param %gain: [d], param %head: [v@tp, d]) -> [] {
  %n = mul %x, %gain
  %logits = einsum %head, %n -> [b, s, v, ?]
  %token = cross_entropy %logits, %labels {over = "v"}
  %loss = mean %token -> []
  return %loss
}
}
""")
def vocab_loss(r, mistake):
    n = r["x"] * r["gain"]
    logits = (n if mistake == "no_backward_sum" else r.copy(n, "tp")) @ r["head"].T
    highest = r.total(logits.amax(-1), "tp", "max")
    exponentials = (logits - highest[..., None]).exp().sum(-1)
    if mistake != "local_denominator":
        exponentials = r.sum(exponentials, "tp")
    own = r["head"].shape[0]
    local = r["labels"].long() - r.at("tp") * own
    inside = (local >= 0) & (local < own)
    target = logits.gather(-1, local.clamp(0, own - 1)[..., None])[..., 0]
    target = r.sum(target if mistake == "target_not_masked" else target * inside, "tp")
    loss = (exponentials.log() + highest - target).mean()
    r.loss(loss)
    loss.backward()


@program("""
tpsp.program <s = 4, d = 4, e = 8> {
mesh @mesh <tp = 2 : model>
func @mlp(%x: [s, d], param %gate, %up: [e@tp, d], param %down: [d, e@tp]) -> [s, d] {
  %g = einsum %gate, %x -> [s, e, ?]
  %a = silu %g
  %u = einsum %up, %x -> [s, e, ?]
  %m = mul %a, %u
  %z = einsum %down, %m -> [s, d]
  return %z
}
}
""")
def fused_gate(r, mistake):
    if mistake == "cut_whole":  # One fused matrix [gate; up], cut in two: rank 0 has the gate, rank 1 the other.
        fused = torch.cat([r.whole["gate"], r.whole["up"]]).chunk(r.size("tp"))[r.at("tp")]
        r["gate"].data, r["up"].data = (part.clone() for part in fused.chunk(2))
    x = r.copy(r["x"], "tp")
    gate, up = x @ r["gate"].T, x @ r["up"].T
    if mistake == "swapped":
        gate, up = up, gate
    r.backward(z=r.sum((silu(gate) * up) @ r["down"].T, "tp"))


@program("""
tpsp.program <s = 4, d = 5, e = 12> {
mesh @mesh <a = 2 : model, b = 3 : model>
func @row(%v: [s, e@a@b], param %w: [d, e@a@b]) -> [s, d] {
  %z = einsum %w, %v -> [s, d]
  return %z
}
}
""")
def two_axes(r, mistake):
    if mistake == "other_order":  # The matrix is divided b first, the activation a first.
        r["w"].data = r.whole["w"].chunk(r.size("b a"), 1)[r.at("b a")].clone()
    r.backward(z=r.sum(r["v"] @ r["w"].T, "a" if mistake == "sum_over_a" else "b" if mistake == "sum_over_b" else "a b"))


@program("""
tpsp.program <s = 3, d = 4, e = 4, f = 6> {
mesh @mesh <a = 2 : model, b = 3 : model>
func @grid(%x: [s, e], param %w0: [f@b, e@a], param %w1: [d, f@b]) -> [s, d] {
  %u = einsum %w0, %x -> [s, f@b]
  %h = tanh %u
  %z = einsum %w1, %h -> [s, d]
  return %z
}
}
""")
def grid(r, mistake):
    x = r.cut(r["x"], "a", 1)
    if mistake != "no_backward_sum":
        x = r.copy(x, "b")
    u = x @ r["w0"].T
    if mistake == "sum_over_b":
        u = r.sum(u, "b")
    elif mistake == "sum_twice":
        u = r.sum_twice(u, "a")
    elif mistake != "no_sum_over_a":
        u = r.sum(u, "a")
    r.note("u", u, "b=Shard(1)")
    h = torch.tanh(u)
    r.backward(z=r.sum(h @ r["w1"].T, "b"))


@program("""
tpsp.program <s = 4, d = 4, e = 6> {
mesh @mesh <tp = 3 : model>
func @norm(%x: [s, d], param %w: [e@tp, d], param %gain: [e@tp], param %out: [d, e@tp]) -> [s, d] {
  %q = einsum %w, %x -> [s, e@tp]
  %n = rms_norm %q, %gain
  %z = einsum %out, %n -> [s, d]
  return %z
}
}
""")
def qk_norm(r, mistake):
    """A norm over all heads' features, which are divided."""
    q = r.copy(r["x"], "tp") @ r["w"].T
    squares, extent = q.square().sum(-1, keepdim=True), q.shape[-1] * r.size("tp")
    if mistake == "local_statistics":
        extent = q.shape[-1]
    elif mistake == "no_backward_sum":
        squares = r.sum(squares, "tp")
    else:
        squares = r.sum_twice(squares, "tp")
    n = q * torch.rsqrt(squares / extent + 1e-5) * r["gain"]
    r.note("n", n, "tp=Shard(1)")
    r.backward(z=r.sum(n @ r["out"].T, "tp"))


@program("""
tpsp.program <s = 4, t = s, d = 6, g = 2, r = 3, k = 2> {
mesh @mesh <kv = 2 : model, rep = 3 : model>
func @gqa(%x: [s, d], param %wq: [g@kv, r@rep, k, d], param %wk, %wv: [g@kv, k, d], param %wo: [d, g@kv, r@rep, k]) -> [s, d] {
  %q = einsum %wq, %x -> [s, g, r, k, ?]
  %k0 = einsum %wk, %x -> [s, g, k, ?]
  %v0 = einsum %wv, %x -> [s, g, k, ?]
  %k = rename %k0 -> [t, g, k, ?]
  %v = rename %v0 -> [t, g, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  %z = einsum %wo, %o -> [s, d]
  return %z
}
}
""")
def gqa(r, mistake):
    if mistake == "rank_modulo_heads":
        rank = r.at("kv rep")
        for name in ("wk", "wv"):
            r[name].data = r.whole[name].chunk(r.size("kv"))[rank % r.size("kv")].clone()
    x = r.copy(r["x"], "kv rep")
    q = torch.einsum("grkd,sd->grsk", r["wq"], x)
    k, v = (torch.einsum("gkd,td->gtk", r[name], x) for name in ("wk", "wv"))
    scores = torch.einsum("grsk,gtk->grst", q, k) * 0.5
    scores = scores.masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    o = torch.einsum("grst,gtk->sgrk", scores.softmax(-1), v)
    r.backward(z=r.sum(torch.einsum("dgrk,sgrk->sd", r["wo"], o), "kv rep"))
    if mistake not in ("no_copies_sum", "rank_modulo_heads", "sum_over_kv"):
        r.reduce("wk wv", "rep")
    if mistake == "sum_over_kv":
        r.reduce("wk wv", "kv")


@program("""
tpsp.program <s = 4, t = s, d = 4, h = 3, k = 2> {
mesh @mesh <tp = 3 : model>
func @alibi(%q: [s, h@tp, k], %k, %v: [t, h@tp, k], %bias: [h@tp, s, t] {tpsp.frozen}, param %wo: [d, h@tp, k]) -> [s, d] {
  %o = attention %q, %k, %v, %bias {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  %z = einsum %wo, %o -> [s, d]
  return %z
}
}
""")
def alibi(r, mistake):
    bias = r["bias"]
    if mistake == "local_heads":  # Every rank counts its heads from 0.
        bias = r.whole["bias"].chunk(r.size("tp"))[0]
    scores = torch.einsum("shk,thk->hst", r["q"], r["k"]) * 0.5 + bias
    scores = scores.masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    o = torch.einsum("hst,thk->shk", scores.softmax(-1), r["v"])
    r.note("o", o, "tp=Shard(1)")
    r.backward(z=r.sum(torch.einsum("dhk,shk->sd", r["wo"], o), "tp"))


@program("""
tpsp.program <b = 4, s = 6, d = 4, e = 5> {
mesh @mesh <dp = 2 : data, tp = 3 : model>
func @drop(%x: [b@dp, s@tp, d], %mask: [b@dp, s@tp, d] {tpsp.frozen}, param %w: [e, d], param %gain: [d]) -> [b@dp, s@tp, e] {
  %n = mul %x, %gain
  %m = mul %n, %mask
  %z = einsum %w, %m -> [b@dp, s@tp, e]
  return %z
}
}
""")
def mask(r, mistake):
    """A dropout whose random numbers differ along both axes."""
    mask = r["mask"]
    if mistake == "same_over_tp":
        mask = r.whole["mask"].chunk(r.size("dp"))[r.at("dp")].chunk(r.size("tp"), 1)[0]
    if mistake == "same_over_dp":
        mask = r.whole["mask"].chunk(r.size("dp"))[0].chunk(r.size("tp"), 1)[r.at("tp")]
    m = r["x"] * r["gain"] * mask
    r.backward(z=m @ r["w"].T)
    r.reduce("w gain", "dp tp")


@program("""
tpsp.program <s = 6, e = 6, d = 4, r = 2> {
mesh @mesh <tp = 3 : model>
func @lora(%v: [s, e@tp], param %w: [d, e@tp] {tpsp.frozen}, param %la: [r, e@tp], param %lb: [d, r]) -> [s@tp, d] {
  %y = einsum %w, %v -> [s@tp, d]
  %t = einsum %la, %v -> [s@tp, r]
  %u = einsum %lb, %t -> [s@tp, d]
  %z = add %y, %u
  return %z
}
}
""")
def lora_row(r, mistake):
    base = r["v"] @ r["w"].T
    inner = r["v"] @ r["la"].T
    if mistake == "adapter_counted_often":  # The adapter is complete, the base still a summand.
        whole = r.copy(r.sum(inner, "tp"), "tp")
        r.backward(z=r.scatter(base + whole @ r["lb"].T, "tp", 0))
        r.reduce("lb", "tp", 1 / r.size("tp"))
        return
    r.backward(z=r.scatter(base, "tp", 0) + r.scatter(inner, "tp", 0) @ r["lb"].T)
    if mistake != "no_b_sum":
        r.reduce("lb", "tp")


@program("""
tpsp.program <s = 6, d = 5, c = 3, e = 6> {
mesh @mesh <tp = 3 : model>
func @latent(%x: [s@tp, d], param %down: [c, d], param %gain: [c], param %up: [e@tp, c], param %out: [d, e@tp]) -> [s@tp, d] {
  %c0 = einsum %down, %x -> [s@tp, c]
  %c1 = rms_norm %c0, %gain
  %u = einsum %up, %c1 -> [s, e, ?]
  %h = tanh %u
  %z = einsum %out, %h -> [s@tp, d]
  return %z
}
}
""")
def latent(r, mistake):
    """A down-projection that every rank has whole, before the sequence is gathered."""
    c = r["x"] @ r["down"].T
    c = c * torch.rsqrt(c.square().mean(-1, keepdim=True) + 1e-5) * r["gain"]
    h = torch.tanh(r.gather(c, "tp", 0) @ r["up"].T)
    r.backward(z=r.scatter(h @ r["out"].T, "tp", 0))
    r.reduce("gain" if mistake == "no_down_sum" else "down" if mistake == "no_gain_sum" else "down gain", "tp")


@program("""
tpsp.program <s = 4, d = 6> {
mesh @mesh <tp = 2 : model>
func @small(%x: [s@tp, d], param %gain: [d]) -> [s@tp, d] {
  %n = mul %x, %gain
  %h = tanh %n
  %z = scale %h {factor = 1e-9}
  return %z
}
}
""")
def small(r, mistake):
    n = r["x"] * r["gain"]
    if mistake == "stored_in_f16":
        n = _Map.apply(n, torch.clone, lambda g: g.half().to(g.dtype))
    r.backward(z=torch.tanh(n) * 1e-9)
    r.reduce("gain", "tp")


@program("""
tpsp.program <s = 8, t = s, d = 4, h = 2, k = 4> {
mesh @mesh <tp = 2 : model>
func @attend(%x: [s@tp, d], param %gain: [d], param %wq, %wk, %wv: [h@tp, k, d], param %wo: [d, h@tp, k]) -> [s@tp, d] {
  %n = mul %x, %gain
  %q = einsum %wq, %n -> [s, h, k, ?]
  %k0 = einsum %wk, %n -> [s, h, k, ?]
  %v0 = einsum %wv, %n -> [s, h, k, ?]
  %k = rename %k0 -> [t, h, k, ?]
  %v = rename %v0 -> [t, h, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  %z = einsum %wo, %o -> [s@tp, d]
  return %z
}
}
""")
def attention_sp(r, mistake):
    n = r["x"] * r["gain"]
    if mistake == "three_gathers":
        wholes = [r.gather(n, "tp", 0) for _ in range(3)]
    elif mistake == "detached_gather":
        wholes = [r.gathered(n, "tp", 0)] * 3
    elif mistake == "gathered_by_chunks":  # Chunk 0 of all ranks, then chunk 1.
        wholes = [torch.cat([r.gather(chunk, "tp", 0) for chunk in n.chunk(2)])] * 3
    else:
        wholes = [r.gather(n, "tp", 0)] * 3
    q, k, v = (torch.einsum("hkd,sd->hsk", r[name], whole) for name, whole in zip(("wq", "wk", "wv"), wholes))
    scores = (q @ k.mT * 0.5).masked_fill(torch.ones(8, 8).triu(1).bool(), -torch.inf)
    partial = torch.einsum("dhk,hsk->sd", r["wo"], scores.softmax(-1) @ v)
    r.backward(z=r.scatter(partial, "tp", 0))
    if r["gain"].grad is not None:
        r.reduce("gain", "tp")


@program("""
tpsp.program <s = 4, d = 6, e = 8> {
mesh @mesh <tp = 2 : model>
func @mlp(%x: [s, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [s, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [s, e, ?]
  %a = silu %u
  %z = einsum %down, %a -> [s, d]
  return %z
}
}
""")
def dtensor_tp(r, mistake):
    """The same with DTensor, and a part that leaves it: to_local and from_local."""
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    if r.mesh is None:
        return mlp_tp(r, None)
    mesh = r.mesh["tp"]
    x, gain = (DTensor.from_local(r[name], mesh, [Replicate()]) for name in ("x", "gain"))
    up = DTensor.from_local(r["up"], mesh, [Shard(0)])
    down = DTensor.from_local(r["down"], mesh, [Shard(1)])
    a = silu((x * gain) @ up.T)
    # What the part computes on its own shard is a summand of z.
    summand = a.to_local() @ down.to_local().T
    if mistake == "summand_as_copy":
        z = DTensor.from_local(summand, mesh, [Replicate()])
    else:
        z = DTensor.from_local(summand, mesh, [Partial()]).redistribute(placements=[Replicate()])
    r.backward(z=z.to_local())
