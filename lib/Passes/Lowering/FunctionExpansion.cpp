#include "Passes/Lowering/FunctionExpansion.h"

#include "Passes/Lowering/Word.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace tpsp;

namespace {

/// Builds the arithmetic for one function of one number.
class Expansion {
public:
  Expansion(OpBuilder &b, Operation *op, Exponential exponential)
      : b(b), loc(op->getLoc()), type(op->getResult(0).getType()),
        x(b, loc, op->getOperand(0)), exponential(exponential) {}

  Value exp() { return type.isF64() ? wideExp() : expOf(x).get(); }
  Value log();
  Value tanh();
  Value erfc();
  Value sin() { return type.isF64() ? wideSine(0) : sine(0); }
  Value cos() { return type.isF64() ? wideSine(1) : sine(1); }

private:
  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  Word bitsOf(const Scalar &value) {
    Type integer = b.getIntegerType(type.getIntOrFloatBitWidth());
    return {b, loc, arith::BitcastOp::create(b, loc, integer, value.get())};
  }

  Value compare(arith::CmpFPredicate predicate, const Scalar &a,
                const Scalar &c) {
    return arith::CmpFOp::create(b, loc, predicate, a.get(), c.get());
  }
  Scalar select(Value condition, const Scalar &a, const Scalar &c) {
    return {b, loc,
            arith::SelectOp::create(b, loc, condition, a.get(), c.get())};
  }
  /// A NaN stays a NaN.
  Scalar atMost(const Scalar &value, double bound) {
    Scalar most = x.constant(bound);
    return select(compare(arith::CmpFPredicate::OGT, value, most), most, value);
  }
  Scalar atLeast(const Scalar &value, double bound) {
    Scalar least = x.constant(bound);
    return select(compare(arith::CmpFPredicate::OLT, value, least), least,
                  value);
  }

  /// The sum of c[i] x^i.
  static Scalar polynomial(const Scalar &x, ArrayRef<double> c) {
    Scalar sum = x.constant(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, x.constant(coefficient));
    return sum;
  }

  /// x - n * (the sum of `parts`), the parts largest first.
  static Scalar reduced(Scalar x, const Scalar &n, ArrayRef<double> parts) {
    for (double part : parts)
      x = fma(n, x.constant(-part), x);
    return x;
  }

  //===--------------------------------------------------------------------===//
  // Powers of e in f32
  //===--------------------------------------------------------------------===//

  /// exp(x) = (1 + fraction) 2^exponent
  struct Power {
    Scalar fraction;
    Word exponent;
  };

  Power powerOf(const Scalar &x);
  /// 2^n, for n from -126 to 127.
  Scalar powerOfTwo(const Word &n) {
    return ((n + n.constant(127)) << n.constant(23)).asFloat(type);
  }
  Scalar expOf(const Scalar &x);

  //===--------------------------------------------------------------------===//
  // Angles
  //===--------------------------------------------------------------------===//

  /// |x| as a number of quarter turns and a rest in f64, between -pi/4 and
  /// pi/4.
  struct Angle {
    Scalar rest;
    Word quarters;
  };

  Angle angleOf(const Word &bits);
  /// 96 bits, from bit `first` on, of 32 zeros followed by 2 / pi, as three
  /// words.
  SmallVector<Word> bitsOfTwoOverPi(const Word &first);
  /// sin(rest + quarters pi / 2), in f64.
  Scalar sineOf(const Angle &angle);
  Value sine(uint64_t quarters);

  //===--------------------------------------------------------------------===//
  // f64
  //===--------------------------------------------------------------------===//

  Scalar roundEven(const Scalar &value) {
    return {b, loc, math::RoundEvenOp::create(b, loc, value.get())};
  }
  Word toWord(const Scalar &value) {
    return {b, loc,
            arith::FPToSIOp::create(b, loc, b.getI64Type(), value.get())};
  }
  Scalar unlessNan(const Scalar &x, const Scalar &value) {
    return select(compare(arith::CmpFPredicate::ORD, x, x), value, x);
  }
  Value wideExp();
  Value wideSine(uint64_t quarters);

  OpBuilder &b;
  Location loc;
  Type type;
  Scalar x;
  Exponential exponential;
};

} // namespace

//===----------------------------------------------------------------------===//
// Powers of e
//===----------------------------------------------------------------------===//

// The polynomials are minimax: exp(r) = 1 + r + r^2 c(r) with relative error
// 2^-34.

/// Valid for |x| up to 105. For a NaN both parts are meaningless.
Expansion::Power Expansion::powerOf(const Scalar &x) {
  // Adding this to a number below 2^22 rounds the number to an integer, which
  // is then in the last bits.
  Scalar rounder = x.constant(0x1.8p23);
  Scalar sum = fma(x, x.constant(0x1.715476p0), rounder); // log2(e)
  Word exponent = bitsOf(sum) - bitsOf(rounder);
  // Two parts of log(2): the first has few enough digits for an exact product.
  Scalar r = reduced(x, sum - rounder, {0x1.62e4p-1, 0x1.7f7d1cp-20});
  Scalar c = polynomial(r, {0x1.0p-1, 0x1.555556p-3, 0x1.55548p-5,
                            0x1.11107cp-7, 0x1.6d9736p-10, 0x1.a1b8b6p-13});
  return {fma(c, r * r, r), exponent};
}

Scalar Expansion::expOf(const Scalar &x) {
  if (exponential == Exponential::Instruction) {
    Scalar bits = x * x.constant(1.4426950408889634); // log2(e)
    return {
        b, loc,
        math::Exp2Op::create(b, loc, bits.get(), arith::FastMathFlags::afn)};
  }
  // Beyond these bounds the result is 0 or infinite.
  auto [fraction, exponent] = powerOf(atMost(atLeast(x, -104), 89));
  // In two steps, because a single factor may be beyond the range of f32.
  Word half = exponent.shiftedSigned(1);
  return (x.constant(1) + fraction) * powerOfTwo(half) *
         powerOfTwo(exponent - half);
}

/// Near 0: x + x^3 c(x^2), to 2^-32. Elsewhere: 1 - 2 / (1 + exp(2|x|)),
/// corrected for the quotient's own error.
Value Expansion::tanh() {
  Word bits = bitsOf(x), sign = bits.constant(0x80000000);
  // Beyond this bound the result is 1.
  Scalar y = atMost(absolute(x), 10), square = y * y, one = x.constant(1);
  Scalar c = polynomial(square, {-0x1.555554p-2, 0x1.111066p-3, -0x1.b9ee9p-5,
                                 0x1.638b5ap-6, -0x1.0bf502p-7, 0x1.18e1fp-9});
  Scalar near = fma(c * square, y, y);

  auto [fraction, exponent] = powerOf(y + y);
  Scalar whole = powerOfTwo(exponent), part = whole * fraction;
  Scalar first = whole + one, divisor = first + part;
  Scalar lost = (first - divisor) + part;
  Scalar quotient = x.constant(2) / divisor;
  Scalar rest = fma(-quotient, divisor, x.constant(2));
  rest = fma(-quotient, lost, rest);
  Scalar far = one - fma(x.constant(0.5) * quotient, rest, quotient);

  Value isNear = compare(arith::CmpFPredicate::OLT, y, x.constant(0.625));
  Scalar size = select(isNear, near, far);
  return (bitsOf(size) | (bits & sign)).asFloat(type).get();
}

/// For v = |x|: exp(-v^2) (1 + u c(2u - 1)) / (1 + 2v), u = v / (v + 3); to
/// 2^-29. For a negative x it is 2 less that.
Value Expansion::erfc() {
  // Beyond this bound the result is 0 or 2.
  Scalar v = atMost(absolute(x), 10.25), one = x.constant(1),
         two = x.constant(2);
  Scalar square = v * v, lost = fma(v, v, -square);
  Scalar u = v / (v + x.constant(3));
  Scalar c =
      polynomial(fma(two, u, -one),
                 {0x1.03148cp-1, -0x1.8df4dp-1, 0x1.5d409cp-1, -0x1.b0fd2p-2,
                  0x1.7971ep-3, -0x1.86d3dep-5, 0x1.cce3acp-14, 0x1.4944ecp-8,
                  -0x1.09ed68p-10, -0x1.184544p-11});
  Scalar share = fma(u, c, one) / fma(two, v, one);
  Scalar size = expOf(-square) * fma(-share, lost, share);
  Value isNegative = compare(arith::CmpFPredicate::OLT, x, x.constant(0));
  return select(isNegative, two - size, size).get();
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// For x = (1 + f) 2^n, 1 + f between sqrt(1/2) and sqrt(2):
/// n log(2) + f - f^2 / 2 + f^3 c(f), to 2^-30.
Value Expansion::log() {
  Scalar zero = x.constant(0);
  Value isDenormal =
      compare(arith::CmpFPredicate::OLT, x, x.constant(0x1p-126));
  Word bits = bitsOf(select(isDenormal, x * x.constant(0x1p23), x));
  Word exponent = (bits - bits.constant(0x3f3504f3)).shiftedSigned(23);
  Scalar f =
      (bits - (exponent << bits.constant(23))).asFloat(type) - x.constant(1);
  Word shift = Word::select(isDenormal, bits.constant(23), bits.constant(0));
  Scalar n = (exponent - shift).toFloat(type);
  Scalar c = polynomial(f, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4bcp-3,
                            -0x1.555c5ap-3, 0x1.2336e4p-3, -0x1.fc1f6cp-4,
                            0x1.e6f606p-4, -0x1.de4f9ep-4, 0x1.14631p-4});
  Scalar square = f * f;
  Scalar small = fma(c * f, square, n * x.constant(0x1.7f7d1cp-20));
  small = fma(x.constant(-0.5), square, small);
  Scalar result = fma(n, x.constant(0x1.62e4p-1), f + small);

  Scalar infinity = x.constant(std::numeric_limits<double>::infinity());
  Scalar nan = x.constant(std::numeric_limits<double>::quiet_NaN());
  result = select(compare(arith::CmpFPredicate::OLT, x, infinity), result, x);
  Scalar other =
      select(compare(arith::CmpFPredicate::OEQ, x, zero), -infinity, nan);
  return ifPositive(x, result, other).get();
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

SmallVector<Word> Expansion::bitsOfTwoOverPi(const Word &first) {
  constexpr uint32_t digits[] = {0,          0xa2f9836e, 0x4e441529,
                                 0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                 0x3c439041, 0xfe5163ab};
  SmallVector<Word> words;
  for (uint32_t digit : digits)
    words.push_back(first.constant(digit));
  // Chooses four of the eight words, from number `first` / 32 on.
  for (auto [step, kept] :
       {std::pair(4, 7), std::pair(2, 5), std::pair(1, 4)}) {
    Value isFarther = first.hasBit(uint64_t(32 * step));
    for (int i = 0; i < kept && i + step < int(words.size()); ++i)
      words[i] = Word::select(isFarther, words[i + step], words[i]);
    words.erase(words.begin() + kept, words.end());
  }
  Word shift = first & first.constant(31);
  SmallVector<Word> result;
  for (int i = 0; i < 3; ++i)
    // A shift by 32 - shift would be undefined for shift = 0.
    result.push_back(
        (words[i] << shift) |
        ((words[i + 1] >> first.constant(1)) >> (first.constant(31) - shift)));
  return result;
}

/// x = m 2^e with an integer m. Only the digits of 2 / pi on which x / (pi / 2)
/// mod 4 depends are multiplied by m. (Payne and Hanek, Radian reduction for
/// trigonometric functions, 1983.)
Expansion::Angle Expansion::angleOf(const Word &bits) {
  Type wide = b.getI64Type(), f64 = b.getF64Type();
  Word exponent = bits >> bits.constant(23);
  Word fraction = (bits & bits.constant(0x7fffff)) | bits.constant(0x800000);
  // The first digit is the one that contributes a half turn for m = 1.
  constexpr int64_t least = 120;
  Word m = fraction.widened(wide), count = m.constant(32);
  SmallVector<Word> digits;
  for (Word word : bitsOfTwoOverPi(exponent - bits.constant(least)))
    digits.push_back(m * word.widened(wide));
  // A turn is 2^64.
  Word turn = (digits[0] << count) + digits[1] + (digits[2] >> count);
  Word quarters = (turn + turn.constant(1ull << 61)) >> turn.constant(62);
  Scalar rest = (turn - (quarters << turn.constant(62))).toFloat(f64);
  rest = rest * rest.constant(0x1.921fb54442d18p-62); // pi / 2 of 2^62
  // Below 2^-7 no reduction is needed.
  Value isSmall = exponent.isBelow(least);
  Scalar itself(b, loc,
                arith::ExtFOp::create(b, loc, f64, bits.asFloat(type).get()));
  return {select(isSmall, itself, rest),
          Word::select(isSmall, turn.constant(0), quarters)};
}

/// The series up to r^19 and r^18, to 2^-60.
Scalar Expansion::sineOf(const Angle &angle) {
  auto series = [](const Scalar &square, int first, int last) {
    SmallVector<double> c;
    double value = 1;
    for (int n = first; n <= last; n += 2) {
      c.push_back(value);
      value /= -double((n + 1) * (n + 2));
    }
    return polynomial(square, c);
  };
  Scalar r = angle.rest, square = r * r;
  Scalar sin = r * series(square, 1, 19), cos = series(square, 0, 18);
  Scalar result = select(angle.quarters.hasBit(1), cos, sin);
  return select(angle.quarters.hasBit(2), -result, result);
}

Value Expansion::sine(uint64_t quarters) {
  Word bits = bitsOf(x), sign = bits.constant(0x80000000);
  Angle angle = angleOf(bits & bits.constant(0x7fffffff));
  angle.quarters = angle.quarters + angle.quarters.constant(quarters);
  Value wide = sineOf(angle).get();
  Scalar result(b, loc, arith::TruncFOp::create(b, loc, type, wide));
  // The sine of -x is the negative sine of x, and the cosine is the same.
  if (quarters == 0)
    result = (bitsOf(result) ^ (bits & sign)).asFloat(type);
  // sin and cos of an infinity are NaN.
  Scalar zero = x - x;
  return unlessNan(zero, result).get();
}

//===----------------------------------------------------------------------===//
// f64
//===----------------------------------------------------------------------===//

/// exp(x) = 2^n exp(r), |r| at most log(2) / 2.
Value Expansion::wideExp() {
  Scalar inside = atMost(atLeast(x, -750), 710);
  Scalar n = roundEven(inside * x.constant(1.4426950408889634));
  Scalar r = reduced(inside, n, {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56});
  SmallVector<double> c = {1};
  for (int i = 1; i <= 14; ++i)
    c.push_back(c.back() / i);
  // In two steps, because a single factor may be beyond the range of f64.
  Word whole = toWord(n), half = whole.shiftedSigned(1);
  auto powerOfTwo = [&](const Word &n) {
    return ((n + n.constant(1023)) << n.constant(52)).asFloat(type);
  };
  Scalar result =
      polynomial(r, c) * powerOfTwo(half) * powerOfTwo(whole - half);
  return unlessNan(x, result).get();
}

Value Expansion::wideSine(uint64_t quarters) {
  Scalar n = roundEven(x * x.constant(0.6366197723675814));
  Scalar r = reduced(
      x, n,
      {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110});
  Word quarter = toWord(n);
  Scalar result = sineOf({r, quarter + quarter.constant(quarters)});
  // sin and cos of an infinity are NaN.
  return unlessNan(x - x, result).get();
}

namespace {

/// Replaces `Op` on numbers of one width by the result of `expand`.
template <typename Op, Value (Expansion::*expand)(), unsigned width>
struct Expand : OpRewritePattern<Op> {
  explicit Expand(MLIRContext *context,
                  Exponential exponential = Exponential::Polynomial)
      : OpRewritePattern<Op>(context), exponential(exponential) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isFloat() ||
        op.getType().getIntOrFloatBitWidth() != width)
      return failure();
    rewriter.replaceOp(op, (Expansion(rewriter, op, exponential).*expand)());
    return success();
  }

  Exponential exponential;
};

} // namespace

void tpsp::populateExpandF32Functions(RewritePatternSet &patterns,
                                      Exponential exponential) {
  patterns.add<Expand<math::ExpOp, &Expansion::exp, 32>,
               Expand<math::LogOp, &Expansion::log, 32>,
               Expand<math::TanhOp, &Expansion::tanh, 32>,
               Expand<math::SinOp, &Expansion::sin, 32>,
               Expand<math::CosOp, &Expansion::cos, 32>,
               Expand<math::ErfcOp, &Expansion::erfc, 32>>(
      patterns.getContext(), exponential);
}

void tpsp::populateExpandF64Functions(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, &Expansion::exp, 64>,
               Expand<math::SinOp, &Expansion::sin, 64>,
               Expand<math::CosOp, &Expansion::cos, 64>>(patterns.getContext());
}
