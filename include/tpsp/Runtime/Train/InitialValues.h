/// The values of a training step's arguments before the first step.
#ifndef TPSP_RUNTIME_TRAIN_INITIALVALUES_H
#define TPSP_RUNTIME_TRAIN_INITIALVALUES_H

#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <memory>

namespace tpsp::train {

/// State begins as zeros, except for masters and for the step's own numbers,
/// which begin as their mean. Cotangents of results other than the loss are
/// zeros, and so are data and scalars, which every step sets. `source` gives
/// all other arguments, and every argument that it has a file for.
class InitialValues final : public rt::TensorSource {
public:
  /// `loss`: the number of the result that is minimised.
  InitialValues(int64_t loss, std::unique_ptr<rt::TensorSource> source)
      : loss(loss), source(std::move(source)) {}

  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  void *memory) const override;
  /// Returns UNSUPPORTED, since training does not need it.
  rt::Status whole(const PlanBuffer &tensor,
                   std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override {
    return source->isGiven(tensor);
  }

private:
  bool beginsAsZero(const PlanBuffer &tensor) const;

  int64_t loss;
  std::unique_ptr<rt::TensorSource> source;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_INITIALVALUES_H
