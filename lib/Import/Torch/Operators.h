/// The ATen operations that are known, and what they become.
///
/// An operation is one row of a table: its name, its arguments with ATen's
/// defaults, how it is evaluated, and how it is written. An archive leaves out
/// arguments that have their defaults.
#ifndef TPSP_IMPORT_TORCH_OPERATORS_H
#define TPSP_IMPORT_TORCH_OPERATORS_H

#include "Builder.h"

#include <set>

namespace tpsp::import::torch {

class Environment;

/// A node, with its arguments.
class Call {
public:
  Call(Environment &environment, const Node &node, const std::string &schema);

  Tensor tensor(const std::string &name) const;
  /// Nothing if it is None.
  std::optional<Tensor> maybe(const std::string &name) const;
  /// None among the tensors of a list is nothing.
  std::vector<std::optional<Tensor>> tensors(const std::string &name) const;
  /// Whether the operation has an argument of this name.
  bool has(const std::string &name) const;
  bool isNone(const std::string &name) const;
  /// Whether it is a tensor.
  bool isTensor(const std::string &name) const;
  /// Whether it is a tensor of complex numbers.
  bool isComplex(const std::string &name) const;
  int64_t integer(const std::string &name) const;
  double number(const std::string &name) const;
  bool flag(const std::string &name) const;
  std::string word(const std::string &name) const;
  /// A single number is a list of one.
  Sizes list(const std::string &name) const;
  std::vector<double> numbers(const std::string &name) const;
  /// A dimension of a tensor of `rank` dimensions; negative ones count from
  /// the end.
  size_t dim(const std::string &name, size_t rank) const;
  std::vector<size_t> dims(const std::string &name, size_t rank) const;

  /// Throws a Refusal if an argument that may change numbers is given, is not
  /// its default, and has not been read.
  void checkAllRead() const;

  /// Every tensor argument, in the order of the schema. All of them are read.
  std::vector<Tensor> operands() const;
  /// The same, and none of them counts as read.
  std::vector<Tensor> tensors() const;
  /// Whether no tensor argument depends on an input or a parameter.
  bool isConstant() const;
  /// The type of a result, as the archive has it.
  const TensorMeta &result(size_t number = 0) const;
  size_t results() const { return node.outputs.size(); }
  /// Whether a result is used.
  bool isUsed(size_t number) const;

  /// The tensor as a value of this element type ("f32"; "" for that of the
  /// result, see resultElement).
  Tensor value(const std::string &name, const std::string &element = "") const;
  Tensor lifted(const Tensor &tensor, const std::string &element = "") const;
  /// That of a floating-point result. Integers and truth values are computed
  /// in Builder::exact, whatever the program's type.
  std::string resultElement() const;
  /// The table that an input of integers looks up, which bounds it.
  std::optional<Tensor> tableOf(const Tensor &ids) const;
  /// Notes that the argument `table` is the table that `ids` look up.
  void noteTable(const Tensor &ids, const std::string &table) const;
  /// The index whose positions integers are, without repetition in a row, if a
  /// choice made them.
  std::optional<Atom> chosenFrom(const Tensor &ids) const;
  void noteChoice(const Tensor &ids, Atom from) const;
  /// The index whose positions integers are, perhaps with repetition.
  std::optional<Atom> positionsAlong(const Tensor &ids) const;
  void notePositions(const Tensor &ids, Atom along) const;

  Builder &build;

private:
  /// An argument, which counts as read.
  const Argument &argument(const std::string &name) const;

  Environment &environment;
  const Node &node;
  std::map<std::string, Argument> arguments, defaults;
  std::vector<std::string> order;
  std::set<std::string> optional;
  mutable std::set<std::string> read;
};

using Emit = std::function<std::vector<Tensor>(Call &)>;
/// Evaluates an operation whose operands all are constants.
using Fold = std::function<std::vector<ConstantPtr>(const Call &)>;

struct Operator {
  /// The name lacks "aten." and ".default".
  std::string name;
  /// "self, other, alpha=1, ~dtype=None": the names, with defaults. One that is
  /// marked need not be read. It changes no number, or the types and sizes of
  /// the results say it.
  std::string schema;
  /// Empty: operands are lifted, and the operation is written.
  Fold fold;
  Emit emit;
};

using Operators = std::vector<Operator>;

const Operators &viewOperators();
const Operators &joinOperators();
const Operators &pointwiseOperators();
const Operators &angleOperators();
const Operators &logicOperators();
const Operators &creationOperators();
const Operators &contractionOperators();
const Operators &rowOperators();
const Operators &lossOperators();
const Operators &attentionOperators();
const Operators &indexOperators();
const Operators &choiceOperators();
const Operators &windowOperators();
const Operators &recurrentOperators();
const Operators &bagOperators();
const Operators &scatterOperators();
/// Operations of complex numbers, in place of others of the same names.
const Operators &complexOperators();
/// Whether an operand or a result has complex numbers.
bool touchesComplex(const Graph &graph, const Node &node);

/// Null if the operation is not known. `ofComplex`: among those that are known
/// for complex numbers.
const Operator *findOperator(const std::string &name, bool ofComplex = false);

/// The tensors by their names in the graph.
class Environment {
public:
  Environment(const Graph &graph, Builder &builder)
      : graph(graph), build(builder) {}

  const Graph &graph;
  Builder &build;
  std::map<std::string, Tensor> tensors;
  /// How often a tensor is used.
  std::map<std::string, int> uses;
  /// Tables by the inputs of integers that look them up.
  std::map<ValueId, std::string> tables;
  /// Indices by the integers that are positions along them.
  std::map<ValueId, Atom> choices;
  /// The same, of integers that may repeat.
  std::map<ValueId, Atom> positions;

  /// Runs a node. Throws a Refusal if it cannot be expressed.
  void run(const Node &node);
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_OPERATORS_H
