#include "BusySpans.h"

#include <algorithm>

using namespace tpsp::check;

void BusySpans::add(Span span) {
  if (!(span.end > span.begin))
    return;
  spans.push_back(span);
  isJoined = false;
}

void BusySpans::join() {
  if (isJoined)
    return;
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.begin < b.begin; });
  size_t count = 0;
  for (const Span &each : spans)
    if (count > 0 && each.begin <= spans[count - 1].end)
      spans[count - 1].end = std::max(spans[count - 1].end, each.end);
    else
      spans[count++] = each;
  spans.resize(count);
  isJoined = true;
}

double BusySpans::outside(Span span) {
  join();
  double length = span.end - span.begin;
  auto first =
      std::partition_point(spans.begin(), spans.end(), [&](const Span &each) {
        return each.end <= span.begin;
      });
  for (auto each = first; each != spans.end() && each->begin < span.end; ++each)
    length -= std::min(each->end, span.end) - std::max(each->begin, span.begin);
  return std::max(length, 0.0);
}
