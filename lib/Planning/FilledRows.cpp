#include "FilledRows.h"

#include "tpsp/Dialect/Tpsp/Integers/Routing.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

using Tensor = IndexStructure::Tensor;

/// Notes a dispatch. The first operand has the choices. Places are the result's
/// positions along all indices but features. Features are indices of the last
/// operand that the choices lack.
void FilledRows::notePlaces(IndexedOpInterface op,
                            const IndexStructure &structure) {
  const Tensor &choices = structure.operands.front();
  const Tensor &tokens = structure.operands.back();
  double places = 1, chosen = 1;
  for (IndexId index : choices.indices)
    chosen *= double(structure.indices[index].extent);
  std::optional<unsigned> dim;
  for (auto [i, index] : llvm::enumerate(structure.results.front().indices)) {
    if (!tokens.dimOf(index) || choices.dimOf(index))
      places *= double(structure.indices[index].extent);
    if (llvm::none_of(structure.operands, [&](const Tensor &operand) {
          return operand.dimOf(index).has_value();
        }))
      dim = unsigned(i);
  }
  if (dim)
    filled[op->getResult(0)] = {*dim, std::min(1.0, chosen / places)};
}

void FilledRows::note(IndexedOpInterface op, const IndexStructure &structure) {
  if (isa<RoutingOpInterface>(*op))
    return notePlaces(op, structure);
  // A result that is computed place by place has the same share.
  for (auto [value, tensor] :
       llvm::zip(op->getOperands(), structure.operands)) {
    auto found = filled.find(value);
    if (found == filled.end())
      continue;
    auto [dim, share] = found->second;
    for (auto [result, own] : llvm::zip(op->getResults(), structure.results))
      if (std::optional<unsigned> there = own.dimOf(tensor.indices[dim]))
        filled[result] = {*there, share};
  }
}

double FilledRows::shareOf(Value value) const {
  return filled.lookup(value).share;
}
