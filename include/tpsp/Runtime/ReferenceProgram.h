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

/// The index names and the extents of a value.
struct ValueType {
  IndexNames indices;
  Shape shape;
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
};

/// Called after every operation: `done` of `total` have been evaluated.
using Progress = std::function<void(size_t done, size_t total)>;

/// What a run made of an operation that decides by comparing numbers (a
/// router's experts): rounding may tip it, and all that follows is another.
struct Choice {
  /// The number of a value for which isChoice holds.
  size_t value = 0;
  /// Of the run; with the value's indices and shape.
  Tensor taken;
  /// How much worse it is than the best, relative to what was compared
  /// (reference::shortfall). Set by evaluate.
  double shortfall = 0;
};

/// Whether the value of this number is decided by comparing numbers.
bool isChoice(const Program &program, size_t value);

/// Evaluates `program` for these arguments, which are only read and stay the
/// caller's; every other tensor is freed after its last use. With `choices`, it
/// goes on with those and says how good they are. Returns "", or a
/// sentence that begins with the operation's location: for arguments that do
/// not fit, an operation or an attribute that the reference does not have, and
/// a program whose numbers do not fit each other (it may come from a file).
std::string evaluate(const Program &program,
                     const std::vector<const Tensor *> &arguments,
                     std::vector<Tensor> &results,
                     const Progress &progress = {},
                     std::vector<Choice> *choices = nullptr);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCEPROGRAM_H
