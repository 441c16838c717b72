/// Look-ups in tables, which several tables of operations have.
#ifndef TPSP_IMPORT_TORCH_LOOKUPS_H
#define TPSP_IMPORT_TORCH_LOOKUPS_H

#include "Operators.h"

namespace tpsp::import::torch {

/// Rows of a table, whose first dimension the ids replace.
Tensor lookedUp(Call &call, Tensor table, const Tensor &ids);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_LOOKUPS_H
