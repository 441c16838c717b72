#include "Masks.h"

#include <algorithm>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

/// This number and any below it hide a key.
static constexpr double hidden = -1e30;
/// Masks of more elements are read off vectors only.
static constexpr int64_t mostElements = 1 << 24;

static Band intersected(const Band &a, const Band &b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

/// The keys that a band hides, if they are a band.
static std::optional<Band> complement(const Band &band) {
  bool isOpenBelow = band.first == INT64_MIN,
       isOpenAbove = band.last == INT64_MAX;
  if (isOpenBelow == isOpenAbove)
    return {};
  return isOpenBelow ? Band{band.last + 1, INT64_MAX}
                     : Band{INT64_MIN, band.first - 1};
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
  static const std::set<std::string> relations = {"less", "less_equal",
                                                  "greater", "greater_equal"};
  std::string relation = mask.operation();
  if (relations.count(relation) == 0)
    return {};
  size_t query = mask.sizes().size() - 2, key = query + 1;
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
  return Band{INT64_MIN, limit - 1};
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

/// Whether a mask hides the same keys everywhere, or none. Nothing if elements
/// differ.
static std::optional<bool> isVisible(const Constant &mask) {
  if (variesBefore(mask, mask.sizes().size()))
    return {};
  return visible(mask.at(Sizes(mask.sizes().size(), 0)),
                 mask.type() == ScalarType::Bool);
}

static std::optional<Band> bandOfWhole(const Constant &mask);

/// The band of an operation on masks, read off its operands.
static std::optional<Band> bandOfParts(const Constant &mask) {
  const std::vector<ConstantPtr> &parts = mask.parts();
  const std::string &operation = mask.operation();
  bool areBooleans = std::all_of(parts.begin(), parts.end(), [](auto &part) {
    return part->type() == ScalarType::Bool;
  });
  if (operation == "convert" &&
      isFloating(mask.type()) == isFloating(parts[0]->type()) &&
      (isFloating(mask.type()) || areBooleans))
    return bandOfWhole(*parts[0]);
  if (operation == "and" && areBooleans) {
    std::optional<Band> a = bandOfWhole(*parts[0]), b = bandOfWhole(*parts[1]);
    return a && b ? std::optional<Band>(intersected(*a, *b)) : std::nullopt;
  }
  if (operation == "not" && areBooleans) {
    std::optional<Band> band = bandOfWhole(*parts[0]);
    return band ? complement(*band) : std::nullopt;
  }
  if (operation != "where" || parts[0]->type() != ScalarType::Bool)
    return bandOfComparison(mask);
  // where(seen, 0, hidden), or where(unseen, hidden, 0).
  std::optional<bool> yes = isVisible(*parts[1]), no = isVisible(*parts[2]);
  if (!yes || !no || *yes == *no)
    return {};
  std::optional<Band> band = bandOfWhole(*parts[0]);
  return band && !*yes ? complement(*band) : band;
}

static std::optional<Band> bandOfWhole(const Constant &mask) {
  if (mask.type() != ScalarType::Bool && !isFloating(mask.type()))
    return {};
  if (!variesBefore(mask, mask.sizes().size()))
    return isVisible(mask) == true ? std::optional<Band>(Band{}) : std::nullopt;
  if (variesBefore(mask, mask.sizes().size() - 2))
    return {};
  if (mask.isDeferred())
    if (auto band = bandOfParts(mask))
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
