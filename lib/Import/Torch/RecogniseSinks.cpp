#include "Recognise.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

namespace {

/// A softmax of scores and one more column, of which the column is then cut
/// off:
///
///     x = concat(scores, column)
///     y = softmax(x - anything without the index of keys)
///     weights = the first positions of y
class Sinks {
public:
  Sinks(Program &program, const Uses &uses) : program(program), uses(uses) {}

  /// Makes a softmax with a sink of the cut; false if there is none.
  bool rewrite(Operation &cut);

private:
  AtomList atomsOf(ValueId value) const {
    return program.atoms.leaves(program.values[value].atoms);
  }
  /// The joined tensors, from which a row's level may have been subtracted.
  const Operation *joined(ValueId value, Atom over) const;
  /// The numbers that a column repeats.
  std::optional<ValueId> repeated(ValueId column, Atom position) const;

  Program &program;
  const Uses &uses;
};

} // namespace

static bool isAlong(const Operation &operation, const char *attribute,
                    const Program &program, Atom index) {
  const auto &named =
      std::get<IndexAttribute>(operation.attributes.at(attribute));
  return program.atoms.leaves(named.atoms) == AtomList{index};
}

const Operation *Sinks::joined(ValueId value, Atom over) const {
  if (const Operation *level = uses.maker(value, "sub");
      level && !contains(atomsOf(level->operands[1]), over))
    value = level->operands[0];
  const Operation *join = uses.maker(value, "concat");
  bool isOfTwo = join && join->operands.size() == 2 &&
                 join->blocks.size() == 2 &&
                 isAlong(*join, "index", program, over);
  return isOfTwo ? join : nullptr;
}

std::optional<ValueId> Sinks::repeated(ValueId column, Atom position) const {
  const Operation *broadcast = uses.maker(column, "broadcast");
  if (!broadcast || contains(atomsOf(broadcast->operands[0]), position))
    return {};
  return broadcast->operands[0];
}

bool Sinks::rewrite(Operation &cut) {
  if (cut.name != "cut" || std::get<int64_t>(cut.attributes.at("from")) != 0)
    return false;
  const Operation *softmax = uses.only(cut.operands[0], "softmax");
  if (!softmax || softmax->attributes.size() != 1)
    return false;
  AtomList over = program.atoms.leaves(
      std::get<IndexAttribute>(softmax->attributes.at("over")).atoms);
  if (over.size() != 1 || !isAlong(cut, "index", program, over[0]))
    return false;
  const Operation *join = joined(softmax->operands[0], over[0]);
  if (!join)
    return false;
  AtomList keys = program.atoms.leaves(join->blocks[0]),
           last = program.atoms.leaves(join->blocks[1]),
           kept = program.atoms.leaves(cut.blocks.front());
  if (keys.size() != 1 || last.size() != 1 || kept.size() != 1 ||
      program.atoms.extent(last[0]) != 1)
    return false;
  std::optional<ValueId> sink = repeated(join->operands[1], last[0]);
  ValueId scores = join->operands[0];
  if (!sink ||
      program.values[*sink].element != program.values[scores].element ||
      !program.atoms.unify(keys[0], kept[0]) ||
      atomsOf(scores) != atomsOf(cut.result))
    return false;
  cut.name = "softmax";
  cut.operands = {scores, *sink};
  cut.attributes = {{"over", IndexAttribute{{keys[0]}}}};
  cut.blocks.clear();
  return true;
}

void torch::recogniseSinks(Program &program) {
  Uses uses(program);
  Sinks sinks(program, uses);
  for (Operation &operation : program.operations)
    sinks.rewrite(operation);
}
