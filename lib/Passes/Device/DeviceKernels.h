/// Kernels for GPUs, made of the functions that are kernels for CPUs
/// (Kernels.h), before those are lowered.
///
/// A device kernel has the function's parameters. A block of threads does a few
/// work items, as tpsp_rt_device_kernel in tpsp_rt.h says. There are two forms:
///
/// - *spread*: the loops of an item are shared among its threads. Between loops
///   of which one reads what another thread wrote stands a barrier.
/// - *serial*: a thread does an item as a CPU does. It can be made of any
///   function; of most it would be slow. If the elements along the innermost
///   index of an item's results have nothing to do with each other, several
///   threads do an item, each for some of these elements (RowLanes.h).
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
/// Blocks that keep any GPU busy: two for each of its multiprocessors.
constexpr int64_t enoughBlocks = 264;

/// The gpu.module that holds a plan's device kernels; a kernel has the name of
/// the function that it is made of.
constexpr llvm::StringLiteral deviceModuleName = "tpsp_device_kernels";

/// The record of kernel @k, a constant of the module once it is compiled:
/// @k_device.
constexpr llvm::StringLiteral deviceRecordSuffix = "_device";

/// How a device kernel is launched: the numbers of tpsp_rt_device_kernel.
struct DeviceLaunch {
  int64_t threads = 0;
  int64_t items = 0;
  int64_t parts = 1;
  int64_t sharedBytes = 0;
};

/// As attributes of the kernel's function, whatever dialect it is in.
void setLaunch(mlir::Operation *kernel, DeviceLaunch launch);
DeviceLaunch launchOf(mlir::Operation *kernel);

/// The function that a device kernel is made of, and what there is to do.
struct KernelSource {
  mlir::func::FuncOp function;
  /// Work items.
  int64_t grid = 1;
  /// Whether all buffers begin where wide accesses may: at multiples of 16
  /// bytes. Those of an arena do; tiles in the midst of one need not.
  bool isAligned = true;

  /// The range of work items, the function's last two arguments.
  mlir::Value begin() const;
  mlir::Value end() const;
  /// The loop over the range; null in kernels that work on the range as such.
  mlir::scf::ForOp itemLoop() const;
};

/// A kernel with the parameters of `source` and no body.
mlir::gpu::GPUFuncOp createDeviceKernel(mlir::OpBuilder &b,
                                        KernelSource source);

/// The serial form, at `b`.
mlir::gpu::GPUFuncOp emitSerialKernel(mlir::OpBuilder &b, KernelSource source);

/// The spread form, at `b`. Null, and `obstacle` says why, of a function whose
/// items are not loop nests, or whose rows have no room in a block's memory.
mlir::gpu::GPUFuncOp emitSpreadKernel(mlir::OpBuilder &b, KernelSource source,
                                      std::string &obstacle);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEKERNELS_H
