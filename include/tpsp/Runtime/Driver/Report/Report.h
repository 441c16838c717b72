/// The report of a run, as JSON and as tables.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_REPORT_H
#define TPSP_RUNTIME_DRIVER_REPORT_REPORT_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"
#include "tpsp/Runtime/Driver/Report/StepResults.h"

#include <optional>

namespace tpsp::rt {

/// The results of a simulation apart from the step's time and trace.
struct Prediction {
  /// The hardware description's name.
  std::string hardware;
  /// How each of its figures was obtained ("measured", "published", "derived"
  /// or "assumed"), and which figures those are.
  std::vector<std::pair<std::string, std::string>> basis;
  /// Commands of one kind. Kinds are in the order of their first command.
  struct Kind {
    std::string name; ///< "matmul", "kernel", "all_gather", ...
    int64_t commands = 0;
    double seconds = 0;
  };
  std::vector<Kind> kinds;
  /// Seconds in which stream 0 computes.
  double computing = 0;
  /// Fractions, 0 to 1, of the data sheet's matmul peak and of the links'
  /// bandwidth.
  double matmulUtilisation = 0, linkUtilisation = 0;
  /// Bytes in use at the peak, the time of the peak, and the buffers then in
  /// use, largest first.
  int64_t peakBytes = 0;
  double peakSeconds = 0;
  struct Buffer {
    std::string name; ///< empty for most temporaries
    int64_t bytes = 0;
  };
  std::vector<Buffer> liveAtPeak;
  /// Memory of a device (or of the machine), and the bytes that the arenas of
  /// all ranks on it need.
  int64_t memoryBytes = 0, neededBytes = 0;

  bool fits() const { return neededBytes <= memoryBytes; }
};

/// The outcome of a verification.
enum class Verdict {
  Passed,
  /// Some results are infinite or NaN, and so are the reference or its
  /// rounding. They say nothing about the run.
  NotFinite,
  Failed
};

/// A mistake that was planted in a result to test whether verification detects
/// it.
struct PlantedResult {
  std::string name;
  /// "1 % too large", "1 % too large on rank 3".
  std::string mistake;
  bool isSeen = false;
  /// Why it was not detected, if that is known: "is zero".
  std::string reason;
};

struct RunReport {
  /// Never null.
  std::shared_ptr<const Plan> plan = std::make_shared<Plan>();
  std::string backend;
  /// "f32", "bf16" or "f16".
  std::string dtype;
  double compileSeconds = 0;
  /// Seconds of each step, in order. The first includes preparation that later
  /// steps reuse.
  std::vector<double> stepSeconds;
  /// Seconds that the slowest GPU ran each step that was replayed as a graph.
  std::vector<double> gpuSeconds;
  /// The measured or predicted times of the last step's commands; without ranks
  /// if they are not known.
  StepTrace trace;
  /// Results of the last step; empty if nothing was run.
  StepResults results;
  /// Empty unless verified.
  std::vector<TensorError> errors;
  /// Whether a verification passes although results are not finite.
  bool acceptsNotFinite = false;
  /// The sources of numbers that are not finite, one line each.
  std::vector<std::string> notFiniteSources;
  /// Empty unless --verify=selftest.
  std::vector<PlantedResult> planted;
  double verifySeconds = 0;
  /// Peak resident memory of the process before verification, all ranks.
  int64_t residentBytes = 0;
  /// The program's equations and ledger (tpsp-opt --tpsp-explain), for a page.
  /// Empty if they were not asked for, and for a compiled plan.
  std::string explanation;
  /// Set if nothing was run: stepSeconds are then predicted.
  std::optional<Prediction> prediction;

  /// The verdict on `errors`; Failed if there are none.
  Verdict verdict() const;
  bool verified() const { return verdict() == Verdict::Passed; }
  /// The largest tolerance of a compared tensor; 0 if there is none.
  double tolerance() const;
};

/// The peak resident memory of this process, in bytes; 0 if unknown.
int64_t peakResidentBytes();

/// The median of the steps' seconds; 0 if there are no steps.
double medianStep(const RunReport &report);

/// The report as JSON; docs/Report.md lists the keys.
std::string toJson(const RunReport &report);

/// Aligned tables for a terminal.
std::string toText(const RunReport &report, bool everyLayer = false);

/// The part of the text about verification. If nothing was compared, it says
/// so.
std::string verificationText(const RunReport &report);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_REPORT_H
