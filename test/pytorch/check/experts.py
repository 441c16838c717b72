"""Experts on ranks of their own."""

import torch
from torch.nn.functional import one_hot, silu

from harness import program


@program("""
tpsp.program <s = 4, d = 4, e = 3, f = 5> {
mesh @mesh <ep = 3 : model>
func @soft(%x: [s, d], param %gate: [e, d], param %up: [e@ep, f, d], param %down: [e@ep, d, f]) -> [s, d] {
  %score = einsum %gate, %x -> [s, e, ?]
  %p = softmax %score {over = "e"}
  %u = einsum %up, %x -> [s, e, f, ?]
  %a = silu %u
  %y = einsum %down, %a -> [s, e, d, ?]
  %z = einsum %p, %y -> [s, d]
  return %z
}
}
""")
def soft_experts(r, mistake):
    """Every rank has all tokens and the router, and some experts."""
    x, own = r["x"], r["up"].shape[0]
    p = (x @ r["gate"].T).softmax(-1)
    part = p[:, r.at("ep") * own : (r.at("ep") + 1) * own] if mistake == "no_router_sum" else r.cut(p, "ep", 1)
    if mistake == "weights_of_other_experts":
        part = p[:, :own]
    inner = r.copy(x, "ep")
    y = torch.einsum("edf,sef->sed", r["down"], silu(torch.einsum("efd,sd->sef", r["up"], inner)))
    partial = torch.einsum("se,sed->sd", part, y)
    r.backward(z=partial if mistake == "no_combine" else r.sum(partial, "ep"))
    if mistake == "experts_averaged":
        r.scale("up down", 1 / r.size("ep"))
    if mistake == "experts_summed":  # As if every rank had the same experts.
        r.reduce("up down", "ep")


@program("""
tpsp.program <g = 3, s = 4, d = 4, e = 6, f = 5, k = 2, c = 8> {
mesh @mesh <ep = 3 : model>
func @moe(%x: [g@ep, s, d], param %gate: [e, d], param %up: [e@ep, f, d], param %down: [e@ep, d, f]) -> [g@ep, s, d] {
  %score = einsum %gate, %x -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  %y = dispatch %choice, %x {expert = "e", slot = "c", choice = "k"} -> [e@ep, g, c, d]
  %u = einsum %up, %y -> [e, g, c, f, ?]
  %a = silu %u
  %v = einsum %down, %a -> [e, g, c, d, ?]
  %m = combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} -> [g, s, d, ?]
  %z = add %x, %m
  return %z
}
}
""")
def moe(r, mistake):
    """Tokens are divided over the experts' axis, and go to them by an all-to-all."""
    x, e, c = r["x"], 6, 8
    best, choice = (x @ r["gate"].T).topk(2, -1)
    weight = best.softmax(-1)
    chosen = one_hot(choice, e).to(x.dtype)  # [g, s, k, e]
    slot = (chosen.flatten(1, 2).cumsum(1) - 1).reshape(chosen.shape)
    places = chosen[..., None] * one_hot(slot.clamp(min=0).long(), c).to(x.dtype)  # [g, s, k, e, c]
    y = torch.einsum("gskec,gsd->egcd", places, x)
    y = r.exchange(y, "ep", 0, 1)
    v = torch.einsum("edf,egcf->egcd", r["down"], silu(torch.einsum("efd,egcd->egcf", r["up"], y)))
    v = r.exchange(v, "ep", 1, 0)
    if mistake == "back_from_other_experts":
        v = v.roll(2, 0)
    if mistake == "combine_detached":
        v = v.detach() + 0 * v
    m = torch.einsum("gskec,gsk,egcd->gsd", places, weight.detach() if mistake == "weights_detached" else weight, v)
    r.backward(z=x + m)
    if mistake not in ("no_router_sum", "weights_detached"):
        r.reduce("gate", "ep", 1 / r.size("ep") if mistake == "router_averaged" else 1.0)
    if mistake == "experts_averaged":
        r.scale("up down", 1 / r.size("ep"))
    if mistake == "experts_doubled":
        r.scale("up down", 2.0)


@program("""
tpsp.program <s = 4, d = 4, e = 3, f = 6> {
mesh @mesh <ep = 3 : model>
func @shared(%x: [s, d], param %up: [e@ep, d], param %down: [d, e@ep], param %sup: [f, d], param %sdown: [d, f]) -> [s, d] {
  %u = einsum %up, %x -> [s, e, ?]
  %a = silu %u
  %y = einsum %down, %a -> [s, d]
  %su = einsum %sup, %x -> [s, f, ?]
  %sa = silu %su
  %sy = einsum %sdown, %sa -> [s, d]
  %z = add %y, %sy
  return %z
}
}
""")
def shared_expert(r, mistake):
    """A shared expert that every rank has whole, beside experts whose sum is pending."""
    routed = silu(r.copy(r["x"], "ep") @ r["up"].T) @ r["down"].T
    shared = silu(r["x"] @ r["sup"].T) @ r["sdown"].T
    z = r.sum(routed + shared, "ep") if mistake == "added_before_the_sum" else r.sum(routed, "ep") + shared
    r.backward(z=z)
    if mistake == "gradients_summed":
        r.reduce("sup sdown", "ep")
    if mistake == "gradients_divided":
        r.scale("sup sdown", 1 / r.size("ep"))


@program("""
tpsp.program <b = 10, d = 4, e = 3, f = 4> {
mesh @mesh <dp = 5 : data>
func @balanced(%x: [b@dp, d] {tpsp.frozen}, param %gate: [e, d], param %w: [f, e]) -> [] {
  %score = einsum %gate, %x -> [b, e, ?]
  %p = softmax %score {over = "e"}
  %y = einsum %w, %p -> [b, f, ?]
  %q = square %y
  %main = mean %q -> []
  %m = mean %p -> [e]
  %m2 = square %m
  %balance = reduce %m2 {kind = "sum"} -> []
  %aux = scale %balance {factor = 0.5}
  %loss = add %main, %aux
  return %loss
}
}
""")
def aux_loss(r, mistake):
    """A loss of the router's mean over the whole batch."""
    n = r.size("dp")
    p = (r["x"] @ r["gate"].T).softmax(-1)
    main = (p @ r["w"].T).square().mean()
    own = p.mean(0)
    mean = own if mistake == "own_batch" else r.sum(own, "dp") / n
    aux = mean.square().sum() * 0.5
    r.loss(r.total(main, "dp") / n + aux)
    # Every rank has aux whole, and the gradient of its own part of the mean.
    weight = {"own_batch": 1 / n, "averaged": 1 / n, "not_attached": 0.0, "doubled": 2.0}.get(mistake, 1.0)
    (main / n + weight * aux).backward()
    r.reduce("gate w", "dp")


@program("""
tpsp.program <b = 4, d = 4, e = 4, f = 6> {
mesh @mesh <dp = 2 : data, ep = 2 : model>
func @experts(%x: [b@dp, d], param %up: [e@ep, f, d], param %down: [e@ep, d, f]) -> [b@dp, d] {
  %u = einsum %up, %x -> [b, e, f, ?]
  %a = silu %u
  %z = einsum %down, %a -> [b@dp, d]
  return %z
}
}
""")
def experts_dp(r, mistake):
    """Experts' gradients are summed over the ranks that have the same experts: dp, not all."""
    x = r.copy(r["x"], "ep")
    a = silu(torch.einsum("efd,bd->bef", r["up"], x))
    r.backward(z=r.sum(torch.einsum("edf,bef->bd", r["down"], a), "ep"))
    axes = {"summed_over_all": "dp ep", "summed_over_ep": "ep"}.get(mistake, "dp")
    if mistake != "not_summed":
        r.reduce("up down", axes, 1 / 2 if mistake == "averaged_over_ep" else 1.0)
