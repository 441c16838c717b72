/// A step in which something is done otherwise than the program needs.
///
/// It is what a hypothesis about somebody's code is made of, and what tests
/// plant. A collective adds over other axes, or its result is scaled; or an
/// argument is scaled. On the mesh <dp = 2, tp = 4>, with command 17 an
/// all_reduce over tp,
///
///   Change change;
///   change.commands[17] = {{}, 1};       // it is missing
///   change.commands[17] = {{1}, 4};      // it is done twice
///   change.commands[17] = {{1}, 0.25};   // it is a mean
///   change.commands[17] = {{0}, 1};      // it is over dp
#ifndef TPSP_CHECK_CHANGE_H
#define TPSP_CHECK_CHANGE_H

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tpsp::check {

/// A tensor of each rank: its part, row-major, without padding.
using RankValues = std::vector<std::vector<double>>;

/// How a collective differs from the program's.
struct RowChange {
  /// Positions of mesh axes. A reduction adds over the groups of these, and
  /// each rank keeps the part that it should have. A gather takes the parts of
  /// other ranks if there is an axis, and its own part for all if there is
  /// none.
  std::vector<int64_t> axes;
  /// The result is multiplied by it.
  double factor = 1;
  /// For a gather: each rank has its own part in its place, and zeros for the
  /// others.
  bool hasOwnAlone = false;
};

/// Parts of an argument that other ranks should have.
struct OtherParts {
  /// The axes that divide the argument.
  std::vector<int64_t> axes;
  /// For each rank of a group of these axes, the one whose part it has.
  std::vector<int64_t> from;
};

struct Change {
  /// By the command's number in the plan.
  std::map<int64_t, RowChange> commands;
  /// Factors of arguments, by the argument's number.
  std::map<int64_t, double> arguments;
  /// Arguments of which ranks have other parts.
  std::map<int64_t, OtherParts> parts;
  /// Arguments of which each rank has values of its own.
  std::map<int64_t, std::shared_ptr<const RankValues>> own;

  bool isEmpty() const {
    return commands.empty() && arguments.empty() && parts.empty() &&
           own.empty();
  }
  /// Adds the other change; where both change one thing, the other's stays.
  void add(const Change &other) {
    for (const auto &[number, each] : other.commands)
      commands[number] = each;
    for (const auto &[number, factor] : other.arguments)
      arguments[number] = factor;
    for (const auto &[number, each] : other.parts)
      parts[number] = each;
    for (const auto &[number, each] : other.own)
      own[number] = each;
  }
};

} // namespace tpsp::check

#endif // TPSP_CHECK_CHANGE_H
