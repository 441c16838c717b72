// No program looks for its libraries in the current folder. One that did would
// find these, which are not libraries.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: touch libstdc++.so.6 libm.so.6 libc.so.6 libgcc_s.so.1 libMLIR.so.22.1 libLLVM.so.22.1
// RUN: tpsp-opt %examples/mlp-sp.mlir -o m.mlir
// RUN: tpsp-run m.mlir --quiet --emit m.so
// RUN: tpsp-run m.so --quiet

// The same for plans and backends.
// RUN: touch libtpsp_cuda.so libtpsp_mpi.so libtpsp_none.so
// RUN: not tpsp-run m.so --quiet --backend none 2>&1 | FileCheck %s
// CHECK: no backend 'none'
