// What the tools that run programs have in common on their command lines.
#ifndef TPSP_TOOLS_COMMON_TOOLOPTIONS_H
#define TPSP_TOOLS_COMMON_TOOLOPTIONS_H

#include "tpsp/Passes/Options/CompileOptions.h"

#include <set>
#include <string>
#include <vector>

namespace tpsp::tool {

/// The compiler's options, as they are given, and those of all tools
/// (ToolOptions.def).
struct ToolOptions : CompileOptions {
#define OPTION(type, field, value, row) type field = value;
#include "ToolOptions.def"
#undef OPTION

  /// "tpsp-run", for messages.
  std::string tool;
  /// A model, or, if isPlan, a compiled plan.
  std::string model;
  bool isPlan = false;
  /// Names of the options that the command line has ("model", too).
  std::set<std::string> given;
  /// Names of all options that are of compiling.
  std::vector<std::string> ofCompilation;
  /// Names of those that are left to the tool ("auto"); their fields say
  /// nothing.
  std::set<std::string> automatic;

  bool has(const std::string &name) const { return given.count(name) > 0; }
  bool isAutomatic(const std::string &name) const {
    return automatic.count(name) > 0;
  }
};

/// Exit codes: 0 done, 1 the program or the run failed, 2 wrong usage, 3 what
/// was predicted needs more memory than there is, 4 results that are not finite
/// verify nothing.
enum Exit { Done = 0, Failed = 1, Usage = 2, TooLarge = 3, NotVerified = 4 };

/// A row of what does not go together.
struct Contradiction {
  bool holds;
  /// It is about each of these that is given; if empty, about `holds` alone.
  std::vector<std::string> names;
  /// {} is the option, "--save".
  const char *message;
};

/// The message of the first row that applies; empty if none does.
std::string firstOf(const std::vector<Contradiction> &rows,
                    const ToolOptions &options);

/// What no tool allows. It is an option too late for a compiled plan, an axis
/// of two sizes, an unknown backend, or options that need others. Empty if all
/// is well.
std::string commonContradictionIn(const ToolOptions &options);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_TOOLOPTIONS_H
