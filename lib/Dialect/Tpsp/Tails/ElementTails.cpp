// How operations on single elements carry the tail of a padded index.
#include "TailRules.h"

#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Folds `op` with constant operands; fails if it does not fold.
static FailureOr<OpFoldResult> fold(Operation &op,
                                    ArrayRef<Attribute> operands) {
  // MLIR has no folder for math.fma.
  if (isa<math::FmaOp>(op) &&
      llvm::all_of(operands, llvm::IsaPred<FloatAttr>)) {
    auto number = [&](unsigned i) {
      return cast<FloatAttr>(operands[i]).getValueAsDouble();
    };
    return OpFoldResult(FloatAttr::get(
        op.getResult(0).getType(), std::fma(number(0), number(1), number(2))));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op.fold(operands, results)) || results.size() != 1)
    return failure();
  return results.front();
}

/// Evaluates `value` of a `block` whose operands are all constants. nullopt if
/// an operation does not fold, or a number is not finite.
static std::optional<double> fold(Block &block, Value value) {
  llvm::DenseMap<Value, Attribute> known;
  for (Operation &op : block) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    FailureOr<OpFoldResult> result = fold(op, operands);
    if (failed(result))
      return std::nullopt;
    auto of = dyn_cast<Value>(*result);
    known[op.getResult(0)] = of ? known.lookup(of) : cast<Attribute>(*result);
  }
  auto number = dyn_cast_or_null<FloatAttr>(known.lookup(value));
  if (!number || !number.getValue().isFinite())
    return std::nullopt;
  return number.getValueAsDouble();
}

using Emission = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

/// Evaluates the operations that `emit` creates for these numbers.
static std::optional<double> evaluate(Operation *op, ArrayRef<double> numbers,
                                      Emission emit) {
  Block block;
  OpBuilder b(op->getContext());
  b.setInsertionPointToEnd(&block);
  SmallVector<Value> operands;
  for (double number : numbers)
    operands.push_back(
        arith::ConstantOp::create(b, op->getLoc(), b.getF64FloatAttr(number)));
  return fold(block, emit(b, operands));
}

/// Evaluates the scalar of a loop operation for operands that are numbers.
static std::optional<double> evaluate(LoopOpInterface op,
                                      ArrayRef<double> numbers) {
  return evaluate(op, numbers, [&](OpBuilder &b, ValueRange operands) {
    return op.emitScalar(b, operands, [](StringRef) { return Value(); });
  });
}

/// The numbers in the operands' tails; nullopt if one is not known.
static std::optional<SmallVector<double>> numbersOf(const TailCase &c) {
  SmallVector<double> numbers;
  for (unsigned i = 0; i < c.operands.size(); ++i) {
    std::optional<double> number = c.operands[i].getNumber();
    if (!number || !c.carries(i))
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// If all operands' tails are known numbers, so is the result's; else it is
/// finite.
static StringRef carryScalar(const TailCase &c) {
  c.raise();
  c.result = Tail();
  if (std::optional<SmallVector<double>> numbers = numbersOf(c))
    if (auto number = evaluate(cast<LoopOpInterface>(c.op), *numbers))
      c.result = Tail::number(*number);
  return "";
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A low tail stays low if finite numbers are added to it or subtracted.
static StringRef carrySum(const TailCase &c) {
  bool isLow = !c.operands.empty() && c.operands[0].isLow();
  for (const Tail &other : c.operands.drop_front())
    isLow &= !other.isLow();
  if (!isLow)
    return carryScalar(c);
  c.result = Tail::low();
  return "";
}

/// Zero times any finite number is zero.
static StringRef carryProduct(const TailCase &c) {
  c.raise();
  if (!llvm::any_of(c.operands, [](const Tail &t) { return t.isZero(); }))
    return carryScalar(c);
  c.result = Tail::zero();
  return "";
}

static StringRef carryQuotient(const TailCase &c) {
  c.raise();
  Tail &divisor = c.operands[1];
  if (c.carries(1) && divisor.getNumber().value_or(0) == 0)
    divisor = Tail::number(1);
  if (!c.operands[0].isZero())
    return carryScalar(c);
  c.result = Tail::zero();
  return "";
}

static StringRef carrySelect(const TailCase &c) {
  c.raise();
  c.result = Tail();
  std::optional<double> condition = c.operands[0].getNumber();
  if (condition)
    c.result = c.operands[*condition != 0 ? 1 : 2];
  else if (c.operands[1] == c.operands[2])
    c.result = c.operands[1];
  return "";
}

/// A conversion to a wider type keeps a low tail low.
static StringRef carryConversion(const TailCase &c) {
  auto width = [](Value v) { return typeOf(v).getElementTypeBitWidth(); };
  if (!c.operands[0].isLow() ||
      width(c.op->getResult(0)) < width(c.op->getOperand(0)))
    return carryScalar(c);
  c.result = c.operands[0];
  return "";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether a function and its slope are zero for the lowest numbers.
static bool vanishesWhereLow(Operation *op, const ScalarFunction &function) {
  const double lowest = -std::numeric_limits<float>::max();
  auto isZero = [&](Scalar (*of)(const Scalar &)) {
    return evaluate(op, lowest, [&](OpBuilder &b, ValueRange x) {
             return of(Scalar(b, op->getLoc(), x.front())).get();
           }) == 0.0;
  };
  return isZero(function.value) && isZero(function.slope);
}

static StringRef carryFunction(const TailCase &c) {
  auto slope = dyn_cast<SlopeOp>(c.op);
  const ScalarFunction *function = findScalarFunction(
      slope ? slope.getOf() : c.op->getName().stripDialect());
  Tail &x = c.operands[0];
  if (x.isLow() && !slope && vanishesWhereLow(c.op, *function)) {
    c.result = Tail::zero();
    return "";
  }
  // The function or its slope is undefined for other numbers.
  if (function->takesPositive && c.carries(0) &&
      !(x.getNumber().value_or(0) > 0))
    x = Tail::number(1);
  return carryScalar(c);
}

//===----------------------------------------------------------------------===//
// Masks and chance
//===----------------------------------------------------------------------===//

/// The tail is that of `x` or the mask's number.
template <typename Op> static StringRef carryMask(const TailCase &c) {
  double fill = cast<Op>(c.op).getFill().convertToDouble();
  Tail &x = c.operands[0];
  if (x.getNumber() != fill || !c.carries(0))
    return c.keepFinite();
  c.result = x;
  return "";
}

/// Zeros stay zeros, whatever their labels are.
static StringRef carryLabelMask(const TailCase &c) {
  c.raise();
  c.result = c.operands[0].isZero() ? Tail::zero() : Tail();
  return "";
}

/// Beyond its own end an end mask holds its number.
static StringRef carryEndMask(const TailCase &c) {
  auto op = cast<EndMaskOp>(c.op);
  if (op.getIndex() != c.index)
    return carryMask<EndMaskOp>(c);
  c.raise();
  c.result = Tail::number(op.getFill().convertToDouble());
  return "";
}

/// A dropout draws for an element by its position in the whole tensor. Further
/// positions after the end of the outermost index do not change the others'
/// positions.
static StringRef carryDropout(const TailCase &c) {
  auto random = dyn_cast<RandomOpInterface>(c.op);
  if ((!random || random.draws()) &&
      getIdx(c.op->getResult(0)).dimOf(c.index) != 0u)
    return "what it drops follows from places in the whole tensor, which only "
           "an outermost index does not move";
  c.raise();
  bool isZero = !c.operands.empty() && c.operands[0].isZero();
  c.result = isZero ? Tail::zero() : Tail();
  return "";
}

static StringRef carryApplyMask(const TailCase &c) {
  c.raise();
  c.result = c.operands[0].isZero() ? Tail::zero() : Tail();
  return "";
}

static StringRef carryFinite(const TailCase &c) { return c.keepFinite(); }

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void tpsp::registerElementTails(MLIRContext &context) {
  attachTails<carrySum, AddOp, SubOp>(context);
  attachTails<carryProduct, MulOp>(context);
  attachTails<carryQuotient, DivOp>(context);
  attachTails<carrySelect, SelectOp>(context);
  attachTails<carryConversion, ConvertOp>(context);
  attachTails<carryScalar, MaxOp, ClampOp, CompareOp, BroadcastOp, ScaleOp,
              ShiftOp, ConstantOp>(context);
  attachTails<carryFunction, SlopeOp,
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.cpp.inc"
              >(context);
  attachTails<carryMask<CausalMaskOp>, CausalMaskOp>(context);
  attachTails<carryMask<SegmentMaskOp>, SegmentMaskOp>(context);
  attachTails<carryMask<LengthMaskOp>, LengthMaskOp>(context);
  attachTails<carryLabelMask, LabelMaskOp>(context);
  attachTails<carryEndMask, EndMaskOp>(context);
  attachTails<carryFinite, AddBiasOp, IotaOp, RopeMatrixOp>(context);
  attachTails<carryDropout, DropoutOp, DropoutMaskOp>(context);
  attachTails<carryApplyMask, ApplyMaskOp>(context);
}
