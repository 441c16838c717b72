#include "tpsp/Algebra/BackwardRule.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

/// Whether `axis` shards this index of the tensor.
static bool isSharded(const IndexStructure::Tensor &tensor,
                      const Placement &placement, IndexId index, AxisId axis) {
  std::optional<unsigned> dim = tensor.dimOf(index);
  return dim && llvm::is_contained(placement.dims[*dim], axis);
}

llvm::SmallVector<bool, 3>
tpsp::mustHaveBackwardCollective(const IndexStructure &structure,
                                 llvm::ArrayRef<Placement> operands,
                                 const Placement &result) {
  llvm::SmallVector<bool, 3> must(operands.size(), false);
  for (auto [index, axes] :
       llvm::zip_equal(structure.results.front().indices, result.dims))
    for (AxisId axis : axes)
      for (auto [i, tensor] : llvm::enumerate(structure.operands))
        if (!isSharded(tensor, operands[i], index, axis))
          must[i] = true;
  return must;
}
