#include "RandomProblem.h"

#include <algorithm>

using namespace tpsp;

OverlapProblem tpsp::randomProblem(std::mt19937 &random, size_t commands,
                                   bool withMemory) {
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
  if (!withMemory)
    return problem;
  // Adds phases, and buffers that the first user writes and the others read.
  for (OverlapProblem::Command &command : problem.commands)
    command.phase = draw(0, 2);
  int64_t phase = 0;
  for (OverlapProblem::Command &command : problem.commands)
    if (command.stream == 0)
      command.phase = phase += draw(0, 9) == 0;
  for (size_t i = 0; i + 1 < commands; ++i)
    for (int64_t buffers = draw(0, 2); buffers > 0; --buffers) {
      OverlapBuffer buffer{draw(0, 12), {int64_t(i)}};
      for (int64_t n = draw(0, 2); n > 0; --n)
        buffer.users.push_back(
            draw(i + 1, std::min<int64_t>(i + 6, commands - 1)));
      std::sort(buffer.users.begin(), buffer.users.end());
      buffer.users.erase(std::unique(buffer.users.begin(), buffer.users.end()),
                         buffer.users.end());
      for (int64_t user : buffer.users)
        if (user != int64_t(i))
          problem.commands[user].after.push_back(i);
      buffer.livesBefore = draw(0, 7) == 0;
      buffer.livesAfter = draw(0, 7) == 0;
      problem.buffers.push_back(buffer);
    }
  problem.capacity = draw(0, 2) * problem.serialPeak() * draw(1, 3) / 2;
  problem.waitsForRoom = draw(0, 1);
  return problem;
}
