"""Pipelines by hand: stages send activations, and get their gradients."""

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from harness import program

PARTS = 5


def _sent(r, tensors):
    """Sends tensors to the next stage."""
    for tensor in tensors:
        dist.send(tensor.detach().contiguous(), *_peer(r, 1))


def _received(r, like, by):
    """Receives as many tensors as `like`, from the stage that is `by` away."""
    found = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in like]
    for tensor in found:
        dist.recv(tensor, *_peer(r, by))
    return found


def _peer(r, by):
    group = r.groups[("pp",)]
    return dist.get_process_group_ranks(group)[r.at("pp") + by], group


def _pipelined(r, first, last, inputs, order=None):
    """Runs `first` on stage 0 and `last`, a loss of part i, on the last one. Returns the losses on the last."""
    if r.size("pp") == 1:
        losses = [last(first(x), i) for i, x in enumerate(inputs)]
        sum(losses).backward()
        return [loss.detach() for loss in losses]
    if r.at("pp") == 0:
        made = [first(x) for x in inputs]
        _sent(r, made)
        got = _received(r, made, 1)
        for tensor, gradient in zip(made, got if order is None else [got[i] for i in order]):
            tensor.backward(gradient)
        return None
    shape = first(inputs[0]).detach()
    received = [tensor.requires_grad_() for tensor in _received(r, [shape] * len(inputs), -1)]
    losses = [last(tensor, i) for i, tensor in enumerate(received)]
    sum(losses).backward()
    for tensor in received:
        dist.send(tensor.grad.contiguous(), *_peer(r, -1))
    return [loss.detach() for loss in losses]


LAYERS = """
tpsp.program <b = {b}, d = 4> {{
mesh @mesh <{mesh}>
func private @layer(%x: [{x}, d], param %w "w": [d, d2], param %bias "bias": [d]) -> [{x}, d] {{
  %u = einsum %w, %x -> [b, d2, ?]
  %n = rename %u -> [b, d, ?]
  %v = add %n, %bias
  %y = tanh %v
  return %y
}}
func @model(%x: [{x}, d] {{tpsp.frozen}}, %y: [{x}, d] {{tpsp.frozen}}) -> [] {{
  %h = repeat 2 @layer(%x) as "layers.#.*"
  %r = sub %h, %y
  %q = square %r
  %loss = mean %q -> []
  return %loss
}}
}}
"""


def _layers(b, mesh, x):
    return LAYERS.format(b=b, mesh=mesh, x=x).replace("d = 4>", "d = 4, d2 = 4>").replace('"w": [d, d2]', '"w": [d2, d]')


def _layer(r, number, x):
    return torch.tanh(x @ r[f"layers.{number}.w"].T + r[f"layers.{number}.bias"])


def _held(place):
    return [f"layers.{place['pp']}.w", f"layers.{place['pp']}.bias"]


def _pipeline(r, mistake, divisor):
    inputs, wanted = r["x"].chunk(PARTS), r["y"].chunk(PARTS)
    order = {"gradients_reversed": range(PARTS)[::-1], "gradients_turned": [*range(1, PARTS), 0]}.get(mistake)
    return _pipelined(r, lambda x: _layer(r, 0, x), lambda x, i: (_layer(r, 1, x) - wanted[i]).square().mean() / divisor, inputs, order)


@program(_layers(10, "pp = 2 : stage", "b"), holds=_held, micro_batches=5)
def pp(r, mistake):
    losses = _pipeline(r, mistake, 1 if mistake == "not_divided" else PARTS)
    if losses is not None:
        r.loss(sum(losses) / (PARTS if mistake == "not_divided" else 1))
    if mistake == "last_stage_divided_twice" and r.at("pp") == 1:
        r.scale("layers.1.w layers.1.bias", 1 / PARTS)


@program(_layers(30, "pp = 2 : stage, dp = 3 : data", "b@dp"), holds=_held, micro_batches=5)
def pp_dp(r, mistake):
    losses = _pipeline(r, mistake, PARTS)
    if losses is not None:
        r.loss(r.total(sum(losses), "dp") / r.size("dp"))
    stages = range(2) if r.size("pp") == 1 else [r.at("pp")]
    for stage in stages:
        if not (mistake == "last_stage_not_summed" and stage == 1):
            r.reduce(f"layers.{stage}.w layers.{stage}.bias", "dp", 1.0 if mistake == "first_stage_not_averaged" and stage == 0 else 1 / r.size("dp"))


TIED = """
tpsp.program <b = 10, s = 3, d = 4, v = 6> {
mesh @mesh <pp = 2 : stage>
func private @layer(%x: [b, s, d], param %gain "gain": [d]) -> [b, s, d] {
  %n = mul %x, %gain
  %y = tanh %n
  return %y
}
func @model(%ids: i32[b, s] {tpsp.below = 6}, %targets: i32[b, s] {tpsp.below = 6}, param %table: [v, d]) -> [] {
  %x = embedding %ids, %table {vocabulary = "v"}
  %h = repeat 2 @layer(%x) as "layers.#.*"
  %logits = einsum %table, %h -> [b, s, v, ?]
  %token = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %token -> []
  return %loss
}
}
"""


@program(TIED, holds=lambda place: ["table", f"layers.{place['pp']}.gain"], micro_batches=5)
def pp_tied(r, mistake):
    """The first stage looks rows up in the table that is the last stage's head."""
    ids, targets = r["ids"].long().chunk(PARTS), r["targets"].long().chunk(PARTS)
    table = r["table"]

    def first(ids):
        return torch.tanh(table[ids] * r["layers.0.gain"])

    def last(x, i):
        h = torch.tanh(x * r["layers.1.gain"])
        head = table.detach() if mistake == "head_untied" else table
        return cross_entropy((h @ head.T).flatten(0, 1), targets[i].flatten()) / PARTS

    losses = _pipelined(r, first, last, ids)
    if losses is not None:
        r.loss(sum(losses))
    if table.grad is None:
        table.grad = torch.zeros_like(table)
    if mistake != "table_not_summed":
        r.reduce("table", "pp", 0.5 if mistake == "table_averaged" else 1.0)
