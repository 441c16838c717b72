#include "DeviceImage.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVM/ModuleToObject.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"

using namespace mlir;

Attribute tpsp::deviceTarget(MLIRContext *context, StringRef chip) {
  return NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3,
                                   "nvptx64-nvidia-cuda", chip, "+ptx78");
}

/// Fails for a chip that LLVM does not know: it would print a message and take
/// another one.
static llvm::Error checkChip(NVVM::NVVMTargetAttr target) {
  NVVM::SerializeGPUModuleBase::init();
  llvm::Triple triple(target.getTriple());
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return llvm::createStringError(message);
  std::unique_ptr<llvm::MCSubtargetInfo> chips(
      found->createMCSubtargetInfo(triple, "", ""));
  if (!chips->isCPUStringValid(target.getChip()))
    return llvm::createStringError("no GPU is called '" + target.getChip() +
                                   "'; sm_80 and sm_90 are names");
  return llvm::Error::success();
}

namespace {

/// MLIR's serialization of a module, up to the assembly.
///
/// The pass gpu-module-to-binary with format=isa writes the same PTX, byte for
/// byte. But its target links CUDA's libdevice, which it looks for in
/// CUDA_ROOT, CUDA_HOME and CUDA_PATH. If such a variable names a folder
/// without it, the pass prints an error and goes on. If it has one, code
/// depends on the machine that compiles. This class is what the target is made
/// of, without libraries.
class PtxWriter final : public LLVM::ModuleToObject {
public:
  PtxWriter(gpu::GPUModuleOp module, NVVM::NVVMTargetAttr target)
      : ModuleToObject(*module, target.getTriple(), target.getChip(),
                       target.getFeatures(), target.getO()) {}

private:
  FailureOr<SmallVector<char, 0>> moduleToObject(llvm::Module &code) override {
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (failed(machine))
      return failure();
    FailureOr<SmallString<0>> text = translateModuleToISA(
        code, **machine, [&] { return getOperation().emitError(); });
    if (failed(text))
      return failure();
    return SmallVector<char, 0>(text->begin(), text->end());
  }
};

} // namespace

Operation *tpsp::unavailableInstruction(LLVM::LLVMFuncOp kernel) {
  static const llvm::StringSet<> intrinsics = {
      "exp", "exp2", "exp10", "log",  "log2", "log10", "pow",  "powi", "sin",
      "cos", "tan",  "asin",  "acos", "atan", "sinh",  "cosh", "tanh", "atan2"};
  Operation *found = nullptr;
  kernel.walk([&](Operation *op) {
    StringRef name = op->getName().stripDialect();
    if (isa<LLVM::CallOp>(op) ||
        (name.consume_front("intr.") && intrinsics.contains(name)))
      found = op;
  });
  return found;
}

llvm::Expected<std::string> tpsp::ptxOf(gpu::GPUModuleOp module) {
  auto target = dyn_cast<NVVM::NVVMTargetAttr>(
      module.getTargetsAttr() ? module.getTargetsAttr()[0] : Attribute());
  if (!target)
    target = NVVM::NVVMTargetAttr::get(module.getContext());
  if (llvm::Error wrong = checkChip(target))
    return wrong;
  std::optional<SmallVector<char, 0>> text = PtxWriter(module, target).run();
  if (!text)
    return llvm::createStringError("LLVM cannot write PTX");
  return std::string(text->begin(), text->end());
}
