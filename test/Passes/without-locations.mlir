// Without debug information an error names the operation and its function.
// RUN: rm -rf %t && split-file %s %t

// RUN: not tpsp-opt %t/axes.mlir 2>&1 | FileCheck %s --check-prefix=AXES
// AXES: error: @f: axis @tp is on both 'e' and 'd'
// RUN: not tpsp-opt %t/unplaced.mlir --tpsp-propagate 2>&1 | FileCheck %s --check-prefix=UNPLACED
// UNPLACED: error: @f: argument #0 is not placed ('?')
// RUN: not tpsp-opt %t/program.mlir --strip-debuginfo --tpsp-set-mesh=mesh=dp=2 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: error: @mesh: the mesh has no axis 'dp'; its axes are tp
// RUN: not tpsp-opt %t/program.mlir --strip-debuginfo --tpsp-micro-batch=micro-batches=3 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: error: @f: argument #0 has index 'b' of extent 4
// RUN: not tpsp-opt %t/branches.mlir --strip-debuginfo --tpsp-propagate 2>&1 | FileCheck %s --check-prefix=BRANCHES
// BRANCHES: error: @f: has control flow; tpsp programs are straight-line functions
// RUN: not tpsp-opt %t/branches.mlir --strip-debuginfo --tpsp-differentiate 2>&1 | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: error: @f: has control flow; tpsp differentiates straight-line functions
// RUN: not tpsp-opt %t/program.mlir --tpsp-decompose-late --tpsp-partition --convert-tpsp-to-plan --strip-debuginfo --convert-tpsp-plan-to-llvm 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: error: 'plan.{{[a-z_]+}}' in @f: {{.+}}

//--- axes.mlir
tpsp.mesh @mesh <tp = 4>
func.func @f(%x: tensor<4x8xf32, #tpsp.idx<e@tp, d@tp>> loc(unknown)) {
  %y = tpsp.gelu %x : tensor<4x8xf32, #tpsp.idx<e@tp, d@tp>> loc(unknown)
  return loc(unknown)
} loc(unknown)

//--- unplaced.mlir
tpsp.mesh @mesh <tp = 4>
func.func @f(%x: tensor<4x8xf32, #tpsp.idx<e, d, ?>> loc(unknown)) {
  return
}

//--- program.mlir
tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<b, d@tp>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.gelu %x : !x
  return %y : !x
}

//--- branches.mlir
func.func @f(%x: tensor<4xf32, #tpsp.idx<b>>) -> tensor<4xf32, #tpsp.idx<b>> {
  cf.br ^next
^next:
  return %x : tensor<4xf32, #tpsp.idx<b>>
}
