// A program that needs too much memory is refused first, with both figures and the largest tensors.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// RUN: %S/Inputs/exits 1 tpsp-run %t/large.mlir --grad 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: {{^}}tpsp-run: 2 ranks with arenas of 10240.00 GiB need 20480.00 GiB of memory, but {{[0-9.]+}} GiB are available; the largest in an arena: x 2.0 TiB ({{.*}}large.mlir:3:14), g[y] 2.0 TiB ({{.*}}large.mlir:4:8), y 2.0 TiB ({{.*}}large.mlir:4:8); use fewer ranks on this machine, smaller shapes or --rematerialize{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %t/small.mlir --mesh tp=100000 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: %S/Inputs/exits 1 tpsp-run %t/small.mlir --mesh tp=4611686018427387904 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: {{^}}tpsp-run: the mesh has more than 65536 ranks{{$}}

// RUN: not tpsp-run %t/large.mlir --grad --simulate --hardware h100-sxm | FileCheck %s --check-prefix=SIMULATED
// SIMULATED: does not fit: 10.0 TiB needed, 74.5 GiB there; the largest in an arena: x 2.0 TiB ({{.*}}large.mlir:3:14), g[y] 2.0 TiB ({{.*}}), y 2.0 TiB ({{.*}}); use more devices, smaller shapes or --rematerialize

// Nothing is allocated to print calls.
// RUN: tpsp-run %t/large.mlir --backend trace | FileCheck %s --check-prefix=TRACE
// TRACE: kernel

//--- large.mlir
tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<1048576x1048576xf32, #tpsp.idx<s@tp, d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

//--- small.mlir
tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<3xf32, #tpsp.idx<d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
