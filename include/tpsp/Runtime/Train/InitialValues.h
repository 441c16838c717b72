/// What the arguments of a training step are before the first one.
#ifndef TPSP_RUNTIME_TRAIN_INITIALVALUES_H
#define TPSP_RUNTIME_TRAIN_INITIALVALUES_H

#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <memory>

namespace tpsp::train {

/// State begins as zeros, but for masters, and numbers of the step's own as
/// their mean. Cotangents of other results than the loss are zeros. So are data
/// and scalars, which every step sets. All else is from `source`.
class InitialValues final : public rt::TensorSource {
public:
  /// `loss`: the number of the result that is minimised.
  InitialValues(int64_t loss, std::unique_ptr<rt::TensorSource> source)
      : loss(loss), source(std::move(source)) {}

  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  void *memory) const override;
  /// Not for training: UNSUPPORTED.
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
