// tpsp-emit-device-kernels: creates a device kernel for every kernel.
#include "DeviceImage.h"
#include "DeviceKernels.h"
#include "Passes/Kernels/DeviceLimits.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"

namespace tpsp {
#define GEN_PASS_DEF_EMITDEVICEKERNELS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct EmitDeviceKernels
    : public tpsp::impl::EmitDeviceKernelsBase<EmitDeviceKernels> {
  using Base::Base;

  void runOnOperation() override {
    std::vector<KernelSource> kernels = kernelsOfPrograms();
    if (kernels.empty())
      return;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    gpu::GPUModuleOp device = createModule(b);
    b.setInsertionPointToStart(device.getBody());
    for (const KernelSource &kernel : kernels) {
      if (failed(checkParameters(kernel)))
        return signalPassFailure();
      emit(b, kernel);
    }
  }

private:
  /// The kernels that programs call, each once.
  std::vector<KernelSource> kernelsOfPrograms() {
    std::vector<KernelSource> kernels;
    llvm::DenseMap<StringAttr, size_t> known;
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      for (auto command : program.getBody().getOps<plan::KernelOp>()) {
        StringAttr name = command.getCalleeAttr().getAttr();
        auto [it, isNew] = known.try_emplace(name, kernels.size());
        if (isNew)
          kernels.push_back({getOperation().lookupSymbol<func::FuncOp>(name),
                             int64_t(command.getGrid())});
        kernels[it->second].isAligned &= hasWholeBuffers(command);
      }
    llvm::erase_if(kernels,
                   [](const KernelSource &kernel) { return !kernel.function; });
    return kernels;
  }

  static bool hasWholeBuffers(plan::KernelOp command) {
    return llvm::none_of(command->getOperands(), [](Value buffer) {
      return bool(plan::tileOf(buffer));
    });
  }

  gpu::GPUModuleOp createModule(OpBuilder &b) {
    return gpu::GPUModuleOp::create(
        b, getOperation().getLoc(), deviceModuleName,
        b.getArrayAttr(deviceTarget(&getContext(), chip)));
  }

  void emit(OpBuilder &b, KernelSource source) {
    std::string obstacle = "the serial form was asked for";
    if (!serial && (emitBucketDeviceKernel(b, source) ||
                    emitSpreadKernel(b, source, obstacle)))
      return;
    gpu::GPUFuncOp kernel = emitSerialKernel(b, source);
    if (!serial)
      warnOfMemory(kernel, obstacle);
    DeviceLaunch launch = launchOf(kernel);
    remark::missed(
        source.function.getLoc(),
        remark::RemarkOpts::name("serial").category("tpsp-emit-device-kernels"))
        << remark::add("every work item of @{0} is done in order",
                       kernel.getName())
        << remark::reason("{0}", obstacle)
        << remark::metric("work_items", source.grid)
        << remark::metric("threads_for_an_item", launch.threads / launch.items)
        << remark::metric("blocks_of_an_item", launch.parts);
  }

  /// A single kernel with more parameters would prevent the image from being
  /// loaded.
  static LogicalResult checkParameters(KernelSource source) {
    int64_t bytes = 8 * int64_t(source.function.getNumArguments());
    if (bytes <= parameterBytes)
      return success();
    return source.function.emitError("a kernel with ")
           << bytes << " bytes of parameters, of which a GPU takes "
           << parameterBytes << ": " << source.function.getNumArguments()
           << " tensors and numbers; write it as several operations of fewer "
              "tensors";
  }

  /// A GPU reserves a thread's memory for all threads that it could run.
  static void warnOfMemory(gpu::GPUFuncOp kernel, StringRef obstacle) {
    int64_t bytes = 0;
    kernel.walk([&](memref::AllocaOp row) {
      MemRefType type = row.getType();
      bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    });
    if (bytes > threadMemoryBytes)
      kernel.emitWarning("kernel @")
          << kernel.getName() << " keeps " << bytes
          << " bytes in every thread, of which a GPU should have "
          << threadMemoryBytes << ": " << obstacle
          << "; use smaller extents, or more ranks";
  }
};

} // namespace
