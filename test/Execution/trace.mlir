// The trace backend prints the calls of rank 0 and runs nothing.
// REQUIRES: tpsp-run
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=2 --grad --backend trace | FileCheck %s
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=2 --backend trace --epilogues on | FileCheck %s --check-prefix=EPILOGUE
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=2 --backend trace --steps 2 | count 10
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=1 --backend trace --dtype bf16 | FileCheck %s --check-prefix=BF16

// CHECK:      {{^}}rank 0 stream 0 all_gather axes=tp outer=2 chunk=16384 f32 src@0 dst@[[X:[0-9]+]] "all_gather x at {{.*}}mlp-sp.mlir:10:8"
// CHECK-NEXT: {{^}}rank 0 stream 0 matmul m=256 n=512 k=256 transposeB f32 A@[[X]] B@131072 C@[[Y:[0-9]+]] "matmul at {{.*}}mlp-sp.mlir:10:8"
// CHECK-NEXT: {{^}}rank 0 stream 0 kernel grid=256 @[[Y]] @[[V:[0-9]+]] "kernel kernel0_gelu at {{.*}}mlp-sp.mlir:11:8"
// CHECK-NEXT: {{^}}rank 0 stream 0 matmul m=256 n=256 k=512 transposeB f32 A@[[V]] B@655360 C@[[Z:[0-9]+]] "matmul at {{.*}}mlp-sp.mlir:12:8"
// CHECK-NEXT: {{^}}rank 0 stream 0 reduce_scatter axes=tp sum outer=2 chunk=16384 f32 src@[[Z]]
// CHECK-NEXT: all_gather {{.*}} "all_gather g[z]
// CHECK:      "reduce_scatter g[x]
// CHECK-NOT:  rank

// EPILOGUE: matmul m=256 n=512 k=256 transposeB f32 {{.*}} gelu "matmul at
// EPILOGUE-NOT: kernel

// BF16: matmul m=256 n=1024 k=256 transposeB bf16
// BF16-NOT: {{all_|reduce_}}
