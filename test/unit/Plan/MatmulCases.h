/// Einsums of two operands, with the dimensions of each tensor in any order.
/// Evaluates matched forms by plain loops.
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

/// Calls `visit` for every einsum of two operands with one to `most` indices.
/// They have every combination of roles, every order of dimensions, and some
/// extents including 1.
void forEachEinsum(unsigned most,
                   llvm::function_ref<void(const IndexStructure &)> visit);

/// Returns an einsum of `count` indices, each of a batch, kept or summed, with
/// dimensions in random orders.
IndexStructure randomProduct(unsigned count, std::mt19937 &engine);

/// Returns a text such as "ab,bc->ca (a=2, b=3, c=5)".
std::string toString(const IndexStructure &structure);

Numbers testData(const IndexStructure::Tensor &tensor, int64_t seed);

/// Returns the sum of products at every position of the result, index by index.
Numbers evaluateEinsum(const IndexStructure &structure, const Numbers &first,
                       const Numbers &second);

/// Evaluates a form as the runtime would. Sets `error` if the form reads or
/// writes outside a tensor, writes an element twice or not at all, or has an
/// illegal leading dimension.
Numbers evaluateForm(const MatmulForm &form, const Numbers &a, const Numbers &b,
                     size_t resultSize, std::string &error);

/// Returns the largest m n k of all forms whose matrix dimensions are single
/// indices; 0 if none is legal.
int64_t largestPlainForm(const IndexStructure &structure);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLAN_MATMULCASES_H
