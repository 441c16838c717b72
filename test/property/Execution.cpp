#include "Execution.h"

#include "Options.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"
#include "tpsp/Runtime/World.h"

#include <algorithm>
#include <cstring>

using namespace tpsp;
using namespace tpsp::property;
using rt::Rank;
using rt::Status;

/// SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::vector<double>
tpsp::property::randomArgument(uint64_t seed, int64_t number, int64_t elements,
                               const ElementDomain &domain) {
  uint64_t key = mix(seed ^ mix(uint64_t(number) + 1));
  std::vector<double> values(elements);
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t bits = mix(key + uint64_t(i));
    if (domain.below > 0) {
      values[i] = double((bits >> 12) % uint64_t(domain.below));
      continue;
    }
    double magnitude = 0.05 + 1.45 * (double(bits >> 12) * 0x1p-52);
    auto value = static_cast<float>(bits & 1 ? magnitude : -magnitude);
    const rt::HalfFloat *half = rt::halfFloat(domain.dtype);
    values[i] = half ? half->widen(half->round(value)) : value;
  }
  return values;
}

std::vector<double> tpsp::property::wholeArgument(const PlanBuffer &tensor,
                                                  uint64_t seed) {
  // A mean of squares is never negative, and steps count from 1.
  bool isOfUpdate = tensor.kind == BufferKind::State ||
                    (tensor.deviation == 0 && !tensor.isCotangent());
  if (options().defaultData || isOfUpdate)
    return rt::RandomTensor(tensor, seed).whole();
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= extent;
  return randomArgument(seed, tensor.number, elements,
                        {tensor.dtype, tensor.below});
}

/// Returns a rank's summand of an element of a partial tensor. For a sum every
/// rank along the pending axes has a different part. For a maximum one rank has
/// the value and the others smaller ones.
static double summand(double value, int64_t position, int64_t group, bool isMax,
                      int64_t element, bool isExact) {
  if (isMax)
    return element % group == position ? value : value - 1 - double(position);
  if (isExact) // nothing is rounded
    return position == 0 ? (group > 1 ? 2 : 1) * value
                         : (position == 1 ? -value : 0);
  // Summands are not much larger than their sum, because the reference does not
  // know the digits that they lose.
  auto part = [&](int64_t i) {
    return (0.25 * value + 0.5) * double(i) / double(group);
  };
  if (position > 0)
    return part(position);
  double others = 0;
  for (int64_t i = 1; i < group; ++i)
    others += part(i);
  return value - others;
}

static void store(void *memory, int64_t dtype, int64_t i, double value) {
  if (rt::isInteger(dtype))
    rt::storeInteger(static_cast<int64_t>(value), dtype, memory, i);
  else
    rt::storeFloat(value, dtype, memory, i);
}

static void fillArgument(Rank &rank, const Plan &plan, const PlanBuffer &tensor,
                         uint64_t seed) {
  int64_t position = 0, group = 1;
  for (int64_t axis : tensor.pending) {
    position = position * plan.mesh[axis].size + rank.coordinate(axis);
    group *= plan.mesh[axis].size;
  }
  std::vector<double> whole = wholeArgument(tensor, seed);
  // Exact summands, if rounding larger ones would lose digits of their sum.
  bool isExact = rt::halfFloat(tensor.dtype) || options().defaultData;
  void *memory = rank.hostAddress(*tensor.offset);
  if (!tensor.padding.empty())
    std::memset(memory, 0, tensor.bytes);
  rt::Shard(tensor, plan.mesh, rank.coordinates())
      .forEachRun([&](int64_t global, int64_t local, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          store(memory, tensor.dtype, local + i,
                summand(whole[global + i], position, group, tensor.pendingMax,
                        global + i, isExact));
      });
}

/// Fills the arguments, and everything else with NaN.
static Status fill(Rank &rank, const Plan &plan, uint64_t seed) {
  if (plan.arenaBytes == 0)
    return {};
  std::memset(rank.hostAddress(0), 0xff, plan.arenaBytes);
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isArgument() && tensor.isHeldAt(rank.coordinates()))
      fillArgument(rank, plan, tensor, seed);
  return {};
}

static llvm::Error errorOf(const Status &status) {
  return llvm::createStringError(status.message());
}

/// Reads the results of all ranks by their number, because plans may place them
/// in any order.
static Status readResults(rt::World &world, const Plan &plan,
                          ResultBytes &bytes) {
  int64_t ranks = plan.numRanks();
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.resultNumber() >= 0)
      bytes.resize(
          std::max(bytes.size(), size_t((tensor.resultNumber() + 1) * ranks)));
  return world.run([&](Rank &rank) -> Status {
    for (const PlanBuffer &tensor : plan.tensors()) {
      if (tensor.resultNumber() < 0 || !tensor.isHeldAt(rank.coordinates()))
        continue;
      auto &result = bytes[tensor.resultNumber() * ranks + rank.number()];
      result.resize(tensor.bytes);
      if (Status s = rank.read(*tensor.offset, result.data(), tensor.bytes);
          !s.ok())
        return s;
    }
    return {};
  });
}

llvm::Expected<std::vector<rt::TensorError>> tpsp::property::runAndCompare(
    const CompiledModel &model, CodeEffort effort, uint64_t seed,
    const std::vector<rt::ExpectedValues> &expected, double tolerance,
    ResultBytes &bytes, const rt::PlantedMistake &planted) {
  const Plan &plan = *model.plan;
  auto program = JitProgram::create(*model.module, plan.program, effort);
  if (!program)
    return program.takeError();
  rt::registerBuiltinBackends();
  rt::WorldConfig config;
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.numStreams = plan.numStreams;
  config.numEvents = plan.numEvents;
  config.threadsPerRank = 1;
  config.numStreams = plan.numStreams;
  config.numEvents = plan.numEvents;
  std::unique_ptr<rt::World> world;
  if (Status s = rt::World::create(config, world); !s.ok())
    return errorOf(s);
  if (Status s = world->run([&](Rank &rank) { return fill(rank, plan, seed); });
      !s.ok())
    return errorOf(s);
  // A second step runs over the memory that the first left. With an update it
  // would have other results.
  for (int step = 0; step < (model.reference.updates > 0 ? 1 : 2); ++step)
    if (Status s = world->run(
            [&](Rank &rank) { return rank.step(program->step, plan); });
        !s.ok())
      return errorOf(s);
  if (Status s = readResults(*world, plan, bytes); !s.ok())
    return errorOf(s);
  std::vector<rt::TensorError> errors;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.resultNumber() < 0)
      continue;
    rt::TensorError error;
    if (Status s = rt::compareTensor(*world, plan, tensor,
                                     expected[tensor.resultNumber()], tolerance,
                                     error, planted);
        !s.ok())
      return errorOf(s);
    errors.push_back(error);
  }
  return errors;
}
