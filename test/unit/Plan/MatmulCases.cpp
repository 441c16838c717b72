#include "MatmulCases.h"

#include <algorithm>
#include <limits>

using namespace tpsp;
using Tensor = IndexStructure::Tensor;

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// Which tensors carry an index, as bits: first operand, second, result.
static const unsigned roles[] = {0b101, 0b110, 0b111, 0b011, 0b001, 0b010};

using Order = std::vector<IndexId>;

static std::vector<Order> ordersOf(const std::vector<unsigned> &carriers,
                                   unsigned tensor) {
  Order order;
  for (IndexId index = 0; index < carriers.size(); ++index)
    if (carriers[index] & (1u << tensor))
      order.push_back(index);
  std::vector<Order> orders;
  do
    orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

static Tensor tensorOf(const Order &order,
                       const std::vector<int64_t> &extents) {
  Tensor tensor;
  for (IndexId index : order) {
    tensor.indices.push_back(index);
    tensor.shape.push_back(extents[index]);
  }
  return tensor;
}

static void
forEachOrder(const std::vector<unsigned> &carriers,
             const std::vector<int64_t> &extents,
             llvm::function_ref<void(const IndexStructure &)> visit) {
  IndexStructure structure;
  structure.linearity = Linearity::Multi;
  for (IndexId index = 0; index < carriers.size(); ++index)
    structure.intern(std::string(1, char('a' + index)), extents[index]);
  for (const Order &first : ordersOf(carriers, 0))
    for (const Order &second : ordersOf(carriers, 1))
      for (const Order &result : ordersOf(carriers, 2)) {
        structure.operands = {tensorOf(first, extents),
                              tensorOf(second, extents)};
        structure.results = {tensorOf(result, extents)};
        visit(structure);
      }
}

static void forEachRoles(unsigned count, unsigned least,
                         std::vector<unsigned> &chosen,
                         llvm::function_ref<void()> visit) {
  if (chosen.size() == count)
    return visit();
  for (unsigned role = least; role < std::size(roles); ++role) {
    chosen.push_back(roles[role]);
    forEachRoles(count, role, chosen, visit);
    chosen.pop_back();
  }
}

void tpsp::forEachEinsum(
    unsigned most, llvm::function_ref<void(const IndexStructure &)> visit) {
  const std::vector<int64_t> someExtents[] = {
      {2, 3, 4, 5}, {5, 1, 3, 2}, {1, 4, 1, 3}};
  for (unsigned count = 1; count <= most; ++count)
    for (const std::vector<int64_t> &extents : someExtents) {
      std::vector<unsigned> chosen;
      forEachRoles(count, 0, chosen,
                   [&] { forEachOrder(chosen, extents, visit); });
    }
}

IndexStructure tpsp::randomProduct(unsigned count, std::mt19937 &engine) {
  IndexStructure structure;
  structure.linearity = Linearity::Multi;
  Order orders[3];
  std::vector<int64_t> extents;
  for (IndexId index = 0; index < count; ++index) {
    extents.push_back(1 + engine() % 4);
    structure.intern(std::string(1, char('a' + index)), extents[index]);
    unsigned carriers = roles[engine() % 4]; // those of a product
    for (unsigned tensor = 0; tensor < 3; ++tensor)
      if (carriers & (1u << tensor))
        orders[tensor].push_back(index);
  }
  for (Order &order : orders)
    std::shuffle(order.begin(), order.end(), engine);
  structure.operands = {tensorOf(orders[0], extents),
                        tensorOf(orders[1], extents)};
  structure.results = {tensorOf(orders[2], extents)};
  return structure;
}

std::string tpsp::toString(const IndexStructure &structure) {
  auto names = [&](const Tensor &tensor) {
    std::string text;
    for (IndexId index : tensor.indices)
      text += structure.indices[index].name;
    return text;
  };
  std::string text = names(structure.operands[0]) + "," +
                     names(structure.operands[1]) + "->" +
                     names(structure.results[0]) + " (";
  for (const IndexStructure::Index &index : structure.indices)
    text += " " + index.name + "=" + std::to_string(index.extent);
  return text + " )";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static int64_t elements(const Tensor &tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.shape)
    count *= extent;
  return count;
}

Numbers tpsp::testData(const Tensor &tensor, int64_t seed) {
  Numbers data(elements(tensor));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = (int64_t(i) * 7919 + seed * 104729) % 101 - 50;
  return data;
}

/// Returns the offset of a tensor's element at `position`, by index.
static int64_t offsetAt(const Tensor &tensor,
                        const std::vector<int64_t> &position) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < tensor.indices.size(); ++dim)
    offset = offset * tensor.shape[dim] + position[tensor.indices[dim]];
  return offset;
}

Numbers tpsp::evaluateEinsum(const IndexStructure &structure,
                             const Numbers &first, const Numbers &second) {
  Numbers result(elements(structure.results[0]), 0);
  std::vector<int64_t> position(structure.indices.size());
  for (int64_t point = 0; point < int64_t(structure.work()); ++point) {
    int64_t rest = point;
    for (size_t i = 0; i < position.size(); ++i) {
      position[i] = rest % structure.indices[i].extent;
      rest /= structure.indices[i].extent;
    }
    result[offsetAt(structure.results[0], position)] +=
        first[offsetAt(structure.operands[0], position)] *
        second[offsetAt(structure.operands[1], position)];
  }
  return result;
}

namespace {

constexpr int64_t unwritten = std::numeric_limits<int64_t>::min();

/// Runs a form, loop by loop.
class FormEvaluation {
public:
  FormEvaluation(const MatmulForm &form, const Numbers &a, const Numbers &b,
                 size_t resultSize, std::string &error)
      : form(form), a(a), b(b), c(resultSize, unwritten), error(error) {}

  Numbers run() {
    bool legal = form.lda >= (form.transposeA ? form.m : form.k) &&
                 form.ldb >= (form.transposeB ? form.k : form.n) &&
                 form.ldc >= form.n;
    if (!legal)
      error = "a leading dimension is shorter than its row";
    batches(form.batch, 0, 0, 0);
    if (error.empty() && std::count(c.begin(), c.end(), unwritten) > 0)
      error = "an element of the result is not written";
    return std::move(c);
  }

private:
  void batches(llvm::ArrayRef<rt::MatmulLoop> loops, int64_t atA, int64_t atB,
               int64_t atC) {
    if (loops.empty()) {
      sums(form.accumulate, atA, atB, atC, /*isFirst=*/true);
      return;
    }
    for (int64_t i = 0; i < loops[0].extent; ++i)
      batches(loops.drop_front(), atA + i * loops[0].strideA,
              atB + i * loops[0].strideB, atC + i * loops[0].strideC);
  }

  void sums(llvm::ArrayRef<rt::MatmulLoop> loops, int64_t atA, int64_t atB,
            int64_t atC, bool isFirst) {
    if (loops.empty())
      return product(atA, atB, atC, isFirst);
    if (loops[0].strideC != 0)
      error = "a summed loop moves in the result";
    for (int64_t i = 0; i < loops[0].extent; ++i)
      sums(loops.drop_front(), atA + i * loops[0].strideA,
           atB + i * loops[0].strideB, atC, isFirst && i == 0);
  }

  int64_t read(const Numbers &data, int64_t at) {
    if (at >= 0 && at < int64_t(data.size()))
      return data[at];
    error = "reads outside an operand";
    return 0;
  }

  void write(int64_t at, int64_t value, bool isFirst) {
    if (at < 0 || at >= int64_t(c.size())) {
      error = "writes outside the result";
      return;
    }
    if (isFirst != (c[at] == unwritten))
      error = "writes an element of the result twice";
    c[at] = isFirst ? value : c[at] + value;
  }

  void product(int64_t atA, int64_t atB, int64_t atC, bool isFirst) {
    for (int64_t i = 0; i < form.m; ++i)
      for (int64_t j = 0; j < form.n; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < form.k; ++l)
          sum += read(a, atA + (form.transposeA ? l * form.lda + i
                                                : i * form.lda + l)) *
                 read(b, atB + (form.transposeB ? j * form.ldb + l
                                                : l * form.ldb + j));
        write(atC + i * form.ldc + j, sum, isFirst);
      }
  }

  const MatmulForm &form;
  const Numbers &a, &b;
  Numbers c;
  std::string &error;
};

} // namespace

Numbers tpsp::evaluateForm(const MatmulForm &form, const Numbers &a,
                           const Numbers &b, size_t resultSize,
                           std::string &error) {
  return FormEvaluation(form, a, b, resultSize, error).run();
}

//===----------------------------------------------------------------------===//
// Possible forms
//===----------------------------------------------------------------------===//

/// Whether the innermost of a tensor's dimensions that are longer than 1 is
/// `x`, or one of `x` and `y`.
static bool innermost(const Tensor &tensor, IndexId x, IndexId y) {
  for (size_t dim = tensor.shape.size(); dim-- > 0;)
    if (tensor.shape[dim] > 1)
      return tensor.indices[dim] == x || tensor.indices[dim] == y;
  return true;
}

static bool isLong(const IndexStructure &structure, IndexId index,
                   unsigned carriers) {
  unsigned found = 0;
  for (unsigned tensor = 0; tensor < 2; ++tensor)
    if (structure.operands[tensor].dimOf(index))
      found |= 1u << tensor;
  if (structure.results[0].dimOf(index))
    found |= 0b100;
  return found == carriers && structure.indices[index].extent > 1;
}

int64_t tpsp::largestPlainForm(const IndexStructure &structure) {
  int64_t largest = 0;
  IndexId count = structure.indices.size();
  for (IndexId m = 0; m < count; ++m)
    for (IndexId n = 0; n < count; ++n)
      for (IndexId k = 0; k < count; ++k) {
        if (!isLong(structure, m, 0b101) || !isLong(structure, n, 0b110) ||
            !isLong(structure, k, 0b011))
          continue;
        // A row-major result has n or, with the operands swapped, m innermost.
        if (innermost(structure.operands[0], m, k) &&
            innermost(structure.operands[1], n, k) &&
            innermost(structure.results[0], m, n))
          largest = std::max(largest, structure.indices[m].extent *
                                          structure.indices[n].extent *
                                          structure.indices[k].extent);
      }
  return largest;
}
