/// Options of a compilation by their names, from text.
#ifndef TPSP_PASSES_OPTIONS_SETOPTION_H
#define TPSP_PASSES_OPTIONS_SETOPTION_H

#include "tpsp/Passes/Options/CompileOptions.h"

namespace tpsp {

/// Gives the option of this name ("overlap") the value that its flag would have
/// with this text. Lists are separated by commas. Returns an empty string, or a
/// sentence: there is no such option, or it has no such value.
std::string setOption(CompileOptions &options, const std::string &name,
                      const std::string &text);

} // namespace tpsp

#endif // TPSP_PASSES_OPTIONS_SETOPTION_H
