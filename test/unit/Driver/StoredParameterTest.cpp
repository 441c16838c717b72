/// Places of parameters in a checkpoint, by their names.
#include "Runtime/Driver/Tensors/StoredParameter.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

PlanBuffer parameter(const std::string &name, std::vector<int64_t> shape) {
  PlanBuffer buffer;
  buffer.name = name;
  buffer.kind = BufferKind::Parameter;
  buffer.shape = std::move(shape);
  return buffer;
}

/// Returns every element's tensor and place. Runs begin anywhere.
std::vector<std::pair<size_t, int64_t>> places(const StoredParameter &stored,
                                               int64_t extent, int64_t count) {
  std::vector<std::pair<size_t, int64_t>> out(count);
  for (int64_t first = 0; first < count; first += 5)
    stored.forEachRun(extent, first, std::min<int64_t>(5, count - first),
                      [&](size_t tensor, int64_t at, int64_t from, int64_t n) {
                        for (int64_t i = 0; i < n; ++i)
                          out[from + i] = {tensor, at + i};
                      });
  return out;
}

TEST(StoredParameter, ColumnsOfATensorForEachExpert) {
  StoredParameter stored(parameter("e.{x}.w[:, 2:5]", {2, 3, 3}));
  EXPECT_EQ(stored.tensors(), (std::vector<std::string>{"e.0.w", "e.1.w"}));
  EXPECT_TRUE(stored.fits({3, 7}));
  EXPECT_FALSE(stored.fits({3, 4}));
  auto found = places(stored, 7, 18);
  for (int64_t x = 0; x < 2; ++x)
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t column = 0; column < 3; ++column)
        EXPECT_EQ(found[x * 9 + row * 3 + column],
                  std::pair(size_t(x), row * 7 + column + 2));
}

TEST(StoredParameter, RowsOfATensor) {
  StoredParameter stored(parameter("w[4:6, :]", {2, 3}));
  auto found = places(stored, 9, 6);
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(found[i], std::pair(size_t(0), 12 + i));
}

TEST(StoredParameter, OtherNamesArePlain) {
  for (const char *name : {"w", "w[4:7, :]", "w[4:6]", "w[:, :]", "w[a:b, :]"})
    EXPECT_TRUE(StoredParameter(parameter(name, {2, 3})).isPlain()) << name;
}

} // namespace
