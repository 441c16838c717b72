/// The order of samples: a permutation that is computed and not stored.
#ifndef TPSP_RUNTIME_TRAIN_SHUFFLE_H
#define TPSP_RUNTIME_TRAIN_SHUFFLE_H

#include <array>
#include <cstdint>

namespace tpsp::train {

/// A pseudo-random permutation of [0, size), which depends on seed and epoch
/// only. A Feistel network over the next even power of two, walked until it
/// ends below `size`, in four steps at most on average. (Black and Rogaway,
/// Ciphers with Arbitrary Finite Domains, CT-RSA 2002.)
class Shuffle {
public:
  Shuffle(int64_t size, uint64_t seed, int64_t epoch);

  /// Where `position` goes.
  int64_t at(int64_t position) const;

private:
  uint64_t encrypt(uint64_t value) const;

  uint64_t size;
  int halfBits;
  std::array<uint64_t, 8> keys;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_SHUFFLE_H
