// How sequences, integers and blocks carry the tail of a padded index.
#include "TailRules.h"

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// `looksAhead`: results depend on later positions. Otherwise the tail comes
/// after every position that counts.
static StringRef carryAlong(const TailCase &c, bool isAlong, bool looksAhead) {
  c.raise();
  Tail &x = c.operands[0];
  if (isAlong && looksAhead)
    x = Tail::zero();
  bool isZero = x.isZero() && (!isAlong || looksAhead);
  c.result = isZero ? Tail::zero() : Tail();
  return "";
}

template <typename Op> static StringRef carryReversible(const TailCase &c) {
  auto op = cast<Op>(c.op);
  return carryAlong(c, op.getIndex() == c.index, op.getReverse());
}

static StringRef carryDelay(const TailCase &c) {
  auto op = cast<DelayOp>(c.op);
  return carryAlong(c, op.getIndex() == c.index, int64_t(op.getBy()) < 0);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

bool tpsp::areBelow(Value ids, int64_t extent) {
  while (Operation *op = ids.getDefiningOp()) {
    if (auto router = dyn_cast<RouterOp>(op))
      return extentOf(router.getOperand(0), router.getExpert()) <= extent;
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (!indexed || !indexed.isView())
      return false;
    ids = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(ids);
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto below = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      belowAttrName);
  return below && below.getInt() <= extent;
}

/// The number of the operand whose integers are positions along `index`;
/// nullopt if no operand selects along it.
static std::optional<unsigned> selectedBy(OneHotEinsumOp op, StringRef index) {
  for (auto [i, name] : llvm::enumerate(op.selected()))
    if (name == index)
      return i;
  return std::nullopt;
}

/// The tails of the numbers of `op` that carry the index. The product's tail is
/// zero if one of them is.
static SmallVector<Tail *> tailsOfNumbers(const TailCase &c,
                                          OneHotEinsumOp op) {
  SmallVector<Tail *> tails;
  for (unsigned i = op.getIndices().size(); i < c.operands.size(); ++i)
    if (c.carries(i))
      tails.push_back(&c.operands[i]);
  return tails;
}

static StringRef carryOneHot(const TailCase &c) {
  auto op = cast<OneHotEinsumOp>(c.op);
  SmallVector<Tail *> factors = tailsOfNumbers(c, op);
  std::optional<unsigned> ids = selectedBy(op, c.index);
  bool isBounded =
      ids && areBelow(c.op->getOperand(*ids), op.getIntegerBound(*ids));
  c.result = Tail();
  // Looked up: a position that no integer names is not read.
  if (ids && !c.isKept()) {
    for (Tail *tail : factors)
      if (!isBounded)
        *tail = Tail::zero();
    return "";
  }
  c.raise();
  bool isZero =
      llvm::any_of(factors, [](Tail *tail) { return tail->isZero(); });
  if (ids) // written to
    c.result = isBounded ? Tail::zero() : Tail();
  else if (c.isKept())
    c.result = isZero ? Tail::zero() : Tail();
  else if (factors.empty())
    return "it sums over integers behind the end";
  else if (!isZero)
    *factors.front() = Tail::zero();
  return "";
}

static StringRef carryRouter(const TailCase &c) {
  auto op = cast<RouterOp>(c.op);
  if (op.getChoice() == c.index)
    return "there would be more choices";
  if (op.getExpert() != c.index)
    return c.keepFinite();
  c.operands[0] = Tail::low();
  return "";
}

/// Values are positions along `of`. After the end of the first index there are
/// no values. After the end of the second, the positions would be values of the
/// next block.
static StringRef carryValues(const TailCase &c, ArrayRef<StringRef> of) {
  c.result = Tail();
  return c.index == of.front() && of.size() > 1
             ? ""
             : "integers would be other positions";
}

/// The tail of the major index comes after all entries that count. The tail of
/// another index would lie between them.
static StringRef carryCount(const TailCase &c) {
  auto op = cast<CountEarlierOp>(c.op);
  SmallVector<StringRef> of = op.valueIndices();
  if (llvm::is_contained(of, c.index))
    return carryValues(c, of);
  SmallVector<StringRef> over = op.getWholeIndices();
  bool isBetween = over.front() != c.index && llvm::is_contained(over, c.index);
  c.result = Tail();
  return isBetween ? "integers behind the end would come before others" : "";
}

static StringRef carryCountValues(const TailCase &c) {
  auto op = cast<CountValuesOp>(c.op);
  if (llvm::is_contained(op.valueIndices(), c.index))
    return carryValues(c, op.valueIndices());
  c.result = Tail();
  return c.isKept() ? "" : "integers behind the end would be counted";
}

/// Runs after the end belong to no position of the program.
static StringRef carryRuns(const TailCase &c) {
  auto op = cast<RunsOp>(c.op);
  c.result = Tail();
  return op.getOf() == c.index ? "positions behind the end would have runs"
                               : "";
}

static StringRef carryBlockOf(const TailCase &c) { return c.keepFinite(); }

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The common tail of all operands.
static StringRef carryCommon(const TailCase &c) {
  bool areAlike = llvm::all_of(
      c.operands, [&](const Tail &t) { return t == c.operands.front(); });
  if (!areAlike)
    return c.keepZero();
  c.result = c.operands.front();
  return "";
}

/// The position that is taken lies before the end.
static StringRef carryTake(const TailCase &c) { return carryCommon(c); }

static StringRef carryStack(const TailCase &c) {
  if (cast<StackOp>(c.op).getIndex() == c.index)
    return "its operands are all the positions";
  return carryCommon(c);
}

/// Whether all operands and the result carry the index.
static bool isBeside(const TailCase &c) {
  for (unsigned i = 0; i < c.operands.size(); ++i)
    if (!c.carries(i))
      return false;
  return c.isKept();
}

static StringRef carryConcat(const TailCase &c) {
  if (!isBeside(c))
    return "what is behind the end would stand between others";
  return carryCommon(c);
}

/// The positions that are cut out lie before the end.
static StringRef carryCut(const TailCase &c) {
  if (!isBeside(c) && cast<CutOp>(c.op).getIndex() != c.index)
    return "it would cut out more positions";
  return carryCommon(c);
}

/// After the operand's positions there is the padding's number in any case.
static StringRef carryPad(const TailCase &c) {
  auto op = cast<PadOp>(c.op);
  double value = op.getValue().convertToDouble();
  if (op.getIndex() == c.index) {
    c.result = Tail::number(value);
    return "";
  }
  if (!isBeside(c))
    return "what is behind the operand's end would stand between others";
  c.raise();
  c.result = c.operands[0].getNumber() == value ? c.operands[0] : Tail();
  return "";
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void tpsp::registerPositionTails(MLIRContext &context) {
  attachTails<carryReversible<ScanOp>, ScanOp>(context);
  attachTails<carryReversible<CumsumOp>, CumsumOp>(context);
  attachTails<carryDelay, DelayOp>(context);
  attachTails<carryOneHot, OneHotEinsumOp>(context);
  attachTails<carryRouter, RouterOp>(context);
  attachTails<carryCount, CountEarlierOp>(context);
  attachTails<carryCountValues, CountValuesOp>(context);
  attachTails<carryRuns, RunsOp>(context);
  attachTails<carryBlockOf, BlockOfOp>(context);
  attachTails<carryTake, TakeOp>(context);
  attachTails<carryStack, StackOp>(context);
  attachTails<carryConcat, ConcatOp>(context);
  attachTails<carryCut, CutOp>(context);
  attachTails<carryPad, PadOp>(context);
}
