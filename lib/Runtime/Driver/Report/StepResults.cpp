#include "tpsp/Runtime/Driver/Report/StepResults.h"

#include "tpsp/Runtime/Driver/Tensors/PartialTensor.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <mutex>

using namespace tpsp;
using namespace tpsp::rt;
using Kind = BufferKind;

ScalarReader::ScalarReader(World &world, const PlanBuffer &tensor)
    : world(&world), tensor(&tensor) {
  for (int64_t rank = 0; rank < world.numRanks(); ++rank) {
    std::vector<int64_t> coordinates = world.mesh().coordinates(rank);
    isFirst.push_back(isFirstHolder(tensor, coordinates));
    shards.emplace_back(tensor, world.mesh().axes(), coordinates);
  }
}

bool tpsp::rt::isDroppedCount(const PlanBuffer &tensor) {
  return tensor.name.substr(0, tensor.name.find('#')) == "dropped";
}

Status tpsp::rt::checkDropped(double dropped, int64_t most) {
  if (most < 0 || dropped <= double(most))
    return {};
  return invalid("{} of tokens found no place at their experts, and "
                 "--max-dropped allows {}; give experts more slots or rows, by "
                 "--extent of their index",
                 counted(int64_t(dropped), "choice"), most);
}

namespace {

/// Combines the ranks' parts.
struct Combined {
  const PlanBuffer &tensor;
  double &out;
  std::mutex mutex;

  void add(const Shard &shard, const void *memory) {
    std::lock_guard<std::mutex> lock(mutex);
    shard.forEachRun([&](int64_t, int64_t local, int64_t count) {
      for (int64_t i = local; i < local + count; ++i)
        combine(loadNumber(memory, tensor.dtype, i), tensor.pendingMax, out);
    });
  }
};

} // namespace

Status ScalarReader::read(double &out) const {
  out = tensor->pendingMax ? -std::numeric_limits<double>::infinity() : 0;
  Combined combined{*tensor, out, {}};
  // Captures at most two references, since a std::function allocates for more.
  TPSP_TRY(world->inspect(
      *tensor->offset, tensor->bytes,
      [this](int64_t rank) { return isFirst[rank] != 0; },
      [&combined, &shards = shards](int64_t rank, const void *memory) {
        combined.add(shards[rank], memory);
        return Status();
      }));
  // The sign of a NaN is accidental, and would be printed.
  if (std::isnan(out))
    out = std::numeric_limits<double>::quiet_NaN();
  return {};
}

Status tpsp::rt::readResults(World &world, const Plan &plan,
                             const TensorSource &source, StepResults &out) {
  out = StepResults();
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.isCotangent())
      out.cotangents.push_back(
          {tensor.name, source.isGiven(tensor)  ? "file"
                        : tensor.deviation == 0 ? fmt::format("{}", tensor.mean)
                                                : "random"});
    bool isNumber = tensor.shape.empty() || isDroppedCount(tensor);
    if (tensor.kind != Kind::Output || !isNumber)
      continue;
    double value = 0;
    TPSP_TRY(ScalarReader(world, tensor).read(value));
    out.scalars.push_back({tensor.name, value});
    if (isDroppedCount(tensor))
      out.dropped += value;
  }
  return {};
}

std::string tpsp::rt::toText(const StepResults &results) {
  std::string text;
  for (const StepResults::Scalar &scalar : results.scalars)
    text += fmt::format("{} {:.6g}\n", scalar.name, scalar.value);
  if (results.cotangents.empty())
    return text;
  std::string cotangents;
  for (const StepResults::Cotangent &cotangent : results.cotangents)
    cotangents +=
        fmt::format("{}{} {}", cotangents.empty() ? "" : ", ", cotangent.name,
                    cotangent.from == "random" ? "random"
                    : cotangent.from == "file" ? "from a file"
                                               : "= " + cotangent.from);
  return text +
         fmt::format("gradients with {} (--inputs gives others)\n", cotangents);
}
