/// Gathers, scatters and sorts by integers of a program.
#ifndef TPSP_IMPORT_TORCH_CHOICES_H
#define TPSP_IMPORT_TORCH_CHOICES_H

#include "Operators.h"

namespace tpsp::import::torch {

/// Whether a program can look the integers up. They are not computed as
/// numbers, and no constant that is expanded.
bool areLookedUp(Call &call, const Tensor &ids);

/// `operands` times the one-hot tensor of `ids` along the index, whose
/// dimension is one of the first operand or of the result.
Tensor oneHot(Call &call, const Tensor &ids,
              const std::vector<Tensor> &operands, Atom along,
              const Dims &dims);

/// 1 at the position of each integer, which is a number, along a new last
/// dimension, and 0 at the others.
Tensor hitsOf(Call &call, Tensor ids, const AtomList &along, ScalarType type);

/// Aligns all dimensions but `dim`, along which both may differ.
void alignOthers(Call &call, const Tensor &ids, Tensor &x, size_t dim);

/// The argument `self` with the number `value` at the positions of the argument
/// `index`, some of which may be equal.
Tensor filledAt(Call &call, const char *value, const std::string &element);

/// x[i, ids[i]] or x[i, ids[i, j]] of the indices 0, 1, ... and `ids`, the only
/// ones. Nothing if they are others.
std::optional<Tensor>
pickedFromRows(Call &call, Tensor x,
               const std::vector<std::optional<Tensor>> &indices);

/// The elements of the argument `self` in their order along a dimension, and
/// their positions. Equal elements stay in the order in which they are.
std::vector<Tensor> sortedByRanks(Call &call);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_CHOICES_H
