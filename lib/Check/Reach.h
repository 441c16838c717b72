/// The tensors that a changed step may change: everything that is computed from
/// the results of its changed commands, or from its changed arguments.
#ifndef TPSP_LIB_CHECK_REACH_H
#define TPSP_LIB_CHECK_REACH_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Check/Change.h"

#include <vector>

namespace tpsp::check {

class Reach {
public:
  Reach(const Plan &plan, const Change &change);

  bool contains(const PlanBuffer &buffer) const {
    return reached[&buffer - plan.buffers.data()];
  }

private:
  void addArguments(const Change &change);
  /// Whether anything was added.
  bool followCommands(const Change &change);

  const Plan &plan;
  std::vector<bool> reached;
};

/// Returns for each command of a plan whether one of these buffers needs it.
/// Commands without accesses, such as events, are needed.
std::vector<bool> neededCommands(const Plan &plan,
                                 const std::vector<const PlanBuffer *> &wanted);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_REACH_H
