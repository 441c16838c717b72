// Sums of 16-bit gradients over micro-batches in 16 bits: half the memory, more
// rounding, which --verify allows for.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t && sed "s/dp = 4/dp = 2/" %examples/ddp.mlir > %t/two.mlir
// DEFINE: %{run} = tpsp-run %examples/ddp.mlir --grad --dtype bf16

// RUN: %{run} --micro-batches 2 --verify --quiet --sum-dtype bf16
// RUN: %{run} --micro-batches 4 --mesh dp=2 --verify --quiet --sum-dtype bf16 --optimizer adamw --optimizer-axes dp
// RUN: %{run} --micro-batches 4 --mesh dp=2 --verify --quiet --sum-dtype bf16 --overlap on
// RUN: tpsp-run %examples/ddp.mlir --grad --dtype f16 --micro-batches 4 --mesh dp=2 --verify --quiet --sum-dtype f16
// RUN: tpsp-run %examples/pp.mlir --grad --dtype bf16 --micro-batches 8 --verify --quiet --sum-dtype bf16

// RUN: tpsp-opt %t/two.mlir --tpsp-set-element-type=dtype=bf16 --tpsp-collective-pipeline="grad=true micro-batches=4 sum-dtype=bf16" | FileCheck %s --check-prefix=NARROW
// NARROW: tpsp.accumulate {{.*}} : tensor<{{[0-9x]+}}xbf16, #tpsp.idx<d, e | sum@dp>>{{$}}
// NARROW-NOT: tpsp.accumulate {{.*}}xf32
// RUN: tpsp-opt %t/two.mlir --tpsp-set-element-type=dtype=bf16 --tpsp-collective-pipeline="grad=true micro-batches=4" | FileCheck %s --check-prefix=WIDE
// WIDE: tpsp.accumulate {{.*}} -> tensor<{{[0-9x]+}}xf32

// Gradients in f32 stay so.
// RUN: tpsp-opt %t/two.mlir --tpsp-collective-pipeline="grad=true micro-batches=4 sum-dtype=bf16" | FileCheck %s --check-prefix=F32
// F32-NOT: bf16

// RUN: not tpsp-run %examples/ddp.mlir --sum-dtype bf16 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --sum-dtype says how gradients are summed, and there are none without --grad
