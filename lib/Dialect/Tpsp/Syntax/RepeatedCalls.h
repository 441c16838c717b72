/// Consecutive calls that the short form writes as one. They have the same
/// callee. Their last operands are parameters of the caller, whose names differ
/// only in a number.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_REPEATEDCALLS_H
#define TPSP_DIALECT_TPSP_SYNTAX_REPEATEDCALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <string>
#include <vector>

namespace tpsp {

/// A call of the short form, possibly repeated.
struct RepeatedCall {
  /// "h.#.*"
  std::string names;
  int64_t first = 0, times = 1;
  /// The number of operands that are written; the others are the caller's
  /// parameters.
  size_t given = 0;
  mlir::func::CallOp last;
};

/// The repeated calls of a module.
class RepeatedCalls {
public:
  RepeatedCalls() = default;
  explicit RepeatedCalls(mlir::ModuleOp module);

  /// The repetition that begins with this call; null if the call is written as
  /// it is.
  const RepeatedCall *beginningWith(mlir::Operation *call) const {
    auto found = runs.find(call);
    return found == runs.end() ? nullptr : &found->second;
  }
  /// Whether this call belongs to a repetition that began earlier.
  bool isWithin(mlir::Operation *call) const { return within.contains(call); }
  /// Whether a call introduces this argument of its function.
  bool isBrought(mlir::Value argument) const {
    return brought.contains(argument);
  }
  /// The names that a function has for its last arguments, if its calls leave
  /// them out; empty for other functions.
  llvm::ArrayRef<std::string> parametersOf(mlir::func::FuncOp callee) const {
    auto found = parameters.find(callee.getOperation());
    return found == parameters.end() ? llvm::ArrayRef<std::string>()
                                     : llvm::ArrayRef(found->second);
  }

private:
  void begin(mlir::func::CallOp call, mlir::func::FuncOp callee);
  bool goesOn(const RepeatedCall &run, mlir::func::CallOp next,
              llvm::ArrayRef<std::string> own) const;

  std::map<mlir::Operation *, RepeatedCall> runs;
  std::map<mlir::Operation *, std::vector<std::string>> parameters;
  llvm::DenseSet<mlir::Operation *> within;
  llvm::DenseSet<mlir::Value> brought;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_REPEATEDCALLS_H
