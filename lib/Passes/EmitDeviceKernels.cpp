// tpsp-emit-device-kernels: every kernel once more, for a GPU.
#include "tpsp/Passes/DeviceKernels.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

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
    llvm::MapVector<StringAttr, int64_t> kernels = kernelsOfPrograms();
    if (kernels.empty())
      return;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    gpu::GPUModuleOp device = createModule(b);
    b.setInsertionPointToStart(device.getBody());
    for (auto [name, grid] : kernels)
      if (auto function = getOperation().lookupSymbol<func::FuncOp>(name))
        emit(b, {function, grid});
  }

private:
  /// The kernels that programs call, and their work items.
  llvm::MapVector<StringAttr, int64_t> kernelsOfPrograms() {
    llvm::MapVector<StringAttr, int64_t> kernels;
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      for (auto command : program.getBody().getOps<plan::KernelOp>())
        kernels.insert(
            {command.getCalleeAttr().getAttr(), int64_t(command.getGrid())});
    return kernels;
  }

  gpu::GPUModuleOp createModule(OpBuilder &b) {
    auto target = NVVM::NVVMTargetAttr::get(
        &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", chip, "+ptx78");
    return gpu::GPUModuleOp::create(b, getOperation().getLoc(),
                                    deviceModuleName, b.getArrayAttr(target));
  }

  void emit(OpBuilder &b, KernelSource source) {
    std::string obstacle;
    if (!serial && emitSpreadKernel(b, source, obstacle))
      return;
    gpu::GPUFuncOp kernel = emitSerialKernel(b, source);
    if (!serial)
      remark::missed(source.function.getLoc(),
                     remark::RemarkOpts::name("serial").category(
                         "tpsp-emit-device-kernels"))
          << remark::add("a thread does a work item of @{0} alone",
                         kernel.getName())
          << remark::reason("{0}", obstacle)
          << remark::metric("work_items", source.grid);
  }
};

} // namespace
