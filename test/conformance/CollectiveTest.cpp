/// all_reduce, all_to_all, permute and transfer against their definitions in
/// Commands.h, computed plainly in double from all ranks' sources.
#include "CollectiveExchange.h"

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

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
              if (isLeftOut())
                continue;
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
            if (isLeftOut())
              continue;
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
          if (isLeftOut())
            continue;
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

class TransferTest : public CollectiveTest {
protected:
  const char *testedCall() const override { return "transfer"; }

  /// Runs steps in which only the two sides of each group make the call.
  void checkTransfer(const TransferCommand &c, const Mesh &mesh) {
    SCOPED_TRACE(describe(mesh, c.axes) + " " + elementName(c.dtype) +
                 " from " + std::to_string(c.from) + " to " +
                 std::to_string(c.to) + " seed " + std::to_string(testSeed()));
    constexpr int64_t offset = 64;
    int64_t bytes = c.count * elementBytes(c.dtype);
    int64_t arena = (offset + bytes + 63) / 64 * 64 + 64;
    Plan plan;
    plan.add(tpsp_rt_transfer, c.encode(), {offset});
    auto world = makeWorld(config(mesh, arena));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      std::vector<std::vector<std::byte>> before(rankCount(mesh));
      std::vector<std::vector<std::byte>> after(rankCount(mesh));
      for (std::vector<std::byte> &each : before) {
        each.assign(arena, std::byte(0xff));
        auto own = toBytes(c.dtype, randomValues(c.dtype, c.count, random));
        std::copy(own.begin(), own.end(), each.begin() + offset);
      }
      Status status = world->run([&](Rank &rank) -> Status {
        int64_t r = rank.number();
        std::vector<int64_t> group = groupOf(mesh, r, c.axes);
        if (Status s = rank.write(0, before[r].data(), arena); !s.ok())
          return s;
        if (r == group[c.from] || r == group[c.to])
          if (Status s = plan.stepOrReplay(rank); !s.ok())
            return s;
        return snapshot(rank, arena, after[r]);
      });
      ASSERT_TRUE(status.ok()) << status.message();
      for (int64_t r = 0; r < rankCount(mesh); ++r) {
        std::vector<int64_t> group = groupOf(mesh, r, c.axes);
        int64_t source = r == group[c.to] ? group[c.from] : r;
        EXPECT_TRUE(after[r] == before[source]) << "rank " << r;
      }
    }
  }
};

/// The ranks of a group that are no side of it go on without it.
TEST_P(TransferTest, MovesTheSendersTensor) {
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh))
      for (int64_t dtype : elementTypes)
        for (int64_t count : {1, 67})
          for (int64_t distance : {1, -1}) {
            if (isLeftOut())
              continue;
            int64_t ranks = int64_t(groupOf(mesh, 0, axes).size());
            if (ranks == 1)
              continue;
            TransferCommand c;
            c.dtype = dtype;
            c.axes = axes;
            c.from = int64_t(random() % ranks);
            c.to = (c.from + distance + ranks) % ranks;
            c.count = count;
            checkTransfer(c, mesh);
          }
}

std::string nameOf(const testing::TestParamInfo<BackendCase> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Backends, AllReduceTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, AllToAllTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, PermuteTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, TransferTest,
                         testing::ValuesIn(conformingBackends()), nameOf);

} // namespace
