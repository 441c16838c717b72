// Lion (Chen et al., arXiv:2302.06675, algorithm 2).
#include "Optimizer.h"

using namespace mlir;
using namespace tpsp;

/// The sign of x, -1 or 1. Below 1e-18, where x is negligible, the magnitude is
/// less.
static Value signOf(UpdateBuilder &b, Value x) {
  return b.mul(x, b.rsqrt(b.shift(b.square(x), 1e-36)));
}

static SmallVector<Value> build(UpdateBuilder &b, const ParameterStep &in) {
  Value momentum = in.state[0];
  Value change =
      signOf(b, b.average(momentum, in.gradient, in.setting("beta1")));
  return {in.stepped(b, in.decayed(b, change)),
          b.average(momentum, in.gradient, in.setting("beta2"))};
}

const Optimizer &tpsp::lion() {
  static const Optimizer optimizer = {
      {{"momentum", 0, 0.1}},
      {{"beta1", 0.9, 1}, {"beta2", 0.99, 1}, {"decay", 0.1}},
      build};
  return optimizer;
}
