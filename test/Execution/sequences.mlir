// Recurrences, sums and delays along an index, forwards and backwards, with
// gradients: whole, divided, and divided to single positions.
// REQUIRES: tpsp-run

// RUN: split-file %s %t
// DEFINE: %{run} = tpsp-run %t/all.mlir --grad --verify --quiet
// RUN: %{run} --mesh cp=3,tp=2 --overlap on --hardware h100-sxm
// RUN: %{run} --mesh cp=15,tp=1 --dtype bf16
// RUN: %{run} --mesh cp=1,tp=2 --dtype f16 --rematerialize full --micro-batches 2
// RUN: %{run} --mesh cp=1,tp=1 --extent s=1,d=7
// RUN: %{run} --mesh cp=2,tp=1 --extent s=240,d=194

// Micro-batches do not divide the gradient of a decay that lacks the batch.
// RUN: not tpsp-run %t/shared.mlir --grad --micro-batches 3 2>&1 | FileCheck %s --check-prefix=SHARED --implicit-check-not=note:
// SHARED: shared.mlir:6:9: error: 'tpsp.scan' op makes 'g[ab]' of a sum over 'b', which is complete only after the last micro-batch; let the tensor of this gradient have index 'b' (tpsp.broadcast), or run without micro-batches
// RUN: sed 's/-> .s, m, ?./-> [b, s, m, ?]/' %t/shared.mlir > %t/own.mlir
// RUN: tpsp-run %t/own.mlir --grad --verify --quiet --micro-batches 3

//--- shared.mlir
tpsp.program <b = 3, s = 15, m = 7> {
mesh @mesh <cp = 3 : data>
func @f(%x: [b, s@cp, m], param %dc: [m]) -> ([] {tpsp.name = "l"}) {
  %al = sigmoid %dc
  %ab = broadcast %al -> [s, m, ?]
  %sc = scan %x, %ab {index = "s", reverse}
  %l = mean %sc -> []
  return %l
}
}

//--- all.mlir
tpsp.program <b = 2, s = 15, d = 6, u = 15> {
mesh @mesh <cp = 3 : data, tp = 2 : model>

func @f(%x: [b, s@cp, d@tp], %z: [b, d@tp, s@cp], %a: [b, s@cp], param %p: [s@cp, d@tp], param %w: [d@tp])
    -> ([b, s@cp, d@tp], [b, s@cp, d@tp], [b, d@tp, s@cp], [b, s@cp, d@tp]) {
  // A decay that lacks d, and one that lacks b, backwards.
  %decay = sigmoid %a
  %y = scan %x, %decay {index = "s"}
  %q = tanh %p
  %r = scan %y, %q {index = "s", reverse}
  // Along the innermost index.
  %last  = cumsum %z {index = "s"}
  %first = cumsum %last {index = "s", reverse}
  %mean  = scale %first {factor = 0.01}
  // A convolution of two taps, and the last positions ahead.
  %d1 = delay %x {index = "s"}
  %w1 = mul %d1, %w
  %d7 = delay %x {index = "s", by = 7}
  %ahead = delay %r {index = "s", by = -2}
  %sum = add %w1, %d7, %ahead
  %out = square %sum
  // Along an index that no axis divides.
  %whole = reshard %y -> [b, s, d@tp]
  %u = rename %whole -> [b, u, d, ?]
  %c = cumsum %u {index = "u"}
  %back = rename %c -> [b, s@cp, d@tp]
  return %r, %out, %mean, %back
}
}
