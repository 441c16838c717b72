#include "Simplify.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

void torch::removeDead(Program &program) {
  std::vector<bool> isUsed(program.values.size());
  for (const ProgramResult &result : program.results)
    isUsed[result.value] = true;
  std::vector<Operation> kept;
  for (auto it = program.operations.rbegin(); it != program.operations.rend();
       ++it) {
    if (!isUsed[it->result])
      continue;
    for (ValueId operand : it->operands)
      isUsed[operand] = true;
    kept.push_back(std::move(*it));
  }
  std::reverse(kept.begin(), kept.end());
  program.operations = std::move(kept);
  auto isUnused = [&](const ProgramArgument &argument) {
    return !isUsed[argument.value] &&
           (argument.constant ||
            argument.kind == ProgramArgument::Kind::Parameter);
  };
  program.arguments.erase(std::remove_if(program.arguments.begin(),
                                         program.arguments.end(), isUnused),
                          program.arguments.end());
}
