// The command line of tpsp-train.
#ifndef TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H
#define TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H

#include "common/AgreedOptions.h"
#include "tpsp/Runtime/Train/LearningRate.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

namespace tpsp::train {

/// The options of all tools and those of tpsp-train (TrainOptions.def).
/// Gradients are always computed.
struct Options : tool::ToolOptions {
#define OPTION(type, field, value, row) type field = value;
#include "TrainOptions.def"
#undef OPTION

  Options();
};

/// Parses the command line and the file of --config. Returns -1 to go on, else
/// the exit status. Messages are printed, or stored in `said` if it is not
/// null.
int parseOptions(int argc, char **argv, Options &options,
                 std::string *said = nullptr);

/// Returns the options on which all processes of a run must agree.
tool::Agreed agreedOptions(const Options &options);

} // namespace tpsp::train

#endif // TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H
