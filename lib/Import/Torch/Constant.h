/// Tensors that depend on no input and no parameter.
///
/// A constant is evaluated if that is small. Otherwise it stays an operation on
/// smaller constants, which broadcasting enlarges: a causal mask is
/// "le(u[t], v[s])", two vectors. So no mask of s x s elements is made.
#ifndef TPSP_IMPORT_TORCH_CONSTANT_H
#define TPSP_IMPORT_TORCH_CONSTANT_H

#include "Graph.h"

#include <functional>
#include <memory>

namespace tpsp::import::torch {

class Constant;
using ConstantPtr = std::shared_ptr<const Constant>;

/// One element of a result, of one element of each operand.
using Formula = std::function<double(const std::vector<double> &)>;

class Constant : public std::enable_shared_from_this<Constant> {
public:
  /// A number everywhere.
  static ConstantPtr filled(ScalarType type, Sizes sizes, double value);
  /// Row-major elements.
  static ConstantPtr dense(ScalarType type, Sizes sizes,
                           std::vector<double> elements);
  /// The element at each position, by a formula. Throws a Refusal above 2^24.
  static ConstantPtr
  evaluated(ScalarType type, Sizes sizes,
            const std::function<double(const Sizes &)> &element);
  /// `formula`, called `name`, of operands that are broadcast to `sizes`.
  /// Evaluates if at most 2^16 elements differ, or as many as an operand has.
  /// It also does if the expression would have more than 64 operations.
  static ConstantPtr apply(const std::string &name, const Formula &formula,
                           ScalarType type,
                           const std::vector<ConstantPtr> &operands);

  ScalarType type() const { return elementType; }
  const Sizes &sizes() const { return extents; }
  /// Whether elements may differ along the dimension.
  bool varies(size_t dim) const;
  /// The element at a position.
  double at(const Sizes &position) const;
  /// All elements, row-major. Throws a Refusal above 2^24.
  std::vector<double> elements() const;

  /// Whether both are the same view of the same evaluated elements.
  bool isSameView(const Constant &other) const {
    return data && data == other.data && extents == other.extents &&
           strides == other.strides && offset == other.offset;
  }

  /// Null if it is evaluated: the operation otherwise, and its operands.
  bool isDeferred() const { return !operands.empty(); }
  const std::string &operation() const { return name; }
  const std::vector<ConstantPtr> &parts() const { return operands; }

  /// A dimension of 1 becomes `size` wherever `sizes` says so; new dimensions
  /// come first.
  ConstantPtr expanded(const Sizes &sizes) const;
  ConstantPtr permuted(const std::vector<size_t> &dims) const;
  ConstantPtr unsqueezed(size_t dim) const;
  /// Without a dimension, of which it takes the position.
  ConstantPtr selected(size_t dim, int64_t position) const;
  ConstantPtr sliced(size_t dim, int64_t begin, int64_t count,
                     int64_t step) const;
  ConstantPtr reshaped(const Sizes &sizes) const;
  ConstantPtr converted(ScalarType type) const;

private:
  Constant() = default;
  /// The same view of every operand, if it is deferred.
  template <typename View> ConstantPtr ofParts(View view) const;
  ConstantPtr compressed() const;

  ScalarType elementType = ScalarType::F32;
  Sizes extents;
  // These describe an evaluated constant.
  std::shared_ptr<const std::vector<double>> data;
  Sizes strides;
  int64_t offset = 0;
  // These describe a deferred one, whose expression has `work` operations.
  int64_t work = 0;
  std::string name;
  Formula formula;
  std::vector<ConstantPtr> operands;
};

/// A number as the type holds it.
double rounded(double value, ScalarType type);

/// The sizes to which tensors of these sizes are broadcast. Throws a Refusal if
/// they do not fit.
Sizes broadcastSizes(const std::vector<Sizes> &sizes);

/// Calls `visit` with every position, row-major.
void forEachPosition(const Sizes &sizes,
                     const std::function<void(const Sizes &)> &visit);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_CONSTANT_H
