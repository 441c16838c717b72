/// A program's parameters in safetensors files: whole (unsharded) tensors under
/// the parameters' names, so that a file does not depend on the mesh that wrote
/// it. See docs/Weights.md.
#ifndef TPSP_RUNTIME_DRIVER_WEIGHTS_H
#define TPSP_RUNTIME_DRIVER_WEIGHTS_H

#include "tpsp/Runtime/Driver/SafetensorsSet.h"
#include "tpsp/Runtime/Driver/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <set>

namespace tpsp::rt {

/// Parameters from a file, or from several that an index names, converted if
/// their types differ; inputs from another source.
class WeightsSource final : public TensorSource {
public:
  explicit WeightsSource(std::unique_ptr<TensorSource> inputs)
      : inputs(std::move(inputs)) {}

  /// Opens `path` and holds it against the program's parameters. What is
  /// missing, or has another shape or a type that cannot be read, is one error;
  /// tensors that the program does not take, or takes as inputs, are a sentence
  /// in `warning`. The arguments called `given` come from elsewhere.
  Status open(const std::string &path, const Manifest &manifest,
              std::string &warning, const std::set<std::string> &given = {});

  Status fill(const ManifestTensor &tensor, const Shard &shard,
              void *memory) const override;
  Status whole(const ManifestTensor &tensor,
               std::vector<double> &out) const override;
  bool isGiven(const ManifestTensor &tensor) const override {
    return tensor.kind == ManifestTensor::Kind::Parameter ||
           inputs->isGiven(tensor);
  }

private:
  std::unique_ptr<TensorSource> inputs;
  SafetensorsSet file;
};

/// Which tensors of a program go to a file: its parameters, or all arguments,
/// results and gradients.
enum class SavedTensors { Parameters, All };

/// Whether these can be written to a file: to be asked before a run rather than
/// after it.
Status checkSavable(const Manifest &manifest,
                    SavedTensors which = SavedTensors::Parameters);

/// Writes tensors of a world to a file, each rank its part of each; of replicas
/// the first. Partial ones are completed (PartialTensor.h). Holds no other
/// tensor in memory if the arenas are host memory.
Status saveTensors(World &world, const Manifest &manifest,
                   const std::string &path,
                   SavedTensors which = SavedTensors::Parameters);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_WEIGHTS_H
