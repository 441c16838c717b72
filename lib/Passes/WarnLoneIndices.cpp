// tpsp-warn-lone-indices: an index that is misspelt is summed away.
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_WARNLONEINDICES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The operand that alone carries `name`, if one does and the result does not.
std::optional<unsigned> loneCarrier(Operation *op, StringRef name) {
  if (getIdx(op->getResult(0)).dimOf(name))
    return std::nullopt;
  std::optional<unsigned> carrier;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!getIdx(operand.get()).dimOf(name))
      continue;
    if (carrier)
      return std::nullopt;
    carrier = operand.getOperandNumber();
  }
  return carrier;
}

void warn(IndexedOpInterface op) {
  if (!op.isSumOfProducts() || op->getNumOperands() < 2)
    return;
  for (Value operand : op->getOperands())
    for (StringRef name : indexNames(operand.getType()))
      if (std::optional<unsigned> carrier = loneCarrier(op, name))
        op->emitWarning("index '")
            << name << "' is on operand #" << *carrier
            << " alone, and is summed over before the product; if that is "
               "meant, a tpsp.reduce of the operand says so";
}

struct WarnLoneIndices
    : public tpsp::impl::WarnLoneIndicesBase<WarnLoneIndices> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](IndexedOpInterface op) { warn(op); });
  }
};

} // namespace
