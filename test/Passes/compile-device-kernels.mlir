// RUN: tpsp-opt %s --tpsp-pipeline=device=cuda --tpsp-llvm-pipeline --remarks-filter='tpsp-compile-.*' > %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=COMMAND < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: tpsp-opt %s --tpsp-pipeline --tpsp-llvm-pipeline | FileCheck %s --check-prefix=NONE
// RUN: not tpsp-opt %s --tpsp-pipeline=device=tpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// One image for all kernels, for the oldest chip; no kernel of a library, since
// the driver has none.
// CHECK: llvm.mlir.global internal constant @__tpsp_device_image
// CHECK-SAME: .version 7.8
// CHECK-SAME: .target sm_80
// CHECK-SAME: .visible .entry kernel0_gelu(
// CHECK-NOT: __nv_
// CHECK: llvm.mlir.global internal constant @__tpsp_kernel0_gelu_device_entry("kernel0_gelu\00")

// The record: image, entry, threads, work items, memory asked for.
// CHECK: llvm.mlir.global internal constant @kernel0_gelu_device()
// CHECK: llvm.mlir.addressof @__tpsp_device_image
// CHECK: llvm.mlir.addressof @__tpsp_kernel0_gelu_device_entry
// CHECK: llvm.mlir.constant(64 : i64)
// CHECK: llvm.mlir.constant(1 : i64)
// CHECK: llvm.mlir.constant(0 : i64)
// CHECK: llvm.return

// A plan's command refers to it; without a device it refers to nothing.
// COMMAND: llvm.mlir.global internal constant @__tpsp_f_command_0()
// COMMAND: llvm.mlir.addressof @kernel0_gelu_entry
// COMMAND: llvm.mlir.addressof @kernel0_gelu_device
// COMMAND-NOT: gpu.
// NONE-NOT: {{_device|nvvm}}
// NONE: llvm.mlir.addressof @kernel0_gelu_entry
// NONE-NOT: {{_device|nvvm}}
!x = tensor<6x33xf32, #tpsp.idx<s, d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.gelu %x : !x
  return %y : !x
}

// GPUs lack most functions of f64, so the kernel is for CPUs only.
// REMARK: [Missed] unavailable
// REMARK-SAME: GPUs have no instruction for log
// REMARK-SAME: @kernel1_log has no form for a GPU
// REMARK-SAME: store the tensors in f32, bf16 or f16
// COMMAND: llvm.mlir.global internal constant @__tpsp_g_command_0()
// COMMAND-NOT: @kernel1_log_device
// COMMAND: llvm.mlir.addressof @kernel1_log_entry
// COMMAND-NOT: @kernel1_log_device
// COMMAND: llvm.return
!w = tensor<5x7xf64, #tpsp.idx<s, d>>
func.func @g(%x: !w) -> !w {
  %y = tpsp.log %x : !w
  return %y : !w
}

// UNKNOWN: tpu
