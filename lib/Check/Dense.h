/// Dense row-major tensors: dimensions in another order, and blocks.
#ifndef TPSP_LIB_CHECK_DENSE_H
#define TPSP_LIB_CHECK_DENSE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpsp::check {

using Shape = std::vector<int64_t>;

/// A tensor with its dimensions in another order: dimension i of the result is
/// dimension order[i].
std::vector<double> transposed(const std::vector<double> &values,
                               const Shape &shape,
                               const std::vector<size_t> &order);

/// The shape with its dimensions in another order; the order that undoes it.
Shape transposedShape(const Shape &shape, const std::vector<size_t> &order);
std::vector<size_t> inverseOf(const std::vector<size_t> &order);

/// A block of a tensor: the positions [begin, begin + count) of each dimension.
struct Block {
  Shape begin, count;

  int64_t elements() const;
};

/// The elements of a block, row-major. The block must lie in the tensor.
std::vector<double> cutOut(const std::vector<double> &whole, const Shape &shape,
                           const Block &block);
/// Puts the elements of a block into a tensor. Nothing happens if their number
/// is another.
void putInto(std::vector<double> &whole, const Shape &shape, const Block &block,
             const std::vector<double> &values);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_DENSE_H
