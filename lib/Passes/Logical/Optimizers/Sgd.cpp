// Stochastic gradient descent with momentum, as in PyTorch.
#include "Optimizer.h"

using namespace mlir;
using namespace tpsp;

static SmallVector<Value> build(UpdateBuilder &b, const ParameterStep &in) {
  double momentum = in.setting("momentum");
  Value gradient = in.decayed(b, in.gradient);
  Value velocity = b.add(b.scale(in.state[0], momentum), gradient);
  Value change = in.setting("nesterov") != 0
                     ? b.add(gradient, b.scale(velocity, momentum))
                     : velocity;
  return {in.stepped(b, change), velocity};
}

const Optimizer &tpsp::sgd() {
  static const Optimizer optimizer = {
      {{"momentum", 0, 0.1}},
      {{"momentum", 0.9, 1}, {"nesterov", 0}, {"decay", 0}},
      build};
  return optimizer;
}
