// A model's compilation, for tools that need more than the program.
#ifndef TPSP_TOOLS_COMMON_COMPILATION_H
#define TPSP_TOOLS_COMMON_COMPILATION_H

#include "Compile.h"

#include "tpsp/Compile/EmitPlan.h"
#include "tpsp/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"

namespace tpsp::tool {

/// Returns the compiler's options, with every option set that follows from the
/// tool's options and the use.
CompileOptions resolved(const ToolOptions &options, const CompileUse &use);

/// The value of --code-effort.
CodeEffort effortOf(const ToolOptions &options);

/// Owns the MLIR context and the destination of its diagnostics.
class Compilation {
public:
  /// `use` and `speaks` are as in compile(). `options` must outlive this
  /// object.
  Compilation(const ToolOptions &options, const CompileUse &use, bool speaks);

  /// Compiles options.model and sets `model`, `description` and `explanation`.
  rt::Status run(Progress &progress);

  /// Finds the parts of options.model that can be compiled alone.
  rt::Status findParts(ModelParts &out);

  /// Returns the error as a status, preceded by the diagnostics that have not
  /// been printed.
  rt::Status failure(llvm::Error error);

  mlir::MLIRContext &mlirContext() { return context; }

private:
  llvm::Expected<CompiledModel> compileAs(const CompileOptions &compile,
                                          const CompileProgress &report);

  const ToolOptions &options;
  const CompileUse use;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::string unsaid;
  llvm::raw_string_ostream elsewhere;
  mlir::SourceMgrDiagnosticHandler diagnostics;

public:
  /// Belongs to the context.
  CompiledModel model;
  rt::PlanDescription description;
  /// The program's equations and ledger, if use.isExplained.
  std::string explanation;
};

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_COMPILATION_H
