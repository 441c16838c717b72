// Connected values that are replicated for no reason are sharded.
// DEFINE: %{shard} = --tpsp-propagate --tpsp-shard-replicated=shard-replicated=memory
// RUN: tpsp-opt %s %{shard} | FileCheck %s
// RUN: tpsp-opt %s --tpsp-propagate | sed 's/, tpsp.proposed//; s/ {tpsp.proposed}//' | tpsp-opt --tpsp-shard-replicated=shard-replicated=memory | FileCheck %s --check-prefix=UNMARKED --implicit-check-not=s@tp
// RUN: tpsp-opt %s %{shard} --remarks-filter='tpsp-.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not tpsp-opt %s --tpsp-shard-replicated=shard-replicated=speed 2>&1 | FileCheck %s --check-prefix=SPEED
// SPEED: for the --shard-replicated option: no shard-replicated is called 'speed': off, memory or time

// A placement without the mark of a proposal is the user's.
// UNMARKED: func.func @block

tpsp.mesh @mesh <tp = 2 : model>

!x  = tensor<4x8x16xf32, #tpsp.idx<b, s, d>>
!x_ = tensor<4x8x16xf32, #tpsp.idx<b, s, d, ?>>
!y  = tensor<4x8x32xf32, #tpsp.idx<b, s, e, ?>>
!w  = tensor<32x16xf32, #tpsp.idx<e@tp, d>>
!v  = tensor<16x32xf32, #tpsp.idx<d, e@tp>>
!g  = tensor<16xf32, #tpsp.idx<d>>

// From the sum through residual and norm, to the operations that the axis
// divides otherwise; on s, the inner one of b and s, for any batch. The
// argument stays; values that depend on it and the returned result join.
// CHECK-LABEL: @block
// CHECK: %[[N:.*]] = tpsp.rms_norm {{.*}} {tpsp.note = "s@tp instead of replicated keeps 1.0 KiB per rank less"} : {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b, s@tp, d>>
// CHECK: tpsp.einsum %{{.*}}, %[[N]] {tpsp.proposed} : {{.*}} -> tensor<4x8x32xf32, #tpsp.idx<b, s, e@tp>>
// CHECK: tpsp.einsum {{.*}} {tpsp.note = "s@tp instead of replicated keeps 1.0 KiB per rank less; one of 5 values, together 5.0 KiB less; their forward collectives send 5.0 KiB, before 4.0 KiB"} : {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b, s@tp, d>>
// CHECK: tpsp.add {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b, s@tp, d>>
// CHECK: tpsp.rms_norm {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b, s@tp, d>>
// CHECK: tpsp.einsum {{.*}} -> tensor<4x8x32xf32, #tpsp.idx<b, s, e@tp>>
// CHECK: tpsp.einsum {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b, s@tp, d>>
// CHECK: %[[Z:.*]] = tpsp.add {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b, s, d>>
// CHECK: return %[[Z]]
// REMARK: value | Category:tpsp-shard-replicated | Reason="s@tp instead of replicated keeps 1.0 KiB per rank less", saved_bytes=1024
// REMARK: group | Category:tpsp-shard-replicated | Reason="s@tp instead {{.*}}forward_bytes=5120, forward_bytes_before=4096, saved_bytes=5120, values=5
func.func @block(%x: !x, %g: !g {tpsp.param}, %w: !w {tpsp.param}, %v: !v {tpsp.param}) -> !x {
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x_
  %y = tpsp.einsum %w, %n : (!w, !x_) -> !y
  %a = tpsp.einsum %v, %y : (!v, !y) -> !x_
  %h = tpsp.add %x, %a : (!x, !x_) -> !x_
  %m = tpsp.rms_norm %h, %g : (!x_, !g) -> !x_
  %p = tpsp.einsum %w, %m : (!w, !x_) -> !y
  %q = tpsp.einsum %v, %p : (!v, !y) -> !x_
  %z = tpsp.add %h, %q : (!x_, !x_) -> !x
  return %z : !x
}

// An extent that the axis does not divide: another index.
!xo  = tensor<4x7x16xf32, #tpsp.idx<b, s, d>>
!xo_ = tensor<4x7x16xf32, #tpsp.idx<b, s, d, ?>>
!yo  = tensor<4x7x32xf32, #tpsp.idx<b, s, e, ?>>
// CHECK-LABEL: @uneven
// CHECK: tpsp.einsum {{.*}} -> tensor<4x7x16xf32, #tpsp.idx<b@tp, s, d>>
// CHECK: tpsp.rms_norm {{.*}} -> tensor<4x7x16xf32, #tpsp.idx<b@tp, s, d>>
func.func @uneven(%x: !xo, %g: !g {tpsp.param}, %w: !w {tpsp.param}, %v: !v {tpsp.param}) -> !xo {
  %y = tpsp.einsum %w, %x : (!w, !xo) -> !yo
  %a = tpsp.einsum %v, %y : (!v, !yo) -> !xo_
  %m = tpsp.rms_norm %a, %g : (!xo_, !g) -> !xo_
  %z = tpsp.exp %m : !xo_ -> !xo
  return %z : !xo
}

// A written placement stays and ends the growth.
// CHECK-LABEL: @written
// CHECK-NOT: note
// CHECK: return
func.func @written(%x: !x, %w: !w {tpsp.param}, %v: !v {tpsp.param}) -> !x {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.einsum %v, %y : (!v, !y) -> !x
  %z = tpsp.exp %a : !x
  return %z : !x
}

// Results of the function end it, too, and sums that are gathered at once.
// CHECK-LABEL: @nothing_between
// CHECK-NOT: note
// CHECK: return
func.func @nothing_between(%x: !x, %w: !w {tpsp.param}, %v: !v {tpsp.param}) -> !x {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.einsum %v, %y : (!v, !y) -> !x_
  %p = tpsp.einsum %w, %a : (!w, !x_) -> !y
  %z = tpsp.einsum %v, %p : (!v, !y) -> !x
  return %z : !x
}

// Never onto an index that an operation needs whole: after the sum the softmax
// needs s, so it is b.
// CHECK-LABEL: @whole
// CHECK: tpsp.softmax {{.*}} : tensor<4x8x16xf32, #tpsp.idx<b@tp, s, d>>
// CHECK: tpsp.rms_norm {{.*}} -> tensor<4x8x16xf32, #tpsp.idx<b@tp, s, d>>
func.func @whole(%x: !x, %g: !g {tpsp.param}, %w: !w {tpsp.param}, %v: !v {tpsp.param}) -> !x {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.einsum %v, %y : (!v, !y) -> !x_
  %m = tpsp.softmax %a {over = "s"} : !x_
  %n = tpsp.rms_norm %m, %g : (!x_, !g) -> !x_
  %z = tpsp.exp %n : !x_ -> !x
  return %z : !x
}
