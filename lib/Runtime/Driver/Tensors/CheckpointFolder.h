/// A folder with a model's weights, as Hugging Face or tpsp-train writes it.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_CHECKPOINTFOLDER_H
#define TPSP_RUNTIME_DRIVER_TENSORS_CHECKPOINTFOLDER_H

#include "tpsp/Abi/Status.h"

#include <string>

namespace tpsp::rt {

/// The file, or the index of files, with a folder's weights; `path` itself if
/// it is no folder. INVALID if the folder has none.
Status weightsFileOf(const std::string &path, std::string &file);

/// Where weights are written: into a folder as the one file of its weights.
std::string weightsFileToWrite(const std::string &path);

/// What the config.json beside a file says its model is; empty if it says
/// nothing.
std::string architectureBeside(const std::string &file);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_CHECKPOINTFOLDER_H
