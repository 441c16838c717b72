// Finds the form of an operation: its own row of the table, or one that its
// interfaces imply.
#include "Forms.h"

#include "Passes/Collectives/Ledger.h"
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

//===----------------------------------------------------------------------===//
// Runs of positions
//===----------------------------------------------------------------------===//

/// The names of a result.
static Names namesOf(Operation *op) {
  return getIdx(op->getResult(0)).getNames();
}

static FailureOr<NamedTensor> take(HloBuilder &h, Operation *op,
                                   ArrayRef<NamedTensor> operands) {
  auto self = cast<TakeOp>(op);
  NamedTensor x = operands.front();
  unsigned dim = x.dimOf(self.getIndexAttr());
  SmallVector<int64_t> shape(x.type().getShape());
  shape.erase(shape.begin() + dim);
  x.value = h.reshape(h.slice(x.value, dim, self.getAt(), 1), shape);
  x.names.erase(x.names.begin() + dim);
  return x;
}

static FailureOr<NamedTensor> stack(HloBuilder &h, Operation *op,
                                    ArrayRef<NamedTensor> operands) {
  StringAttr index = cast<StackOp>(op).getIndexAttr();
  Space single;
  SmallVector<Value> parts;
  for (StringAttr name : namesOf(op))
    single.add(name, name == index ? 1 : operands.front().extent(name));
  for (const NamedTensor &part : operands)
    parts.push_back(h.spread(part, single));
  return NamedTensor{h.concatenate(parts, single.dimOf(index)), single.names};
}

// Indices of runs differ in one name, at the same dimension.

static FailureOr<NamedTensor> concat(HloBuilder &h, Operation *op,
                                     ArrayRef<NamedTensor> operands) {
  Names names = namesOf(op);
  const auto *at = llvm::find(names, cast<ConcatOp>(op).getIndexAttr());
  SmallVector<Value> parts;
  for (const NamedTensor &part : operands)
    parts.push_back(part.value);
  return NamedTensor{h.concatenate(parts, at - names.begin()),
                     SmallVector<StringAttr>(names)};
}

static FailureOr<NamedTensor> cut(HloBuilder &h, Operation *op,
                                  ArrayRef<NamedTensor> operands) {
  auto self = cast<CutOp>(op);
  const NamedTensor &x = operands.front();
  unsigned dim = x.dimOf(self.getIndexAttr());
  int64_t count = self.getResult().getType().getDimSize(dim);
  return NamedTensor{h.slice(x.value, dim, self.getFrom(), count),
                     SmallVector<StringAttr>(namesOf(op))};
}

static FailureOr<NamedTensor> pad(HloBuilder &h, Operation *op,
                                  ArrayRef<NamedTensor> operands) {
  auto self = cast<PadOp>(op);
  Names names = namesOf(op);
  unsigned dim = llvm::find(names, self.getIndexAttr()) - names.begin();
  const NamedTensor &x = operands.front();
  int64_t before = self.getBefore();
  int64_t behind = self.getResult().getType().getDimSize(dim) - before -
                   x.type().getDimSize(dim);
  return NamedTensor{
      h.pad(x.value, dim, before, behind, self.getValue().convertToDouble()),
      SmallVector<StringAttr>(names)};
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// `x` shifted by some positions, later or earlier, with 0 where there is none.
/// A single pad of negative width is avoided, because XLA's partitioner handles
/// it wrongly along a sharded dimension.
static Value delayed(HloBuilder &h, Value x, unsigned dim, int64_t by) {
  int64_t length = typeOf(x).getDimSize(dim);
  int64_t before = std::max<int64_t>(by, 0), behind = std::max<int64_t>(-by, 0);
  Value kept = h.slice(x, dim, behind, length - before - behind);
  return h.pad(kept, dim, before, behind, 0);
}

static FailureOr<NamedTensor> delay(HloBuilder &h, Operation *op,
                                    ArrayRef<NamedTensor> operands) {
  auto self = cast<DelayOp>(op);
  NamedTensor x = operands.front();
  x.value =
      delayed(h, x.value, x.dimOf(self.getIndexAttr()), self.getPositions());
  return x;
}

/// `x` shifted by some positions, around the end.
static Value rolled(HloBuilder &h, Value x, unsigned dim, int64_t by) {
  int64_t length = typeOf(x).getDimSize(dim), last = (by + length) % length;
  Value parts[] = {h.slice(x, dim, length - last, last),
                   h.slice(x, dim, 0, length - last)};
  return h.concatenate(parts, dim);
}

/// Position p of the result is position (n - by - p) mod n of `x`.
static Value mirrored(HloBuilder &h, Value x, unsigned dim, int64_t by) {
  int64_t length = typeOf(x).getDimSize(dim);
  SmallVector<Value> parts;
  for (int64_t to = 0; to < length; ++to)
    parts.push_back(h.slice(x, dim, (2 * length - by - to) % length, 1));
  return h.concatenate(parts, dim);
}

static FailureOr<NamedTensor> handOn(HloBuilder &h, Operation *op,
                                     ArrayRef<NamedTensor> operands) {
  auto self = cast<HandOnOp>(op);
  NamedTensor x = operands.front();
  unsigned dim = x.dimOf(self.getIndexAttr());
  x.value = self.getMirrored() ? mirrored(h, x.value, dim, self.getBy())
                               : rolled(h, x.value, dim, self.getBy());
  return x;
}

/// y[s] = a[s] y[s - 1] + x[s], where a null `a` is 1. Steps are of 1, 2, 4,
/// ... positions. After each step, x has the sum over that many positions, and
/// a the product (Hillis and Steele, Data parallel algorithms, CACM 1986).
static Value recur(HloBuilder &h, Value x, Value a, unsigned dim,
                   bool isReverse) {
  int64_t length = typeOf(x).getDimSize(dim);
  for (int64_t step = 1; step < length; step *= 2) {
    int64_t by = isReverse ? -step : step;
    Value before = delayed(h, x, dim, by);
    if (a)
      before = h.map("stablehlo.multiply", {a, before});
    x = h.map("stablehlo.add", {before, x});
    if (a)
      a = h.map("stablehlo.multiply", {a, delayed(h, a, dim, by)});
  }
  return x;
}

/// scan and, without decays, cumsum.
template <typename Op>
static FailureOr<NamedTensor> recurrence(HloBuilder &h, Operation *op,
                                         ArrayRef<NamedTensor> operands) {
  auto self = cast<Op>(op);
  NamedTensor x = h.convert(operands[0], h.wide(operands[0].element()));
  Value a;
  if (operands.size() > 1) {
    Space space;
    space.addAll(x);
    a = h.spread(h.convert(operands[1], x.element()), space);
  }
  x.value =
      recur(h, x.value, a, x.dimOf(self.getIndexAttr()), self.getReverse());
  return x;
}

//===----------------------------------------------------------------------===//
// The table, and forms that interfaces imply
//===----------------------------------------------------------------------===//

Form hlo::findForm(Operation *op) {
  static const llvm::DenseMap<TypeID, Form> forms = {
      {TypeID::get<TakeOp>(), take},
      {TypeID::get<StackOp>(), stack},
      {TypeID::get<ConcatOp>(), concat},
      {TypeID::get<CutOp>(), cut},
      {TypeID::get<PadOp>(), pad},
      {TypeID::get<DelayOp>(), delay},
      {TypeID::get<HandOnOp>(), handOn},
      {TypeID::get<ScanOp>(), recurrence<ScanOp>},
      {TypeID::get<CumsumOp>(), recurrence<CumsumOp>},
      {TypeID::get<OneHotEinsumOp>(), lookUp},
      {TypeID::get<RouterOp>(), choose},
      {TypeID::get<CountEarlierOp>(), countEarlier},
      {TypeID::get<CountValuesOp>(), countValues},
      {TypeID::get<RunsOp>(), runs},
  };
  return forms.lookup(op->getName().getTypeID());
}

/// Whether an operation is a product that is summed over an index of both
/// operands. Other operations are loops.
static bool isDot(IndexedOpInterface op) {
  if (!op.isSumOfProducts() || op->getNumOperands() != 2)
    return false;
  return llvm::any_of(getIdx(op->getOperand(0)).getNames(), [&](StringAttr n) {
    return getIdx(op->getOperand(1)).dimOf(n) &&
           !getIdx(op->getResult(0)).dimOf(n);
  });
}

static LogicalResult refuse(Operation *op) {
  if (isa<DecomposableOpInterface>(op))
    return op->emitOpError("has no form in StableHLO as a whole; take it apart "
                           "first, as --tpsp-to-stablehlo does");
  return op->emitOpError("has no form in StableHLO; write what it computes "
                         "with other operations");
}

FailureOr<SmallVector<Value>> hlo::emitOperation(HloBuilder &h, Operation *op,
                                                 ValueRange operands) {
  // A collective changes subscripts, not the global tensor, unless ranks hand
  // their shards on.
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    Mesh mesh = meshOf(op);
    SmallVector<Value> results(operands);
    if (int64_t by = collective.getShift()) {
      bool isMirrored = cast<PermuteOp>(op).getMirrored();
      results[0] = (isMirrored ? mirrored : rolled)(
          h, results[0], *stepOf(collective, mesh).from, by);
    }
    return results;
  }
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  if (!indexed || op->getNumResults() != 1)
    return refuse(op);
  auto type = typeOf(op->getResult(0));
  if (indexed.isView())
    return SmallVector<Value>{h.reshape(operands.front(), type.getShape())};
  SmallVector<NamedTensor> named;
  for (auto [value, own] : llvm::zip_equal(operands, op->getOperands()))
    named.push_back({value, SmallVector<StringAttr>(getIdx(own).getNames())});
  Names names = getIdx(type).getNames();
  FailureOr<NamedTensor> result = failure();
  if (Form form = findForm(op))
    result = form(h, op, named);
  else if (isDot(indexed))
    result = product(h, named[0], named[1], names);
  else if (auto loop = dyn_cast<LoopOpInterface>(op))
    result = emitLoop(h, loop, named);
  else
    return refuse(op);
  if (failed(result))
    return failure();
  NamedTensor narrow = h.convert(*result, type.getElementType());
  return SmallVector<Value>{h.ordered(narrow, names).value};
}
