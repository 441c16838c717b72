// The command line of tpsp-train.
#ifndef TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H
#define TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H

#include "common/ToolOptions.h"
#include "tpsp/Runtime/Train/LearningRate.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

namespace tpsp::train {

/// With tpsp-train's own (TrainOptions.def). Gradients are always computed.
struct Options : tool::ToolOptions {
#define OPTION(type, field, value, row) type field = value;
#include "TrainOptions.def"
#undef OPTION

  Options();
};

/// Parses the command line and the file of --config. Returns -1 to go on, else
/// what to exit with. `isSilent`: another process prints the same.
int parseOptions(int argc, char **argv, Options &options, bool isSilent);

} // namespace tpsp::train

#endif // TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H
