// Recurrent layers: their steps are written out.
#include "Joins.h"
#include "Operators.h"
#include "Products.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

/// The most steps that are written out, over all layers and directions.
static constexpr int64_t mostSteps = 1024;

namespace {

struct State {
  Tensor h;
  /// The memory of an LSTM; other cells have none.
  std::optional<Tensor> c;
};

/// The weights of one cell: input [gates H, i], hidden [gates H, H], and biases
/// [gates H].
struct Weights {
  Tensor input, hidden;
  std::optional<Tensor> inputBias, hiddenBias;
};

/// The next state. `fromInput` and `fromHidden` [b, gates H] are the products
/// of the input and of h with their weights.
using Step = State (*)(Builder &, const Tensor &fromInput,
                       const Tensor &fromHidden, const State &);

} // namespace

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static Tensor of(Builder &build, const char *function, const Tensor &x) {
  return build.pointwise(function, {x}, x.type);
}
static Tensor of(Builder &build, const char *function, const Tensor &x,
                 const Tensor &y) {
  return build.pointwise(function, {x, y}, x.type);
}

/// The parts [.., H] of [.., count H].
static std::vector<Tensor> gatesOf(Builder &build, const Tensor &x,
                                   int64_t count) {
  Sizes sizes = build.sizes(x);
  int64_t all = sizes.back();
  sizes.back() = count;
  sizes.push_back(all / count);
  Tensor split = build.viewed(x, sizes);
  std::vector<Tensor> gates;
  for (int64_t gate = 0; gate < count; ++gate)
    gates.push_back(build.taken(split, sizes.size() - 2, gate));
  return gates;
}

/// c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c').
static State longStep(Builder &build, const Tensor &fromInput,
                      const Tensor &fromHidden, const State &state) {
  std::vector<Tensor> gates =
      gatesOf(build, of(build, "add", fromInput, fromHidden), 4);
  Tensor added = of(build, "mul", of(build, "sigmoid", gates[0]),
                    of(build, "tanh", gates[2]));
  Tensor kept = of(build, "mul", of(build, "sigmoid", gates[1]), *state.c);
  Tensor c = of(build, "add", kept, added);
  Tensor h =
      of(build, "mul", of(build, "sigmoid", gates[3]), of(build, "tanh", c));
  return {h, c};
}

/// h' = n + z (h - n), n = tanh(n_x + sigmoid(r) n_h).
static State gatedStep(Builder &build, const Tensor &fromInput,
                       const Tensor &fromHidden, const State &state) {
  std::vector<Tensor> x = gatesOf(build, fromInput, 3),
                      h = gatesOf(build, fromHidden, 3);
  Tensor reset = of(build, "sigmoid", of(build, "add", x[0], h[0])),
         update = of(build, "sigmoid", of(build, "add", x[1], h[1]));
  Tensor fresh =
      of(build, "tanh", of(build, "add", x[2], of(build, "mul", reset, h[2])));
  Tensor rest = of(build, "sub", state.h, fresh);
  return {of(build, "add", fresh, of(build, "mul", update, rest)), {}};
}

static State tanhStep(Builder &build, const Tensor &fromInput,
                      const Tensor &fromHidden, const State &) {
  return {of(build, "tanh", of(build, "add", fromInput, fromHidden)), {}};
}

static State reluStep(Builder &build, const Tensor &fromInput,
                      const Tensor &fromHidden, const State &) {
  return {of(build, "relu", of(build, "add", fromInput, fromHidden)), {}};
}

static State next(Builder &build, Step step, const Tensor &fromInput,
                  const Weights &weights, const State &state) {
  return step(build, fromInput,
              linear(build, state.h, weights.hidden, weights.hiddenBias,
                     fromInput.type),
              state);
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

static std::optional<Tensor> bias(Call &call, const char *name) {
  auto found = call.maybe(name);
  return found ? std::optional(call.lifted(*found)) : std::nullopt;
}

static State cell(Call &call, Step step, const State &state) {
  Weights weights{call.value("w_ih"), call.value("w_hh"), bias(call, "b_ih"),
                  bias(call, "b_hh")};
  Tensor x = call.value("input");
  Tensor fromInput =
      linear(call.build, x, weights.input, weights.inputBias, x.type);
  return next(call.build, step, fromInput, weights, state);
}

static Results longCell(Call &call) {
  auto given = call.tensors("hx");
  if (given.size() != 2 || !given[0] || !given[1])
    refuse("has a state of {} tensors", given.size());
  State state =
      cell(call, longStep, {call.lifted(*given[0]), call.lifted(*given[1])});
  return {state.h, *state.c};
}

static Emit cellOf(Step step) {
  return [step](Call &call) -> Results {
    return {cell(call, step, {call.value("hx"), {}}).h};
  };
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {

/// Several layers over all positions, in one or both directions.
class Recurrence {
public:
  Recurrence(Call &call, Step step)
      : call(call), build(call.build), step(step),
        directions(call.flag("bidirectional") ? 2 : 1),
        along(call.flag("batch_first") ? 1 : 0) {
    hasBiases = call.flag("has_biases");
    layers = call.integer("num_layers");
    bool isTraining = call.flag("train"), drops = call.number("dropout") > 0;
    if (isTraining && drops && layers > 1)
      refuse("drops values between its layers");
    for (const auto &one : call.tensors("params"))
      parameters.push_back(one ? call.lifted(*one) : Tensor());
  }

  /// `first`: the states before the first position, one for each layer and
  /// direction, stacked.
  Results run(const std::vector<Tensor> &first) {
    Tensor x = call.value("input");
    if (x.dims.size() != 3)
      refuse("has an input of {} dimensions", x.dims.size());
    positions = build.sizes(x)[along];
    size_t perCell = hasBiases ? 4 : 2;
    if (parameters.size() != size_t(layers * directions) * perCell)
      refuse("has {} parameters, and {} are expected: it may project its "
             "state",
             parameters.size(), size_t(layers * directions) * perCell);
    if (positions * layers * directions > mostSteps)
      refuse("has {} steps; at most {} are written out",
             positions * layers * directions, mostSteps);
    std::vector<std::vector<Tensor>> last(first.size());
    for (int64_t layer = 0; layer < layers; ++layer)
      x = ofLayer(layer, x, first, last);
    Results results = {x};
    for (std::vector<Tensor> &states : last)
      results.push_back(stacked(std::move(states), 0));
    return results;
  }

private:
  Weights weightsOf(int64_t cell) const {
    auto at = parameters.begin() + cell * (hasBiases ? 4 : 2);
    Weights weights{at[0], at[1], {}, {}};
    if (hasBiases) {
      weights.inputBias = at[2];
      weights.hiddenBias = at[3];
    }
    return weights;
  }

  Tensor ofLayer(int64_t layer, const Tensor &x,
                 const std::vector<Tensor> &first,
                 std::vector<std::vector<Tensor>> &last) {
    std::vector<std::vector<Tensor>> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t number = layer * directions + direction;
      Weights weights = weightsOf(number);
      State state{build.taken(first[0], 0, number), {}};
      if (first.size() > 1)
        state.c = build.taken(first[1], 0, number);
      Tensor fromInput =
          linear(build, x, weights.input, weights.inputBias, x.type);
      std::vector<Tensor> &made = outputs.emplace_back(positions);
      for (int64_t i = 0; i < positions; ++i) {
        int64_t position = direction == 0 ? i : positions - 1 - i;
        state = next(build, step, build.taken(fromInput, along, position),
                     weights, state);
        made[position] = state.h;
      }
      last[0].push_back(state.h);
      if (state.c)
        last[1].push_back(*state.c);
    }
    std::vector<Tensor> halves;
    int64_t width = 0;
    for (std::vector<Tensor> &made : outputs) {
      halves.push_back(stacked(std::move(made), along));
      width += build.sizes(halves.back()).back();
    }
    return concatenated(build, halves, 2, width, x.type);
  }

  Tensor stacked(std::vector<Tensor> all, size_t dim) {
    auto count = static_cast<int64_t>(all.size());
    for (Tensor &one : all)
      one.dims.insert(one.dims.begin() + static_cast<int64_t>(dim), AtomList{});
    return concatenated(build, all, dim, count, all.front().type);
  }

  Call &call;
  Builder &build;
  const Step step;
  const int64_t directions;
  /// The dimension of positions.
  const size_t along;
  bool hasBiases = false;
  int64_t layers = 1, positions = 0;
  std::vector<Tensor> parameters;
};

} // namespace

static Results longLayers(Call &call) {
  Recurrence layers(call, longStep);
  std::vector<Tensor> first;
  for (const auto &one : call.tensors("hx"))
    if (one)
      first.push_back(call.lifted(*one));
  if (first.size() != 2)
    refuse("has a state of {} tensors", first.size());
  return layers.run(first);
}

static Emit layersOf(Step step) {
  return [step](Call &call) {
    Recurrence layers(call, step);
    return layers.run({call.value("hx")});
  };
}

const Operators &torch::recurrentOperators() {
  static const std::string cellSchema =
      "input, hx, w_ih, w_hh, b_ih=None, b_hh=None";
  static const std::string layerSchema =
      "input, hx, params, has_biases, num_layers, dropout, train, "
      "bidirectional, batch_first";
  static const Operators rows = {
      {"lstm_cell", cellSchema, {}, longCell},
      {"gru_cell", cellSchema, {}, cellOf(gatedStep)},
      {"rnn_tanh_cell", cellSchema, {}, cellOf(tanhStep)},
      {"rnn_relu_cell", cellSchema, {}, cellOf(reluStep)},
      {"lstm.input", layerSchema, {}, longLayers},
      {"gru.input", layerSchema, {}, layersOf(gatedStep)},
      {"rnn_tanh.input", layerSchema, {}, layersOf(tanhStep)},
      {"rnn_relu.input", layerSchema, {}, layersOf(reluStep)},
  };
  return rows;
}
