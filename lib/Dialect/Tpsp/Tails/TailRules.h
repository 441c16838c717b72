/// The form of rules for padded indices, and their registration.
#ifndef TPSP_DIALECT_TPSP_TAILS_TAILRULES_H
#define TPSP_DIALECT_TPSP_TAILS_TAILRULES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Tails/TailInterface.h"

namespace tpsp {

/// The arguments and the result of TailOpInterface::carryTail.
struct TailCase {
  mlir::Operation *op;
  llvm::StringRef index;
  llvm::MutableArrayRef<Tail> operands;
  Tail &result;

  /// Whether operand `i` carries the index.
  bool carries(unsigned i) const {
    return getIdx(op->getOperand(i)).dimOf(index).has_value();
  }
  bool isKept() const {
    return getIdx(op->getResult(0)).dimOf(index).has_value();
  }
  /// Requires zeros in place of low tails, with which arithmetic is not
  /// possible.
  void raise() const {
    for (Tail &tail : operands)
      if (tail.isLow())
        tail = Tail::zero();
  }
  /// Whether all operands carry the index and have zero tails.
  bool areZero() const {
    for (unsigned i = 0; i < operands.size(); ++i)
      if (!carries(i) || !operands[i].isZero())
        return false;
    return !operands.empty();
  }
  /// The result is zero if all operands are, else finite.
  llvm::StringRef keepZero() const {
    raise();
    result = areZero() ? Tail::zero() : Tail();
    return "";
  }
  /// The result is finite.
  llvm::StringRef keepFinite() const {
    raise();
    result = Tail();
    return "";
  }
};

/// Whether integers are known to be below `bound`.
bool areBelow(mlir::Value integers, int64_t bound);

using TailRule = llvm::StringRef(const TailCase &);

template <typename Op, TailRule *rule>
struct TailModel
    : public TailOpInterface::ExternalModel<TailModel<Op, rule>, Op> {
  llvm::StringRef carryTail(mlir::Operation *op, llvm::StringRef index,
                            llvm::MutableArrayRef<Tail> operands,
                            Tail &result) const {
    return rule({op, index, operands, result});
  }
};

/// Attaches a rule to operations of the context.
template <TailRule *rule, typename... Ops>
void attachTails(mlir::MLIRContext &context) {
  (Ops::template attachInterface<TailModel<Ops, rule>>(context), ...);
}

/// Registers the rules of operations on single elements; of sums, rows and
/// attention; and of positions: sequences, integers, blocks.
void registerElementTails(mlir::MLIRContext &context);
void registerSumTails(mlir::MLIRContext &context);
void registerPositionTails(mlir::MLIRContext &context);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_TAILS_TAILRULES_H
