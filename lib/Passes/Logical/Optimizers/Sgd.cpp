// Stochastic gradient descent with momentum, as PyTorch has it.
#include "Optimizer.h"

using namespace mlir;
using namespace tpsp;

static SmallVector<Value> build(UpdateBuilder &b, const ParameterStep &in) {
  double momentum = in.setting("momentum");
  Value gradient = in.gradient;
  if (in.rank() >= 2 && in.setting("decay") > 0)
    gradient = b.add(gradient, b.scale(in.parameter, in.setting("decay")));
  Value velocity = b.add(b.scale(in.state[0], momentum), gradient);
  Value change = in.setting("nesterov") != 0
                     ? b.add(gradient, b.scale(velocity, momentum))
                     : velocity;
  return {b.sub(in.parameter, b.mul(change, in.learningRate)), velocity};
}

const Optimizer &tpsp::sgd() {
  static const Optimizer optimizer = {
      {{"momentum", 0, 0.1}},
      {{"momentum", 0.9, 1}, {"nesterov", 0}, {"decay", 0}},
      build};
  return optimizer;
}
