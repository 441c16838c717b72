#include "tpsp/Algebra/ArenaLayout.h"

#include <algorithm>
#include <iterator>

using namespace tpsp;

int64_t ArenaLayout::rounded(int64_t bytes) {
  return std::max<int64_t>((bytes + alignment - 1) / alignment, 1) * alignment;
}

void ArenaLayout::addFree(int64_t offset, int64_t bytes) {
  freeByOffset.emplace(offset, bytes);
  freeBySize.emplace(bytes, offset);
}

void ArenaLayout::removeFree(std::map<int64_t, int64_t>::iterator range) {
  auto [first, last] = freeBySize.equal_range(range->second);
  auto entry = std::find_if(first, last, [&](const auto &candidate) {
    return candidate.second == range->first;
  });
  freeBySize.erase(entry);
  freeByOffset.erase(range);
}

int64_t ArenaLayout::allocate(int64_t bytes) {
  bytes = rounded(bytes);
  auto fit = freeBySize.lower_bound(bytes);
  if (fit != freeBySize.end()) {
    auto [size, offset] = *fit;
    removeFree(freeByOffset.find(offset));
    if (size > bytes)
      addFree(offset + bytes, size - bytes);
    return offset;
  }
  // Grows the arena, beginning with the last free range if it touches the end.
  int64_t offset = end;
  if (!freeByOffset.empty()) {
    auto last = std::prev(freeByOffset.end());
    if (last->first + last->second == end) {
      offset = last->first;
      removeFree(last);
    }
  }
  end = offset + bytes;
  return offset;
}

void ArenaLayout::release(int64_t offset, int64_t bytes) {
  bytes = rounded(bytes);
  auto next = freeByOffset.lower_bound(offset);
  if (next != freeByOffset.end() && offset + bytes == next->first) {
    bytes += next->second;
    auto merged = next++;
    removeFree(merged);
  }
  if (next != freeByOffset.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      removeFree(previous);
    }
  }
  addFree(offset, bytes);
}

void ArenaLayout::take(int64_t offset, int64_t bytes) {
  auto range = std::prev(freeByOffset.upper_bound(offset));
  auto [begin, size] = *range;
  removeFree(range);
  if (begin < offset)
    addFree(begin, offset - begin);
  if (offset + bytes < begin + size)
    addFree(offset + bytes, begin + size - offset - bytes);
}
