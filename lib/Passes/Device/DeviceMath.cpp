#include "DeviceMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace {

/// Scalar arithmetic in place of one operation.
class Expansion {
public:
  explicit Expansion(Operation *op)
      : op(op), b(op), loc(op->getLoc()), type(op->getResult(0).getType()) {}

  Value run() {
    if (StringRef name = intrinsicOf(op); !name.empty()) {
      Value value = intrinsic(name, op->getOperands());
      return isa<math::RsqrtOp>(op)
                 ? arith::DivFOp::create(b, loc, constant(1), value)
                 : value;
    }
    if (!type.isF64())
      return {};
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case([&](math::ExpOp exp) { return exponential(exp.getOperand()); })
        .Case([&](math::SinOp sin) { return sine(sin.getOperand(), 0); })
        .Case([&](math::CosOp cos) { return sine(cos.getOperand(), 1); })
        .Default(Value());
  }

private:
  static StringRef intrinsicOf(Operation *op) {
    return llvm::TypeSwitch<Operation *, StringRef>(op)
        .Case<math::SqrtOp, math::RsqrtOp>([](auto) { return "llvm.sqrt"; })
        .Case([](math::AbsFOp) { return "llvm.fabs"; })
        .Case([](math::CeilOp) { return "llvm.ceil"; })
        .Case([](math::CopySignOp) { return "llvm.copysign"; })
        .Case([](math::FloorOp) { return "llvm.floor"; })
        .Case([](math::FmaOp) { return "llvm.fma"; })
        .Default(StringRef());
  }

  Value intrinsic(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name),
                                         operands)
        .getResult(0);
  }
  Value constant(double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  Value integer(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
  }
  Value fma(Value x, Value y, Value z) {
    return intrinsic("llvm.fma", {x, y, z});
  }
  Value times(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }

  /// x - n * (the sum of `parts`), the parts largest first.
  Value reduced(Value x, Value n, ArrayRef<double> parts) {
    for (double part : parts)
      x = fma(n, constant(-part), x);
    return x;
  }

  /// The series of exp with signs for `x` to the powers first, first + step...
  /// over their factorials, up to `last`, without the common x^first.
  Value series(Value power, int first, int step, int last, double sign) {
    auto coefficient = [&](int exponent) {
      double value = 1;
      for (int i = 2; i <= exponent; ++i)
        value /= i;
      return (exponent - first) / step % 2 ? sign * value : value;
    };
    Value sum = constant(coefficient(last));
    for (int exponent = last - step; exponent >= first; exponent -= step)
      sum = fma(sum, power, constant(coefficient(exponent)));
    return sum;
  }

  /// 2^n as bits, for n from -1022 to 1023.
  Value powerOfTwo(Value n) {
    Value bits = arith::AddIOp::create(b, loc, n, integer(1023));
    bits = arith::ShLIOp::create(b, loc, bits, integer(52));
    return arith::BitcastOp::create(b, loc, type, bits);
  }

  /// NaN stays; for infinities `value` has to be right.
  Value unlessNan(Value x, Value value) {
    Value isNumber =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x, x);
    return arith::SelectOp::create(b, loc, isNumber, value, x);
  }

  /// exp(x) = 2^n exp(r), |r| at most log(2) / 2.
  Value exponential(Value x) {
    Value inside = arith::MaximumFOp::create(b, loc, x, constant(-750));
    inside = arith::MinimumFOp::create(b, loc, inside, constant(710));
    Value n = intrinsic("llvm.roundeven",
                        times(inside, constant(1.4426950408889634)));
    Value r = reduced(inside, n, {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56});
    Value result = series(r, /*first=*/0, /*step=*/1, /*last=*/14, /*sign=*/1);
    // In two steps: one factor alone may be beyond the range of f64.
    Value whole = arith::FPToSIOp::create(b, loc, b.getI64Type(), n);
    Value half = arith::ShRSIOp::create(b, loc, whole, integer(1));
    Value rest = arith::SubIOp::create(b, loc, whole, half);
    result = times(times(result, powerOfTwo(half)), powerOfTwo(rest));
    return unlessNan(x, result);
  }

  /// sin(x + quarters * pi / 2).
  Value sine(Value x, int64_t quarters) {
    Value n =
        intrinsic("llvm.roundeven", times(x, constant(0.6366197723675814)));
    Value r = reduced(
        x, n,
        {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110});
    Value square = times(r, r);
    Value sin = times(r, series(square, 1, 2, 19, -1));
    Value cos = series(square, 0, 2, 18, -1);
    Value quarter = arith::FPToSIOp::create(b, loc, b.getI64Type(), n);
    quarter = arith::AddIOp::create(b, loc, quarter, integer(quarters));
    Value result =
        arith::SelectOp::create(b, loc, hasBit(quarter, 1), cos, sin);
    Value minus = arith::NegFOp::create(b, loc, result);
    result = arith::SelectOp::create(b, loc, hasBit(quarter, 2), minus, result);
    // NaN for infinities.
    Value zero = arith::SubFOp::create(b, loc, x, x);
    return unlessNan(zero, result);
  }

  Value hasBit(Value bits, int64_t bit) {
    Value masked = arith::AndIOp::create(b, loc, bits, integer(bit));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked,
                                 integer(0));
  }

  Operation *op;
  OpBuilder b;
  Location loc;
  Type type;
};

} // namespace

void tpsp::expandDeviceMath(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> operations;
  kernel.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) && op->getNumResults() == 1)
      operations.push_back(op);
  });
  for (Operation *op : operations)
    if (Value value = Expansion(op).run()) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
}
