#include "tpsp/Schedule/Step.h"

#include <algorithm>

using namespace tpsp;

bool BufferPart::operator==(const BufferPart &other) const {
  return begin == other.begin && length == other.length &&
         count == other.count && (count == 1 || pitch == other.pitch);
}

bool BufferPart::overlaps(const BufferPart &other) const {
  if (bytes() == 0 || other.bytes() == 0 || end() <= other.begin ||
      other.end() <= begin)
    return false;
  // Of different shapes, or with runs that wrap around the pitch: each may
  // reach into the other's gaps, which is taken as an overlap.
  int64_t period = count > 1 ? pitch : other.pitch;
  bool sameShape = (count == 1 || other.count == 1 || pitch == other.pitch);
  if (!sameShape || (count == 1 && other.count == 1))
    return true;
  int64_t first = begin % period, second = other.begin % period;
  if (first + length > period || second + other.length > period)
    return true;
  return first < second + other.length && second < first + length;
}

/// Bytes of `part` below byte `end`.
static int64_t bytesBelow(const BufferPart &part, int64_t end) {
  int64_t reach = std::min(end, part.end()) - part.begin;
  if (reach <= 0)
    return 0;
  if (part.count == 1 || part.pitch == 0)
    return std::min(reach, part.length);
  return reach / part.pitch * part.length +
         std::min(reach % part.pitch, part.length);
}

int64_t BufferPart::commonBytes(const BufferPart &other) const {
  if (!overlaps(other))
    return 0;
  if (count > other.count)
    return other.commonBytes(*this);
  int64_t bytes = 0;
  for (int64_t run = 0; run < count; ++run) {
    int64_t first = begin + run * pitch;
    bytes += bytesBelow(other, first + length) - bytesBelow(other, first);
  }
  return bytes;
}

static int64_t bytesOf(const std::vector<StepAccess> &accesses, bool writes) {
  int64_t bytes = 0;
  for (const StepAccess &access : accesses)
    if (access.isWrite == writes)
      bytes += access.part.bytes();
  return bytes;
}

int64_t StepCommand::bytesRead() const { return bytesOf(accesses, false); }
int64_t StepCommand::bytesWritten() const { return bytesOf(accesses, true); }
