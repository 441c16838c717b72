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
         filled == other.filled && adjoints == other.adjoints &&
         isAttention == other.isAttention && mayRing == other.mayRing &&
         readsParameter == other.readsParameter &&
         isBehindLayers == other.isBehindLayers;
}

bool Completion::isLike(const Completion &other) const {
  return sums == other.sums && dims == other.dims && bytes == other.bytes &&
         isBackward == other.isBackward && hasGradient == other.hasGradient &&
         isReadAgain == other.isReadAgain;
}

bool WholeOperand::isLike(const WholeOperand &other) const {
  return index == other.index && dims == other.dims && bytes == other.bytes &&
         hasGradient == other.hasGradient;
}

template <typename Fact>
static void addOnce(std::vector<Fact> &facts, Fact fact) {
  for (Fact &known : facts)
    if (known.isLike(fact)) {
      known.count += fact.count;
      return;
    }
  facts.push_back(std::move(fact));
}

void ProgramFacts::add(ProductFacts product) {
  addOnce(products, std::move(product));
}
void ProgramFacts::add(Completion completion) {
  addOnce(completions, std::move(completion));
}
void ProgramFacts::add(WholeOperand operand) {
  addOnce(wholeOperands, std::move(operand));
}

void ProgramFacts::addExchanged(WholeOperand tensor) {
  addOnce(exchanged, std::move(tensor));
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
    forward += product.flops * product.filled * double(product.count);
  return hasGradients ? 3 * forward : forward;
}

int64_t ProgramFacts::parameterBytes() const {
  int64_t result = 0;
  for (const TensorFacts &tensor : tensors)
    if (tensor.kind == TensorFacts::Kind::Parameter)
      result += tensor.bytes();
  return result;
}
