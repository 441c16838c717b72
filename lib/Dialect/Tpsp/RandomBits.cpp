#include "tpsp/Dialect/Tpsp/RandomBits.h"

#include "tpsp/Dialect/Tpsp/DropoutOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "llvm/ADT/SetVector.h"

#include <array>

using namespace mlir;
using namespace tpsp;

namespace {

/// Words are the lower halves of i64: the vectoriser has no widening multiply.
/// What is above them is cleared for a product alone, where it costs nothing.
struct Words {
  OpBuilder &b;
  Location loc;

  Value constant(uint64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI64Type(),
                                        static_cast<int64_t>(value));
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

/// The words of block number `block` of Philox-4x32-10, each an i64. The
/// counter is (low word, high word) of `block`, then `step` and 0; the key is
/// (low word, high word) of `seed`. (Salmon, Moraes, Dror, Shaw: Parallel
/// random numbers: as easy as 1, 2, 3, SC 2011.)
std::array<Value, 4> philox(Words words, Value block, Value step,
                            int64_t seed) {
  constexpr uint64_t factor0 = 0xd2511f53, factor1 = 0xcd9e8d57;
  constexpr uint32_t weyl0 = 0x9e3779b9, weyl1 = 0xbb67ae85;
  constexpr int rounds = 10;

  std::array<Value, 4> x = {block, words.high(block),
                            step ? step : words.constant(0), words.constant(0)};
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

struct ExpandRandomBits : OpRewritePattern<RandomBitsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RandomBitsOp op,
                                PatternRewriter &rewriter) const override {
    Words words{rewriter, op.getLoc()};
    std::array<Value, 4> x =
        philox(words, op.getBlock(), op.getStep(), op.getSeed());
    Value bits = x[0];
    for (size_t word = 1; word < x.size(); ++word)
      bits = words.chosen(op.getWord(), word, x[word], bits);
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, rewriter.getI32Type(),
                                                 bits);
    return success();
  }
};

} // namespace

void tpsp::populateExpandRandomBits(RewritePatternSet &patterns) {
  patterns.add<ExpandRandomBits>(patterns.getContext());
}

void tpsp::unrollRandomNeighbours(Operation *kernel) {
  llvm::SetVector<Operation *> loops;
  kernel->walk([&](RandomBitsOp op) {
    if (auto loop = op->getParentOfType<scf::ForOp>())
      loops.insert(loop);
  });
  for (Operation *loop : loops)
    (void)loopUnrollByFactor(cast<scf::ForOp>(loop), randomNeighbours);
}
