#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include "Expectation.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Tensors/PartialTensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Sums of squares over some elements of one rank's part; all values are
/// scaled.
struct Squares {
  /// Squares of the run's errors, of rounding errors (over all evaluations),
  /// and of the reference.
  double error = 0, rounding = 0, reference = 0;
  int64_t count = 0, roundings = 0;
  /// Products of the reference with the run's errors, and with each
  /// evaluation's errors.
  double along = 0;
  std::vector<double> roundingAlong;

  void add(double v, double r) {
    error += (v - r) * (v - r);
    along += (v - r) * r;
    reference += r * r;
    ++count;
  }
  void addRounding(size_t evaluation, double off, double r) {
    if (!std::isfinite(off))
      return;
    if (roundingAlong.size() <= evaluation)
      roundingAlong.resize(evaluation + 1);
    rounding += off * off;
    roundingAlong[evaluation] += off * r;
    ++roundings;
  }
  /// The root mean square of the evaluations' excess.
  double excessOfRounding() const {
    double squared = 0;
    for (double product : roundingAlong)
      squared += std::pow(product / reference, 2);
    return std::sqrt(squared / static_cast<double>(
                                   std::max<size_t>(roundingAlong.size(), 1)));
  }
};

/// The root mean square of `n` normally distributed numbers exceeds its
/// expectation by this factor once in a thousand times. (A chi distribution is
/// about normal, of variance 1 / 2n.)
double mostOf(int64_t n) {
  return 1 + 3.1 / std::sqrt(2.0 * static_cast<double>(n));
}

double meanOf(double squared, int64_t count) {
  return std::sqrt(squared / static_cast<double>(std::max<int64_t>(count, 1)));
}

/// Whether a reference is nothing but the error of f64 itself. For a type with
/// fewer digits, that error is far below the type's own rounding.
bool isZero(double rmsReference, double rmsRounding,
            const ExpectedValues &values) {
  bool isOfF64 = values.exaggeration != 1;
  return rmsReference == 0 ||
         rmsReference < (isOfF64 ? 64 : 1e-4) * rmsRounding;
}

/// Noise as large as the values does not propagate like a small error. If it is
/// `factor` times as large, its square is `factor` times as large again.
void allowSquaresOfNoise(TensorError &error) {
  if (!error.isLost())
    return;
  error.allowed *= error.factor;
  error.allowedExcess *= error.factor;
}

/// `rmsOfRounding` is over all elements of the tensor or of the group, and
/// `factor` is how many times it is allowed.
TensorError errorOf(const Squares &squares, double tolerance,
                    double rmsOfRounding, double factor,
                    const Expectation &expected) {
  TensorError error;
  error.elements = squares.count;
  error.tolerance = tolerance;
  error.factor = factor;
  error.excessFactor = roundingFactorOf(squares.roundingAlong.size());
  double rounding = meanOf(squares.rounding, squares.roundings);
  bool isOfFew = squares.count > 0 && squares.count < elementsToJudgeAlone;
  if (isOfFew)
    rounding = std::max(rounding, mostOf(squares.count) * rmsOfRounding);
  double reference = meanOf(squares.reference, squares.count);
  double off = meanOf(squares.error, squares.count);
  error.rmsError = off / expected.scale;
  error.rmsRounding = rounding / expected.scale;
  error.rmsReference = reference / expected.scale;
  error.zeroReference =
      squares.count > 0 && isZero(reference, rounding, expected.values);
  bool isRelative = reference > 0 && !error.zeroReference;
  error.relative = isRelative ? off / reference : error.rmsError;
  error.rounding = isRelative ? rounding / reference : error.rmsRounding;
  if (isRelative) {
    error.excess = squares.along / squares.reference;
    error.excessOfRounding = squares.excessOfRounding();
    if (isOfFew)
      error.excessOfRounding = std::max(error.excessOfRounding, error.rounding);
  }
  error.allow();
  allowSquaresOfNoise(error);
  return error;
}

/// The difference of one rank's part from the expected values.
class Difference {
public:
  explicit Difference(const Expectation &expected)
      : expected(expected), small(expected.small.size()) {}

  void add(double value, int64_t i) {
    double exact = expected.exact(i);
    if (!std::isfinite(value) || !std::isfinite(exact))
      return addNotFinite(value, i);
    double scale = expected.scale;
    addTo(all, value * scale, i);
    if (int64_t group = expected.groupOf(exact); group >= 0)
      addTo(small[group], value * scale, i);
    addToRounded(value * scale, i);
    maxAbsolute = std::max(maxAbsolute, std::abs(value - exact));
  }

  TensorError describe(double tolerance) const {
    TensorError error = errorOf(all, tolerance, expected.rmsOfRounding,
                                expected.factor, expected);
    if (error.isLost() && error.relative > tolerance)
      error = orOfRounded(error, tolerance);
    for (size_t group = 0; group < small.size() && error.passed(); ++group)
      if (small[group].count > 0)
        error = orOfSmall(error, group, tolerance);
    error.elements = all.count + notFinite;
    error.maxAbsolute = maxAbsolute;
    error.notFinite = notFinite;
    if (!finite) {
      error.relative = error.rmsError = infinity;
      error.allowed = tolerance;
    }
    return error;
  }

private:
  void addTo(Squares &squares, double value, int64_t i) const {
    double exact = expected.exact(i) * expected.scale;
    squares.add(value, exact);
    size_t evaluation = 0;
    for (const std::vector<double> &draw : expected.values.rounded)
      squares.addRounding(evaluation++, expected.roundingOf(draw, i), exact);
  }

  /// Compares with the program rounded to nearest. The rounding is then the
  /// distance of random draws from it.
  void addToRounded(double value, int64_t i) {
    const auto &draws = expected.values.rounded;
    if (draws.size() < 2 || !std::isfinite(draws.front()[i]))
      return;
    double nearest = draws.front()[i] * expected.scale;
    ofRounded.add(value, nearest);
    for (size_t d = 1; d < draws.size(); ++d)
      ofRounded.addRounding(d - 1, draws[d][i] * expected.scale - nearest,
                            nearest);
  }

  /// If the f64 values decide nothing, the program rounded to the run's types
  /// may decide. An example is a step that is skipped because f16 overflows.
  TensorError orOfRounded(const TensorError &lost, double tolerance) const {
    if (ofRounded.count < all.count || expected.values.exaggeration != 1)
      return lost;
    TensorError error = errorOf(ofRounded, tolerance, expected.rmsOfSpread,
                                expected.factor, expected);
    error.isOfRounded = true;
    bool isNoise = error.zeroReference && error.rounding > 0;
    return error.isLost() || isNoise ? lost : error;
  }

  /// The error of small elements, if they fail and rounding leaves them correct
  /// digits.
  TensorError orOfSmall(const TensorError &others, size_t group,
                        double tolerance) const {
    const SmallElements &of = expected.small[group];
    TensorError error =
        errorOf(small[group], tolerance, of.rmsOfRounding, of.factor, expected);
    error.isOfSmall = true;
    return error.isLost() || error.zeroReference || error.passed() ? others
                                                                   : error;
  }

  /// An infinity that f64 has too is right if other elements are finite (the
  /// statistic of a row without keys). Otherwise an infinity or a NaN is right
  /// if the reference or its rounding has the same. If only the rounding
  /// overflows, any value that is not finite is right.
  void addNotFinite(double value, int64_t i) {
    auto equals = [&](double other) {
      return value == other || (std::isnan(value) && std::isnan(other));
    };
    const auto &draws = expected.values.rounded;
    double exact = expected.exact(i);
    if (std::isinf(exact) && value == exact && expected.hasFinite)
      return;
    bool isRight =
        equals(exact) ||
        (!std::isfinite(value) &&
         std::any_of(draws.begin(), draws.end(), [&](const auto &draw) {
           return equals(draw[i]) ||
                  (std::isfinite(exact) && !std::isfinite(draw[i]));
         }));
    if (isRight)
      ++notFinite;
    else
      finite = false;
  }

  const Expectation &expected;
  Squares all, ofRounded;
  /// The sums of each group.
  std::vector<Squares> small;
  double maxAbsolute = 0;
  int64_t notFinite = 0;
  bool finite = true;
};

/// The ratio of an error to its allowance; infinite if it is NaN.
double timesAllowed(double error, double allowed) {
  double times = error == 0 ? 0 : std::abs(error) / allowed;
  return std::isnan(times) ? infinity : times;
}

double timesAllowed(const TensorError &error) {
  return std::max(timesAllowed(error.relative, error.allowed),
                  timesAllowed(error.excess, error.allowedExcess));
}

/// Keeps the worse of two errors: the one with the larger ratio to its
/// allowance.
void worsen(TensorError &out, const TensorError &other) {
  double absolute = std::max(out.maxAbsolute, other.maxAbsolute);
  int64_t notFinite = std::max(out.notFinite, other.notFinite);
  if (timesAllowed(other) >= timesAllowed(out))
    out = other;
  out.maxAbsolute = absolute;
  out.notFinite = notFinite;
}

/// Compares the combined summands of all ranks.
Status comparePartial(World &world, const Plan &plan, const PlanBuffer &tensor,
                      double factor, Difference &difference) {
  std::vector<double> total;
  Status status = gatherTensor(world, plan, tensor, total);
  for (size_t i = 0; i < total.size(); ++i)
    difference.add(factor * total[i], static_cast<int64_t>(i));
  return status;
}

/// Compares every rank's part.
Status compareParts(World &world, const Plan &plan, const PlanBuffer &tensor,
                    const PlantedMistake &planted,
                    std::vector<Difference> &parts) {
  auto compare = [&](int64_t rank, const void *memory) -> Status {
    Difference &part = parts[rank];
    bool isPlanted = planted.rank < 0 || planted.rank == rank;
    double factor = isPlanted ? planted.factor : 1;
    Shard(tensor, plan.mesh, world.mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            part.add(factor * loadNumber(memory, tensor.dtype, local + i),
                     global + i);
        });
    return {};
  };
  auto holds = [&](int64_t rank) {
    return tensor.isHeldAt(world.mesh().coordinates(rank));
  };
  return world.inspect(*tensor.offset, tensor.bytes, holds, compare);
}

} // namespace

void ExpectedValues::add(std::vector<double> values,
                         const reference::EvaluationOptions &options) {
  rounded.push_back(std::move(values));
  if (options.narrowsF64)
    exaggeration = std::ldexp(1.0, reference::digitsOfNarrowing);
}

void TensorError::allow() {
  double explained = factor * rounding;
  allowed = zeroReference ? explained : std::max(tolerance, explained);
  allowedExcess = std::max(tolerance, excessFactor * excessOfRounding);
}

double tpsp::rt::roundingFactorOf(int64_t samples) {
  // Two-sided quantiles of Student's t.
  constexpr double few[] = {8, 6366, 100, 28.1, 15.6, 11.2, 9.1};
  return samples < int64_t(std::size(few)) ? few[std::max<int64_t>(samples, 0)]
                                           : roundingFactor;
}

Status tpsp::rt::compareTensor(World &world, const Plan &plan,
                               const PlanBuffer &tensor,
                               const ExpectedValues &expected, double tolerance,
                               TensorError &out,
                               const PlantedMistake &planted) {
  Expectation expectation(expected, tolerance);
  bool isPartial = !tensor.pending.empty();
  std::vector<Difference> parts(isPartial ? 1 : world.numRanks(),
                                Difference(expectation));
  Status status = isPartial ? comparePartial(world, plan, tensor,
                                             planted.factor, parts.front())
                            : compareParts(world, plan, tensor, planted, parts);
  out = parts.front().describe(tolerance);
  for (const Difference &part : parts)
    worsen(out, part.describe(tolerance));
  out.name = tensor.name;
  return status;
}

void tpsp::rt::poolRounding(const std::vector<TensorError *> &errors) {
  double squared = 0;
  int64_t elements = 0;
  for (const TensorError *error : errors) {
    if (error->isLost() || error->isOfSmall)
      continue;
    squared +=
        error->rmsRounding * error->rmsRounding * double(error->elements);
    elements += error->elements;
  }
  if (elements == 0)
    return;
  double pooled = std::sqrt(squared / double(elements));
  for (TensorError *error : errors) {
    if (error->zeroReference || error->isOfRounded || error->isOfSmall)
      continue;
    // In a tensor of few elements, rounding may flip all of them in the same
    // direction.
    double ofAll = pooled / error->rmsReference;
    if (ofAll > error->rounding)
      error->excessOfRounding = std::max(error->excessOfRounding, ofAll);
    error->rounding = std::max(error->rounding, ofAll);
    double own = error->allowed, ownExcess = error->allowedExcess;
    error->allow();
    error->allowed = std::max(error->allowed, own);
    error->allowedExcess = std::max(error->allowedExcess, ownExcess);
  }
}

double tpsp::rt::toleranceOf(int64_t dtype) {
  // The typical number of roundings that a value has gone through.
  constexpr double roundings = 5.12;
  if (const HalfFloat *half = halfFloat(dtype))
    return roundings * half->epsilon;
  return dtype == TPSP_RT_F64 ? 1e-9 : 1e-5;
}
