#include "tpsp/Runtime/Driver/Tensors/RandomData.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>
#include <thread>

using namespace tpsp;
using namespace tpsp::rt;

uint64_t tpsp::rt::mixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// FNV-1a, so that a tensor's data depends on its name and not on its position.
static uint64_t hashOf(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

RandomTensor::RandomTensor(const PlanBuffer &tensor, uint64_t seed,
                           RandomUse use)
    : key(mixBits(hashOf(tensor.name) ^ mixBits(seed))), use(use),
      mean(tensor.mean), deviation(tensor.deviation), dtype(tensor.dtype),
      below(tensor.below), elements(tensor.elements()) {
  if (use == RandomUse::Training)
    deviation = tensor.initialDeviation.value_or(tensor.deviation);
}

double RandomTensor::unitAt(int64_t position) const {
  uint64_t bits = mixBits(key + static_cast<uint64_t>(position));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

int64_t RandomTensor::integerAt(int64_t position) const {
  return static_cast<int64_t>(unitAt(position) * static_cast<double>(below));
}

double RandomTensor::scatterAt(int64_t position) const {
  if (use == RandomUse::Verification)
    return std::sqrt(3.0) * (2 * unitAt(position) - 1);
  // Box and Muller, 1958; the logarithm's argument is above 0.
  double radius = std::sqrt(-2 * std::log(1 - unitAt(2 * position)));
  return radius * std::cos(2 * std::acos(-1.0) * unitAt(2 * position + 1));
}

float RandomTensor::at(int64_t position) const {
  auto value = static_cast<float>(
      deviation == 0 ? mean : mean + deviation * scatterAt(position));
  const HalfFloat *half = halfFloat(dtype);
  return half ? half->widen(half->round(value)) : value;
}

/// Calls body(begin, end) on parts of [0, count), on the machine's cores if
/// they are worth their threads.
template <typename Body> static void inParts(int64_t count, Body body) {
  constexpr int64_t least = 1 << 16; // elements, some 0.3 ms
  int64_t threads = std::clamp<int64_t>(
      count / least, 1, std::max(1u, std::thread::hardware_concurrency()));
  if (threads == 1)
    return body(0, count);
  int64_t part = (count + threads - 1) / threads;
  std::vector<std::thread> pool;
  for (int64_t begin = 0; begin < count; begin += part)
    pool.emplace_back(body, begin, std::min(begin + part, count));
  for (std::thread &thread : pool)
    thread.join();
}

void RandomTensor::fill(const Shard &shard, void *memory) const {
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    inParts(n, [&](int64_t begin, int64_t end) {
      if (isInteger(dtype))
        for (int64_t i = begin; i < end; ++i)
          storeInteger(integerAt(global + i), dtype, memory, local + i);
      else
        for (int64_t i = begin; i < end; ++i)
          storeFloat(at(global + i), dtype, memory, local + i);
    });
  });
}

std::vector<double> RandomTensor::whole() const {
  std::vector<double> data(elements);
  inParts(elements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      data[i] = isInteger(dtype) ? static_cast<double>(integerAt(i)) : at(i);
  });
  return data;
}
