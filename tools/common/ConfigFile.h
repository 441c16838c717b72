// Options from a file.
#ifndef TPSP_TOOLS_COMMON_CONFIGFILE_H
#define TPSP_TOOLS_COMMON_CONFIGFILE_H

#include <CLI/CLI.hpp>

namespace tpsp::tool {

/// Declares --config FILE, whose keys are the names of the app's options, as in
/// `steps = 200`. The command line decides where both say something. A key that
/// is no option is refused with the file and the option that is most like it.
void declareConfigFile(CLI::App &app);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_CONFIGFILE_H
