/// An unsharded program as a list of operations, which the float64 reference
/// evaluates for comparison with sharded runs. It is plain data, so that a
/// compiled plan can keep it and a machine without the compiler can evaluate
/// it.
///
///   Program program;
///   program.values = {{{"b", "d"}, {2, 3}}, {{"b"}, {2}}};
///   program.arguments = 1;
///   program.operations = {{"reduce", "m.mlir:3:8", {0}, {{"kind", "sum"}}}};
///   program.results = {1};
///   std::vector<Tensor> results;
///   std::string error = evaluate(program, {&x}, results);
///
/// Every operation is a call of Reference.h. Composites are not decomposed and
/// scalar functions are the reference's own, so that the reference shares no
/// code with the run.
#ifndef TPSP_RUNTIME_REFERENCEPROGRAM_H
#define TPSP_RUNTIME_REFERENCEPROGRAM_H

#include "tpsp/Runtime/Reference.h"

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tpsp::reference {

/// A value that an operation has besides its operands: a number, a flag or
/// names.
using Attribute = std::variant<double, int64_t, bool, std::string, IndexNames>;

/// The type in which a program stores the elements of a value.
enum class Element { F64, F32, BF16, F16, Integer };

/// The index names, the extents and the elements of a value.
struct ValueType {
  IndexNames indices;
  Shape shape;
  Element element = Element::F64;
};

struct Operation {
  /// Without a dialect: "einsum".
  std::string name;
  /// For messages; may be empty.
  std::string location;
  /// Numbers of values that are computed before this operation.
  std::vector<size_t> operands;
  std::map<std::string, Attribute> attributes;
  /// The name of the result in the program, "layer3.s". For messages; may be
  /// empty.
  std::string result = {};
};

struct Program {
  /// The arguments, then the result of each operation.
  std::vector<ValueType> values;
  size_t arguments = 0;
  std::vector<Operation> operations;
  /// Numbers of values.
  std::vector<size_t> results;
  /// If these are set, the program is a step, forward and backward. It then
  /// takes further arguments: the cotangents of the results at these positions
  /// of `results`. It has further results: the gradients of these values, which
  /// are arguments, or depend on them.
  std::vector<size_t> cotangents, gradients;
  /// The number of operations, at the end, that follow the backward pass and
  /// update the parameters. Among them, an operation "gradient" of an argument
  /// gives that argument's gradient. With an update, gradients are not results.
  size_t updates = 0;
  /// The loss scale: the step multiplies the loss by it before the backward
  /// pass, and the update divides the gradients by it. It is a constant, or the
  /// argument of number `lossScaleArgument` if that is not negative.
  double lossScale = 1;
  int64_t lossScaleArgument = -1;
  /// The type in which ranks add up the gradients of the arguments `reduced`,
  /// if it is not the arguments' type.
  std::optional<Element> reducedIn;
  std::vector<size_t> reduced;
  /// The type in which the gradients of the arguments `reduced` are summed over
  /// so many micro-batches, if that is not f32.
  std::optional<Element> summedIn;
  int64_t microBatches = 1;

  /// The number of the update's first operation; without an update, the number
  /// of operations.
  size_t firstUpdate() const { return operations.size() - updates; }
  /// Whether operation `number` is a gradient of the update that was computed
  /// before.
  bool isGradient(size_t number) const {
    return number >= firstUpdate() && operations[number].name == "gradient";
  }
  size_t numResults() const {
    return results.size() + (updates > 0 ? 0 : gradients.size());
  }
};

/// Called after every operation: `done` of `total` have been evaluated.
using Progress = std::function<void(size_t done, size_t total)>;

/// A run's choice in an operation that decides by comparing numbers, such as a
/// router's experts. Rounding may change the decision, and with it all that
/// follows.
struct Choice {
  /// The number of a value for which isChoice holds.
  size_t value = 0;
  /// The choice that the run made, with the value's indices and shape.
  Tensor taken;
  /// How much worse the choice is than the best, relative to the compared
  /// numbers (reference::shortfall). Set by evaluate.
  double shortfall = 0;
};

/// The arithmetic in which a program is evaluated.
enum class Arithmetic {
  Exact, ///< float64
  /// float64 within an operation, with every stored value rounded to its type.
  /// It shows the error of a right program in that type.
  Rounded
};

/// The operations that first make numbers that are not finite.
struct NotFinite {
  struct Source {
    /// The operation's name without a dialect: "log". Empty if no such
    /// operation was found.
    std::string operation;
    std::string location;
    /// Which of the operation's values it is: "result", or "gradient of operand
    /// 1".
    std::string of;
    /// As Operation::result.
    std::string result;

    bool isFound() const { return !operation.empty(); }
  };
  /// The first operation that makes a NaN of operands without one, and the
  /// first that makes an infinity of finite operands.
  Source nan, infinity;
};

/// The number of binary digits that EvaluationOptions::narrowsF64 takes from
/// F64.
constexpr int digitsOfNarrowing = 13;

struct EvaluationOptions {
  Arithmetic arithmetic = Arithmetic::Exact;
  /// With Rounded: 0 rounds to nearest. Any other number seeds a draw, which
  /// rounds up or down at random and splits sums at other places.
  uint64_t draw = 0;
  /// With Rounded: whether F64 is rounded too, to `digitsOfNarrowing` fewer
  /// digits than it has. The resulting error, divided by 2 to that power, is
  /// the error of F64 itself.
  bool narrowsF64 = false;
  /// Null, or the choices with which the evaluation continues instead of its
  /// own. It sets how good each choice is.
  std::vector<Choice> *choices = nullptr;
  /// Null, or where to record the first operations, in the order of evaluation,
  /// that make a number which is not finite.
  NotFinite *notFinite = nullptr;
  Progress progress = {};
};

/// The evaluations that measure the rounding of a program. The first rounds to
/// nearest. The others are draws: seven for a small program, fewer for a large
/// one, at least one. Each takes about as long as an exact evaluation.
std::vector<EvaluationOptions> roundings(const Program &program);

/// The type of an argument, cotangents included. `number` counts both and must
/// be in range.
const ValueType &argumentType(const Program &program, size_t number);

/// The largest number of bytes that arguments, values and gradients take at
/// once during `evaluate`. Memory within operations is not counted, so that an
/// evaluation needs at least this much. 0 if the program's numbers are
/// inconsistent.
int64_t leastBytes(const Program &program);

/// Whether a value is decided by comparing numbers.
bool isChoice(const Program &program, size_t value);

/// Whether an operation of the program drops elements at random.
bool drops(const Program &program);

/// Evaluates `program` for these arguments, which are only read and stay the
/// caller's. Every other tensor is freed after its last use. Gradients are by
/// reverse mode over the operations of this program; the compiler's derivation
/// is not used. Returns "", or a sentence that begins with the operation's
/// location. It is an error if the arguments do not fit, or if the reference
/// lacks an operation or an attribute. It is an error if an operation without a
/// gradient lies on the way to an argument whose gradient is wanted. It is an
/// error if the program's numbers are inconsistent, since the program may come
/// from a file.
std::string evaluate(const Program &program,
                     const std::vector<const Tensor *> &arguments,
                     std::vector<Tensor> &results,
                     const EvaluationOptions &options = {});

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCEPROGRAM_H
