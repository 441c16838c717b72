/// Readable names of a program's indices.
#ifndef TPSP_IMPORT_TORCH_NAMES_H
#define TPSP_IMPORT_TORCH_NAMES_H

#include "Program.h"

#include <optional>
#include <set>

namespace tpsp::import::torch {

/// The name with '_' for whatever is neither a letter nor a digit, and no digit
/// first.
std::string identifier(const std::string &name);

class Names {
public:
  /// Chooses names by the uses of an index. The first input has b and s,
  /// attention's keys have t, a vocabulary is v, and a linear layer makes e.
  /// `wanted` replaces chosen names.
  Names(const Program &program, std::map<std::string, std::string> wanted);

  std::string of(Atom leaf);
  /// The name of several leaves as one index: q for the heads of queries and
  /// their features, kv for those of keys.
  std::string ofMerged(const AtomList &leaves);
  /// The name that an index would have if no other had it: "v" for "v2".
  std::optional<std::string> roleOf(const std::string &name) const;
  /// The name of a dimension of one position, the `number`th of its tensor.
  std::string ofUnit(size_t number);

  /// Throws a Refusal if a name was wanted for an index that the program lacks.
  /// Called when all names are chosen.
  void checkWanted() const;

private:
  void propose(Atom atom, const std::string &name);
  void proposeOf(const Operation &operation);
  void proposeOfAttention(const Operation &operation);
  void proposeOfProduct(const Operation &operation);
  void proposeOfGroups(const Operation &operation);
  /// The name, or the name with a number; notes its role then.
  std::string unused(const std::string &name);

  const Program &program;
  std::map<std::string, std::string> wanted;
  std::map<Atom, std::string> proposed, chosen;
  std::map<AtomList, std::string> merged;
  std::set<std::string> taken, renamed;
  std::map<std::string, std::string> roles;
  /// The first index of each input.
  AtomList batch;
  std::set<ValueId> parameters, constants;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_NAMES_H
