/// Symbols that a plan's code may call, tested on objects of a few lines.
#include "Compile/PlanSymbols.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <gmock/gmock.h>

using namespace tpsp;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Returns the object of a function that calls these, each without arguments.
llvm::SmallString<0> objectCalling(llvm::ArrayRef<const char *> names) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::string text = "define void @step() {\n", declarations;
  for (std::string name : names) {
    text += "  call void @" + name + "()\n";
    declarations += "declare void @" + name + "()\n";
  }
  text += "  ret void\n}\n" + declarations;
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "generic", "", llvm::TargetOptions(), llvm::Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager codegen;
  EXPECT_FALSE(machine->addPassesToEmitFile(codegen, out, nullptr,
                                            llvm::CodeGenFileType::ObjectFile));
  codegen.run(*module);
  return object;
}

std::string problemOf(llvm::StringRef object) {
  return llvm::toString(checkPlanSymbols({object, "plan"}));
}

TEST(PlanSymbolsTest, TheRuntimeAndTheCLibraryMayBeCalled) {
  EXPECT_EQ(problemOf(objectCalling({"tpsp_rt_matmul", "tpsp_rt_event_wait",
                                     "expf", "erf", "memset", "memcpy"})),
            "");
  EXPECT_EQ(problemOf(objectCalling({})), "");
}

TEST(PlanSymbolsTest, AnythingElseIsNamed) {
  std::string problem = problemOf(
      objectCalling({"expf", "planted", "tpsp_rt_matmul", "tpsp_rt_planted"}));
  EXPECT_THAT(problem, HasSubstr("its code calls 'planted', "
                                 "'tpsp_rt_planted', which neither the runtime "
                                 "nor the C library has"));
  EXPECT_THAT(problem, Not(HasSubstr("matmul")));
}

/// This process has the symbol, but a process that loads the plan lacks it.
TEST(PlanSymbolsTest, WhatOnlyTheCompilerHasIsNamed) {
  EXPECT_THAT(problemOf(objectCalling({"LLVMContextCreate"})),
              HasSubstr("'LLVMContextCreate'"));
}

TEST(PlanSymbolsTest, WhatIsNoObjectIsSaid) {
  EXPECT_NE(problemOf("not an object"), "");
}

} // namespace
