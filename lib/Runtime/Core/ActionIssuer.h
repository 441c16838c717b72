/// Issues the segments of a plan's step in the order of its stage.
#ifndef TPSP_RUNTIME_CORE_ACTIONISSUER_H
#define TPSP_RUNTIME_CORE_ACTIONISSUER_H

#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Runtime/Backend.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace tpsp::rt {

class ActionIssuer {
public:
  using StepFunction = tpsp_rt_status (*)(tpsp_rt_rank *, int64_t segment);

  /// Issues one step of `plan`, whose function is `issue`, on `rank`. Streams
  /// wait for each other by the events of actions (eventOfAction()).
  /// Allocates only on a plan's first step.
  tpsp_rt_status issue(tpsp_rt_rank &rank, StepFunction issue,
                       const Plan &plan);

private:
  /// A command to record an event or to wait for it.
  struct EventIssue {
    tpsp_rt_command command;
    std::vector<int64_t> params;
  };
  /// A plan's actions, and for each the event commands around it.
  struct Step {
    StepOrder order;
    /// The numbers of the actions, as they are issued.
    std::vector<size_t> sequence;
    /// The groups that communicate; empty without stages.
    std::vector<GroupUse> groups;
    std::vector<std::vector<std::unique_ptr<EventIssue>>> waits;
    std::vector<std::unique_ptr<EventIssue>> records;
  };

  static Status prepare(const tpsp_rt_rank &rank, const Plan &plan,
                        std::unique_ptr<Step> &out);
  /// Issues action `number` of the step's order, and its event commands.
  static tpsp_rt_status issueAction(tpsp_rt_rank &rank, StepFunction issue,
                                    const Step &step, size_t number);
  /// The numbers of the order's actions. A send passes the action before
  /// it, unless it waits for that. A rank of a CPU computes while it issues, so
  /// the send would be late. The actions of a stream keep their order.
  static std::vector<size_t> sendingFirst(const StepOrder &order,
                                          const Plan &plan);
  static std::unique_ptr<EventIssue> eventIssue(int64_t event, int64_t stream);

  std::unordered_map<StepFunction, std::unique_ptr<Step>> steps;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_ACTIONISSUER_H
