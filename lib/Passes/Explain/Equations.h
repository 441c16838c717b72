/// A program as equations between the tensors as they lie, and what moves for
/// each.
///
///   y[b, s, e@tp] = w[e@tp, d] · x[b, s@tp, d]
///     > all_gather x[b, s@tp, d] -> [b, s, d]
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONS_H
#define TPSP_PASSES_EXPLAIN_EQUATIONS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// A tensor in one of its placements.
struct EquationTensor {
  /// The value that has the name, before collectives moved it.
  mlir::Value named;
  mlir::RankedTensorType type;
};

struct Equation {
  /// Null for collectives that only the function's result waits for.
  mlir::Operation *op = nullptr;
  /// "forward", "backward, micro-batch 1"
  std::string phase;
  llvm::SmallVector<EquationTensor, 1> results;
  llvm::SmallVector<EquationTensor> operands;
  /// Stands between the operands: "·" or "+"; "" for a function of them.
  llvm::StringRef sign;
  /// "rms_norm"; "rms_norm'" for parts of its adjoint in one.
  std::string function;
  /// The function's attributes: "rate=0.1", "causal".
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  /// The collectives that move tensors for the equation, in the order in which
  /// they run.
  llvm::SmallVector<CollectiveOpInterface> collectives;
  /// Operands as they are used, where something before has moved them.
  llvm::SmallVector<EquationTensor> present;

  bool isCollectiveAlone() const { return !op; }
};

/// The value that collectives on one tensor made `value` of; `value` itself if
/// there is no such collective.
mlir::Value sourceOfMoved(mlir::Value value);
/// Like sourceOfMoved(), but also follows collectives on several tensors.
mlir::Value namedValue(mlir::Value value);

/// The equations of a function's block, in order. The parts of an adjoint that
/// only it reads are one equation, unless `showsParts`.
std::vector<Equation> equationsOf(mlir::FunctionOpInterface function,
                                  bool showsParts);

/// "rate=0.1"
std::string textOf(mlir::NamedAttribute attribute);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONS_H
