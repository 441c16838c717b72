/// Where the values of a run's arguments come from: random numbers, or a file.
#ifndef TPSP_RUNTIME_DRIVER_TENSORSOURCE_H
#define TPSP_RUNTIME_DRIVER_TENSORSOURCE_H

#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Driver/Shard.h"

namespace tpsp::rt {

class TensorSource {
public:
  virtual ~TensorSource() = default;

  /// Writes a rank's part of an argument to `memory`. Thread-safe.
  virtual Status fill(const ManifestTensor &tensor, const Shard &shard,
                      void *memory) const = 0;

  /// The whole argument in f64, of the values as they are stored (rounded to
  /// the tensor's type).
  virtual Status whole(const ManifestTensor &tensor,
                       std::vector<double> &out) const = 0;

  /// Whether an argument's values are from a file, and not made up.
  virtual bool isGiven(const ManifestTensor &tensor) const {
    (void)tensor;
    return false;
  }
};

/// See RandomData.h.
class RandomSource final : public TensorSource {
public:
  explicit RandomSource(uint64_t seed) : seed(seed) {}

  Status fill(const ManifestTensor &tensor, const Shard &shard,
              void *memory) const override;
  Status whole(const ManifestTensor &tensor,
               std::vector<double> &out) const override;

private:
  uint64_t seed;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORSOURCE_H
