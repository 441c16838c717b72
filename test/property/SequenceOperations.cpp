// scan, cumsum and delay.
#include "SequenceOperations.h"

#include <cmath>

using namespace tpsp::property;

using Builder = ProgramBuilder;

static std::optional<ValueId> pickSequence(Builder &b) {
  return b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
}

static std::string attributesOf(Builder &b, const Dim &along) {
  return "{index = " + quoted(along.name) +
         (b.random.chance(0.4) ? ", reverse}" : "}");
}

/// Adds a scan whose decay has some of the indices.
bool tpsp::property::applyScan(Builder &b) {
  auto x = pickSequence(b);
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim along = b.random.of(dims);
  std::vector<Dim> own = {along};
  for (const Dim &dim : dims)
    if (dim.name != along.name && b.random.chance(0.5))
      own.push_back(dim);
  b.random.shuffle(own);
  double magnitude =
      b.range(*x).magnitude * std::pow(1.5, double(along.extent));
  if (magnitude > largest)
    return false;
  ValueId decay = b.argument(own, /*isParameter=*/true);
  b.add("scan", {*x, decay}, dims, {magnitude, false}, attributesOf(b, along));
  return true;
}

bool tpsp::property::applyCumsum(Builder &b) {
  auto x = pickSequence(b);
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim along = b.random.of(dims);
  double magnitude = b.range(*x).magnitude * double(along.extent);
  if (magnitude > largest)
    return false;
  b.add("cumsum", {*x}, dims, {magnitude, b.range(*x).positive},
        attributesOf(b, along));
  return true;
}

/// Adds a delay, perhaps by more positions than there are.
bool tpsp::property::applyDelay(Builder &b) {
  auto x = pickSequence(b);
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  Dim along = b.random.of(dims);
  int64_t by = int64_t(b.random.below(along.extent + 2));
  if (b.random.chance(0.4))
    by = -by;
  b.add("delay", {*x}, dims, {b.range(*x).magnitude, false},
        "{index = " + quoted(along.name) + ", by = " + std::to_string(by) +
            "}");
  return true;
}

template <bool isLinear> bool tpsp::property::applyEndMask(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  const Dim dim = b.random.of(b.tensor(*x).dims);
  b.add("end_mask", {*x}, b.tensor(*x).dims, {b.range(*x).magnitude, false},
        "{index = " + quoted(dim.name) +
            ", end = " + std::to_string(1 + b.random.below(dim.extent)) +
            ", fill = " + (isLinear ? "0.0" : "0.25") + " : f64}");
  return true;
}

template bool tpsp::property::applyEndMask<true>(Builder &);
template bool tpsp::property::applyEndMask<false>(Builder &);
