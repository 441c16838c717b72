/// Losses of a tensor, which a module computes or an import adds.
#ifndef TPSP_IMPORT_TORCH_LOSSES_H
#define TPSP_IMPORT_TORCH_LOSSES_H

#include "Builder.h"

namespace tpsp::import::torch {

/// How the losses of all positions become one, by ATen's numbers.
enum class Reduction { None = 0, Mean = 1, Sum = 2 };

/// The cross-entropy of labels along the dimension `classes` of x. Labels below
/// 0 do not count.
Tensor crossEntropy(Builder &build, Tensor x, Tensor targets, size_t classes,
                    Reduction how);

/// x - log(sum(exp(x))) along a dimension.
Tensor logSoftmax(Builder &build, const Tensor &x, size_t dim);

/// The squared difference.
Tensor squaredError(Builder &build, const Tensor &x, const Tensor &targets,
                    Reduction how);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_LOSSES_H
