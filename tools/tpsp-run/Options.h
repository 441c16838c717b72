// The command line of tpsp-run.
#ifndef TPSP_TOOLS_TPSP_RUN_OPTIONS_H
#define TPSP_TOOLS_TPSP_RUN_OPTIONS_H

#include "common/AgreedOptions.h"

namespace tpsp::run {

using namespace tool;

/// The options of all tools and those of tpsp-run (RunOptions.def).
struct Options : ToolOptions {
#define OPTION(type, field, value, row) type field = value;
#include "RunOptions.def"
#undef OPTION

  Options() { tool = "tpsp-run"; }
};

/// Parses the command line. Returns -1 to go on, else the exit status: 0 after
/// --help, 2 after a message about wrong usage. Messages are printed, or stored
/// in `said` if it is not null.
int parseOptions(int argc, char **argv, Options &options,
                 std::string *said = nullptr);

/// Returns the options on which all processes of a run must agree.
Agreed agreedOptions(const Options &options);

/// Returns a sentence about options that contradict each other or have no
/// effect, with their names and a way out. Empty if there are none.
std::string contradictionIn(const Options &options);
/// The same for a model whose layers no axis divides: it has no stages.
std::string contradictionWithoutStages(const Options &options);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_OPTIONS_H
