/// Makes a tpsp program from an archive of torch.export.save.
///
///   TorchImported model;
///   TPSP_TRY(importTorch("model.pt2", options, model));
///   std::puts(model.program.c_str());
///
/// The program computes the module's outputs. Its parameters have the module's
/// names and shapes. docs/PyTorch.md lists what is imported.
#ifndef TPSP_IMPORT_TORCH_H
#define TPSP_IMPORT_TORCH_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tpsp::import {

struct TorchOptions {
  /// "tp-sp", "fsdp", ...; empty: nothing is sharded.
  std::string strategy;
  /// "tp=4,dp=2"; empty: two ranks per axis.
  std::string mesh;
  /// Names of indices in place of those that are chosen: "e" to "hidden".
  std::map<std::string, std::string> names;
  /// Extents of dynamic dimensions of inputs: "ids.1" to 64.
  std::map<std::string, int64_t> extents;
  /// The loss that is added: "cross-entropy", "mse"; empty: none.
  std::string loss;
  /// The name of the input that the added loss compares with.
  std::string targets = "labels";
  /// Whether attention, norms and rotations become operations of their own.
  bool recognises = true;
  /// Whether equal layers become one function.
  bool rollsUp = true;
};

/// A tensor that the program takes and the archive has, or that the import
/// computed.
struct TorchTensor {
  std::string name;
  /// "F32", "BF16", "F16", "F64" or "I32", as safetensors call them.
  std::string dtype;
  std::vector<int64_t> sizes;
  /// Whether it is an input of the program: integers are no parameters.
  bool isInput = false;
  /// Writes the elements, row-major. INVALID if the archive lacks them.
  std::function<rt::Status(std::string &)> read;
};

/// How often operations were recognised.
struct TorchCounts {
  int64_t attentions = 0, attentionsWithBias = 0, rotations = 0, norms = 0,
          losses = 0, repeats = 0;
};

struct TorchImported {
  std::string program;
  /// Elements of all parameters that have gradients; a tied one counts once.
  int64_t parameters = 0;
  std::vector<TorchTensor> tensors;
  TorchCounts counts;
};

/// Whether a file is an archive: it begins as zip files do, or is called so.
bool isTorchArchive(const std::string &path);

/// INVALID if the file is no archive, is damaged, or has operations that a
/// program cannot express. All of these are listed, with the module and the
/// line of the source that calls each.
rt::Status importTorch(const std::string &path, const TorchOptions &options,
                       TorchImported &out);

} // namespace tpsp::import

#endif // TPSP_IMPORT_TORCH_H
