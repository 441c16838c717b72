#include "HostCode.h"

#include "Passes/Device/DeviceImage.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Passes/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::device;

static constexpr unsigned blockMemorySpace = 3;
static constexpr int64_t dynamicBlockMemory = 99 << 10;

//===----------------------------------------------------------------------===//
// A GPU's intrinsics on a host
//===----------------------------------------------------------------------===//

namespace {

class HostPreparation {
public:
  explicit HostPreparation(llvm::Module &module)
      : module(module), context(module.getContext()) {}

  llvm::Error run() {
    for (llvm::Function &function : llvm::make_early_inc_range(module))
      if (function.getName().starts_with("llvm.nvvm."))
        if (llvm::Error e = bind(function))
          return e;
    for (llvm::Function &function : module)
      prepareFunction(function);
    for (llvm::GlobalVariable &global : module.globals())
      prepareMemory(global);
    return llvm::Error::success();
  }

private:
  llvm::Type *i32() { return llvm::Type::getInt32Ty(context); }

  /// Gives an intrinsic a body that calls the emulator.
  llvm::Error bind(llvm::Function &intrinsic) {
    StringRef name = intrinsic.getName();
    auto *body = llvm::Function::Create(intrinsic.getFunctionType(),
                                        llvm::GlobalValue::InternalLinkage,
                                        "emulated." + name, module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", body));
    if (name == "llvm.nvvm.read.ptx.sreg.tid.x")
      b.CreateRet(call(b, "tpsp_device_thread", i32(), {}));
    else if (name == "llvm.nvvm.read.ptx.sreg.ctaid.x")
      b.CreateRet(call(b, "tpsp_device_block", i32(), {}));
    else if (name == "llvm.nvvm.read.ptx.sreg.ctaid.y")
      b.CreateRet(call(b, "tpsp_device_part", i32(), {}));
    else if (name == "llvm.nvvm.read.ptx.sreg.ntid.x")
      b.CreateRet(call(b, "tpsp_device_threads", i32(), {}));
    else if (name.starts_with("llvm.nvvm.barrier"))
      call(b, "tpsp_device_barrier", b.getVoidTy(), {}), b.CreateRetVoid();
    else if (name.starts_with("llvm.nvvm.shfl.sync.bfly"))
      b.CreateRet(shuffled(b, *body, "tpsp_device_shuffle"));
    else if (name.starts_with("llvm.nvvm.shfl.sync.idx"))
      b.CreateRet(shuffled(b, *body, "tpsp_device_value_of"));
    else if (name == "llvm.nvvm.match.any.sync.i32")
      b.CreateRet(call(b, "tpsp_device_match", i32(), {body->getArg(1)}));
    else if (name == "llvm.nvvm.bar.warp.sync")
      call(b, "tpsp_device_match", i32(), {b.getInt32(0)}), b.CreateRetVoid();
    else
      return llvm::createStringError("the emulator lacks " + name);
    intrinsic.replaceAllUsesWith(body);
    intrinsic.eraseFromParent();
    return llvm::Error::success();
  }

  llvm::Value *call(llvm::IRBuilder<> &b, StringRef name, llvm::Type *result,
                    ArrayRef<llvm::Value *> arguments) {
    SmallVector<llvm::Type *> types(arguments.size(), i32());
    return b.CreateCall(
        module.getOrInsertFunction(
            name, llvm::FunctionType::get(result, types, /*isVarArg=*/false)),
        arguments);
  }

  /// (mask, value, distance, clamp) -> value, or {value, true}.
  llvm::Value *shuffled(llvm::IRBuilder<> &b, llvm::Function &body,
                        StringRef how) {
    llvm::Value *value = body.getArg(1);
    llvm::Value *other =
        call(b, how, i32(), {b.CreateBitCast(value, i32()), body.getArg(2)});
    other = b.CreateBitCast(other, value->getType());
    if (!body.getReturnType()->isStructTy())
      return other;
    llvm::Value *both = llvm::PoisonValue::get(body.getReturnType());
    both = b.CreateInsertValue(both, other, 0);
    return b.CreateInsertValue(both, b.getTrue(), 1);
  }

  void prepareFunction(llvm::Function &function) {
    function.setCallingConv(llvm::CallingConv::C);
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto *narrowing = dyn_cast<llvm::FPTruncInst>(&instruction))
        if (narrowing->getDestTy()->isBFloatTy())
          expand(narrowing);
  }

  /// Expands a truncation to the nearest bf16, ties to even. Otherwise hosts
  /// would call a library for it.
  static void expand(llvm::FPTruncInst *narrowing) {
    llvm::IRBuilder<> b(narrowing);
    llvm::Value *value = narrowing->getOperand(0);
    llvm::Value *bits = b.CreateBitCast(value, b.getInt32Ty());
    llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
    llvm::Value *rounded =
        b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
    rounded = b.CreateTrunc(b.CreateLShr(rounded, 16), b.getInt16Ty());
    llvm::Value *isNan = b.CreateFCmpUNO(value, value);
    rounded = b.CreateSelect(isNan, b.getInt16(0x7fff), rounded);
    narrowing->replaceAllUsesWith(b.CreateBitCast(rounded, b.getBFloatTy()));
    narrowing->eraseFromParent();
  }

  /// Makes a block's memory external, because other threads may change it
  /// during calls.
  void prepareMemory(llvm::GlobalVariable &global) {
    if (global.getAddressSpace() != blockMemorySpace)
      return;
    global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    global.setVisibility(llvm::GlobalValue::DefaultVisibility);
    if (global.isDeclaration() || isEmpty(global))
      enlarge(global);
    else
      global.setInitializer(
          llvm::Constant::getNullValue(global.getValueType()));
  }

  static bool isEmpty(llvm::GlobalVariable &global) {
    auto *array = dyn_cast<llvm::ArrayType>(global.getValueType());
    return array && array->getNumElements() == 0;
  }

  /// Memory that the launch sizes gets the largest possible size.
  void enlarge(llvm::GlobalVariable &global) {
    auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context),
                                      dynamicBlockMemory);
    auto *whole = new llvm::GlobalVariable(
        module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
        llvm::Constant::getNullValue(type), "", nullptr,
        llvm::GlobalValue::NotThreadLocal, blockMemorySpace);
    whole->setAlignment(llvm::Align(16));
    whole->takeName(&global);
    global.replaceAllUsesWith(whole);
    dead.push_back(&global);
  }

public:
  void eraseDead() {
    for (llvm::GlobalVariable *global : dead)
      global->eraseFromParent();
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
  SmallVector<llvm::GlobalVariable *> dead;
};

} // namespace

/// run.NAME(parameters): loads the parameters and calls NAME.
static void addCaller(llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *caller = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
      llvm::GlobalValue::ExternalLinkage, "run." + function.getName(),
      function.getParent());
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", caller));
  SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : function.args()) {
    llvm::Value *slot =
        b.CreateConstGEP1_64(pointer, caller->getArg(0), argument.getArgNo());
    llvm::Value *address = b.CreateLoad(pointer, slot);
    arguments.push_back(b.CreateLoad(argument.getType(), address));
  }
  b.CreateCall(&function, arguments);
  b.CreateRetVoid();
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

/// LLVM calls this if the processor has no instruction for it; not every libgcc
/// provides it. The bf16 is in the low bits of a float's register.
static float truncateToBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = value != value ? bits >> 16 | 0x40
                        : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

static llvm::orc::SymbolMap emulatorSymbols(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
  add("__truncsfbf2", &truncateToBF16);
  add("tpsp_device_thread", &tpsp_device_thread);
  add("tpsp_device_block", &tpsp_device_block);
  add("tpsp_device_part", &tpsp_device_part);
  add("tpsp_device_threads", &tpsp_device_threads);
  add("tpsp_device_barrier", &tpsp_device_barrier);
  add("tpsp_device_shuffle", &tpsp_device_shuffle);
  add("tpsp_device_value_of", &tpsp_device_value_of);
  add("tpsp_device_match", &tpsp_device_match);
  return symbols;
}

llvm::Expected<std::unique_ptr<HostCode>>
HostCode::create(std::unique_ptr<llvm::LLVMContext> context,
                 std::unique_ptr<llvm::Module> module) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto result = std::make_unique<HostCode>();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  // Code runs once, on few elements. Optimising it would take longer.
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*builder))
                 .create();
  if (!jit)
    return jit.takeError();
  module->setDataLayout((*jit)->getDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  HostPreparation preparation(*module);
  if (llvm::Error e = preparation.run())
    return e;
  preparation.eraseDead();

  std::vector<std::string> names;
  for (llvm::Function &function : *module)
    if (!function.isDeclaration() && !function.hasInternalLinkage())
      names.push_back(function.getName().str());
  for (const std::string &name : names)
    addCaller(*module->getFunction(name));
  std::vector<std::pair<std::string, size_t>> memory;
  for (llvm::GlobalVariable &global : module->globals())
    if (global.getAddressSpace() == blockMemorySpace)
      memory.push_back(
          {global.getName().str(),
           module->getDataLayout().getTypeAllocSize(global.getValueType())});
  auto optimize = makeOptimizingTransformer(0, 0, machine->get());
  if (llvm::Error e = optimize(module.get()))
    return e;
  if (llvm::Error e = (*jit)->getMainJITDylib().define(
          llvm::orc::absoluteSymbols(emulatorSymbols(**jit))))
    return e;
  auto generator =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          (*jit)->getDataLayout().getGlobalPrefix());
  if (!generator)
    return generator.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*generator));
  if (llvm::Error e = (*jit)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return e;
  for (const std::string &name : names) {
    auto address = (*jit)->lookup("run." + name);
    if (!address)
      return address.takeError();
    result->functions[name] = address->toPtr<Function>();
  }
  for (auto &[name, bytes] : memory) {
    auto address = (*jit)->lookup(name);
    if (!address)
      return address.takeError();
    result->blockMemory.push_back({address->toPtr<void *>(), bytes});
  }
  result->jit = std::move(*jit);
  return result;
}

void HostCode::poisonBlockMemory() const {
  for (const Memory &memory : blockMemory)
    std::memset(memory.address, 0xff, memory.bytes);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static llvm::Error runPasses(ModuleOp module,
                             llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(module.getContext());
  build(manager);
  if (succeeded(manager.run(module)))
    return llvm::Error::success();
  return llvm::createStringError("the kernels do not lower");
}

llvm::Expected<std::unique_ptr<HostCode>>
tpsp::device::hostKernels(ModuleOp plan) {
  OwningOpRef<ModuleOp> copy(plan.clone());
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody()))
    if (!isa<func::FuncOp>(op))
      op.erase();
  if (llvm::Error e = runPasses(*copy, buildLLVMPipeline))
    return e;
  registerBuiltinDialectTranslation(*plan.getContext());
  registerLLVMDialectTranslation(*plan.getContext());
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = translateModuleToLLVMIR(*copy, *context);
  if (!module)
    return llvm::createStringError("the kernels are not LLVM functions");
  return HostCode::create(std::move(context), std::move(module));
}

llvm::Expected<std::unique_ptr<DeviceCode>> DeviceCode::create(ModuleOp plan) {
  auto source = plan.lookupSymbol<gpu::GPUModuleOp>(deviceModuleName);
  if (!source) {
    bool calls = false;
    plan.walk([&](plan::KernelOp) { calls = true; });
    if (calls)
      return llvm::createStringError("the plan has no device kernels; compile "
                                     "it with device=cuda");
    return std::make_unique<DeviceCode>();
  }
  OwningOpRef<ModuleOp> copy(ModuleOp::create(plan.getLoc()));
  copy->push_back(source->clone());
  if (llvm::Error e = runPasses(*copy, buildDevicePipeline))
    return e;
  auto module = copy->lookupSymbol<gpu::GPUModuleOp>(deviceModuleName);
  auto result = std::make_unique<DeviceCode>();
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
    if (unavailableInstruction(kernel)) {
      kernel.erase();
    } else if (!kernel.isExternal()) {
      result->launches[kernel.getSymName()] = tpsp::launchOf(kernel);
      result->entries.push_back(
          {kernel.getSymName().str(), kernel.getNumArguments()});
    }
  auto context = std::make_unique<llvm::LLVMContext>();
  auto translated = translateModuleToLLVMIR(module, *context);
  if (!translated)
    return llvm::createStringError("the device kernels are not in the LLVM and "
                                   "NVVM dialects yet");
  auto code = HostCode::create(std::move(context), std::move(translated));
  if (!code)
    return code.takeError();
  result->code = std::move(*code);
  return result;
}

std::string DeviceCode::launch(StringRef entry, BlockNumber grid,
                               int64_t threads, void **parameters,
                               ThreadOrder order) {
  std::lock_guard<std::mutex> lock(turn);
  HostCode::Function function = code->lookup(entry);
  if (!function)
    return "no kernel is called " + entry.str();
  for (int64_t block = 0; block < grid.x * grid.y; ++block) {
    code->poisonBlockMemory();
    std::string error = runBlock({block % grid.x, block / grid.x}, threads,
                                 order, [&] { function(parameters); });
    if (!error.empty())
      return entry.str() + ": " + error;
  }
  return "";
}
