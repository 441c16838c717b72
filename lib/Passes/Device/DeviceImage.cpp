#include "DeviceImage.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

// LLVM's headers do not declare these if they were built without a list of
// targets.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

Attribute tpsp::deviceTarget(MLIRContext *context, StringRef chip) {
  return NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3,
                                   "nvptx64-nvidia-cuda", chip, "+ptx78");
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
targetMachine(NVVM::NVVMTargetAttr target) {
  initializeTarget();
  llvm::Triple triple(target.getTriple());
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return llvm::createStringError(message);
  // Checked first, because LLVM would only print a message and take another
  // chip.
  std::unique_ptr<llvm::MCSubtargetInfo> chips(
      found->createMCSubtargetInfo(triple, "", ""));
  if (!chips->isCPUStringValid(target.getChip()))
    return llvm::createStringError("no GPU is called '" + target.getChip() +
                                   "'; sm_80 and sm_90 are names");
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.getChip(), target.getFeatures(), llvm::TargetOptions(),
      /*RM=*/std::nullopt, /*CM=*/std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

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

llvm::Expected<std::unique_ptr<llvm::Module>>
tpsp::translateDeviceModule(gpu::GPUModuleOp module,
                            llvm::LLVMContext &context) {
  auto translated = translateModuleToLLVMIR(module, context, module.getName());
  if (!translated)
    return llvm::createStringError("the device kernels are not in the LLVM "
                                   "and NVVM dialects yet");
  return translated;
}

llvm::Expected<std::string> tpsp::ptxOf(gpu::GPUModuleOp module) {
  auto target = dyn_cast<NVVM::NVVMTargetAttr>(
      module.getTargetsAttr() ? module.getTargetsAttr()[0] : Attribute());
  auto machine = targetMachine(
      target ? target : NVVM::NVVMTargetAttr::get(module.getContext()));
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = translateDeviceModule(module, context);
  if (!code)
    return code.takeError();
  (*code)->setTargetTriple((*machine)->getTargetTriple());
  (*code)->setDataLayout((*machine)->createDataLayout());
  auto optimize = makeOptimizingTransformer(
      /*optLevel=*/3, /*sizeLevel=*/0, machine->get());
  if (llvm::Error e = optimize(code->get()))
    return e;
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("LLVM cannot write PTX");
  passes.run(**code);
  return std::string(text);
}
