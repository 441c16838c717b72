// Layers are told apart by calls with collectives. Another function without
// collectives does not make one bucket of all layers.
// RUN: tpsp-opt %s --tpsp-explain="bucket-layers=on" -o /dev/null | FileCheck %s
// CHECK: totals
// CHECK-NEXT: forward all_gather over fsdp x3 1.5 KiB
// CHECK-NEXT: backward all_gather over fsdp x3 1.5 KiB
// CHECK-NEXT: backward reduce_scatter over fsdp x3 1.5 KiB
tpsp.program <b = 4, s = 4, d = 8, e = 16> {
mesh @mesh <fsdp = 2 : data>
func private @first(%x: [b@fsdp, s, d]) -> [b@fsdp, s, d] {
  %a = gelu %x
  return %a
}
func private @layer(%x: [b@fsdp, s, d], param %w: [e@fsdp, d], param %v: [d@fsdp, e]) -> [b@fsdp, s, d] {
  %u = einsum %w, %x -> [b, s, e, ?]
  %a = gelu %u
  %m = einsum %v, %a -> [b@fsdp, s, d]
  %z = add %x, %m
  return %z
}
func private @decoder(%x: [b@fsdp, s, d]) -> [b@fsdp, s, d] {
  %y = repeat 3 @layer(%x) as "layer#.*"
  return %y
}
func @model(%x: [b@fsdp, s, d]) -> [b@fsdp, s, d] {
  %y = call @first(%x) as "first.*"
  %z = call @decoder(%y) as "decoder.*"
  return %z
}
}
