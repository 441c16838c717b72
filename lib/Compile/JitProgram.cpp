#include "tpsp/Compile/Compiler.h"
#include "tpsp/Passes/Pipelines.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace tpsp;

JitProgram::JitProgram(std::unique_ptr<ExecutionEngine> engine)
    : engine(std::move(engine)) {}
JitProgram::JitProgram(JitProgram &&) = default;
JitProgram::~JitProgram() = default;

/// Binds the runtime's calls by name, so that the executable need not export
/// them.
static llvm::orc::SymbolMap
runtimeSymbols(llvm::orc::MangleAndInterner mangle) {
  llvm::orc::SymbolMap symbols;
#define TPSP_RT_CALL(NAME, COMMAND, NATURE)                                    \
  symbols[mangle("tpsp_rt_" #NAME)] = {                                        \
      llvm::orc::ExecutorAddr::fromPtr(&tpsp_rt_##NAME),                       \
      llvm::JITSymbolFlags::Exported};
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
  return symbols;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
hostMachine(llvm::CodeGenOptLevel level) {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(level);
  return builder->createTargetMachine();
}

llvm::CodeGenOptLevel tpsp::levelOf(CodeEffort effort) {
  return effort == CodeEffort::Full ? llvm::CodeGenOptLevel::Aggressive
                                    : llvm::CodeGenOptLevel::None;
}

llvm::Expected<JitProgram> JitProgram::create(ModuleOp plan, StringRef program,
                                              CodeEffort effort) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  MLIRContext *context = plan.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);

  PassManager pm(context);
  buildLLVMPipeline(pm);
  if (failed(pm.run(plan)))
    return llvm::createStringError("the plan does not lower to machine code");

  llvm::CodeGenOptLevel level = levelOf(effort);
  auto machine = hostMachine(level);
  if (!machine)
    return machine.takeError();
  // A variable, because the options only keep a reference to it.
  auto optimize = makeOptimizingTransformer(unsigned(level),
                                            /*sizeLevel=*/0, machine->get());
  ExecutionEngineOptions options;
  options.transformer = optimize;
  options.jitCodeGenOptLevel = level;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(plan, options, std::move(*machine));
  if (!engine)
    return engine.takeError();
  (*engine)->registerSymbols(runtimeSymbols);
  auto step = (*engine)->lookup(program);
  if (!step)
    return step.takeError();
  JitProgram result(std::move(*engine));
  result.step =
      reinterpret_cast<tpsp_rt_status (*)(tpsp_rt_rank *, int64_t)>(*step);
  return result;
}
