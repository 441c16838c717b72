// RUN: tpsp-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) an all_gather where a reduction is needed
func.func @f(%x: !p) {
  // expected-error @+1 {{over (tp) does not take [e, d | sum@tp] to [e, d]}}
  %0 = tpsp.all_gather %x ["tp"] : !p -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) a reduction that keeps the sum
func.func @f(%x: !p) {
  // expected-error @+1 {{over (tp) does not take [e, d | sum@tp] to [e, d | sum@tp]}}
  %0 = tpsp.all_reduce %x ["tp"] : (!p) -> !p
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) a reduce_scatter that scatters nothing
func.func @f(%x: !p) {
  // expected-error @+1 {{over (tp) does not take [e, d | sum@tp] to [e, d]}}
  %0 = tpsp.reduce_scatter %x ["tp"] : !p -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) an all_to_all that stays
func.func @f(%x: !e) {
  // expected-error @+1 {{over (tp) does not take [e@tp, d] to [e@tp, d]}}
  %0 = tpsp.all_to_all %x ["tp"] : !e -> !e
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) a slice that gathers
func.func @f(%x: !e) {
  // expected-error @+1 {{over (tp) does not take [e@tp, d] to [e, d]}}
  %0 = tpsp.slice %x ["tp"] : !e -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) a permute that changes nothing
func.func @f(%x: !e2) {
  // expected-error @+1 {{over (dp, tp) does not take [e@dp@tp, d] to [e@dp@tp, d]}}
  %0 = tpsp.permute %x ["dp", "tp"] : !e2 -> !e2
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) a whole tensor that becomes a summand
func.func @f(%x: !w) {
  // expected-error @+1 {{over (tp) does not take [e, d] to [e, d | sum@tp]}}
  %0 = tpsp.slice %x ["tp"] : !w -> !p
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) other axes than those of the types
func.func @f(%x: !e) {
  // expected-error @+1 {{over (dp) does not take [e@tp, d] to [e, d]}}
  %0 = tpsp.all_gather %x ["dp"] : !e -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) the axes in another order
func.func @f(%x: !e2) {
  // expected-error @+1 {{over (tp, dp) does not take [e@dp@tp, d] to [e, d]}}
  %0 = tpsp.all_gather %x ["tp", "dp"] : !e2 -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) the major axis before the minor
func.func @f(%x: !e2) {
  // expected-error @+1 {{over (dp) does not take [e@dp@tp, d] to [e@tp, d]}}
  %0 = tpsp.all_gather %x ["dp"] : !e2 -> !e
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C1) two collectives in one
func.func @f(%x: !p) {
  // expected-error @+1 {{over (tp) does not take}}
  %0 = tpsp.reduce_scatter %x ["tp"] : !p -> tensor<16x16xf32, #tpsp.idx<e@tp, d@dp>>
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// an axis that the mesh does not have
func.func @f(%x: !e) {
  // expected-error @+1 {{names axis @pp, which the mesh does not have}}
  %0 = tpsp.all_gather %x ["pp"] : !e -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C2) names
func.func @f(%x: !e) {
  // expected-error @+1 {{changes more than subscripts: 'tensor<16x16xf32, #tpsp.idx<e@tp, d>>' to 'tensor<16x16xf32, #tpsp.idx<f, d>>'}}
  %0 = tpsp.all_gather %x ["tp"] : !e -> tensor<16x16xf32, #tpsp.idx<f, d>>
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C2) the shape
func.func @f(%x: !e) {
  // expected-error @+1 {{changes more than subscripts}}
  %0 = tpsp.all_gather %x ["tp"] : !e -> tensor<64x16xf32, #tpsp.idx<e, d>>
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C2) the element type
func.func @f(%x: !e) {
  // expected-error @+1 {{changes more than subscripts}}
  %0 = tpsp.all_gather %x ["tp"] : !e -> tensor<16x16xbf16, #tpsp.idx<e, d>>
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C3) tensors that move over different axes
func.func @f(%x: !p) {
  %y = "test.partial"() : () -> tensor<16x16xf32, #tpsp.idx<e, d | sum@dp>>
  // expected-error @+1 {{over (tp) does not take [e, d | sum@dp] to [e, d]}}
  %0:2 = tpsp.all_reduce %x, %y ["tp"] : (!p, tensor<16x16xf32, #tpsp.idx<e, d | sum@dp>>) -> (!w, !w)
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>

// (C3) a result too few
func.func @f(%x: !p) {
  // expected-error @+1 {{has one result for each operand}}
  %0 = tpsp.all_reduce %x, %x ["tp"] : (!p, !p) -> !w
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>
!e2r = tensor<16x16xf32, #tpsp.idx<e@tp@dp, d>>

// (C6) another placement
func.func @f(%x: !e2) {
  // expected-error @+1 {{hands shards on, and changes their type}}
  %0 = tpsp.permute %x ["dp", "tp"] {by = 1} : !e2 -> !e2r
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>
!e2r = tensor<16x16xf32, #tpsp.idx<e@tp@dp, d>>

// (C6) the axes in another order
func.func @f(%x: !e2) {
  // expected-error @+1 {{over (tp, dp), which divide no index of [e@dp@tp, d] alone}}
  %0 = tpsp.permute %x ["tp", "dp"] {by = 1} : !e2 -> !e2
  return
}

// -----

tpsp.mesh @mesh <dp = 2, tp = 4>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>
!e2r = tensor<16x16xf32, #tpsp.idx<e@tp@dp, d>>

// (C6) around the whole group
func.func @f(%x: !e2) {
  // expected-error @+1 {{by 8 is no shift among 8 ranks}}
  %0 = tpsp.permute %x ["dp", "tp"] {by = 8} : !e2 -> !e2
  return
}
