#include "EpilogueKernels.h"

#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tpsp;

namespace {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Where a loop nest is in one dimension of an array: at `offset`, or at
/// `offset` plus the value of its loop number `loop`.
struct DimPlace {
  OpFoldResult offset, size;
  int64_t loop = -1;

  bool operator==(const DimPlace &other) const {
    return isEqualConstantIntOrValue(offset, other.offset) &&
           isEqualConstantIntOrValue(size, other.size) && loop == other.loop;
  }
};

/// The element of a buffer that an iteration touches.
struct Place {
  /// The function's argument.
  BlockArgument array;
  SmallVector<DimPlace> dims;

  ArrayRef<int64_t> shape() const {
    return cast<MemRefType>(array.getType()).getShape();
  }
};

bool isSame(const Place &x, const Place &y) {
  return x.shape() == y.shape() && x.dims == y.dims;
}

/// Whether x goes through an array with the shape of y's last dimensions as y
/// does.
bool isSuffix(const Place &x, const Place &y) {
  size_t rank = x.dims.size();
  return rank < y.dims.size() && x.shape() == y.shape().take_back(rank) &&
         ArrayRef<DimPlace>(x.dims) ==
             ArrayRef<DimPlace>(y.dims).take_back(rank);
}

bool isEntryArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

/// The dimensions of an array that a view of it has all of, or one place of.
std::optional<Place> placeOf(Value view) {
  Place place;
  if (isEntryArgument(view)) {
    place.array = cast<BlockArgument>(view);
    Builder b(view.getContext());
    for (auto [i, extent] : llvm::enumerate(place.shape()))
      place.dims.push_back(
          {b.getIndexAttr(0), b.getIndexAttr(extent), int64_t(i)});
    return place;
  }
  auto slice = view.getDefiningOp<memref::SubViewOp>();
  if (!slice || !isEntryArgument(slice.getSource()) ||
      !llvm::all_of(slice.getMixedStrides(),
                    [](OpFoldResult s) { return isConstantIntValue(s, 1); }))
    return std::nullopt;
  place.array = cast<BlockArgument>(slice.getSource());
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  int64_t next = 0;
  for (auto [i, offset, size] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes()))
    place.dims.push_back({offset, size, dropped[i] ? -1 : next++});
  return place;
}

/// Where a loop nest is in an operand whose dimensions it goes through by
/// `map`.
std::optional<Place> placeOf(Value view, AffineMap map) {
  std::optional<Place> place = placeOf(view);
  if (!place || !map.isProjectedPermutation())
    return std::nullopt;
  for (DimPlace &dim : place->dims)
    if (dim.loop >= 0)
      dim.loop = map.getDimPosition(unsigned(dim.loop));
  return place;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value withoutExtension(Value value) {
  auto extension = value.getDefiningOp<arith::ExtFOp>();
  return extension ? extension.getIn() : value;
}

Value withoutRounding(Value value) {
  auto rounding = value.getDefiningOp<arith::TruncFOp>();
  return rounding ? rounding.getIn() : value;
}

/// A function of one scalar, as it is emitted, to compare with.
class Formula {
public:
  Formula(Type type, Scalar (*formula)(const Scalar &)) {
    Location loc = UnknownLoc::get(type.getContext());
    OpBuilder b(type.getContext());
    b.setInsertionPointToStart(&block);
    argument = block.addArgument(type, loc);
    result = formula(Scalar(b, loc, argument)).get();
  }

  /// Whether `value` is computed from x by this very formula.
  bool isOf(Value value, Value x) const {
    llvm::DenseMap<Value, Value> known = {{argument, x}};
    return matches(value, result, known);
  }

private:
  static bool matches(Value value, Value expected,
                      llvm::DenseMap<Value, Value> &known) {
    if (Value found = known.lookup(expected))
      return found == value || isSameConstant(found, value);
    Operation *op = value.getDefiningOp(), *like = expected.getDefiningOp();
    if (!op || !like || op->getName() != like->getName() ||
        op->getNumOperands() != like->getNumOperands() ||
        op->getResultTypes() != like->getResultTypes())
      return false;
    if (isa<arith::ConstantOp>(op) && !isSameConstant(value, expected))
      return false;
    for (auto [x, y] : llvm::zip_equal(op->getOperands(), like->getOperands()))
      if (!matches(x, y, known))
        return false;
    known[expected] = value;
    return true;
  }

  static bool isSameConstant(Value x, Value y) {
    auto a = x.getDefiningOp<arith::ConstantOp>(),
         b = y.getDefiningOp<arith::ConstantOp>();
    return a && b && a.getValue() == b.getValue();
  }

  Block block;
  Value argument, result;
};

bool isZero(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : nullptr;
  return number && number.getValue().isZero();
}

bool isParallel(linalg::GenericOp op) {
  return op.getNumParallelLoops() == op.getNumLoops();
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// x, x + bias, or a function of one of these.
struct Chain {
  /// Operands of the loop nest: inputs.
  unsigned product = 0;
  std::optional<unsigned> bias, slopeOf;
  bool isGelu = false;
};

class PointwiseMatcher {
public:
  explicit PointwiseMatcher(linalg::GenericOp op)
      : op(op), body(op.getBody()), inputs(op.getNumDpsInputs()),
        gelu(computeType(), findScalarFunction("gelu")->value),
        slope(computeType(), findScalarFunction("gelu")->slope) {}

  std::optional<SmallVector<PointwisePart, 2>> match() {
    if (!findPlaces())
      return std::nullopt;
    for (auto [i, yielded] :
         llvm::enumerate(body->getTerminator()->getOperands())) {
      output = &places[inputs + i];
      std::optional<Chain> chain = chainOf(withoutRounding(yielded));
      if (!chain)
        return std::nullopt;
      chains[chain->product].push_back({*chain, inputs + unsigned(i)});
    }
    return parts();
  }

private:
  using Result = std::pair<Chain, unsigned>;

  /// Arithmetic is in the yielded values' type, before they are rounded.
  Type computeType() {
    Operation *yield = op.getBody()->getTerminator();
    return withoutRounding(yield->getOperand(0)).getType();
  }

  bool findPlaces() {
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<Place> place =
          placeOf(operand.get(), op.getMatchingIndexingMap(&operand));
      if (!place)
        return false;
      places.push_back(*place);
    }
    return isa<FloatType>(computeType());
  }

  /// The input that a value is, or is widened from; nullopt if it is none.
  std::optional<unsigned> inputOf(Value value) const {
    auto argument = dyn_cast<BlockArgument>(withoutExtension(value));
    if (!argument || argument.getOwner() != body ||
        argument.getArgNumber() >= inputs)
      return std::nullopt;
    return argument.getArgNumber();
  }

  std::optional<unsigned> matrixOf(Value value) const {
    std::optional<unsigned> input = inputOf(value);
    return input && isSame(places[*input], *output) ? input : std::nullopt;
  }

  std::optional<unsigned> vectorOf(Value value) const {
    std::optional<unsigned> input = inputOf(value);
    return input && isSuffix(places[*input], *output) ? input : std::nullopt;
  }

  /// x or x + bias.
  std::optional<Chain> sumOf(Value value) const {
    if (std::optional<unsigned> matrix = matrixOf(value))
      return Chain{*matrix};
    auto add = value.getDefiningOp<arith::AddFOp>();
    if (!add)
      return std::nullopt;
    for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()),
                        std::pair(add.getRhs(), add.getLhs())})
      if (matrixOf(x) && vectorOf(y))
        return Chain{*matrixOf(x), vectorOf(y)};
    return std::nullopt;
  }

  std::optional<Chain> chainOf(Value value) const {
    if (std::optional<Chain> sum = sumOf(value))
      return sum;
    auto product = value.getDefiningOp<arith::MulFOp>();
    if (!product)
      return std::nullopt;
    for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()),
                        std::pair(product.getRhs(), product.getLhs())}) {
      std::optional<Chain> chain = sumOf(x);
      if (!chain)
        continue;
      if (gelu.isOf(value, x)) {
        chain->isGelu = true;
        return chain;
      }
      if (!chain->bias && (chain->slopeOf = argumentOfSlope(y)))
        return chain;
    }
    return std::nullopt;
  }

  /// The matrix that a value is the GELU's derivative of.
  std::optional<unsigned> argumentOfSlope(Value value) const {
    for (unsigned i = 0; i < inputs; ++i) {
      Value x = body->getArgument(i);
      for (Operation *user : x.getUsers())
        if (isa<arith::ExtFOp>(user))
          x = user->getResult(0);
      if (matrixOf(x) && slope.isOf(value, x))
        return i;
    }
    return std::nullopt;
  }

  unsigned argument(unsigned operand) const {
    return places[operand].array.getArgNumber();
  }

  std::optional<SmallVector<PointwisePart, 2>> parts() const {
    SmallVector<PointwisePart, 2> result;
    for (const auto &[product, results] : chains) {
      std::optional<PointwisePart> part = partOf(results);
      if (!part)
        return std::nullopt;
      result.push_back(*part);
    }
    return result;
  }

  /// The results that come from one product: its GELU, and what that is of.
  std::optional<PointwisePart> partOf(ArrayRef<Result> results) const {
    const Result *last = &results.front(), *kept = nullptr;
    if (results.size() == 2) {
      kept = &results[results[0].first.isGelu];
      last = &results[!results[0].first.isGelu];
    }
    const Chain &chain = last->first;
    bool isUnchanged = !chain.bias && !chain.isGelu && !chain.slopeOf;
    if (results.size() > 2 || isUnchanged)
      return std::nullopt;
    if (kept && (!chain.isGelu || kept->first.isGelu || kept->first.slopeOf ||
                 kept->first.bias != chain.bias))
      return std::nullopt;
    PointwisePart part{argument(chain.product), argument(last->second), {}};
    if (chain.bias)
      part.steps.push_back({rt::EpilogueStep::Bias, argument(*chain.bias)});
    if (kept)
      part.steps.push_back({rt::EpilogueStep::Keep, argument(kept->second)});
    if (chain.isGelu)
      part.steps.push_back({rt::EpilogueStep::Gelu});
    if (chain.slopeOf)
      part.steps.push_back({rt::EpilogueStep::Slope, argument(*chain.slopeOf)});
    return part;
  }

  linalg::GenericOp op;
  Block *body;
  const unsigned inputs;
  const Formula gelu, slope;
  SmallVector<Place> places;
  const Place *output = nullptr;
  llvm::MapVector<unsigned, SmallVector<Result, 2>> chains;
};

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

class SumMatcher {
public:
  explicit SumMatcher(ArrayRef<Operation *> loops) {
    for (Operation *op : loops) {
      if (auto fill = dyn_cast<linalg::FillOp>(op)) {
        if (isZero(fill.getInputs()[0]))
          zeroed.insert(fill.getOutputs()[0]);
      } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
        (isParallel(generic) ? copies : sums).push_back(generic);
      }
    }
  }

  std::optional<SmallVector<SumPart, 2>> match() {
    SmallVector<SumPart, 2> parts;
    for (linalg::GenericOp copy : copies)
      if (!noteCopies(copy))
        return std::nullopt;
    for (linalg::GenericOp sum : sums)
      for (unsigned i = 0; i < sum.getNumDpsInits(); ++i) {
        std::optional<SumPart> part = partOf(sum, i);
        if (!part)
          return std::nullopt;
        parts.push_back(*part);
      }
    return parts;
  }

private:
  /// Sums that were kept wider than they are stored: copies of a row.
  bool noteCopies(linalg::GenericOp copy) {
    Block *body = copy.getBody();
    if (copy.getNumDpsInputs() != copy.getNumDpsInits() ||
        !llvm::all_of(copy.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }))
      return false;
    for (auto [i, yielded] :
         llvm::enumerate(body->getTerminator()->getOperands())) {
      auto read = dyn_cast<BlockArgument>(withoutRounding(yielded));
      if (!read || read.getOwner() != body ||
          read.getArgNumber() >= copy.getNumDpsInputs())
        return false;
      stored[copy.getDpsInputs()[read.getArgNumber()]] = copy.getDpsInits()[i];
    }
    return true;
  }

  /// Result number i of a loop nest that sums.
  std::optional<SumPart> partOf(linalg::GenericOp sum, unsigned i) const {
    Value target = sum.getDpsInits()[i];
    std::optional<unsigned> input = addedInput(sum, i);
    if (!input || !zeroed.contains(target))
      return std::nullopt;
    AffineMap map = sum.getMatchingIndexingMap(sum.getDpsInitOperand(i));
    auto wide = stored.find(target);
    std::optional<Place> to =
        placeOf(wide == stored.end() ? target : wide->second, map);
    OpOperand *operand = sum.getDpsInputOperand(*input);
    std::optional<Place> from =
        placeOf(operand->get(), sum.getMatchingIndexingMap(operand));
    if (!to || !from || !isSuffix(*to, *from) || !sumsTheRest(sum, *to, *from))
      return std::nullopt;
    return SumPart{from->array.getArgNumber(), to->array.getArgNumber()};
  }

  /// The input that result i adds up.
  static std::optional<unsigned> addedInput(linalg::GenericOp sum, unsigned i) {
    Block *body = sum.getBody();
    auto add =
        body->getTerminator()->getOperand(i).getDefiningOp<arith::AddFOp>();
    if (!add)
      return std::nullopt;
    Value total = sum.getMatchingBlockArgument(sum.getDpsInitOperand(i));
    for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()),
                        std::pair(add.getRhs(), add.getLhs())}) {
      auto read = dyn_cast<BlockArgument>(withoutExtension(y));
      if (x == total && read && read.getOwner() == body &&
          read.getArgNumber() < sum.getNumDpsInputs())
        return read.getArgNumber();
    }
    return std::nullopt;
  }

  /// All of the dimensions that the result lacks, and nothing else.
  static bool sumsTheRest(linalg::GenericOp sum, const Place &to,
                          const Place &from) {
    auto types = sum.getIteratorTypesArray();
    size_t rest = from.dims.size() - to.dims.size();
    for (size_t i = 0; i < from.dims.size(); ++i) {
      const DimPlace &dim = from.dims[i];
      bool isSummed =
          dim.loop >= 0 && types[dim.loop] == utils::IteratorType::reduction;
      if (isSummed != (i < rest))
        return false;
      if (isSummed && (!isConstantIntValue(dim.offset, 0) ||
                       !isConstantIntValue(dim.size, from.shape()[i])))
        return false;
    }
    return true;
  }

  llvm::DenseSet<Value> zeroed;
  SmallVector<linalg::GenericOp> sums, copies;
  /// From the wide row to where it goes.
  llvm::DenseMap<Value, Value> stored;
};

/// The loop nests of a kernel, in order; nullopt if there is anything else than
/// these and what places them.
std::optional<SmallVector<Operation *>> loopsOf(func::FuncOp function) {
  SmallVector<Operation *> loops;
  WalkResult result = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<linalg::GenericOp, linalg::FillOp>(op)) {
      loops.push_back(op);
      return WalkResult::skip();
    }
    bool isIndexing =
        isa<arith::ArithDialect>(op->getDialect()) ||
        isa<func::FuncOp, func::ReturnOp, scf::ForOp, scf::YieldOp,
            memref::SubViewOp, memref::AllocaOp>(op);
    return isIndexing ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  return loops;
}

bool coversResults(const EpilogueKernel &kernel, unsigned inputs,
                   unsigned buffers) {
  llvm::SmallSet<unsigned, 4> written;
  auto note = [&](unsigned argument) {
    return argument >= inputs && written.insert(argument).second;
  };
  for (const PointwisePart &part : kernel.pointwise) {
    if (!note(part.result))
      return false;
    for (const KernelStep &step : part.steps)
      if (rt::hasBuffer(step.step) && rt::writesBuffer(step.step) &&
          !note(step.argument))
        return false;
  }
  for (const SumPart &part : kernel.sums)
    if (!note(part.result))
      return false;
  return written.size() == buffers - inputs;
}

unsigned bufferCount(func::FuncOp function) {
  return llvm::count_if(function.getArgumentTypes(),
                        [](Type type) { return isa<MemRefType>(type); });
}

} // namespace

std::optional<EpilogueKernel> tpsp::matchEpilogueKernel(func::FuncOp function,
                                                        unsigned inputs) {
  // Buffers and the range: a kernel that knows where its rank is does more.
  unsigned buffers = bufferCount(function);
  if (function.isExternal() || function.getNumArguments() != buffers + 2)
    return std::nullopt;
  std::optional<SmallVector<Operation *>> loops = loopsOf(function);
  if (!loops || loops->empty())
    return std::nullopt;
  EpilogueKernel kernel;
  auto only = dyn_cast<linalg::GenericOp>(loops->front());
  if (loops->size() == 1 && only && isParallel(only)) {
    auto parts = PointwiseMatcher(only).match();
    if (!parts)
      return std::nullopt;
    kernel.pointwise = *parts;
  } else {
    auto parts = SumMatcher(*loops).match();
    if (!parts)
      return std::nullopt;
    kernel.sums = *parts;
  }
  if (!coversResults(kernel, inputs, buffers))
    return std::nullopt;
  return kernel;
}
