#include "WrongAdjoint.h"

#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// Returns the line of an operation in the program's text; 0 if it has none.
static unsigned lineOf(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? place.getLine() : 0;
}

/// Returns the lines of the program's text that have such an operation.
static llvm::DenseSet<unsigned> linesOf(StringRef text,
                                        const std::string &mnemonic) {
  llvm::DenseSet<unsigned> lines;
  SmallVector<StringRef> all;
  text.split(all, '\n');
  for (auto [number, line] : llvm::enumerate(all))
    if (line.contains(" = tpsp." + mnemonic + " "))
      lines.insert(number + 1);
  return lines;
}

unsigned tpsp::property::tripleAdjoints(ModuleOp module,
                                        const std::string &text,
                                        const std::string &mnemonic) {
  // An adjoint has the location of its operation.
  llvm::DenseSet<unsigned> lines = linesOf(text, mnemonic);
  auto isAdjoint = [&](Operation *op) {
    return isBackward(op) && lines.contains(lineOf(op));
  };
  SmallVector<Value> given;
  module.walk([&](Operation *op) {
    if (!isAdjoint(op))
      return;
    for (Value result : op->getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result)) &&
          llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !isAdjoint(user); }))
        given.push_back(result);
  });
  for (Value value : given) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto triple =
        ScaleOp::create(builder, value.getLoc(), value.getType(),
                        ValueRange{value}, builder.getF64FloatAttr(3));
    setOrigin(triple, {.phase = Phase::Backward});
    value.replaceUsesWithIf(triple->getResult(0), [&](OpOperand &use) {
      return use.getOwner() != triple && !isAdjoint(use.getOwner());
    });
  }
  return given.size();
}
