/// The indices of a program, while it is being found out which are the same.
///
/// A dimension of a PyTorch tensor is a list of atoms, major to minor. A
/// dimension of one position has none. Operations say that atoms are the same
/// (`unify`). A view splits an atom, and with it every atom that is the same.
/// Extents never decide that two atoms are the same.
///
/// Two atoms of one tensor are never the same: an index occurs once in a
/// tensor.
#ifndef TPSP_IMPORT_TORCH_ATOMS_H
#define TPSP_IMPORT_TORCH_ATOMS_H

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace tpsp::import::torch {

using Atom = int;
/// Major to minor.
using AtomList = std::vector<Atom>;

bool contains(const AtomList &list, Atom atom);

class Atoms {
public:
  Atom create(int64_t extent);
  int64_t extent(Atom atom) const { return entries[find(atom)].extent; }
  int64_t extent(const AtomList &list) const;

  /// The atoms that `atom` stands for: one, or those that it was split into.
  /// Atoms that are the same are the same number.
  AtomList leaves(Atom atom) const;
  AtomList leaves(const AtomList &list) const;

  bool isSame(Atom a, Atom b) const { return find(a) == find(b); }
  /// Makes two leaves the same. False if their extents differ, or if one tensor
  /// has both.
  bool unify(Atom a, Atom b);
  /// Splits a leaf into a major part and a minor one of `minor` positions,
  /// which divide its extent.
  void split(Atom leaf, int64_t minor);
  /// Declares that these atoms differ from each other.
  void keepApart(const AtomList &list);
  /// The atom that takes the second role of a leaf in a tensor with both: the
  /// position of a key. It is the same at every call.
  Atom partner(Atom leaf);

private:
  struct Entry {
    int64_t extent = 0;
    /// The atom that it is the same as; itself, for the one that stands for
    /// all.
    Atom same = 0;
    /// Both set if it was split.
    std::optional<Atom> major, minor;
    std::set<Atom> apart;
    std::optional<Atom> partner;
  };
  Atom find(Atom atom) const;
  bool areApart(Atom a, Atom b) const;

  std::vector<Entry> entries;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_ATOMS_H
