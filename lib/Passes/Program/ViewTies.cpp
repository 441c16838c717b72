#include "ViewTies.h"

using namespace mlir;
using namespace tpsp;

/// The product of the extents of a dimension's minor parts.
static int64_t runOf(const IndexStructure &structure,
                     const IndexStructure::Tensor &tensor, unsigned dim) {
  int64_t run = 1;
  IndexList parts = tensor.parts(dim);
  for (IndexId part : llvm::drop_begin(parts))
    run *= structure.indices[part].extent;
  return run;
}

SmallVector<ViewTie> tpsp::viewTies(IndexedOpInterface view) {
  IndexStructure structure = view.getIndexStructure();
  const IndexStructure::Tensor &operand = structure.operands.front(),
                               &result = structure.results.front();
  SmallVector<StringRef> from = indexNames(view->getOperand(0).getType()),
                         to = indexNames(view->getResult(0).getType());
  SmallVector<ViewTie> ties;
  for (auto [dim, major] : llvm::enumerate(operand.indices))
    if (auto other = result.dimOf(major);
        other && result.indices[*other] == major)
      ties.push_back({from[dim], to[*other], runOf(structure, operand, dim),
                      runOf(structure, result, *other)});
  return ties;
}

SmallVector<StringRef> tpsp::minorParts(IndexedOpInterface view) {
  IndexStructure structure = view.getIndexStructure();
  SmallVector<StringRef> names;
  auto add = [&](const IndexStructure::Tensor &tensor, Value value) {
    for (auto [index, name] :
         llvm::zip_equal(tensor.indices, indexNames(value.getType())))
      if (structure.isMinor(index))
        names.push_back(name);
  };
  add(structure.operands.front(), view->getOperand(0));
  add(structure.results.front(), view->getResult(0));
  return names;
}
