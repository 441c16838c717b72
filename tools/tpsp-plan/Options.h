// The command line of tpsp-plan.
#ifndef TPSP_TOOLS_TPSP_PLAN_OPTIONS_H
#define TPSP_TOOLS_TPSP_PLAN_OPTIONS_H

#include "common/ToolOptions.h"

namespace tpsp::plantool {

struct Options : tool::ToolOptions {
#define OPTION(type, field, value, row) type field = value;
#include "PlanOptions.def"
#undef OPTION

  Options();

  /// --memory in bytes; 0 if it is not given.
  int64_t memoryBytes = 0;

  /// Whether the placed program is what goes to standard output.
  bool printsProgram() const { return output == "-"; }
};

/// Fills in `options`, or returns the status to exit with: what was asked for
/// is printed, or what is wrong.
int parseOptions(int argc, char **argv, Options &options);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_OPTIONS_H
