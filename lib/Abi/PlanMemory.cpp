#include "tpsp/Abi/PlanMemory.h"

#include <algorithm>
#include <set>

using namespace tpsp;
using Kind = BufferKind;

/// The names of gradients of parameters that a step updates.
static std::set<std::string> updatedGradients(const Plan &plan) {
  std::set<std::string> names;
  for (const PlanBuffer &buffer : plan.buffers)
    if (buffer.kind == Kind::Parameter && buffer.updatedBy >= 0)
      names.insert("g[" + buffer.name + "]");
  return names;
}

/// The most bytes of temporaries with these names at one time, from the first
/// command of each to its last.
static int64_t mostAtOnce(const Plan &plan,
                          const std::set<std::string> &names) {
  std::vector<size_t> last(plan.buffers.size());
  for (size_t i = 0; i < plan.commands.size(); ++i)
    for (const PlanAccess &access : plan.commands[i].accesses)
      last[access.buffer] = i;
  std::vector<bool> isLive(plan.buffers.size());
  int64_t live = 0, most = 0;
  auto isWanted = [&](const PlanBuffer &buffer) {
    return buffer.kind == Kind::Temporary && names.count(buffer.name) > 0;
  };
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const std::vector<PlanAccess> &accesses = plan.commands[i].accesses;
    for (const PlanAccess &access : accesses)
      if (const PlanBuffer &buffer = plan.buffers[access.buffer];
          isWanted(buffer) && !isLive[access.buffer]) {
        isLive[access.buffer] = true;
        live += buffer.bytes;
      }
    most = std::max(most, live);
    for (const PlanAccess &access : accesses)
      if (isLive[access.buffer] && last[access.buffer] == i) {
        isLive[access.buffer] = false;
        live -= plan.buffers[access.buffer].bytes;
      }
  }
  return most;
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
  int64_t within = mostAtOnce(plan, updatedGradients(plan));
  memory.gradients = plan.bytesOf(Kind::Gradient) + within;
  memory.activations = plan.activationBytes() - within;
  return memory;
}
