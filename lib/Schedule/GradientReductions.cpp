#include "GradientReductions.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

Plan tpsp::reductionsOf(const Plan &update) {
  auto isReduction = [&](const PlanCommand &command) {
    int64_t row = command.collective.row;
    return row >= 0 && !update.ledger[row].gradients.empty();
  };
  std::vector<bool> isNeeded(update.buffers.size());
  Plan part = update;
  part.commands.clear();
  for (const PlanCommand &command : llvm::reverse(update.commands)) {
    bool isKept = isReduction(command) ||
                  llvm::any_of(command.accesses, [&](const PlanAccess &access) {
                    return access.isWrite && isNeeded[access.buffer];
                  });
    if (command.isEvent() || !isKept)
      continue;
    for (const PlanAccess &access : command.accesses)
      isNeeded[access.buffer] = isNeeded[access.buffer] || !access.isWrite;
    part.commands.push_back(command);
  }
  std::reverse(part.commands.begin(), part.commands.end());
  return part;
}
