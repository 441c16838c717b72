/// Writes a Program, operation by operation, for tensors as PyTorch has them.
///
/// A Tensor is a view of a value: permuting, adding dimensions, expanding and
/// most reshaping change its dimensions and write no operation.
#ifndef TPSP_IMPORT_TORCH_BUILDER_H
#define TPSP_IMPORT_TORCH_BUILDER_H

#include "Program.h"

#include <memory>
#include <optional>

namespace tpsp::import::torch {

/// The atoms of each dimension. Atoms that the value lacks are broadcast.
using Dims = std::vector<AtomList>;

struct RowSort;

/// The part that a tensor has in a sort of rows. A program has no sort: each
/// row's results are the same in every order. The elements of the last three
/// kinds are not known, and their constant has only their sizes.
struct SortRole {
  enum class Kind {
    /// Its rows, the positions of its first dimension, are sorted. Its value or
    /// constant has them as they were before the sort.
    Rows,
    /// The same; the rows are the integers by which is sorted.
    Keys,
    /// The place of each row in the sort: rows taken from there are as they
    /// were.
    Inverse,
    /// How many keys have each value, and the sums of these counts.
    Counts,
    Ends
  };
  Kind kind = Kind::Rows;
  std::shared_ptr<const RowSort> sort;
};

struct Tensor {
  /// If set, it is a constant, and nothing below but `stored`, `type` and
  /// `role` is.
  ConstantPtr constant;
  /// The archive's name of a constant that is a buffer, unchanged.
  std::string stored;
  ValueId value = -1;
  Dims dims;
  ScalarType type = ScalarType::F32;
  std::optional<SortRole> role;
};

/// A sort of rows by ascending integers.
struct RowSort {
  /// One for each row, before the sort.
  Tensor keys;
};

class Builder {
public:
  explicit Builder(Program &program) : program(program) {}

  Program &program;
  /// The modules of the operations that follow.
  std::vector<std::string> modules;
  /// How the program's own floating-point constants are stored.
  std::string element = "f32";
  /// How integers and truth values are computed, which 16 bits cannot count:
  /// "f32", or "f64" in a program of f64.
  std::string exact = "f32";
  /// Whether attention is one operation.
  bool recognises = true;

  /// An argument whose dimensions are new atoms.
  Tensor argument(ProgramArgument::Kind kind, const std::string &stored,
                  ScalarType type, const Sizes &sizes, bool isFrozen,
                  ConstantPtr constant = nullptr);
  /// The value of a constant; other tensors stay. Integers become numbers
  /// unless `element` is "i32".
  Tensor lifted(const Tensor &tensor, const std::string &element);
  /// Makes an input of integers one of numbers, such as times, which nothing
  /// looks up. False if it is no input, or is used as integers already.
  bool takeAsNumbers(ValueId value);
  const std::string &elementOf(const Tensor &tensor) const {
    return program.values[tensor.value].element;
  }

  /// One operation. `dims` are the result's; it has those of their atoms that
  /// an operand has, and all of them if there is no operand.
  Tensor emit(const std::string &name, const std::vector<Tensor> &operands,
              const Dims &dims, ScalarType type, Attributes attributes = {});
  /// The same with the result's atoms.
  ValueId emitValue(const std::string &name,
                    const std::vector<ValueId> &operands, const AtomList &atoms,
                    const std::string &element, Attributes attributes = {},
                    AtomList blocks = {});
  /// An operation of tensors that are broadcast against each other.
  Tensor pointwise(const std::string &name, std::vector<Tensor> operands,
                   ScalarType type, Attributes attributes = {});
  /// The product of two tensors, summed over every atom that `dims` lacks.
  /// Broadcast atoms that are summed over are written out first.
  Tensor contracted(const Tensor &a, const Tensor &b, const Dims &dims,
                    ScalarType type);
  /// Dimension `dim` of `x`, multiplied with `matrix`, [result, `dim`].
  Tensor multiplied(Tensor matrix, const Tensor &x, size_t dim);
  /// A number, to be broadcast.
  Tensor number(double value, const std::string &element);
  /// In another precision, if it has another.
  Tensor converted(const Tensor &tensor, const std::string &element);

  Sizes sizes(const Tensor &tensor) const;
  AtomList atomsOf(const Dims &dims) const;
  bool has(const Tensor &tensor, Atom leaf) const;

  /// Makes a dimension of `other` the same as one of `fixed`, by renaming
  /// `other` if need be. Neither is of one position, or both are.
  void align(const Tensor &fixed, size_t fixedDim, Tensor &other,
             size_t otherDim);
  /// Broadcasts `other` with the dimensions `dims`, from the last backwards.
  /// Dimensions that only `other` has are added.
  void broadcastAlign(Dims &dims, Tensor &other);
  /// Gives atoms of `tensor` that `taken` has new ones.
  void makeDistinct(const AtomList &taken, Tensor &tensor, size_t dim);
  void rename(Tensor &tensor, const std::vector<std::pair<Atom, Atom>> &map);

  /// Splits atoms until the operand and the result of every renaming have the
  /// same extents, in case one of both was split since. Throws a Refusal if no
  /// split does.
  void refineRenamings();

  /// Without broadcast atoms, of the dimension or of all.
  Tensor materialized(const Tensor &tensor, std::optional<size_t> dim = {});
  /// Makes the dimension one new atom.
  Tensor blocked(const Tensor &tensor, size_t dim);
  /// Makes the dimension one atom, which may be an old one.
  Tensor single(const Tensor &tensor, size_t dim);
  Tensor viewed(const Tensor &tensor, const Sizes &sizes);
  Tensor expanded(const Tensor &tensor, const Sizes &sizes);
  /// One position of a dimension, which the result lacks.
  Tensor taken(const Tensor &tensor, size_t dim, int64_t position);
  Tensor cut(const Tensor &tensor, size_t dim, int64_t begin, int64_t count);
  /// With further positions of `value` along a dimension.
  Tensor padded(const Tensor &tensor, size_t dim, int64_t before, int64_t after,
                double value);
  /// Gives the value its atoms in the order of the dimensions.
  Tensor ordered(const Tensor &tensor);

private:
  /// Splits atoms until both lists are the same extents. False if no split
  /// does.
  bool refine(const AtomList &a, const AtomList &b);
  AtomList takeLeaves(AtomList &left, int64_t size, bool &isExact);
  Tensor tableOf(const ConstantPtr &constant, const std::string &stored,
                 ScalarType type);
  Atom secondRole(Atom leaf, const AtomList &taken);

  std::map<const Constant *, std::pair<ConstantPtr, Tensor>> liftedConstants;
  /// The constants that are arguments.
  std::vector<std::pair<ConstantPtr, Tensor>> tables;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_BUILDER_H
