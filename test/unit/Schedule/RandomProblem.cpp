#include "RandomProblem.h"

#include <algorithm>

using namespace tpsp;

OverlapProblem tpsp::randomProblem(std::mt19937 &random, size_t commands,
                                   bool withPools) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  OverlapProblem problem;
  problem.numStreams = draw(2, 3);
  for (size_t i = 0; i < commands; ++i) {
    OverlapProblem::Command command;
    bool communicates = draw(0, 2) == 0;
    command.stream = communicates ? draw(1, problem.numStreams - 1) : 0;
    command.seconds = double(draw(0, 9)) * 1e-3;
    for (int64_t n = draw(0, 2); n > 0 && i > 0; --n)
      command.after.push_back(draw(i > 4 ? i - 4 : 0, i - 1));
    problem.commands.push_back(command);
  }
  if (!withPools)
    return problem;
  for (int64_t stream = 0; stream < problem.numStreams; ++stream)
    problem.pools.push_back({draw(1, 30)});
  for (size_t i = 0; i + 1 < commands; ++i)
    for (int64_t claims = draw(0, 3) - 1; claims > 0; --claims) {
      BufferClaim claim{problem.commands[i].stream, draw(0, 12), {}};
      for (int64_t n = draw(1, 2); n > 0; --n)
        claim.releasedBy.push_back(
            draw(i + 1, std::min<int64_t>(i + 6, commands - 1)));
      for (int64_t user : claim.releasedBy)
        problem.commands[user].after.push_back(i);
      problem.commands[i].claims.push_back(claim);
    }
  return problem;
}
