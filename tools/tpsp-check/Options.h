// The command line of tpsp-check.
#ifndef TPSP_TOOLS_TPSP_CHECK_OPTIONS_H
#define TPSP_TOOLS_TPSP_CHECK_OPTIONS_H

#include "common/ToolOptions.h"

namespace tpsp::checktool {

/// The options of all tools and those of tpsp-check (CheckOptions.def).
struct Options : tool::ToolOptions {
#define OPTION(type, field, value, row) type field = value;
#include "CheckOptions.def"
#undef OPTION

  Options();
};

/// Parses the command line. Returns -1 to go on, else the exit status, after a
/// message.
int parseOptions(int argc, char **argv, Options &options);

} // namespace tpsp::checktool

#endif // TPSP_TOOLS_TPSP_CHECK_OPTIONS_H
