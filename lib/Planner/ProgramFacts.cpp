#include "tpsp/Planner/ProgramFacts.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp::planner;

int64_t TensorFacts::bytes() const {
  int64_t result = elementBytes * count;
  for (int64_t extent : shape)
    result *= extent;
  return result;
}

bool ProductFacts::isLike(const ProductFacts &other) const {
  return m == other.m && n == other.n && k == other.k && batch == other.batch &&
         dtype == other.dtype && flops == other.flops &&
         adjoints == other.adjoints && isAttention == other.isAttention &&
         readsParameter == other.readsParameter;
}

std::optional<ClassId> ProgramFacts::find(const std::string &name) const {
  for (ClassId id = 0; id < classes.size(); ++id)
    if (llvm::is_contained(classes[id].names, name))
      return id;
  return std::nullopt;
}

double ProgramFacts::modelFlops(bool hasGradients) const {
  double forward = 0;
  for (const ProductFacts &product : products)
    forward += product.flops * double(product.count);
  return hasGradients ? 3 * forward : forward;
}

int64_t ProgramFacts::parameterBytes() const {
  int64_t result = 0;
  for (const TensorFacts &tensor : tensors)
    if (tensor.kind == TensorFacts::Kind::Parameter)
      result += tensor.bytes();
  return result;
}
