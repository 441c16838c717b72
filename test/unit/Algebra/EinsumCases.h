/// Every small two-operand einsum, and its value by plain loops.
#ifndef TPSP_TEST_UNIT_ALGEBRA_EINSUMCASES_H
#define TPSP_TEST_UNIT_ALGEBRA_EINSUMCASES_H

#include "RankSimulation.h"

#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp::oracle {

/// What an index does in a two-operand einsum.
enum class Role {
  First,       ///< in operand 0 and the result
  Second,      ///< in operand 1 and the result
  Batch,       ///< in both and the result
  Contracted,  ///< in both, summed
  FirstSummed, ///< in operand 0 only, summed
  SecondSummed ///< in operand 1 only, summed
};

bool inFirst(Role role);
bool inSecond(Role role);
bool inResult(Role role);

/// Returns every multiset of `count` roles, because the order of indices is
/// immaterial.
std::vector<std::vector<Role>> allRoles(unsigned count);

struct CaseIndex {
  Role role;
  int64_t extent;
};

/// Returns the einsum of these indices. Every tensor has its indices in this
/// order.
IndexStructure structureOf(const std::vector<CaseIndex> &indices,
                           int64_t elementBytes = 4);

/// "ab,bc->ac", for failure messages.
std::string toString(const std::vector<Role> &roles);

Dense randomTensor(const IndexStructure::Tensor &tensor, unsigned seed);

/// Returns the sum of the operands' products at every position of the result.
Dense evaluateDense(const IndexStructure &structure,
                    const std::vector<Dense> &operands);

int64_t dot(const Dense &a, const Dense &b);

} // namespace tpsp::oracle

#endif // TPSP_TEST_UNIT_ALGEBRA_EINSUMCASES_H
