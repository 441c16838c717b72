#include "Folding.h"

using namespace tpsp::import;
using namespace tpsp::import::torch;

ConstantPtr torch::constantOf(const Call &call, const std::string &name) {
  if (call.isTensor(name))
    return call.tensor(name).constant;
  return Constant::filled(ScalarType::F64, {}, call.number(name));
}

Fold torch::foldOf(std::vector<std::string> arguments, Formula formula,
                   std::string name) {
  return [=](const Call &call) -> std::vector<ConstantPtr> {
    std::vector<ConstantPtr> operands;
    for (const std::string &argument : arguments)
      operands.push_back(constantOf(call, argument));
    return {Constant::apply(name, formula, call.result().type, operands)};
  };
}

bool torch::compares(const std::string &relation, double a, double b) {
  if (relation == "less")
    return a < b;
  if (relation == "less_equal")
    return a <= b;
  if (relation == "equal")
    return a == b;
  if (relation == "not_equal")
    return a != b;
  if (relation == "greater")
    return a > b;
  return a >= b;
}

double torch::chosen(const std::vector<double> &x) {
  return x[0] != 0 ? x[1] : x[2];
}

Fold torch::foldComparison(const std::string &relation) {
  return foldOf(
      {"self", "other"},
      [=](const std::vector<double> &x) {
        return compares(relation, x[0], x[1]) ? 1.0 : 0.0;
      },
      relation);
}
