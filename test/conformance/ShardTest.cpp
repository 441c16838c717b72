/// The collectives between whole tensors and shards: slice, all_gather and
/// reduce_scatter. They are compared with their definitions in Commands.h,
/// computed plainly in double from all ranks' sources.
#include "CollectiveExchange.h"

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

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

/// The same with tensors of all sizes in one call, including an empty one.
template <typename Body>
void forEachSeveralShards(EntryPoint call, const Body &body) {
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh))
      for (int64_t dtype : elementTypes) {
        ShardCommand c;
        c.dtype = dtype;
        c.axes = axes;
        c.outer = 4;
        c.chunk = 0;
        for (ShardSizes sizes : shardSizes)
          c.others.push_back({sizes.outer, sizes.chunk, 0});
        int64_t ranks = int64_t(groupOf(mesh, 0, axes).size());
        std::vector<int64_t> parts, wholes;
        for (size_t i = 0; i < c.numTensors(); ++i) {
          parts.push_back(c.tensor(i).span());
          wholes.push_back(parts.back() * ranks);
        }
        bool gathers = call == tpsp_rt_all_gather;
        body(Exchange{call,
                      {},
                      dtype,
                      mesh,
                      axes,
                      gathers ? parts : wholes,
                      gathers ? wholes : parts},
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

/// Results by definition: tensor by tensor, all ranks' parts in their order.
std::vector<std::vector<double>> gathered(const ShardCommand &c,
                                          const Exchange::View &view) {
  std::vector<std::vector<double>> results(c.numTensors());
  for (size_t t = 0; t < c.numTensors(); ++t)
    for (int64_t o = 0; o < c.tensor(t).outer; ++o)
      for (const auto *source : view.sources)
        for (int64_t i = 0; i < c.tensor(t).chunk; ++i)
          results[t].push_back((*source)[t][o * c.tensor(t).chunk + i]);
  return results;
}

TEST_P(AllGatherTest, PutsPartsInGroupOrder) {
  auto checkGather = [&](Exchange exchange, const ShardCommand &c) {
    exchange.params = c.encode();
    check(exchange,
          [&](const Exchange::View &view) { return gathered(c, view); });
  };
  forEachShard(tpsp_rt_all_gather, checkGather);
  forEachSeveralShards(tpsp_rt_all_gather, checkGather);
}

class ReduceScatterTest : public CollectiveTest {
  const char *testedCall() const override { return "reduce_scatter"; }
};

/// Results by definition: tensor by tensor, the receiver's part combined.
std::vector<std::vector<double>> scattered(const ShardCommand &c,
                                           const Exchange::View &view) {
  int64_t ranks = int64_t(view.sources.size());
  std::vector<std::vector<double>> results(c.numTensors());
  for (size_t t = 0; t < c.numTensors(); ++t) {
    int64_t chunk = c.tensor(t).chunk;
    for (int64_t o = 0; o < c.tensor(t).outer; ++o)
      for (int64_t i = 0; i < chunk; ++i) {
        int64_t at = (o * ranks + view.self) * chunk + i;
        double value = (*view.sources[0])[t][at];
        for (int64_t q = 1; q < ranks; ++q)
          value = combine(c.reduction, value, (*view.sources[q])[t][at]);
        results[t].push_back(value);
      }
  }
  return results;
}

TEST_P(ReduceScatterTest, CombinesTheReceiversPart) {
  auto checkScatter = [&](Exchange exchange, ShardCommand c) {
    if (isLeftOut())
      return;
    for (int64_t reduction : {TPSP_RT_SUM, TPSP_RT_MAX}) {
      c.reduction = reduction;
      exchange.params = c.encode();
      exchange.tolerance = reductionTolerance(
          c.dtype, reduction, roundings(exchange.mesh, exchange.axes));
      check(exchange,
            [&](const Exchange::View &view) { return scattered(c, view); });
    }
  };
  forEachShard(tpsp_rt_reduce_scatter, checkScatter);
  forEachSeveralShards(tpsp_rt_reduce_scatter, checkScatter);
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

} // namespace
