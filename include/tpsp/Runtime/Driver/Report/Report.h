/// What a run has to say, as JSON and as tables.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_REPORT_H
#define TPSP_RUNTIME_DRIVER_REPORT_REPORT_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"
#include "tpsp/Runtime/Driver/Report/StepResults.h"

#include <optional>

namespace tpsp::rt {

/// What a simulation says besides the step's time and trace.
struct Prediction {
  /// The description's name.
  std::string hardware;
  /// What its figures rest on: "measured", "published", "derived" or "assumed",
  /// and which.
  std::vector<std::pair<std::string, std::string>> basis;
  /// Commands of one kind, in the order of their first.
  struct Kind {
    std::string name; ///< "matmul", "kernel", "all_gather", ...
    int64_t commands = 0;
    double seconds = 0;
  };
  std::vector<Kind> kinds;
  /// Seconds in which stream 0 computes.
  double computing = 0;
  /// Shares of the data sheet's matmul peak and of the links' bandwidth, 0 to
  /// 1.
  double matmulUtilisation = 0, linkUtilisation = 0;
  /// Bytes in use at the peak, when that is, and what they are: largest first.
  int64_t peakBytes = 0;
  double peakSeconds = 0;
  struct Buffer {
    std::string name; ///< empty for most temporaries
    int64_t bytes = 0;
  };
  std::vector<Buffer> liveAtPeak;
  /// What a device, or the machine, has for all ranks on it, and what they need
  /// there: an arena each.
  int64_t memoryBytes = 0, neededBytes = 0;

  bool fits() const { return neededBytes <= memoryBytes; }
};

/// What a verification comes to.
enum class Verdict {
  Passed,
  /// Some results are infinite or NaN, as the reference or its rounding is.
  /// They show nothing of the run.
  NotFinite,
  Failed
};

/// A mistake that was planted in a result, to see whether it would be seen.
struct PlantedResult {
  std::string name;
  /// "1 % too large", "1 % too large on rank 3".
  std::string mistake;
  bool isSeen = false;
  /// Why not, if that is known: "is zero".
  std::string reason;
};

struct RunReport {
  /// Never null.
  std::shared_ptr<const Plan> plan = std::make_shared<Plan>();
  std::string backend;
  /// "f32", "bf16" or "f16".
  std::string dtype;
  double compileSeconds = 0;
  /// Seconds of each step, in order; the first also makes what later ones
  /// reuse.
  std::vector<double> stepSeconds;
  /// For how long a GPU, the slowest, ran each step that was replayed as a
  /// graph.
  std::vector<double> gpuSeconds;
  /// When what ran in the last step, or would run; without ranks if that is not
  /// known.
  StepTrace trace;
  /// Results of the last step; empty if nothing was run.
  StepResults results;
  /// Empty unless verified.
  std::vector<TensorError> errors;
  /// Whether a verification passes though results are not finite.
  bool acceptsNotFinite = false;
  /// Where numbers that are not finite come from, a line each.
  std::vector<std::string> notFiniteSources;
  /// Empty unless --verify=selftest.
  std::vector<PlantedResult> planted;
  double verifySeconds = 0;
  /// Peak resident memory of the process before verification, all ranks.
  int64_t residentBytes = 0;
  /// The program's equations and ledger (tpsp-opt --tpsp-explain), for a page;
  /// empty if nobody asked, and of a compiled plan.
  std::string explanation;
  /// If nothing was run: stepSeconds are predicted.
  std::optional<Prediction> prediction;

  /// The verdict on `errors`; Failed if there are none.
  Verdict verdict() const;
  bool verified() const { return verdict() == Verdict::Passed; }
  /// The largest tolerance of a compared tensor; 0 if there is none.
  double tolerance() const;
};

/// The peak resident memory of this process, in bytes; 0 if unknown.
int64_t peakResidentBytes();

/// The median of the steps' seconds; 0 if there was none.
double medianStep(const RunReport &report);

/// Keys as in docs/Report.md.
std::string toJson(const RunReport &report);

/// Aligned tables for a terminal.
std::string toText(const RunReport &report, bool everyLayer = false);

/// Of them, what is said of a verification; that there was nothing to compare
/// if there was not.
std::string verificationText(const RunReport &report);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_REPORT_H
