#include "Layers.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

namespace {

/// Operations of one layer, [begin, end).
struct Layer {
  std::string prefix;
  int64_t number = 0;
  size_t begin = 0, end = 0;
};

/// Compares two layers, and finds what the second has in place of the first's.
class Comparison {
public:
  Comparison(const Program &program, const std::map<ValueId, size_t> &arguments)
      : program(program), arguments(arguments) {}

  /// Whether the layers compute the same of their operands.
  bool compare(const Layer &first, const Layer &second);

  /// The operands of the first layer that it does not compute, with those of
  /// the second layer.
  std::map<ValueId, ValueId> outer;
  /// The results of the first layer to those of the second.
  std::map<ValueId, ValueId> inner;

private:
  bool areSame(ValueId a, ValueId b, const Layer &first, const Layer &second);
  bool areSame(const AtomList &a, const AtomList &b);
  bool areSame(const Operation &a, const Operation &b);
  bool areParameters(ValueId a, ValueId b, const Layer &first,
                     const Layer &second);

  const Program &program;
  const std::map<ValueId, size_t> &arguments;
  std::map<Atom, Atom> atoms, back;
};

} // namespace

/// The part of a module's path up to its first number: "model.layers." and 3.
static std::optional<Layer> layerOf(const Operation &operation) {
  for (const std::string &path : operation.modules) {
    size_t dot = path.rfind('.');
    if (dot == std::string::npos || dot + 1 == path.size())
      continue;
    std::string number = path.substr(dot + 1);
    bool isNumber =
        number.size() < 7 &&
        std::all_of(number.begin(), number.end(),
                    [](unsigned char one) { return std::isdigit(one); });
    if (isNumber)
      return Layer{path.substr(0, dot + 1), std::stoll(number)};
  }
  return {};
}

/// Runs of operations of one layer, in the program's order.
static std::vector<Layer> layersOf(const Program &program) {
  std::vector<Layer> layers;
  for (size_t i = 0; i < program.operations.size(); ++i) {
    std::optional<Layer> layer = layerOf(program.operations[i]);
    if (!layer)
      continue;
    if (!layers.empty() && layers.back().end == i &&
        layers.back().prefix == layer->prefix &&
        layers.back().number == layer->number) {
      ++layers.back().end;
      continue;
    }
    layer->begin = i;
    layer->end = i + 1;
    layers.push_back(*layer);
  }
  return layers;
}

bool Comparison::areSame(const AtomList &a, const AtomList &b) {
  AtomList one = program.atoms.leaves(a), other = program.atoms.leaves(b);
  if (one.size() != other.size())
    return false;
  for (size_t i = 0; i < one.size(); ++i)
    if (program.atoms.extent(one[i]) != program.atoms.extent(other[i]) ||
        atoms.try_emplace(one[i], other[i]).first->second != other[i] ||
        back.try_emplace(other[i], one[i]).first->second != one[i])
      return false;
  return true;
}

bool Comparison::areSame(const Operation &a, const Operation &b) {
  if (a.name != b.name || a.operands.size() != b.operands.size() ||
      a.attributes.size() != b.attributes.size() ||
      !areSame(a.blocks, b.blocks))
    return false;
  for (const auto &[name, attribute] : a.attributes) {
    auto found = b.attributes.find(name);
    if (found == b.attributes.end() ||
        found->second.index() != attribute.index())
      return false;
    if (const auto *index = std::get_if<IndexAttribute>(&attribute)) {
      if (!areSame(index->atoms, std::get<IndexAttribute>(found->second).atoms))
        return false;
    } else if (const auto *word = std::get_if<std::string>(&attribute)) {
      if (*word != std::get<std::string>(found->second))
        return false;
    } else if (const auto *real = std::get_if<double>(&attribute)) {
      if (*real != std::get<double>(found->second))
        return false;
    } else if (const auto *number = std::get_if<int64_t>(&attribute)) {
      if (*number != std::get<int64_t>(found->second))
        return false;
    }
  }
  return true;
}

static std::string prefixOf(const Layer &layer) {
  return layer.prefix + std::to_string(layer.number) + ".";
}

/// Whether both are arguments of their own layers, under the same name.
bool Comparison::areParameters(ValueId a, ValueId b, const Layer &first,
                               const Layer &second) {
  auto one = arguments.find(a), other = arguments.find(b);
  if (one == arguments.end() || other == arguments.end())
    return false;
  const ProgramArgument &x = program.arguments[one->second],
                        &y = program.arguments[other->second];
  std::string of = prefixOf(first), ofOther = prefixOf(second);
  if (x.kind != ProgramArgument::Kind::Parameter || x.kind != y.kind ||
      x.isFrozen != y.isFrozen || x.type != y.type ||
      x.dims.size() != y.dims.size() || x.stored.rfind(of, 0) != 0 ||
      y.stored.rfind(ofOther, 0) != 0 ||
      x.stored.substr(of.size()) != y.stored.substr(ofOther.size()))
    return false;
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (!areSame(x.dims[i], y.dims[i]))
      return false;
  return true;
}

bool Comparison::areSame(ValueId a, ValueId b, const Layer &first,
                         const Layer &second) {
  if (auto found = inner.find(a); found != inner.end())
    return found->second == b;
  const ProgramValue &one = program.values[a], &other = program.values[b];
  if (one.element != other.element || !areSame(one.atoms, other.atoms))
    return false;
  if (a != b && !areParameters(a, b, first, second)) {
    // Another layer's parameter is not carried from layer to layer.
    if (arguments.count(b))
      return false;
    // Layers hand on the same indices.
    if (program.atoms.leaves(one.atoms) != program.atoms.leaves(other.atoms))
      return false;
  }
  if (a == b)
    for (Atom leaf : program.atoms.leaves(one.atoms))
      if (atoms.at(leaf) != leaf)
        return false;
  return outer.try_emplace(a, b).first->second == b;
}

bool Comparison::compare(const Layer &first, const Layer &second) {
  if (first.end - first.begin != second.end - second.begin)
    return false;
  for (size_t i = 0; i < first.end - first.begin; ++i) {
    const Operation &a = program.operations[first.begin + i],
                    &b = program.operations[second.begin + i];
    for (size_t j = 0; j < std::min(a.operands.size(), b.operands.size()); ++j)
      if (!areSame(a.operands[j], b.operands[j], first, second))
        return false;
    if (!areSame(a, b) ||
        !areSame(program.values[a.result].atoms,
                 program.values[b.result].atoms) ||
        program.values[a.result].element != program.values[b.result].element)
      return false;
    inner[a.result] = b.result;
  }
  return true;
}

/// Values of operations [begin, end) that are used after `end`.
static std::set<ValueId> usedAfter(const Program &program, size_t begin,
                                   size_t end) {
  std::set<ValueId> made, used;
  for (size_t i = begin; i < end; ++i)
    made.insert(program.operations[i].result);
  auto use = [&](ValueId value) {
    if (made.count(value))
      used.insert(value);
  };
  for (size_t i = end; i < program.operations.size(); ++i)
    for (ValueId operand : program.operations[i].operands)
      use(operand);
  for (const ProgramResult &result : program.results)
    use(result.value);
  return used;
}

/// Sorts the first layer's operands into carried, shared and parameters. False
/// if the layers do not hand on what they take.
static bool sortOperands(const std::map<ValueId, size_t> &arguments,
                         const std::vector<Comparison> &steps, Repeat &out) {
  const Comparison &step = steps.front();
  std::map<ValueId, ValueId> made;
  for (const auto &[result, next] : step.inner)
    made[result] = next;
  for (const auto &[operand, next] : step.outer) {
    if (operand == next) {
      out.shared.push_back(operand);
    } else if (arguments.count(operand)) {
      auto other = arguments.find(next);
      if (other == arguments.end())
        return false;
      out.parameters.push_back(arguments.at(operand));
    } else if (made.count(next)) {
      out.carried.push_back(operand);
      out.results.push_back(next);
    } else {
      return false;
    }
  }
  std::sort(out.parameters.begin(), out.parameters.end());
  return !out.carried.empty();
}

/// Whether layer i takes from layer i - 1 what layer 1 takes from layer 0.
static bool isChain(const std::vector<Comparison> &steps, Repeat &out) {
  // The value of layer i that stands for one of the first layer.
  auto in = [&](size_t layer, ValueId value) {
    return layer == 0 ? value : steps[layer - 1].inner.at(value);
  };
  for (size_t layer = 1; layer <= steps.size(); ++layer) {
    for (size_t i = 0; i < out.carried.size(); ++i)
      if (steps[layer - 1].outer.at(out.carried[i]) !=
          in(layer - 1, out.results[i]))
        return false;
    for (ValueId value : out.shared)
      if (steps[layer - 1].outer.at(value) != value)
        return false;
  }
  for (ValueId value : out.results)
    out.lastResults.push_back(in(steps.size(), value));
  return true;
}

namespace {

/// The first and the last operation that uses a value.
struct UseRange {
  size_t first = 0, last = 0;
};
using UseRanges = std::map<ValueId, UseRange>;

} // namespace

static UseRanges useRanges(const Program &program) {
  UseRanges ranges;
  for (size_t i = 0; i < program.operations.size(); ++i)
    for (ValueId operand : program.operations[i].operands)
      ranges.try_emplace(operand, UseRange{i, i}).first->second.last = i;
  return ranges;
}

/// Whether every layer has parameters of its own, which nothing else uses. A
/// module that is there twice has them in common.
static bool haveOwnParameters(const Program &program,
                              const std::vector<Comparison> &steps,
                              const UseRanges &ranges, const Repeat &repeat) {
  auto isOwn = [&](ValueId value) {
    const UseRange &range = ranges.at(value);
    return range.first >= repeat.begin && range.last < repeat.end();
  };
  for (size_t number : repeat.parameters) {
    ValueId value = program.arguments[number].value;
    if (!isOwn(value))
      return false;
    for (const Comparison &step : steps)
      if (ValueId other = step.outer.at(value); other == value || !isOwn(other))
        return false;
  }
  return true;
}

static std::optional<Repeat>
repeatAt(const Program &program, const std::map<ValueId, size_t> &arguments,
         const UseRanges &ranges, const std::vector<Layer> &layers, size_t at) {
  const Layer &first = layers[at];
  std::vector<Comparison> steps;
  for (size_t i = at + 1; i < layers.size(); ++i) {
    const Layer &next = layers[i];
    Comparison step(program, arguments);
    if (next.begin != layers[i - 1].end || next.prefix != first.prefix ||
        next.number != layers[i - 1].number + 1 || !step.compare(first, next))
      break;
    steps.push_back(std::move(step));
  }
  while (!steps.empty()) {
    Repeat out;
    out.prefix = first.prefix;
    out.first = first.number;
    out.times = static_cast<int64_t>(steps.size()) + 1;
    out.begin = first.begin;
    out.size = first.end - first.begin;
    if (sortOperands(arguments, steps, out) && isChain(steps, out) &&
        haveOwnParameters(program, steps, ranges, out)) {
      std::set<ValueId> last(out.lastResults.begin(), out.lastResults.end());
      std::set<ValueId> used = usedAfter(program, out.begin, out.end());
      if (std::includes(last.begin(), last.end(), used.begin(), used.end()))
        return out;
    }
    steps.pop_back();
  }
  return {};
}

namespace {

/// Finds layers that are equal to an earlier one.
class CallFinder {
public:
  CallFinder(const Program &program, const std::map<ValueId, size_t> &arguments,
             const UseRanges &ranges)
      : program(program), arguments(arguments), ranges(ranges) {}

  void add(const Layer &layer) {
    for (Group &group : groups)
      if (join(group, layer))
        return;
    groups.push_back({layer, {}, {}});
  }

  std::vector<CalledLayer> run() const {
    std::vector<CalledLayer> found;
    for (const Group &group : groups)
      if (!group.others.empty())
        found.push_back(called(group));
    return found;
  }

private:
  struct Group {
    Layer first;
    std::vector<Layer> others;
    /// Comparisons of the first layer with each other one.
    std::vector<Comparison> steps;
  };

  bool isOwn(ValueId value, const Layer &layer) const {
    const UseRange &range = ranges.at(value);
    return range.first >= layer.begin && range.last < layer.end;
  }

  bool join(Group &group, const Layer &layer) const {
    Comparison step(program, arguments);
    if (group.first.prefix != layer.prefix || !step.compare(group.first, layer))
      return false;
    for (const auto &[value, other] : step.outer) {
      bool isParameter = arguments.count(value) && value != other;
      if (isParameter && (!isOwn(value, group.first) || !isOwn(other, layer)))
        return false;
      // A parameter that both have is another operand.
      if (arguments.count(value) && !isParameter)
        return false;
    }
    // Values that are read later have the same indices.
    for (const auto &[value, other] : step.inner)
      if (program.atoms.leaves(program.values[value].atoms) !=
              program.atoms.leaves(program.values[other].atoms) &&
          (isReadLater(value, group.first) || isReadLater(other, layer)))
        return false;
    group.others.push_back(layer);
    group.steps.push_back(std::move(step));
    return true;
  }

  bool isReadLater(ValueId value, const Layer &layer) const {
    auto found = ranges.find(value);
    return (found != ranges.end() && found->second.last >= layer.end) ||
           std::any_of(
               program.results.begin(), program.results.end(),
               [&](const ProgramResult &one) { return one.value == value; });
  }

  CalledLayer called(const Group &group) const {
    CalledLayer out;
    out.prefix = group.first.prefix;
    out.size = group.first.end - group.first.begin;
    CalledLayer::Call first{group.first.number, group.first.begin, {}, {}};
    for (const auto &entry : group.steps.front().outer)
      if (auto argument = arguments.find(entry.first);
          argument != arguments.end())
        out.parameters.push_back(argument->second);
      else
        first.operands.push_back(entry.first);
    std::sort(out.parameters.begin(), out.parameters.end());
    for (const auto &[value, other] : group.steps.front().inner) {
      bool isRead = isReadLater(value, group.first);
      for (size_t i = 0; i < group.steps.size(); ++i)
        isRead |= isReadLater(group.steps[i].inner.at(value), group.others[i]);
      if (isRead)
        first.results.push_back(value);
    }
    out.calls.push_back(first);
    for (size_t i = 0; i < group.steps.size(); ++i) {
      CalledLayer::Call call{
          group.others[i].number, group.others[i].begin, {}, {}};
      for (ValueId value : first.operands)
        call.operands.push_back(group.steps[i].outer.at(value));
      for (ValueId value : first.results)
        call.results.push_back(group.steps[i].inner.at(value));
      out.calls.push_back(call);
    }
    return out;
  }

  const Program &program;
  const std::map<ValueId, size_t> &arguments;
  const UseRanges &ranges;
  std::vector<Group> groups;
};

} // namespace

LayerFunctions torch::findLayers(const Program &program) {
  std::map<ValueId, size_t> arguments;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    if (program.arguments[i].kind == ProgramArgument::Kind::Parameter &&
        !program.arguments[i].constant)
      arguments[program.arguments[i].value] = i;
  const UseRanges ranges = useRanges(program);
  std::vector<Layer> layers = layersOf(program);
  LayerFunctions found;
  CallFinder calls(program, arguments, ranges);
  for (size_t i = 0; i < layers.size(); ++i)
    if (auto repeat = repeatAt(program, arguments, ranges, layers, i)) {
      found.repeats.push_back(*repeat);
      i += static_cast<size_t>(repeat->times) - 1;
    } else {
      calls.add(layers[i]);
    }
  found.called = calls.run();
  return found;
}
