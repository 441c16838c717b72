#include "MemoryAccount.h"

#include <algorithm>
#include <iterator>
#include <limits>

using namespace tpsp;

//===----------------------------------------------------------------------===//
// RangeMaximum
//===----------------------------------------------------------------------===//

RangeMaximum::RangeMaximum(size_t size) {
  while (leaves < int64_t(size))
    leaves *= 2;
  largest.assign(2 * leaves, 0);
  added.assign(2 * leaves, 0);
}

void RangeMaximum::add(int64_t begin, int64_t end, int64_t bytes) {
  if (begin >= end)
    return;
  int64_t left = begin + leaves, right = end + leaves;
  auto raise = [&](int64_t node) {
    largest[node] += bytes;
    added[node] += bytes;
  };
  for (int64_t l = left, r = right; l < r; l /= 2, r /= 2) {
    if (l % 2)
      raise(l++);
    if (r % 2)
      raise(--r);
  }
  auto pull = [&](int64_t node) {
    while (node /= 2)
      largest[node] =
          std::max(largest[2 * node], largest[2 * node + 1]) + added[node];
  };
  pull(left);
  pull(right - 1);
}

int64_t RangeMaximum::max(int64_t begin, int64_t end) const {
  if (begin >= end)
    return 0;
  constexpr int64_t none = std::numeric_limits<int64_t>::min() / 2;
  int64_t l = begin + leaves, r = end + leaves - 1;
  int64_t ofLeft = largest[l], ofRight = largest[r];
  if (l == r)
    ofRight = none;
  while (l / 2 != r / 2) {
    if (l % 2 == 0)
      ofLeft = std::max(ofLeft, largest[l + 1]);
    if (r % 2 == 1)
      ofRight = std::max(ofRight, largest[r - 1]);
    l /= 2;
    r /= 2;
    ofLeft += added[l];
    ofRight += added[r];
  }
  int64_t found = std::max(ofLeft, ofRight);
  for (int64_t node = l / 2; node > 0; node /= 2)
    found += added[node];
  return found;
}

//===----------------------------------------------------------------------===//
// MemoryAccount
//===----------------------------------------------------------------------===//

MemoryAccount::MemoryAccount(const OverlapProblem &problem)
    : problem(problem),
      capacity(std::max(problem.capacity, problem.serialPeak())),
      buffers(problem.buffers.size()), hasStarted(problem.commands.size()),
      rest(problem.commands.size()), streams(problem.numStreams) {
  auto found = std::make_shared<Uses>();
  found->buffersOf.resize(problem.commands.size());
  found->lastAt.resize(problem.commands.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const OverlapBuffer &buffer = problem.buffers[i];
    buffers[i].usersLeft = buffer.users.size();
    for (int64_t user : buffer.users)
      found->buffersOf[user].push_back(i);
    found->lastAt[buffer.users.back()].push_back(i);
    rest.add(buffer.users.front(), buffer.users.back() + 1, buffer.bytes);
  }
  uses = std::move(found);
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
  while (bytes > 0 && live + bytes + stream.unknownBytes > most &&
         stream.known < released.size()) {
    const Released &next = released[stream.known++];
    if (areOn(next.users, problem.commands[command].stream))
      continue;
    stream.unknownBytes -= next.bytes;
    std::copy_if(next.users.begin(), next.users.end(),
                 std::back_inserter(waits), [&](int64_t user) {
                   return !areOn({user}, problem.commands[command].stream);
                 });
  }
  for (int64_t buffer : uses->buffersOf[command])
    if (!buffers[buffer].isStarted) {
      buffers[buffer].isStarted = true;
      rest.add(0, problem.buffers[buffer].users.front(),
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
    std::vector<int64_t> &ended = buffers[buffer].ended;
    auto sameStream = std::find_if(ended.begin(), ended.end(), [&](int64_t e) {
      return areOn({e}, problem.commands[command].stream);
    });
    if (sameStream == ended.end())
      ended.push_back(command);
    else
      *sameStream = command;
    if (--buffers[buffer].usersLeft == 0)
      release(buffer);
  }
}

bool MemoryAccount::areOn(const std::vector<int64_t> &commands,
                          int64_t stream) const {
  return std::all_of(commands.begin(), commands.end(), [&](int64_t command) {
    return problem.commands[command].stream == stream;
  });
}

void MemoryAccount::release(int64_t buffer) {
  int64_t bytes = problem.buffers[buffer].bytes;
  rest.add(0, problem.buffers[buffer].users.back() + 1, -bytes);
  behind -= buffers[buffer].isBehind ? bytes : 0;
  live -= bytes;
  released.push_back({bytes, std::move(buffers[buffer].ended)});
  for (size_t i = 0; i < streams.size(); ++i)
    streams[i].unknownBytes += areOn(released.back().users, i) ? 0 : bytes;
}
