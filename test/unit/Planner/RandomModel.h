/// Unplaced programs of random shapes.
#ifndef TPSP_TEST_PLANNER_RANDOMMODEL_H
#define TPSP_TEST_PLANNER_RANDOMMODEL_H

#include <string>

namespace tpsp {

/// A chain of one or two blocks on x[b, s, d]: an MLP or attention, with or
/// without a norm before and a residual behind. Extents are small, often odd,
/// sometimes 1. Half of the weights are split or renamed before they are used,
/// and half of the parameters have a comma in their name.
std::string randomModel(unsigned seed);
/// Layers that are alike, one after another, and a product behind them.
/// `isLarge`: with work enough that launches are short beside it.
std::string randomLayers(unsigned seed, int layers, bool isLarge);

} // namespace tpsp

#endif // TPSP_TEST_PLANNER_RANDOMMODEL_H
