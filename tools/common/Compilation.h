// A model's compilation, for tools that ask it for more than a program.
#ifndef TPSP_TOOLS_COMMON_COMPILATION_H
#define TPSP_TOOLS_COMMON_COMPILATION_H

#include "Compile.h"

#include "tpsp/Compile/EmitPlan.h"
#include "tpsp/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"

namespace tpsp::tool {

/// The compiler's options, with what follows from the tool's: all that is
/// computed from other options.
CompileOptions resolved(const ToolOptions &options, const CompileUse &use);

/// The context, and where its diagnostics go.
class Compilation {
public:
  /// As in compile(). The options must outlive it.
  Compilation(const ToolOptions &options, const CompileUse &use, bool speaks);

  /// Sets the model and its description.
  rt::Status run(Progress &progress);

  /// What went wrong, with the diagnostics that nobody has heard.
  rt::Status failure(llvm::Error error);

  mlir::MLIRContext &mlirContext() { return context; }

private:
  const ToolOptions &options;
  const CompileUse use;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::string unsaid;
  llvm::raw_string_ostream elsewhere;
  mlir::SourceMgrDiagnosticHandler diagnostics;

public:
  /// Of the context.
  CompiledModel model;
  rt::PlanDescription description;
  /// Its equations and ledger, if the use is explained.
  std::string explanation;
};

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_COMPILATION_H
