#include "tpsp/Compile/EmitPlan.h"

#include "PlanSymbols.h"
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Passes/Pipelines.h"

#include "lld/Common/Driver.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace tpsp;

LLD_HAS_DRIVER(elf)

llvm::Expected<rt::PlanDescription>
tpsp::describePlan(const CompiledModel &model, StringRef path,
                   StringRef dtype) {
  rt::RankMesh ranks;
  if (rt::Status s = rt::RankMesh::create(model.plan->mesh, ranks); !s.ok())
    return llvm::createStringError(s.message());
  std::string text;
  if (rt::Status read = rt::readWhole(path.str(), maxModelBytes, text);
      !read.ok())
    return llvm::createStringError("cannot read '" + path +
                                   "' again: " + read.message());
  rt::PlanDescription description;
  description.plan = model.plan;
  description.model = path.str();
  description.modelHash = llvm::xxh3_64bits(text);
  description.dtype = dtype.empty() ? "as written" : dtype.str();
  description.reference = model.reference;
  return description;
}

/// The best level of this machine among the levels that plans know.
static std::string ownLevel(const llvm::Triple &triple) {
  if (triple.getArch() != llvm::Triple::x86_64)
    return "";
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<const char *> names) {
    return llvm::all_of(
        names, [&](const char *name) { return features.lookup(name); });
  };
  if (hasAll({"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"}))
    return "x86-64-v3";
  return hasAll({"sse4.2", "popcnt"}) ? "x86-64-v2" : "x86-64";
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
machineFor(const llvm::Triple &triple, StringRef processor, CodeEffort effort) {
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(error);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, processor.empty() ? "generic" : processor, /*Features=*/"",
      llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, levelOf(effort)));
}

/// Makes every function but the step internal.
static llvm::Error exportStep(llvm::Module &module, StringRef program) {
  llvm::Function *step = module.getFunction(program);
  if (!step)
    return llvm::createStringError("the plan has no function '" + program +
                                   "'");
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  step->setLinkage(llvm::GlobalValue::ExternalLinkage);
  step->setName(rt::stepSymbol);
  return llvm::Error::success();
}

static llvm::Error compileObject(ModuleOp plan, StringRef program,
                                 llvm::TargetMachine &machine,
                                 CodeEffort effort,
                                 llvm::raw_pwrite_stream &out) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(plan, context);
  if (!module)
    return llvm::createStringError("the plan does not translate to LLVM IR");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  if (llvm::Error error = exportStep(*module, program))
    return error;
  auto optimize = makeOptimizingTransformer(unsigned(levelOf(effort)),
                                            /*sizeLevel=*/0, &machine);
  if (llvm::Error error = optimize(module.get()))
    return error;
  llvm::legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, out, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("no object files for " +
                                   machine.getTargetTriple().str());
  codegen.run(*module);
  return llvm::Error::success();
}

namespace {

/// A file in the system's folder for temporary files, removed with its owner.
class TemporaryFile {
public:
  llvm::Error create(StringRef suffix) {
    int descriptor = 0;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile(
            "tpsp-plan", suffix, descriptor, path))
      return llvm::createStringError(code, "cannot make a temporary file: " +
                                               code.message());
    remover.setFile(path);
    stream.emplace(descriptor, /*shouldClose=*/true);
    return llvm::Error::success();
  }

  llvm::raw_fd_ostream &out() { return *stream; }
  /// Ends writing, and reports a failed write.
  llvm::Error close() {
    stream->close();
    std::error_code code = stream->error();
    stream->clear_error();
    return code ? llvm::createStringError(code, "cannot write '" + path +
                                                    "': " + code.message())
                : llvm::Error::success();
  }
  const char *name() { return path.c_str(); }

private:
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
  std::optional<llvm::raw_fd_ostream> stream;
};

} // namespace

/// Links an object file to a shared object, and returns its bytes.
static llvm::Expected<std::string> linkObject(const char *object) {
  TemporaryFile linked;
  if (llvm::Error error = linked.create("so"))
    return error;
  if (llvm::Error error = linked.close())
    return error;
  // The runtime's calls stay undefined: the process that loads the object
  // defines them.
  const char *arguments[] = {
      "ld.lld", "-shared",       "-z", "now",         "-z",
      "relro",  "--gc-sections", "-o", linked.name(), object};
  std::string said;
  llvm::raw_string_ostream messages(said);
  lld::Result result = lld::lldMain(arguments, messages, messages,
                                    {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return llvm::createStringError("the plan does not link: " + said);
  auto bytes = llvm::MemoryBuffer::getFile(linked.name());
  if (!bytes)
    return llvm::createStringError(bytes.getError(),
                                   "cannot read what was linked");
  return (*bytes)->getBuffer().str();
}

llvm::Error tpsp::emitPlan(CompiledModel &model,
                           rt::PlanDescription description, StringRef processor,
                           CodeEffort effort, const std::string &path) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  ModuleOp module = *model.module;
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  PassManager pm(module.getContext());
  buildLLVMPipeline(pm);
  if (failed(pm.run(module)))
    return llvm::createStringError("the plan does not lower to machine code");

  llvm::Triple triple(llvm::sys::getProcessTriple());
  description.processor =
      processor.empty() ? ownLevel(triple) : processor.str();
  auto machine = machineFor(triple, description.processor, effort);
  if (!machine)
    return machine.takeError();
  TemporaryFile object;
  if (llvm::Error error = object.create("o"))
    return error;
  if (llvm::Error error = compileObject(module, model.plan->program, **machine,
                                        effort, object.out()))
    return error;
  if (llvm::Error error = object.close())
    return error;
  llvm::Expected<std::string> shared = linkObject(object.name());
  if (!shared)
    return shared.takeError();
  if (llvm::Error error = checkPlanSymbols({*shared, path}))
    return error;
  rt::Status status = rt::writePlan(path, *shared, description);
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(status.message());
}
