// AdamW (Loshchilov and Hutter, arXiv:1711.05101), as in PyTorch: epsilon is
// added outside the root. Decay is separate from the gradient, and applies to
// matrices only.
#include "Optimizer.h"

#include <cmath>

using namespace mlir;
using namespace tpsp;

/// 1 - beta^step, computed as tanh(x / 2) (1 + exp(-x)) for x = -step ln(beta).
/// The difference would lose digits for a beta near 1.
static Value correction(UpdateBuilder &b, Value step, double beta) {
  Value x = b.scale(step, -std::log(beta));
  Value rest = b.shift(b.exp(b.scale(x, -1)), 1);
  return b.mul(b.tanh(b.scale(x, 0.5)), rest);
}

static SmallVector<Value> build(UpdateBuilder &b, const ParameterStep &in) {
  double beta1 = in.setting("beta1"), beta2 = in.setting("beta2");
  // Numbers come first, so that the operations that wait for them become one
  // kernel.
  Value meanShare = correction(b, in.step, beta1);
  Value squareShare = correction(b, in.step, beta2);
  Value mean = b.average(in.state[0], in.gradient, beta1);
  Value square = b.average(in.state[1], b.square(in.gradient), beta2);
  Value root = b.sqrt(b.div(square, squareShare));
  Value change =
      b.div(b.div(mean, meanShare), b.shift(root, in.setting("epsilon")));
  return {in.stepped(b, in.decayed(b, change)), mean, square};
}

const Optimizer &tpsp::adamW() {
  static const Optimizer optimizer = {{{"mean", 0, 0.1}, {"square", 1, 0.1}},
                                      {{"beta1", 0.9, 1},
                                       {"beta2", 0.95, 1},
                                       {"epsilon", 1e-8},
                                       {"decay", 0.1}},
                                      build};
  return optimizer;
}
