#include "IndexFamilies.h"

#include "tpsp/Dialect/Tpsp/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"

using namespace mlir;
using namespace tpsp;

IndexFamilies::IndexFamilies(ModuleOp module) {
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      add(result.getType());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          add(argument.getType());
    if (auto rename = dyn_cast<RenameOp>(op))
      join(rename->getOperand(0).getType(), rename->getResult(0).getType());
  });
  for (auto &[name, values] : extents)
    all[familyOf(name)].insert(values.begin(), values.end());
}

SmallVector<StringRef> IndexFamilies::names() const {
  SmallVector<StringRef> names;
  for (const auto &[name, values] : extents)
    names.push_back(name);
  return names;
}

void IndexFamilies::add(Type type) {
  if (!getIdx(type))
    return;
  auto shape = cast<RankedTensorType>(type).getShape();
  for (auto [name, extent] : llvm::zip_equal(indexNames(type), shape)) {
    families.insert(name);
    extents[name].insert(extent);
  }
}

void IndexFamilies::join(Type one, Type other) {
  add(other);
  for (auto [from, to] : llvm::zip_equal(indexNames(one), indexNames(other)))
    families.unionSets(from, to);
}
