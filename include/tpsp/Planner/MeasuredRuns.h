/// Measured steps of the user, as a file of lines:
///
///   model,devices,plan,seconds,bytes
///   gpt-1b.mlir,8,FSDP 8,2.8,61e9
#ifndef TPSP_PLANNER_MEASUREDRUNS_H
#define TPSP_PLANNER_MEASUREDRUNS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp::planner {

/// A row of the user's file. A plan is named as by --compare.
struct MeasuredRun {
  std::string plan;
  /// Seconds of a step, and the peak of a rank in bytes; 0 if not measured.
  double seconds = 0;
  int64_t bytes = 0;

  /// The step of the row, if it is another. Empty or 0: as for the plans that
  /// are searched.
  std::string model = {}, rematerialize = {};
  int64_t devices = 0, microBatches = 0;

  /// Whether the row says any of these.
  bool isOfOtherStep() const {
    return !model.empty() || !rematerialize.empty() || devices > 0 ||
           microBatches > 0;
  }
  /// "gpt-1b.mlir, 8 devices": model and devices, as far as the row says them.
  std::string step() const;
};

/// Parses lines below a header, which names the columns in any order. "plan",
/// "seconds" and "bytes" are needed. Those of a row's own step may be there:
/// "model", "devices", "micro_batches" and "rematerialize". Cells with commas
/// are quoted; a quote within is written twice. An error names the line and the
/// value.
llvm::Expected<std::vector<MeasuredRun>> parseRuns(llvm::StringRef text);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_MEASUREDRUNS_H
