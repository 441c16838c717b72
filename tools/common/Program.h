// A program that can be run: compiled in memory, or read from a compiled plan.
#ifndef TPSP_TOOLS_COMMON_PROGRAM_H
#define TPSP_TOOLS_COMMON_PROGRAM_H

#include "ToolOptions.h"

#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include <memory>

namespace tpsp::tool {

struct Program {
  rt::PlanDescription description;
  rt::StepFunction step = nullptr;
  /// The program's equations and ledger; empty unless it was compiled with
  /// use.isExplained.
  std::string explanation;
  /// Keeps the code of `step` loaded; null if the process keeps it anyway.
  std::shared_ptr<void> code;

  const Plan &plan() const { return *description.plan; }
};

/// Reads and loads the compiled plan options.model. Fails if it was compiled
/// for another mesh than options.mesh.
rt::Status openPlan(const ToolOptions &options, Program &out);

/// Returns an empty trace of the plan, with a title and a setting. `how` is
/// such as "measured on cpu".
StepTrace namedTrace(const rt::PlanDescription &description,
                     const std::string &how);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_PROGRAM_H
