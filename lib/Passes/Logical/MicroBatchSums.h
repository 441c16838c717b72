/// Finds the operations that make sums over micro-batches, and says how these
/// are added up.
#ifndef TPSP_PASSES_LOGICAL_MICROBATCHSUMS_H
#define TPSP_PASSES_LOGICAL_MICROBATCHSUMS_H

#include "MicroBatchShares.h"

#include "llvm/ADT/DenseSet.h"

namespace tpsp::microbatch {

/// The operations that differ from part to part, in order.
llvm::SmallVector<mlir::Operation *> repeatedOps(mlir::Block &body,
                                                 const Shares &shares);

/// Erases the operations that made counts (Shares::counts), which others have
/// replaced.
void eraseCounted(const Shares &shares);

/// How gradients of parameters are added up.
struct SumForm {
  /// Whether each part's gradients are placed before they are added up.
  bool reducesParts = false;
  /// The type of the sums of gradients of 16 bits.
  mlir::FloatType narrowSums = {};
};

class Sums {
public:
  Sums(mlir::Block &body, const Shares &shares, const SumForm &form)
      : body(body), shares(shares), form(form) {}

  bool isSummand(mlir::Value value) const {
    return shares.of(value).kind == Share::Summand;
  }

  /// Whether the operation adds summands and values that are the same in every
  /// part.
  bool addsSummands(mlir::Operation *op) const;

  /// Returns the results of `ops` that are sums with a rest besides their
  /// parts. The rest is the same in every part and is added once.
  llvm::DenseSet<mlir::Value>
  withRest(llvm::ArrayRef<mlir::Operation *> ops) const;

  /// Whether the result is the gradient of a parameter.
  static bool isGradient(mlir::Value result);

  /// The type in which a result is added up: its own, or for gradients of 16
  /// bits that of the form.
  mlir::Type elementOfSum(mlir::Value result) const;

  /// Whether each part of the result is placed.
  bool isReducedByPart(mlir::Value result) const;

  /// Lets a summand stay as it comes out: its sum is wanted, not it.
  static void propose(mlir::Value result);

private:
  mlir::Block &body;
  const Shares &shares;
  const SumForm form;
};

} // namespace tpsp::microbatch

#endif // TPSP_PASSES_LOGICAL_MICROBATCHSUMS_H
