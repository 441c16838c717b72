// Descriptions made from tables of nccl-tests.
#include "NcclFiles.h"

#include "tpsp/Schedule/CostModel.h"

#include "gmock/gmock.h"

#include <cmath>

using namespace tpsp;
using namespace tpsp::calibration;
using testing::HasSubstr;

namespace {

constexpr double mib = 1 << 20;
constexpr auto allReduce = CollectiveKind::AllReduce;
constexpr auto allGather = CollectiveKind::AllGather;
constexpr auto reduceScatter = CollectiveKind::ReduceScatter;
constexpr auto allToAll = CollectiveKind::AllToAll;
constexpr auto permute = CollectiveKind::Permute;
constexpr CollectiveKind kinds[] = {allReduce, allGather, reduceScatter,
                                    allToAll, permute};

/// Makes the description and passes it through its file.
Hardware described(llvm::ArrayRef<NcclRun> runs,
                   const char *base = "h100-sxm-cluster") {
  Hardware made =
      llvm::cantFail(withNcclRuns(llvm::cantFail(findHardware(base)), runs));
  auto read = parseHardware(toJson(made, base), "written");
  if (!read) {
    ADD_FAILURE() << llvm::toString(read.takeError());
    return made;
  }
  return *read;
}

CostModel modelOf(const Hardware &hardware) {
  return {hardware, Mesh({{"all", hardware.devicesPerNode * 2, {}}})};
}

GroupPlace placeOf(int64_t nodes, int64_t perNode) {
  return {nodes * perNode, perNode, nodes};
}

/// Seconds without the launch.
double secondsOf(const CostModel &cost, CollectiveKind kind, double bytes,
                 GroupPlace place) {
  return cost.collectiveSeconds(kind, bytes, place) - cost.launchSeconds();
}

/// Bus bandwidth in GB/s.
double busOf(const CostModel &cost, CollectiveKind kind, double bytes,
             GroupPlace place) {
  return bytes * busFactor(kind, place.group) /
         secondsOf(cost, kind, bytes, place) * 1e-9;
}

/// The same tests on links that take `times` as long beyond their latency.
std::vector<NcclRun> slower(std::vector<NcclRun> runs, double times) {
  for (NcclRun &run : runs) {
    double start = run.times.front().value;
    for (SizePoint &point : run.times)
      point.value = start + (point.value - start) * times;
  }
  return runs;
}

/// A run of rows of MiB and microseconds.
NcclRun runOf(CollectiveKind kind, int64_t nodes, int64_t perNode,
              std::vector<std::pair<double, double>> rows) {
  NcclRun run;
  run.kind = kind;
  run.nodes = nodes;
  run.perNode = perNode;
  run.origin = "run.txt:1";
  for (auto [size, microseconds] : rows)
    run.times.push_back({size * mib, microseconds * 1e-6});
  return run;
}

std::string refusal(const NcclRun &run, const Hardware &hardware) {
  auto made = withNcclRuns(hardware, {run});
  return made ? "" : llvm::toString(made.takeError());
}

} // namespace

TEST(MeasuredLinks, PredictTheFilesTimes) {
  std::vector<NcclRun> runs = allNcclRuns();
  CostModel cost = modelOf(described(runs));
  for (const NcclRun &run : runs)
    for (size_t i = 0; i < run.times.size(); ++i) {
      auto [bytes, seconds] = run.times[i];
      EXPECT_NEAR(secondsOf(cost, run.kind, bytes, placeOf(2, 8)) / seconds, 1,
                  1e-9)
          << run.origin << " " << bytes;
      if (i == 0)
        continue;
      // Halfway in the logarithms.
      double middle = std::sqrt(bytes * run.times[i - 1].bytes);
      EXPECT_NEAR(secondsOf(cost, run.kind, middle, placeOf(2, 8)),
                  std::sqrt(seconds * run.times[i - 1].value), 1e-9);
    }
}

// Neither the algorithm that a table does not name nor the model of NCCL is
// faster than the table.
TEST(MeasuredLinks, NothingElseIsFaster) {
  std::vector<NcclRun> slow = slower(allNcclRuns(), 50);
  CostModel cost = modelOf(described(slow));
  for (const NcclRun &run : slow)
    EXPECT_NEAR(
        secondsOf(cost, run.kind, run.times.back().bytes, placeOf(2, 8)) /
            run.times.back().value,
        1, 1e-6);
}

TEST(MeasuredLinks, WrittenFileHasOnlyWhatDiffers) {
  Hardware made = llvm::cantFail(withNcclRuns(
      llvm::cantFail(findHardware("h100-sxm-cluster")), allNcclRuns()));
  std::string text = toJson(made, "h100-sxm-cluster");
  EXPECT_THAT(text, HasSubstr("\"base\": \"h100-sxm-cluster\""));
  EXPECT_THAT(
      text,
      HasSubstr("nccl-tests, in place of other figures: all_reduce of 2x8"));
  for (const char *key : {"\"matmul\"", "memory_gbs", "\"nodes\"", "tiers"})
    EXPECT_THAT(text, testing::Not(HasSubstr(key)));
  Hardware again = described(allNcclRuns());
  EXPECT_EQ(again.nodes, 2048);
  EXPECT_EQ(toJson(again), toJson(made));
}

TEST(MeasuredLinks, TimeGrowsWithSize) {
  for (double times : {1.0, 0.3, 20.0}) {
    CostModel cost = modelOf(described(slower(allNcclRuns(), times)));
    for (CollectiveKind kind : kinds)
      for (auto [nodes, perNode] :
           {std::pair(2, 8), std::pair(2, 1), std::pair(3, 5), std::pair(64, 8),
            std::pair(16, 1)}) {
        double last = 0;
        for (double bytes = 8; bytes < 1e11; bytes *= 1.37) {
          double now = secondsOf(cost, kind, bytes, placeOf(nodes, perNode));
          EXPECT_GT(now, 0);
          EXPECT_GE(now, last * (1 - 1e-12))
              << nameOf(kind) << " " << bytes << " on " << nodes << "x"
              << perNode;
          last = now;
        }
      }
  }
}

// Adapters of four nodes carry 31/32 instead of 15/16 of a ring's bytes, and
// there are more steps.
TEST(MeasuredLinks, MoreNodesThanWereMeasured) {
  CostModel cost = modelOf(described(allNcclRuns()));
  for (CollectiveKind kind : {allReduce, allGather, reduceScatter}) {
    auto seconds = [&](double size, int64_t nodes) {
      return secondsOf(cost, kind, size * mib, placeOf(nodes, 8));
    };
    EXPECT_NEAR(seconds(1024, 4) / seconds(1024, 2), 31.0 / 30, 0.02);
    EXPECT_GT(seconds(1e-3, 4), 1.2 * seconds(1e-3, 2));
    EXPECT_GT(seconds(1e-3, 16), 2 * seconds(1e-3, 4));
    EXPECT_LT(seconds(1e-3, 16), 20 * seconds(1e-3, 4));
  }
}

// Where the first hop is slow, so are those to further nodes.
TEST(MeasuredLinks, StepsAreAsSlowAsMeasured) {
  std::vector<NcclRun> runs = allNcclRuns();
  for (NcclRun &run : runs)
    for (SizePoint &point : run.times)
      point.value *= 5;
  CostModel cost = modelOf(described(runs));
  for (CollectiveKind kind : {allReduce, allGather, reduceScatter})
    EXPECT_GT(secondsOf(cost, kind, 1024, placeOf(4, 8)),
              1.4 * secondsOf(cost, kind, 1024, placeOf(2, 8)))
        << nameOf(kind);
}

// Eight pairs of ranks, each pair with its adapters: the rate of an adapter.
TEST(MeasuredLinks, FewerRanksOfANode) {
  CostModel cost = modelOf(described(allNcclRuns()));
  double whole = busOf(cost, allGather, 1024 * mib, placeOf(2, 8));
  EXPECT_NEAR(busOf(cost, allGather, 1024 * mib, placeOf(2, 1)), whole / 8,
              0.02 * whole / 8);
  EXPECT_NEAR(busOf(cost, permute, 256 * mib, placeOf(2, 1)),
              busOf(cost, permute, 256 * mib, placeOf(2, 8)), 1e-6);
}

// More ranks of a node need more adapters, but the links inside a node carry
// no more than they can.
TEST(MeasuredLinks, MoreRanksOfANode) {
  CostModel cost = modelOf(
      described({runOf(allGather, 2, 1, {{1, 40}, {64, 200}, {1024, 2000}})}));
  double pair = busOf(cost, allGather, 1024 * mib, placeOf(2, 1));
  EXPECT_NEAR(pair, 268, 1);
  EXPECT_NEAR(busOf(cost, allGather, 1024 * mib, placeOf(2, 8)), 340, 30);
}

// Between measured numbers of nodes the time lies between theirs. The table of
// the nearest number of ranks in a node decides.
TEST(MeasuredLinks, SeveralPlaces) {
  std::vector<NcclRun> runs = {
      runOf(allGather, 2, 8, {{1, 70}, {64, 320}, {1024, 3200}}),
      runOf(allGather, 8, 8, {{1, 170}, {64, 500}, {1024, 4000}}),
      runOf(allGather, 4, 1, {{1, 60}, {64, 3000}, {1024, 48000}})};
  CostModel cost = modelOf(described(runs));
  auto seconds = [&](double size, int64_t nodes, int64_t perNode) {
    return secondsOf(cost, allGather, size * mib, placeOf(nodes, perNode));
  };
  for (const NcclRun &run : runs)
    for (auto [bytes, value] : run.times)
      EXPECT_NEAR(seconds(bytes / mib, run.nodes, run.perNode) / value, 1, 1e-9)
          << run.nodes << "x" << run.perNode;
  for (double size : {1.0, 7.0, 64.0, 1024.0}) {
    EXPECT_GT(seconds(size, 4, 8), seconds(size, 2, 8));
    EXPECT_LT(seconds(size, 4, 8), 1.1 * seconds(size, 8, 8));
    EXPECT_GT(seconds(size, 16, 8), seconds(size, 8, 8));
  }
  EXPECT_NEAR(seconds(1024, 2, 1) / 48e-3, 0.5 / 0.75, 0.01);
  EXPECT_GT(seconds(1024, 2, 2), 0.3 * 48e-3);
  EXPECT_LT(seconds(1024, 2, 4), 0.3 * 48e-3);
}

// An all_reduce is all that most people have measured.
TEST(MeasuredLinks, OtherKindsFollow) {
  Hardware base = llvm::cantFail(findHardware("h100-sxm-cluster"));
  Hardware made = described(slower(ncclRuns({"all_reduce.txt"}), 4));
  CostModel cost = modelOf(made), model = modelOf(base);
  for (double size : {16.0, 64.0, 256.0, 1024.0}) {
    double bus = busOf(cost, allReduce, size * mib, placeOf(2, 8));
    for (CollectiveKind kind : {allGather, reduceScatter})
      EXPECT_NEAR(busOf(cost, kind, size * mib, placeOf(2, 8)) / bus, 1, 0.15)
          << nameOf(kind) << " " << size;
    for (CollectiveKind kind : {allToAll, permute})
      EXPECT_GT(secondsOf(cost, kind, size * mib, placeOf(2, 8)),
                2 * secondsOf(model, kind, size * mib, placeOf(2, 8)));
  }
  EXPECT_THAT(made.basis.derived,
              HasSubstr("between nodes all_gather by all_reduce, "
                        "reduce_scatter by all_reduce, all_to_all by the "
                        "adapters' rate, permute by the adapters' rate"));
  // Faster links than the description's are not concluded for other kinds.
  CostModel fast =
      modelOf(described(slower(ncclRuns({"all_reduce.txt"}), 0.1)));
  EXPECT_EQ(secondsOf(fast, permute, 64 * mib, placeOf(2, 8)),
            secondsOf(model, permute, 64 * mib, placeOf(2, 8)));
  // Inside a node nothing changes.
  for (CollectiveKind kind : kinds)
    EXPECT_EQ(secondsOf(cost, kind, 64 * mib, placeOf(1, 8)),
              secondsOf(model, kind, 64 * mib, placeOf(1, 8)));
}

// On one host the table is that of a group inside a node. The switch's adders
// are forgotten for this group: NCCL chose among all algorithms.
TEST(MeasuredLinks, InsideANode) {
  for (int64_t group : {8, 4, 6}) {
    NcclRun run = runOf(allReduce, 1, group, {{1, 80}, {64, 900}, {512, 7000}});
    CostModel cost = modelOf(described({run}, "h100-sxm")),
              base = modelOf(llvm::cantFail(findHardware("h100-sxm")));
    for (auto [bytes, value] : run.times)
      EXPECT_NEAR(secondsOf(cost, allReduce, bytes, placeOf(1, group)) / value,
                  1, 1e-9);
    EXPECT_EQ(secondsOf(cost, allReduce, 64 * mib, placeOf(1, 2)),
              secondsOf(base, allReduce, 64 * mib, placeOf(1, 2)));
    EXPECT_EQ(secondsOf(cost, allGather, 64 * mib, placeOf(1, group)),
              secondsOf(base, allGather, 64 * mib, placeOf(1, group)));
  }
}

// The median of the rows counts, and a slow first call does not.
TEST(MeasuredLinks, RepeatedRuns) {
  NcclRun one = runOf(permute, 2, 1, {{0.001, 900}, {1, 50}, {4, 140}});
  NcclRun two = runOf(permute, 2, 1, {{0.001, 25}, {1, 54}, {4, 130}});
  NcclRun three = runOf(permute, 2, 1, {{0.001, 800}, {1, 52}, {4, 7000}});
  CostModel cost = modelOf(described({one, two, three}));
  auto microseconds = [&](double size) {
    return secondsOf(cost, permute, size * mib, placeOf(2, 1)) * 1e6;
  };
  EXPECT_NEAR(microseconds(0.001), 52, 1e-6);
  EXPECT_NEAR(microseconds(1), 52, 1e-6);
  EXPECT_NEAR(microseconds(4), 140, 1e-6);
}

// Four adapters for eight devices. A table of whole nodes has all of them. If
// eight pairs run at once, two share an adapter; a pair alone has one.
TEST(MeasuredLinks, SharedAdapters) {
  Hardware base = llvm::cantFail(findHardware("h100-sxm-cluster"));
  base.adaptersPerNode = 4;
  auto costWith = [&](const NcclRun &run) {
    return modelOf(llvm::cantFail(withNcclRuns(base, {run})));
  };
  NcclRun nodes = runOf(allGather, 2, 8, {{1, 70}, {64, 620}, {1024, 6200}});
  CostModel cost = costWith(nodes);
  EXPECT_NEAR(secondsOf(cost, allGather, 1024 * mib, placeOf(2, 8)), 6200e-6,
              1e-9);
  double whole = busOf(cost, allGather, 1024 * mib, placeOf(2, 8));
  EXPECT_NEAR(busOf(cost, allGather, 1024 * mib, placeOf(2, 1)), whole / 8, 1);
  NcclRun pair = runOf(allGather, 2, 1, {{0.001, 30}, {1024, 12000}});
  EXPECT_NEAR(secondsOf(costWith(pair), allGather, 1024 * mib, placeOf(2, 1)),
              2 * 12000e-6, 100e-6);
  pair.groups = 8;
  EXPECT_THAT(refusal(pair, base),
              HasSubstr("8 groups, which share 4 adapters"));
}

TEST(MeasuredLinks, Refusals) {
  auto find = [](const char *name) {
    return llvm::cantFail(findHardware(name));
  };
  NcclRun run = runOf(allReduce, 2, 8, {{1, 80}});
  EXPECT_EQ(refusal(run, find("h100-sxm-2node")), "");
  EXPECT_THAT(
      refusal(run, find("h100-sxm")),
      HasSubstr("run.txt:1: the run has 2 nodes, and h100-sxm has one"));
  EXPECT_THAT(refusal(run, find("cpu")), HasSubstr("describes a CPU"));
  EXPECT_THAT(
      refusal(runOf(allReduce, 2, 16, {{1, 80}}), find("h100-sxm-2node")),
      HasSubstr("16 ranks on a node, and h100-sxm-2node has 8 devices"));
}
