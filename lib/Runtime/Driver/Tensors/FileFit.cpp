#include "FileFit.h"

#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using Shape = std::vector<int64_t>;

std::string tpsp::rt::listOf(const std::vector<std::string> &entries,
                             const char *separator, size_t most) {
  size_t shown = std::min(entries.size(), most);
  std::string text = fmt::format(
      "{}", fmt::join(entries.begin(), entries.begin() + shown, separator));
  if (shown < entries.size())
    text += fmt::format(" and {} more", entries.size() - shown);
  return text;
}

/// Whether every extent of `merged` is the product of adjacent extents of
/// `split`.
static bool isMerged(const Shape &merged, const Shape &split) {
  size_t next = 0;
  for (int64_t extent : merged) {
    int64_t product = 1;
    while (next < split.size() && product < extent)
      if (__builtin_mul_overflow(product, split[next++], &product))
        return false;
    if (product != extent)
      return false;
  }
  return next == split.size() && merged.size() < split.size();
}

std::string tpsp::rt::shapeDifference(const PlanBuffer &wanted,
                                      const Shape &found) {
  if (found == wanted.shape)
    return "";
  std::string text =
      fmt::format("{} is [{}], not [{}]", quotedName(wanted.name),
                  fmt::join(found, ", "), fmt::join(wanted.shape, ", "));
  bool isSplit = isMerged(wanted.shape, found);
  if (isSplit || isMerged(found, wanted.shape))
    text += fmt::format(": declare it [{}] and {} it (tpsp.{})",
                        fmt::join(found, ", "), isSplit ? "merge" : "split",
                        isSplit ? "merge" : "split");
  return text;
}
