#include "Names.h"
#include "Refusal.h"

#include <algorithm>
#include <utility>

using namespace tpsp::import;
using namespace tpsp::import::torch;

static const AtomList &indexOf(const Operation &operation, const char *name) {
  return std::get<IndexAttribute>(operation.attributes.at(name)).atoms;
}

Names::Names(const Program &program, std::map<std::string, std::string> wanted)
    : program(program), wanted(std::move(wanted)) {
  // Words of the notation.
  taken = {"local", "sum", "max"};
  for (const ProgramArgument &argument : program.arguments)
    if (argument.kind == ProgramArgument::Kind::Input && !argument.constant &&
        !argument.dims.empty())
      for (Atom leaf : program.atoms.leaves(argument.dims.front()))
        batch.push_back(leaf);
  // The first proposal wins.
  for (const Operation &operation : program.operations)
    if (operation.name == "attention")
      proposeOfAttention(operation);
  for (const ProgramArgument &argument : program.arguments) {
    if (argument.kind == ProgramArgument::Kind::Parameter) {
      parameters.insert(argument.value);
      if (argument.constant)
        constants.insert(argument.value);
      continue;
    }
    static const char *names[] = {"b", "s"};
    for (size_t i = 0; i < std::min<size_t>(argument.dims.size(), 2); ++i)
      for (Atom leaf : program.atoms.leaves(argument.dims[i]))
        if (!argument.constant)
          propose(leaf, names[i]);
  }
  for (const Operation &operation : program.operations)
    proposeOf(operation);
  for (const Operation &operation : program.operations) {
    if (operation.name == "einsum")
      proposeOfProduct(operation);
    if (operation.name == "one_hot_einsum")
      proposeOfGroups(operation);
  }
}

void Names::propose(Atom atom, const std::string &name) {
  AtomList leaves = program.atoms.leaves(atom);
  if (leaves.size() == 1)
    proposed.try_emplace(leaves.front(), name);
}

/// Heads that keys lack share their keys: they are r, and the others g.
void Names::proposeOfAttention(const Operation &operation) {
  const Atoms &atoms = program.atoms;
  AtomList query = atoms.leaves(indexOf(operation, "query")),
           key = atoms.leaves(indexOf(operation, "key")),
           feature = atoms.leaves(indexOf(operation, "feature"));
  AtomList q = atoms.leaves(program.values[operation.operands[0]].atoms),
           k = atoms.leaves(program.values[operation.operands[1]].atoms),
           v = atoms.leaves(program.values[operation.operands[2]].atoms);
  AtomList heads, repeats;
  for (Atom leaf : q) {
    if (contains(query, leaf) || contains(feature, leaf))
      continue;
    if (contains(batch, leaf))
      propose(leaf, "b");
    else
      (contains(k, leaf) ? heads : repeats).push_back(leaf);
  }
  propose(query.front(), "s");
  propose(key.front(), "t");
  propose(feature.front(), "k");
  for (Atom leaf : heads)
    propose(leaf, repeats.empty() ? "h" : "g");
  for (Atom leaf : repeats)
    propose(leaf, "r");
  for (Atom leaf : v)
    if (!contains(q, leaf) && !contains(k, leaf))
      propose(leaf, "w");
}

void Names::proposeOf(const Operation &operation) {
  if (operation.name == "embedding") {
    const AtomList &words = indexOf(operation, "vocabulary");
    bool isTable = parameters.count(operation.operands[1]) > 0;
    propose(words.front(), isTable ? "v" : "n");
    for (Atom leaf :
         program.atoms.leaves(program.values[operation.operands[1]].atoms))
      if (!contains(program.atoms.leaves(words), leaf) && isTable)
        propose(leaf, "d");
  } else if (operation.name == "layer_norm" || operation.name == "rms_norm") {
    const AtomList &gain = program.values[operation.operands[1]].atoms;
    for (Atom leaf : program.atoms.leaves(gain))
      propose(leaf, "d");
  } else if (operation.name == "router") {
    propose(indexOf(operation, "expert").front(), "x");
    propose(indexOf(operation, "choice").front(), "j");
  } else if (operation.name == "cross_entropy") {
    propose(indexOf(operation, "over").front(), "v");
  } else if (operation.name == "cut" || operation.name == "pad" ||
             operation.name == "concat") {
    bool isCut = operation.name == "cut";
    const AtomList &along = indexOf(operation, "index");
    bool ofParameter = isCut && parameters.count(operation.operands[0]) > 0;
    propose(along.front(), ofParameter ? "p" : isCut ? "a" : "l");
  }
}

/// A product with a parameter makes hidden features of features. One with a
/// constant, as a transform, does not.
void Names::proposeOfProduct(const Operation &operation) {
  if (operation.operands.size() != 2 ||
      parameters.count(operation.operands[0]) == 0 ||
      constants.count(operation.operands[0]) > 0)
    return;
  AtomList result =
      program.atoms.leaves(program.values[operation.result].atoms);
  for (Atom leaf :
       program.atoms.leaves(program.values[operation.operands[0]].atoms))
    propose(leaf, contains(result, leaf) ? "e" : "d");
}

/// The hidden features of experts, which a product makes or uses up.
void Names::proposeOfGroups(const Operation &operation) {
  if (operation.operands.size() != 3 ||
      parameters.count(operation.operands[1]) == 0)
    return;
  for (Atom leaf :
       program.atoms.leaves(program.values[operation.operands[1]].atoms))
    propose(leaf, "f");
}

std::string Names::unused(const std::string &name) {
  std::string found = name;
  for (int i = 2; !taken.insert(found).second; ++i)
    found = name + std::to_string(i);
  if (found != name)
    roles[found] = name;
  return found;
}

std::optional<std::string> Names::roleOf(const std::string &name) const {
  auto found = roles.find(name);
  if (found == roles.end())
    return {};
  return found->second;
}

std::string Names::of(Atom leaf) {
  auto [place, isNew] = chosen.try_emplace(leaf);
  if (!isNew)
    return place->second;
  auto found = proposed.find(leaf);
  std::string name = unused(found == proposed.end() ? "y" : found->second);
  auto other = wanted.find(name);
  if (other != wanted.end()) {
    renamed.insert(name);
    name = unused(other->second);
  }
  place->second = name;
  return name;
}

void Names::checkWanted() const {
  for (const auto &[index, name] : wanted)
    if (renamed.count(index) == 0)
      refuse("--name {}={}: the program has no index '{}'; it has {}", index,
             name, index, fmt::join(taken, ", "));
}

std::string Names::ofMerged(const AtomList &leaves) {
  auto [place, isNew] = merged.try_emplace(leaves);
  if (!isNew)
    return place->second;
  std::vector<std::string> parts;
  std::string joined;
  for (Atom leaf : leaves) {
    parts.push_back(of(leaf));
    joined += parts.back();
  }
  using Parts = std::vector<std::string>;
  if (parts == Parts{"h", "k"} || parts == Parts{"g", "r", "k"})
    joined = "q";
  else if (parts == Parts{"g", "k"})
    joined = "kv";
  else if (joined.size() > 8)
    joined = "m";
  place->second = unused(joined);
  return place->second;
}

std::string Names::ofUnit(size_t number) {
  return "u" + std::to_string(number);
}
