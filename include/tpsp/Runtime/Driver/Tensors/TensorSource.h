/// Sources of the values of a run's arguments: random numbers, or a file.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_TENSORSOURCE_H
#define TPSP_RUNTIME_DRIVER_TENSORS_TENSORSOURCE_H

#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"

#include <functional>
#include <memory>

namespace tpsp::rt {

class Rank;

class TensorSource {
public:
  virtual ~TensorSource() = default;

  /// Writes a rank's part of an argument to `memory`. Thread-safe.
  virtual Status fill(const PlanBuffer &tensor, const Shard &shard,
                      void *memory) const = 0;

  /// The unsharded argument in f64. Its values are rounded to the tensor's
  /// type, as they are stored.
  virtual Status whole(const PlanBuffer &tensor,
                       std::vector<double> &out) const = 0;

  /// Whether an argument's values are from a file, and not random.
  virtual bool isGiven(const PlanBuffer &tensor) const {
    (void)tensor;
    return false;
  }
};

/// See RandomData.h.
class RandomSource final : public TensorSource {
public:
  explicit RandomSource(uint64_t seed, RandomUse use = RandomUse::Verification)
      : seed(seed), use(use) {}

  Status fill(const PlanBuffer &tensor, const Shard &shard,
              void *memory) const override;
  Status whole(const PlanBuffer &tensor,
               std::vector<double> &out) const override;

private:
  uint64_t seed;
  RandomUse use;
};

/// Gives what another source gives. A master for which that source has no file
/// begins as its parameter, in the master's precision.
class MastersFromParameters final : public TensorSource {
public:
  /// The plan must outlive this.
  MastersFromParameters(const Plan &plan, std::unique_ptr<TensorSource> source)
      : plan(plan), source(std::move(source)) {}

  Status fill(const PlanBuffer &tensor, const Shard &shard,
              void *memory) const override;
  Status whole(const PlanBuffer &tensor,
               std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override {
    return source->isGiven(tensor);
  }

private:
  /// The parameter as it would be if it were stored like its master.
  PlanBuffer begunAs(const PlanBuffer &tensor) const;

  const Plan &plan;
  std::unique_ptr<TensorSource> source;
};

/// Writes the values of all arguments of a rank, or of those for which
/// `isWanted` holds. Fails as the source does, or if the rank's memory cannot
/// be written.
Status
fillArguments(Rank &rank, const TensorSource &source, const Plan &plan,
              const std::function<bool(const PlanBuffer &)> &isWanted = {});

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_TENSORSOURCE_H
