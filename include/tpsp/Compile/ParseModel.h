/// Parses a model's file, selects its function, and changes its mesh, extents
/// and element type.
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

/// An error with the text of llvm::formatv.
template <typename... Args>
llvm::Error formatError(const char *format, const Args &...args) {
  return llvm::createStringError(llvm::formatv(format, args...));
}

/// Whether the options change the mesh, the extents or the padding of the
/// program's file.
bool isRevised(const CompileOptions &options);

/// Parses the file. Diagnostics go to the context's handler, and the error is a
/// summary. If `isRevised`, the file's axes need not divide the file's extents.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseModel(mlir::MLIRContext &context, llvm::StringRef path,
           bool isRevised = false);

/// The function called `name` or, if `name` is empty, the only function that is
/// not private. Makes the other functions private.
llvm::Expected<mlir::func::FuncOp> selectFunction(mlir::ModuleOp module,
                                                  llvm::StringRef name);

/// Adds the passes that give a program another mesh ("tp=4"), other extents
/// ("s=8192") and another element type. Empty options leave the program's own.
void addConfiguration(mlir::OpPassManager &pm, llvm::ArrayRef<std::string> mesh,
                      llvm::ArrayRef<std::string> extents,
                      const std::string &dtype);

} // namespace tpsp

#endif // TPSP_COMPILE_PARSEMODEL_H
