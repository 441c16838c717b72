"""Several layers, which are checked one by one from what they take and return."""

from torch.nn.functional import silu

from harness import program

DEEP = """
tpsp.program <b = 2, s = 6, d = 8, e = 12> {
mesh @mesh <tp = 3 : model>
func private @layer(%x: [b, s@tp, d], param %gain "gain": [d], param %up "up": [e@tp, d], param %down "down": [d, e@tp]) -> [b, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = silu %u
  %y = einsum %down, %a -> [b, s@tp, d]
  %z = add %x, %y
  return %z
}
func @model(%in: [b, s@tp, d] {tpsp.frozen}, param %scale: [d], param %shift: [d]) -> [b, s@tp, d] {
  %x = mul %in, %scale
  %h = repeat 4 @layer(%x) as "layers.#.*"
  %z = add %h, %shift
  return %z
}
}
"""


@program(DEEP, layers=True)
def deep(r, mistake):
    """Four layers under sequence parallelism; the mistakes are in the third, layer2."""
    r.note("in", r["in"], r.placements["in"])
    x = r["in"] * r["scale"]
    r.note("x", x, r.placements["in"])
    for i in range(4):
        here = mistake if i == 2 else None
        n = x * r[f"layers.{i}.gain"]
        n = r.gather_copies(n, "tp", 1) if here == "own_part" else r.gather(n, "tp", 1)
        y = r.scatter(silu(n @ r[f"layers.{i}.up"].T) @ r[f"layers.{i}.down"].T, "tp", 1)
        x = x + (y / r.size("tp") if here == "averaged" else y)
        r.note(f"layer{i}.z", x, r.placements["in"])
    r.backward(z=x + r["shift"])
    for name in [f"layers.{i}.gain" for i in range(4)] + ["scale", "shift"]:
        if not (mistake == "no_gain_sum" and name == "layers.2.gain"):
            r.reduce(name, "tp", 2.0 if mistake == "shift_twice" and name == "shift" else 1.0)
