//===- OperationTable.cpp - what the reference can evaluate ---------------===//

#include "OperationFamilies.h"

#include <algorithm>
#include <unordered_map>

namespace tpsp::reference {

Tensor fitted(const Tensor &x, const ValueType &type, Evaluation &e) {
  return e.sum({&x}, type.indices, type.shape);
}

Tensor scaled(const Tensor &x, double factor, Evaluation &e) {
  return pointwise([=](const double *v) { return factor * *v; }, {&x},
                   x.indices, x.shape, &e.error);
}

size_t placeOf(const std::string &name, Evaluation &e) {
  auto it = std::find(e.indices().begin(), e.indices().end(), name);
  if (it == e.indices().end()) {
    e.fail("has no index '" + name + "' in its result");
    return 0;
  }
  return it - e.indices().begin();
}

OperationRow findOperation(const std::string &name) {
  static const std::unordered_map<std::string, OperationRow> rows = [] {
    std::unordered_map<std::string, OperationRow> all;
    for (auto family :
         {contractionOperations, pointwiseOperations, rowOperations,
          integerOperations, runOperations, sequenceOperations})
      for (auto &[name, row] : family())
        all[name] = row;
    return all;
  }();
  if (auto it = rows.find(name); it != rows.end())
    return it->second;
  // A scalar function is also an operation of the same name.
  const ScalarFunction *function = findScalarFunction(name);
  bool isOperation =
      function && function->arity == 1 && name.find('.') == std::string::npos;
  return isOperation ? unaryFunction() : OperationRow();
}

} // namespace tpsp::reference
