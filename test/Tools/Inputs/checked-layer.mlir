// </script><b>
tpsp.program <b = 2, s = 8, d = 4, e = 16> {
mesh @mesh <tp = 4 : model>
func @mlp(%x: [b, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = relu %u
  %z = einsum %down, %a -> [b, s@tp, d]
  return %z
}
}
