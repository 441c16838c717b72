"""Data parallelism, FSDP, ZeRO, accumulation and losses by hand."""

import torch
from torch.nn.functional import cross_entropy, silu

from harness import program

REGRESSION = """
tpsp.program <b = 30, d = 4, e = 6> {{
mesh @mesh <{mesh}>
func @regress(%x: [{b}, d] {{tpsp.frozen}}, %y: [{b}, e] {{tpsp.frozen}}, param %w: [e, d], param %bias: [e]) -> [] {{
  %u = einsum %w, %x -> [b, e, ?]
  %v = add %u, %bias
  %h = tanh %v
  %r = sub %h, %y
  %q = square %r
  %loss = mean %q -> []
  return %loss
}}
}}
"""


def _regression(r, x, y):
    return (torch.tanh(x @ r["w"].T + r["bias"]) - y).square().mean()


@program(REGRESSION.format(mesh="dp = 5 : data", b="b@dp"))
def ddp(r, mistake):
    loss = _regression(r, r["x"], r["y"])
    n = r.size("dp")
    r.loss(loss if mistake == "own_loss" else r.total(loss, "dp") / n)
    loss.backward()
    if mistake == "no_mean":
        return
    r.reduce("w" if mistake == "bias_forgotten" else "w bias", "dp", {"sum_for_mean": 1, "divided_twice": 1 / n**2}.get(mistake, 1 / n))
    if mistake == "first_rank_only" and r.at("dp") > 0:
        r.scale("bias", 0.5)


@program(REGRESSION.format(mesh="dp = 2 : data", b="b@dp"), micro_batches=5)
def ddp_micro(r, mistake):
    parts, losses = 5, []
    for x, y in zip(r["x"].chunk(parts), r["y"].chunk(parts)):
        if mistake == "last_part_only":
            r["w"].grad = r["bias"].grad = None
        loss = _regression(r, x, y) / (1 if mistake == "not_divided" else parts)
        loss.backward()
        losses.append(loss.detach())
        if mistake == "reduced_each_part":  # What is summed already is summed again.
            r.reduce("w bias", "dp", 1 / r.size("dp"))
            r.scale("w bias", r.size("dp"))
    r.loss(r.total(sum(losses), "dp") / r.size("dp"))
    factor = {"divided_by_parts_twice": 1 / parts}.get(mistake, 1.0)
    if mistake == "reduced_each_part":
        return
    r.reduce("w bias", "dp", factor / r.size("dp"))


@program(REGRESSION.format(mesh="dp = 2 : data", b="b@dp"))
def ddp_torch(r, mistake):
    """The same with torch's DistributedDataParallel."""
    from torch.nn.parallel import DistributedDataParallel
    module = torch.nn.Linear(4, 6)
    module.weight.data, module.bias.data = r["w"].data, r["bias"].data
    wrapped = DistributedDataParallel(module, process_group=r.groups[("dp",)]) if r.mesh else module
    context = wrapped.no_sync() if mistake == "no_sync" else torch.enable_grad()
    with context:
        loss = (torch.tanh(wrapped(r["x"])) - r["y"]).square().mean()
        loss.backward()
    r.loss(r.total(loss, "dp") / r.size("dp"))
    r["w"].grad, r["bias"].grad = module.weight.grad, module.bias.grad
    if mistake == "scaled_by_world":  # For a trainer that wants sums, with a loss that is a mean.
        r.scale("w bias", r.size("dp"))


@program(REGRESSION.format(mesh="dp = 3 : data", b="b@dp"))
def fsdp2(r, mistake):
    """The same with torch's fully_shard, whose shards are gathered for the dump."""
    from torch.distributed.fsdp import fully_shard
    module = torch.nn.Linear(4, 6)
    module.weight.data, module.bias.data = r["w"].data.clone(), r["bias"].data.clone()
    if r.mesh:
        fully_shard(module, mesh=r.mesh["dp"])
    loss = (torch.tanh(module(r["x"])) - r["y"]).square().mean()
    r.loss(r.total(loss, "dp") / r.size("dp"))
    if mistake == "scaled_loss":  # For a trainer that divides by the number of ranks, too.
        loss = loss * r.size("dp")
    loss.backward()
    for name, parameter in (("w", module.weight), ("bias", module.bias)):
        r[name].grad = parameter.grad.full_tensor() if r.mesh else parameter.grad


TOKENS = """
tpsp.program <b = {b}, s = 6, d = 4, v = 7> {{
mesh @mesh <{mesh}>
func @tokens(%x: [{x}, d] {{tpsp.frozen}}, %labels: i32[{x}] {{tpsp.below = 7, tpsp.data = "labels"}}, param %head: [v, d]) -> [] {{
  %logits = einsum %head, %x -> [b, s, v, ?]
  %token = cross_entropy %logits, %labels {{over = "v"}}
  %loss = mean %token, %labels -> []
  return %loss
}}
}}
"""


def _tokens(r, x, labels):
    """The sum of the losses of the tokens that count, and their number."""
    each = cross_entropy((x @ r["head"].T).flatten(0, 1), labels.flatten().long(), reduction="none", ignore_index=-100)
    return each.sum(), (labels >= 0).sum()


def _masked(r, mistake, axis):
    total, count = _tokens(r, r["x"], r["labels"])
    n = r.size(axis)
    if mistake == "local_counts":  # The mean of means.
        loss = total / count / n
    elif mistake == "local_counts_not_averaged":
        loss = total / count
    elif mistake == "all_positions":
        loss = total / (r["labels"].numel() * n)
    else:
        loss = total / r.total(count, axis)
    r.loss(r.total(loss, axis))
    loss.backward()
    r.reduce("head", axis)


@program(TOKENS.format(b=4, mesh="dp = 2 : data", x="b@dp, s"))
def labels_dp(r, mistake):
    _masked(r, mistake, "dp")


@program(TOKENS.format(b=2, mesh="cp = 3 : data", x="b, s@cp"))
def labels_cp(r, mistake):
    _masked(r, mistake, "cp")


def _no_labels_in_last(values):
    values["labels"][4:] = -100
    return values


@program(TOKENS.format(b=6, mesh="dp = 3 : data", x="b@dp, s"), adjust=_no_labels_in_last)
def labels_empty(r, mistake):
    """The last rank has no label that counts."""
    _masked(r, mistake, "dp")


@program(TOKENS.format(b=10, mesh="dp = 2 : data", x="b@dp, s"), micro_batches=5)
def labels_micro(r, mistake):
    parts, losses = 5, []
    count = r.total((r["labels"] >= 0).sum(), "dp")
    for x, labels in zip(r["x"].chunk(parts), r["labels"].chunk(parts)):
        total, own = _tokens(r, x, labels)
        if mistake == "mean_of_means":
            loss = total / r.total(own, "dp") / parts
        elif mistake == "own_count":
            loss = total / own.clamp(min=1) / parts / r.size("dp")
        else:
            loss = total / count
        loss.backward()
        losses.append(loss.detach())
    r.loss(r.total(sum(losses), "dp"))
    r.reduce("head", "dp")


@program("""
tpsp.program <b = 4, s = 6, d = 4, e = 5> {
mesh @mesh <dp = 2 : data, cp = 3 : data>
func @mlp(%x: [b@dp, s@cp, d], param %up: [e, d], param %down: [d, e], param %gain: [d]) -> [b@dp, s@cp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b@dp, s@cp, e]
  %a = silu %u
  %z = einsum %down, %a -> [b@dp, s@cp, d]
  return %z
}
}
""")
def ddp_cp(r, mistake):
    r.backward(z=silu((r["x"] * r["gain"]) @ r["up"].T) @ r["down"].T)
    if mistake == "dp_only":  # The data group has the ranks of dp, though cp divides the sequence.
        r.reduce("up down gain", "dp")
    elif mistake == "cp_only":
        r.reduce("up down gain", "cp")
    else:
        r.reduce("up down gain", "dp cp", {"cp_averaged": 1 / 3, "dp_averaged": 1 / 2}.get(mistake, 1.0))


@program("""
tpsp.program <b = 12, d = 4, e = 6> {
mesh @mesh <rep = 2 : data, fsdp = 3 : data>
func @hsdp(%x: [b@rep@fsdp, d], param %up: [e@fsdp, d], param %down: [d, e@fsdp], param %bias: [d]) -> [b@rep@fsdp, d] {
  %u = einsum %up, %x -> [b@rep@fsdp, e]
  %a = silu %u
  %y = einsum %down, %a -> [b@rep@fsdp, d]
  %z = add %y, %bias
  return %z
}
}
""")
def hsdp(r, mistake):
    gather = r.gather_copies if mistake == "own_part" else r.gather
    a = silu(r["x"] @ gather(r["up"], "fsdp", 0).T)
    r.backward(z=a @ gather(r["down"], "fsdp", 1).T + r["bias"])
    if mistake != "no_sum_over_rep":
        r.reduce("up down", "rep", 1 / 2 if mistake == "mean_over_rep" else 1.0)
    r.reduce("bias", "fsdp" if mistake == "bias_over_fsdp" else "rep fsdp")


@program("""
tpsp.program <b = 6, d = 4, e = 6> {
mesh @mesh <dp = 3 : data>
func @fsdp(%x: [b@dp, d], param %up: [e@dp, d], param %down: [d, e@dp], param %gain: [d]) -> [b@dp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b@dp, e]
  %a = silu %u
  %z = einsum %down, %a -> [b@dp, d]
  return %z
}
}
""")
def fsdp(r, mistake):
    up, down = r.gather(r["up"], "dp", 0), r.gather(r["down"], "dp", 1)
    if mistake == "stale_weights":  # The second product uses what was gathered for another layer.
        down = down.roll(2, 1)
    r.backward(z=silu((r["x"] * r["gain"]) @ up.T) @ down.T)
    if mistake != "gain_forgotten":
        r.reduce("gain", "dp")
    if mistake == "mean":
        r.scale("up down", 1 / r.size("dp"))
    if mistake == "shards_turned":
        r["up"].grad = r.turned(r["up"].grad, "dp")


@program("""
tpsp.program <b = 6, d = 4, e = 6> {
mesh @mesh <dp = 3 : data>
func @zero2(%x: [b@dp, d], param %up_s "up": [e@dp, d], param %down: [d, e]) -> [b@dp, d] {
  %up = reshard %up_s -> [e, d]
  %u = einsum %up, %x -> [b@dp, e]
  %a = silu %u
  %z = einsum %down, %a -> [b@dp, d]
  return %z
}
}
""")
def zero2(r, mistake):
    up = r.gathered(r["up"], "dp", 0).requires_grad_()
    r.backward(z=silu(r["x"] @ up.T) @ r["down"].T)
    if mistake == "all_reduce_and_wrong_part":
        r["up"].grad = r.total(up.grad, "dp").chunk(r.size("dp"))[0].clone()
    elif mistake == "own_part":
        r["up"].grad = r.own(up.grad, "dp", 0)
    else:
        r["up"].grad = r.scattered(up.grad, "dp", 0)
    r.reduce("down", "dp", 1 / 3 if mistake == "mean_of_one" else 1.0)


RATE = 0.1
STEP = """
tpsp.program <b = 6, d = 4, e = 6> {{
mesh @mesh <{mesh}>
func @step(%x: [{b}, d] {{tpsp.frozen}}, %y: [{b}, e] {{tpsp.frozen}}, param %w: [e, d]) -> [] {{
  %u = einsum %w, %x -> [b, e, ?]
  %r = sub %u, %y
  %q = square %r
  %loss = mean %q -> []
  return %loss
}}
}}
"""


def _step_gradient(r, axis):
    loss = (r["x"] @ r["w"].T - r["y"]).square().mean()
    r.loss(r.total(loss, axis) / r.size(axis))
    loss.backward()


@program(STEP.format(mesh="dp = 3 : data", b="b@dp"), update="--optimizer sgd --optimizer-settings momentum=0 --optimizer-axes dp")
def zero1(r, mistake):
    _step_gradient(r, "dp")
    if mistake != "no_mean":
        r.reduce("w", "dp", 1 / r.size("dp"))
    r.dump.gradients()
    n, w = r.size("dp"), r["w"]
    own = w.detach().chunk(n)[r.at("dp")] - RATE * w.grad.chunk(n)[r.at("dp")]
    if mistake == "last_rank_waits" and r.at("dp") == n - 1:
        own = w.detach().chunk(n)[n - 1]
    new = r.gathered(own, "dp", 0)
    if mistake == "gathered_in_other_order":
        new = torch.cat(new.chunk(n)[::-1])
    if mistake == "not_gathered":
        new = torch.cat([own if i == r.at("dp") else w.detach().chunk(n)[i] for i in range(n)])
    w.data = new


@program(STEP.format(mesh="dp = 2 : data", b="b@dp"), update="--optimizer sgd --optimizer-settings momentum=0")
def overflow(r, mistake):
    """A step that is skipped where gradients are not finite: all ranks have to agree."""
    _step_gradient(r, "dp")
    r.reduce("w", "dp", 1 / r.size("dp"))
    r.dump.gradients()
    skips = mistake == "skipped_on_one_rank" and r.at("dp") == 1
    rate = 0.0 if skips else RATE
    if mistake == "rate_times_ranks":
        rate = RATE * r.size("dp")
    r["w"].data = r["w"].detach() - rate * r["w"].grad


@program("""
tpsp.program <b = 4, d = 4, e = 6> {
mesh @mesh <dp = 2 : data, tp = 3 : model>
func @norm(%x: [b@dp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b@dp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, e, ?]
  %a = silu %u
  %z = einsum %down, %a -> [b@dp, d]
  return %z
}
}
""")
def clip(r, mistake):
    """The norm of all gradients: shards are summed over tp, copies are not."""
    n = r.copy(r["x"] * r["gain"], "tp")
    r.backward(z=r.sum(silu(n @ r["up"].T) @ r["down"].T, "tp"))
    r.reduce("gain up down", "dp")
    divided = sum(r[name].grad.square().sum() for name in ("up", "down"))
    copied = r["gain"].grad.square().sum()
    if mistake == "copies_counted":
        norm = r.total(divided + copied, "tp").sqrt()
    elif mistake == "own_shards":
        norm = (divided + copied).sqrt()
    elif mistake == "counted_over_dp":
        norm = r.total(r.total(divided, "tp") + copied, "dp").sqrt()
    else:
        norm = (r.total(divided, "tp") + copied).sqrt()
    r.dump.norm(norm)


@program("""
tpsp.program <b = 20, d = 4, e = 6> {
mesh @mesh <dp = 2 : data>
func @sums(%x: [b@dp, d] {tpsp.frozen}, param %w: [e, d]) -> [b@dp, e] {
  %z = einsum %w, %x -> [b@dp, e]
  return %z
}
}
""", micro_batches=5)
def sums_in_16_bits(r, mistake):
    total, z = torch.zeros_like(r["w"], dtype=torch.float32), r["x"] @ r["w"].T
    if mistake == "bf16":
        total = total.bfloat16()
    r.note("z", z.detach(), "dp=Shard(0)")
    for x, g in zip(r["x"].chunk(5), r.cotangent("z").chunk(5)):
        total += (g.T @ x).to(total.dtype)
    if mistake == "reduced_in_bf16":
        total = total.bfloat16()
    r["w"].grad = r.total(total, "dp").to(r["w"].dtype)


def _orthogonal(w, steps=5):
    """Newton-Schulz, as torch.optim.Muon does it, in the type of `w`."""
    x = w / w.norm().clamp(min=1e-7)
    x = x.T if w.shape[0] > w.shape[1] else x
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if w.shape[0] > w.shape[1] else x


def _scaled(w, whole=None):
    """The orthogonalised matrix, with the published length of `whole`."""
    rows, columns = (w if whole is None else whole).shape
    return _orthogonal(w) * max(1.0, rows / columns) ** 0.5


MUON = "--optimizer muon --optimizer-settings momentum=0 --optimizer-settings nesterov=0 --optimizer-settings rms=0 "


@program(STEP.format(mesh="dp = 3 : data", b="b@dp"), update=MUON + "--optimizer-settings decay=0")
def muon(r, mistake):
    """An update that needs whole matrices."""
    _step_gradient(r, "dp")
    r.reduce("w", "dp", 1 / r.size("dp"))
    r.dump.gradients()
    w = r["w"]
    own = w.grad.chunk(r.size("dp"))[r.at("dp")]
    if mistake in ("on_shards", "on_shards_in_length"):
        update = r.gathered(_scaled(own, own if mistake == "on_shards" else w), "dp", 0)
    else:
        update = _scaled(w.grad)
    w.data = w.detach() - RATE * update


@program("""
tpsp.program <b = 6, d = 6, e = 24> {
mesh @mesh <dp = 2 : data, tp = 3 : model>
func @step(%x: [b@dp, d] {tpsp.frozen}, %y: [b@dp, e@tp] {tpsp.frozen}, param %w: [e@tp, d]) -> [] {
  %u = einsum %w, %x -> [b, e, ?]
  %r = sub %u, %y
  %q = square %r
  %loss = mean %q -> []
  return %loss
}
}
""", update=MUON + "--optimizer-settings decay=0.5")
def muon_tp(r, mistake):
    """Muon on a matrix that tensor parallelism divides: it is gathered for the update."""
    loss = (r["x"] @ r["w"].T - r["y"]).square().mean() / r.size("tp")
    r.loss(r.total(r.total(loss, "tp"), "dp") / r.size("dp"))
    loss.backward()
    r.reduce("w", "dp", 1 / r.size("dp"))
    r.dump.gradients()
    w = r["w"]
    if mistake == "on_shards":
        update = _scaled(w.grad)
    elif mistake == "length_of_shard":
        update = r.own(_scaled(r.gathered(w.grad, "tp", 0), w), "tp", 0)
    else:
        update = r.own(_scaled(r.gathered(w.grad, "tp", 0)), "tp", 0)
    w.data = w.detach() * (1 - RATE * 0.5) - RATE * update


@program("""
tpsp.program <b = 6, d = 4, v = 8> {
mesh @mesh <tp = 4 : model>
func @tied(%ids: i32[b] {tpsp.below = 8}, param %table: [v@tp, d], param %gain: [d]) -> [b, v@tp] {
  %x = embedding %ids, %table {vocabulary = "v"} -> [b, d]
  %n = mul %x, %gain
  %z = einsum %table, %n -> [b, v@tp]
  return %z
}
}
""")
def tied(r, mistake):
    """A table that is embedding and head, divided along the vocabulary."""
    from tensor import _looked_up
    table = r["table"]
    x = r.sum(_looked_up(r, table, r["ids"], "tp"), "tp") * r["gain"]
    x = x if mistake == "no_backward_sum" else r.copy(x, "tp")
    head = table.detach() if mistake == "head_untied" else table
    r.backward(z=x @ head.T)
    if mistake == "last_rank_without_gradient" and r.at("tp") == r.size("tp") - 1:
        r.scale("table", 0.0)
