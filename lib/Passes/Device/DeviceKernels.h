/// Kernels for NVIDIA GPUs, made from the functions that are kernels for CPUs
/// (Kernels.h), before these are lowered. DeviceImage.h compiles them to PTX.
/// Another vendor needs a target there, and its own number of threads of a
/// warp.
///
/// A device kernel has the function's parameters. A block of threads processes
/// a few work items, as described for tpsp_rt_device_kernel in tpsp_rt.h. There
/// are three forms:
///
/// - *spread*: the threads of an item share its loops. A barrier stands between
///   two loops if one reads what another thread wrote in the other.
/// - *buckets*: for functions that sort integers into buckets. The warps of a
///   block visit runs of the integers (BucketDeviceKernel.cpp).
/// - *serial*: a thread processes an item as a CPU does. Any function has this
///   form, but for most it would be slow. If the elements along the innermost
///   index of an item's results are independent, several threads share an item,
///   each for some of these elements (RowLanes.h).
#ifndef TPSP_PASSES_DEVICE_DEVICEKERNELS_H
#define TPSP_PASSES_DEVICE_DEVICEKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <string>

namespace tpsp {

/// Bytes of the widest access of a thread; buffers in an arena begin at
/// multiples of it.
constexpr int64_t widestAccess = 16;
/// Blocks that keep any GPU busy: two for each multiprocessor of the largest.
constexpr int64_t enoughBlocks = 264;

/// The gpu.module that holds a plan's device kernels. Each kernel has the name
/// of the function that it is made from.
constexpr llvm::StringLiteral deviceModuleName = "tpsp_device_kernels";

/// Suffix of the record of kernel @k, a constant of the module once the kernel
/// is compiled: @k_device.
constexpr llvm::StringLiteral deviceRecordSuffix = "_device";

/// How a device kernel is launched: the numbers of tpsp_rt_device_kernel.
struct DeviceLaunch {
  int64_t threads = 0;
  int64_t items = 0;
  int64_t parts = 1;
  int64_t sharedBytes = 0;
};

/// Stores or reads the launch as attributes of the kernel's function, in
/// whatever dialect it is.
void setLaunch(mlir::Operation *kernel, DeviceLaunch launch);
DeviceLaunch launchOf(mlir::Operation *kernel);

/// The function that a device kernel is made from, and its work.
struct KernelSource {
  mlir::func::FuncOp function;
  /// Work items.
  int64_t grid = 1;
  /// Whether all buffers begin at multiples of 16 bytes, as wide accesses
  /// require. Buffers of an arena do; tiles inside a buffer need not.
  bool isAligned = true;

  /// The range of work items, the function's last two arguments.
  mlir::Value begin() const;
  mlir::Value end() const;
  /// The loop over the range; null in kernels that process the range as a
  /// whole.
  mlir::scf::ForOp itemLoop() const;
};

/// A kernel with the parameters of `source` and no body.
mlir::gpu::GPUFuncOp createDeviceKernel(mlir::OpBuilder &b,
                                        KernelSource source);

/// Emits the serial form at `b`.
mlir::gpu::GPUFuncOp emitSerialKernel(mlir::OpBuilder &b, KernelSource source);

/// Emits the form for buckets at `b`. Returns null for other functions.
mlir::gpu::GPUFuncOp emitBucketDeviceKernel(mlir::OpBuilder &b,
                                            KernelSource source);

/// Emits the spread form at `b`. Returns null and sets `obstacle` if the items
/// are not loop nests, or their rows do not fit in a block's memory.
mlir::gpu::GPUFuncOp emitSpreadKernel(mlir::OpBuilder &b, KernelSource source,
                                      std::string &obstacle);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEKERNELS_H
