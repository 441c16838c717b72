#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

Attribute tpsp::getResultAttr(Value value, StringRef name) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return {};
  Operation *op = result.getOwner();
  if (op->getNumResults() == 1)
    return op->getAttr(name);
  auto entries = op->getAttrOfType<ArrayAttr>(resultsAttrName);
  return entries
             ? cast<DictionaryAttr>(entries[result.getResultNumber()]).get(name)
             : Attribute();
}

static void setOrRemove(Operation *op, StringRef name, Attribute value) {
  if (value)
    op->setAttr(name, value);
  else
    op->removeAttr(name);
}

void tpsp::setResultAttr(Value result, StringRef name, Attribute value) {
  Operation *op = result.getDefiningOp();
  if (op->getNumResults() == 1)
    return setOrRemove(op, name, value);
  Builder b(op->getContext());
  SmallVector<Attribute> entries(op->getNumResults(), b.getDictionaryAttr({}));
  if (auto before = op->getAttrOfType<ArrayAttr>(resultsAttrName))
    llvm::copy(before, entries.begin());
  Attribute &entry = entries[cast<OpResult>(result).getResultNumber()];
  NamedAttrList list(cast<DictionaryAttr>(entry));
  if (value)
    list.set(name, value);
  else
    list.erase(name);
  entry = list.getDictionary(op->getContext());
  bool isEmpty = llvm::all_of(entries, [](Attribute each) {
    return cast<DictionaryAttr>(each).empty();
  });
  setOrRemove(op, resultsAttrName,
              isEmpty ? Attribute() : b.getArrayAttr(entries));
}
