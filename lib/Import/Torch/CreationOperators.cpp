// Tensors of nothing but numbers.
#include "Operators.h"
#include "Refusal.h"

#include <cmath>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Constants = std::vector<ConstantPtr>;

static Fold filled(double value) {
  return [=](const Call &call) -> Constants {
    return {Constant::filled(call.result().type, call.result().sizes, value)};
  };
}

static Constants full(const Call &call) {
  return filled(call.number("fill_value"))(call);
}

static Constants filledWith(const Call &call) {
  return filled(call.number("value"))(call);
}

static Constants scalar(const Call &call) {
  return filled(call.number("s"))(call);
}

static Constants arange(const Call &call) {
  double start = call.number("start"), step = call.number("step");
  return {Constant::evaluated(
      call.result().type, call.result().sizes, [&](const Sizes &position) {
        return start + step * static_cast<double>(position.at(0));
      })};
}

/// Equal steps from `start` to `end`, and both.
static Constants equalSteps(const Call &call) {
  double start = call.number("start"), end = call.number("end");
  int64_t steps = call.result().sizes.at(0);
  return {Constant::evaluated(
      call.result().type, call.result().sizes, [&](const Sizes &position) {
        double share = steps < 2 ? 0
                                 : static_cast<double>(position.at(0)) /
                                       static_cast<double>(steps - 1);
        return start + share * (end - start);
      })};
}

static Constants identity(const Call &call) {
  return {Constant::evaluated(
      call.result().type, call.result().sizes, [](const Sizes &position) {
        return position.at(0) == position.at(1) ? 1.0 : 0.0;
      })};
}

/// The rows, then the columns, of the elements of a triangle.
static Fold triangle(bool isLower) {
  return [=](const Call &call) -> Constants {
    int64_t offset = call.integer("offset");
    std::vector<Sizes> places;
    forEachPosition({call.integer("row"), call.integer("col")},
                    [&](const Sizes &at) {
                      bool isIn = isLower ? at[1] <= at[0] + offset
                                          : at[1] >= at[0] + offset;
                      if (isIn)
                        places.push_back(at);
                    });
    return {Constant::evaluated(
        call.result().type, call.result().sizes, [&](const Sizes &at) {
          return static_cast<double>(places.at(static_cast<size_t>(at.at(1)))
                                         .at(static_cast<size_t>(at.at(0))));
        })};
  };
}

/// The result depends only on the operand's sizes. So it is a constant, even
/// if the operand is not.
static Emit fromShape(Fold fold) {
  return [=](Call &call) -> std::vector<Tensor> {
    Tensor out;
    out.constant = fold(call).front();
    return {out};
  };
}

static Operator likeRow(std::string name, std::string schema, Fold fold) {
  return {std::move(name), std::move(schema), fold, fromShape(fold)};
}

const Operators &torch::creationOperators() {
  static const Operators rows = {
      {"arange", "~end, start=0, step=1, ~dtype=None", arange, {}},
      {"arange.start", "start, ~end, step=1, ~dtype=None", arange, {}},
      {"arange.start_step", "start, ~end, step=1, ~dtype=None", arange, {}},
      {"linspace", "start, end, ~steps, ~dtype=None", equalSteps, {}},
      {"full", "~size, fill_value, ~dtype=None", full, {}},
      {"zeros", "~size, ~dtype=None", filled(0), {}},
      {"empty.memory_format", "~size, ~dtype=None", filled(0), {}},
      {"ones", "~size, ~dtype=None", filled(1), {}},
      {"eye", "~n, ~m=None, ~dtype=None", identity, {}},
      {"eye.m", "~n, ~m, ~dtype=None", identity, {}},
      {"scalar_tensor", "s, ~dtype=None", scalar, {}},
      {"tril_indices", "row, col, offset=0, ~dtype=None", triangle(true), {}},
      {"triu_indices", "row, col, offset=0, ~dtype=None", triangle(false), {}},
      likeRow("fill.Scalar", "~self, value", filledWith),
      likeRow("full_like", "~self, fill_value, ~dtype=None", full),
      likeRow("zeros_like", "~self, ~dtype=None", filled(0)),
      likeRow("ones_like", "~self, ~dtype=None", filled(1)),
      likeRow("empty_like", "~self, ~dtype=None", filled(0)),
      likeRow("new_empty", "~self, ~size, ~dtype=None", filled(0)),
      likeRow("new_zeros", "~self, ~size, ~dtype=None", filled(0)),
      likeRow("new_ones", "~self, ~size, ~dtype=None", filled(1)),
      likeRow("new_full", "~self, ~size, fill_value, ~dtype=None", full),
  };
  return rows;
}
