/// Tensors of several tensors, which several tables of operations have.
#ifndef TPSP_IMPORT_TORCH_JOINS_H
#define TPSP_IMPORT_TORCH_JOINS_H

#include "Builder.h"

namespace tpsp::import::torch {

/// The tensors one after the other along a dimension, which then has `size`
/// positions.
Tensor concatenated(Builder &build, std::vector<Tensor> all, size_t dim,
                    int64_t size, ScalarType type);

/// [c, h, w] to [c, r q, h', w']: the windows of r x q pixels at every place.
/// The image gets `padding` zeros on all sides.
Tensor windows(Builder &build, Tensor image, const Sizes &kernel,
               const Sizes &padding);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_JOINS_H
