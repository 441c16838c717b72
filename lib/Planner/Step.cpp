#include "tpsp/Planner/Step.h"

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

static int64_t bytesOf(const std::vector<StepAccess> &accesses, bool writes) {
  int64_t bytes = 0;
  for (const StepAccess &access : accesses)
    if (access.isWrite == writes)
      bytes += access.part.bytes();
  return bytes;
}

int64_t StepCommand::bytesRead() const { return bytesOf(accesses, false); }
int64_t StepCommand::bytesWritten() const { return bytesOf(accesses, true); }
