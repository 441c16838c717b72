#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"

using namespace mlir;
using namespace tpsp;

#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.cpp.inc"

std::optional<Factors> tpsp::factorsOf(IndexedOpInterface op) {
  if (op.isSumOfProducts()) {
    if (op->getNumOperands() != 2)
      return std::nullopt;
    return Factors{op.getIndexStructure()};
  }
  auto grouped = dyn_cast<GroupedProductOpInterface>(*op);
  StringRef chosen = grouped ? grouped.getChosenIndex() : StringRef();
  if (chosen.empty())
    return std::nullopt;
  Factors factors{op.getIndexStructure(), 1, 2};
  IndexStructure &structure = factors.structure;
  structure.operands.erase(structure.operands.begin());
  factors.chosen = llvm::find_if(structure.indices,
                                 [&](const IndexStructure::Index &index) {
                                   return index.name == chosen;
                                 }) -
                   structure.indices.begin();
  return factors;
}
