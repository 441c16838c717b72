#include "Reach.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;

Reach::Reach(const Plan &plan, const Change &change)
    : plan(plan), reached(plan.buffers.size(), false) {
  addArguments(change);
  // Micro-batches run the same commands again.
  while (followCommands(change))
    ;
}

void Reach::addArguments(const Change &change) {
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].isArgument() &&
        (change.arguments.count(plan.buffers[i].number) ||
         change.own.count(plan.buffers[i].number) ||
         change.parts.count(plan.buffers[i].number)))
      reached[i] = true;
}

bool Reach::followCommands(const Change &change) {
  bool grows = false;
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const std::vector<PlanAccess> &accesses = plan.commands[i].accesses;
    bool isChanged =
        change.commands.count(int64_t(i)) ||
        std::any_of(accesses.begin(), accesses.end(),
                    [&](const PlanAccess &access) {
                      return !access.isWrite && reached[access.buffer];
                    });
    for (const PlanAccess &access : accesses)
      if (isChanged && access.isWrite && !reached[access.buffer])
        reached[access.buffer] = grows = true;
  }
  return grows;
}

std::vector<bool>
tpsp::check::neededCommands(const Plan &plan,
                            const std::vector<const PlanBuffer *> &wanted) {
  std::vector<bool> buffers(plan.buffers.size(), false);
  std::vector<bool> commands(plan.commands.size(), false);
  for (const PlanBuffer *each : wanted)
    buffers[each - plan.buffers.data()] = true;
  auto isNeeded = [&](const std::vector<PlanAccess> &accesses) {
    return accesses.empty() ||
           std::any_of(accesses.begin(), accesses.end(),
                       [&](const PlanAccess &access) {
                         return access.isWrite && buffers[access.buffer];
                       });
  };
  // Micro-batches run the same commands again.
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i = plan.commands.size(); i-- > 0;) {
      const std::vector<PlanAccess> &accesses = plan.commands[i].accesses;
      if (commands[i] || !isNeeded(accesses))
        continue;
      commands[i] = grows = true;
      for (const PlanAccess &access : accesses)
        buffers[access.buffer] = true;
    }
  }
  return commands;
}
