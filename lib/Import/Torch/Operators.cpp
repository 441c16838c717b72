#include "Operators.h"
#include "Refusal.h"
#include "SortedRows.h"

#include <algorithm>
#include <limits>
#include <sstream>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using OperatorsByName = std::map<std::string, const Operator *>;

static OperatorsByName byName(const std::vector<const Operators *> &tables) {
  OperatorsByName found;
  for (const Operators *some : tables)
    for (const Operator &one : *some)
      found[one.name] = &one;
  return found;
}

/// The operations that move elements of any kind.
static OperatorsByName movingOperators() {
  OperatorsByName views = byName({&viewOperators(), &logicOperators()}), found;
  for (const char *name :
       {"view", "_unsafe_view", "reshape", "flatten.using_ints",
        "unflatten.int", "expand", "unsqueeze", "squeeze.dim", "transpose.int",
        "slice.Tensor", "select.int", "clone", "detach", "alias", "contiguous",
        "_assert_tensor_metadata"})
    if (auto one = views.find(name); one != views.end())
      found.insert(*one);
  return found;
}

const Operator *torch::findOperator(const std::string &name, bool ofComplex) {
  static const OperatorsByName all = byName(
                                   {&viewOperators(), &joinOperators(),
                                    &pointwiseOperators(), &angleOperators(),
                                    &logicOperators(), &creationOperators(),
                                    &contractionOperators(), &rowOperators(),
                                    &lossOperators(), &attentionOperators(),
                                    &indexOperators(), &choiceOperators(),
                                    &windowOperators(), &recurrentOperators(),
                                    &bagOperators(), &scatterOperators()}),
                               complex = byName({&complexOperators()}),
                               moving = movingOperators();
  static const std::string prefix = "aten.", suffix = ".default";
  bool isAten = name.rfind(prefix, 0) == 0;
  std::string shortName = isAten ? name.substr(prefix.size()) : name;
  size_t end = shortName.rfind(suffix);
  if (end != std::string::npos && end + suffix.size() == shortName.size())
    shortName.erase(end);
  auto in = [&](const OperatorsByName &table) {
    auto found = table.find(shortName);
    return found == table.end() ? nullptr : found->second;
  };
  if (!ofComplex)
    return in(all);
  const Operator *own = in(complex);
  return own ? own : in(moving);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// "None", "True", "1", "1e-5", "[]", "[0, 1]" or a word.
static Argument defaultOf(const std::string &text) {
  if (text == "None")
    return std::monostate{};
  if (text == "True" || text == "False")
    return text == "True";
  if (text.front() == '[') {
    std::vector<int64_t> numbers;
    std::istringstream stream(text.substr(1));
    for (int64_t number = 0; stream >> number;)
      numbers.push_back(number);
    return numbers;
  }
  std::istringstream stream(text);
  double number = 0;
  if (!(stream >> number))
    return text;
  if (text.find_first_of(".e") != std::string::npos)
    return number;
  return static_cast<int64_t>(number);
}

Call::Call(Environment &environment, const Node &node,
           const std::string &schema)
    : build(environment.build), environment(environment), node(node) {
  std::istringstream entries(schema);
  for (std::string entry; std::getline(entries, entry, ',');) {
    entry.erase(0, entry.find_first_not_of(' '));
    size_t equals = entry.find('=');
    bool isOptional = entry.front() == '~';
    order.push_back(entry.substr(isOptional, equals - isOptional));
    if (isOptional)
      optional.insert(order.back());
    if (equals != std::string::npos)
      defaults[order.back()] = defaultOf(entry.substr(equals + 1));
  }
  arguments = defaults;
  // Where a tensor is, and in which layout, changes no number.
  static const std::vector<std::string> ignored = {
      "device", "layout", "pin_memory", "memory_format", "non_blocking"};
  for (const auto &[name, argument] : node.arguments) {
    bool isKnown = std::find(order.begin(), order.end(), name) != order.end();
    if (!isKnown &&
        std::find(ignored.begin(), ignored.end(), name) == ignored.end() &&
        !std::holds_alternative<std::monostate>(argument))
      refuse("has an argument '{}', which is not known", name);
    if (isKnown)
      arguments[name] = argument;
  }
}

const Argument &Call::argument(const std::string &name) const {
  read.insert(name);
  auto found = arguments.find(name);
  if (found == arguments.end())
    refuse("lacks its argument '{}'", name);
  return found->second;
}

bool Call::has(const std::string &name) const {
  return arguments.count(name) > 0;
}

static std::optional<double> numberIn(const Argument &value) {
  if (const auto *flag = std::get_if<bool>(&value))
    return *flag ? 1 : 0;
  if (const auto *integer = std::get_if<int64_t>(&value))
    return static_cast<double>(*integer);
  if (const auto *real = std::get_if<double>(&value))
    return *real;
  return {};
}

static bool areEqual(const Argument &a, const Argument &b) {
  auto x = numberIn(a), y = numberIn(b);
  return a.index() == b.index() && !x ? a == b : x && x == y;
}

static std::string described(const Argument &value) {
  if (auto number = numberIn(value))
    return fmt::format("{}", *number);
  if (const auto *word = std::get_if<std::string>(&value))
    return fmt::format("'{}'", *word);
  return "a value";
}

void Call::checkAllRead() const {
  for (const std::string &name : order) {
    auto given = node.arguments.find(name);
    if (given == node.arguments.end() || read.count(name) > 0 ||
        optional.count(name) > 0)
      continue;
    auto other = defaults.find(name);
    if (other == defaults.end() || !areEqual(given->second, other->second))
      refuse("has {} = {}, which is not supported", name,
             described(given->second));
  }
}

bool Call::isNone(const std::string &name) const {
  const Argument &value = argument(name);
  const auto *tensor = std::get_if<TensorName>(&value);
  return std::holds_alternative<std::monostate>(value) ||
         (tensor && tensor->name.empty());
}

bool Call::isComplex(const std::string &name) const {
  const auto *tensor = std::get_if<TensorName>(&argument(name));
  return tensor && environment.graph.tensors.at(tensor->name).isComplex;
}

bool Call::isTensor(const std::string &name) const {
  return std::holds_alternative<TensorName>(argument(name)) && !isNone(name);
}

template <typename T>
static const T &as(const Argument &value, const std::string &name) {
  const T *found = std::get_if<T>(&value);
  if (!found)
    refuse("has an argument '{}' of another kind than expected", name);
  return *found;
}

static const Tensor &find(const Environment &environment,
                          const std::string &name) {
  auto found = environment.tensors.find(name);
  if (found == environment.tensors.end())
    refuse("uses '{}', which is not computed before it", name);
  return found->second;
}

Tensor Call::tensor(const std::string &name) const {
  return find(environment, as<TensorName>(argument(name), name).name);
}

std::optional<Tensor> Call::maybe(const std::string &name) const {
  if (isNone(name))
    return {};
  return tensor(name);
}

std::vector<std::optional<Tensor>>
Call::tensors(const std::string &name) const {
  std::vector<std::optional<Tensor>> all;
  for (const TensorName &one :
       as<std::vector<TensorName>>(argument(name), name)) {
    all.emplace_back();
    if (!one.name.empty())
      all.back() = find(environment, one.name);
  }
  return all;
}

int64_t Call::integer(const std::string &name) const {
  const Argument &value = argument(name);
  if (const bool *flag = std::get_if<bool>(&value))
    return *flag;
  return as<int64_t>(value, name);
}

double Call::number(const std::string &name) const {
  const Argument &value = argument(name);
  if (const auto *real = std::get_if<double>(&value))
    return *real;
  return static_cast<double>(integer(name));
}

bool Call::flag(const std::string &name) const {
  return as<bool>(argument(name), name);
}

std::string Call::word(const std::string &name) const {
  return as<std::string>(argument(name), name);
}

Sizes Call::list(const std::string &name) const {
  const Argument &value = argument(name);
  if (const auto *one = std::get_if<int64_t>(&value))
    return {*one};
  return as<std::vector<int64_t>>(value, name);
}

std::vector<double> Call::numbers(const std::string &name) const {
  const Argument &value = argument(name);
  if (const auto *all = std::get_if<std::vector<int64_t>>(&value))
    return {all->begin(), all->end()};
  return as<std::vector<double>>(value, name);
}

static size_t positive(int64_t dim, size_t rank) {
  auto signedRank = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -signedRank || dim >= signedRank)
    refuse("names dimension {} of a tensor that has {}", dim, rank);
  return static_cast<size_t>(dim < 0 ? dim + signedRank : dim);
}

size_t Call::dim(const std::string &name, size_t rank) const {
  // The parts of complex numbers are no dimension in PyTorch.
  return positive(integer(name), rank - (result().isComplex ? 1 : 0));
}

std::vector<size_t> Call::dims(const std::string &name, size_t rank) const {
  std::vector<size_t> all;
  if (!isNone(name))
    for (int64_t one : list(name))
      all.push_back(positive(one, rank));
  if (all.empty())
    for (size_t i = 0; i < rank; ++i)
      all.push_back(i);
  return all;
}

std::vector<Tensor> Call::operands() const {
  for (const auto &[name, value] : arguments)
    if (std::holds_alternative<TensorName>(value) ||
        std::holds_alternative<std::vector<TensorName>>(value))
      read.insert(name);
  return tensors();
}

bool Call::isConstant() const {
  std::vector<Tensor> all = tensors();
  return std::all_of(all.begin(), all.end(),
                     [](const Tensor &one) { return one.constant != nullptr; });
}

std::vector<Tensor> Call::tensors() const {
  std::vector<Tensor> all;
  auto add = [&](const TensorName &one) {
    if (!one.name.empty())
      all.push_back(find(environment, one.name));
  };
  for (const std::string &name : order) {
    auto found = arguments.find(name);
    if (found == arguments.end())
      refuse("lacks its argument '{}'", name);
    if (const auto *one = std::get_if<TensorName>(&found->second))
      add(*one);
    if (const auto *several =
            std::get_if<std::vector<TensorName>>(&found->second))
      std::for_each(several->begin(), several->end(), add);
  }
  return all;
}

const TensorMeta &Call::result(size_t number) const {
  return environment.graph.tensors.at(node.outputs.at(number));
}

bool Call::isUsed(size_t number) const {
  auto found = environment.uses.find(node.outputs.at(number));
  return found != environment.uses.end() && found->second > 0;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string Call::resultElement() const {
  ScalarType type = result().type;
  return isFloating(type) ? elementOf(type) : build.exact;
}

std::optional<Tensor> Call::tableOf(const Tensor &ids) const {
  auto found = environment.tables.find(ids.value);
  if (found == environment.tables.end())
    return {};
  return find(environment, found->second);
}

void Call::noteTable(const Tensor &ids, const std::string &table) const {
  if (!ids.constant)
    environment.tables.try_emplace(ids.value,
                                   as<TensorName>(argument(table), table).name);
}

std::optional<Atom> Call::chosenFrom(const Tensor &ids) const {
  auto found = environment.choices.find(ids.value);
  if (ids.constant || found == environment.choices.end())
    return {};
  return found->second;
}

void Call::noteChoice(const Tensor &ids, Atom from) const {
  environment.choices.try_emplace(ids.value, from);
}

std::optional<Atom> Call::positionsAlong(const Tensor &ids) const {
  if (std::optional<Atom> from = chosenFrom(ids))
    return from;
  auto found = environment.positions.find(ids.value);
  if (ids.constant || found == environment.positions.end())
    return {};
  return found->second;
}

void Call::notePositions(const Tensor &ids, Atom along) const {
  environment.positions.try_emplace(ids.value, along);
}

Tensor Call::lifted(const Tensor &tensor, const std::string &element) const {
  std::string wanted = element.empty() ? resultElement() : element;
  Tensor out = build.lifted(tensor, wanted);
  if (build.elementOf(out) != "i32" || wanted == "i32")
    return build.converted(out, wanted);
  // The number of an id is looked up: in 0, 1, 2, ...
  AtomList vocabulary;
  if (out.type == ScalarType::Bool) {
    vocabulary = {build.program.atoms.create(2)};
  } else if (std::optional<Atom> from = positionsAlong(out)) {
    vocabulary = {
        build.program.atoms.create(build.program.atoms.extent(*from))};
  } else if (std::optional<Tensor> table = tableOf(out)) {
    vocabulary =
        table->constant
            ? AtomList{build.program.atoms.create(table->constant->sizes()[0])}
            : build.program.atoms.leaves(build.single(*table, 0).dims.at(0));
  } else if (build.takeAsNumbers(out.value)) {
    return build.converted(out, wanted);
  } else {
    refuse("computes with integers of an input that looks nothing up, so that "
           "they have no bound");
  }
  ValueId count =
      build.emitValue("iota", {}, vocabulary, build.exact,
                      {{"index", IndexAttribute{{vocabulary.front()}}}});
  out.value = build.emitValue(
      "embedding", {out.value, count}, build.program.values[out.value].atoms,
      build.exact, {{"vocabulary", IndexAttribute{{vocabulary.front()}}}});
  return build.converted(out, wanted);
}

Tensor Call::value(const std::string &name, const std::string &element) const {
  return lifted(tensor(name), element);
}

static void store(Environment &environment, const Node &node,
                  std::vector<Tensor> results) {
  if (results.size() != node.outputs.size())
    refuse("has {} results, and {} are expected", node.outputs.size(),
           results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    auto about = environment.graph.tensors.find(node.outputs[i]);
    if (about == environment.graph.tensors.end())
      refuse("has a result that is no tensor");
    Sizes sizes = environment.build.sizes(results[i]);
    if (sizes != about->second.sizes)
      refuse("has a result of [{}], and the archive says [{}]",
             fmt::join(sizes, ", "), fmt::join(about->second.sizes, ", "));
    results[i].type = about->second.type;
    environment.tensors[node.outputs[i]] = std::move(results[i]);
  }
}

/// Tensors without elements are constants, whatever they are computed from.
/// False if a result has elements.
static bool storeEmpty(Environment &environment, const Node &node) {
  std::vector<Tensor> results;
  for (const std::string &name : node.outputs) {
    auto about = environment.graph.tensors.find(name);
    if (about == environment.graph.tensors.end() ||
        elementsOf(about->second.sizes) != 0)
      return false;
    results.emplace_back();
    results.back().constant =
        Constant::filled(about->second.type, about->second.sizes, 0);
  }
  if (results.empty())
    return false;
  store(environment, node, std::move(results));
  return true;
}

/// The results, evaluated if all operands are constants.
static std::vector<Tensor> computed(Call &call, const Operator &known) {
  if (!call.isConstant() || !known.fold) {
    if (!known.emit)
      refuse("depends on an input, and is known for constants only");
    return known.emit(call);
  }
  std::vector<Tensor> results;
  for (const ConstantPtr &constant : known.fold(call)) {
    results.emplace_back();
    ScalarType type = call.result(results.size() - 1).type;
    results.back().constant =
        constant->type() == type ? constant : constant->converted(type);
  }
  return results;
}

void Environment::run(const Node &node) {
  bool ofComplex = touchesComplex(graph, node);
  const Operator *known = findOperator(node.target, ofComplex);
  if (!known)
    refuse("is not known{}", ofComplex ? " for complex numbers" : "");
  if (storeEmpty(*this, node))
    return;
  Call call(*this, node, known->schema);
  build.modules = node.modules;
  auto compute = [&] { return computed(call, *known); };
  std::vector<Tensor> results =
      hasSorted(call) ? ofSorted(call, known->name, compute) : compute();
  call.checkAllRead();
  store(*this, node, std::move(results));
}
