#include "Masks.h"
#include "Recognise.h"

#include <algorithm>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

namespace {

/// The operations between the two products of an attention.
struct Scores {
  double scale = 1;
  double softcap = 0;
  /// The values that are added.
  std::vector<ValueId> added;
  /// The constants that say which keys are seen, and those that say which are
  /// not.
  std::vector<const ProgramArgument *> seen, hidden;
  const Operation *product = nullptr;
};

class Attention {
public:
  Attention(Program &program, const Uses &uses, Operation &softmax)
      : program(program), uses(uses), softmax(softmax) {}

  /// Rewrites the last product; false if this is no attention.
  bool rewrite();

private:
  bool readScores(ValueId value);
  bool leadsToProduct(ValueId value) const;
  bool isLow(ValueId value) const;
  bool readMask(ValueId &value);
  bool readSoftcap(ValueId &value);
  void readScale(ValueId &value);
  bool findIndices();
  bool addMask(Attributes &attributes, std::vector<ValueId> &operands) const;
  /// The softmax's sink, if it has one, must have indices of heads alone.
  bool addSink(std::vector<ValueId> &operands) const;
  AtomList atomsOf(ValueId value) const {
    return program.atoms.leaves(program.values[value].atoms);
  }

  Program &program;
  const Uses &uses;
  Operation &softmax;
  Operation *last = nullptr;
  Scores scores;
  ValueId queries = -1, keys = -1, values = -1;
  Atom query = -1, key = -1, feature = -1;
};

} // namespace

void Attention::readScale(ValueId &value) {
  while (const Operation *scale = uses.only(value, "scale")) {
    scores.scale *= std::get<double>(scale->attributes.at("factor"));
    value = scale->operands[0];
  }
}

/// cap tanh(x / cap).
bool Attention::readSoftcap(ValueId &value) {
  const Operation *outer = uses.only(value, "scale");
  const Operation *tanh = outer ? uses.only(outer->operands[0], "tanh") : outer;
  const Operation *inner =
      tanh ? uses.only(tanh->operands[0], "scale") : nullptr;
  if (!inner)
    return false;
  double cap = std::get<double>(outer->attributes.at("factor"));
  double by = std::get<double>(inner->attributes.at("factor"));
  if (cap <= 0 || std::abs(cap * by - 1) > 1e-9)
    return false;
  scores.softcap = cap;
  value = inner->operands[0];
  return true;
}

/// Whether the value is a product of queries and keys that is scaled, capped
/// and masked.
bool Attention::leadsToProduct(ValueId value) const {
  static const std::set<std::string> passed = {"scale", "tanh", "add", "max"};
  for (const Operation *maker = uses.maker(value); maker;) {
    if (maker->name == "einsum")
      return maker->operands.size() == 2;
    bool isSelect = maker->name == "select";
    int chosen = isSelect && isLow(maker->operands[1]) ? 2 : 1;
    if (!isSelect && passed.count(maker->name) == 0)
      return false;
    ValueId next = maker->operands[isSelect ? chosen : 0];
    if (maker->name == "add" && !leadsToProduct(next))
      next = maker->operands.back();
    maker = uses.maker(next);
  }
  return false;
}

/// A number that hides a key, if the value is one.
bool Attention::isLow(ValueId value) const {
  const Operation *maker = uses.maker(value, "constant");
  return maker && std::get<double>(maker->attributes.at("value")) <= -1e30;
}

/// x + bias, max(x, a low number) or select(seen, x, a low number).
bool Attention::readMask(ValueId &value) {
  if (const Operation *add = uses.only(value, "add");
      add && add->operands.size() == 2) {
    int side = leadsToProduct(add->operands[0]) ? 0 : 1;
    scores.added.push_back(add->operands[1 - side]);
    value = add->operands[side];
    return true;
  }
  if (const Operation *most = uses.only(value, "max");
      most && isLow(most->operands[1])) {
    value = most->operands[0];
    return true;
  }
  const Operation *select = uses.only(value, "select");
  if (!select)
    return false;
  bool hidesRest = isLow(select->operands[2]);
  if (!hidesRest && !isLow(select->operands[1]))
    return false;
  auto &masks = hidesRest ? scores.seen : scores.hidden;
  masks.push_back(uses.constant(select->operands[0]));
  value = select->operands[hidesRest ? 1 : 2];
  return masks.back() != nullptr;
}

bool Attention::readScores(ValueId value) {
  if (!leadsToProduct(value))
    return false;
  while (readMask(value))
    ;
  for (const auto *masks : {&scores.seen, &scores.hidden})
    if (std::count(masks->begin(), masks->end(), nullptr) > 0)
      return false;
  readSoftcap(value);
  readScale(value);
  scores.product = uses.only(value, "einsum");
  return scores.product && scores.product->operands.size() == 2 &&
         scores.scale > 0;
}

bool Attention::findIndices() {
  AtomList over = program.atoms.leaves(
      std::get<IndexAttribute>(softmax.attributes.at("over")).atoms);
  AtomList ofScores = atomsOf(scores.product->result);
  if (over.size() != 1)
    return false;
  key = over.front();
  queries = scores.product->operands[0];
  keys = scores.product->operands[1];
  if (contains(atomsOf(queries), key))
    std::swap(queries, keys);
  AtomList q = atomsOf(queries), k = atomsOf(keys);
  if (contains(q, key) || !contains(k, key))
    return false;
  for (Atom leaf : q)
    if (!contains(ofScores, leaf)) {
      if (feature >= 0 || !contains(k, leaf))
        return false;
      feature = leaf;
    }
  for (Atom leaf : k)
    if (leaf != key && !contains(q, leaf))
      return false;
  // The query stands before the key, as PyTorch writes scores.
  auto place = std::find(ofScores.begin(), ofScores.end(), key);
  if (place == ofScores.begin() || feature < 0)
    return false;
  query = *(place - 1);
  AtomList v = atomsOf(values);
  int own = 0;
  for (Atom leaf : v)
    own += leaf != key && (!contains(q, leaf) || leaf == feature);
  if (!contains(q, query) || contains(k, query) || contains(v, query) ||
      !contains(v, key) || own != 1)
    return false;
  // The result has every index of the queries and of the values but these.
  std::set<Atom> expected(q.begin(), q.end());
  expected.erase(feature);
  for (Atom leaf : v)
    if (leaf != key)
      expected.insert(leaf);
  AtomList result = atomsOf(last->result);
  return std::set<Atom>(result.begin(), result.end()) == expected;
}

/// The band of a constant along queries and keys alone.
static std::optional<Band> bandOf(const Program &program,
                                  const ProgramArgument &argument, Atom query,
                                  Atom key, bool isHidden) {
  AtomList atoms = program.atoms.leaves(program.values[argument.value].atoms);
  if (atoms != AtomList{query, key})
    return {};
  ConstantPtr mask = argument.constant;
  // A key that is not hidden is seen.
  if (isHidden)
    mask = Constant::apply(
        "not", [](const std::vector<double> &x) { return x[0] == 0 ? 1 : 0; },
        ScalarType::Bool, {mask});
  return torch::bandOf(*mask, program.atoms.extent(query),
                       program.atoms.extent(key));
}

/// A band becomes attributes. One other mask may be added.
bool Attention::addMask(Attributes &attributes,
                        std::vector<ValueId> &operands) const {
  int64_t s = program.atoms.extent(query), t = program.atoms.extent(key);
  Band seen;
  // Booleans say what is seen or hidden, and other numbers are added.
  auto see = [&](const ProgramArgument *mask, bool isAdded, bool isHidden) {
    std::optional<Band> band;
    if (mask && isAdded != (mask->constant->type() == ScalarType::Bool))
      band = ::bandOf(program, *mask, query, key, isHidden);
    if (!band || !(band->isAll(s, t) || (band->isCausal() && s <= t)))
      return false;
    seen = {std::max(seen.first, band->first), std::min(seen.last, band->last)};
    return true;
  };
  for (const ProgramArgument *mask : scores.seen)
    if (!see(mask, false, false))
      return false;
  for (const ProgramArgument *mask : scores.hidden)
    if (!see(mask, false, true))
      return false;
  AtomList ofScores = atomsOf(scores.product->result);
  for (ValueId added : scores.added) {
    if (see(uses.constant(added), true, false))
      continue;
    AtomList own = atomsOf(added);
    bool isBias = contains(own, query) || contains(own, key);
    if (operands.size() > 3 || !isBias)
      return false;
    for (Atom leaf : own)
      if (!contains(ofScores, leaf))
        return false;
    operands.push_back(added);
  }
  if (seen.isAll(s, t))
    return true;
  attributes["causal"] = true;
  if (seen.last < s - 1)
    attributes["window"] = seen.last + 1;
  return true;
}

bool Attention::addSink(std::vector<ValueId> &operands) const {
  if (softmax.operands.size() < 2)
    return true;
  AtomList own = atomsOf(softmax.operands[1]), q = atomsOf(queries);
  auto isOfHeads = [&](Atom leaf) {
    return contains(q, leaf) && leaf != query && leaf != feature;
  };
  operands.push_back(softmax.operands[1]);
  return !own.empty() && std::all_of(own.begin(), own.end(), isOfHeads);
}

bool Attention::rewrite() {
  last = uses.user(softmax.result);
  if (!last || last->name != "einsum" || last->operands.size() != 2 ||
      softmax.attributes.size() != 1 || !readScores(softmax.operands[0]))
    return false;
  values = last->operands[last->operands[0] == softmax.result ? 1 : 0];
  if (contains(atomsOf(last->result), -1) || !findIndices() ||
      contains(atomsOf(last->result), key))
    return false;
  Attributes attributes = {{"query", IndexAttribute{{query}}},
                           {"key", IndexAttribute{{key}}},
                           {"feature", IndexAttribute{{feature}}},
                           {"scale", scores.scale}};
  if (scores.softcap > 0)
    attributes["softcap"] = scores.softcap;
  std::vector<ValueId> operands = {queries, keys, values};
  if (!addMask(attributes, operands) || !addSink(operands))
    return false;
  last->name = "attention";
  last->operands = operands;
  last->attributes = attributes;
  return true;
}

void torch::recogniseAttention(Program &program) {
  Uses uses(program);
  for (Operation &operation : program.operations)
    if (operation.name == "softmax")
      Attention(program, uses, operation).rewrite();
}
