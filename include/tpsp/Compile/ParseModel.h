/// A model's file as a module, its function, and what it is to be instead.
#ifndef TPSP_COMPILE_PARSEMODEL_H
#define TPSP_COMPILE_PARSEMODEL_H

#include "tpsp/Passes/Options/CompileOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace tpsp {

/// An error that says what formatv makes of these.
template <typename... Args>
llvm::Error formatError(const char *format, const Args &...args) {
  return llvm::createStringError(llvm::formatv(format, args...));
}

/// Whether the program is to have another mesh, other extents or padding than
/// its file says.
bool isRevised(const CompileOptions &options);

/// Diagnostics go to the context's handler; the error then is a summary.
/// `isRevised`: so that the file's axes need not divide the file's extents.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseModel(mlir::MLIRContext &context, llvm::StringRef path,
           bool isRevised = false);

/// The function called `name`, or, if that is empty, the only one that is not
/// private. Makes the others private.
llvm::Expected<mlir::func::FuncOp> selectFunction(mlir::ModuleOp module,
                                                  llvm::StringRef name);

/// Adds the passes that give a program another mesh ("tp=4"), other extents
/// ("s=8192") and another element type; empty: its own.
void addConfiguration(mlir::OpPassManager &pm, llvm::ArrayRef<std::string> mesh,
                      llvm::ArrayRef<std::string> extents,
                      const std::string &dtype);

} // namespace tpsp

#endif // TPSP_COMPILE_PARSEMODEL_H
