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
    followed = op->getDiscardableAttrDictionary();
  }

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    for (llvm::StringRef name : phaseAttrNames)
      if (mlir::Attribute mark = followed.get(name))
        op->setAttr(name, mark);
    op->setLoc(withoutSourceName(op->getLoc()));
  }

private:
  mlir::DictionaryAttr followed;
};

} // namespace tpsp

#endif // TPSP_PASSES_LOCAL_PHASEMARK_H
