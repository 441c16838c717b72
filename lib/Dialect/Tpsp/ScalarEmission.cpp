// The scalar that each loop operation computes at a point of its index space.
#include "tpsp/Dialect/Tpsp/Philox.h"
#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tpsp;

using Position = llvm::function_ref<Value(StringRef)>;

static Scalar scalar(OpBuilder &b, Operation *op, Value value) {
  return Scalar(b, op->getLoc(), value);
}

Value EinsumOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar product = scalar(b, *this, operands.front());
  for (Value factor : operands.drop_front())
    product = product * scalar(b, *this, factor);
  return product.get();
}

Value AddOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar sum = scalar(b, *this, operands.front());
  for (Value summand : operands.drop_front())
    sum = sum + scalar(b, *this, summand);
  return sum.get();
}

Value SubOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return (scalar(b, *this, operands[0]) - scalar(b, *this, operands[1])).get();
}
Value MulOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return (scalar(b, *this, operands[0]) * scalar(b, *this, operands[1])).get();
}
Value DivOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return (scalar(b, *this, operands[0]) / scalar(b, *this, operands[1])).get();
}
Value MaxOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return arith::MaximumFOp::create(b, getLoc(), operands[0], operands[1]);
}
/// Arithmetic is wide whatever the storage.
Value ConvertOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}
Value ReduceOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}
Value BroadcastOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}
Value ScaleOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  return (x * x.constant(getFactor().convertToDouble())).get();
}
Value ShiftOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  return (x + x.constant(getBy().convertToDouble())).get();
}

template <typename Op>
static Value emitFunction(Op op, OpBuilder &b, Value operand) {
  return findScalarFunction(Op::function)->value(scalar(b, op, operand)).get();
}

#define TPSP_UNARY(OP)                                                         \
  Value OP::emitScalar(OpBuilder &b, ValueRange operands, Position) {          \
    return emitFunction(*this, b, operands.front());                           \
  }
TPSP_UNARY(NegOp)
TPSP_UNARY(ExpOp)
TPSP_UNARY(LogOp)
TPSP_UNARY(TanhOp)
TPSP_UNARY(SqrtOp)
TPSP_UNARY(RsqrtOp)
TPSP_UNARY(SquareOp)
TPSP_UNARY(SigmoidOp)
TPSP_UNARY(ReluOp)
TPSP_UNARY(SiluOp)
TPSP_UNARY(GeluOp)
TPSP_UNARY(GeluErfOp)
#undef TPSP_UNARY

Value SlopeOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  return findScalarFunction(getOf())->slope(x).get();
}

//===----------------------------------------------------------------------===//
// Operations that know where they are
//===----------------------------------------------------------------------===//

Value CausalMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                               Position position) {
  Scalar x = scalar(b, *this, operands.front());
  Value seen = arith::CmpIOp::create(b, getLoc(), arith::CmpIPredicate::sle,
                                     position(getKey()), position(getQuery()));
  return arith::SelectOp::create(b, getLoc(), seen, x.get(),
                                 x.constant(getFill().convertToDouble()).get());
}
SmallVector<StringRef> CausalMaskOp::getPositionIndices() {
  return {getQuery(), getKey()};
}

/// `tile` if it is one of `index`.
static TileAttr tileAlong(std::optional<TileAttr> tile, StringRef index) {
  return tile && tile->getIndex() == index ? *tile : TileAttr();
}
TileAttr CausalMaskOp::getTileOf(StringRef index) {
  return tileAlong(getTile(), index);
}

/// An index value as f64.
static Value asF64(OpBuilder &b, Location loc, Value index) {
  Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  return arith::SIToFPOp::create(b, loc, b.getF64Type(), integer);
}

Value RopeMatrixOp::emitScalar(OpBuilder &b, ValueRange, Position position) {
  // In f64: at position 10^5 an f32 angle is off by 0.01 rad.
  Location loc = getLoc();
  Value feature = asF64(b, loc, position(getFeature()));
  double rate =
      -std::log(getTheta().convertToDouble()) / static_cast<double>(getPairs());
  Scalar frequency =
      exp(Scalar(b, loc, feature) * Scalar(b, loc, feature).constant(rate));
  Value angle =
      (Scalar(b, loc, asF64(b, loc, position(getPosition()))) * frequency)
          .get();
  bool isF64 = getResult().getType().getElementType().isF64();
  auto narrow = [&](Value value) -> Value {
    return isF64 ? value
                 : arith::TruncFOp::create(b, loc, b.getF32Type(), value);
  };
  Value cos = narrow(math::CosOp::create(b, loc, angle));
  Value sin = narrow(math::SinOp::create(b, loc, angle));
  Value minusSin = arith::NegFOp::create(b, loc, sin);
  // Row `out`, column `in` of [[cos, -sin], [sin, cos]].
  Value out = position(getOut()), in = position(getIn());
  Value diagonal =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, out, in);
  Value lower =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, out, in);
  Value off = getInverse()
                  ? arith::SelectOp::create(b, loc, lower, minusSin, sin)
                  : arith::SelectOp::create(b, loc, lower, sin, minusSin);
  return arith::SelectOp::create(b, loc, diagonal, cos, off);
}
SmallVector<StringRef> RopeMatrixOp::getPositionIndices() {
  return {getPosition(), getFeature(), getOut(), getIn()};
}

//===----------------------------------------------------------------------===//
// Integers and masks
//===----------------------------------------------------------------------===//

Value OneHotEinsumOp::emitScalar(OpBuilder &b, ValueRange operands,
                                 Position position) {
  Location loc = getLoc();
  Scalar x = scalar(b, *this, operands.back());
  Value all;
  for (auto [name, id] : llvm::zip_equal(selected(), operands.drop_back())) {
    Value at =
        arith::IndexCastOp::create(b, loc, b.getI32Type(), position(name));
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at, id);
    all = all ? arith::AndIOp::create(b, loc, all, here) : here;
  }
  return arith::SelectOp::create(b, loc, all, x.get(), x.constant(0).get());
}
SmallVector<StringRef> OneHotEinsumOp::getPositionIndices() {
  return selected();
}

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

/// Whether the element at the point is kept, as i1: 32 random bits of Philox
/// against rate * 2^32.
template <typename Op>
static Value emitKept(Op op, OpBuilder &b, Position position) {
  Location loc = op.getLoc();
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, i64, value);
  };
  // The position in the global tensor, row-major.
  auto type = op.getResult().getType();
  Mesh mesh = meshOf(op);
  Placement placement = placementOf(type, mesh);
  Value counter = constant(0);
  for (auto [name, extent, axes] :
       llvm::zip_equal(indexNames(type), type.getShape(), placement.dims)) {
    int64_t global =
        globalExtent(op.getTileOf(name), extent,
                     getIdx(type).getLocal() ? axes : AxisList(), mesh);
    Value at = arith::IndexCastOp::create(b, loc, i64, position(name));
    if (op.getAlong() && *op.getAlong() == name) {
      // (block, rest) here is (block, number, rest) of the larger tensor.
      ArrayRef<int64_t> part = *op.getPart();
      int64_t blocks = part[0], parts = part[1], number = part[2];
      int64_t rest = global / blocks;
      Value block = arith::DivUIOp::create(b, loc, at, constant(rest));
      Value skipped =
          arith::MulIOp::create(b, loc, block, constant(rest * (parts - 1)));
      at = arith::AddIOp::create(b, loc, at, skipped);
      at = arith::AddIOp::create(b, loc, at, constant(rest * number));
      global *= parts;
    }
    counter = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, counter, constant(global)), at);
  }
  Value bits = emitPhilox(b, loc, counter, op.getSeed());
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
  Value kept = emitKept(*this, b, position);
  Scalar scaled = x * x.constant(keptScale(getRate()));
  return arith::SelectOp::create(b, getLoc(), kept, scaled.get(),
                                 x.constant(0).get());
}
SmallVector<StringRef> DropoutOp::getPositionIndices() {
  return indexNames(getResult().getType());
}
TileAttr DropoutOp::getTileOf(StringRef index) {
  return tileAlong(getTile(), index);
}

Value DropoutMaskOp::emitScalar(OpBuilder &b, ValueRange, Position position) {
  Value kept = emitKept(*this, b, position);
  return arith::ExtUIOp::create(b, getLoc(), b.getI8Type(), kept);
}
SmallVector<StringRef> DropoutMaskOp::getPositionIndices() {
  return indexNames(getResult().getType());
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
