/// Tiles of larger tensors: runs that lie a pitch apart, and buffers that are
/// counted from the rank's own number. Every rank's whole arena is compared
/// with a plain model of it, so the gaps between the runs must not change.
#include "ConformanceWorld.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr int64_t width = 4, arenaElements = 4096;
/// Offsets of sources and destinations, in elements.
constexpr int64_t sourceAt = 64, targetAt = 2048;

/// A rank's arena as f32: small integers, whose sums are exact.
using Arena = std::vector<float>;

struct Tile {
  int64_t outer, chunk, pitch;
};
constexpr Tile tiles[] = {
    {1, 5, 0}, {1, 5, 9}, {3, 1, 4}, {4, 7, 7}, {5, 6, 31}};

class TileTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "tiles"; }

  /// Runs some steps; all but the first use the commands that the first has
  /// prepared. `model` changes all ranks' arenas as a step should.
  template <typename Model>
  void check(const Mesh &mesh, const Plan &plan, const Model &model) {
    auto world = makeWorld(config(mesh, arenaElements * width));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      std::vector<Arena> arenas(rankCount(mesh), Arena(arenaElements));
      for (Arena &arena : arenas)
        for (float &value : arena)
          value = float(int(random() % 2001) - 1000);
      std::vector<Arena> got(arenas);
      Status status = world->run([&](Rank &rank) -> Status {
        Arena &mine = got[rank.number()];
        if (Status s = rank.write(0, mine.data(), arenaElements * width);
            !s.ok())
          return s;
        if (Status s = plan.stepOrReplay(rank); !s.ok())
          return s;
        return rank.read(0, mine.data(), arenaElements * width);
      });
      ASSERT_TRUE(status.ok()) << status.message();
      model(arenas);
      for (size_t r = 0; r < arenas.size(); ++r)
        for (int64_t i = 0; i < arenaElements; ++i)
          ASSERT_EQ(got[r][i], arenas[r][i])
              << "rank " << r << " element " << i << " step " << step
              << ", seed " << testSeed();
    }
  }

  /// Calls body(mesh, axes, group size) for all meshes and axis lists.
  template <typename Body> void forEachGroup(const Body &body) {
    for (const Mesh &mesh : testMeshes())
      for (const auto &axes : axisLists(mesh)) {
        SCOPED_TRACE(describe(mesh, axes));
        body(mesh, axes, int64_t(groupOf(mesh, 0, axes).size()));
        if (HasFailure())
          return;
      }
  }

  template <typename Body> void forEachShard(const Body &body) {
    forEachGroup(
        [&](const Mesh &mesh, const std::vector<int64_t> &axes, int64_t group) {
          for (const Tile &tile : tiles) {
            ShardCommand c;
            c.axes = axes;
            c.outer = tile.outer, c.chunk = tile.chunk, c.pitch = tile.pitch;
            body(mesh, c, group);
          }
        });
  }
};

/// Returns the rank's number in its group.
int64_t numberIn(const std::vector<int64_t> &group, int64_t rank) {
  return std::find(group.begin(), group.end(), rank) - group.begin();
}

TEST_P(TileTest, SliceIntoATile) {
  forEachShard([&](const Mesh &mesh, const ShardCommand &c, int64_t n) {
    Plan plan;
    plan.add(tpsp_rt_slice, c.encode(), {sourceAt * width, targetAt * width});
    check(mesh, plan, [&](std::vector<Arena> &arenas) {
      for (size_t r = 0; r < arenas.size(); ++r) {
        int64_t self = numberIn(groupOf(mesh, r, c.axes), r);
        for (int64_t o = 0; o < c.outer; ++o)
          for (int64_t i = 0; i < c.chunk; ++i)
            arenas[r][targetAt + o * c.runPitch() + i] =
                arenas[r][sourceAt + (o * n + self) * c.chunk + i];
      }
    });
  });
}

TEST_P(TileTest, AllGatherFromTiles) {
  forEachShard([&](const Mesh &mesh, const ShardCommand &c, int64_t n) {
    Plan plan;
    plan.add(tpsp_rt_all_gather, c.encode(),
             {sourceAt * width, targetAt * width});
    check(mesh, plan, [&](std::vector<Arena> &arenas) {
      for (size_t r = 0; r < arenas.size(); ++r) {
        std::vector<int64_t> group = groupOf(mesh, r, c.axes);
        for (int64_t o = 0; o < c.outer; ++o)
          for (int64_t q = 0; q < n; ++q)
            for (int64_t i = 0; i < c.chunk; ++i)
              arenas[r][targetAt + (o * n + q) * c.chunk + i] =
                  arenas[group[q]][sourceAt + o * c.runPitch() + i];
      }
    });
  });
}

TEST_P(TileTest, ReduceScatterIntoATile) {
  forEachShard([&](const Mesh &mesh, const ShardCommand &c, int64_t n) {
    Plan plan;
    plan.add(tpsp_rt_reduce_scatter, c.encode(),
             {sourceAt * width, targetAt * width});
    check(mesh, plan, [&](std::vector<Arena> &arenas) {
      for (size_t r = 0; r < arenas.size(); ++r) {
        std::vector<int64_t> group = groupOf(mesh, r, c.axes);
        int64_t self = numberIn(group, r);
        for (int64_t o = 0; o < c.outer; ++o)
          for (int64_t i = 0; i < c.chunk; ++i) {
            float sum = 0;
            for (int64_t q : group)
              sum += arenas[q][sourceAt + (o * n + self) * c.chunk + i];
            arenas[r][targetAt + o * c.runPitch() + i] = sum;
          }
      }
    });
  });
}

TEST_P(TileTest, PermuteBetweenTiles) {
  forEachGroup(
      [&](const Mesh &mesh, const std::vector<int64_t> &axes, int64_t n) {
        for (const Tile &tile : tiles) {
          PermuteCommand c;
          c.axes = axes;
          c.count = tile.chunk, c.runs = tile.outer;
          c.sourcePitch = std::max(tile.pitch, tile.chunk);
          c.targetPitch = tile.chunk + 2;
          for (int64_t q = 0; q < n; ++q)
            c.source.push_back(q);
          std::shuffle(c.source.begin(), c.source.end(), random);
          Plan plan;
          plan.add(tpsp_rt_permute, c.encode(),
                   {sourceAt * width, targetAt * width});
          check(mesh, plan, [&](std::vector<Arena> &arenas) {
            for (size_t r = 0; r < arenas.size(); ++r) {
              std::vector<int64_t> group = groupOf(mesh, r, axes);
              int64_t sender = group[c.source[numberIn(group, r)]];
              for (int64_t o = 0; o < c.runs; ++o)
                for (int64_t i = 0; i < c.count; ++i)
                  arenas[r][targetAt + o * c.targetPitch + i] =
                      arenas[sender][sourceAt + o * c.sourcePitch + i];
            }
          });
        }
      });
}

/// Both buffers are counted from the rank's own tile, each in its own way.
TEST_P(TileTest, TilesAreCountedFromTheRanksOwn) {
  forEachGroup([&](const Mesh &mesh, const std::vector<int64_t> &axes,
                   int64_t n) {
    constexpr int64_t count = 3;
    ShardCommand copy;
    copy.chunk = count;
    int64_t from = random() % n, to = random() % n;
    std::vector<int64_t> own;
    auto tile = [&](int64_t buffer, int64_t number, int64_t elements) {
      for (int64_t value :
           {buffer, number, elements * width, int64_t(axes.size())})
        own.push_back(value);
      own.insert(own.end(), axes.begin(), axes.end());
    };
    tile(0, from, count);
    tile(1, to, 10);
    Plan plan;
    plan.add(tpsp_rt_slice, copy.encode(), {sourceAt * width, targetAt * width})
        .withTiles(own);
    check(mesh, plan, [&](std::vector<Arena> &arenas) {
      for (size_t r = 0; r < arenas.size(); ++r) {
        int64_t self = numberIn(groupOf(mesh, r, axes), r);
        for (int64_t i = 0; i < count; ++i)
          arenas[r][targetAt + (self + to) % n * 10 + i] =
              arenas[r][sourceAt + (self + from) % n * count + i];
      }
    });
  });
}

/// An all-gather as tpsp-overlap cuts it. A rank copies its own tile first.
/// Then it receives the others' from the previous rank, one by one, and passes
/// each on. `partsOf` gives the number of parts for a run's length.
class RingTest : public TileTest {
protected:
  template <typename PartsOf> void checkRings(const PartsOf &partsOf) {
    forEachShard([&](const Mesh &mesh, const ShardCommand &shape, int64_t n) {
      checkRing(mesh, shape, n, partsOf(shape.chunk));
    });
  }

  void checkRing(const Mesh &mesh, const ShardCommand &shape, int64_t n,
                 int64_t parts);
};

void RingTest::checkRing(const Mesh &mesh, const ShardCommand &shape, int64_t n,
                         int64_t parts) {
  int64_t outer = shape.outer, chunk = shape.chunk, period = n * chunk;
  std::vector<int64_t> buffers = {sourceAt * width, targetAt * width};
  auto own = [&](int64_t buffer, int64_t number) {
    std::vector<int64_t> tile = {buffer, number, chunk * width,
                                 int64_t(shape.axes.size())};
    tile.insert(tile.end(), shape.axes.begin(), shape.axes.end());
    return tile;
  };
  Plan plan;
  ShardCommand copy;
  copy.outer = outer, copy.chunk = chunk, copy.pitch = period;
  plan.add(tpsp_rt_slice, copy.encode(), buffers).withTiles(own(1, 0));
  for (int64_t hop = 1; hop < n; ++hop)
    for (int64_t part = 0; part < parts; ++part) {
      PermuteCommand c;
      c.axes = shape.axes;
      for (int64_t q = 0; q < n; ++q)
        c.source.push_back((q + n - 1) % n);
      c.count = chunk / parts, c.runs = outer;
      c.sourcePitch = hop == 1 ? chunk : period, c.targetPitch = period;
      std::vector<int64_t> tile = own(1, n - hop);
      std::vector<int64_t> at = buffers;
      if (hop > 1) {
        at[0] = at[1];
        std::vector<int64_t> source = own(0, n - hop + 1);
        tile.insert(tile.end(), source.begin(), source.end());
      }
      for (int64_t &begin : at)
        begin += part * c.count * width;
      plan.add(tpsp_rt_permute, c.encode(), at).withTiles(tile);
    }
  check(mesh, plan, [&](std::vector<Arena> &arenas) {
    for (size_t r = 0; r < arenas.size(); ++r) {
      std::vector<int64_t> group = groupOf(mesh, r, shape.axes);
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t q = 0; q < n; ++q)
          for (int64_t i = 0; i < chunk; ++i)
            arenas[r][targetAt + (o * n + q) * chunk + i] =
                arenas[group[q]][sourceAt + o * chunk + i];
    }
  });
}

TEST_P(RingTest, ARingOfPermutesIsAnAllGather) {
  checkRings([](int64_t) { return 1; });
}

TEST_P(RingTest, TilesMayComeInParts) {
  checkRings([](int64_t chunk) { return chunk % 2 == 0 ? 2 : chunk; });
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

class TileRefusalTest : public TileTest {
protected:
  /// Returns the status of one command on every rank of a 2 x 2 mesh.
  Status runOne(EntryPoint call, Params params, std::vector<int64_t> buffers,
                std::vector<int64_t> own = {}) {
    Plan plan;
    plan.add(call, std::move(params), std::move(buffers), "%bad")
        .withTiles(std::move(own));
    auto world = makeWorld(config({{"x", 2}, {"y", 2}}, arenaElements * width));
    return world->run([&](Rank &rank) { return plan.step(rank); });
  }

  void expectInvalid(const Status &status, const std::string &what) {
    EXPECT_EQ(status.code(), TPSP_RT_INVALID);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("%bad: "), HasSubstr(what)));
  }
};

TEST_P(TileRefusalTest, WhatIsNoListOfTiles) {
  Params copy = ShardCommand().encode();
  std::vector<int64_t> buffers = {0, 256};
  ASSERT_TRUE(runOne(tpsp_rt_slice, copy, buffers, {1, 1, 8, 1, 0}).ok());
  for (const std::vector<int64_t> &own : {std::vector<int64_t>{1},
                                          {1, 1, 8},
                                          {1, 1, 8, 2, 0},
                                          {1, 1, 8, -1},
                                          {1, 1, 8, 1, 0, 0},
                                          {1, 1, 8, INT64_MAX, 0}})
    expectInvalid(runOne(tpsp_rt_slice, copy, buffers, own), "malformed tiles");
  expectInvalid(runOne(tpsp_rt_slice, copy, buffers, {2, 0, 8, 1, 0}),
                "of buffer 2");
  expectInvalid(runOne(tpsp_rt_slice, copy, buffers, {-1, 0, 8, 1, 0}),
                "of buffer -1");
  expectInvalid(runOne(tpsp_rt_slice, copy, buffers, {1, 2, 8, 1, 0}),
                "tile 2 of 8 bytes");
  expectInvalid(runOne(tpsp_rt_slice, copy, buffers, {1, -1, 8, 1, 0}),
                "tile -1 of 8 bytes");
  expectInvalid(runOne(tpsp_rt_slice, copy, buffers, {1, 0, -8, 1, 0}),
                "tile 0 of -8 bytes");
  expectInvalid(runOne(tpsp_rt_slice, copy, buffers, {1, 0, INT64_MAX, 1, 0}),
                "tile 0 of");
  EXPECT_EQ(runOne(tpsp_rt_slice, copy, buffers, {1, 0, 8, 1, 7}).code(),
            TPSP_RT_INVALID);
}

TEST_P(TileRefusalTest, TilesOutsideTheArena) {
  Params copy = ShardCommand().encode();
  int64_t arena = arenaElements * width;
  // Tile 1 is inside for half of the ranks and beyond the end for the others.
  expectInvalid(runOne(tpsp_rt_slice, copy, {0, arena - 8}, {1, 1, 16, 1, 0}),
                "of an arena of");
  // Large numbers do not wrap around to a place inside.
  expectInvalid(
      runOne(tpsp_rt_slice, copy, {0, INT64_MAX - 3}, {1, 1, 1 << 20, 1, 0}),
      "of an arena of");
}

TEST_P(TileRefusalTest, PitchesBelowTheirRunsAndBeyondTheArena) {
  ShardCommand c;
  c.outer = 2, c.chunk = 8, c.pitch = 7;
  expectInvalid(runOne(tpsp_rt_slice, c.encode(), {0, 4096}), "malformed");
  c.pitch = arenaElements;
  expectInvalid(runOne(tpsp_rt_slice, c.encode(), {0, 4096}), "of an arena of");
  PermuteCommand p;
  p.source = {0};
  p.count = 8, p.runs = 2, p.sourcePitch = 7, p.targetPitch = 8;
  expectInvalid(runOne(tpsp_rt_permute, p.encode(), {0, 4096}), "malformed");
  p.sourcePitch = arenaElements;
  expectInvalid(runOne(tpsp_rt_permute, p.encode(), {0, 4096}),
                "of an arena of");
}

/// The ranges of interleaved runs may overlap, but the runs may share no byte.
TEST_P(TileRefusalTest, RunsThatOverlap) {
  PermuteCommand p;
  p.axes = {0};
  p.source = {1, 0};
  p.count = 4, p.runs = 3, p.sourcePitch = p.targetPitch = 8;
  EXPECT_TRUE(runOne(tpsp_rt_permute, p.encode(), {0, 16}).ok());
  for (int64_t at : {0, 4, 12, 20, 28})
    expectInvalid(runOne(tpsp_rt_permute, p.encode(), {0, at}), "overlap");
  p.targetPitch = 9;
  expectInvalid(runOne(tpsp_rt_permute, p.encode(), {0, 16}), "overlap");
}

std::string nameOf(const testing::TestParamInfo<BackendCase> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Backends, TileTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, RingTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, TileRefusalTest,
                         testing::ValuesIn(conformingBackends()), nameOf);

} // namespace
