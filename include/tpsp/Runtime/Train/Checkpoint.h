/// Checkpoints are folders that are written completely or not at all.
///
///   OUT/step-00000100/parameters.safetensors   whole tensors by name, which
///                                              --weights takes, too
///                     state.safetensors        masters and optimizers' state
///                     training.json            TrainingPosition, and hashes of
///                                              the other two
///
/// A checkpoint depends neither on the mesh nor on the placement of state.
#ifndef TPSP_RUNTIME_TRAIN_CHECKPOINT_H
#define TPSP_RUNTIME_TRAIN_CHECKPOINT_H

#include "tpsp/Runtime/Driver/Files/AgreedFiles.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <map>
#include <memory>
#include <string>

namespace tpsp::train {

/// Options of a run, by flag, and their values.
using RunSettings = std::map<std::string, std::string>;

/// The position of a run, and the settings that it must continue with.
struct TrainingPosition {
  /// Completed steps, and the samples that they took.
  int64_t step = 0, samples = 0;
  /// The seed of parameters, data order and masks.
  uint64_t seed = 0;
  /// The number of tokens in the data, and in a sample.
  int64_t tokens = 0, length = 0;
  /// Settings that a resumed run may change. Empty for an older checkpoint.
  RunSettings settings;
};

/// Whether every parameter and all state can be written.
rt::Status checkCheckpoint(const Plan &plan);

/// INVALID, with the tensor's name, if an element of a parameter or of state is
/// not finite: no run can continue from it.
rt::Status checkFinite(rt::World &world, const Plan &plan);

/// Writes OUT/step-N and removes all checkpoints but the last `keep` (0:
/// removes none). If the run is killed meanwhile, or the disk is full, older
/// checkpoints stay as they are. With several processes, the one with rank 0
/// writes; all must call, and wait for it.
rt::Status saveCheckpoint(rt::World &world, const Plan &plan,
                          const std::string &out,
                          const TrainingPosition &position, int64_t keep);

/// Removes incomplete files of a killed run from a run's folder. The caller
/// must hold its RunLock.
void prepareFolder(const std::string &out);

/// Whether a run's folder has checkpoints, complete or not.
bool hasCheckpoints(const std::string &path);

/// The last checkpoint of a run's folder, or `path` itself if it is one.
/// INVALID if there is none, or if the last one has no training.json.
rt::Status findCheckpoint(const std::string &path, std::string &checkpoint);

/// Reads the position of a checkpoint, and what checkFiles() should expect of
/// its files, which must belong together. INVALID if training.json is
/// malformed, or if a file is missing. `warning` becomes a sentence if
/// training.json has no hashes of the files; otherwise it is not changed.
rt::Status readCheckpoint(const std::string &checkpoint,
                          TrainingPosition &position,
                          std::vector<rt::AgreedFile> &files,
                          std::string &warning);

/// Opens a checkpoint's tensors. INVALID, with all names, if a parameter or a
/// state of the plan is missing. INVALID if the checkpoint has one that the
/// plan does not take.
rt::Status openCheckpoint(const std::string &checkpoint, const Plan &plan,
                          std::unique_ptr<rt::TensorSource> others,
                          std::unique_ptr<rt::TensorSource> &out);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_CHECKPOINT_H
