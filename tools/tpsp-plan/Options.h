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

  /// Whether standard output gets the placed program instead of the table.
  bool printsProgram() const { return output == "-"; }
};

/// Parses the command line. Returns -1 to go on, else the exit status, after
/// printing the help or an error.
int parseOptions(int argc, char **argv, Options &options);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_OPTIONS_H
