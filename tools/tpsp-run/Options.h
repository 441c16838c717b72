// The command line of tpsp-run.
#ifndef TPSP_TOOLS_TPSP_RUN_OPTIONS_H
#define TPSP_TOOLS_TPSP_RUN_OPTIONS_H

#include "tpsp/Passes/CompileOptions.h"

#include <set>

namespace tpsp::run {

/// The compiler's options, as they are given, and tpsp-run's own
/// (RunOptions.def).
struct Options : CompileOptions {
#define OPTION(type, field, value, row) type field = value;
#include "RunOptions.def"
#undef OPTION

  /// A model, or, if isPlan, a compiled plan.
  std::string model;
  bool isPlan = false;
  /// Names of the options that the command line has ("model", too).
  std::set<std::string> given;
  /// Names of all options that are of compiling.
  std::vector<std::string> ofCompilation;
  /// Names of those that are left to tpsp-run ("auto"); their fields say
  /// nothing.
  std::set<std::string> automatic;

  bool has(const std::string &name) const { return given.count(name) > 0; }
  bool isAutomatic(const std::string &name) const {
    return automatic.count(name) > 0;
  }
};

/// Exit codes: 0 done, 1 the program or the run failed, 2 wrong usage.
enum Exit { Done = 0, Failed = 1, Usage = 2 };

/// Parses the command line. Returns -1 to go on, else what to exit with (0
/// after --help, 2 after a message about wrong usage).
/// `isSilent`: another process prints the same.
int parseOptions(int argc, char **argv, Options &options,
                 bool isSilent = false);

/// What the options do not allow together, or at all: a sentence with the
/// options' names and the way out. Empty if all is well.
std::string contradictionIn(const Options &options);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_OPTIONS_H
