/// Unplaced programs of random shapes.
#ifndef TPSP_TEST_PLANNER_RANDOMMODEL_H
#define TPSP_TEST_PLANNER_RANDOMMODEL_H

#include <string>

namespace tpsp {

/// Returns a chain of one or two blocks on x[b, s, d]. A block is an MLP or
/// attention, perhaps with a norm before and a residual after it. Extents are
/// small, often odd, sometimes 1. Half of the weights are split or renamed
/// before they are used, and half of the parameters have a comma in their name.
std::string randomModel(unsigned seed);
/// Returns equal layers, one after another, and a product after them. If
/// `isLarge`, launches are short compared with the work.
std::string randomLayers(unsigned seed, int layers, bool isLarge);

} // namespace tpsp

#endif // TPSP_TEST_PLANNER_RANDOMMODEL_H
