/// The planner's facts about a program: its index classes, its arguments and
/// the work on them. Plain values; Planning/PlannedProgram.h reads them from a
/// module.
///
/// An *index class* is a set of index names that are divided alike. `rename`,
/// `split` or `merge` connects the names: s and t of attention, or o and its
/// major part h.
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
  /// In the order of the program. Messages use the first name.
  std::vector<std::string> names;
  /// The smallest of the names' extents: what axes on any of them must divide.
  int64_t extent = 1;
  /// The name with that extent; empty: the first name.
  std::string narrowest = {};
  /// Whether an operation needs one of the names whole, as attention needs its
  /// keys: positions along the index see each other.
  bool isMixed = false;
  /// Whether each position has parameters of its own, as experts have.
  bool hasOwnParameters = false;
  /// Whether an attention may send shards of keys along it around a ring.
  /// ringHasHalves: whether a causal mask cuts these shards into halves.
  bool mayRing = false, ringHasHalves = false;

  const std::string &name() const { return names.front(); }
  /// The name with the extent.
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
  /// Whether it holds integers, such as token numbers, on which nothing is
  /// computed.
  bool holdsIntegers = false;
  /// The number of arguments that it stands for. Layers pass their arguments to
  /// one function, so all are placed alike.
  int64_t count = 1;
  /// Whether the planner places it. Otherwise it stays as written.
  bool isFree = true;
  /// For a parameter: whether it has a gradient.
  bool isTrained = false;
  /// For a parameter: the classes over which its gradient is summed.
  std::vector<ClassId> summed;
  /// For a parameter: its classes that products sum over, and its classes along
  /// which rows are looked up, as in an embedding's table.
  std::vector<ClassId> contracted, lookedUp;

  /// Bytes of all `count` arguments.
  int64_t bytes() const;
};

/// A product C[m, n] += A[m, k] B[k, n] over indices, or an attention.
struct ProductFacts {
  struct Dim {
    ClassId index = 0;
    int64_t extent = 1;

    bool operator==(const Dim &other) const {
      return index == other.index && extent == other.extent;
    }
  };

  /// The number of equal products, as layers have.
  int64_t count = 1;
  /// m: dimensions of A and C. n: of B and C. k: of A and B. batch: of all
  /// three. An attention has all its dimensions in `batch`.
  std::vector<Dim> m, n, k, batch;
  /// TPSP_RT_F32, ...
  int64_t dtype = 0;
  int64_t elementBytes = 4;
  /// FLOP of the forward pass, unsharded.
  double flops = 0;
  /// The largest share of its rows that hold tokens; other rows are empty slots
  /// of experts.
  double filled = 1;
  /// The least number of products in its backward pass.
  int64_t adjoints = 0;
  bool isAttention = false;
  /// The unsharded attention, if the machine's library does it in one call.
  std::optional<AttentionWork> inOneCall;
  /// Whether shards of its keys may go around a ring.
  bool mayRing = false;
  /// Whether an operand is a parameter.
  bool readsParameter = false;
  /// Whether it belongs to no layer and reads the layers' result. With stages
  /// it belongs to the last stage.
  bool isBehindLayers = false;

  /// Whether the two are equal, apart from the count.
  bool isLike(const ProductFacts &other) const;

  /// Calls visit(dim) for all dimensions.
  template <typename Visit> void forEachDim(Visit &&visit) const {
    for (const std::vector<Dim> *group : {&m, &n, &k, &batch})
      for (const Dim &dim : *group)
        visit(dim);
  }
};

/// A tensor at which sums must be complete, because an operation that is not
/// linear reads it: the operand of a norm.
struct Completion {
  /// The indices over which the sums that reach it run. If an axis divides one
  /// of them for its parameters, the tensor is reduced at least once.
  std::vector<ClassId> sums;
  /// The tensor's dimensions.
  std::vector<ClassId> dims;
  int64_t bytes = 0;
  /// Whether it is the gradient of an operand of products, whose gradients add
  /// up to it.
  bool isBackward = false;
  /// Whether the tensor has a gradient.
  bool hasGradient = false;
  /// Whether the gradient of a trained parameter reads the operand again.
  bool isReadAgain = false;
  /// The number of equal tensors, as layers have.
  int64_t count = 1;

  /// Whether the two are equal, apart from the count.
  bool isLike(const Completion &other) const;
};

/// An operand that an operation needs whole along an index, as attention needs
/// its keys and values.
struct WholeOperand {
  /// The index along which it is whole, and the tensor's dimensions.
  ClassId index = 0;
  std::vector<ClassId> dims;
  int64_t bytes = 0;
  /// Whether it has a gradient, which returns to the ranks that have the parts.
  bool hasGradient = false;
  /// The number of equal operands.
  int64_t count = 1;

  /// Whether the two are equal, apart from the count.
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
  /// The queries, keys, values and results of attentions that operations
  /// compute. They are Boundary tensors.
  std::vector<TensorFacts> attentionTensors;
  /// The classes that all of each attention's tensors have, and no input has:
  /// heads, in the order of the program.
  std::vector<ClassId> headClasses;
  /// Equal products are stored once with their count: add() counts.
  std::vector<ProductFacts> products;
  std::vector<Completion> completions;
  std::vector<WholeOperand> wholeOperands;
  /// The queries and results of attentions, by the class of their positions.
  /// Like keys and values, they are exchanged along an axis on heads.
  std::vector<WholeOperand> exchanged;
  /// Major to minor.
  std::vector<WrittenAxis> mesh;
  /// The classes that axes may divide in activations: those of inputs that no
  /// parameter has.
  std::vector<ClassId> activationClasses;
  /// Tokens of a step: the most of one input, the product of the extents of its
  /// classes. Classes that a parameter has count only for integers. 0 if there
  /// is no input.
  int64_t tokens = 0;
  /// Layers that stages may divide: calls in the program's function.
  int64_t layers = 0;
  /// Whether all layers call one function, and each takes the previous layer's
  /// result.
  bool areLayersAlike = false;

  /// For people: the attentions that keep their scores in memory, and why.
  std::vector<std::string> keptScores;

  void add(ProductFacts product);
  void add(Completion completion);
  void add(WholeOperand operand);
  void addExchanged(WholeOperand tensor);

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
