// Index structures that do not depend on the operation: by name, and of views.
#include "SplitParts.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

static int64_t elementBytes(RankedTensorType type) {
  return (type.getElementTypeBitWidth() + 7) / 8;
}

static IndexStructure::Tensor bare(RankedTensorType type) {
  IndexStructure::Tensor tensor;
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.elementBytes = elementBytes(type);
  return tensor;
}

IndexStructure tpsp::structureByName(Operation *op) {
  auto indexed = cast<IndexedOpInterface>(op);
  IndexStructure structure;
  structure.linearity = indexed.getLinearity();
  structure.reduction = indexed.getReduction();
  structure.selects = indexed.selects();
  auto loop = dyn_cast<LoopOpInterface>(op);
  structure.usesPositions = (loop && !loop.getPositionIndices().empty()) ||
                            isa<RandomOpInterface>(op);
  auto tensorOf = [&](Type type) {
    auto tensorType = cast<RankedTensorType>(type);
    IndexStructure::Tensor tensor = bare(tensorType);
    for (auto [name, extent] :
         llvm::zip_equal(getIdx(type).getNames(), tensorType.getShape()))
      tensor.indices.push_back(structure.intern(name.getValue(), extent));
    return tensor;
  };
  for (Type type : op->getOperandTypes())
    structure.operands.push_back(tensorOf(type));
  for (Type type : op->getResultTypes())
    structure.results.push_back(tensorOf(type));
  for (StringRef name : indexed.getWholeIndices())
    for (IndexStructure::Index &index : structure.indices)
      if (index.name == name)
        index.whole = true;
  return structure;
}

//===----------------------------------------------------------------------===//
// Views: dimensions correspond in place
//===----------------------------------------------------------------------===//

IndexStructure tpsp::structureByPosition(RankedTensorType operand,
                                         RankedTensorType result) {
  IndexStructure structure;
  structure.linearity = Linearity::Joint;
  structure.selects = true;
  structure.operands.push_back(bare(operand));
  structure.results.push_back(bare(result));
  for (auto [name, extent] :
       llvm::zip_equal(getIdx(operand).getNames(), operand.getShape())) {
    structure.indices.push_back({name.getValue().str(), extent, false});
    IndexId index = structure.indices.size() - 1;
    structure.operands[0].indices.push_back(index);
    structure.results[0].indices.push_back(index);
  }
  return structure;
}

SmallVector<unsigned> tpsp::splitParts(RankedTensorType merged,
                                       RankedTensorType split) {
  IdxAttr coarse = getIdx(merged), fine = getIdx(split);
  ArrayRef<int64_t> extents = split.getShape();
  auto isKept = [&](StringAttr name) {
    return coarse.dimOf(name.getValue()) && fine.dimOf(name.getValue());
  };
  SmallVector<unsigned> counts;
  size_t next = 0;
  for (unsigned dim = 0; dim < coarse.getRank(); ++dim) {
    size_t first = next;
    bool isLast = dim + 1 == coarse.getRank();
    bool mayTakeOnes = isLast || isKept(coarse.getNames()[dim + 1]);
    int64_t product = 1;
    auto takes = [&]() {
      if (next == extents.size())
        return false;
      if (next == first)
        return true;
      if (isKept(coarse.getNames()[dim]) || isKept(fine.getNames()[next]))
        return false;
      return product < merged.getDimSize(dim) ||
             (mayTakeOnes && extents[next] == 1);
    };
    while (takes())
      product *= extents[next++];
    counts.push_back(next - first);
  }
  return counts;
}

IndexStructure tpsp::structureOfSplit(RankedTensorType merged,
                                      RankedTensorType split) {
  IndexStructure structure;
  structure.linearity = Linearity::Joint;
  structure.selects = true;
  IndexStructure::Tensor coarse = bare(merged), fine = bare(split);
  ArrayRef<StringAttr> fineNames = getIdx(split).getNames();
  for (auto [name, extent] : llvm::zip_equal(fineNames, split.getShape())) {
    fine.indices.push_back(structure.indices.size());
    structure.indices.push_back({name.getValue().str(), extent, false});
  }
  ArrayRef<IndexId> left = fine.indices;
  for (auto [dim, count] : llvm::enumerate(splitParts(merged, split))) {
    ArrayRef<IndexId> parts = left.take_front(count);
    left = left.drop_front(count);
    IndexId major = structure.indices.size();
    if (parts.empty()) // breaks (V2), and is refused by its verifier
      structure.indices.push_back({"", merged.getDimSize(dim), false});
    coarse.indices.push_back(parts.empty() ? major : parts.front());
    coarse.minors.emplace_back(parts.empty() ? parts : parts.drop_front());
  }
  structure.operands.push_back(std::move(coarse));
  structure.results.push_back(std::move(fine));
  return structure;
}
