/// What the planner knows of a program: its index classes, its arguments and
/// the work on them. Plain values; Compile/PlannedProgram.h reads them off a
/// module.
///
/// An *index class* is a set of index names that are divided alike. `rename`,
/// `split` or `merge` makes one of the other: s and t of attention, or o and
/// its major part h.
#ifndef TPSP_PLANNER_PROGRAMFACTS_H
#define TPSP_PLANNER_PROGRAMFACTS_H

#include "tpsp/Abi/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp::planner {

/// Position in ProgramFacts::classes.
using ClassId = unsigned;

struct IndexClass {
  /// In the order of the program; the first is what people are told.
  std::vector<std::string> names;
  /// The smallest of the names' extents: what axes on any of them must divide.
  int64_t extent = 1;
  /// Whose extent that is; empty: the first's.
  std::string narrowest = {};
  /// Whether an operation needs one of the names whole, as attention needs its
  /// keys: positions along the index see each other.
  bool isMixed = false;
  /// Whether each position has parameters of its own, as experts have.
  bool hasOwnParameters = false;

  const std::string &name() const { return names.front(); }
  /// The name that has the extent.
  const std::string &nameOfExtent() const {
    return narrowest.empty() ? name() : narrowest;
  }
};

/// An argument of the program, or a value that functions hand to each other.
struct TensorFacts {
  enum class Kind {
    Parameter, ///< an argument that is marked so
    Input,     ///< any other argument
    Boundary   ///< computed, and passed to or returned by a function
  };

  std::string name;
  Kind kind = Kind::Input;
  /// Per dimension.
  std::vector<ClassId> dims;
  std::vector<int64_t> shape;
  int64_t elementBytes = 4;
  /// Token numbers and the like: of these nothing is computed.
  bool holdsIntegers = false;
  /// How many arguments of the program it stands for: layers hand theirs to one
  /// function, and all are placed alike.
  int64_t count = 1;
  /// Whether the planner places it. Others stay as they are written.
  bool isFree = true;
  /// Of a parameter: it has a gradient.
  bool isTrained = false;
  /// Of a parameter: classes over which its gradient is summed.
  std::vector<ClassId> summed;
  /// Of a parameter: of its classes, those that products sum over; and those
  /// along which rows are looked up, as in an embedding's table.
  std::vector<ClassId> contracted, lookedUp;

  /// Of all together.
  int64_t bytes() const;
};

/// A product C[m, n] += A[m, k] B[k, n] over indices, or attention.
struct ProductFacts {
  struct Dim {
    ClassId index = 0;
    int64_t extent = 1;

    bool operator==(const Dim &other) const {
      return index == other.index && extent == other.extent;
    }
  };

  /// How many alike there are, as of layers.
  int64_t count = 1;
  /// What only A, only B, neither result, and all of them carry. Of attention
  /// all dimensions are in `batch`.
  std::vector<Dim> m, n, k, batch;
  /// TPSP_RT_F32, ...
  int64_t dtype = 0;
  int64_t elementBytes = 4;
  /// Of the forward pass, unsharded.
  double flops = 0;
  /// The share of its rows that tokens are in, at most: others are places of
  /// experts that stay empty.
  double filled = 1;
  /// How many products the backward pass makes of it, at least.
  int64_t adjoints = 0;
  bool isAttention = false;
  /// Of attention that the machine's library does in one call, unsharded.
  std::optional<AttentionWork> inOneCall;
  /// Whether an operand is a parameter.
  bool readsParameter = false;
  /// Whether it is no layer's, and reads what layers made: with stages it is
  /// the last one's.
  bool isBehindLayers = false;

  /// But for the count.
  bool isLike(const ProductFacts &other) const;

  /// Calls visit(dim) for all dimensions.
  template <typename Visit> void forEachDim(Visit &&visit) const {
    for (const std::vector<Dim> *group : {&m, &n, &k, &batch})
      for (const Dim &dim : *group)
        visit(dim);
  }
};

/// A tensor that is not linear in what it is made of, so that sums must be
/// complete there: the operand of a norm.
struct Completion {
  /// Indices over which sums that reach it are taken. Where an axis divides
  /// one of them for its parameters, the tensor is reduced, at least once.
  std::vector<ClassId> sums;
  /// Of the tensor.
  std::vector<ClassId> dims;
  int64_t bytes = 0;
  /// Of the gradient of the operand of products, which add up to it.
  bool isBackward = false;
  /// Whether the tensor has a gradient.
  bool hasGradient = false;
  /// Whether the gradient of a trained parameter reads that operand.
  bool isReadAgain = false;
  /// How many alike there are, as of layers.
  int64_t count = 1;

  /// But for the count.
  bool isLike(const Completion &other) const;
};

/// An operand that an operation needs whole along an index, as attention needs
/// its keys and values.
struct WholeOperand {
  /// Along which it is whole; and of the tensor.
  ClassId index = 0;
  std::vector<ClassId> dims;
  int64_t bytes = 0;
  /// Whether it has a gradient, which goes back to who has the parts.
  bool hasGradient = false;
  /// How many alike there are.
  int64_t count = 1;

  /// But for the count.
  bool isLike(const WholeOperand &other) const;
};

/// An axis that the program's mesh has already.
struct WrittenAxis {
  std::string name;
  int64_t size = 1;
  AxisRole role = AxisRole::None;
};

struct ProgramFacts {
  std::string program;
  std::vector<IndexClass> classes;
  std::vector<TensorFacts> tensors;
  /// Each once, with its count: add() counts.
  std::vector<ProductFacts> products;
  std::vector<Completion> completions;
  std::vector<WholeOperand> wholeOperands;
  /// Major to minor.
  std::vector<WrittenAxis> mesh;
  /// Classes that axes may divide of activations: of inputs, but not of
  /// parameters' only.
  std::vector<ClassId> activationClasses;
  /// Positions of a step that people count: the product of these classes'
  /// extents. 0 if there is no input.
  int64_t tokens = 0;
  /// Layers that stages may divide: calls in the program's function.
  int64_t layers = 0;
  /// Whether each of them takes the result of the one before, by one function.
  bool areLayersAlike = false;

  void add(ProductFacts product);
  void add(Completion completion);
  void add(WholeOperand operand);

  /// The class that has the name, if any.
  std::optional<ClassId> find(const std::string &name) const;
  /// Whether all layers have the tensor alike.
  bool isOfLayers(const TensorFacts &tensor) const {
    return areLayersAlike && layers > 1 && tensor.count == layers;
  }
  /// FLOP of one step: three times the forward pass's with gradients. Empty
  /// rows do not count.
  double modelFlops(bool hasGradients) const;
  /// Bytes of all parameters, unsharded.
  int64_t parameterBytes() const;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_PROGRAMFACTS_H
