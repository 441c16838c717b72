#include "Dense.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;

static std::vector<int64_t> stridesOf(const Shape &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<double> tpsp::check::transposed(const std::vector<double> &values,
                                            const Shape &shape,
                                            const std::vector<size_t> &order) {
  std::vector<int64_t> strides = stridesOf(shape);
  std::vector<double> out;
  out.reserve(values.size());
  std::vector<int64_t> at(shape.size(), 0);
  for (size_t k = 0; k < values.size(); ++k) {
    int64_t from = 0;
    for (size_t i = 0; i < order.size(); ++i)
      from += at[i] * strides[order[i]];
    out.push_back(values[from]);
    for (size_t i = order.size(); i-- > 0;) {
      if (++at[i] < shape[order[i]])
        break;
      at[i] = 0;
    }
  }
  return out;
}

Shape tpsp::check::transposedShape(const Shape &shape,
                                   const std::vector<size_t> &order) {
  Shape out;
  for (size_t dim : order)
    out.push_back(shape[dim]);
  return out;
}

std::vector<size_t> tpsp::check::inverseOf(const std::vector<size_t> &order) {
  std::vector<size_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[order[i]] = i;
  return inverse;
}

int64_t Block::elements() const {
  int64_t product = 1;
  for (int64_t extent : count)
    product *= extent;
  return product;
}

/// Calls `visit(from)` with the place of each row of a block's last dimension.
template <typename Visit>
static void forEachRow(const Shape &shape, const Block &block, Visit visit) {
  if (block.elements() == 0)
    return;
  std::vector<int64_t> strides = stridesOf(shape);
  std::vector<int64_t> at = block.begin;
  size_t dims = shape.size();
  for (;;) {
    int64_t from = 0;
    for (size_t i = 0; i < dims; ++i)
      from += at[i] * strides[i];
    visit(from);
    size_t dim = dims > 0 ? dims - 1 : 0;
    while (dim > 0 &&
           ++at[dim - 1] == block.begin[dim - 1] + block.count[dim - 1]) {
      at[dim - 1] = block.begin[dim - 1];
      --dim;
    }
    if (dim == 0)
      return;
  }
}

std::vector<double> tpsp::check::cutOut(const std::vector<double> &whole,
                                        const Shape &shape,
                                        const Block &block) {
  std::vector<double> values;
  values.reserve(block.elements());
  int64_t row = block.count.empty() ? 1 : block.count.back();
  forEachRow(shape, block, [&](int64_t from) {
    values.insert(values.end(), whole.begin() + from,
                  whole.begin() + from + row);
  });
  return values;
}

void tpsp::check::putInto(std::vector<double> &whole, const Shape &shape,
                          const Block &block,
                          const std::vector<double> &values) {
  if (int64_t(values.size()) != block.elements())
    return;
  int64_t row = block.count.empty() ? 1 : block.count.back();
  auto next = values.begin();
  forEachRow(shape, block, [&](int64_t to) {
    std::copy_n(next, row, whole.begin() + to);
    next += row;
  });
}
