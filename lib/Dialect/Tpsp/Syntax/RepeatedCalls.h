/// Calls that the short form writes as one. They follow each other and have one
/// callee. Their last operands are the caller's parameters, called alike but
/// for a number.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_REPEATEDCALLS_H
#define TPSP_DIALECT_TPSP_SYNTAX_REPEATEDCALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <string>
#include <vector>

namespace tpsp {

/// One call of the short form.
struct RepeatedCall {
  /// "h.#.*"
  std::string names;
  int64_t first = 0, times = 1;
  /// How many operands are written; the others are the caller's parameters.
  size_t given = 0;
  mlir::func::CallOp last;
};

/// Those of a module.
class RepeatedCalls {
public:
  RepeatedCalls() = default;
  explicit RepeatedCalls(mlir::ModuleOp module);

  /// What begins with this call; null if it is written as it is.
  const RepeatedCall *beginningWith(mlir::Operation *call) const {
    auto found = runs.find(call);
    return found == runs.end() ? nullptr : &found->second;
  }
  /// Whether a repetition before it has this call.
  bool isWithin(mlir::Operation *call) const { return within.contains(call); }
  /// Whether a call brings this argument of its function.
  bool isBrought(mlir::Value argument) const {
    return brought.contains(argument);
  }
  /// What a function calls its last arguments where its calls leave them out;
  /// empty for others.
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
