/// Folders with a model's weights, as Hugging Face or tpsp-train writes them.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_CHECKPOINTFOLDER_H
#define TPSP_RUNTIME_DRIVER_TENSORS_CHECKPOINTFOLDER_H

#include "tpsp/Abi/Status.h"

#include <string>

namespace tpsp::rt {

/// Sets `file` to the folder's file of weights, or to its index of files. If
/// `path` is not a folder, `file` is `path`. INVALID if the folder has no
/// weights.
Status weightsFileOf(const std::string &path, std::string &file);

/// The path at which weights are written. In a folder, it is that of its single
/// file of weights.
std::string weightsFileToWrite(const std::string &path);

/// The model's architecture according to the config.json in the file's folder;
/// empty if it names none.
std::string architectureBeside(const std::string &file);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_CHECKPOINTFOLDER_H
