// The options that all tools which run programs share.
#ifndef TPSP_TOOLS_COMMON_TOOLOPTIONS_H
#define TPSP_TOOLS_COMMON_TOOLOPTIONS_H

#include "tpsp/Passes/Options/CompileOptions.h"

#include <set>
#include <string>
#include <vector>

namespace tpsp::tool {

/// TPSP_CODE_EFFORT of the environment; "full" if it is not set.
std::string defaultCodeEffort();

/// The compiler's options as given on the command line, and the options that
/// all tools share (ToolOptions.def).
struct ToolOptions : CompileOptions {
#define OPTION(type, field, value, row) type field = value;
#include "ToolOptions.def"
#undef OPTION

  /// "tpsp-run", for messages.
  std::string tool;
  /// A model, or, if isPlan, a compiled plan.
  std::string model;
  bool isPlan = false;
  /// Names of the options given on the command line, including "model".
  std::set<std::string> given;
  /// Names of all options that affect compiling only.
  std::vector<std::string> ofCompilation;
  /// Names of the options whose value is "auto". The tool decides them, and
  /// their fields have no meaning.
  std::set<std::string> automatic;

  bool has(const std::string &name) const { return given.count(name) > 0; }
  bool isAutomatic(const std::string &name) const {
    return automatic.count(name) > 0;
  }
};

/// Exit codes. 0: done. 1: the program or the run failed. 2: wrong usage. 3:
/// the predicted step needs more memory than the machine has. 4: no result is
/// wrong, but some are not finite, so that they verify nothing.
enum Exit { Done = 0, Failed = 1, Usage = 2, TooLarge = 3, NotVerified = 4 };

/// Options that contradict each other, as a row of a table.
struct Contradiction {
  bool holds;
  /// The row applies if `holds` and one of these is given; if the list is
  /// empty, if `holds`.
  std::vector<std::string> names;
  /// {} stands for the option, such as "--save".
  const char *message;
};

/// Returns the message of the first row that applies, or an empty string.
std::string firstOf(const std::vector<Contradiction> &rows,
                    const ToolOptions &options);

/// Returns a message about options that every tool rejects, or an empty string.
/// Such are a compiler's option for a compiled plan, an axis with two sizes, an
/// unknown backend, or an option without the one it needs.
std::string commonContradictionIn(const ToolOptions &options);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_TOOLOPTIONS_H
