// Reading options from a file.
#ifndef TPSP_TOOLS_COMMON_CONFIGFILE_H
#define TPSP_TOOLS_COMMON_CONFIGFILE_H

#include <CLI/CLI.hpp>

namespace tpsp::tool {

/// Declares --config FILE. Its keys are the names of the app's options, as in
/// `steps = 200`. An option on the command line overrides the file's value. An
/// unknown key is an error, which names the file and the most similar option.
void declareConfigFile(CLI::App &app);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_CONFIGFILE_H
