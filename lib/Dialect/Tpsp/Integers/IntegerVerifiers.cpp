// The constraints of operations on integers and of composites of these.
#include "Dialect/Tpsp/IR/VerifierRules.h"

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

static bool has(Value tensor, StringRef name) {
  return getIdx(tensor).dimOf(name).has_value();
}

/// Refuses a partial operand of integers that select: summands of an integer
/// would each select.
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
  if (getNumOperands() <= count) // (H1)
    return emitOpError() << "has " << getNumOperands() << " operands; it takes "
                         << count
                         << " of integers, one for each of `indices`, and one "
                            "or more of numbers";
  for (unsigned i = 0; i < count; ++i)
    if (failed(verifyComplete(*this, i)))
      return failure();
  auto carriersOf = [](ValueRange operands, StringRef name) {
    return llvm::count_if(operands,
                          [&](Value operand) { return has(operand, name); });
  };
  SmallVector<StringRef> chosen = selected();
  for (auto [i, name] : llvm::enumerate(chosen)) { // (H2)
    if (llvm::is_contained(ArrayRef<StringRef>(chosen).take_front(i), name))
      return emitOpError() << "selects twice along index '" << name << "'";
    if (!carrier(name) && !has(getResult(), name))
      return emitOpError() << "selects along '" << name
                           << "', which is an index neither of an operand of "
                              "numbers nor of the result";
    if (carriersOf(integers(), name) > 0)
      return emitOpError() << "selects along '" << name
                           << "', which an integer operand carries; rename it "
                              "there (tpsp.rename)";
  }
  for (unsigned i = count; i < getNumOperands(); ++i) // (H3)
    for (StringRef name : indexNames(getOperand(i).getType()))
      if (!has(getResult(), name) && !llvm::is_contained(chosen, name) &&
          carriersOf(getOperands(), name) == 1)
        return emitOpError()
               << "sums index '" << name << "' of operand #" << i
               << ", which no other operand has; sum it first (tpsp.reduce)";
  for (StringRef name : indexNames(getResult().getType()))
    if (!llvm::is_contained(chosen, name) &&
        carriersOf(getOperands(), name) == 0)
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
  SmallVector<StringRef> wanted =
      indexNamesBut(getOperand(0).getType(), getExpert());
  SmallVector<StringRef> got =
      indexNamesBut(getResult().getType(), getChoice());
  llvm::sort(wanted);
  llvm::sort(got);
  if (!getIdx(getResult()).dimOf(getChoice()) || wanted != got)
    return emitOpError("has result [")
           << subscripts(getResult().getType()) << "]; it must have '"
           << getChoice() << "' in place of '" << getExpert() << "'";
  int64_t choices = extentOf(getResult(), getChoice());
  int64_t experts = extentOf(getOperand(0), getExpert());
  if (choices <= experts)
    return success();
  return emitOpError("makes ")
         << choices << " choices among " << experts << " experts";
}

/// Verifies that `over` names indices of the first operand, each once.
static LogicalResult verifyOver(Operation *op, ArrayAttr over) {
  SmallVector<StringRef> seen;
  for (StringAttr attr : over.getAsRange<StringAttr>()) {
    StringRef name = attr.getValue();
    if (failed(verifyHasIndex(op, 0, name, "over")))
      return failure();
    if (llvm::is_contained(seen, name))
      return op->emitOpError() << "counts twice over index '" << name << "'";
    seen.push_back(name);
  }
  return success();
}

static bool isIn(ArrayAttr names, StringRef name) {
  return llvm::is_contained(names.getAsValueRange<StringAttr>(), name);
}

/// Verifies that `of` names one or two indices that the first operand lacks.
static LogicalResult verifyOf(Operation *op, ArrayRef<StringRef> of) {
  if (of.empty() || of.size() > 2)
    return op->emitOpError() << "`of` names " << of.size()
                             << " indices; values are positions along one, or "
                                "along two, of blocks and within a block";
  if (of.front() == of.back() && of.size() > 1)
    return op->emitOpError() << "`of` names index '" << of.front() << "' twice";
  for (StringRef name : of)
    if (failed(verifyLacksIndex(op, op->getOperand(0), name, "operand #0")))
      return failure();
  return success();
}

/// (T3) The operand that says how often each value occurs.
static LogicalResult verifyLoad(CountEarlierOp op) {
  SmallVector<StringRef> of = op.valueIndices();
  if (op.getNumOperands() == 1 && of.empty())
    return success();
  if (op.getNumOperands() == 1)
    return op.emitOpError("says `of` which indices values are positions along, "
                          "and has no operand of their counts");
  if (failed(verifyOf(op, of)))
    return failure();
  Value ids = op.getOperand(0), load = op.getOperand(1);
  for (StringRef name : of)
    if (failed(verifyHasIndex(op, 1, name, "of")))
      return failure();
  for (StringRef name : indexNames(load.getType()))
    if (!llvm::is_contained(of, name) &&
        (!has(ids, name) || isIn(op.getOver(), name)))
      return op.emitOpError("operand #1 has index '")
             << name << "', along which operand #0 is not counted apart";
  int64_t positions = positionsAlong(load.getType(), of);
  if (positions >= int64_t(op.getValues()))
    return success();
  return op.emitOpError("has counts of ")
         << positions << " values where values = " << op.getValues();
}

LogicalResult CountEarlierOp::verify() { // (T2)
  if (failed(verifyCount(*this, 1, 2)) || failed(verifySameNames(*this)) ||
      failed(verifyOver(*this, getOver())))
    return failure();
  // Each value has a counter on the stack of a thread.
  constexpr int64_t most = 1 << 16;
  if (getValues() < 1 || getValues() > most)
    return emitOpError() << "values = " << getValues()
                         << " is not between 1 and " << most;
  return verifyLoad(*this);
}

/// Verifies that the result has, in any order, the indices of operand 0 except
/// those for which `leaves` is true, and `added`.
static LogicalResult verifyExchanged(Operation *op,
                                     llvm::function_ref<bool(StringRef)> leaves,
                                     ArrayRef<StringRef> added) {
  SmallVector<StringRef> wanted;
  for (StringRef name : indexNames(op->getOperand(0).getType()))
    if (!leaves(name))
      wanted.push_back(name);
  llvm::append_range(wanted, added);
  SmallVector<StringRef> sorted = wanted,
                         got = indexNames(op->getResult(0).getType());
  llvm::sort(sorted);
  llvm::sort(got);
  if (sorted == got)
    return success();
  return op->emitOpError("has result [")
         << subscripts(op->getResult(0).getType()) << "]; it must have ["
         << llvm::join(wanted, ", ") << "]";
}

LogicalResult CountValuesOp::verify() { // (T4)
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyOver(*this, getOver())) ||
      failed(verifyOf(*this, valueIndices())))
    return failure();
  return verifyExchanged(
      *this, [&](StringRef name) { return isIn(getOver(), name); },
      valueIndices());
}

LogicalResult RunsOp::verify() { // (T5)
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyHasIndex(*this, 0, getOf(), "of")) ||
      failed(verifyLacksIndex(*this, getOperand(0), getAlong(), "operand #0")))
    return failure();
  return verifyExchanged(*this, [&](StringRef name) { return name == getOf(); },
                         {getAlong()});
}

LogicalResult BlockOfOp::verify() { // (T6)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  if (int64_t(getSize()) >= 1)
    return success();
  return emitOpError("size = ") << int64_t(getSize()) << "; a block has at "
                                << "least one position";
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

/// (D3) (D4) Operand 1 of a dispatch, or of the combine that undoes it, is the
/// load of experts. Verifies the indices that `slots`, called `what`, has for
/// them. `others` are the operands that are neither integers nor the slots.
static LogicalResult verifyBlocks(Operation *op, StringRef expert,
                                  StringRef slot, Value slots, StringRef what,
                                  ArrayRef<Value> others) {
  Value ids = op->getOperand(0), load = op->getOperand(1);
  if (failed(verifyHasIndex(op, 1, expert, "expert")) ||
      failed(verifyLacksIndex(op, ids, expert, "operand #0")) ||
      failed(verifyLacksIndex(op, slots, expert, what)))
    return failure();
  SmallVector<StringRef> places = {slot};
  for (StringRef name : indexNames(load.getType()))
    if (name != expert && !has(ids, name))
      places.push_back(name);
  if (places.size() > 2)
    return op->emitOpError("the load has the indices '")
           << places[1] << "' and '" << places[2]
           << "', which the choices lack; one is that of blocks of experts";
  for (StringRef name : places) {
    if (!has(slots, name))
      return op->emitOpError() << what << " lacks the index '" << name << "'";
    if (failed(verifyLacksIndex(op, ids, name, "operand #0")))
      return failure();
    for (Value other : others)
      if (failed(verifyLacksIndex(op, other, name, "an operand")))
        return failure();
  }
  return verifyLacksIndex(op, load, slot, "operand #1");
}

LogicalResult DispatchOp::verify() { // (D1)
  if (failed(verifyCount(*this, 2, 3)) || failed(verifyComplete(*this, 0)) ||
      failed(verifyHasIndex(*this, 0, getChoice(), "choice")) ||
      failed(verifyLacksIndex(*this, getOperands().back(), getChoice(),
                              "the tokens")) ||
      failed(verifyLacksIndex(*this, getResult(), getChoice(), "the result")))
    return failure();
  if (getNumOperands() > 2)
    return verifyBlocks(*this, getExpert(), getSlot(), getResult(),
                        "the result", {getOperands().back()});
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
  if (failed(verifyCount(*this, 3, 4)) || failed(verifyComplete(*this, 0)) ||
      failed(verifyHasIndex(*this, 0, getChoice(), "choice")) ||
      failed(verifyLacksIndex(*this, getResult(), getChoice(), "the result")))
    return failure();
  unsigned last = getNumOperands() - 1;
  Value weights = getOperand(last - 1), v = getOperand(last);
  bool hasLoad = getNumOperands() > 3;
  if (hasLoad && failed(verifyBlocks(*this, getExpert(), getSlot(), v,
                                     "operand #3", {weights, getResult()})))
    return failure();
  for (StringRef name : {getExpert(), getSlot()})
    if (!hasLoad &&
        (failed(verifyHasIndex(*this, last, name,
                               name == getExpert() ? "expert" : "slot")) ||
         failed(verifyLacksIndex(*this, getResult(), name, "the result"))))
      return failure();
  if (getIdx(getOperand(0)).getNames() == getIdx(weights).getNames())
    return success();
  return emitOpError("weights [")
         << subscripts(weights.getType())
         << "] do not have the indices of the choices ["
         << subscripts(getOperand(0).getType()) << "]";
}
