// RUN: tpsp-opt %s --tpsp-name-values --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// From another file name, with nothing to read, nothing is named.
// RUN: tpsp-opt --tpsp-name-values --mlir-print-debuginfo --mlir-print-local-scope < %s | FileCheck %s --check-prefix=UNREADABLE

// CHECK: tpsp.exp {{.*}} loc("hidden-1.x"({{.*}}name-values.mlir":[[@LINE+9]]:
// A line that defines no name keeps only its location.
// CHECK: tpsp.square {{.*}} loc("{{.*}}name-values.mlir":[[@LINE+9]]:
// CHECK: tpsp.neg {{.*}} loc("y"(
// UNREADABLE: tpsp.exp
// UNREADABLE-NOT: hidden-1
!x = tensor<4xf32, #tpsp.idx<d>>
func.func @f(%arg: !x) -> !x {

  %hidden-1.x = tpsp.exp %arg : !x
  %broken
    = tpsp.square %hidden-1.x : !x
  %y = tpsp.neg %broken : !x
  return %y : !x
}
