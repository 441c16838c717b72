// Layers read values of layers before the last one. Their chunks may be on the
// same stage as the chunk between, or on others.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet --micro-batches 4

// RUN: %{run} --stage-chunks 2
// RUN: %{run} --stage-chunks 2 --stage-placement folded
// RUN: %{run} --stage-chunks 2 --stage-placement folded --stage-schedule zero-bubble --optimizer adamw --clip 1
// RUN: tpsp-run %s --verify --quiet --micro-batches 2 --stage-chunks 2 --stage-placement folded
// RUN: tpsp-run %s --grad --micro-batches 4 --stage-chunks 2 --stage-placement folded --simulate --hardware h100-sxm | FileCheck %s
// CHECK: 2 stages over @pp, 2 chunks each (folded), 4 micro-batches, 1f1b

tpsp.program <b = 8, s = 16, d = 64, e = 64> {
mesh @mesh <pp = 2 : stage>
func private @layer(%x: [b, s, d], param %w: [e, d], param %v: [d, e]) -> [b, s, d] {
  %y = einsum %w, %x -> [b, s, e, ?]
  %z = einsum %v, %y -> [b, s, d, ?]
  return %z
}
func private @two(%x: [b, s, d], %skip: [b, s, d], param %w: [e, d], param %v: [d, e]) -> [b, s, d] {
  %y = einsum %w, %x -> [b, s, e, ?]
  %z = einsum %v, %y -> [b, s, d, ?]
  %u = add %z, %skip
  return %u
}
func @model(%x0: [b, s, d], param %w0, %w1, %w2, %w3: [e, d], param %v0, %v1, %v2, %v3: [d, e]) -> [] {
  %x1 = call @layer(%x0, %w0, %v0)
  %x2 = call @layer(%x1, %w1, %v1)
  %x3 = call @two(%x2, %x1, %w2, %v2)
  %x4 = call @two(%x3, %x2, %w3, %v3)
  %q = mul %x4, %x4
  %loss = mean %q -> []
  return %loss
}
}
