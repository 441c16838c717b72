// Rows longer than a strip, of whole blocks and not, that begin within a block on
// some ranks: masks are the reference's, in the forward pass and in gradients.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --keep-masks
// RUN: tpsp-run %s --grad --verify --quiet --extent d=384
// RUN: tpsp-run %s --grad --verify --quiet --extent d=1539
// RUN: tpsp-run %s --grad --verify --quiet --extent d=3
// RUN: tpsp-run %s --grad --verify --quiet --dtype bf16 --extent d=771

tpsp.program <s = 5, d = 393> {
mesh @mesh <tp = 3 : model>
func @f(%x: [s, d@tp], param %g: [d@tp]) -> [s, d@tp] {
  %a = mul %x, %g
  %u = dropout %a {rate = 0.3, seed = 7}
  %v = dropout %u {rate = 0.2, seed = -9}
  %h = dropout %g {rate = 0.4, seed = 5}
  %w = mul %v, %h
  %z = add %w, %x
  return %z
}
}
