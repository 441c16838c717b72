#include "Shuffle.h"

#include "tpsp/Runtime/Driver/Tensors/RandomData.h"

using namespace tpsp::rt;
using namespace tpsp::train;

Shuffle::Shuffle(int64_t size, uint64_t seed, int64_t epoch)
    : size(size), halfBits(1) {
  while (halfBits < 31 && (uint64_t(1) << (2 * halfBits)) < this->size)
    ++halfBits;
  uint64_t key = mixBits(seed) ^ mixBits(~uint64_t(epoch));
  for (uint64_t &round : keys)
    round = key = mixBits(key);
}

uint64_t Shuffle::encrypt(uint64_t value) const {
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  uint64_t left = value >> halfBits, right = value & mask;
  for (uint64_t key : keys) {
    uint64_t next = left ^ (mixBits(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << halfBits | right;
}

int64_t Shuffle::at(int64_t position) const {
  uint64_t value = position;
  do
    value = encrypt(value);
  while (value >= size);
  return static_cast<int64_t>(value);
}
