#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"

#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Words are the lower halves of i64, because the vectoriser has no widening
/// multiply. The upper half is cleared only before a product, where that costs
/// nothing.
struct Words {
  OpBuilder &b;
  Location loc;
  /// i64, or a vector of it.
  Type type;

  Value constant(uint64_t value) {
    TypedAttr number = b.getI64IntegerAttr(static_cast<int64_t>(value));
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return arith::ConstantOp::create(b, loc, number);
  }
  /// The same number in every lane.
  Value same(Value number) {
    return isa<VectorType>(type)
               ? vector::BroadcastOp::create(b, loc, type, number)
               : number;
  }
  Value low(Value wide) {
    return arith::AndIOp::create(b, loc, wide, constant(0xffffffffu));
  }
  Value high(Value wide) {
    return arith::ShRUIOp::create(b, loc, wide, constant(32));
  }
  Value times(Value word, uint64_t factor) {
    return arith::MulIOp::create(b, loc, low(word), constant(factor));
  }
  /// `x` if `number` is `wanted`, else `y`.
  Value chosen(Value number, uint64_t wanted, Value x, Value y) {
    Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                                     constant(wanted));
    return arith::SelectOp::create(b, loc, is, x, y);
  }
  Value mixed(Value x, Value y, uint32_t key) {
    Value both = arith::XOrIOp::create(b, loc, x, y);
    return arith::XOrIOp::create(b, loc, both, constant(key));
  }
};

struct ExpandRandomBits : OpRewritePattern<RandomBitsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RandomBitsOp op,
                                PatternRewriter &rewriter) const override {
    Words words{rewriter, op.getLoc(), rewriter.getI64Type()};
    std::array<Value, 4> x = emitRandomWords(
        rewriter, op.getLoc(), op.getBlock(), op.getStep(), op.getSeed());
    Value bits = x[0];
    for (size_t word = 1; word < x.size(); ++word)
      bits = words.chosen(op.getWord(), word, x[word], bits);
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, rewriter.getI32Type(),
                                                 bits);
    return success();
  }
};

} // namespace

/// Philox-4x32-10. The counter is (low word, high word) of a block's number,
/// then `step` and 0; the key is (low word, high word) of `seed`. (Salmon,
/// Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011.)
std::array<Value, randomNeighbours>
tpsp::emitRandomWords(OpBuilder &b, Location loc, Value blocks, Value step,
                      int64_t seed) {
  constexpr uint64_t factor0 = 0xd2511f53, factor1 = 0xcd9e8d57;
  constexpr uint32_t weyl0 = 0x9e3779b9, weyl1 = 0xbb67ae85;
  constexpr int rounds = 10;

  Words words{b, loc, blocks.getType()};
  std::array<Value, randomNeighbours> x = {
      blocks, words.high(blocks), step ? words.same(step) : words.constant(0),
      words.constant(0)};
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32);
  for (int round = 0; round < rounds; ++round) {
    Value product0 = words.times(x[0], factor0);
    Value product1 = words.times(x[2], factor1);
    x = {words.mixed(words.high(product1), x[1], key0), product1,
         words.mixed(words.high(product0), x[3], key1), product0};
    key0 += weyl0;
    key1 += weyl1;
  }
  return x;
}

void tpsp::populateExpandRandomBits(RewritePatternSet &patterns) {
  patterns.add<ExpandRandomBits>(patterns.getContext());
}
