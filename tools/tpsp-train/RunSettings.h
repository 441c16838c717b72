// The settings of a run that its checkpoints remember.
#ifndef TPSP_TOOLS_TPSP_TRAIN_RUNSETTINGS_H
#define TPSP_TOOLS_TPSP_TRAIN_RUNSETTINGS_H

#include "Options.h"
#include "tpsp/Runtime/Train/Batches.h"
#include "tpsp/Runtime/Train/Checkpoint.h"

namespace tpsp::train {

/// The options with which a run's losses go on as they would have: data order,
/// learning rate and optimizer. By flag, with the values that defaults stand
/// for.
RunSettings settingsOf(const Options &options, const LearningRate &rate,
                       const Batches &data);

/// "--lr 0.001 (here 0.0003), --batch 8 (here 4)"; empty if nothing differs.
/// A setting that one of the two does not know is no difference.
std::string differenceOf(const RunSettings &then, const RunSettings &now);

/// INVALID if the options name another optimizer, or another element type, than
/// those whose state the checkpoint has.
rt::Status checkState(const std::string &checkpoint, const RunSettings &then,
                      const Options &options);

} // namespace tpsp::train

#endif // TPSP_TOOLS_TPSP_TRAIN_RUNSETTINGS_H
