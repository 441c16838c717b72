#include "CudaOnDoubles.h"

#include "tpsp/Abi/Commands.h"

namespace tpsp::rt::conformance {

void affine(void *const *buffers, const int64_t *positions, int64_t begin,
            int64_t end) {
  auto *x = static_cast<const double *>(buffers[0]);
  auto *y = static_cast<double *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = 2 * x[i] + positions[0] + positions[1] / 1000.0;
}
static const bool haveTwins = addDeviceTwin(affine, "test_affine");

void CudaOnDoublesTest::addEverything(Plan &plan, int64_t ranks) {
  MatmulCommand product;
  product.dtype = TPSP_RT_BF16;
  product.m = 5, product.n = 6, product.k = 7;
  product.lda = product.k, product.ldb = product.n, product.ldc = 9;
  product.accumulate = {{3, 64, 80, 0}};
  plan.add(tpsp_rt_matmul, product.encode(), {at(0), at(1), at(2)}, "%product");
  KernelCommand kernel;
  kernel.grid = 37;
  kernel.positions = {{64, {0}}, {5, {}}};
  plan.add(tpsp_rt_kernel, kernel.encode(), {at(3), at(4)}, "%kernel", affine);
  plan.add(tpsp_rt_event_record, EventCommand{0}.encode(), {}, "%record");
  plan.on(1).add(tpsp_rt_event_wait, EventCommand{0}.encode(), {}, "%wait");
  ShardCommand shard;
  shard.dtype = TPSP_RT_BF16;
  shard.axes = {0};
  shard.outer = 3, shard.chunk = 5, shard.pitch = 7;
  plan.add(tpsp_rt_all_gather, shard.encode(), {at(2), at(5)}, "%gather");
  shard.dtype = TPSP_RT_F64;
  plan.add(tpsp_rt_reduce_scatter, shard.encode(), {at(4), at(6)}, "%scatter");
  plan.add(tpsp_rt_slice, shard.encode(), {at(4), at(7)}, "%slice");
  AllReduceCommand reduce;
  reduce.dtype = TPSP_RT_F64;
  reduce.axes = {0};
  reduce.counts = {11, 3};
  plan.add(tpsp_rt_all_reduce, reduce.encode(), {at(3), at(8), at(4), at(9)},
           "%reduce");
  AllToAllCommand exchange;
  exchange.axes = {0};
  exchange.a = 2, exchange.gather = 3, exchange.b = 2, exchange.scatter = 2;
  plan.add(tpsp_rt_all_to_all, exchange.encode(), {at(4), at(10)}, "%exchange");
  PermuteCommand permute;
  permute.axes = {0};
  for (int64_t q = 0; q < ranks; ++q)
    permute.source.push_back((q + 1) % ranks);
  permute.count = 5, permute.runs = 2;
  permute.sourcePitch = 6, permute.targetPitch = 8;
  plan.add(tpsp_rt_permute, permute.encode(), {at(10), at(11)}, "%permute");
  plan.add(tpsp_rt_event_record, EventCommand{1}.encode(), {}, "%record");
  plan.on(0).add(tpsp_rt_event_wait, EventCommand{1}.encode(), {}, "%wait");
  plan.add(tpsp_rt_kernel, kernel.encode(), {at(8), at(12)}, "%last", affine);
}

Status fill(Rank &rank) {
  std::mt19937 random(unsigned(1 + rank.number()));
  std::vector<std::byte> bytes =
      toBytes(TPSP_RT_BF16, randomValues(TPSP_RT_BF16, arenaBytes / 2, random));
  if (Status s = rank.write(0, bytes.data(), arenaBytes); !s.ok())
    return s;
  std::vector<double> values = randomValues(TPSP_RT_F64, 64, random);
  return rank.write(at(3), values.data(), 64 * 8);
}

Status
CudaOnDoublesTest::runEverything(const WorldConfig &config, int64_t ranks,
                                 int steps,
                                 std::vector<std::vector<std::byte>> &arenas) {
  Plan plan;
  addEverything(plan, ranks);
  std::unique_ptr<World> world;
  if (Status s = World::create(config, world); !s.ok())
    return s;
  arenas.assign(size_t(ranks), {});
  return world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    for (int step = 0; step < steps; ++step)
      if (Status s = plan.stepOrReplay(rank); !s.ok())
        return s;
    return snapshot(rank, arenaBytes, arenas[size_t(rank.number())]);
  });
}
std::vector<int> occurrencesOf(int count) {
  std::vector<int> result;
  for (int i : {1, count / 2, count})
    if (i > 0 && (result.empty() || i > result.back()))
      result.push_back(i);
  return result;
}
} // namespace tpsp::rt::conformance
