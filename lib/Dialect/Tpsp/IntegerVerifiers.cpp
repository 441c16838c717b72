// The constraints of operations on integers, and of what is made of them.
#include "VerifierRules.h"

#include "tpsp/Dialect/Tpsp/IntegerOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static bool has(Value tensor, StringRef name) {
  return getIdx(tensor).dimOf(name).has_value();
}

/// Ranks cannot each have a part of an integer that selects.
static LogicalResult verifyComplete(Operation *op, unsigned operand) {
  IdxAttr idx = getIdx(op->getOperand(operand));
  if (idx.getPending().empty())
    return success();
  return op->emitOpError() << "operand #" << operand << " is partial over @"
                           << idx.getPending().front().getValue()
                           << "; integers that select are complete";
}

LogicalResult OneHotEinsumOp::verify() {
  unsigned count = getIndices().size();
  if (count == 0)
    return emitOpError("selects along no index; name them in `indices`");
  if (failed(verifyCount(*this, count + 1, count + 1))) // (H1)
    return failure();
  auto integers = getOperands().drop_back();
  for (unsigned i = 0; i < count; ++i)
    if (failed(verifyComplete(*this, i)))
      return failure();
  auto onIntegers = [&](StringRef name) {
    return llvm::any_of(integers, [&](Value ids) { return has(ids, name); });
  };
  SmallVector<StringRef> chosen = selected();
  for (auto [i, name] : llvm::enumerate(chosen)) { // (H2)
    if (llvm::is_contained(ArrayRef<StringRef>(chosen).take_front(i), name))
      return emitOpError() << "selects twice along index '" << name << "'";
    if (!has(data(), name) && !has(getResult(), name))
      return emitOpError() << "selects along '" << name
                           << "', which is an index neither of the last "
                              "operand nor of the result";
    if (onIntegers(name))
      return emitOpError() << "selects along '" << name
                           << "', which an integer operand carries; rename it "
                              "there (tpsp.rename)";
  }
  for (StringRef name : indexNames(data().getType())) // (H3)
    if (!has(getResult(), name) && !llvm::is_contained(chosen, name) &&
        !onIntegers(name))
      return emitOpError() << "sums index '" << name
                           << "' of the last operand, on which no integer "
                              "depends; sum it first (tpsp.reduce)";
  for (StringRef name : indexNames(getResult().getType()))
    if (!llvm::is_contained(chosen, name) && !has(data(), name) &&
        !onIntegers(name))
      return emitOpError() << "the result has index '" << name
                           << "', which no operand has";
  return success();
}

LogicalResult RouterOp::verify() { // (T1)
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyHasIndex(*this, 0, getExpert(), "expert")))
    return failure();
  if (getIdx(getOperand(0)).dimOf(getChoice()))
    return emitOpError("the operand already has the index '")
           << getChoice() << "', along which the choices go";
  SmallVector<StringRef> wanted;
  for (StringRef name : indexNames(getOperand(0).getType()))
    if (name != getExpert())
      wanted.push_back(name);
  SmallVector<StringRef> got;
  for (StringRef name : indexNames(getResult().getType()))
    if (name != getChoice())
      got.push_back(name);
  std::optional<unsigned> choice = getIdx(getResult()).dimOf(getChoice());
  llvm::sort(wanted);
  llvm::sort(got);
  if (!choice || wanted != got)
    return emitOpError("has result [")
           << subscripts(getResult().getType()) << "]; it must have '"
           << getChoice() << "' in place of '" << getExpert() << "'";
  int64_t choices = getResult().getType().getDimSize(*choice);
  auto scores = cast<RankedTensorType>(getOperand(0).getType());
  int64_t experts = scores.getDimSize(*getIdx(scores).dimOf(getExpert()));
  if (choices <= experts)
    return success();
  return emitOpError("makes ")
         << choices << " choices among " << experts << " experts";
}

LogicalResult CountEarlierOp::verify() { // (T2)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  SmallVector<StringRef> seen;
  for (StringRef name : getWholeIndices()) {
    if (failed(verifyHasIndex(*this, 0, name, "over")))
      return failure();
    if (llvm::is_contained(seen, name))
      return emitOpError() << "counts twice over index '" << name << "'";
    seen.push_back(name);
  }
  // A counter for each, on the stack of a thread.
  constexpr int64_t most = 1 << 16;
  if (getValues() >= 1 && getValues() <= most)
    return success();
  return emitOpError() << "values = " << getValues() << " is not between 1 and "
                       << most;
}

LogicalResult EmbeddingOp::verify() { // (H4)
  if (failed(verifyCount(*this, 2, 2)) || failed(verifyComplete(*this, 0)) ||
      failed(verifyHasIndex(*this, 1, getVocabulary(), "vocabulary")) ||
      failed(verifyLacksIndex(*this, getOperand(0), getVocabulary(),
                              "operand #0")))
    return failure();
  return verifyLacksIndex(*this, getResult(), getVocabulary(), "the result");
}

LogicalResult CrossEntropyOp::verify() { // (X1)
  if (failed(verifyCount(*this, 2, 2)) ||
      failed(verifyHasIndex(*this, 0, getOver(), "over")))
    return failure();
  auto sorted = [](SmallVector<StringRef> names) {
    llvm::sort(names);
    return names;
  };
  SmallVector<StringRef> rows;
  for (StringRef name : indexNames(getOperand(0).getType()))
    if (name != getOver())
      rows.push_back(name);
  rows = sorted(rows);
  if (sorted(indexNames(getOperand(1).getType())) == rows &&
      sorted(indexNames(getResult().getType())) == rows)
    return success();
  return emitOpError("targets [")
         << subscripts(getOperand(1).getType()) << "] and result ["
         << subscripts(getResult().getType())
         << "] must have the indices of the logits but '" << getOver() << "'";
}

LogicalResult DispatchOp::verify() { // (D1)
  if (failed(verifyCount(*this, 2, 2)) || failed(verifyComplete(*this, 0)) ||
      failed(verifyHasIndex(*this, 0, getChoice(), "choice")) ||
      failed(
          verifyLacksIndex(*this, getOperand(1), getChoice(), "operand #1")) ||
      failed(verifyLacksIndex(*this, getResult(), getChoice(), "the result")))
    return failure();
  for (StringRef name : {getExpert(), getSlot()}) {
    if (!has(getResult(), name))
      return emitOpError("the result lacks the index '") << name << "'";
    for (Value operand : getOperands())
      if (failed(verifyLacksIndex(*this, operand, name, "an operand")))
        return failure();
  }
  return success();
}

LogicalResult CombineOp::verify() { // (D2)
  if (failed(verifyCount(*this, 3, 3)) || failed(verifyComplete(*this, 0)) ||
      failed(verifyHasIndex(*this, 0, getChoice(), "choice")) ||
      failed(verifyHasIndex(*this, 2, getExpert(), "expert")) ||
      failed(verifyHasIndex(*this, 2, getSlot(), "slot")))
    return failure();
  for (StringRef name : {getExpert(), getSlot(), getChoice()})
    if (failed(verifyLacksIndex(*this, getResult(), name, "the result")))
      return failure();
  if (getIdx(getOperand(0)).getNames() == getIdx(getOperand(1)).getNames())
    return success();
  return emitOpError("weights [")
         << subscripts(getOperand(1).getType())
         << "] do not have the indices of the choices ["
         << subscripts(getOperand(0).getType()) << "]";
}
