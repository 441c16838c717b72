/// Random arguments that do not depend on the sharding: an element is a
/// function of the seed, the tensor and the element's global position.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_RANDOMDATA_H
#define TPSP_RUNTIME_DRIVER_TENSORS_RANDOMDATA_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"

namespace tpsp::rt {

/// A bijection that mixes all bits: SplitMix64's output function (Steele, Lea,
/// Flood, OOPSLA 2014).
uint64_t mixBits(uint64_t x);

/// How random numbers are distributed: as a run that is verified has them, or
/// as training begins (normal, with PlanBuffer::initialDeviation).
enum class RandomUse { Verification, Training };

/// With the tensor's mean and standard deviation, or, for integers, on
/// [0, tensor.below). docs/Inputs.md says what these are by default. Uniform
/// for verification, normal for training.
class RandomTensor {
public:
  RandomTensor(const PlanBuffer &tensor, uint64_t seed,
               RandomUse use = RandomUse::Verification);

  /// The element at a global position, as it is stored (rounded to the
  /// tensor's type).
  float at(int64_t position) const;

  /// The same of a tensor of integers.
  int64_t integerAt(int64_t position) const;

  /// Writes a rank's part to `memory`.
  void fill(const Shard &shard, void *memory) const;

  /// The whole tensor in f64, on all cores.
  std::vector<double> whole() const;

private:
  /// Uniform on [0, 1).
  double unitAt(int64_t position) const;
  /// Of mean 0 and deviation 1.
  double scatterAt(int64_t position) const;

  uint64_t key;
  RandomUse use;
  double mean, deviation;
  int64_t dtype;
  int64_t below;
  int64_t elements;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_RANDOMDATA_H
