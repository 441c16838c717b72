#include "MemoryAccount.h"

#include <algorithm>
#include <limits>

using namespace tpsp;

//===----------------------------------------------------------------------===//
// RangeMaximum
//===----------------------------------------------------------------------===//

RangeMaximum::RangeMaximum(size_t size) {
  while (leaves < int64_t(size))
    leaves *= 2;
  nodes.resize(2 * leaves);
}

void RangeMaximum::addBefore(int64_t end, int64_t bytes) {
  if (end <= 0)
    return;
  int64_t node = end - 1 + leaves;
  nodes[node].sum += bytes;
  nodes[node].largest += bytes;
  while (node /= 2)
    nodes[node] = join(nodes[2 * node], nodes[2 * node + 1]);
}

int64_t RangeMaximum::max(int64_t begin, int64_t end) const {
  if (begin >= end)
    return 0;
  constexpr int64_t none = std::numeric_limits<int64_t>::min() / 2;
  Node left{0, none}, right{0, none};
  // The sum of all positions from `end` on.
  int64_t after = 0;
  int64_t l = begin + leaves, r = end + leaves;
  for (; l < r; l /= 2, r /= 2) {
    if (l % 2)
      left = join(left, nodes[l++]);
    if (r % 2)
      right = join(nodes[--r], right);
  }
  for (r = end + leaves - 1; r > 1; r /= 2)
    if (r % 2 == 0)
      after += nodes[r + 1].sum;
  return join(left, right).largest + after;
}

//===----------------------------------------------------------------------===//
// MemoryAccount
//===----------------------------------------------------------------------===//

MemoryAccount::MemoryAccount(const OverlapProblem &problem)
    : problem(problem), capacity(problem.capacity),
      buffers(problem.buffers.size()),
      ended(problem.buffers.size() * problem.numStreams, -1),
      hasStarted(problem.commands.size()), rest(problem.commands.size()),
      streams(problem.numStreams) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const OverlapBuffer &buffer = problem.buffers[i];
    // A buffer that lives on always has a user left.
    buffers[i].usersLeft =
        int32_t(buffer.users.size()) + (buffer.livesAfter ? 1 : 0);
    rest.addBefore(buffer.livesAfter ? int64_t(problem.commands.size())
                                     : buffer.users.back() + 1,
                   buffer.bytes);
    if (buffer.livesBefore) {
      buffers[i].isStarted = true;
      live += buffer.bytes;
    } else {
      rest.addBefore(buffer.users.front(), -buffer.bytes);
    }
  }
  auto forEachUse = [&](auto add) {
    for (size_t i = 0; i < buffers.size(); ++i)
      for (int64_t user : problem.buffers[i].users)
        add(user, i);
  };
  auto forEachLast = [&](auto add) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (!problem.buffers[i].livesAfter)
        add(problem.buffers[i].users.back(), i);
  };
  size_t count = problem.commands.size();
  uses =
      std::make_shared<Uses>(Uses{NumberedLists<int64_t>(count, forEachUse),
                                  NumberedLists<int64_t>(count, forEachLast)});
}

int64_t MemoryAccount::bytesStarted(int64_t command) const {
  int64_t bytes = 0;
  for (int64_t buffer : uses->buffersOf[command])
    bytes += buffers[buffer].isStarted ? 0 : problem.buffers[buffer].bytes;
  return bytes;
}

bool MemoryAccount::canStart(int64_t command) const {
  int64_t bytes = bytesStarted(command);
  if (bytes == 0)
    return true;
  return live + bytes <= capacity &&
         rest.max(first, command) + behind + bytes <= capacity;
}

std::vector<int64_t> MemoryAccount::start(int64_t command) {
  Stream &stream = streams[problem.commands[command].stream];
  int64_t bytes = bytesStarted(command);
  std::vector<int64_t> waits;
  int64_t most = problem.waitsForRoom ? 0 : capacity;
  int64_t own = problem.commands[command].stream;
  while (bytes > 0 && live + bytes + stream.unknownBytes > most &&
         stream.known < released.size()) {
    int64_t next = released[stream.known++];
    if (wasOn(next, own))
      continue;
    stream.unknownBytes -= problem.buffers[next].bytes;
    for (int64_t other = 0; other < problem.numStreams; ++other)
      if (int32_t user = lastEnded(next, other); user >= 0 && other != own)
        waits.push_back(user);
  }
  for (int64_t buffer : uses->buffersOf[command])
    if (!buffers[buffer].isStarted) {
      buffers[buffer].isStarted = true;
      rest.addBefore(problem.buffers[buffer].users.front(),
                     problem.buffers[buffer].bytes);
    }
  live += bytes;
  hasStarted[command] = true;
  for (; first < int64_t(hasStarted.size()) && hasStarted[first]; ++first)
    for (int64_t buffer : uses->lastAt[first])
      if (buffers[buffer].usersLeft > 0) {
        buffers[buffer].isBehind = true;
        behind += problem.buffers[buffer].bytes;
      }
  return waits;
}

void MemoryAccount::finish(int64_t command) {
  for (int64_t buffer : uses->buffersOf[command]) {
    lastEnded(buffer, problem.commands[command].stream) = int32_t(command);
    if (--buffers[buffer].usersLeft == 0)
      release(buffer);
  }
}

bool MemoryAccount::wasOn(int64_t buffer, int64_t stream) {
  for (int64_t other = 0; other < problem.numStreams; ++other)
    if (other != stream && lastEnded(buffer, other) >= 0)
      return false;
  return true;
}

void MemoryAccount::release(int64_t buffer) {
  int64_t bytes = problem.buffers[buffer].bytes;
  rest.addBefore(problem.buffers[buffer].users.back() + 1, -bytes);
  behind -= buffers[buffer].isBehind ? bytes : 0;
  live -= bytes;
  released.push_back(buffer);
  for (size_t i = 0; i < streams.size(); ++i)
    streams[i].unknownBytes += wasOn(buffer, i) ? 0 : bytes;
}
