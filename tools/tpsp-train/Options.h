// The command line of tpsp-train.
#ifndef TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H
#define TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H

#include "common/AgreedOptions.h"
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
/// what to exit with. `said`: keeps what would be printed, if it is not null.
int parseOptions(int argc, char **argv, Options &options,
                 std::string *said = nullptr);

/// What all processes of a run must be told alike.
tool::Agreed agreedOptions(const Options &options);

} // namespace tpsp::train

#endif // TPSP_TOOLS_TPSP_TRAIN_OPTIONS_H
