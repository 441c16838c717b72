// A sum over no index is its operand. So is its gradient, also if ranks sum the
// parameter's gradient in another type.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --dtype f16 --reduce-dtype f32
// RUN: tpsp-run %s --grad --verify --quiet --dtype bf16 --reduce-dtype f32 --optimizer adamw --steps 2

tpsp.program <b = 6, d = 5> {
mesh @mesh <dp = 3 : data, tp = 2 : model>
func @f(%x: [b@dp, d], param %w: [d]) -> ([b@dp, d], [d]) {
  %s = reduce %w {kind = "sum"} -> [d]
  %y = mul %x, %s
  return %y, %s
}
}
