// The output of --tpsp-formulas. FormulasTest tests formulas at other
// sizes.
// REQUIRES: tpsp-run
// RUN: tpsp-opt %examples/tp-sp-fsdp.mlir --tpsp-formulas | FileCheck %s
// CHECK: model_grad
// CHECK-NEXT: b = 8, s = 64, d = 128, h = 8, k = 16, e = 512, L = 2 (layer0 to layer1), fsdp = 2, tp = 2
// CHECK-NEXT: t = s
// CHECK: collectives (bytes sent per rank)
// CHECK-NEXT: forward all_gather over fsdp: 6 L = 12
// CHECK-NEXT: 8 L d (2 h k + e) (fsdp - 1)/(fsdp tp) = 384.0 KiB
// CHECK-NEXT: forward all_gather over tp: 2 L = 4
// CHECK-NEXT: 8 L b s d (tp - 1)/(fsdp tp) = 256.0 KiB
// CHECK: backward all_reduce over fsdp,tp: 3 L = 6
// CHECK-NEXT: 24 L d (fsdp tp - 1)/(fsdp tp) = 4.5 KiB
// CHECK: products (FLOPs per rank)
// CHECK-NEXT: forward: 8 L = 16
// CHECK-NEXT: 4 L b s (s h k + 2 d h k + d e)/(fsdp tp) = 1.091e+08
// CHECK: memory (bytes per rank)
// CHECK: saved for the backward pass: 10 L + 1 + (L - 1) = 22

// With an optimizer there is its state, and gradients are no results.
// RUN: tpsp-opt %examples/tp-sp-fsdp.mlir --tpsp-formulas="optimizer=adamw optimizer-axes=fsdp" \
// RUN:   | FileCheck %s --check-prefix=STATE
// STATE: memory (bytes per rank)
// STATE-NOT: gradients
// STATE: optimizer's state: 20 L = 40

// A merged index is the product of its parts. With two layers or more, other
// operations count separately.
// RUN: tpsp-import %S/../Import/Inputs/published/llama-3.1-8b.json --layers 3 --sequence 64 --batch 8 --place tp-sp-fsdp -o %t.mlir
// RUN: tpsp-opt %t.mlir --tpsp-formulas | FileCheck %s --check-prefix=PARTS
// PARTS: L = 3 (layer0 to layer2)
// PARTS-NEXT: q = g r k, kv = g k, t = s
// PARTS: forward reduce_scatter over tp: 2 L + 1 = 7
// PARTS-NEXT: 4 b s d (2 L + 1) (tp - 1)/(fsdp tp)
// PARTS: parameters: 9 L + 3 = 30

// L needs calls with equally many layers. Here @layer is called three times
// inside of others and once directly, so its parts are numbers.
// RUN: split-file %s %t.d
// RUN: tpsp-opt %t.d/uneven.mlir --tpsp-formulas | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: {{^}} b = 4, d = 6, e = 12, tp = 2{{$}}
// UNEVEN: parameters: 14
// UNEVEN-NEXT: 56 d e/tp = 2.0 KiB

// Names that are taken.
// RUN: tpsp-opt %t.d/taken.mlir --tpsp-formulas | FileCheck %s --check-prefix=TAKEN
// TAKEN: b = 4, tp = 6, L = 12, #L = 3 (layer0 to layer2), @tp = 2
// TAKEN: parameters: 2 #L = 6
// TAKEN-NEXT: 8 L #L tp/@tp = 864 B

// RUN: not tpsp-opt %examples/mlp-sp.mlir --tpsp-formulas="micro-batches=2" 2>&1 | FileCheck %s --check-prefix=PARTED
// PARTED: error: formulas are of a step in one piece, and 2 micro-batches are asked for; leave them out

//--- uneven.mlir
tpsp.program <b = 4, d = 6, e = 12> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [b, d], param %w: [e@tp, d], param %v: [d, e@tp]) -> [b, d] {
  %a = einsum %w, %x -> [b, e, ?]
  %y = einsum %v, %a -> [b, d]
  %z = add %x, %y
  return %z
}
func private @tower(%x: [b, d]) -> [b, d] {
  %y = repeat 2 @layer(%x) as "in#.*"
  return %y
}
func @m(%x: [b, d]) -> [b, d] {
  %y = repeat 3 @tower(%x) as "o#.*"
  %z = call @layer(%y) as "last.*"
  return %z
}
}
//--- taken.mlir
tpsp.program <b = 4, tp = 6, L = 12> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [b, tp], param %w: [L@tp, tp], param %v: [tp, L@tp]) -> [b, tp] {
  %a = einsum %w, %x -> [b, L, ?]
  %y = einsum %v, %a -> [b, tp]
  %z = add %x, %y
  return %z
}
func @m(%x: [b, tp]) -> [b, tp] {
  %y = repeat 3 @layer(%x) as "o#.*"
  return %y
}
}
