/// Einsums of two operands with the dimensions of each tensor in any order, and
/// the value of a matched form by plain loops.
#ifndef TPSP_TEST_UNIT_PLAN_MATMULCASES_H
#define TPSP_TEST_UNIT_PLAN_MATMULCASES_H

#include "tpsp/Algebra/MatmulForm.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <random>
#include <string>
#include <vector>

namespace tpsp {

/// Integers, so that sums are exact in any order.
using Numbers = std::vector<int64_t>;

/// Calls `visit` for every einsum of two operands with one to `most` indices in
/// every combination of roles, every order of dimensions, and some extents
/// including 1.
void forEachEinsum(unsigned most,
                   llvm::function_ref<void(const IndexStructure &)> visit);

/// An einsum of `count` indices, each batch, kept or summed by both, with its
/// dimensions in random orders.
IndexStructure randomProduct(unsigned count, std::mt19937 &engine);

/// "ab,bc->ca (a=2, b=3, c=5)".
std::string toString(const IndexStructure &structure);

Numbers testData(const IndexStructure::Tensor &tensor, int64_t seed);

/// The sum of products at every position of the result, index by index.
Numbers evaluateEinsum(const IndexStructure &structure, const Numbers &first,
                       const Numbers &second);

/// The form of A and B as the runtime reads it. Sets `error` to a sentence if
/// it reads or writes outside a tensor, writes an element twice or not at all,
/// or has an illegal leading dimension.
Numbers evaluateForm(const MatmulForm &form, const Numbers &a, const Numbers &b,
                     size_t resultSize, std::string &error);

/// The largest m n k of the forms whose matrix dimensions are single indices; 0
/// if none is legal.
int64_t largestPlainForm(const IndexStructure &structure);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLAN_MATMULCASES_H
