/// Every collective against its definition in Commands.h, computed plainly in
/// double from all ranks' sources.
#include "ConformanceWorld.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

constexpr int64_t elementTypes[] = {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F16,
                                    TPSP_RT_F64, TPSP_RT_I32,  TPSP_RT_I64};

/// [rank][tensor][element]
using Tensors = std::vector<std::vector<std::vector<double>>>;

/// A collective on some tensors, and what it should give.
struct Exchange {
  EntryPoint call;
  Params params;
  int64_t dtype;
  Mesh mesh;
  std::vector<int64_t> axes;
  std::vector<int64_t> sourceCounts, resultCounts;
  /// Destinations are the sources.
  bool inPlace = false;
  /// How far a result may be from the expected one, relative and absolute.
  double tolerance = 0;

  /// The sources of the ranks of `rank`'s group, and its number there.
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

/// Where an exchange's tensors are: each after 64 bytes that nothing may touch.
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

  /// One, where sums are made in f32; else one for each rank that adds.
  int64_t roundings(const Mesh &mesh, const std::vector<int64_t> &axes) const {
    if (exclusion(GetParam(), "16-bit sums in f32").empty())
      return 1;
    return int64_t(groupOf(mesh, 0, axes).size());
  }

  /// Runs some steps, each from fresh sources on poisoned arenas, all but the
  /// first with the commands that it has prepared.
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

  /// The results are as expected and nothing else has changed.
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

/// `roundings`: of a sum in a type of 16 bits.
double reductionTolerance(int64_t dtype, int64_t reduction, int64_t roundings) {
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

double combine(int64_t reduction, double a, double b) {
  return reduction == TPSP_RT_MAX ? std::max(a, b) : a + b;
}

struct ShardSizes {
  int64_t outer, chunk;
};
constexpr ShardSizes shardSizes[] = {
    {1, 1}, {1, 130}, {7, 1}, {3, 17}, {2, 64}};

/// Calls body(exchange, command) with a ShardCommand for every mesh, axis list,
/// element type and size.
template <typename Body> void forEachShard(EntryPoint call, const Body &body) {
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh))
      for (int64_t dtype : elementTypes)
        for (ShardSizes sizes : shardSizes) {
          ShardCommand c;
          c.dtype = dtype;
          c.axes = axes;
          c.outer = sizes.outer;
          c.chunk = sizes.chunk;
          int64_t part = c.outer * c.chunk;
          int64_t whole = part * int64_t(groupOf(mesh, 0, axes).size());
          bool gathers = call == tpsp_rt_all_gather;
          body(Exchange{call,
                        {},
                        dtype,
                        mesh,
                        axes,
                        {gathers ? part : whole},
                        {gathers ? whole : part}},
               c);
        }
}

class SliceTest : public CollectiveTest {
  const char *testedCall() const override { return "slice"; }
};

TEST_P(SliceTest, TakesTheRanksOwnPart) {
  forEachShard(tpsp_rt_slice, [&](Exchange exchange, const ShardCommand &c) {
    exchange.params = c.encode();
    check(exchange, [&](const Exchange::View &view) {
      const auto &source = (*view.sources[view.self])[0];
      int64_t ranks = int64_t(view.sources.size());
      std::vector<double> result;
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = 0; i < c.chunk; ++i)
          result.push_back(source[(o * ranks + view.self) * c.chunk + i]);
      return std::vector<std::vector<double>>{result};
    });
  });
}

class AllGatherTest : public CollectiveTest {
  const char *testedCall() const override { return "all_gather"; }
};

TEST_P(AllGatherTest, PutsPartsInGroupOrder) {
  forEachShard(tpsp_rt_all_gather,
               [&](Exchange exchange, const ShardCommand &c) {
                 exchange.params = c.encode();
                 check(exchange, [&](const Exchange::View &view) {
                   std::vector<double> result;
                   for (int64_t o = 0; o < c.outer; ++o)
                     for (const auto *source : view.sources)
                       for (int64_t i = 0; i < c.chunk; ++i)
                         result.push_back((*source)[0][o * c.chunk + i]);
                   return std::vector<std::vector<double>>{result};
                 });
               });
}

class ReduceScatterTest : public CollectiveTest {
  const char *testedCall() const override { return "reduce_scatter"; }
};

TEST_P(ReduceScatterTest, CombinesTheReceiversPart) {
  forEachShard(tpsp_rt_reduce_scatter, [&](Exchange exchange, ShardCommand c) {
    for (int64_t reduction : {TPSP_RT_SUM, TPSP_RT_MAX}) {
      c.reduction = reduction;
      exchange.params = c.encode();
      exchange.tolerance = reductionTolerance(
          c.dtype, reduction, roundings(exchange.mesh, exchange.axes));
      check(exchange, [&](const Exchange::View &view) {
        int64_t ranks = int64_t(view.sources.size());
        std::vector<double> result;
        for (int64_t o = 0; o < c.outer; ++o)
          for (int64_t i = 0; i < c.chunk; ++i) {
            int64_t at = (o * ranks + view.self) * c.chunk + i;
            double value = (*view.sources[0])[0][at];
            for (int64_t q = 1; q < ranks; ++q)
              value = combine(reduction, value, (*view.sources[q])[0][at]);
            result.push_back(value);
          }
        return std::vector<std::vector<double>>{result};
      });
    }
  });
}

class AllReduceTest : public CollectiveTest {
protected:
  const char *testedCall() const override { return "all_reduce"; }

  void checkAllReduce(AllReduceCommand c, const Mesh &mesh, bool inPlace) {
    Exchange exchange{tpsp_rt_all_reduce, c.encode(), c.dtype, mesh, c.axes,
                      c.counts,           c.counts,   inPlace};
    exchange.tolerance =
        reductionTolerance(c.dtype, c.reduction, roundings(mesh, c.axes));
    check(exchange, [&](const Exchange::View &view) {
      auto result = *view.sources[0];
      for (size_t q = 1; q < view.sources.size(); ++q)
        for (size_t t = 0; t < result.size(); ++t)
          for (size_t i = 0; i < result[t].size(); ++i)
            result[t][i] =
                combine(c.reduction, result[t][i], (*view.sources[q])[t][i]);
      return result;
    });
  }
};

TEST_P(AllReduceTest, CombinesEveryTensor) {
  const std::vector<int64_t> countLists[] = {{1}, {1031}, {0, 3, 64, 257, 8}};
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh))
      for (int64_t dtype : elementTypes)
        for (int64_t reduction : {TPSP_RT_SUM, TPSP_RT_MAX})
          for (const auto &counts : countLists)
            for (bool inPlace : {false, true}) {
              AllReduceCommand c;
              c.dtype = dtype;
              c.reduction = reduction;
              c.axes = axes;
              c.counts = counts;
              checkAllReduce(c, mesh, inPlace);
            }
}

/// A value must not depend on which rank computed it, or replicas drift apart.
TEST_P(AllReduceTest, GivesAllRanksTheSameBits) {
  Mesh mesh = {{"x", 8}};
  constexpr int64_t count = 4099, bytes = count * 4;
  AllReduceCommand c;
  c.axes = {0};
  c.counts = {count};
  Plan plan;
  plan.add(tpsp_rt_all_reduce, c.encode(), {0, 0});
  auto world = makeWorld(config(mesh, bytes));
  ASSERT_NE(world, nullptr);
  Tensors sources(8);
  for (auto &rank : sources)
    rank = {randomValues(TPSP_RT_F32, count, random)};
  std::vector<std::vector<std::byte>> results(8);
  Status status = world->run([&](Rank &rank) -> Status {
    auto data = toBytes(TPSP_RT_F32, sources[rank.number()][0]);
    if (Status s = rank.write(0, data.data(), bytes); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, bytes, results[rank.number()]);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  for (int r = 1; r < 8; ++r)
    EXPECT_TRUE(results[r] == results[0]) << "rank " << r;
}

class AllToAllTest : public CollectiveTest {
  const char *testedCall() const override { return "all_to_all"; }
};

/// Row-major index of a rank-5 array.
int64_t at(const int64_t (&extents)[5], const int64_t (&index)[5]) {
  int64_t result = 0;
  for (int i = 0; i < 5; ++i)
    result = result * extents[i] + index[i];
  return result;
}

/// The destination, element by element from the definition.
std::vector<double> expectedAllToAll(const AllToAllCommand &c,
                                     const Exchange::View &view) {
  int64_t n = int64_t(view.sources.size());
  int64_t from[5] = {c.a, c.gather, c.b, n * c.scatter, c.c};
  int64_t to[5] = {c.a, n * c.gather, c.b, c.scatter, c.c};
  int gathered = 1, scattered = 3;
  if (!c.gatherFirst) {
    std::swap(from[1], from[3]);
    std::swap(to[1], to[3]);
    std::swap(gathered, scattered);
  }
  std::vector<double> result(to[0] * to[1] * to[2] * to[3] * to[4]);
  for (int64_t flat = 0; flat < int64_t(result.size()); ++flat) {
    int64_t index[5], rest = flat;
    for (int i = 5; i-- > 0; rest /= to[i])
      index[i] = rest % to[i];
    int64_t sender = index[gathered] / c.gather;
    index[gathered] %= c.gather;
    index[scattered] += view.self * c.scatter;
    result[flat] = (*view.sources[sender])[0][at(from, index)];
  }
  return result;
}

TEST_P(AllToAllTest, MovesShardsBetweenDimensions) {
  const int64_t sizes[][5] = {
      {1, 1, 1, 1, 1}, {2, 3, 1, 5, 7}, {3, 1, 2, 1, 1}, {1, 4, 3, 2, 16}};
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh))
      for (int64_t dtype : elementTypes)
        for (const auto &size : sizes)
          for (bool gatherFirst : {true, false}) {
            AllToAllCommand c;
            c.dtype = dtype;
            c.axes = axes;
            c.gatherFirst = gatherFirst;
            c.a = size[0], c.gather = size[1], c.b = size[2];
            c.scatter = size[3], c.c = size[4];
            int64_t count = int64_t(groupOf(mesh, 0, axes).size());
            for (int64_t extent : size)
              count *= extent;
            check(Exchange{tpsp_rt_all_to_all,
                           c.encode(),
                           dtype,
                           mesh,
                           axes,
                           {count},
                           {count}},
                  [&](const Exchange::View &view) {
                    return std::vector<std::vector<double>>{
                        expectedAllToAll(c, view)};
                  });
          }
}

class PermuteTest : public CollectiveTest {
  const char *testedCall() const override { return "permute"; }
};

TEST_P(PermuteTest, FetchesFromTheSource) {
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh))
      for (int64_t dtype : elementTypes)
        for (int64_t count : {1, 67}) {
          PermuteCommand c;
          c.dtype = dtype;
          c.axes = axes;
          c.count = count;
          for (size_t q = 0; q < groupOf(mesh, 0, axes).size(); ++q)
            c.source.push_back(int64_t(q));
          std::shuffle(c.source.begin(), c.source.end(), random);
          check(Exchange{tpsp_rt_permute,
                         c.encode(),
                         dtype,
                         mesh,
                         axes,
                         {count},
                         {count}},
                [&](const Exchange::View &view) {
                  return *view.sources[c.source[view.self]];
                });
        }
}

std::string nameOf(const testing::TestParamInfo<BackendCase> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Backends, SliceTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, AllGatherTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, ReduceScatterTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, AllReduceTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, AllToAllTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, PermuteTest,
                         testing::ValuesIn(conformingBackends()), nameOf);

} // namespace
