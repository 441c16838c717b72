// The index structure of every operation, and the properties that go with it.
#include "tpsp/Dialect/Tpsp/SplitParts.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

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

/// The structure of an operation whose dimension i of the operand is dimension
/// i of the result, whatever the names.
static IndexStructure structureByPosition(RankedTensorType operand,
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

/// The structure of splitting `merged`'s dimensions into `split`'s, in that
/// direction; merging swaps operand and result. A merged dimension is named by
/// its major part, whose blocks are blocks of the merged dimension; the minor
/// parts must be whole.
static IndexStructure structureOfSplit(RankedTensorType merged,
                                       RankedTensorType split) {
  IndexStructure structure;
  structure.linearity = Linearity::Joint;
  structure.selects = true;
  IndexStructure::Tensor coarse = bare(merged), fine = bare(split);
  ArrayRef<StringAttr> fineNames = getIdx(split).getNames();
  auto addPart = [&](bool isMinor) {
    unsigned dim = fine.indices.size();
    fine.indices.push_back(structure.indices.size());
    structure.indices.push_back(
        {fineNames[dim].getValue().str(), split.getDimSize(dim), isMinor});
  };
  for (unsigned count : splitParts(merged, split)) {
    coarse.indices.push_back(structure.indices.size());
    for (unsigned part = 0; part < count; ++part)
      addPart(/*isMinor=*/part > 0);
  }
  while (fine.indices.size() < fineNames.size())
    addPart(/*isMinor=*/true);
  structure.operands.push_back(std::move(coarse));
  structure.results.push_back(std::move(fine));
  return structure;
}

static RankedTensorType operandType(Operation *op) {
  return cast<RankedTensorType>(op->getOperand(0).getType());
}

IndexStructure RenameOp::getIndexStructure() {
  return structureByPosition(operandType(*this), getResult().getType());
}
IndexStructure SplitOp::getIndexStructure() {
  return structureOfSplit(operandType(*this), getResult().getType());
}
IndexStructure MergeOp::getIndexStructure() {
  IndexStructure structure =
      structureOfSplit(getResult().getType(), operandType(*this));
  std::swap(structure.operands, structure.results);
  return structure;
}

bool RenameOp::isView() { return true; }
bool SplitOp::isView() { return true; }
bool MergeOp::isView() { return true; }
// The collectives that it asks for have been inserted by the time it is one.
bool ReshardOp::isView() { return true; }

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

Linearity EinsumOp::getLinearity() { return Linearity::Multi; }
bool EinsumOp::isSumOfProducts() { return true; }

Reduction ReduceOp::getReduction() {
  return getKind() == "max" ? Reduction::Max : Reduction::Sum;
}
Linearity ReduceOp::getLinearity() {
  return getKind() == "sum" ? Linearity::Joint : Linearity::None;
}

Linearity AddOp::getLinearity() { return Linearity::Joint; }
bool AddOp::isSumOfOperands() { return true; }
Linearity SubOp::getLinearity() { return Linearity::Joint; }
Linearity MulOp::getLinearity() { return Linearity::Multi; }
Linearity NegOp::getLinearity() { return Linearity::Joint; }
Linearity ScaleOp::getLinearity() { return Linearity::Joint; }
Linearity BroadcastOp::getLinearity() { return Linearity::Joint; }
Linearity ConvertOp::getLinearity() { return Linearity::Joint; }
bool ConvertOp::mixesPrecision() { return true; }
bool BroadcastOp::introducesIndices() { return true; }
bool BroadcastOp::selects() { return true; }
bool RopeMatrixOp::introducesIndices() { return true; }
Linearity OneHotEinsumOp::getLinearity() { return Linearity::Multi; }
bool OneHotEinsumOp::introducesIndices() { return true; }
Linearity EmbeddingOp::getLinearity() { return Linearity::Multi; }
Linearity MeanOp::getLinearity() { return Linearity::Joint; }
bool DispatchOp::introducesIndices() { return true; }
bool RouterOp::introducesIndices() { return true; }
Linearity DropoutOp::getLinearity() { return Linearity::Joint; }
bool DropoutMaskOp::introducesIndices() { return true; }
Linearity ApplyMaskOp::getLinearity() { return Linearity::Multi; }
Linearity StopGradientOp::getLinearity() { return Linearity::Joint; }
bool StopGradientOp::isView() { return true; }
bool StopGradientOp::stopsGradient() { return true; }
Linearity RopeOp::getLinearity() { return Linearity::Joint; }
Linearity RenameOp::getLinearity() { return Linearity::Joint; }
Linearity SplitOp::getLinearity() { return Linearity::Joint; }
Linearity MergeOp::getLinearity() { return Linearity::Joint; }
Linearity ReshardOp::getLinearity() { return Linearity::Joint; }

SmallVector<StringRef> SoftmaxOp::getWholeIndices() { return {getOver()}; }
/// Asked for while an operation is refused, too, which may lack the gain.
static SmallVector<StringRef> gainIndices(Operation *norm) {
  if (norm->getNumOperands() < 2)
    return {};
  return indexNames(norm->getOperand(1).getType());
}
SmallVector<StringRef> RmsNormOp::getWholeIndices() {
  return gainIndices(*this);
}
SmallVector<StringRef> LayerNormOp::getWholeIndices() {
  return gainIndices(*this);
}
SmallVector<StringRef> RopeOp::getWholeIndices() { return {getFeature()}; }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Width of the integers that are positions: i32.
static constexpr unsigned positionWidth = 32;

/// The extent of index `name` on `tensor`, 0 if it has none.
static int64_t extentOn(Value tensor, StringRef name) {
  std::optional<unsigned> dim = getIdx(tensor).dimOf(name);
  return dim ? cast<RankedTensorType>(tensor.getType()).getDimSize(*dim) : 0;
}

SmallVector<StringRef> OneHotEinsumOp::selected() {
  return llvm::map_to_vector(getIndices().getAsRange<StringAttr>(),
                             [](StringAttr name) { return name.getValue(); });
}
unsigned OneHotEinsumOp::getIntegerWidth(unsigned i) {
  return i < getIndices().size() ? positionWidth : 0;
}
int64_t OneHotEinsumOp::getIntegerBound(unsigned i) {
  if (i >= getIndices().size())
    return 0;
  StringRef name = selected()[i];
  return std::max(extentOn(data(), name), extentOn(getResult(), name));
}
StringRef OneHotEinsumOp::innermost() {
  if (getIdx(data()).getRank() == 0)
    return "";
  StringRef name = getIdx(data()).getNames().back().getValue();
  bool isFree = getIdx(getResult()).dimOf(name).has_value() &&
                !llvm::is_contained(selected(), name) &&
                llvm::none_of(getOperands().drop_back(), [&](Value ids) {
                  return getIdx(ids).dimOf(name).has_value();
                });
  return isFree ? name : "";
}
bool OneHotEinsumOp::runsByRow() {
  return llvm::any_of(getOperands(), [&](Value operand) {
    return llvm::any_of(indexNames(operand.getType()), [&](StringRef name) {
      return !getIdx(getResult()).dimOf(name);
    });
  });
}
StringRef OneHotEinsumOp::getBlockIndex() { return innermost(); }
SmallVector<StringRef> OneHotEinsumOp::getRowIndices() {
  SmallVector<StringRef> row, written = targets();
  for (StringRef name : selected())
    if (!llvm::is_contained(written, name))
      row.push_back(name);
  if (StringRef name = innermost(); !name.empty())
    row.push_back(name);
  return row;
}
SmallVector<StringRef> OneHotEinsumOp::targets() {
  SmallVector<StringRef> names = selected();
  llvm::erase_if(
      names, [&](StringRef name) { return !getIdx(getResult()).dimOf(name); });
  return names;
}
SmallVector<Value> OneHotEinsumOp::targetIds() {
  SmallVector<Value> ids;
  for (auto [name, operand] : llvm::zip(selected(), getOperands()))
    if (getIdx(getResult()).dimOf(name))
      ids.push_back(operand);
  return ids;
}
SmallVector<StringRef> OneHotEinsumOp::terms() {
  SmallVector<StringRef> known = selected(), names;
  llvm::append_range(known, indexNames(getResult().getType()));
  for (Value operand : getOperands())
    for (StringRef name : indexNames(operand.getType()))
      if (!llvm::is_contained(known, name) && !llvm::is_contained(names, name))
        names.push_back(name);
  return names;
}

unsigned RouterOp::getIntegerWidth(unsigned i) {
  return i == getNumOperands() ? positionWidth : 0;
}
SmallVector<StringRef> RouterOp::getWholeIndices() {
  return {getExpert(), getChoice()};
}
SmallVector<StringRef> RouterOp::getRowIndices() { return getWholeIndices(); }

unsigned CountEarlierOp::getIntegerWidth(unsigned) { return positionWidth; }
int64_t CountEarlierOp::getIntegerBound(unsigned i) {
  return i == 0 ? getValues() : 0;
}
SmallVector<StringRef> CountEarlierOp::getWholeIndices() {
  return llvm::map_to_vector(getOver().getAsRange<StringAttr>(),
                             [](StringAttr name) { return name.getValue(); });
}

unsigned EmbeddingOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}
int64_t EmbeddingOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOn(getOperand(1), getVocabulary()) : 0;
}
unsigned CrossEntropyOp::getIntegerWidth(unsigned i) {
  return i == 1 ? positionWidth : 0;
}
int64_t CrossEntropyOp::getIntegerBound(unsigned i) {
  return i == 1 ? extentOn(getOperand(0), getOver()) : 0;
}
unsigned DispatchOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}
int64_t DispatchOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOn(getResult(), getExpert()) : 0;
}
unsigned CombineOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}
int64_t CombineOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOn(getOperand(2), getExpert()) : 0;
}

unsigned DropoutMaskOp::getIntegerWidth(unsigned) { return 8; }
unsigned ApplyMaskOp::getIntegerWidth(unsigned i) { return i == 1 ? 8 : 0; }
