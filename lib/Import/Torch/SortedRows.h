/// Operations on rows that an archive sorts by integers.
///
/// Experts without capacity come sorted: tokens are taken in the order of their
/// experts, multiplied with the matrices in groups, and put back. A program
/// needs no order, because each row meets the matrix of its own expert. So a
/// sorted tensor is the tensor before the sort, with a note (SortRole). This is
/// right for operations that compute each row by itself. All others are
/// refused, unless they undo the sort, count its keys or multiply in groups.
#ifndef TPSP_IMPORT_TORCH_SORTEDROWS_H
#define TPSP_IMPORT_TORCH_SORTEDROWS_H

#include "Operators.h"

namespace tpsp::import::torch {

/// Whether a tensor argument has a role in a sort.
bool hasSorted(const Call &call);

/// The results of such a call of the operation. `compute` gives those of
/// unsorted rows. Throws a Refusal if they would differ.
std::vector<Tensor>
ofSorted(Call &call, const std::string &operation,
         const std::function<std::vector<Tensor>()> &compute);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_SORTEDROWS_H
