/// Machines whose collectives between nodes have random tables.
#ifndef TPSP_TEST_PLANNER_RANDOMLINKS_H
#define TPSP_TEST_PLANNER_RANDOMLINKS_H

#include "tpsp/Schedule/Hardware.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <random>

namespace tpsp::planner {

/// Returns a table that grows with the size, now slower and now faster than it.
inline SizeTable randomTable(std::mt19937 &random) {
  auto between = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  SizeTable table;
  double bytes = between(8, 5e4), seconds = between(2e-5, 2e-4);
  for (int i = 0; i < 7; ++i) {
    table.push_back({std::floor(bytes), seconds});
    double step = between(1.3, 30);
    bytes *= step;
    seconds *= std::pow(step, between(0, 1.4));
  }
  return table;
}

/// Returns H100s in nodes of `perNode`, with tables for every kind at several
/// places. The model of the other algorithms is removed for some kinds.
inline Hardware randomLinks(unsigned seed, int64_t perNode) {
  std::mt19937 random(seed);
  Hardware machine = llvm::cantFail(findHardware("h100-sxm-cluster"));
  machine.name = "random-links";
  machine.devicesPerNode = perNode;
  if (seed % 3 == 0)
    machine.adaptersPerNode = (perNode + 1) / 2;
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
        CollectiveKind::Permute}) {
    auto isOfKind = [&](const CollectiveRates &rates) {
      return rates.kind == kind && rates.tier == machine.betweenTier;
    };
    CollectiveRates rates = *llvm::find_if(machine.collectives, isOfKind);
    for (int i = 0; i < 3; ++i)
      rates.places[1 + int64_t(random() % uint64_t(perNode))]
                  [2 + int64_t(random() % 4)] = randomTable(random);
    if (random() % 2)
      llvm::erase_if(machine.collectives, isOfKind);
    machine.collectives.push_back(rates);
  }
  return machine;
}

} // namespace tpsp::planner

#endif // TPSP_TEST_PLANNER_RANDOMLINKS_H
