// Infers the names and order of a result's indices from the operands, if its
// author left the type out. A placement is never inferred here. The operation
// is not verified yet, so operands and attributes may be missing.
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"

using namespace mlir;
using namespace tpsp;

using Names = SmallVector<StringRef>;

/// Whether `tensor` has all of `names`.
static bool carries(Value tensor, ArrayRef<StringRef> names) {
  return llvm::all_of(names, [&](StringRef name) {
    return getIdx(tensor).dimOf(name).has_value();
  });
}

std::optional<Names> tpsp::indicesKept(Operation *op) {
  if (!op->hasTrait<KeepsIndices>() ||
      cast<IndexedOpInterface>(op).introducesIndices())
    return std::nullopt;
  for (Value candidate : op->getOperands())
    if (llvm::all_of(op->getOperands(), [&](Value other) {
          return carries(candidate, indexNames(other.getType()));
        }))
      return indexNames(candidate.getType());
  return std::nullopt;
}

std::optional<Names> TakeOp::inferIndices() {
  if (getNumOperands() != 1 || !getIndexAttr())
    return std::nullopt;
  return indexNamesBut(getOperand(0).getType(), getIndex());
}

std::optional<Names> RouterOp::inferIndices() {
  if (getNumOperands() != 1 || !getExpertAttr() || !getChoiceAttr())
    return std::nullopt;
  Names names = indexNamesBut(getOperand(0).getType(), getExpert());
  names.push_back(getChoice());
  return names;
}

std::optional<Names> CountValuesOp::inferIndices() {
  if (getNumOperands() != 1 || !getOverAttr() || !getOfAttr())
    return std::nullopt;
  Names names = indexNames(getOperand(0).getType());
  for (StringAttr name : getOver().getAsRange<StringAttr>())
    llvm::erase(names, name.getValue());
  llvm::append_range(names, valueIndices());
  return names;
}

std::optional<Names> EmbeddingOp::inferIndices() {
  if (getNumOperands() != 2 || !getVocabularyAttr())
    return std::nullopt;
  Names names = indexNames(getOperand(0).getType());
  for (StringRef name : indexNamesBut(getOperand(1).getType(), getVocabulary()))
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  return names;
}

std::optional<Names> CrossEntropyOp::inferIndices() {
  if (getNumOperands() != 2 || !getOverAttr())
    return std::nullopt;
  return indexNamesBut(getOperand(0).getType(), getOver());
}

/// The queries' indices, with the values' feature in place of theirs.
std::optional<Names> AttentionOp::inferIndices() {
  if (getNumOperands() < numTensors || !getFeatureAttr() || !getKeyAttr())
    return std::nullopt;
  Names names = indexNamesBut(getOperand(0).getType(), getFeature());
  for (StringRef name : indexNamesBut(getOperand(2).getType(), getKey()))
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  return names;
}
