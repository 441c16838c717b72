#include "Writer.h"
#include "FunctionWriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

/// How a value that all layers take is placed.
static Where placeOf(const Program &program, ValueId value) {
  if (program.values[value].element == "i32")
    return Where::Tokens;
  bool isParameter =
      std::any_of(program.arguments.begin(), program.arguments.end(),
                  [&](const ProgramArgument &one) {
                    return one.value == value &&
                           one.kind == ProgramArgument::Kind::Parameter;
                  });
  return isParameter ? Where::Parameter : Where::Activation;
}

namespace {

/// Writes layers as functions, each when it is first called.
class LayerWriter {
public:
  LayerWriter(const Program &program, const LayerFunctions &layers,
              Names &names, ProgramText &text, FunctionWriter &model)
      : program(program), layers(layers), names(names), text(text),
        model(model), functions(layers.called.size()) {
    for (size_t i = 0; i < layers.repeats.size(); ++i)
      begins[layers.repeats[i].begin] = {&layers.repeats[i], 0, 0};
    for (size_t i = 0; i < layers.called.size(); ++i)
      for (size_t j = 0; j < layers.called[i].calls.size(); ++j)
        begins[layers.called[i].calls[j].begin] = {nullptr, i, j};
  }

  /// Writes the layers that begin at this operation, and returns the first
  /// operation after them; the operation itself if none begins there.
  size_t write(size_t operation) {
    auto found = begins.find(operation);
    if (found == begins.end())
      return operation;
    auto [repeat, layer, call] = found->second;
    if (repeat) {
      writeRepeat(*repeat);
      return repeat->end();
    }
    writeCall(layer, call);
    return operation + layers.called[layer].size;
  }

  /// The values that layers take from the function that calls them. Calls
  /// visit(value), and returns as write() does.
  template <typename Visit>
  size_t visitOperands(size_t operation, Visit visit) const {
    auto found = begins.find(operation);
    if (found == begins.end())
      return operation;
    auto [repeat, layer, call] = found->second;
    if (repeat) {
      std::for_each(repeat->carried.begin(), repeat->carried.end(), visit);
      std::for_each(repeat->shared.begin(), repeat->shared.end(), visit);
      return repeat->end();
    }
    const CalledLayer &called = layers.called[layer];
    const std::vector<ValueId> &operands = called.calls[call].operands;
    std::for_each(operands.begin(), operands.end(), visit);
    return operation + called.size;
  }

private:
  struct Begin {
    /// Null: a call of a layer.
    const Repeat *repeat;
    size_t layer, call;
  };

  /// "layer", and "layer2" for the second function.
  std::string nextName() {
    return ++written == 1 ? "layer" : fmt::format("layer{}", written);
  }

  FunctionText function(const std::vector<ValueId> &carried,
                        const std::vector<ValueId> &shared,
                        const std::vector<size_t> &parameters,
                        const std::string &prefix, size_t begin, size_t size,
                        const std::vector<ValueId> &results) {
    FunctionWriter layer(program, names, text, nextName(), "private ");
    for (size_t i = 0; i < carried.size(); ++i)
      layer.operand(carried[i], nameOf(i, carried.size()), Where::Activation);
    for (ValueId value : shared)
      layer.operand(value, "shared", placeOf(program, value));
    for (size_t number : parameters)
      layer.parameter(program.arguments[number], prefix);
    for (size_t i = begin; i < begin + size; ++i)
      layer.operation(program.operations[i]);
    std::vector<Value> values;
    for (ValueId result : results) {
      values.push_back(layer.at(result));
      values.back().type.where = Where::Activation;
    }
    layer.function.finish(values);
    return layer.function;
  }

  static std::string nameOf(size_t number, size_t count) {
    return count == 1 ? "x" : fmt::format("x{}_", number);
  }

  void writeRepeat(const Repeat &repeat) {
    FunctionText callee =
        function(repeat.carried, repeat.shared, repeat.parameters,
                 repeat.prefix + std::to_string(repeat.first) + ".",
                 repeat.begin, repeat.size, repeat.results);
    std::vector<Value> operands;
    std::vector<std::string> results;
    for (ValueId value : repeat.carried) {
      operands.push_back(model.at(value));
      results.push_back(nameOf(results.size(), repeat.carried.size()));
    }
    for (ValueId value : repeat.shared)
      operands.push_back(model.at(value));
    set(repeat.lastResults,
        model.function.repeat(callee, operands, results, repeat.prefix,
                              repeat.first, repeat.times));
  }

  void writeCall(size_t number, size_t which) {
    const CalledLayer &layer = layers.called[number];
    const CalledLayer::Call &call = layer.calls[which],
                            &first = layer.calls.front();
    std::vector<ValueId> carried, shared;
    for (ValueId value : first.operands)
      (placeOf(program, value) == Where::Activation ? carried : shared)
          .push_back(value);
    if (!functions[number])
      functions[number] = std::make_unique<FunctionText>(
          function(carried, shared, layer.parameters,
                   layer.prefix + std::to_string(first.number) + ".",
                   first.begin, layer.size, first.results));
    std::vector<Value> operands;
    for (const auto *some : {&carried, &shared})
      for (ValueId value : *some) {
        auto place =
            std::find(first.operands.begin(), first.operands.end(), value);
        operands.push_back(
            model.at(call.operands[place - first.operands.begin()]));
      }
    std::vector<std::string> results;
    for (size_t i = 0; i < call.results.size(); ++i)
      results.push_back(nameOf(i, call.results.size()));
    set(call.results,
        model.function.repeat(*functions[number], operands, results,
                              layer.prefix, call.number, /*times=*/1));
  }

  void set(const std::vector<ValueId> &values,
           const std::vector<Value> &written) {
    for (size_t i = 0; i < values.size(); ++i)
      model.set(values[i], written[i]);
  }

  const Program &program;
  const LayerFunctions &layers;
  Names &names;
  ProgramText &text;
  FunctionWriter &model;
  /// By the operation at which they begin.
  std::map<size_t, Begin> begins;
  /// Those of called layers, as far as they are written.
  std::vector<std::unique_ptr<FunctionText>> functions;
  size_t written = 0;
};

} // namespace

/// The arguments that `@model` names itself: its inputs, and the parameters
/// that no layer has.
static std::set<std::string> ownParameters(const Program &program,
                                           const LayerWriter &layers) {
  std::set<ValueId> used;
  auto use = [&](ValueId value) { used.insert(value); };
  for (size_t i = 0; i < program.operations.size();) {
    size_t next = layers.visitOperands(i, use);
    if (next == i)
      for (ValueId value : program.operations[next++].operands)
        use(value);
    i = next;
  }
  for (const ProgramResult &result : program.results)
    use(result.value);
  std::set<std::string> own;
  for (const ProgramArgument &argument : program.arguments)
    if (used.count(argument.value) ||
        (argument.kind == ProgramArgument::Kind::Input && !argument.constant))
      own.insert(argument.stored);
  return own;
}

void torch::writeProgram(const Program &program,
                         const LayerFunctions &functions, Names &names,
                         ProgramText &text) {
  FunctionWriter model(program, names, text, "model", "");
  LayerWriter layers(program, functions, names, text, model);
  std::set<std::string> own = ownParameters(program, layers);
  // Inputs come first, as a run's files do.
  for (auto kind :
       {ProgramArgument::Kind::Input, ProgramArgument::Kind::Parameter})
    for (const ProgramArgument &argument : program.arguments)
      if (argument.kind == kind && own.count(argument.stored)) {
        if (kind == ProgramArgument::Kind::Input)
          model.input(argument);
        else
          model.parameter(argument, "");
      }
  for (size_t i = 0; i < program.operations.size();) {
    size_t next = layers.write(i);
    if (next == i)
      model.operation(program.operations[next++]);
    i = next;
  }
  std::vector<Value> results;
  for (const ProgramResult &result : program.results)
    results.push_back(model.result(result.value, result.dims, result.name));
  model.function.finish(results);
}
