#include "MatrixIndices.h"

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

using Roles = SmallVector<MatrixRole>;

static bool carries(Value value, StringRef name) {
  return llvm::is_contained(indexNames(value.getType()), name);
}

llvm::StringSet<> tpsp::indicesOfIntegers(Operation *function) {
  llvm::StringSet<> out;
  function->walk([&](IndexedOpInterface op) {
    for (OpOperand &ids : op->getOpOperands()) {
      int64_t bound = op.getIntegerBound(ids.getOperandNumber());
      if (bound == 0)
        continue;
      SmallVector<StringRef> whole = op.getWholeIndices();
      for (Value other : op->getOperands()) {
        auto type = typeOf(other);
        for (auto [name, extent] :
             llvm::zip_equal(indexNames(type), type.getShape()))
          if (extent == bound && !llvm::is_contained(whole, name) &&
              !carries(ids.get(), name) && !carries(op->getResult(0), name))
            out.insert(name);
      }
    }
  });
  return out;
}

/// The roles of the indices of the factor `use` in a product of two. Matrices
/// that rows choose are a batch of matrices.
static std::optional<Roles>
rolesInProduct(OpOperand &use, const Factors &factors,
               const llvm::StringSet<> &ofIntegers) {
  Operation *product = use.getOwner();
  unsigned own = use.getOperandNumber();
  if (own != factors.a && own != factors.b)
    return std::nullopt;
  Value other = product->getOperand(factors.a + factors.b - own);
  Roles roles;
  for (StringRef name : indexNames(use.get().getType())) {
    if (factors.chosen &&
        factors.structure.indices[*factors.chosen].name == name) {
      roles.push_back(MatrixRole::Batch);
      continue;
    }
    bool inOther = carries(other, name);
    bool inResult = carries(product->getResult(0), name);
    if (!inOther && !inResult)
      return std::nullopt;
    MatrixRole role = !inOther    ? MatrixRole::Row
                      : !inResult ? MatrixRole::Column
                                  : MatrixRole::Batch;
    if (role != MatrixRole::Batch && ofIntegers.contains(name))
      return std::nullopt;
    roles.push_back(role);
  }
  return roles;
}

/// The roles of a view's operand, given the result's. Both have the same
/// elements in row-major order: dimensions correspond where products of extents
/// agree.
static std::optional<Roles> rolesBeforeView(ArrayRef<int64_t> before,
                                            ArrayRef<int64_t> after,
                                            ArrayRef<MatrixRole> roles) {
  Roles out;
  size_t i = 0, j = 0;
  while (i < before.size() && j < after.size()) {
    size_t first = i;
    MatrixRole role = roles[j];
    int64_t left = before[i++], right = after[j++];
    while (left != right) {
      if (left < right) {
        left *= before[i++];
        continue;
      }
      if (roles[j] != role)
        return std::nullopt;
      right *= after[j++];
    }
    out.append(i - first, role);
  }
  // The remaining dimensions have extent 1.
  for (; i < before.size(); ++i)
    out.push_back(MatrixRole::Batch);
  return out;
}

/// The common roles of all uses; nullopt if one is unknown or they differ.
static std::optional<Roles> rolesOf(Value value,
                                    const llvm::StringSet<> &ofIntegers) {
  auto type = typeOf(value);
  std::optional<Roles> all;
  for (OpOperand &use : value.getUses()) {
    auto op = dyn_cast<IndexedOpInterface>(use.getOwner());
    if (!op || op->getNumResults() != 1)
      return std::nullopt;
    auto result = typeOf(op->getResult(0));
    std::optional<Roles> roles;
    if (std::optional<Factors> factors = factorsOf(op))
      roles = rolesInProduct(use, *factors, ofIntegers);
    else if (op->getNumOperands() != 1)
      return std::nullopt;
    else if (indexNames(result) == indexNames(type))
      roles = rolesOf(op->getResult(0), ofIntegers);
    else if (op.isView())
      if (auto after = rolesOf(op->getResult(0), ofIntegers))
        roles = rolesBeforeView(type.getShape(), result.getShape(), *after);
    if (!roles || (all && *all != *roles))
      return std::nullopt;
    all = std::move(roles);
  }
  return all;
}

std::optional<Roles> tpsp::matrixRolesOf(Value parameter,
                                         const llvm::StringSet<> &ofIntegers) {
  std::optional<Roles> roles = rolesOf(parameter, ofIntegers);
  if (!roles || !llvm::is_contained(*roles, MatrixRole::Row) ||
      !llvm::is_contained(*roles, MatrixRole::Column))
    return std::nullopt;
  return roles;
}
