/// Checkpoints: folders, each whole or not there.
///
///   OUT/step-00000100/parameters.safetensors   whole tensors by name, which
///                                              --weights takes, too
///                     state.safetensors        masters and optimizers' state
///                     training.json            TrainingPosition, and hashes of
///                                              the other two
///
/// Nothing in a checkpoint depends on the mesh, nor on where state lies.
#ifndef TPSP_RUNTIME_TRAIN_CHECKPOINT_H
#define TPSP_RUNTIME_TRAIN_CHECKPOINT_H

#include "tpsp/Runtime/Driver/Files/AgreedFiles.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <memory>
#include <string>

namespace tpsp::train {

/// Where a run is, and what it must go on with.
struct TrainingPosition {
  /// Steps that are done, and samples that they took.
  int64_t step = 0, samples = 0;
  /// Of parameters, data order and masks.
  uint64_t seed = 0;
  /// Of the data: its tokens, and those of a sample.
  int64_t tokens = 0, length = 0;
};

/// Whether every parameter and all state can be written.
rt::Status checkCheckpoint(const Plan &plan);

/// INVALID, with its name, if an element of a parameter or of a state is not
/// finite: no run goes on from that.
rt::Status checkFinite(rt::World &world, const Plan &plan);

/// Writes OUT/step-N and removes all but the last `keep` (0: none). A run that
/// is killed meanwhile, or a disk that is full, leaves the older ones as they
/// are. Of several processes that with rank 0 writes; all must call, and wait
/// for it.
rt::Status saveCheckpoint(rt::World &world, const Plan &plan,
                          const std::string &out,
                          const TrainingPosition &position, int64_t keep);

/// Removes from a run's folder what a killed run was writing. To be called with
/// its RunLock.
void prepareFolder(const std::string &out);

/// Whether a run's folder has checkpoints, whole or not.
bool hasCheckpoints(const std::string &path);

/// The last checkpoint of a run's folder, or `path` itself if it is one.
/// INVALID if there is none, or if the last one has no training.json.
rt::Status findCheckpoint(const std::string &path, std::string &checkpoint);

/// Reads where a checkpoint is, and what its files must be for checkFiles():
/// the three belong together. INVALID for a training.json that is none, and if
/// a file is missing. `warning`: a sentence if it does not say what its files
/// are; else it is left alone.
rt::Status readCheckpoint(const std::string &checkpoint,
                          TrainingPosition &position,
                          std::vector<rt::AgreedFile> &files,
                          std::string &warning);

/// Its tensors. INVALID, with all names, if a parameter or a state of the plan
/// is missing. So is one that the checkpoint has and the plan does not take.
rt::Status openCheckpoint(const std::string &checkpoint, const Plan &plan,
                          std::unique_ptr<rt::TensorSource> others,
                          std::unique_ptr<rt::TensorSource> &out);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_CHECKPOINT_H
