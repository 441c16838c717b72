#include "SizeTable.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;

double tpsp::valueAt(const SizeTable &table, double bytes) {
  auto above = std::lower_bound(
      table.begin(), table.end(), bytes,
      [](const SizePoint &point, double size) { return point.bytes < size; });
  if (above == table.begin())
    return above->value;
  if (above == table.end())
    return table.back().value;
  const SizePoint &below = above[-1];
  double share =
      std::log(bytes / below.bytes) / std::log(above->bytes / below.bytes);
  return below.value * std::pow(above->value / below.value, share);
}

double tpsp::secondsAt(const SizeTable &table, double bytes, double atZero) {
  const SizePoint &first = table.front(), &last = table.back();
  if (bytes >= last.bytes)
    return last.value * bytes / last.bytes;
  if (bytes >= first.bytes)
    return valueAt(table, bytes);
  double start = std::min(atZero, first.value);
  return start + (first.value - start) * bytes / first.bytes;
}
