/// Marks operations that passes on local shapes build in place of another.
#ifndef TPSP_PASSES_LOCAL_PHASEMARK_H
#define TPSP_PASSES_LOCAL_PHASEMARK_H

#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/Builders.h"

namespace tpsp {

/// Gives new operations the phase of the operation that they replace, and no
/// name.
class PhaseMark : public mlir::OpBuilder::Listener {
public:
  /// The operations built from now on are for `op`.
  void follow(mlir::Operation *op) {
    for (auto &[name, value] : marks)
      value = op->getAttr(name);
  }

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    for (auto &[name, value] : marks)
      if (value)
        op->setAttr(name, value);
    op->setLoc(withoutSourceName(op->getLoc()));
  }

private:
  std::pair<llvm::StringLiteral, mlir::Attribute> marks[2] = {
      {backwardAttrName, {}}, {partAttrName, {}}};
};

} // namespace tpsp

#endif // TPSP_PASSES_LOCAL_PHASEMARK_H
