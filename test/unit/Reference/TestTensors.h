//===- TestTensors.h - random data and naive loops --------------*- C++ -*-===//
//
// Checks for the reference. Nothing here calls the code under test, so that a
// mistake cannot appear on both sides.
//
//===----------------------------------------------------------------------===//

#ifndef TPSP_TEST_UNIT_REFERENCE_TESTTENSORS_H
#define TPSP_TEST_UNIT_REFERENCE_TESTTENSORS_H

#include "tpsp/Runtime/Reference.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>

namespace tpsp::reference {

using Extents = std::map<std::string, int64_t>;
using Position = std::map<std::string, int64_t>;

/// Returns a tensor of zeros whose extents are looked up by name.
inline Tensor zeros(const IndexNames &names, const Extents &extents) {
  Tensor x;
  x.indices = names;
  int64_t count = 1;
  for (const std::string &name : names) {
    x.shape.push_back(extents.at(name));
    count *= x.shape.back();
  }
  x.data.assign(count, 0.0);
  return x;
}

inline Tensor scalar(double value) { return {{}, {}, {value}}; }

/// Returns the same data with other index names, given in the order of
/// dimensions.
inline Tensor rename(Tensor x, const IndexNames &names) {
  x.indices = names;
  return x;
}

/// Returns random values between -2 and 2.
inline Tensor randomTensor(const IndexNames &names, const Extents &extents,
                           unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  Tensor x = zeros(names, extents);
  for (double &value : x.data)
    value = uniform(engine);
  return x;
}

/// Returns the element of x at a position, which may have indices that x lacks.
template <class T> auto &element(T &x, const Position &position) {
  int64_t offset = 0;
  for (size_t i = 0; i < x.indices.size(); ++i)
    offset = offset * x.shape[i] + position.at(x.indices[i]);
  return x.data[offset];
}

/// Calls `body(position)` for every position over the extents.
template <class F> void forEachPosition(const Extents &extents, F body) {
  Position position;
  for (const auto &[name, extent] : extents) {
    if (extent == 0)
      return;
    position[name] = 0;
  }
  while (true) {
    body(const_cast<const Position &>(position));
    auto it = position.begin();
    for (; it != position.end(); ++it) {
      if (++it->second < extents.at(it->first))
        break;
      it->second = 0;
    }
    if (it == position.end())
      return;
  }
}

/// Returns the sum of products over all indices that occur, by n nested loops.
inline Tensor naiveEinsum(const Operands &operands, const IndexNames &names,
                          const Extents &extents) {
  Extents used;
  for (const Tensor *x : operands)
    for (const std::string &name : x->indices)
      used[name] = extents.at(name);
  for (const std::string &name : names)
    used[name] = extents.at(name);
  Tensor result = zeros(names, extents);
  forEachPosition(used, [&](const Position &position) {
    double product = 1;
    for (const Tensor *x : operands)
      product *= element(*x, position);
    element(result, position) += product;
  });
  return result;
}

/// Fails unless the tensors have the same layout and nearly the same data.
inline void expectNear(const Tensor &got, const Tensor &want,
                       double tolerance = 1e-12) {
  ASSERT_TRUE(got.isValid());
  ASSERT_EQ(got.indices, want.indices);
  ASSERT_EQ(got.shape, want.shape);
  for (size_t i = 0; i < want.data.size(); ++i)
    ASSERT_NEAR(got.data[i], want.data[i],
                tolerance * std::max(1.0, std::abs(want.data[i])))
        << "at element " << i;
}

/// Fails unless `got` is invalid and `error` contains `fragment`.
inline void expectError(const Tensor &got, const std::string &error,
                        const std::string &fragment) {
  EXPECT_FALSE(got.isValid());
  EXPECT_NE(error.find(fragment), std::string::npos) << error;
}

} // namespace tpsp::reference

#endif // TPSP_TEST_UNIT_REFERENCE_TESTTENSORS_H
