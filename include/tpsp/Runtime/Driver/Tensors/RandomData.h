/// Random arguments that do not depend on the sharding: an element is a
/// function of the seed, the tensor and the element's global position.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_RANDOMDATA_H
#define TPSP_RUNTIME_DRIVER_TENSORS_RANDOMDATA_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"

namespace tpsp::rt {

/// A bijection that mixes all bits: SplitMix64's output function (Steele, Lea,
/// Flood, OOPSLA 2014).
uint64_t mixBits(uint64_t x);

/// The distribution of random numbers: that of a verified run, or that of
/// training's initial values (normal, with PlanBuffer::initialDeviation).
enum class RandomUse { Verification, Training };

/// A random argument with the tensor's mean and standard deviation; integers
/// are uniform on [0, tensor.below). docs/Inputs.md has the defaults. Other
/// elements are uniform for verification and normal for training.
class RandomTensor {
public:
  RandomTensor(const PlanBuffer &tensor, uint64_t seed,
               RandomUse use = RandomUse::Verification);

  /// The element at a global position, as it is stored (rounded to the
  /// tensor's type).
  float at(int64_t position) const;

  /// The same for a tensor of integers.
  int64_t integerAt(int64_t position) const;

  /// Writes a rank's part to `memory`.
  void fill(const Shard &shard, void *memory) const;

  /// The whole tensor in f64, on all cores.
  std::vector<double> whole() const;

private:
  /// Uniform on [0, 1).
  double unitAt(int64_t position) const;
  /// A random number of mean 0 and standard deviation 1.
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
