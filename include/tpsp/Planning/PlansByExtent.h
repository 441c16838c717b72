/// The best plan as a function of an index's extent, and the extents at which
/// it changes.
#ifndef TPSP_PLANNING_PLANSBYEXTENT_H
#define TPSP_PLANNING_PLANSBYEXTENT_H

#include "tpsp/Planning/Planning.h"

namespace tpsp {

/// An index, and the range of its extent, which is doubled from first to last.
struct ExtentRange {
  std::string index;
  /// 0: `first` is an eighth of the program's extent, and `last` eight times
  /// the extent.
  int64_t first = 0, last = 0;
};

/// "s", or "s=1024:131072". The error is a sentence.
llvm::Expected<ExtentRange> parseExtentRange(llvm::StringRef text);

/// The planner's answer for one extent.
struct ExtentPlan {
  int64_t extent = 1;
  /// Null if there is none; `problem` then says why.
  std::unique_ptr<Planning> planning;
  std::string problem;

  /// The best plan; null if none fits.
  const planner::Evaluation *best() const;
  /// The subscripts of the best plan; empty if none fits.
  std::string subscripts() const;
};

/// A change of the best plan, with simulations on both sides of it.
struct PlanChange {
  /// At one extent: `before`, the best plan below the change, and `after`, the
  /// best plan above.
  struct Side {
    int64_t extent = 1;
    planner::Evaluation before, after;
  };
  Side below, above;
};

struct PlansByExtent {
  std::string index;
  /// Ascending by extent. The extents are doubled. If the best plans of two
  /// neighbours differ, further extents between them locate the change.
  std::vector<ExtentPlan> plans;
  std::vector<PlanChange> changes;
};

using ExtentProgress =
    std::function<void(int64_t extent, const planner::SearchState &)>;

/// Searches once for each extent; each search has the request's time. If
/// neighbours have different best plans, their distance is halved three times,
/// as long as both plans divide the extent. Fails if the program has no such
/// index.
llvm::Expected<PlansByExtent> planByExtent(mlir::MLIRContext &context,
                                           const PlanningRequest &request,
                                           const ExtentRange &range,
                                           const ExtentProgress &progress);

/// A table with a row for each extent, and a sentence for each change of the
/// best plan with both sides' figures. Ends with a newline.
std::string toText(const PlansByExtent &plans);

} // namespace tpsp

#endif // TPSP_PLANNING_PLANSBYEXTENT_H
