// --sample: text from a trained model.
#ifndef TPSP_TOOLS_TPSP_TRAIN_SAMPLE_H
#define TPSP_TOOLS_TPSP_TRAIN_SAMPLE_H

#include "Options.h"

#include "tpsp/Abi/Status.h"

namespace tpsp::train {

/// Whether the options ask for text, and not for training.
bool samples(const Options &options);

/// Compiles the forward pass, takes the parameters of --resume or --weights,
/// and prints the beginning with its continuation.
rt::Status sample(Options options);

} // namespace tpsp::train

#endif // TPSP_TOOLS_TPSP_TRAIN_SAMPLE_H
