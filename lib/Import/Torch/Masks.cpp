#include "Masks.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

/// A number below hides a key.
static constexpr double hidden = -1e30;
/// Masks of more elements are read off vectors only.
static constexpr int64_t mostElements = 1 << 24;

static Band intersected(const Band &a, const Band &b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

static bool variesBefore(const Constant &mask, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (mask.varies(i))
      return true;
  return false;
}

/// The constant that the elements exceed their positions by, along the only
/// dimension along which they vary.
static std::optional<int64_t> offsetAlong(const Constant &x, size_t dim) {
  for (size_t i = 0; i < x.sizes().size(); ++i)
    if (i != dim && x.varies(i))
      return {};
  Sizes position(x.sizes().size(), 0);
  auto first = static_cast<int64_t>(x.at(position));
  for (int64_t i = 0; i < x.sizes()[dim]; ++i) {
    position[dim] = i;
    if (x.at(position) != static_cast<double>(first + i))
      return {};
  }
  return first;
}

/// s + a related to t + b, or the other way around.
static std::optional<Band> bandOfComparison(const Constant &mask) {
  size_t query = mask.sizes().size() - 2, key = query + 1;
  std::string relation = mask.operation();
  const Constant *left = mask.parts()[0].get(), *right = mask.parts()[1].get();
  std::optional<int64_t> a = offsetAlong(*left, query),
                         b = offsetAlong(*right, key);
  if (!a || !b) {
    a = offsetAlong(*right, query);
    b = offsetAlong(*left, key);
    // "t <= s" is "s >= t".
    static const std::pair<const char *, const char *> mirrored[] = {
        {"less", "greater"},
        {"less_equal", "greater_equal"},
        {"greater", "less"},
        {"greater_equal", "less_equal"}};
    for (auto [from, to] : mirrored)
      if (relation == from) {
        relation = to;
        break;
      }
  }
  if (!a || !b)
    return {};
  // s - t >= limit, or <= limit.
  int64_t limit = *b - *a;
  if (relation == "greater_equal")
    return Band{limit, INT64_MAX};
  if (relation == "greater")
    return Band{limit + 1, INT64_MAX};
  if (relation == "less_equal")
    return Band{INT64_MIN, limit};
  if (relation == "less")
    return Band{INT64_MIN, limit - 1};
  return {};
}

static std::optional<bool> visible(double element, bool isBoolean) {
  if (isBoolean)
    return element != 0;
  if (element == 0)
    return true;
  if (element <= hidden)
    return false;
  return {};
}

static std::optional<Band> bandOfElements(const Constant &mask) {
  size_t query = mask.sizes().size() - 2;
  int64_t queries = mask.sizes()[query], keys = mask.sizes()[query + 1];
  if (queries * keys > mostElements)
    return {};
  bool isBoolean = mask.type() == ScalarType::Bool;
  std::vector<bool> seen(queries * keys);
  Band band{INT64_MAX, INT64_MIN};
  Sizes position(mask.sizes().size(), 0);
  for (int64_t s = 0; s < queries; ++s)
    for (int64_t t = 0; t < keys; ++t) {
      position[query] = s;
      position[query + 1] = t;
      std::optional<bool> isSeen = visible(mask.at(position), isBoolean);
      if (!isSeen)
        return {};
      seen[s * keys + t] = *isSeen;
      if (*isSeen)
        band = {std::min(band.first, s - t), std::max(band.last, s - t)};
    }
  for (int64_t s = 0; s < queries; ++s)
    for (int64_t t = 0; t < keys; ++t)
      if (seen[s * keys + t] != (s - t >= band.first && s - t <= band.last))
        return {};
  if (band.first > band.last)
    return {};
  if (band.last >= queries - 1)
    band.last = INT64_MAX;
  if (band.first <= 1 - keys)
    band.first = INT64_MIN;
  return band;
}

static std::optional<Band> bandOfWhole(const Constant &mask) {
  size_t rank = mask.sizes().size();
  if (!mask.varies(rank - 1) && !mask.varies(rank - 2) &&
      !variesBefore(mask, rank - 2)) {
    std::optional<bool> isSeen =
        visible(mask.at(Sizes(rank, 0)), mask.type() == ScalarType::Bool);
    return isSeen && *isSeen ? std::optional<Band>(Band{}) : std::nullopt;
  }
  if (mask.isDeferred() && mask.operation() == "and") {
    std::optional<Band> a = bandOfWhole(*mask.parts()[0]),
                        b = bandOfWhole(*mask.parts()[1]);
    return a && b ? std::optional<Band>(intersected(*a, *b)) : std::nullopt;
  }
  if (mask.isDeferred() && mask.operation() == "convert")
    return bandOfWhole(*mask.parts()[0]);
  if (variesBefore(mask, rank - 2))
    return {};
  if (mask.isDeferred() && mask.operation() == "where") {
    // where(seen, 0, hidden).
    std::optional<Band> band = bandOfWhole(*mask.parts()[0]);
    Sizes origin(rank, 0);
    bool isMask = visible(mask.parts()[1]->at(origin), false) == true &&
                  visible(mask.parts()[2]->at(origin), false) == false;
    return isMask ? band : std::nullopt;
  }
  if (mask.isDeferred())
    if (auto band = bandOfComparison(mask))
      return band;
  return bandOfElements(mask);
}

std::optional<Band> torch::bandOf(const Constant &mask, int64_t queries,
                                  int64_t keys) {
  Sizes sizes = mask.sizes();
  while (sizes.size() < 2)
    sizes.insert(sizes.begin(), 1);
  sizes[sizes.size() - 2] = queries;
  sizes[sizes.size() - 1] = keys;
  return bandOfWhole(*mask.expanded(sizes));
}
