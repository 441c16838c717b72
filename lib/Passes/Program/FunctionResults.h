/// Changes the results of a function with one block.
#ifndef TPSP_PASSES_PROGRAM_FUNCTIONRESULTS_H
#define TPSP_PASSES_PROGRAM_FUNCTIONRESULTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// Sets a function's type from its arguments and the values that it returns.
void updateType(mlir::func::FuncOp function);

/// Values that a function will return, with the attributes of each.
struct FunctionResults {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;

  FunctionResults() = default;
  /// The values that `function` returns.
  explicit FunctionResults(mlir::func::FuncOp function);

  void add(mlir::Value value, mlir::DictionaryAttr attribute) {
    values.push_back(value);
    attributes.push_back(attribute);
  }
  /// Adds a value with the name `name` and the unit attribute `mark`.
  void addMarked(mlir::Value value, llvm::StringRef name, llvm::StringRef mark);
  /// Makes `function` return these values, which belong to its block.
  void setOf(mlir::func::FuncOp function) const;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_FUNCTIONRESULTS_H
