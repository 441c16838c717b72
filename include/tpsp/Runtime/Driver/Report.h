/// What a run has to say, as JSON and as tables.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_H
#define TPSP_RUNTIME_DRIVER_REPORT_H

#include "tpsp/Runtime/Driver/Comparison.h"
#include "tpsp/Runtime/Manifest.h"

#include <optional>

namespace tpsp::rt {

struct RunReport {
  Manifest manifest;
  std::string backend;
  /// "f32" or "bf16".
  std::string dtype;
  double compileSeconds = 0;
  /// Of each step, in order; the first also makes what later ones reuse.
  std::vector<double> stepSeconds;
  /// Empty unless verified.
  std::vector<TensorError> errors;
  double tolerance = 0;
  double verifySeconds = 0;
  /// Peak resident memory of the process before verification, all ranks.
  int64_t residentBytes = 0;

  bool verified() const;
};

/// The peak resident memory of this process, in bytes; 0 if unknown.
int64_t peakResidentBytes();

/// Keys as in docs/Report.md.
std::string toJson(const RunReport &report);

/// Aligned tables for a terminal.
std::string toText(const RunReport &report);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_H
