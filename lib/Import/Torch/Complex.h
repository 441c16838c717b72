/// Parts of complex numbers, which are positions of a last dimension.
#ifndef TPSP_IMPORT_TORCH_COMPLEX_H
#define TPSP_IMPORT_TORCH_COMPLEX_H

#include "Operators.h"

namespace tpsp::import::torch {

/// The real (0) or the imaginary part (1).
Tensor partOf(Call &call, const Tensor &x, int64_t which);

/// Complex numbers of these parts.
Tensor complexOf(Call &call, Tensor real, Tensor imaginary);

/// Discrete Fourier transforms, as products with their matrices.
const Operators &fourierOperators();

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_COMPLEX_H
