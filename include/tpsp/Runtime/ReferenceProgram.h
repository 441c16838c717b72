/// An unsharded program as a list of operations, for the float64 reference:
/// what a sharded run is compared with. Plain data, so that it can be kept in a
/// compiled plan and evaluated where there is no compiler.
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
/// scalar functions are the reference's own, so that nothing is shared with
/// what is compared.
#ifndef TPSP_RUNTIME_REFERENCEPROGRAM_H
#define TPSP_RUNTIME_REFERENCEPROGRAM_H

#include "tpsp/Runtime/Reference.h"

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tpsp::reference {

/// A number, a flag or names: what an operation says besides its operands.
using Attribute = std::variant<double, int64_t, bool, std::string, IndexNames>;

/// What a program stores the elements of a value in.
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
  /// Numbers of values that exist by then.
  std::vector<size_t> operands;
  std::map<std::string, Attribute> attributes;
};

struct Program {
  /// The arguments, then the result of each operation.
  std::vector<ValueType> values;
  size_t arguments = 0;
  std::vector<Operation> operations;
  /// Numbers of values.
  std::vector<size_t> results;
  /// With these the program is a step, forward and backward. It then takes
  /// further arguments, each the cotangent of a result, by its position in
  /// `results`. It has further results, each the gradient of an argument.
  std::vector<size_t> cotangents, gradients;
  /// So many operations, the last, follow the backward pass: they update the
  /// parameters. An operation "gradient" of an argument is its gradient. With
  /// an update gradients are no results.
  size_t updates = 0;
  /// What the step multiplies the loss by before its backward pass, whose
  /// gradients the update divides: a constant or, from 0 on, the argument that
  /// holds it.
  double lossScale = 1;
  int64_t lossScaleArgument = -1;
  /// In which type ranks add up the gradients of the arguments `reduced`, if it
  /// is not that of the arguments.
  std::optional<Element> reducedIn;
  std::vector<size_t> reduced;

  /// The operation with which the update begins; where there is none, the end.
  size_t firstUpdate() const { return operations.size() - updates; }
  /// Whether operation `number` of the update is a gradient that was computed.
  bool isGradient(size_t number) const {
    return number >= firstUpdate() && operations[number].name == "gradient";
  }
  size_t numResults() const {
    return results.size() + (updates > 0 ? 0 : gradients.size());
  }
};

/// Called after every operation: `done` of `total` have been evaluated.
using Progress = std::function<void(size_t done, size_t total)>;

/// What a run made of an operation that decides by comparing numbers (a
/// router's experts): rounding may tip it, and all that follows is another.
struct Choice {
  /// The number of a value for which isChoice holds.
  size_t value = 0;
  /// The choice that the run took, with the value's indices and shape.
  Tensor taken;
  /// How much worse it is than the best, relative to what was compared
  /// (reference::shortfall). Set by evaluate.
  double shortfall = 0;
};

/// In which numbers a program is evaluated.
enum class Arithmetic {
  Exact, ///< float64
  /// Float64 within an operation, and every value that the program stores
  /// rounded to its type: what a right program in that type is off by.
  Rounded
};

/// Where an evaluation first makes a number that is not finite.
struct NotFinite {
  struct Source {
    /// Without a dialect: "log". Empty as long as there is no such operation.
    std::string operation;
    std::string location;
    /// What of the operation it is: "result", or "gradient of operand 1".
    std::string of;

    bool isFound() const { return !operation.empty(); }
  };
  /// The first operation that makes a NaN of operands without one, and the
  /// first that makes an infinity of finite operands.
  Source nan, infinity;
};

/// Binary digits that F64 has less where EvaluationOptions::narrowsF64 is set.
constexpr int digitsOfNarrowing = 13;

struct EvaluationOptions {
  Arithmetic arithmetic = Arithmetic::Exact;
  /// Rounded: 0 rounds to the nearest number. Any other number is a draw: it
  /// rounds up or down by chance, and parts sums otherwise.
  uint64_t draw = 0;
  /// Rounded: whether F64 rounds, too, to `digitsOfNarrowing` digits less than
  /// it has. What it then is off by, divided by 2 to that power, is what F64
  /// itself is off by.
  bool narrowsF64 = false;
  /// Null, or what the evaluation goes on with in place of its own choices. It
  /// says how good each is.
  std::vector<Choice> *choices = nullptr;
  /// Null, or what is told of the first operations, in the order of
  /// evaluation, that make a number which is not finite.
  NotFinite *notFinite = nullptr;
  Progress progress = {};
};

/// The evaluations that show what rounding makes of a program: to the nearest
/// numbers first, then seven draws of a small program and fewer, but one, of a
/// large one. Each takes about as long as an exact evaluation.
std::vector<EvaluationOptions> roundings(const Program &program);

/// The type of an argument, cotangents included; `number` is below the number
/// of both together.
const ValueType &argumentType(const Program &program, size_t number);

/// The bytes of the arguments, values and gradients that there are at once, at
/// the worst moment of `evaluate`. What operations need within is not counted,
/// so that evaluating may take more and never less. 0 if the program's numbers
/// do not fit each other.
int64_t leastBytes(const Program &program);

/// Whether the value of this number is decided by comparing numbers.
bool isChoice(const Program &program, size_t value);

/// Whether an operation drops at random.
bool drops(const Program &program);

/// Evaluates `program` for these arguments, which are only read and stay the
/// caller's; every other tensor is freed after its last use. Gradients are by
/// reverse mode over the operations of this program; nothing of the compiler's
/// derivation is used. Returns "", or a sentence that begins with the
/// operation's location. Errors are arguments that do not fit, and an operation
/// or an attribute that the reference does not have. So is an operation without
/// a gradient on the way to an argument that wants one. So is a program whose
/// numbers do not fit each other (it may come from a file).
std::string evaluate(const Program &program,
                     const std::vector<const Tensor *> &arguments,
                     std::vector<Tensor> &results,
                     const EvaluationOptions &options = {});

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCEPROGRAM_H
