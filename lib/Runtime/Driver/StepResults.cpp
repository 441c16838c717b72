#include "tpsp/Runtime/Driver/StepResults.h"

#include "PartialTensor.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <limits>
#include <mutex>

using namespace tpsp;
using namespace tpsp::rt;
using Kind = BufferKind;

ScalarReader::ScalarReader(World &world, const PlanBuffer &tensor)
    : world(&world), tensor(&tensor) {
  for (int64_t rank = 0; rank < world.numRanks(); ++rank)
    isFirst.push_back(isFirstHolder(tensor, world.mesh().coordinates(rank)));
}

namespace {

/// What the ranks' parts make together.
struct Combined {
  const PlanBuffer &tensor;
  double &out;
  std::mutex mutex;

  void add(const void *memory) {
    std::lock_guard<std::mutex> lock(mutex);
    combine(loadNumber(memory, tensor.dtype, 0), tensor.pendingMax, out);
  }
};

} // namespace

Status ScalarReader::read(double &out) const {
  out = tensor->pendingMax ? -std::numeric_limits<double>::infinity() : 0;
  Combined combined{*tensor, out, {}};
  // Of one reference each: a std::function keeps no more without allocating.
  return world->inspect(
      *tensor->offset, tensor->bytes,
      [this](int64_t rank) { return isFirst[rank] != 0; },
      [&combined](int64_t, const void *memory) {
        combined.add(memory);
        return Status();
      });
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
    if (tensor.kind != Kind::Output || !tensor.shape.empty())
      continue;
    double value = 0;
    TPSP_TRY(ScalarReader(world, tensor).read(value));
    out.scalars.push_back({tensor.name, value});
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
