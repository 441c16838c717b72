#include "Shrink.h"

#include <algorithm>
#include <set>

using namespace tpsp::property;

/// A way to make a program smaller, at its `n`-th place. Returns false if it
/// has no such place.
using Reduction = bool (*)(Program &program, unsigned n);

static bool isReturned(const Program &program, ValueId value) {
  return std::count(program.results.begin(), program.results.end(), value) != 0;
}

static bool isUsed(const Program &program, ValueId value) {
  for (const Operation &op : program.operations)
    if (std::count(op.operands.begin(), op.operands.end(), value))
      return true;
  return isReturned(program, value);
}

/// Drops operations and arguments that nothing uses.
static void dropDead(Program &program) {
  for (size_t i = program.operations.size(); i-- > 0;)
    if (!isUsed(program, program.operations[i].result))
      program.operations.erase(program.operations.begin() + i);
  for (size_t i = program.arguments.size(); i-- > 0;)
    if (!isUsed(program, program.arguments[i].value))
      program.arguments.erase(program.arguments.begin() + i);
}

static bool dropGradient(Program &program, unsigned n) {
  if (n > 0 || !program.grad)
    return false;
  program.grad = false;
  return true;
}

static bool dropResult(Program &program, unsigned n) {
  if (n >= program.results.size() || program.results.size() < 2)
    return false;
  program.results.erase(program.results.begin() + n);
  dropDead(program);
  return true;
}

/// Makes an operation's result an argument.
static bool cutBefore(Program &program, unsigned n) {
  if (n >= program.operations.size())
    return false;
  // Begins with the last operations, which have the most before them.
  size_t at = program.operations.size() - 1 - n;
  ValueId value = program.operations[at].result;
  program.operations.erase(program.operations.begin() + at);
  program.values[value].unplaced = false;
  program.arguments.push_back({value, false});
  dropDead(program);
  return !program.operations.empty();
}

/// Returns an operation's operand instead of its result.
static bool cutAfter(Program &program, unsigned n) {
  if (n >= program.operations.size())
    return false;
  Operation op = program.operations[n];
  auto at =
      std::find(program.results.begin(), program.results.end(), op.result);
  if (at == program.results.end() || op.operands.empty() ||
      program.definition(op.operands[0]) == nullptr)
    return true; // the same program: not tried
  *at = op.operands[0];
  dropDead(program);
  return true;
}

/// Replaces uses of an operation's result by an operand with the same indices.
static bool bypass(Program &program, unsigned n) {
  if (n >= program.operations.size())
    return false;
  Operation op = program.operations[n];
  auto names = [&](ValueId value) {
    std::vector<std::string> list;
    for (const Dim &dim : program.values[value].dims)
      list.push_back(dim.name);
    return list;
  };
  for (ValueId operand : op.operands) {
    if (names(operand) != names(op.result))
      continue;
    for (Operation &user : program.operations)
      std::replace(user.operands.begin(), user.operands.end(), op.result,
                   operand);
    if (program.definition(operand))
      std::replace(program.results.begin(), program.results.end(), op.result,
                   operand);
    dropDead(program);
    break;
  }
  return !program.operations.empty();
}

static void removeAxis(std::vector<std::string> &axes,
                       const std::string &axis) {
  axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
}

static bool dropAxis(Program &program, unsigned n) {
  if (n >= program.mesh.size())
    return false;
  std::string axis = program.mesh[n].name;
  if (program.mesh[n].role == "stage")
    program.pipeline.stages = 1;
  program.mesh.erase(program.mesh.begin() + n);
  for (Tensor &tensor : program.values) {
    removeAxis(tensor.pending, axis);
    for (Dim &dim : tensor.dims)
      removeAxis(dim.axes, axis);
  }
  return true;
}

static bool shrinkAxis(Program &program, unsigned n) {
  if (n >= program.mesh.size())
    return false;
  program.mesh[n].size = 2;
  return true;
}

static bool dropRoles(Program &program, unsigned n) {
  if (n >= program.mesh.size())
    return false;
  program.mesh[n].role.clear();
  return true;
}

static bool clearTensor(Program &program, unsigned n) {
  if (n >= program.values.size())
    return false;
  program.values[n].pending.clear();
  for (Dim &dim : program.values[n].dims)
    dim.axes.clear();
  return true;
}

/// Drops the n-th of all subscripts.
static bool dropSubscript(Program &program, unsigned n) {
  for (Tensor &tensor : program.values)
    for (Dim &dim : tensor.dims) {
      if (n < dim.axes.size()) {
        dim.axes.erase(dim.axes.begin() + n);
        return true;
      }
      n -= dim.axes.size();
    }
  return false;
}

static bool leaveUnplaced(Program &program, unsigned n) {
  if (n >= program.operations.size())
    return false;
  Tensor &tensor = program.values[program.operations[n].result];
  if (!tensor.unplaced) {
    tensor.pending.clear();
    for (Dim &dim : tensor.dims)
      dim.axes.clear();
  }
  tensor.unplaced = true;
  return true;
}

static std::string indexName(const Program &program, unsigned n) {
  std::set<std::string> names;
  for (const Tensor &tensor : program.values)
    for (const Dim &dim : tensor.dims)
      names.insert(dim.name);
  if (n >= names.size())
    return "";
  return *std::next(names.begin(), n);
}

static bool dropIndex(Program &program, unsigned n) {
  std::string name = indexName(program, n);
  if (name.empty())
    return false;
  for (Tensor &tensor : program.values)
    tensor.dims.erase(
        std::remove_if(tensor.dims.begin(), tensor.dims.end(),
                       [&](const Dim &dim) { return dim.name == name; }),
        tensor.dims.end());
  return true;
}

template <int64_t to> static bool setExtent(Program &program, unsigned n) {
  std::string name = indexName(program, n);
  if (name.empty())
    return false;
  for (Tensor &tensor : program.values)
    for (Dim &dim : tensor.dims)
      if (dim.name == name && dim.extent > to)
        dim.extent = to;
  return true;
}

/// Drops one option of the pipeline.
static bool dropChoice(Program &program, unsigned n) {
  PipelineChoices &pipeline = program.pipeline, plain;
  switch (n) {
  case 0:
    pipeline.microBatches = plain.microBatches;
    return true;
  case 1:
    pipeline.rematerialize = plain.rematerialize;
    return true;
  case 2:
    pipeline.keepGathered = plain.keepGathered;
    return true;
  case 3:
    pipeline.keepMasks = plain.keepMasks;
    return true;
  case 4:
    pipeline.shardReplicated = plain.shardReplicated;
    return true;
  case 5:
    pipeline.bucketBytes = plain.bucketBytes;
    return true;
  case 6:
    pipeline.overlap = plain.overlap;
    return true;
  case 7:
    pipeline.attentionBlock = plain.attentionBlock;
    return true;
  case 8:
    if (pipeline.attentionRing)
      pipeline.attentionRing = false;
    else
      pipeline.attentionFused = plain.attentionFused;
    return true;
  case 9:
    pipeline.optimizer = plain.optimizer;
    return true;
  case 10:
    pipeline.optimizerAxes = plain.optimizerAxes;
    return true;
  case 11:
    pipeline.clip = plain.clip;
    return true;
  case 12:
    pipeline.reduceGradients = plain.reduceGradients;
    pipeline.reduceDtype = plain.reduceDtype;
    return true;
  case 13:
    pipeline.gatherParameters = plain.gatherParameters;
    return true;
  case 14:
    pipeline.lossScale = plain.lossScale;
    return true;
  case 15:
    pipeline.pad = plain.pad;
    return true;
  case 16:
    pipeline.balanceAttention = plain.balanceAttention;
    return true;
  case 17:
    if (pipeline.stages == 1)
      return true;
    pipeline.stages = pipeline.chunks = 1;
    program.mesh.pop_back();
    return true;
  default:
    return false;
  }
}

static bool useFloat64(Program &program, unsigned n) {
  program.element = "f64";
  program.pipeline.reduceDtype.clear();
  return n == 0;
}

/// Ordered by how much they remove, most first.
static constexpr Reduction reductions[] = {
    dropGradient,  dropChoice,   dropResult,   cutBefore,    cutAfter,
    bypass,        dropAxis,     dropIndex,    clearTensor,  leaveUnplaced,
    dropSubscript, setExtent<1>, setExtent<2>, setExtent<4>, shrinkAxis,
    dropRoles,     useFloat64};

Program tpsp::property::shrink(Program program, const StillFails &stillFails,
                               unsigned attempts) {
  bool changed = true;
  while (changed && attempts > 0) {
    changed = false;
    for (Reduction reduce : reductions)
      for (unsigned n = 0; attempts > 0;) {
        Program smaller = program;
        if (!reduce(smaller, n))
          break;
        if (toText(smaller) == toText(program) &&
            smaller.pipeline.text() == program.pipeline.text() &&
            smaller.grad == program.grad) {
          ++n;
          continue;
        }
        --attempts;
        if (!stillFails(smaller)) {
          ++n;
          continue;
        }
        program = std::move(smaller);
        changed = true;
      }
  }
  dropDead(program);
  return program;
}
