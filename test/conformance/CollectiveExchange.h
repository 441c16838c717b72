/// Runs a collective between ranks and compares its results with a test's.
#ifndef TPSP_TEST_CONFORMANCE_COLLECTIVEEXCHANGE_H
#define TPSP_TEST_CONFORMANCE_COLLECTIVEEXCHANGE_H

#include "ConformanceWorld.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tpsp::rt::conformance {

constexpr int64_t elementTypes[] = {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F16,
                                    TPSP_RT_F64, TPSP_RT_I32,  TPSP_RT_I64};

/// [rank][tensor][element]
using Tensors = std::vector<std::vector<std::vector<double>>>;

/// A collective on some tensors.
struct Exchange {
  EntryPoint call;
  Params params;
  int64_t dtype;
  Mesh mesh;
  std::vector<int64_t> axes;
  std::vector<int64_t> sourceCounts, resultCounts;
  /// The destinations are the sources.
  bool inPlace = false;
  /// The allowed difference of a result from the expected one, both relative
  /// and absolute.
  double tolerance = 0;

  /// The sources of all ranks of `rank`'s group, and the rank's number in it.
  struct View {
    std::vector<const std::vector<std::vector<double>> *> sources;
    int64_t self;
  };
  View view(const Tensors &sources, int64_t rank) const {
    std::vector<int64_t> group = groupOf(mesh, rank, axes);
    View result;
    for (size_t q = 0; q < group.size(); ++q) {
      result.sources.push_back(&sources[group[q]]);
      if (group[q] == rank)
        result.self = int64_t(q);
    }
    return result;
  }
};

/// The offsets of an exchange's tensors. Each comes after 64 bytes that nothing
/// may touch.
struct Layout {
  std::vector<int64_t> sources, results, interleaved;
  int64_t bytes = 64;

  explicit Layout(const Exchange &exchange) {
    auto place = [&](int64_t count) {
      int64_t offset = bytes;
      int64_t size = count * elementBytes(exchange.dtype);
      bytes = (offset + size + 63) / 64 * 64 + 64;
      return offset;
    };
    for (size_t i = 0; i < exchange.sourceCounts.size(); ++i) {
      sources.push_back(place(exchange.sourceCounts[i]));
      results.push_back(exchange.inPlace ? sources.back()
                                         : place(exchange.resultCounts[i]));
      interleaved.push_back(sources.back());
      interleaved.push_back(results.back());
    }
  }
};

class CollectiveTest : public ConformanceTest {
protected:
  Tensors randomSources(const Exchange &exchange) {
    Tensors sources(rankCount(exchange.mesh));
    for (auto &rank : sources)
      for (int64_t count : exchange.sourceCounts)
        rank.push_back(randomValues(exchange.dtype, count, random));
    return sources;
  }

  /// Returns how often a 16-bit sum is rounded: once if sums are made in f32,
  /// else once for each rank of the group.
  int64_t roundings(const Mesh &mesh, const std::vector<int64_t> &axes) const {
    if (exclusion(GetParam(), "16-bit sums in f32").empty())
      return 1;
    return int64_t(groupOf(mesh, 0, axes).size());
  }

  /// Runs some steps, each from fresh sources on poisoned arenas. All steps but
  /// the first use the commands that the first has prepared.
  template <typename Expected>
  void check(const Exchange &exchange, const Expected &expected) {
    SCOPED_TRACE(describe(exchange.mesh, exchange.axes) + " " +
                 elementName(exchange.dtype) + " seed " +
                 std::to_string(testSeed()));
    Layout layout(exchange);
    Plan plan;
    plan.add(exchange.call, exchange.params, layout.interleaved);
    auto world = makeWorld(config(exchange.mesh, layout.bytes));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      Tensors sources = randomSources(exchange);
      std::vector<std::vector<std::byte>> before(sources.size()),
          after(sources.size());
      Status status = world->run([&](Rank &rank) -> Status {
        int64_t r = rank.number();
        if (Status s = prepare(rank, exchange, layout, sources[r]); !s.ok())
          return s;
        if (Status s = snapshot(rank, layout.bytes, before[r]); !s.ok())
          return s;
        if (Status s = plan.stepOrReplay(rank); !s.ok())
          return s;
        return snapshot(rank, layout.bytes, after[r]);
      });
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t r = 0; r < sources.size(); ++r) {
        SCOPED_TRACE("rank " + std::to_string(r));
        compare(exchange, layout, expected(exchange.view(sources, r)),
                before[r], after[r]);
      }
    }
  }

private:
  static Status prepare(Rank &rank, const Exchange &exchange,
                        const Layout &layout,
                        const std::vector<std::vector<double>> &sources) {
    if (Status s = poison(rank, layout.bytes); !s.ok())
      return s;
    for (size_t i = 0; i < sources.size(); ++i) {
      auto bytes = toBytes(exchange.dtype, sources[i]);
      if (Status s = rank.write(layout.sources[i], bytes.data(),
                                int64_t(bytes.size()));
          !s.ok())
        return s;
    }
    return {};
  }

  /// Checks that the results are as expected and that nothing else has changed.
  static void compare(const Exchange &exchange, const Layout &layout,
                      const std::vector<std::vector<double>> &expected,
                      const std::vector<std::byte> &before,
                      std::vector<std::byte> after) {
    for (size_t i = 0; i < expected.size(); ++i) {
      int64_t count = exchange.resultCounts[i];
      ASSERT_EQ(int64_t(expected[i].size()), count);
      std::vector<double> got =
          fromBytes(exchange.dtype, after.data() + layout.results[i], count);
      for (int64_t j = 0; j < count; ++j)
        ASSERT_NEAR(got[j], expected[i][j],
                    exchange.tolerance * (1 + std::fabs(expected[i][j])))
            << "tensor " << i << " element " << j;
      std::memcpy(after.data() + layout.results[i],
                  before.data() + layout.results[i],
                  count * elementBytes(exchange.dtype));
    }
    EXPECT_TRUE(before == after) << "wrote outside its destinations";
  }
};

/// `roundings` is how often a sum in a type of 16 bits is rounded.
inline double reductionTolerance(int64_t dtype, int64_t reduction,
                                 int64_t roundings) {
  if (reduction == TPSP_RT_MAX)
    return 0;
  if (const HalfFloat *half = halfFloat(dtype))
    return double(roundings) * half->epsilon;
  switch (dtype) {
  case TPSP_RT_F32:
    return 1e-6;
  case TPSP_RT_F64:
    return 1e-14;
  default:
    return 0;
  }
}

inline double combine(int64_t reduction, double a, double b) {
  return reduction == TPSP_RT_MAX ? std::max(a, b) : a + b;
}

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_COLLECTIVEEXCHANGE_H
