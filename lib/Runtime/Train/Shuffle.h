/// The order of samples: a permutation that is computed and not stored.
#ifndef TPSP_RUNTIME_TRAIN_SHUFFLE_H
#define TPSP_RUNTIME_TRAIN_SHUFFLE_H

#include <array>
#include <cstdint>

namespace tpsp::train {

/// A pseudo-random permutation of [0, size) that depends only on seed and
/// epoch. A Feistel network permutes the next even power of two. It is applied
/// until the result is below `size`, which takes at most four steps on average.
/// (Black and Rogaway, Ciphers with Arbitrary Finite Domains, CT-RSA 2002.)
class Shuffle {
public:
  Shuffle(int64_t size, uint64_t seed, int64_t epoch);

  /// The image of `position`.
  int64_t at(int64_t position) const;

private:
  uint64_t encrypt(uint64_t value) const;

  uint64_t size;
  int halfBits;
  std::array<uint64_t, 8> keys;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_SHUFFLE_H
