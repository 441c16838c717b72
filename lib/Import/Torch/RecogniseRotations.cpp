#include "Recognise.h"
#include "RotationTables.h"

#include <algorithm>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

namespace {

/// x cos + turned(x) sin.
struct Rotation {
  ValueId x = -1;
  const ProgramArgument *cosines = nullptr, *sines = nullptr;
  Atom position = -1, feature = -1;
};

} // namespace

static AtomList atomsOf(const Program &program, ValueId value) {
  return program.atoms.leaves(program.values[value].atoms);
}

/// The operand of a transposition.
static ValueId untransposed(const Program &program, const Uses &uses,
                            ValueId value) {
  while (const Operation *one = uses.maker(value, "einsum")) {
    if (one->operands.size() != 1)
      break;
    AtomList from = atomsOf(program, one->operands[0]),
             to = atomsOf(program, value);
    if (std::set<Atom>(from.begin(), from.end()) !=
        std::set<Atom>(to.begin(), to.end()))
      break;
    value = one->operands[0];
  }
  return value;
}

/// x, if the value is the part of x from `from` on, along `feature`.
static std::optional<ValueId> partOf(const Program &program, const Uses &uses,
                                     ValueId value, Atom feature,
                                     int64_t from) {
  const Operation *cut = uses.maker(untransposed(program, uses, value), "cut");
  if (!cut || std::get<int64_t>(cut->attributes.at("from")) != from)
    return {};
  AtomList along = program.atoms.leaves(
      std::get<IndexAttribute>(cut->attributes.at("index")).atoms);
  if (along != AtomList{feature})
    return {};
  return untransposed(program, uses, cut->operands[0]);
}

/// x of the features (-x[h:], x[:h]). Sets the index of the features.
static std::optional<ValueId> turned(const Program &program, const Uses &uses,
                                     ValueId value, Atom &feature) {
  const Operation *joined =
      uses.maker(untransposed(program, uses, value), "concat");
  if (!joined || joined->operands.size() != 2)
    return {};
  AtomList along = program.atoms.leaves(
      std::get<IndexAttribute>(joined->attributes.at("index")).atoms);
  const Operation *negative =
      uses.maker(untransposed(program, uses, joined->operands[0]), "neg");
  if (along.size() != 1 || !negative)
    return {};
  feature = along.front();
  int64_t half = program.atoms.extent(feature) / 2;
  auto second = partOf(program, uses, negative->operands[0], feature, half);
  auto first = partOf(program, uses, joined->operands[1], feature, 0);
  // The halves are equal, so that the first ends where the second begins.
  AtomList ofFirst = atomsOf(
      program,
      uses.maker(untransposed(program, uses, joined->operands[1]))->result);
  bool isHalf = std::any_of(ofFirst.begin(), ofFirst.end(), [&](Atom leaf) {
    return program.atoms.extent(leaf) == half;
  });
  return first && second && *first == *second && isHalf ? first : std::nullopt;
}

/// A product of a value with a table of positions and features.
static const ProgramArgument *table(const Program &program, const Uses &uses,
                                    const Operation *product, ValueId &other) {
  if (!product || product->name != "mul")
    return nullptr;
  for (int side : {0, 1})
    if (const ProgramArgument *found = uses.constant(product->operands[side])) {
      other = product->operands[1 - side];
      return atomsOf(program, found->value).size() == 2 ? found : nullptr;
    }
  return nullptr;
}

static std::optional<Rotation>
rotationOf(const Program &program, const Uses &uses, const Operation &sum) {
  if (sum.name != "add" || sum.operands.size() != 2)
    return {};
  for (int side : {0, 1}) {
    Rotation found;
    ValueId plain = -1, moved = -1;
    found.cosines = table(program, uses, uses.maker(sum.operands[side]), plain);
    found.sines =
        table(program, uses, uses.maker(sum.operands[1 - side]), moved);
    if (!found.cosines || !found.sines)
      continue;
    std::optional<ValueId> x = turned(program, uses, moved, found.feature);
    AtomList ofTable = atomsOf(program, found.cosines->value);
    if (!x || *x != untransposed(program, uses, plain) ||
        ofTable != atomsOf(program, found.sines->value) ||
        ofTable[1] != found.feature)
      continue;
    found.x = *x;
    found.position = ofTable[0];
    return found;
  }
  return {};
}

static Attributes attributesOf(const Rotation &rotation,
                               const Frequencies &frequencies) {
  Attributes out = {{"position", IndexAttribute{{rotation.position}}},
                    {"feature", IndexAttribute{{rotation.feature}}},
                    {"theta", frequencies.theta}};
  if (frequencies.stretch != 1)
    out["stretch"] = frequencies.stretch;
  if (frequencies.trained > 0) {
    out["trained"] = frequencies.trained;
    out["slow_turns"] = frequencies.slowTurns;
    out["fast_turns"] = frequencies.fastTurns;
  }
  if (frequencies.isLogarithmic)
    out["log_turns"] = true;
  return out;
}

/// Makes a rotation of the sum.
static void rewrite(Program &program, const Rotation &rotation,
                    const Frequencies &frequencies, Operation sum,
                    std::vector<Operation> &out) {
  Operation rope = sum;
  rope.attributes = attributesOf(rotation, frequencies);
  rope.name = "rope";
  rope.operands = {rotation.x};
  if (frequencies.magnitude != 1) {
    rope.result = static_cast<ValueId>(program.values.size());
    ProgramValue turned = program.values[sum.result];
    program.values.push_back(std::move(turned));
  }
  addInOrderOf(rotation.x, program, rope, out);
  if (frequencies.magnitude == 1)
    return;
  sum.name = "scale";
  sum.operands = {rope.result};
  sum.attributes = {{"factor", frequencies.magnitude}};
  out.push_back(std::move(sum));
}

void torch::recogniseRotations(Program &program) {
  Uses uses(program);
  using Tables = std::pair<ValueId, ValueId>;
  std::map<Tables, std::optional<Frequencies>> known;
  std::vector<Operation> operations;
  for (const Operation &operation : program.operations) {
    std::optional<Rotation> found = rotationOf(program, uses, operation);
    std::optional<Frequencies> *frequencies = nullptr;
    if (found) {
      auto [place, isNew] =
          known.try_emplace(Tables(found->cosines->value, found->sines->value));
      frequencies = &place->second;
      if (isNew)
        *frequencies =
            frequenciesOf(*found->cosines->constant, *found->sines->constant);
    }
    if (frequencies && *frequencies)
      rewrite(program, *found, **frequencies, operation, operations);
    else
      operations.push_back(operation);
  }
  program.operations = std::move(operations);
}
