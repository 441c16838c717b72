/// The results of a function with one block, while they change.
#ifndef TPSP_PASSES_PROGRAM_FUNCTIONRESULTS_H
#define TPSP_PASSES_PROGRAM_FUNCTIONRESULTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// Makes a function's type that of its arguments and of what it returns.
void updateType(mlir::func::FuncOp function);

/// Values that a function is to return, with the attributes of each.
struct FunctionResults {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;

  FunctionResults() = default;
  /// What `function` returns.
  explicit FunctionResults(mlir::func::FuncOp function);

  void add(mlir::Value value, mlir::DictionaryAttr attribute) {
    values.push_back(value);
    attributes.push_back(attribute);
  }
  /// Adds one that is called `name`, and carries the unit attribute `mark`.
  void addMarked(mlir::Value value, llvm::StringRef name, llvm::StringRef mark);
  /// Makes `function` return them. They are values of its block.
  void setOf(mlir::func::FuncOp function) const;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_FUNCTIONRESULTS_H
