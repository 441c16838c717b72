#include "tpsp/Abi/PlanMemory.h"
#include "tpsp/Abi/LiveBytes.h"

#include <algorithm>

using namespace tpsp;
using Kind = BufferKind;

/// Whether the step updates parameters. If it does not, gradients are its
/// results.
static bool updates(const Plan &plan) {
  return std::any_of(
      plan.buffers.begin(), plan.buffers.end(), [](const PlanBuffer &buffer) {
        return buffer.kind == Kind::Parameter && buffer.updatedBy >= 0;
      });
}

namespace {
/// Bytes of temporaries, each from its first command to its last.
struct Temporaries {
  LiveBytes all, gradients;
};
} // namespace

static Temporaries temporariesOf(const Plan &plan) {
  constexpr int64_t unknown = -1;
  std::vector<int64_t> first(plan.buffers.size(), unknown);
  std::vector<int64_t> last(plan.buffers.size());
  for (size_t i = 0; i < plan.commands.size(); ++i)
    for (const PlanAccess &access : plan.commands[i].accesses) {
      if (first[access.buffer] == unknown)
        first[access.buffer] = int64_t(i);
      last[access.buffer] = int64_t(i);
    }
  const bool hasUpdate = updates(plan);
  Temporaries live;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer &buffer = plan.buffers[i];
    if (first[i] == unknown || buffer.kind != Kind::Temporary)
      continue;
    live.all.add(first[i], last[i], buffer.bytes);
    if (hasUpdate && buffer.isForGradient)
      live.gradients.add(first[i], last[i], buffer.bytes);
  }
  return live;
}

PlanMemory tpsp::memoryOf(const Plan &plan) {
  PlanMemory memory;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isMaster)
      memory.master += tensor.bytes;
  memory.parameters = plan.bytesOf(Kind::Parameter);
  memory.optimizer = plan.bytesOf(Kind::State) - memory.master;
  memory.inputs = plan.bytesOf(Kind::Input);
  memory.outputs = plan.bytesOf(Kind::Output);
  memory.choices = plan.bytesOf(Kind::Choice);
  memory.inputGradients = plan.inputGradientBytes();
  Temporaries live = temporariesOf(plan);
  int64_t atPeak = live.gradients.at(live.all.whenMost());
  int64_t results = plan.bytesOf(Kind::Gradient);
  memory.gradients = results + atPeak;
  memory.mostGradients = results + live.gradients.most();
  memory.activations = plan.activationBytes() - atPeak;
  return memory;
}
