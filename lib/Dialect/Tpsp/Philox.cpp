#include "Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>

using namespace mlir;
using namespace tpsp;

namespace {

/// Words are held in i64 with the upper half clear: a product of two words
/// needs it, and the vectoriser has no widening multiply.
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
    return arith::MulIOp::create(b, loc, word, constant(factor));
  }
  Value mixed(Value x, Value y, uint32_t key) {
    Value both = arith::XOrIOp::create(b, loc, x, y);
    return arith::XOrIOp::create(b, loc, both, constant(key));
  }
};

} // namespace

Value tpsp::emitPhilox(OpBuilder &b, Location loc, Value counter,
                       int64_t seed) {
  constexpr uint64_t factor0 = 0xd2511f53, factor1 = 0xcd9e8d57;
  constexpr uint32_t weyl0 = 0x9e3779b9, weyl1 = 0xbb67ae85;
  constexpr int rounds = 10;

  Words words{b, loc};
  std::array<Value, 4> x = {words.low(counter), words.high(counter),
                            words.constant(0), words.constant(0)};
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32);
  for (int round = 0; round < rounds; ++round) {
    Value product0 = words.times(x[0], factor0);
    Value product1 = words.times(x[2], factor1);
    x = {words.mixed(words.high(product1), x[1], key0), words.low(product1),
         words.mixed(words.high(product0), x[3], key1), words.low(product0)};
    key0 += weyl0;
    key1 += weyl1;
  }
  return arith::TruncIOp::create(b, loc, b.getI32Type(), x[0]);
}
