/// Which plan is the best as an index of the program gets longer, and from
/// which extent on another is.
#ifndef TPSP_PLANNING_PLANSBYEXTENT_H
#define TPSP_PLANNING_PLANSBYEXTENT_H

#include "tpsp/Planning/Planning.h"

namespace tpsp {

/// An index, and the extents between which it is doubled.
struct ExtentRange {
  std::string index;
  /// 0: an eighth of the program's extent, and eight times as much.
  int64_t first = 0, last = 0;
};

/// "s", or "s=1024:131072". The error is a sentence.
llvm::Expected<ExtentRange> parseExtentRange(llvm::StringRef text);

/// The planner's answer for one extent.
struct ExtentPlan {
  int64_t extent = 1;
  /// Null if `problem` says why there is none.
  std::unique_ptr<Planning> planning;
  std::string problem;

  /// The best plan; null if there is none that fits.
  const planner::Evaluation *best() const;
  /// The subscripts of the best plan; empty if there is none.
  std::string subscripts() const;
};

/// Where the best plan changes, simulated on both sides.
struct PlanChange {
  /// The plan that is the best below, and the one that is above.
  struct Side {
    int64_t extent = 1;
    planner::Evaluation before, after;
  };
  Side below, above;
};

struct PlansByExtent {
  std::string index;
  /// Ascending. Doubled; and, where the best plans of two extents differ, those
  /// between which halving shows where.
  std::vector<ExtentPlan> plans;
  std::vector<PlanChange> changes;
};

using ExtentProgress =
    std::function<void(int64_t extent, const planner::SearchState &)>;

/// Searches once for each extent; each search has the request's time. Where
/// neighbours have different best plans, the distance is halved three times, as
/// long as both plans divide the extent. Fails if the program has no such
/// index.
llvm::Expected<PlansByExtent> planByExtent(mlir::MLIRContext &context,
                                           const PlanningRequest &request,
                                           const ExtentRange &range,
                                           const ExtentProgress &progress);

/// A table, a row for each extent, and a sentence for each change of the best
/// plan with both sides' figures. Ends with a newline.
std::string toText(const PlansByExtent &plans);

} // namespace tpsp

#endif // TPSP_PLANNING_PLANSBYEXTENT_H
