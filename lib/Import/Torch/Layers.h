/// Layers that are equal, and so become one function.
#ifndef TPSP_IMPORT_TORCH_LAYERS_H
#define TPSP_IMPORT_TORCH_LAYERS_H

#include "Program.h"

namespace tpsp::import::torch {

/// Operations of consecutive layers, "model.layers.0" to "model.layers.5", that
/// differ in their parameters' names only.
struct Repeat {
  /// "model.layers.": what the parameters' names begin with.
  std::string prefix;
  int64_t first = 0, times = 0;
  /// The operations of the first layer, [begin, begin + size), and of all.
  size_t begin = 0, size = 0;
  /// The values that a layer takes from the layer before: the first layer's
  /// operands, its results in their place, and the last layer's results.
  std::vector<ValueId> carried, results, lastResults;
  /// The values that all layers take.
  std::vector<ValueId> shared;
  /// The first layer's parameters, as numbers of arguments.
  std::vector<size_t> parameters;

  size_t end() const { return begin + size * static_cast<size_t>(times); }
};

/// Equal layers that are no run, because others lie between them: one function,
/// and a call for each.
struct CalledLayer {
  struct Call {
    int64_t number = 0;
    size_t begin = 0;
    /// The values in place of the first layer's operands and results.
    std::vector<ValueId> operands, results;
  };

  /// "model.layers.": what the parameters' names begin with.
  std::string prefix;
  /// The number of operations.
  size_t size = 0;
  /// The first layer's parameters, as numbers of arguments.
  std::vector<size_t> parameters;
  /// In the program's order, at least two.
  std::vector<Call> calls;
};

/// The layers of a program that become functions. They do not overlap.
struct LayerFunctions {
  /// In the program's order.
  std::vector<Repeat> repeats;
  std::vector<CalledLayer> called;
};

LayerFunctions findLayers(const Program &program);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_LAYERS_H
