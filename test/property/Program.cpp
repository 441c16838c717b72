#include "Program.h"

#include <algorithm>

using namespace tpsp::property;

const Dim *Tensor::find(const std::string &name) const {
  for (const Dim &dim : dims)
    if (dim.name == name)
      return &dim;
  return nullptr;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (const Dim &dim : dims)
    count *= dim.extent;
  return count;
}

bool Tensor::uses(const std::string &axis) const {
  for (const Dim &dim : dims)
    for (const std::string &used : dim.axes)
      if (used == axis)
        return true;
  for (const std::string &used : pending)
    if (used == axis)
      return true;
  return false;
}

const Argument *Program::argument(ValueId value) const {
  for (const Argument &argument : arguments)
    if (argument.value == value)
      return &argument;
  return nullptr;
}

const Operation *Program::definition(ValueId value) const {
  for (const Operation &op : operations)
    if (op.result == value)
      return &op;
  return nullptr;
}

bool Program::hasHiddenValues() const {
  static const char *const composites[] = {"attention", "dispatch", "combine",
                                           "cross_entropy", "scan"};
  return std::any_of(
      operations.begin(), operations.end(), [](const Operation &op) {
        return std::count(std::begin(composites), std::end(composites),
                          op.mnemonic) != 0;
      });
}

bool Program::uses(const std::string &mnemonic) const {
  return std::any_of(
      operations.begin(), operations.end(),
      [&](const Operation &op) { return op.mnemonic == mnemonic; });
}

int64_t Program::numRanks() const {
  int64_t ranks = 1;
  for (const Axis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

int64_t Program::sizeOf(const std::string &name) const {
  for (const Axis &axis : mesh)
    if (axis.name == name)
      return axis.size;
  return 1;
}

int64_t Program::extentToRun(const Dim &dim) const {
  for (const auto &[index, multiple] : pipeline.pad)
    if (index == dim.name)
      return (dim.extent + multiple - 1) / multiple * multiple;
  return dim.extent;
}

int64_t Program::rankCount(const Dim &dim) const {
  int64_t ranks = 1;
  for (const std::string &axis : dim.axes)
    ranks *= sizeOf(axis);
  return ranks;
}

std::string PipelineChoices::text() const {
  std::string text;
  for (const auto &[index, multiple] : pad)
    text += " --pad " + index + "=" + std::to_string(multiple);
  if (microBatches > 1)
    text += " --micro-batches " + std::to_string(microBatches) +
            " --micro-batch-index " + microBatchIndex;
  if (stages > 1)
    text += " --stage-schedule " + stageSchedule + " --stage-placement " +
            stagePlacement;
  if (rematerialize != "none")
    text += " --rematerialize " + rematerialize;
  if (keepGathered)
    text += " --keep-gathered";
  if (keepMasks)
    text += " --keep-masks";
  if (attentionBlock > 0)
    text += " --attention blocks --attention-block " +
            std::to_string(attentionBlock);
  if (attentionFused)
    text += std::string(" --attention ") + (attentionRing ? "ring" : "fused") +
            " --balance-attention " + balanceAttention;
  if (shardReplicated != "off")
    text += " --shard-replicated " + shardReplicated;
  if (bucketBytes != PipelineChoices().bucketBytes)
    text += " --bucket-mib " + std::to_string(double(bucketBytes) / (1 << 20));
  if (optimizer != "none") {
    text += " --optimizer " + optimizer + " --clip " + std::to_string(clip);
    for (const std::string &axis : optimizerAxes)
      text += " --optimizer-axes " + axis;
    text += " --gather-parameters " + gatherParameters + " --loss-scale " +
            lossScale;
  }
  if (reduceGradients != "step")
    text += " --reduce-gradients " + reduceGradients;
  if (!reduceDtype.empty())
    text += " --reduce-dtype " + reduceDtype;
  if (overlap)
    text += " --overlap on --hardware " + hardware + " --overlap-chunks " +
            std::to_string(overlapChunks) + " --overlap-memory " +
            std::to_string(overlapMemory);
  return text;
}

/// Parts with ", " between them.
template <typename List, typename Text>
static std::string joined(const List &list, Text text) {
  std::string all, separator;
  for (const auto &entry : list) {
    all += separator + text(entry);
    separator = ", ";
  }
  return all;
}

static std::string subscriptsText(const Tensor &tensor) {
  std::string text = joined(tensor.dims, [](const Dim &dim) {
    std::string entry = dim.name;
    for (const std::string &axis : dim.axes)
      entry += "@" + axis;
    return entry;
  });
  if (tensor.unplaced)
    text += text.empty() ? "?" : ", ?";
  if (tensor.pending.empty())
    return text;
  text += (text.empty() ? "| " : " | ") + tensor.reduction;
  for (const std::string &axis : tensor.pending)
    text += "@" + axis;
  return text;
}

std::string tpsp::property::typeText(const Program &program, ValueId value) {
  const Tensor &tensor = program.values[value];
  std::string text = "tensor<";
  for (const Dim &dim : tensor.dims)
    text += (dim.extent < 0 ? "?" : std::to_string(dim.extent)) + "x";
  text += tensor.element.empty() ? program.element : tensor.element;
  return text + ", #tpsp.idx<" + subscriptsText(tensor) + ">>";
}

static std::string nameOf(const Program &program, ValueId value) {
  std::string letter = program.argument(value) ? "%x" : "%v";
  return letter + std::to_string(value);
}

static std::string meshText(const Program &program) {
  if (program.mesh.empty())
    return "";
  std::string axes = joined(program.mesh, [](const Axis &axis) {
    std::string role = axis.role.empty() ? "" : " : " + axis.role;
    return axis.name + " = " + std::to_string(axis.size) + role;
  });
  return "tpsp.mesh @mesh <" + axes + ">\n";
}

/// The attributes of operation `number`, with its chunk.
static std::string withChunk(const Program &program, size_t number) {
  std::string attributes = program.operations[number].attributes;
  const PipelineChoices &pipeline = program.pipeline;
  if (pipeline.stages == 1)
    return attributes;
  int64_t chunk =
      int64_t(number) * pipeline.chunks / int64_t(program.operations.size());
  std::string mark =
      "tpsp.origin = #tpsp.origin<chunk = " + std::to_string(chunk) + ">}";
  if (attributes.empty())
    return "{" + mark;
  attributes.pop_back();
  return attributes + ", " + mark;
}

std::string tpsp::property::toText(const Program &program) {
  auto type = [&](ValueId value) { return typeText(program, value); };
  auto name = [&](ValueId value) { return nameOf(program, value); };
  std::string text = meshText(program) + "func.func @f(";
  text += joined(program.arguments, [&](const Argument &argument) {
    std::string mark = argument.isParameter ? " {tpsp.param}" : "";
    if (int64_t below = program.values[argument.value].below)
      mark = " {tpsp.below = " + std::to_string(below) + "}";
    return name(argument.value) + ": " + type(argument.value) + mark;
  });
  text += ") -> (" + joined(program.results, type) + ") {\n";
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &op = program.operations[i];
    text += "  " + name(op.result) + " = tpsp." + op.mnemonic + " ";
    text += joined(op.operands, name);
    std::string attributes = withChunk(program, i);
    if (!attributes.empty())
      text += " " + attributes;
    text += " : (" + joined(op.operands, type) + ") -> " + type(op.result);
    text += "\n";
  }
  if (program.results.empty())
    return text + "  return\n}\n";
  return text + "  return " + joined(program.results, name) + " : " +
         joined(program.results, type) + "\n}\n";
}
