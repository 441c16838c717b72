#include "IndexFamilies.h"

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

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
    // A view of equal shape renames each dimension.
    if (auto view = dyn_cast<IndexedOpInterface>(op); view && view.isView()) {
      RankedTensorType from = typeOf(view->getOperand(0)),
                       to = typeOf(view->getResult(0));
      if (from.getShape() == to.getShape())
        join(from, to);
    }
  });
  for (auto &[name, values] : extents)
    all[familyOf(name)].insert(values.begin(), values.end());
}

StringRef IndexFamilies::familyOf(StringRef name) const {
  auto leader = families.findLeader(name);
  return leader == families.member_end() ? name : *leader;
}

ArrayRef<int64_t> IndexFamilies::extentsOf(StringRef family) const {
  auto found = all.find(family);
  return found == all.end() ? ArrayRef<int64_t>() : found->second.getArrayRef();
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
