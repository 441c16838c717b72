// The command line of tpsp-run.
#ifndef TPSP_TOOLS_TPSP_RUN_OPTIONS_H
#define TPSP_TOOLS_TPSP_RUN_OPTIONS_H

#include "common/AgreedOptions.h"

namespace tpsp::run {

using namespace tool;

/// With tpsp-run's own (RunOptions.def).
struct Options : ToolOptions {
#define OPTION(type, field, value, row) type field = value;
#include "RunOptions.def"
#undef OPTION

  Options() { tool = "tpsp-run"; }
};

/// Parses the command line. Returns -1 to go on, else what to exit with (0
/// after --help, 2 after a message about wrong usage). `said`: keeps what would
/// be printed, if it is not null.
int parseOptions(int argc, char **argv, Options &options,
                 std::string *said = nullptr);

/// What all processes of a run must be told alike.
Agreed agreedOptions(const Options &options);

/// What the options do not allow together, or at all: a sentence with the
/// options' names and the way out. Empty if all is well.
std::string contradictionIn(const Options &options);
/// Likewise of a model whose layers no axis divides.
std::string contradictionWithoutStages(const Options &options);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_OPTIONS_H
