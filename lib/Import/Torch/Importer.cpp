#include "Importer.h"
#include "Losses.h"
#include "Names.h"
#include "Refusal.h"
#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cstring>

using namespace tpsp;
using namespace tpsp::import;
using namespace tpsp::import::torch;

/// Bytes of a tensor of the archive.
static constexpr int64_t mostBytes = int64_t(1) << 40;
/// Buffers with more elements are parameters; others may be folded.
static constexpr int64_t mostFolded = 1 << 22;

//===----------------------------------------------------------------------===//
// Tensors of the archive
//===----------------------------------------------------------------------===//

std::string torch::readStored(const Archive &archive,
                              const StoredTensor &stored) {
  const TensorMeta &meta = stored.meta;
  std::string bytes = archive.read(stored.file, mostBytes), out;
  int64_t width = bytesOf(meta.type), count = elementsOf(meta.sizes);
  // The last element's place, for strides that may be in any order.
  int64_t last = meta.offset;
  for (size_t i = 0; i < meta.sizes.size(); ++i)
    if (meta.strides[i] < 0 ||
        __builtin_add_overflow(last, meta.strides[i] * (meta.sizes[i] - 1),
                               &last))
      refuse("its file '{}' has strides that are no strides", stored.file);
  if (count > 0 && (last >= INT64_MAX / 8 ||
                    (last + 1) * width > static_cast<int64_t>(bytes.size())))
    refuse("its file '{}' is too short for [{}]", stored.file,
           fmt::join(meta.sizes, ", "));
  out.reserve(count * width);
  forEachPosition(meta.sizes, [&](const Sizes &position) {
    int64_t place = meta.offset;
    for (size_t i = 0; i < position.size(); ++i)
      place += position[i] * meta.strides[i];
    out.append(bytes, place * width, width);
  });
  return out;
}

static double elementAt(const std::string &bytes, int64_t i, ScalarType type) {
  const void *memory = bytes.data();
  switch (type) {
  case ScalarType::F32:
    return rt::loadNumber(memory, TPSP_RT_F32, i);
  case ScalarType::F64:
    return rt::loadNumber(memory, TPSP_RT_F64, i);
  case ScalarType::F16:
    return rt::loadNumber(memory, TPSP_RT_F16, i);
  case ScalarType::BF16:
    return rt::loadNumber(memory, TPSP_RT_BF16, i);
  case ScalarType::I64:
    return static_cast<double>(rt::loadInteger(memory, TPSP_RT_I64, i));
  case ScalarType::I32:
    return static_cast<double>(rt::loadInteger(memory, TPSP_RT_I32, i));
  case ScalarType::I16: {
    int16_t value = 0;
    std::memcpy(&value, bytes.data() + 2 * i, 2);
    return value;
  }
  case ScalarType::I8:
    return static_cast<double>(rt::loadInteger(memory, TPSP_RT_I8, i));
  default:
    return static_cast<unsigned char>(bytes[i]);
  }
}

ConstantPtr torch::readConstant(const Archive &archive,
                                const StoredTensor &stored) {
  std::string bytes = readStored(archive, stored);
  std::vector<double> elements;
  int64_t count = elementsOf(stored.meta.sizes);
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(elementAt(bytes, i, stored.meta.type));
  return Constant::dense(stored.meta.type, stored.meta.sizes,
                         std::move(elements));
}

/// A module on the meta device has buffers without bytes.
static ConstantPtr readBuffer(const Archive &archive, const std::string &name,
                              const StoredTensor &stored) {
  try {
    return readConstant(archive, stored);
  } catch (const Refusal &why) {
    refuse("it has no values of buffer '{}': {}; export the module with its "
           "buffers",
           name, why.what());
  }
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

namespace {

class Importer {
public:
  Importer(const Archive &archive, const Graph &graph,
           const TorchOptions &options)
      : archive(archive), graph(graph), options(options), build(program),
        environment(graph, build) {
    build.recognises = options.recognises;
  }

  Program run();

private:
  void findElement();
  void countUses();
  void checkCounter(const GraphInput &input) const;
  void addInput(const GraphInput &input);
  /// The tensor of the archive with the same bytes, first in its order.
  std::string tiedTo(const GraphInput &input);
  void runNodes();
  void forget(const std::vector<std::string> &operands);
  void addResult(const GraphOutput &output);
  void addLoss();

  const Archive &archive;
  const Graph &graph;
  const TorchOptions &options;
  Program program;
  Builder build;
  Environment environment;
  std::map<std::string, std::string> ties;
  /// Buffers that have a new value after a forward pass.
  std::set<std::string> changed;
};

} // namespace

/// The program's own numbers have the type of most parameters.
void Importer::findElement() {
  std::map<std::string, int> counts;
  for (const GraphInput &input : graph.inputs)
    if (ScalarType type = graph.tensors.at(input.tensor).type;
        isFloating(type) && input.kind == GraphInput::Kind::Parameter)
      ++counts[elementOf(type)];
  int most = 0;
  for (const auto &[name, count] : counts)
    if (count > most) {
      build.element = name;
      build.exact = name == "f64" ? "f64" : "f32";
      most = count;
    }
}

/// The tensors that a node takes, each as often as it takes it.
static std::vector<std::string> operandsOf(const Node &node) {
  std::vector<std::string> names;
  for (const auto &[name, argument] : node.arguments) {
    if (const auto *one = std::get_if<TensorName>(&argument))
      names.push_back(one->name);
    if (const auto *all = std::get_if<std::vector<TensorName>>(&argument))
      for (const TensorName &one : *all)
        names.push_back(one.name);
  }
  return names;
}

void Importer::countUses() {
  for (const Node &node : graph.nodes)
    for (const std::string &name : operandsOf(node))
      ++environment.uses[name];
  for (const GraphOutput &output : graph.outputs) {
    ++environment.uses[output.tensor];
    if (output.kind == GraphOutput::Kind::Mutation)
      changed.insert(output.stored);
  }
}

std::string Importer::tiedTo(const GraphInput &input) {
  auto found = graph.stored.find(input.stored);
  if (found == graph.stored.end())
    return input.tensor;
  const TensorMeta &meta = found->second.meta;
  std::string place = fmt::format(
      "{} {} {} {} {}", found->second.file, static_cast<int>(meta.type),
      meta.offset, fmt::join(meta.sizes, ","), fmt::join(meta.strides, ","));
  return ties.try_emplace(place, input.tensor).first->second;
}

/// An integer that a forward pass changes has no constant value. It must be a
/// count that nothing uses, as the number of batches of a batch norm.
void Importer::checkCounter(const GraphInput &input) const {
  std::string next;
  for (const GraphOutput &output : graph.outputs)
    if (output.kind == GraphOutput::Kind::Mutation &&
        output.stored == input.stored)
      next = output.tensor;
  auto uses = [&](const std::string &name) {
    auto found = environment.uses.find(name);
    return found == environment.uses.end() ? 0 : found->second;
  };
  // A module that is called twice counts twice.
  std::string count = input.tensor;
  for (const Node &node : graph.nodes) {
    auto self = node.arguments.find("self");
    const auto *operand = self == node.arguments.end()
                              ? nullptr
                              : std::get_if<TensorName>(&self->second);
    if (operand && operand->name == count && uses(count) == 1 &&
        node.outputs.size() == 1 && count != next)
      count = node.outputs.front();
  }
  if (count != next || count == input.tensor || uses(next) != 1)
    refuse("it changes its buffer '{}' of integers, and uses it", input.stored);
}

void Importer::addInput(const GraphInput &input) {
  // A tied parameter has the first name, even if the graph uses another.
  bool isParameter = input.kind == GraphInput::Kind::Parameter;
  if (environment.uses[input.tensor] == 0 && !isParameter)
    return;
  const TensorMeta &meta = graph.tensors.at(input.tensor);
  bool isUser = input.kind == GraphInput::Kind::User;
  bool isFrozen = !meta.requiresGrad;
  auto stored = graph.stored.find(input.stored);
  if (isParameter)
    if (std::string first = tiedTo(input); first != input.tensor) {
      environment.tensors[input.tensor] = environment.tensors.at(first);
      return;
    }
  if (elementsOf(meta.sizes) == 0) {
    Tensor &tensor = environment.tensors[input.tensor];
    tensor.constant = Constant::filled(meta.type, meta.sizes, 0);
    tensor.type = meta.type;
    return;
  }
  bool isChanged = changed.count(input.stored) > 0;
  if (isChanged && !isFloating(meta.type))
    checkCounter(input);
  // A buffer that a step changes has another value in the next one.
  bool isConstant =
      !isUser && !isParameter && !(isChanged && isFloating(meta.type));
  if (!isUser && !isParameter && stored == graph.stored.end())
    refuse("it has no bytes of buffer '{}', which its results depend on",
           input.stored);
  if (isConstant && elementsOf(meta.sizes) <= mostFolded) {
    Tensor &tensor = environment.tensors[input.tensor];
    tensor.constant = readBuffer(archive, input.stored, stored->second);
    if (tensor.constant->sizes() != meta.sizes)
      refuse("its buffer '{}' has other sizes than its graph says",
             input.stored);
    tensor.type = meta.type;
    tensor.stored = input.stored;
    return;
  }
  environment.tensors[input.tensor] = build.argument(
      isUser ? ProgramArgument::Kind::Input : ProgramArgument::Kind::Parameter,
      input.stored, meta.type, meta.sizes, isFrozen && !isUser);
}

/// "aten.cumsum.default of module 'model' (modeling.py:31) is not known".
static std::string described(const Node &node, const std::string &why) {
  std::string where = node.modules.empty() || node.modules.back().empty()
                          ? ""
                          : fmt::format(" of module '{}'", node.modules.back());
  std::string line = node.line.empty() ? "" : fmt::format(" ({})", node.line);
  return fmt::format("{}{}{} {}", node.target, where, line, why);
}

/// Frees constants after their last use: tables of 2^17 positions have 128 MiB.
void Importer::forget(const std::vector<std::string> &operands) {
  for (const std::string &name : operands) {
    auto found = environment.tensors.find(name);
    if (--environment.uses[name] == 0 && found != environment.tensors.end() &&
        found->second.constant)
      environment.tensors.erase(found);
  }
}

/// All refusals are listed at once. So after a node that is refused, the nodes
/// that depend on it are passed over, and all others are tried.
void Importer::runNodes() {
  std::vector<std::string> refusals;
  std::set<std::string> missing;
  for (const Node &node : graph.nodes) {
    std::vector<std::string> operands = operandsOf(node);
    bool depends = std::any_of(
        operands.begin(), operands.end(),
        [&](const std::string &name) { return missing.count(name) > 0; });
    // A node that depends on a refused one may be unknown itself.
    if (depends && findOperator(node.target)) {
      missing.insert(node.outputs.begin(), node.outputs.end());
      continue;
    }
    try {
      environment.run(node);
    } catch (const Refusal &why) {
      refusals.push_back(described(node, why.what()));
      missing.insert(node.outputs.begin(), node.outputs.end());
    }
    forget(operands);
  }
  if (refusals.empty())
    return environment.build.refineRenamings();
  std::sort(refusals.begin(), refusals.end());
  refusals.erase(std::unique(refusals.begin(), refusals.end()), refusals.end());
  refuse("{} cannot be expressed: {}",
         refusals.size() == 1 ? "an operation"
                              : fmt::format("{} operations", refusals.size()),
         fmt::join(refusals, "; "));
}

void Importer::addResult(const GraphOutput &output) {
  auto found = environment.tensors.find(output.tensor);
  if (found == environment.tensors.end())
    refuse("its output '{}' is not computed", output.tensor);
  bool isChange = output.kind == GraphOutput::Kind::Mutation;
  // A count that nothing uses is not computed: see checkCounter.
  if (isChange && !isFloating(found->second.type))
    return;
  if (found->second.role)
    refuse("its output '{}' has the order of a sort", output.tensor);
  bool isNumber = !isFloating(found->second.type);
  Tensor tensor =
      build.lifted(found->second, isNumber ? build.exact : build.element);
  bool isLoss = tensor.dims.empty() && !isChange;
  // A buffer is changed where no gradients are.
  if (isChange)
    tensor = build.pointwise("stop_gradient", {tensor}, tensor.type);
  tensor = build.ordered(build.materialized(tensor));
  std::string name = isLoss ? "loss" : "out";
  if (isChange)
    name = "new_" + identifier(output.stored);
  auto isTaken = [&](const std::string &word) {
    return std::any_of(program.results.begin(), program.results.end(),
                       [&](const auto &one) { return one.name == word; });
  };
  const std::string base = name;
  for (int number = 1; isTaken(name); ++number)
    name = base + std::to_string(number);
  program.results.push_back({tensor.value, tensor.dims, name});
}

/// The loss of the first output: the mean cross-entropy of labels along its
/// last dimension, over the labels that count, or the mean squared difference.
void Importer::addLoss() {
  bool hasLoss =
      std::any_of(program.results.begin(), program.results.end(),
                  [](const auto &one) { return one.name == "loss"; });
  if (hasLoss)
    refuse("--loss {}: the module has a loss", options.loss);
  if (program.results.empty() || program.results.front().name != "out")
    refuse("--loss {}: the module has no output of numbers", options.loss);
  Tensor out;
  out.value = program.results.front().value;
  out.dims = program.results.front().dims;
  if (build.elementOf(out) == "i32")
    refuse("--loss {}: the first output has integers", options.loss);
  bool isEntropy = options.loss == "cross-entropy";
  if (isEntropy && program.atoms.leaves(out.dims.back()).empty())
    refuse("--loss {}: the output's last dimension has one class",
           options.loss);
  Sizes sizes = build.sizes(out);
  sizes.resize(sizes.size() - (isEntropy ? 1 : 0));
  for (const ProgramArgument &argument : program.arguments)
    if (argument.stored == options.targets)
      refuse("--targets {}: the module has an input of this name",
             options.targets);
  build.modules.clear();
  Tensor targets =
      build.argument(ProgramArgument::Kind::Input, options.targets,
                     isEntropy ? ScalarType::I64 : out.type, sizes, false);
  program.results.push_back(
      {(isEntropy
            ? crossEntropy(build, out, targets, sizes.size(), Reduction::Mean)
            : squaredError(build, out, targets, Reduction::Mean))
           .value,
       {},
       "loss"});
}

Program Importer::run() {
  findElement();
  countUses();
  for (const GraphInput &input : graph.inputs)
    addInput(input);
  for (const Node &node : graph.nodes) {
    if (node.target != "aten.embedding.default")
      continue;
    const auto *table = std::get_if<TensorName>(&node.arguments.at("weight"));
    const auto *ids = std::get_if<TensorName>(&node.arguments.at("indices"));
    if (!table || !ids)
      continue;
    auto found = environment.tensors.find(ids->name);
    if (found != environment.tensors.end() && !found->second.constant)
      environment.tables.try_emplace(found->second.value, table->name);
  }
  runNodes();
  // A module's own results come first.
  for (auto kind : {GraphOutput::Kind::User, GraphOutput::Kind::Mutation})
    for (const GraphOutput &output : graph.outputs)
      if (output.kind == kind)
        addResult(output);
  if (!options.loss.empty())
    addLoss();
  return std::move(program);
}

Program torch::buildProgram(const Archive &archive, const Graph &graph,
                            const TorchOptions &options) {
  return Importer(archive, graph, options).run();
}
