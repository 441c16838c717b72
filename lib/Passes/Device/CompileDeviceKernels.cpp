// tpsp-compile-device-kernels: PTX and launch records as constants.
#include "DeviceImage.h"
#include "DeviceKernels.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"

namespace tpsp {
#define GEN_PASS_DEF_COMPILEDEVICEKERNELS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// "log" for a call of a library function __nv_log, and for an intrinsic.
static StringRef nameOf(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    name = call.getCallee().value_or(name);
  if (!name.consume_front("__nv_"))
    name.consume_front("intr.");
  return name;
}

namespace {

/// Writes the constants of one image.
class Records {
public:
  explicit Records(gpu::GPUModuleOp module)
      : b(module), loc(module.getLoc()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        record(LLVM::LLVMStructType::getLiteral(
            module.getContext(),
            {pointer, pointer, b.getI64Type(), b.getI64Type(), b.getI64Type(),
             b.getI64Type()})) {}

  /// Adds a kernel's record, with the layout of tpsp_rt_device_kernel in
  /// tpsp_rt.h.
  void add(LLVM::GlobalOp image, StringRef kernel, DeviceLaunch launch) {
    OpBuilder::InsertionGuard guard(b);
    LLVM::GlobalOp entry = text(
        ("__tpsp_" + kernel + deviceRecordSuffix + "_entry").str(), kernel);
    auto global = LLVM::GlobalOp::create(
        b, loc, record, /*isConstant=*/true, LLVM::Linkage::Internal,
        (kernel + deviceRecordSuffix).str(), Attribute());
    b.createBlock(&global.getInitializerRegion());
    Value fields[] = {LLVM::AddressOfOp::create(b, loc, image),
                      LLVM::AddressOfOp::create(b, loc, entry),
                      integer(launch.threads),
                      integer(launch.items),
                      integer(launch.parts),
                      integer(launch.sharedBytes)};
    Value value = LLVM::UndefOp::create(b, loc, record);
    for (auto [i, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(b, loc, value, field, int64_t(i));
    LLVM::ReturnOp::create(b, loc, value);
  }

  LLVM::GlobalOp text(StringRef name, StringRef value) {
    std::string terminated = value.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
    return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, name,
                                  b.getStringAttr(terminated));
  }

private:
  Value integer(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }

  OpBuilder b;
  Location loc;
  Type pointer, record;
};

struct CompileDeviceKernels
    : public tpsp::impl::CompileDeviceKernelsBase<CompileDeviceKernels> {
  using Base::Base;

  void runOnOperation() override {
    auto device =
        getOperation().lookupSymbol<gpu::GPUModuleOp>(deviceModuleName);
    if (!device)
      return;
    SmallVector<LLVM::LLVMFuncOp> kernels = available(device);
    if (!kernels.empty() && failed(compile(device, kernels)))
      return signalPassFailure();
    device.erase();
  }

private:
  /// Returns the kernels that have code for the target, and removes the others.
  SmallVector<LLVM::LLVMFuncOp> available(gpu::GPUModuleOp device) {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto function :
         llvm::make_early_inc_range(device.getOps<LLVM::LLVMFuncOp>())) {
      Operation *obstacle = unavailableInstruction(function);
      if (!obstacle) {
        if (!function.isExternal())
          kernels.push_back(function);
        continue;
      }
      remark::missed(function.getLoc(),
                     remark::RemarkOpts::name("unavailable")
                         .category("tpsp-compile-device-kernels"))
          << remark::add("@{0} has no form for a GPU", function.getSymName())
          << remark::reason("GPUs have no instruction for {0}",
                            nameOf(obstacle))
          << remark::suggest("store the tensors in f32, bf16 or f16");
      function.erase();
    }
    return kernels;
  }

  LogicalResult compile(gpu::GPUModuleOp device,
                        ArrayRef<LLVM::LLVMFuncOp> kernels) {
    llvm::Expected<std::string> ptx = ptxOf(device);
    if (!ptx)
      return emitErrorAt(device)
             << "no code for this GPU: " << llvm::toString(ptx.takeError());
    Records records(device);
    LLVM::GlobalOp image = records.text("__tpsp_device_image", *ptx);
    for (LLVM::LLVMFuncOp kernel : kernels)
      records.add(image, kernel.getSymName(), launchOf(kernel));
    return success();
  }
};

} // namespace
