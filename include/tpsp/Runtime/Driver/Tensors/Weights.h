/// A program's parameters in safetensors files. A file holds unsharded tensors
/// under the parameters' names, so it does not depend on the mesh that wrote
/// it. See docs/Weights.md.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_WEIGHTS_H
#define TPSP_RUNTIME_DRIVER_TENSORS_WEIGHTS_H

#include "tpsp/Runtime/Driver/Tensors/SafetensorsSet.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <set>

namespace tpsp::rt {

/// Takes parameters from a file, or from several files that an index names,
/// converted if their types differ. Inputs come from another source.
class WeightsSource final : public TensorSource {
public:
  explicit WeightsSource(std::unique_ptr<TensorSource> inputs)
      : inputs(std::move(inputs)) {}

  /// Opens `path` and checks it against the program's parameters. One error
  /// lists all tensors that are missing, have another shape, or have a type
  /// that cannot be read. A sentence in `warning` lists tensors that the
  /// program does not take, or takes as inputs. The arguments called `given`
  /// come from elsewhere.
  Status open(const std::string &path, const Plan &plan, std::string &warning,
              const std::set<std::string> &given = {});

  /// The paths of all files that are read.
  std::vector<std::string> paths() const { return file.paths(); }

  Status fill(const PlanBuffer &tensor, const Shard &shard,
              void *memory) const override;
  Status whole(const PlanBuffer &tensor,
               std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override {
    return tensor.kind == BufferKind::Parameter || inputs->isGiven(tensor);
  }

private:
  std::unique_ptr<TensorSource> inputs;
  SafetensorsSet file;
};

/// The tensors of a program that are written to a file: its parameters, its
/// optimizers' state, or all arguments, results and gradients.
enum class SavedTensors { Parameters, State, All };

/// Whether these tensors can be written to a file. To be asked before a run
/// rather than after it.
Status checkSavable(const Plan &plan,
                    SavedTensors which = SavedTensors::Parameters);

/// Writes tensors of a world to a file. Each rank writes its parts; of several
/// replicas the first is written. Partial tensors are combined
/// (PartialTensor.h). If the arenas are host memory, no other tensor is copied.
Status saveTensors(World &world, const Plan &plan, const std::string &path,
                   SavedTensors which = SavedTensors::Parameters);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_WEIGHTS_H
