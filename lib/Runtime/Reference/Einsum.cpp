//===- Einsum.cpp - contractions of any number of tensors -----------------===//
//
// A contraction of two tensors sorts their indices by role,
//
//   batch    in both and in the result       rows     in a and the result
//   depth    in both, summed over            columns  in b and the result
//
// and becomes one matrix product per batch position. If a role's indices are
// contiguous in memory, they act as one dimension. So most operands are used in
// place. In "bshd,bthd->bhst" the rows s of a are h*d elements apart and its
// depth d is contiguous, which is a matrix. Other operands are copied.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

namespace {

/// The indices of two operands by role.
struct Roles {
  IndexNames batch, rows, columns, depth;
};

Roles classify(const Tensor &a, const Tensor &b, const IndexNames &result) {
  const IndexNames shared = within(a.indices, b.indices);
  return {within(shared, result), without(a.indices, shared),
          without(b.indices, shared), without(shared, result)};
}

int64_t extentOf(const Tensor &x, const IndexNames &names) {
  int64_t extent = 1;
  for (const std::string &name : names)
    extent *= *x.extent(name);
  return extent;
}

//===----------------------------------------------------------------------===//
// Tensors as matrices
//===----------------------------------------------------------------------===//

/// The stride of the names taken as one dimension, or nothing if their elements
/// are not evenly spaced. A dimension with a single element has stride 0.
std::optional<int64_t> mergedStride(const Tensor &x, const IndexNames &names) {
  int64_t stride = 0, span = 0;
  for (size_t i = names.size(); i-- > 0;) {
    const int64_t extent = *x.extent(names[i]);
    if (extent == 1)
      continue;
    const int64_t own = strideAlong(x, names[i]);
    if (stride == 0)
      stride = own;
    else if (own != span)
      return std::nullopt;
    span = own * extent;
  }
  return stride;
}

/// The layout in memory of the sub-tensor over `rows` and `columns` as a
/// matrix, if it has one.
std::optional<MatrixLayout> layoutOf(const Tensor &x, const IndexNames &rows,
                                     const IndexNames &columns) {
  const std::optional<int64_t> rowStride = mergedStride(x, rows);
  const std::optional<int64_t> columnStride = mergedStride(x, columns);
  if (!rowStride || !columnStride)
    return std::nullopt;
  // Along a single element any stride would do. Eigen wants one that is not
  // below the extent it steps over.
  if (*columnStride == 1)
    return MatrixLayout{*rowStride ? *rowStride : extentOf(x, columns), true};
  if (*rowStride == 1)
    return MatrixLayout{*columnStride ? *columnStride : extentOf(x, rows),
                        false};
  if (*columnStride == 0)
    return MatrixLayout{std::max<int64_t>(1, *rowStride), true};
  if (*rowStride == 0)
    return MatrixLayout{*columnStride, false};
  return std::nullopt;
}

/// A tensor as a batch of matrices: in place if possible, otherwise a copy.
class MatrixBatch {
public:
  MatrixBatch(const Tensor &x, const IndexNames &batch, const IndexNames &rows,
              const IndexNames &columns)
      : tensor(&x) {
    std::optional<MatrixLayout> found = layoutOf(x, rows, columns);
    if (!found) {
      copy = permute(x, concat(concat(batch, rows), columns));
      tensor = &copy;
      found = layoutOf(copy, rows, columns);
    }
    layout = *found;
    offsets = offsetsOver(*tensor, batch);
  }
  MatrixBatch(const MatrixBatch &) = delete;

  const double *matrix(int64_t batch) const {
    return tensor->data.data() + offsets[batch];
  }

  MatrixLayout layout;

private:
  const Tensor *tensor;
  Tensor copy;
  Shape offsets;
};

//===----------------------------------------------------------------------===//
// Matrix products on all cores
//===----------------------------------------------------------------------===//

/// The sub-matrix from row `row` on, or from column `column` on.
const double *at(const double *matrix, const MatrixLayout &layout, int64_t row,
                 int64_t column) {
  return layout.rowMajor ? matrix + row * layout.stride + column
                         : matrix + column * layout.stride + row;
}

/// The part of a product that computes `count` rows, or columns, of C.
GemmCall slice(GemmCall call, bool byColumns, int64_t first, int64_t count) {
  call.a = at(call.a, call.aLayout, byColumns ? 0 : first, 0);
  call.b = at(call.b, call.bLayout, 0, byColumns ? first : 0);
  call.c += byColumns ? first * call.cStride : first;
  (byColumns ? call.columns : call.rows) = count;
  return call;
}

/// Multiplies each pair of matrices into c, whose matrices are column-major
/// with the same batch order. `shape` gives the extents and c's stride.
void multiplyBatch(const MatrixBatch &a, const MatrixBatch &b, double *c,
                   const Shape &cOffsets, GemmCall shape) {
  // Each slice packs anew the operand that is not split, so slices are few and
  // large.
  constexpr int64_t kSlicesWanted = 16;
  constexpr int64_t kLeastSlice = 64;
  const int64_t batches = cOffsets.size();
  const bool byColumns = shape.columns >= shape.rows;
  const int64_t extent = byColumns ? shape.columns : shape.rows;
  const int64_t slices = std::clamp<int64_t>(
      extent / kLeastSlice, 1, std::max<int64_t>(1, kSlicesWanted / batches));
  const int64_t cost = 1 + shape.rows * shape.columns * shape.depth / 16;
  static const GemmKernel kernel = selectGemmKernel();

  shape.aLayout = a.layout;
  shape.bLayout = b.layout;
  detail::parallelFor(
      batches * slices, cost / slices, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t batch = task / slices, part = task % slices;
          const int64_t first = extent * part / slices;
          GemmCall call = shape;
          call.a = a.matrix(batch);
          call.b = b.matrix(batch);
          call.c = c + cOffsets[batch];
          kernel(slice(call, byColumns, first,
                       extent * (part + 1) / slices - first));
        }
      });
}

/// Contracts a and b into `result`. Its matrices over rows and columns are
/// column-major with the given stride.
void contractColumnMajor(const Tensor &a, const Tensor &b, const Roles &roles,
                         int64_t cStride, Tensor &result) {
  const MatrixBatch aMatrices(a, roles.batch, roles.rows, roles.depth);
  const MatrixBatch bMatrices(b, roles.batch, roles.depth, roles.columns);
  GemmCall shape{};
  shape.rows = extentOf(a, roles.rows);
  shape.columns = extentOf(b, roles.columns);
  shape.depth = extentOf(a, roles.depth);
  shape.cStride = cStride;
  multiplyBatch(aMatrices, bMatrices, result.data.data(),
                offsetsOver(result, roles.batch), shape);
}

/// Contracts two tensors each of whose indices has a role. `result` has its
/// indices and shape; its elements are overwritten.
void contractIntoMatrices(const Tensor &a, const Tensor &b, const Roles &roles,
                          Tensor &result) {
  std::optional<MatrixLayout> layout =
      layoutOf(result, roles.rows, roles.columns);
  if (!layout) {
    Tensor packed;
    packed.indices = concat(concat(roles.batch, roles.rows), roles.columns);
    for (const std::string &name : packed.indices)
      packed.shape.push_back(*result.extent(name));
    packed.data.resize(result.data.size());
    contractIntoMatrices(a, b, roles, packed);
    result = permute(packed, result.indices);
  } else if (layout->rowMajor) {
    // The transpose of a row-major C is column-major, and is B' A'.
    contractColumnMajor(b, a,
                        {roles.batch, roles.columns, roles.rows, roles.depth},
                        layout->stride, result);
  } else {
    contractColumnMajor(a, b, roles, layout->stride, result);
  }
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// x without repeated indices and summed over the indices that are not in
/// `kept`. If there are none of either kind, it is x itself, and `storage` is
/// unused.
const Tensor &sumToKept(const Tensor &x, const IndexNames &kept,
                        Tensor &storage) {
  const IndexNames names = within(x.indices, kept);
  if (names == x.indices)
    return x;
  storage = reduceSum(x, names);
  return storage;
}

/// The contraction of two valid tensors to some of their indices.
Tensor contract(const Tensor &a, const Tensor &b, const IndexNames &result) {
  Tensor aSummed, bSummed;
  const Tensor &x = sumToKept(a, concat(result, b.indices), aSummed);
  const Tensor &y = sumToKept(b, concat(result, a.indices), bSummed);
  const Roles roles = classify(x, y, result);
  // Without a depth, the matrix products would be outer products or products of
  // single numbers, with a call for each batch position.
  if (roles.depth.empty())
    return pointwise([](const double *v) { return v[0] * v[1]; }, {&x, &y},
                     result);

  Tensor c;
  c.indices = result;
  for (const std::string &name : result)
    c.shape.push_back(x.extent(name) ? *x.extent(name) : *y.extent(name));
  c.data.resize(elementCount(c.shape));
  if (!c.data.empty())
    contractIntoMatrices(x, y, roles, c);
  return c;
}

/// The indices of the operands from `first` on.
IndexNames indicesFrom(const Operands &operands, size_t first) {
  IndexNames names;
  for (size_t i = first; i < operands.size(); ++i)
    names = concat(std::move(names), operands[i]->indices);
  return without(names, {});
}

/// The contraction of valid operands to some of their indices.
Tensor fold(const Operands &operands, const IndexNames &result) {
  if (operands.size() == 1)
    return reduceSum(*operands[0], result);
  Tensor folded;
  const Tensor *current = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    const bool isLast = i + 1 == operands.size();
    const IndexNames needed = concat(result, indicesFrom(operands, i + 1));
    const IndexNames both = concat(current->indices, operands[i]->indices);
    folded = contract(*current, *operands[i],
                      isLast ? result : within(both, needed));
    current = &folded;
  }
  return folded;
}

} // namespace

Tensor einsum(const Operands &operands, const IndexNames &resultIndices,
              const Shape &resultShape, std::string *error) {
  if (operands.empty())
    return fail(error, "einsum: no operands");
  std::optional<Shape> shape =
      resolveShape(operands, resultIndices, resultShape, error);
  if (!shape)
    return {};
  const IndexNames all = indicesFrom(operands, 0);
  if (!resolveShape(operands, all, {}, error))
    return {};

  const IndexNames computed = within(resultIndices, all);
  Tensor result = fold(operands, computed);
  if (computed == resultIndices)
    return result;
  return pointwise([](const double *value) { return *value; }, {&result},
                   resultIndices, *shape, error);
}

} // namespace tpsp::reference
