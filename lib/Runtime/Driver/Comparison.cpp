#include "tpsp/Runtime/Driver/Comparison.h"

#include "tpsp/Runtime/ElementType.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

using namespace tpsp::rt;

namespace {

/// Accumulates the difference of one rank's part.
struct Difference {
  double squaredError = 0, squaredReference = 0, squaredValue = 0;
  double maxAbsolute = 0;
  int64_t count = 0;
  bool finite = true;

  void add(double value, double reference) {
    ++count;
    // An infinity may be right; what is not a number equals nothing.
    if (!std::isfinite(value) || !std::isfinite(reference)) {
      finite = finite && value == reference;
      return;
    }
    double error = value - reference;
    squaredError += error * error;
    squaredReference += reference * reference;
    squaredValue += value * value;
    maxAbsolute = std::max(maxAbsolute, std::abs(error));
  }
  double relative() const {
    if (!finite)
      return std::numeric_limits<double>::infinity();
    if (squaredReference == 0)
      return std::sqrt(squaredValue);
    return std::sqrt(squaredError / squaredReference);
  }
  /// Keeps the worse of `out` and this.
  void worsen(TensorError &out) const {
    double elements = static_cast<double>(std::max<int64_t>(count, 1));
    if (relative() >= out.relative) {
      out.rmsError = finite ? std::sqrt(squaredError / elements)
                            : std::numeric_limits<double>::infinity();
      out.rmsReference = std::sqrt(squaredReference / elements);
      out.relative = relative();
    }
    out.maxAbsolute = std::max(out.maxAbsolute, maxAbsolute);
  }
};

double element(const void *memory, int64_t dtype, int64_t i) {
  if (isInteger(dtype))
    return static_cast<double>(loadInteger(memory, dtype, i));
  return loadFloat(memory, dtype, i);
}

/// Combines what the ranks hold of a partial tensor. Of replicas along other
/// axes, only the first counts.
Status comparePartial(World &world, const Manifest &manifest,
                      const ManifestTensor &tensor,
                      const std::vector<double> &reference,
                      Difference &difference) {
  double neutral =
      tensor.pendingMax ? -std::numeric_limits<double>::infinity() : 0;
  std::vector<double> total(reference.size(), neutral);
  std::mutex mutex;
  auto isFirst = [&](int64_t rank) {
    return isFirstHolder(tensor, world.mesh().coordinates(rank));
  };
  auto add = [&](int64_t rank, const void *memory) -> Status {
    std::lock_guard<std::mutex> lock(mutex);
    Shard(tensor, manifest.mesh, world.mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            double value = element(memory, tensor.dtype, local + i);
            double &combined = total[global + i];
            // A NaN must not get lost in a maximum.
            if (!tensor.pendingMax)
              combined += value;
            else if (!std::isnan(combined) && !(value <= combined))
              combined = value;
          }
        });
    return {};
  };
  Status status = world.inspect(tensor.offset, tensor.bytes, isFirst, add);
  for (size_t i = 0; i < total.size(); ++i)
    difference.add(total[i], reference[i]);
  return status;
}

} // namespace

Status tpsp::rt::compareTensor(World &world, const Manifest &manifest,
                               const ManifestTensor &tensor,
                               const std::vector<double> &reference,
                               TensorError &out) {
  out = TensorError();
  out.name = tensor.name;
  if (!tensor.pending.empty()) {
    Difference difference;
    Status status =
        comparePartial(world, manifest, tensor, reference, difference);
    difference.worsen(out);
    return status;
  }
  std::vector<Difference> perRank(world.numRanks());
  auto compare = [&](int64_t rank, const void *memory) -> Status {
    Difference difference;
    Shard(tensor, manifest.mesh, world.mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            difference.add(element(memory, tensor.dtype, local + i),
                           reference[global + i]);
        });
    perRank[rank] = difference;
    return {};
  };
  Status status = world.inspect(
      tensor.offset, tensor.bytes, [](int64_t) { return true; }, compare);
  for (const Difference &difference : perRank)
    difference.worsen(out);
  return status;
}

Status tpsp::rt::gatherTensor(World &world, const Manifest &manifest,
                              const ManifestTensor &tensor,
                              std::vector<double> &out) {
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= extent;
  out.assign(world.hasFirstRank() ? elements : 0, 0);
  auto isFirst = [&](int64_t rank) {
    return isFirstHolder(tensor, world.mesh().coordinates(rank));
  };
  // Every rank writes elements of its own.
  auto copy = [&](int64_t rank, const void *memory) -> Status {
    Shard(tensor, manifest.mesh, world.mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            out[global + i] = element(memory, tensor.dtype, local + i);
        });
    return {};
  };
  return world.inspect(tensor.offset, tensor.bytes, isFirst, copy);
}

void tpsp::rt::rescaleZeros(std::vector<TensorError> &errors) {
  double largest = 0;
  for (const TensorError &error : errors)
    largest = std::max(largest, error.rmsReference);
  for (TensorError &error : errors) {
    if (largest == 0 || error.rmsReference >= 1e-9 * largest)
      continue;
    error.zeroReference = true;
    error.relative = error.rmsError / largest;
  }
}
