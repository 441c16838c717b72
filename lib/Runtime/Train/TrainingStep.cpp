#include "tpsp/Runtime/Train/TrainingStep.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Report/StepResults.h"

#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

/// The numbers of the results whose gradients are computed.
static std::set<int64_t> differentiated(const Plan &plan) {
  std::set<int64_t> numbers;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isCotangent())
      numbers.insert(tensor.of);
  return numbers;
}

Status tpsp::train::findLoss(const Plan &plan, const std::string &name,
                             int64_t &loss) {
  std::vector<std::string> names;
  std::set<int64_t> candidates = differentiated(plan);
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.kind != BufferKind::Output || !tensor.shape.empty() ||
        isDroppedCount(tensor) ||
        (!candidates.empty() && candidates.count(tensor.number) == 0))
      continue;
    names.push_back(tensor.name);
    loss = tensor.number;
    if (tensor.name == name)
      return {};
  }
  if (names.size() == 1 && name.empty())
    return {};
  if (names.empty())
    return invalid("the program has no result without indices that could be "
                   "minimised; return one, such as %loss = mean %each -> []");
  return invalid("{}; the results without indices are {} (--loss NAME)",
                 name.empty() ? "the program has several losses"
                              : "no loss is called '" + name + "'",
                 fmt::join(names, ", "));
}

/// An input that no batch and no file has, and what it may be.
static Status notGiven(const PlanBuffer &tensor) {
  const char *way = "give it with --inputs, or a tensor for each sample with "
                    "--data";
  if (isInteger(tensor.dtype))
    return invalid("nothing gives input '{}': write {{tpsp.data = "
                   "\"tokens\"}} on it, or {}",
                   tensor.name, way);
  if (tensor.shape.size() < 2)
    return invalid("nothing gives input '{}'; {}", tensor.name, way);
  return invalid("nothing gives input '{}': is it a parameter? Write param "
                 "%{}; else {}",
                 tensor.name, tensor.name, way);
}

Status tpsp::train::checkTrainable(const Plan &plan, const TensorSource &source,
                                   const SampleFiles &data) {
  TPSP_TRY(data.check(plan));
  bool isUpdated = false;
  for (const PlanBuffer &tensor : plan.tensors()) {
    isUpdated |= tensor.updatedBy >= 0;
    if (data.has(tensor.name) && source.isGiven(tensor))
      return invalid("input '{}' is given by --inputs and by --data; give it "
                     "once",
                     tensor.name);
    if (tensor.kind == BufferKind::Input && !tensor.isScalar &&
        !tensor.isCotangent() && !isMadeOfTokens(tensor.data) &&
        !data.has(tensor.name) && !source.isGiven(tensor))
      return notGiven(tensor);
  }
  if (isUpdated)
    return {};
  return invalid(
      "the plan does not update its parameters; compile it with --grad "
      "--optimizer adamw");
}

bool tpsp::train::losesGradients(const Plan &plan) {
  bool isNarrow = false, isScaled = false;
  for (const PlanBuffer &tensor : plan.tensors()) {
    isNarrow |= tensor.kind == BufferKind::Parameter && tensor.updatedBy >= 0 &&
                tensor.dtype == TPSP_RT_F16;
    isScaled |= tensor.isStepState();
  }
  return isNarrow && !isScaled;
}

TrainingStep::TrainingStep(LoadedProgram program, int64_t lossNumber,
                           const Batches &batches)
    : program(program), staging(program.world->numRanks()) {
  for (const PlanBuffer &tensor : program.plan->tensors()) {
    if (batches.gives(tensor))
      data.push_back(&tensor);
    if (tensor.isScalar)
      scalarInputs.push_back(&tensor);
    if (tensor.isStepState() && tensor.name == "loss_scale")
      lossScale.emplace(*program.world, tensor);
    maySkip |= tensor.isStepState();
    if (tensor.kind != BufferKind::Output)
      continue;
    if (isDroppedCount(tensor))
      dropped.emplace_back(*program.world, tensor);
    if (!tensor.shape.empty())
      continue;
    if (tensor.number == lossNumber)
      loss.emplace(*program.world, tensor);
    else if (tensor.name == "norm")
      norm.emplace(*program.world, tensor);
  }
  for (int64_t rank = 0; rank < program.world->numRanks(); ++rank) {
    std::vector<Shard> &parts = shards.emplace_back();
    for (const PlanBuffer *tensor : data)
      parts.emplace_back(*tensor, program.plan->mesh,
                         program.world->mesh().coordinates(rank));
  }
}

static double valueOf(const PlanBuffer &scalar, const StepScalars &scalars) {
  return scalar.isStepNumber() ? double(scalars.step) : scalars.learningRate;
}

Status TrainingStep::setArguments(Rank &rank, const Batches &batches,
                                  int64_t first, const StepScalars &scalars) {
  std::vector<char> &buffer = staging[rank.number()];
  auto set = [&](const PlanBuffer &tensor, auto fill) -> Status {
    if (!tensor.isHeldAt(rank.coordinates()))
      return {};
    return rank.fill(*tensor.offset, tensor.bytes, buffer, fill);
  };
  for (size_t i = 0; i < data.size(); ++i)
    TPSP_TRY(set(*data[i], [&](void *memory) {
      return batches.fill(*data[i], shards[rank.number()][i], first, memory);
    }));
  for (const PlanBuffer *tensor : scalarInputs)
    TPSP_TRY(set(*tensor, [&](void *memory) {
      storeFloat(valueOf(*tensor, scalars), tensor->dtype, memory, 0);
      return Status();
    }));
  return {};
}

Status TrainingStep::run(const Batches &batches, int64_t first,
                         const StepScalars &scalars, StepValues &out) {
  auto step = [&](Rank &rank) {
    TPSP_TRY(setArguments(rank, batches, first, scalars));
    TPSP_TRY(rank.step(program.step, *program.plan));
    return rank.synchronize();
  };
  // Passed by reference: a std::function with all these captures would
  // allocate.
  TPSP_TRY(program.world->run(std::ref(step)));
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  out.norm = out.lossScale = none;
  out.dropped = dropped.empty() ? none : 0;
  for (const ScalarReader &count : dropped) {
    double number = 0;
    TPSP_TRY(count.read(number));
    out.dropped += number;
  }
  for (auto [from, to] :
       {std::pair(&loss, &out.loss), std::pair(&norm, &out.norm),
        std::pair(&lossScale, &out.lossScale)})
    if (*from)
      TPSP_TRY((*from)->read(*to));
  out.isSkipped = maySkip && !std::isfinite(out.norm);
  return {};
}

/// Whether both tensors have the same bytes on each rank.
static bool liesAlike(const PlanBuffer &one, const PlanBuffer &other) {
  return one.shape == other.shape && one.axes == other.axes &&
         one.stages == other.stages && one.dtype == other.dtype &&
         one.bytes == other.bytes;
}

Status tpsp::train::copyParameters(const LoadedProgram &from,
                                   const LoadedProgram &to) {
  std::map<std::string, const PlanBuffer *> sources;
  for (const PlanBuffer &tensor : from.plan->tensors())
    if (tensor.kind == BufferKind::Parameter)
      sources[tensor.name] = &tensor;
  for (const PlanBuffer &tensor : to.plan->tensors()) {
    if (tensor.kind != BufferKind::Parameter)
      continue;
    auto source = sources.find(tensor.name);
    if (source == sources.end() || !liesAlike(*source->second, tensor))
      return invalid("parameter '{}' lies elsewhere in the program that "
                     "evaluates; write its placement in the model",
                     tensor.name);
    std::vector<std::vector<char>> parts(from.world->numRanks());
    TPSP_TRY(from.world->run([&](Rank &rank) -> Status {
      if (!source->second->isHeldAt(rank.coordinates()))
        return {};
      std::vector<char> &part = parts[rank.number()];
      part.resize(tensor.bytes);
      return rank.read(*source->second->offset, part.data(), tensor.bytes);
    }));
    TPSP_TRY(to.world->run([&](Rank &rank) -> Status {
      if (!tensor.isHeldAt(rank.coordinates()))
        return {};
      return rank.write(*tensor.offset, parts[rank.number()].data(),
                        tensor.bytes);
    }));
  }
  return {};
}
