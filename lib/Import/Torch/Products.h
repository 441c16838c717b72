/// Products of matrices, which several tables of operations have.
#ifndef TPSP_IMPORT_TORCH_PRODUCTS_H
#define TPSP_IMPORT_TORCH_PRODUCTS_H

#include "Builder.h"

namespace tpsp::import::torch {

/// x[..., d] w[o, d] + bias[o]. Throws a Refusal if the weight is no matrix.
Tensor linear(Builder &build, Tensor x, Tensor w,
              const std::optional<Tensor> &bias, ScalarType type);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_PRODUCTS_H
