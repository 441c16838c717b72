// Dropout and its masks.
#include "PartBuilder.h"
#include "ScalarOf.h"

#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

bool DropoutOp::draws() { return !getRate().isZero(); }
void DropoutOp::stopDrawing() { setRate(llvm::APFloat(0.0)); }

/// The step's number may have another precision.
bool DropoutOp::mixesPrecision() { return getNumOperands() > 1; }
unsigned DropoutMaskOp::getIntegerWidth(unsigned i) {
  return i == getNumOperands() ? 8 : 0;
}
unsigned ApplyMaskOp::getIntegerWidth(unsigned i) { return i == 1 ? 8 : 0; }

/// Records in a dropout which part of a larger tensor it draws for.
template <typename Op>
static LogicalResult restrictDropout(Op op, StringRef index,
                                     ArrayRef<int64_t> part) {
  if (op.getAlong())
    return op.emitOpError("is a part along '")
           << *op.getAlong() << "' already and cannot be cut along '" << index
           << "' again";
  op.setAlong(index);
  op.setPart(part);
  return success();
}

Value DropoutOp::separateMask(OpBuilder &b) {
  RankedTensorType type = getResult().getType();
  auto maskType =
      RankedTensorType::get(type.getShape(), b.getI8Type(), type.getEncoding());
  Value mask = DropoutMaskOp::create(
      b, getLoc(), maskType, getInputs().drop_front(), getRateAttr(),
      getSeedAttr(), getAlongAttr(), getPartAttr());
  double scale = 1.0 / (1.0 - getRate().convertToDouble());
  return ApplyMaskOp::create(b, getLoc(), type, ValueRange{getOperand(0), mask},
                             b.getF64FloatAttr(scale));
}

LogicalResult DropoutOp::restrictPositions(StringRef index, int64_t blocks,
                                           int64_t parts, int64_t part) {
  return restrictDropout(*this, index, {blocks, parts, part});
}

LogicalResult DropoutMaskOp::restrictPositions(StringRef index, int64_t blocks,
                                               int64_t parts, int64_t part) {
  return restrictDropout(*this, index, {blocks, parts, part});
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                      Gradients gradients) {
  // Dropout is linear and its own transpose: the same elements are zeroed.
  // Positions in the result decide which ones, and its indices may be in
  // another order than the operand's.
  AdjointBuilder adjoint(b, getLoc());
  SmallVector<Value> operands(getInputs());
  operands.front() = g;
  Value dropped =
      adjoint.map<DropoutOp>(g, operands, getRateAttr(), getSeedAttr(),
                             getAlongAttr(), getPartAttr(), getTileAttr());
  gradients[0] = adjoint.sumTo(dropped, getOperand(0));
  return success();
}

LogicalResult DropoutMaskOp::buildAdjoint(OpBuilder &, Value, Needed,
                                          Gradients) {
  return success(); // a constant
}

LogicalResult ApplyMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                        Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked =
      adjoint.map<ApplyMaskOp>(g, ValueRange{g, getOperand(1)}, getScaleAttr());
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The extent of an index over all ranks.
static int64_t globalExtent(TileAttr tile, int64_t local, const AxisList &axes,
                            const Mesh &mesh) {
  if (!tile)
    return local * mesh.groupSize(axes);
  AxisList group;
  for (auto axis : tile.getAxes().getAsRange<StringAttr>())
    group.push_back(*mesh.find(axis.getValue()));
  return tile.getExtent() * mesh.groupSize(group);
}

/// The random bits of the element at `column` of row number `row`.
static Value emitRandomBits(OpBuilder &b, Location loc, Value row, Value column,
                            int64_t columns, Value step, int64_t seed) {
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, i64, value);
  };
  // Without a sum in between, LLVM sees that neighbours share a block.
  bool isWhole = columns % randomNeighbours == 0;
  Value scaled = arith::MulIOp::create(
      b, loc, row, constant(isWhole ? columns / randomNeighbours : columns));
  Value position =
      isWhole ? column : Value(arith::AddIOp::create(b, loc, scaled, column));
  Value neighbours = constant(randomNeighbours);
  Value block = arith::DivUIOp::create(b, loc, position, neighbours);
  Value word = arith::RemUIOp::create(b, loc, position, neighbours);
  if (isWhole)
    block = arith::AddIOp::create(b, loc, scaled, block);
  return RandomBitsOp::create(b, loc, b.getI32Type(), block, word, step, seed);
}

/// A step's number as an integer; null if `step` is empty.
static Value emitStep(OpBuilder &b, Location loc, ValueRange step) {
  return step.empty() ? Value()
                      : Value(arith::FPToUIOp::create(b, loc, b.getI64Type(),
                                                      step.front()));
}

/// Whether the element at the point is kept, as i1: 32 random bits against
/// rate * 2^32.
template <typename Op>
static Value emitKept(Op op, OpBuilder &b, ValueRange step, Position position) {
  Location loc = op.getLoc();
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, i64, value);
  };
  auto partNumber = [&](int64_t number) -> Value {
    if (number != everyMicroBatch)
      return constant(number);
    return arith::IndexCastOp::create(b, loc, i64,
                                      position(microBatchPosition));
  };
  // The position in the global tensor, row-major.
  auto type = op.getResult().getType();
  Mesh mesh = meshOf(op);
  Placement placement = placementOf(type, mesh);
  // The number of rows before the element's, and its place in its row.
  Value row = constant(0), column = constant(0);
  int64_t extentOfRow = 1;
  for (auto [name, extent, axes] :
       llvm::zip_equal(indexNames(type), type.getShape(), placement.dims)) {
    int64_t global =
        globalExtent(op.getTileOf(name), extent,
                     getIdx(type).getLocal() ? axes : AxisList(), mesh);
    Value at = arith::IndexCastOp::create(b, loc, i64, position(name));
    if (op.getAlong() && *op.getAlong() == name) {
      // Position (block, rest) here is (block, number, rest) of the larger
      // tensor.
      ArrayRef<int64_t> part = *op.getPart();
      int64_t blocks = part[0], parts = part[1], number = part[2];
      int64_t rest = global / blocks;
      Value block = arith::DivUIOp::create(b, loc, at, constant(rest));
      Value skipped =
          arith::MulIOp::create(b, loc, block, constant(rest * (parts - 1)));
      at = arith::AddIOp::create(b, loc, at, skipped);
      Value before =
          arith::MulIOp::create(b, loc, constant(rest), partNumber(number));
      at = arith::AddIOp::create(b, loc, at, before);
      global *= parts;
    }
    row = arith::MulIOp::create(b, loc, row, constant(extentOfRow));
    row = arith::AddIOp::create(b, loc, row, column);
    column = at;
    extentOfRow = global;
  }
  Value bits = emitRandomBits(b, loc, row, column, extentOfRow,
                              emitStep(b, loc, step), op.getSeed());
  double rate = op.getRate().convertToDouble();
  auto threshold = static_cast<int64_t>(std::ldexp(rate, 32));
  Value limit = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                             static_cast<int32_t>(threshold));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, bits, limit);
}

static double keptScale(const llvm::APFloat &rate) {
  return 1.0 / (1.0 - rate.convertToDouble());
}

Value DropoutOp::emitScalar(OpBuilder &b, ValueRange operands,
                            Position position) {
  Scalar x = scalar(b, *this, operands.front());
  Value kept = emitKept(*this, b, operands.drop_front(), position);
  Scalar scaled = x * x.constant(keptScale(getRate()));
  return arith::SelectOp::create(b, getLoc(), kept, scaled.get(),
                                 x.constant(0).get());
}

/// The indices by whose positions elements are drawn.
template <typename Op> static SmallVector<StringRef> positionsOf(Op op) {
  SmallVector<StringRef> names = indexNames(op.getResult().getType());
  if (op.getAlong() && (*op.getPart())[2] == everyMicroBatch)
    names.push_back(microBatchPosition);
  return names;
}

SmallVector<StringRef> DropoutOp::getPositionIndices() {
  return positionsOf(*this);
}

TileAttr DropoutOp::getTileOf(StringRef index) {
  return tileAlong(getTile(), index);
}

Value DropoutMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                                Position position) {
  Value kept = emitKept(*this, b, operands, position);
  return arith::ExtUIOp::create(b, getLoc(), b.getI8Type(), kept);
}

SmallVector<StringRef> DropoutMaskOp::getPositionIndices() {
  return positionsOf(*this);
}

Value ApplyMaskOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands[0]);
  Value none = arith::ConstantIntOp::create(b, getLoc(), b.getI8Type(), 0);
  Value kept = arith::CmpIOp::create(b, getLoc(), arith::CmpIPredicate::ne,
                                     operands[1], none);
  Scalar scaled = x * x.constant(getScale().convertToDouble());
  return arith::SelectOp::create(b, getLoc(), kept, scaled.get(),
                                 x.constant(0).get());
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.cpp.inc"
