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
  /// Its equations and ledger, if the use is explained and it was compiled.
  std::string explanation;
  /// What keeps `step` where it is; null if nothing need.
  std::shared_ptr<void> code;

  const Plan &plan() const { return *description.plan; }
};

/// Reads and loads the compiled plan options.model. Refuses a plan for another
/// mesh than options.mesh.
rt::Status openPlan(const ToolOptions &options, Program &out);

/// The trace of a step that has not run, with a title and a setting. `how`:
/// "measured on cpu".
StepTrace namedTrace(const rt::PlanDescription &description,
                     const std::string &how);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_PROGRAM_H
