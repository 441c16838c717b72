#include "tpsp/Runtime/Driver/Comparison.h"

#include "PartialTensor.h"
#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// What one rank's part differs by.
struct Difference {
  double squaredError = 0, squaredValue = 0;
  /// Of the reference, and of what rounding makes of it.
  double squaredExact = 0, squaredRounding = 0;
  double maxAbsolute = 0;
  int64_t count = 0, notFinite = 0;
  bool finite = true;

  /// `rounded`: the reference's own rounding of `exact`.
  void add(double value, double exact, double rounded) {
    ++count;
    if (!std::isfinite(value) || !std::isfinite(exact))
      return addNotFinite(value, exact, rounded);
    double error = value - exact;
    squaredError += error * error;
    squaredValue += value * value;
    squaredExact += exact * exact;
    if (std::isfinite(rounded))
      squaredRounding += (rounded - exact) * (rounded - exact);
    maxAbsolute = std::max(maxAbsolute, std::abs(error));
  }

  /// `rmsOfRounding`: over all elements of the tensor.
  TensorError describe(double tolerance, double rmsOfRounding) const {
    auto elements = static_cast<double>(std::max<int64_t>(count, 1));
    TensorError error;
    error.relative =
        ratio(squaredExact > 0 ? squaredError : squaredValue, squaredExact);
    double squared = squaredRounding;
    if (count < elementsToJudgeAlone)
      squared = std::max(squared,
                         std::pow(mostOf(count) * rmsOfRounding, 2) * elements);
    error.rounding = ratio(squared, squaredExact);
    error.allowed = std::max(tolerance, roundingFactor * error.rounding);
    error.maxAbsolute = maxAbsolute;
    error.notFinite = notFinite;
    error.elements = count;
    error.rmsError = std::sqrt(squaredError / elements);
    error.rmsRounding = std::sqrt(squared / elements);
    error.rmsReference = std::sqrt(squaredExact / elements);
    if (!finite)
      error.relative = error.rmsError = std::numeric_limits<double>::infinity();
    return error;
  }

private:
  /// Of `n` normally distributed numbers the root mean square exceeds its
  /// expectation by this factor once in a thousand times. (A chi distribution
  /// is about normal, of variance 1 / 2n.)
  static double mostOf(int64_t n) {
    return 1 + 3.1 / std::sqrt(2.0 * static_cast<double>(n));
  }
  /// An infinity may be right, and so may a NaN, if the reference or its
  /// rounding has it. Where only the rounding overflows, any will do.
  void addNotFinite(double value, double exact, double rounded) {
    auto equals = [&](double other) {
      return value == other || (std::isnan(value) && std::isnan(other));
    };
    bool overflows = !std::isfinite(value) && std::isfinite(exact) &&
                     !std::isfinite(rounded);
    if (equals(exact) || (equals(rounded) && !std::isfinite(value)) ||
        overflows)
      ++notFinite;
    else
      finite = false;
  }
  static double ratio(double squared, double squaredReference) {
    return std::sqrt(squaredReference > 0 ? squared / squaredReference
                                          : squared);
  }
};

/// Keeps the worse of two: what exceeds its allowance by the larger factor.
void worsen(TensorError &out, const TensorError &other) {
  double absolute = std::max(out.maxAbsolute, other.maxAbsolute);
  int64_t notFinite = std::max(out.notFinite, other.notFinite);
  // A product, for an allowance of zero.
  if (other.relative * out.allowed >= out.relative * other.allowed)
    out = other;
  out.maxAbsolute = absolute;
  out.notFinite = notFinite;
}

/// The values of an element that results are held against.
struct ExpectedElement {
  const ExpectedValues &values;
  double exact(int64_t i) const { return values.exact[i]; }
  double rounded(int64_t i) const {
    return values.rounded.empty() ? exact(i) : values.rounded[i];
  }
};

/// The root mean square of what rounding makes of a tensor.
double rmsOfRounding(const ExpectedValues &values) {
  double squared = 0;
  int64_t count = 0;
  for (size_t i = 0; i < values.rounded.size(); ++i) {
    double error = values.rounded[i] - values.exact[i];
    if (!std::isfinite(error))
      continue;
    squared += error * error;
    ++count;
  }
  return std::sqrt(squared / static_cast<double>(std::max<int64_t>(count, 1)));
}

/// What the ranks' summands come to.
Status comparePartial(World &world, const Plan &plan, const PlanBuffer &tensor,
                      const ExpectedValues &expected, Difference &difference) {
  std::vector<double> total;
  Status status = gatherTensor(world, plan, tensor, total);
  ExpectedElement element{expected};
  for (size_t i = 0; i < total.size(); ++i)
    difference.add(total[i], element.exact(i), element.rounded(i));
  return status;
}

/// Every rank's part.
Status compareParts(World &world, const Plan &plan, const PlanBuffer &tensor,
                    const ExpectedValues &expected,
                    std::vector<Difference> &parts) {
  parts.resize(world.numRanks());
  ExpectedElement values{expected};
  auto compare = [&](int64_t rank, const void *memory) -> Status {
    Difference &part = parts[rank];
    Shard(tensor, plan.mesh, world.mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            part.add(loadNumber(memory, tensor.dtype, local + i),
                     values.exact(global + i), values.rounded(global + i));
        });
    return {};
  };
  return world.inspect(
      *tensor.offset, tensor.bytes, [](int64_t) { return true; }, compare);
}

} // namespace

Status tpsp::rt::compareTensor(World &world, const Plan &plan,
                               const PlanBuffer &tensor,
                               const ExpectedValues &expected, double tolerance,
                               TensorError &out) {
  std::vector<Difference> parts(1);
  Status status =
      tensor.pending.empty()
          ? compareParts(world, plan, tensor, expected, parts)
          : comparePartial(world, plan, tensor, expected, parts.front());
  double rounding = rmsOfRounding(expected);
  out = parts.front().describe(tolerance, rounding);
  for (const Difference &part : parts)
    worsen(out, part.describe(tolerance, rounding));
  out.name = tensor.name;
  return status;
}

void tpsp::rt::rescaleZeros(std::vector<TensorError> &errors,
                            double tolerance) {
  double largest = 0;
  for (const TensorError &error : errors)
    largest = std::max(largest, error.rmsReference);
  for (TensorError &error : errors) {
    bool isZero = error.rmsReference < 1e-9 * largest;
    if (!isZero || error.notFinite > 0)
      continue;
    error.zeroReference = true;
    error.relative = error.rmsError / largest;
    error.rounding = error.rmsRounding / largest;
    error.allowed = std::max(tolerance, roundingFactor * error.rounding);
  }
}

void tpsp::rt::poolRounding(const std::vector<TensorError *> &errors,
                            double tolerance) {
  double squared = 0;
  int64_t elements = 0;
  for (const TensorError *error : errors) {
    squared +=
        error->rmsRounding * error->rmsRounding * double(error->elements);
    elements += error->elements;
  }
  if (elements == 0)
    return;
  double pooled = std::sqrt(squared / double(elements));
  for (TensorError *error : errors) {
    if (error->rmsReference == 0)
      continue;
    error->rounding = std::max(error->rounding, pooled / error->rmsReference);
    error->allowed = std::max(tolerance, roundingFactor * error->rounding);
  }
}
